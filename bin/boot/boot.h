/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_BOOT_H
#define HB_BOOT_BOOT_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/channel.h"
#include "lib/base/error.h"

struct event_base;
struct hb_secret;

/* What an agent ends with that has lost its link, and what a server tells of
 * one that has not said how it ended: EX_TEMPFAIL, worth another try. */
#define HB_EXIT_LOST 75

/* Starts one agent on one host and hands over the byte stream to it. Three
 * ways in: fork (this host), libssh in-process (loaded from hb_ssh.so at
 * first need), an external command that carries stdin and stdout. All are
 * driven by one libevent loop and none blocks it: names are resolved by a
 * helper thread. */
enum hb_boot_stage {
    HB_STAGE_RESOLVE, HB_STAGE_CONNECT, HB_STAGE_BANNER, HB_STAGE_HOST_KEY,
    HB_STAGE_AUTH, HB_STAGE_AGENT, HB_STAGE_READY
};
const char *hb_boot_stage_name(enum hb_boot_stage stage); /* "resolve" */

/* What is wrong with a host, in words that suit every host it happens to:
 * whoever waits for many of them counts and groups by these. */
enum hb_boot_why {
    HB_WHY_OTHER,       /* see the error's text */
    HB_WHY_NO_NAME,     /* the name does not exist */
    HB_WHY_NAME_SILENT, /* the name servers do not answer, or fail */
    HB_WHY_UNREACHABLE, /* no way to its addresses */
    HB_WHY_SILENT,      /* no answer from its addresses */
    HB_WHY_REFUSED,     /* the port is closed */
    HB_WHY_HUNG_UP,     /* it hangs up before the banner */
    HB_WHY_BANNER,      /* it sends no banner, or another protocol's */
    HB_WHY_BROKE_OFF,   /* it stops in the middle of the login */
    HB_WHY_HOST_KEY,    /* its key is not trusted */
    HB_WHY_LOGIN,       /* it refuses the login */
    HB_WHY_AGENT,       /* it does not start the agent */
    HB_WHY_VANISHED,    /* it was ready, and is gone again */
    HB_WHY_N
};

struct hb_boot_reason {
    enum hb_boot_why why;
    char where[24]; /* "port 22", "ports 22 and 2222", or "" */
};

enum hb_host_keys { HB_HOST_KEYS_STRICT, HB_HOST_KEYS_PIN };

/* Shared by all hosts of a job; borrowed, must outlive the boots. */
struct hb_boot_config {
    struct event_base *base;
    const char *agent_path;    /* this installation's hpcbootd, absolute */
    const char *prefix;        /* --prefix: look below it first; or NULL */
    const char *launch_with;   /* --launch-with: command template, or NULL.
                                * %h host, %p port, %u user, %a the agent's
                                * command line for a shell to read; without
                                * %a ssh and the like get host and that line,
                                * other commands the agent's words
                                * (bin/boot/template.h). */
    const char *kex;           /* --kex; NULL: curve25519 */
    const char *identity;      /* --identity FILE; NULL: what is there */
    const char *ssh_config;    /* --ssh-config FILE, "none", or NULL: usual */
    enum hb_host_keys host_keys;
    const char *gang_key;      /* private key file of the gang, or NULL */
    const char *known_hosts;   /* one more known_hosts file, or NULL */
    const char *user;          /* default remote user, or NULL: this one */
    int port;                  /* 0: configuration, else 22 and, when that
                                * is refused, 2222 */
    int inside_gang;           /* an operator made these hosts */
    int connect_timeout_ms;    /* for each stage */
    int dial_timeout_ms;       /* shorter than that for addresses that do not
                                * answer, as who fails is tried again; names
                                * have longer then. 0: as all stages */
    int stall_ms;              /* so long the loop may stand still, as others
                                * take this process for dead then; 0: no limit.
                                * May change while boots are under way */
    /* Names of the gang's hosts, NULL-terminated, or NULL: the key of any of
     * them is trusted under the name of each. */
    const char *const *members;
    const struct hb_secret *session; /* the job's session key, or NULL */
};

struct hb_boot_target {
    const char *host; /* name or address as the gang calls it */
    const char *user; /* or NULL */
    int port;         /* or 0 */
    const char *token; /* the login's token: passed as the agent's argument */
    int in_session;    /* it was given the session key: that logs in, too */
    int counted;       /* what it may use is known: its agent, when forked,
                          need not find out before it says HELLO */
};

struct hb_boot;

/* A host whose key nothing vouches for, and that was logged in to all the
 * same: before it is told anything it has to prove that it holds the gang's
 * secret (hb_boot_proves). */
