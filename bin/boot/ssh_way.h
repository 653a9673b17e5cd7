/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_WAY_H
#define HB_BOOT_SSH_WAY_H

#include <libssh/libssh.h>

#include "bin/boot/boot_impl.h"
#include "bin/boot/ssh_auth.h"
#include "bin/boot/ssh_exit.h"
#include "bin/boot/ssh_meter.h"
#include "bin/boot/ssh_settings.h"

/* The three files of the SSH way: ssh_way.c has its life and drives it,
 * ssh_connect.c goes as far as the banner, ssh_steps.c from there to the open
 * stream. */
#define HB_SSH_PEEK_BYTES 512 /* of what comes before the SSH banner */

struct hb_ssh_boot {
    struct hb_boot boot;
    struct hb_ssh_settings settings;
    char *host, *command;
    struct hb_ssh_auth *auth;
    struct hb_resolve *resolve;
    struct hb_dial *dial;
    struct hb_ssh_proxy *proxy;
    int fd;
    int fd_owned; /* 0: libssh closes it */
    ssh_session session;
    struct hb_ssh_meter meter;
    ssh_channel channel;
    struct hb_ssh_exit *exit; /* of the agent, in `channel` */
    int exec_asked;
    struct event *socket_event, *write_event, *timer, *retry_timer;
    int64_t deadline_ns; /* of the stage */
    int port_refused; /* the usual one; another is being tried */
    int retries;
    size_t preface_bytes;
    char preface[HB_SSH_PEEK_BYTES]; /* the last line before the banner */
    char address[80];
    struct hb_channel *open_channel; /* handed over; NULL when it is gone */
};

/* A stage's function: 1 the next stage was entered, 0 wait, -1 the boot has
 * failed or is gone. */
int hb_ssh_banner_step(struct hb_ssh_boot *b);
int hb_ssh_kex_step(struct hb_ssh_boot *b);
int hb_ssh_auth_stage(struct hb_ssh_boot *b);
int hb_ssh_agent_step(struct hb_ssh_boot *b);

/* Resolve, connect, and on to the banner. */
void hb_ssh_connect(struct hb_ssh_boot *b);
/* Nobody has said a port and the usual one is refused: tries the other one.
 * 0: there is no other. */
int hb_ssh_other_port(struct hb_ssh_boot *b);
/* The banner is there: libssh takes over. As a stage's function. */
int hb_ssh_begin(struct hb_ssh_boot *b);
/* Goes on with the present stage. */
void hb_ssh_step(struct hb_ssh_boot *b);

/* Begins a stage and its deadline. 1: the boot was cancelled. */
int hb_ssh_enter_stage(struct hb_ssh_boot *b, enum hb_boot_stage stage,
                       const char *detail);
void hb_ssh_stage_anew(struct hb_ssh_boot *b); /* its deadline */
void hb_ssh_arm(struct event *timer, int64_t ms);
/* What the host will be counted under when the boot fails. */
void hb_ssh_because(struct hb_ssh_boot *b, enum hb_boot_why why);
/* Ends the attempt: connection, session, events. */
void hb_ssh_drop(struct hb_ssh_boot *b);
/* No event of the attempt comes any more; its connection stays. */
void hb_ssh_quiet(struct hb_ssh_boot *b);
/* The boot has failed; the second puts the host's name in front. */
void hb_ssh_fail(struct hb_ssh_boot *b, const struct hpcboot_error *err);
void hb_ssh_failf(struct hb_ssh_boot *b, int code, const char *fmt, ...)
    HB_PRINTF(3, 4);

#endif
