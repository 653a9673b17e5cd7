/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Prints what bin/boot makes of an ssh_config file for a host, for a test to
 * compare with `ssh -G`:
 *
 *   sshsays FILE HOST [USER [PORT]]
 *
 * Lines "keyword value", those of files with their letters replaced; or
 * "refused TEXT"; "byothers USER PORT" where other hosts may start agents
 * there. FILE "usual": those of HOME. Empty USER or PORT 0: not asked
 * for. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "bin/boot/ssh_settings.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

static void print_list(const char *keyword, const struct hb_strv *list,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        printf("%s %s\n", keyword, list->v[i]);
    }
}

static void print(const struct hb_ssh_settings *s)
{
    printf("hostname %s\nport %d\nuser %s\nknownas %s\n", s->hostname, s->port,
           s->user, s->known_as);
    print_list("identityfile", &s->identities, s->n_named);
    print_list("certificatefile", &s->certificates, s->certificates.n);
    print_list("knownhosts", &s->known_files, s->known_files.n);
    printf("identityagent %s\n", !s->use_agent ? "none" : s->agent_socket
           ? s->agent_socket : "-");
    printf("revokedhostkeys %s\n", s->revoked_file ? s->revoked_file : "none");
    print_list("proxy", &s->proxy, s->proxy.n);
}

static void tell(void *arg, enum hb_log_level level, const char *text)
{
    fprintf(stderr, "%s\n", text);
}

int main(int argc, char **argv)
{
    struct hb_boot_config config = {.ssh_config = NULL};
    struct hb_boot_target target = {.host = argc > 2 ? argv[2] : "localhost"};
    struct hb_ssh_settings settings;
    struct hpcboot_error err = {0};
    char *user;
    int port;

    if (argc > 1 && !hb_streq(argv[1], "usual")) {
        config.ssh_config = argv[1];
    }
    hb_log_set_sink(tell, NULL, HB_WARN);
    target.user = argc > 3 && *argv[3] ? argv[3] : NULL;
    target.port = argc > 4 ? atoi(argv[4]) : 0;
    if (hb_ssh_settings_make(&settings, &config, &target, &err) < 0) {
        printf("refused %s\n", err.text);
        return 0;
    }
    print(&settings);
    if (hb_ssh_by_others(&config, &target, &user, &port)) {
        printf("byothers %s %d\n", user, port);
        free(user);
    }
    hb_ssh_settings_destroy(&settings);
    return 0;
}
