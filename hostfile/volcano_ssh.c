/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The port in the client configuration of Volcano's ssh plugin.
 *
 * The plugin writes a block per pod, under the pod's short name, with its
 * HostName and Port, and puts the same port everywhere. The host files hold
 * the long names, which match no block, so the port is lost to everybody who
 * uses them (and to pods that were added later). It is looked up here by
 * HostName. A configuration whose blocks disagree is the user's own and is
 * left to those who read ssh's configuration. */

#include "config.h"

#include "hostfile/volcano.h"

#include <string.h>
#include <strings.h>

#include "hostfile/lines.h"

#define MAX_PORT 65535

/* The value when the line is "KEYWORD VALUE", or NULL. */
static char *value_of(char *line, const char *keyword)
{
    size_t n = strlen(keyword);

    if (strncasecmp(line, keyword, n) != 0 ||
        strchr(" \t=", line[n]) == NULL || line[n] == '\0') {
        return NULL;
    }
    return line + n + strspn(line + n, " \t=");
}

int hb_vc_ssh_port(const char *text, size_t len, const char *host)
{
    const char *domain = host + strcspn(host, ".");
    struct hb_lines lines;
    uint64_t port;
    int ours = 0, found = 0;

    hb_lines_begin(&lines, "", text, len);
    while (hb_lines_next(&lines, NULL) > 0) {
        char *line = hb_lines_trim(&lines), *value;
        if (value_of(line, "Host") != NULL) {
            ours = 0;
        } else if ((value = value_of(line, "HostName")) != NULL) {
            ours = strcasecmp(value + strcspn(value, "."), domain) == 0;
        } else if (ours && (value = value_of(line, "Port")) != NULL &&
                   hb_parse_u64(value, 1, MAX_PORT, &port) >= 0) {
            found = found == 0 || found == (int)port ? (int)port : -1;
        }
    }
    hb_lines_end(&lines);
    return found > 0 ? found : 0;
}
