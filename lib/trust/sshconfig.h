/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TRUST_SSHCONFIG_H
#define HB_TRUST_SSHCONFIG_H

#include <stddef.h>

#include "lib/base/error.h"
#include "lib/base/strv.h"

/* What OpenSSH's client configuration says about one host. Read are: Host,
 * Match (a block with a criterion that is not known does not apply), Include,
 * HostName, HostKeyAlias, Port, User, IdentityFile, CertificateFile,
 * IdentitiesOnly, IdentityAgent, ProxyJump, ProxyCommand, Tag,
 * UserKnownHostsFile, GlobalKnownHostsFile, RevokedHostKeys, and those of
 * canonical names. Everything else is passed over; StrictHostKeyChecking in
 * particular has no say here. As in OpenSSH the first value counts, and
 * identity files add up. */
struct hb_ssh_query {
    const char *host;       /* as the user wrote it */
    const char *user;       /* asked for, or NULL */
    const char *local_user; /* or NULL */
    const char *home;       /* for ~; NULL: there is none */
    /* NULL: the first reading. In the second one, which goes on with the same
     * hb_ssh_conf, the name that will be connected to. */
    const char *connected;
};

enum hb_ssh_canonical { HB_CANONICAL_NO, HB_CANONICAL_YES,
                        HB_CANONICAL_ALWAYS /* also behind a proxy */ };

/* All strings are owned; NULL: not said. */
struct hb_ssh_conf {
    char *hostname; /* %h replaced */
    char *host_key_alias;
    char *user;
    char *proxy_jump, *proxy_command; /* NULL also for "none" */
    char *identity_agent;             /* "none" stays */
    int port;                         /* 0: not said */
    int identities_only;
    char *revoked_host_keys;          /* as written; "none" stays */
    char *tag;
    struct hb_strv identity_files;    /* as written */
    struct hb_strv certificate_files; /* as written */
    struct hb_strv user_known_hosts, global_known_hosts; /* as written */
    int jump_said, command_said, identities_only_said;
    int final_wanted; /* a Match line asks for a second reading */
    enum hb_ssh_canonical canonical;
    int canonical_said;
    int canonical_rules; /* what names could become: domains, or CNAMEs */
};

#define HB_SSH_CONF_MAX_BYTES (1u << 20)
#define HB_SSH_INCLUDE_DEPTH 16 /* as OpenSSH */

void hb_ssh_conf_init(struct hb_ssh_conf *conf);
void hb_ssh_conf_destroy(struct hb_ssh_conf *conf);

/* Adds what a file says. `dir` is where relative names of Include begin
 * (~/.ssh or /etc/ssh). ERR_NOT_FOUND and ERR_SYSTEM: it cannot be read;
 * ERR_PARSE names file and line, also of an Include whose file cannot be read;
 * ERR_AUTH: it is another user's, or others may write it (hb_file_read_own).
 * That is asked of the file itself if `own` is set, and always of what it
 * includes. */
int hb_ssh_conf_file(struct hb_ssh_conf *conf, const char *path,
                     const char *dir, int own,
                     const struct hb_ssh_query *query,
                     struct hpcboot_error *err);
/* The same for a text; without Include when dir is NULL. */
int hb_ssh_conf_text(struct hb_ssh_conf *conf, const char *text, size_t len,
                     const char *file, const char *dir,
                     const struct hb_ssh_query *query,
                     struct hpcboot_error *err);

/* Values of % letters, for names of files and commands. */
struct hb_ssh_tokens {
    const char *home;       /* %d, and ~ in front */
    const char *host;       /* %h, the name connected to */
    const char *original;   /* %n */
    const char *alias;      /* %k: HostKeyAlias, or the same */
    const char *local_host; /* %l and, without its domain, %L */
    const char *local_user; /* %u */
    const char *user;       /* %r */
    const char *uid;        /* %i */
    int port;               /* %p */
};
/* free() the result; NULL: a letter is not known, or has no value. When `file`
 * is set a ~ or ~USER in front is replaced, and ${NAME} by the environment's
 * variable; user and variable have to be there. */
char *hb_ssh_expand(const char *text, const struct hb_ssh_tokens *t, int file);

#endif
