/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_SETTINGS_H
#define HB_BOOT_SSH_SETTINGS_H

#include "bin/boot/boot.h"
#include "lib/base/strv.h"

#define HB_SSH_PORT 22 /* where nobody says another */

/* How one host is to be reached: the job's options, the target's own, and
 * what ssh_config files say, brought together. All strings are owned. */
struct hb_ssh_settings {
    char *hostname; /* to connect to */
    char *known_as; /* its name in known_hosts */
    int known_port_is_22; /* a HostKeyAlias stands without a port */
    int port;
    int port_said;  /* somebody asked for this port */
    char *user;
    int user_is_number; /* the uid: it has no name here */
    char *home;     /* NULL: there is none */
    /* A command whose stdin and stdout lead to the host, as the words to
     * execute; empty: connect directly. */
    struct hb_strv proxy;
    const char *proxy_from; /* "ProxyJump" */
    struct hb_strv known_files; /* those of the user first */
    int known_said; /* ssh_config names some of them */
    const char *known_told; /* that of the launcher among them, or NULL */
    char *revoked_file; /* of host keys never to be trusted, or NULL */
    struct hb_strv certificates; /* named in ssh_config, of some keys */
    /* Private keys in the order they are offered. The first n_named were asked
     * for by name: that one is not there is worth saying. Those from n_own on
     * are of other homes, and read by hb_key_read_placed. */
    struct hb_strv identities;
    size_t n_named, n_own;
    int use_agent;
    int identities_only; /* of the agent's keys, too, those named here alone */
    char *agent_socket; /* NULL: SSH_AUTH_SOCK */
};

int hb_ssh_settings_make(struct hb_ssh_settings *out,
                         const struct hb_boot_config *config,
                         const struct hb_boot_target *target,
                         struct hpcboot_error *err);
/* See hb_boot_by_others and hb_boot_known_hosts. */
int hb_ssh_by_others(const struct hb_boot_config *config,
                     const struct hb_boot_target *target, char **user_out,
                     int *port_out);
void hb_ssh_known_hosts(const struct hb_boot_config *config,
                        const struct hb_boot_target *target,
                        struct hb_buf *out);
void hb_ssh_settings_destroy(struct hb_ssh_settings *settings);

#endif