struct hb_boot_unverified {
    const char *fingerprint;  /* "ssh-ed25519 SHA256:..." */
    struct hb_bytes host_key; /* as SSH writes it; borrowed for the call */
    int changed;              /* this process has seen another one there */
};

struct hb_boot_events {
    void (*stage)(void *arg, enum hb_boot_stage stage, const char *detail);
    /* Text the login printed beside the link (stderr of the remote shell or
     * command); a line or a piece of one, not NUL-terminated. */
    void (*chatter)(void *arg, const char *text, size_t len);
    void (*unverified)(void *arg, const struct hb_boot_unverified *host);
    /* The host's key is that of another member of the gang. */
    void (*reached)(void *arg, const char *member);
    /* The stream is open (the agent has not spoken yet). The callee owns ch
     * and sets its events and arg before it returns. */
    void (*open)(void *arg, struct hb_channel *ch);
    /* It did not work: code, text, and the stage it came to. No event
     * follows; the boot is freed by hb_boot_cancel all the same. */
    void (*failed)(void *arg, enum hb_boot_stage stage,
                   const struct hpcboot_error *err);
};

enum hb_boot_way { HB_BOOT_FORK, HB_BOOT_SSH, HB_BOOT_COMMAND };

/* Whether a --launch-with command can be used at all: its quotes and signs, and
 * that its program is on this host. Every host would fail in the same way. */
int hb_boot_check_command(const char *text, struct hpcboot_error *err);

/* Begins; borrows events, which come from the loop only, never from inside
 * this call. */
int hb_boot_start(struct hb_boot **out, enum hb_boot_way way,
                  const struct hb_boot_config *config,
                  const struct hb_boot_target *target,
                  const struct hb_boot_events *events, void *arg,
                  struct hpcboot_error *err);
/* Why it failed; as long as the boot lives. */
const struct hb_boot_reason *hb_boot_reason(const struct hb_boot *boot);
/* What a boot that is under way is waiting for, as if it failed now; returns
 * err->code. */
int hb_boot_explain(struct hb_boot *boot, struct hpcboot_error *err);
/* Frees a boot; what is under way is given up. The channel that was handed
 * over lives on. NULL-safe. */
void hb_boot_cancel(struct hb_boot *boot);

/* 1: one of `proofs`, HB_PROOF_BYTES each, was made with a private key that
 * this login has (lib/trust/derive.h). Of a boot that said `unverified`. */
int hb_boot_proves(const struct hb_boot *boot, struct hb_bytes nonce,
                   const char *token, struct hb_bytes host_key,
                   struct hb_bytes proofs);
/* The host of this very boot has proven itself: the key that it was said to be
 * `unverified` with counts as known. */
void hb_boot_proven(const struct hb_boot *boot, struct hb_bytes host_key);

/* Whether another member of the gang could log in to a host as this one would,
 * knowing no more than its name, user and port: no named key, no other name,
 * proxy or file of host keys comes from ssh_config, and host keys can be read
 * and are few enough to be handed on. 0: only this host can. On 1 *user_out
 * (free() it) and *port_out (0: the usual one) are those to use. */
int hb_boot_by_others(const struct hb_boot_config *config,
                      const struct hb_boot_target *target, char **user_out,
                      int *port_out);
/* What this host knows of host keys, for others: the text of the known_hosts
 * files for `target`, at most HB_BOOT_KNOWN_MAX bytes. */
#define HB_BOOT_KNOWN_MAX (4u << 20)
void hb_boot_known_hosts(const struct hb_boot_config *config,
                         const struct hb_boot_target *target,
                         struct hb_buf *out);

/* The end of all that was started: waits a moment for forked agents, ends the
 * commands of --launch-with and of proxies that do not end by themselves, with
 * what they have started, and sends the last bytes of SSH channels. Blocks,
 * 3.5 s at most. Before the loop is freed, when
 * all channels are closed. */
void hb_boot_settle(void);

/* A channel over descriptors that the caller hands over (they may be the
 * same); `pid` > 0: the command behind them, reaped and named in `closed`. */
int hb_channel_from_fds(struct hb_channel **out, struct event_base *base,
                        int read_fd, int write_fd, pid_t pid,
                        struct hpcboot_error *err);

/* The command line that starts an agent through a login shell of any kind
 * (sh, bash, csh, tcsh, fish): free() it. */
char *hb_boot_remote_command(const struct hb_boot_config *config,
                             const struct hb_boot_target *target);

#endif
