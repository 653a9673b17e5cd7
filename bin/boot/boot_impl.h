/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_BOOT_IMPL_H
#define HB_BOOT_BOOT_IMPL_H

#include "bin/boot/boot.h"
#include "lib/base/strv.h"

/* What the ways in share; for bin/boot alone.
 *
 * Each way embeds struct hb_boot as its first member. A callee may cancel the
 * boot from inside any event, so a way calls events through the hb_boot_emit
 * functions and looks at their result: 1 means the boot was cancelled and
 * must not be touched again. */
struct hb_boot_ops {
    void (*start)(struct hb_boot *boot);   /* from the loop, once */
    void (*destroy)(struct hb_boot *boot); /* frees all, also half-built */
    /* Fills err and boot->reason with what is being waited for; or NULL. */
    void (*explain)(struct hb_boot *boot, struct hpcboot_error *err);
    /* As hb_boot_proves; NULL: this way needs no proof. */
    int (*proves)(const struct hb_boot *boot, struct hb_bytes nonce,
                  const char *token, struct hb_bytes host_key,
                  struct hb_bytes proofs);
    void (*proven)(const struct hb_boot *boot, struct hb_bytes host_key);
};

struct event;

struct hb_boot {
    const struct hb_boot_ops *ops;
    const struct hb_boot_config *config;
    const struct hb_boot_events *events;
    void *arg;
    struct event *start_event;
    enum hb_boot_stage stage;
    struct hb_boot_reason reason; /* set before `failed` is emitted */
    int depth;     /* events under way */
    int cancelled; /* freed when depth is 0 again */
};

/* Sets up the shared part and arranges for ops->start to be called from the
 * loop. */
int hb_boot_init(struct hb_boot *boot, const struct hb_boot_ops *ops,
                 const struct hb_boot_config *config,
                 const struct hb_boot_events *events, void *arg,
                 struct hpcboot_error *err);
void hb_boot_fini(struct hb_boot *boot);

/* A way that works on a boot outside an event of its own brackets the work
 * with these; leave returns 1 when the boot is gone. */
void hb_boot_enter(struct hb_boot *boot);
int hb_boot_leave(struct hb_boot *boot);

int hb_boot_emit_stage(struct hb_boot *boot, enum hb_boot_stage stage,
                       const char *detail);
int hb_boot_emit_chatter(struct hb_boot *boot, const char *text, size_t len);
int hb_boot_emit_unverified(struct hb_boot *boot,
                            const struct hb_boot_unverified *host);
int hb_boot_emit_reached(struct hb_boot *boot, const char *member);
int hb_boot_emit_open(struct hb_boot *boot, struct hb_channel *ch);
int hb_boot_emit_failed(struct hb_boot *boot, const struct hpcboot_error *err);

/* The ways. Strings of the target are copied. */
int hb_boot_fork_create(struct hb_boot **out,
                        const struct hb_boot_config *config,
                        const struct hb_boot_target *target,
                        const struct hb_boot_events *events, void *arg,
                        struct hpcboot_error *err);
int hb_boot_command_create(struct hb_boot **out,
                           const struct hb_boot_config *config,
                           const struct hb_boot_target *target,
                           const struct hb_boot_events *events, void *arg,
                           struct hpcboot_error *err);
/* Exported by hb_ssh.so under the name of hb_ssh_way. */
struct hb_ssh_way {
    int (*create)(struct hb_boot **out, const struct hb_boot_config *config,
                  const struct hb_boot_target *target,
                  const struct hb_boot_events *events, void *arg,
                  struct hpcboot_error *err);
    int (*by_others)(const struct hb_boot_config *config,
                     const struct hb_boot_target *target, char **user_out,
                     int *port_out);
    void (*known_hosts)(const struct hb_boot_config *config,
                        const struct hb_boot_target *target,
                        struct hb_buf *out);
    void (*settle)(void); /* ends closed channels; blocks, a second at most */
};
#define HB_SSH_MODULE "hb_ssh"
#define HB_SSH_SYMBOL "hb_ssh_way"

#endif
