/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The commands of OpenSSH that mend what is wrong with a host key. They are
 * words for a message; nothing is run here. */
#include "config.h"

#include "bin/boot/ssh_advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/str.h"

static int has_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? hb_xstrndup(path, (size_t)(slash - path + 1)) : NULL;
    struct stat st;
    int there = dir && stat(dir, &st) == 0 && S_ISDIR(st.st_mode);

    free(dir);
    return there;
}

/* HOME may be set to what is not there. */
static const char *file_to_add_to(const struct hb_ssh_settings *s)
{
    for (size_t i = 0; i < s->known_files.n; i++) {
        if (has_folder(s->known_files.v[i])) {
            return s->known_files.v[i];
        }
    }
    return s->known_files.n ? s->known_files.v[0] : "~/.ssh/known_hosts";
}

/* The host may be known by another name (HostKeyAlias), under which nothing or
 * another host answers, and may be reached by a proxy alone. */
char *hb_ssh_command_to_add(const struct hb_ssh_settings *s, const char *host)
{
    struct hb_str text = HB_STR_INIT;
    char port[16] = "";

    if (s->port != HB_SSH_PORT) {
        snprintf(port, sizeof port, "-p %d ", s->port);
    }
    if (s->proxy.n > 0) {
        hb_str_putf(&text, "ssh %s%s, which goes by the same %s, asks and adds "
                    "it", port, host, s->proxy_from);
        return hb_str_steal(&text);
    }
    hb_str_putf(&text, "ssh-keyscan %s%s", port, s->hostname);
    if (!hb_streq(s->hostname, s->known_as)) {
        hb_str_putf(&text, " | sed 's/^[^ ]*/%s/'", s->known_as);
    }
    hb_str_putf(&text, " >> %s", file_to_add_to(s));
    return hb_str_steal(&text);
}

char *hb_ssh_command_to_forget(const struct hb_ssh_settings *s, int port,
                               const char *file)
{
    return port == HB_SSH_PORT
               ? hb_xasprintf("ssh-keygen -f %s -R '%s'", file, s->known_as)
               : hb_xasprintf("ssh-keygen -f %s -R '[%s]:%d'", file,
                              s->known_as, port);
}
