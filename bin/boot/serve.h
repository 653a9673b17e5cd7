/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SERVE_H
#define HB_BOOT_SERVE_H

#include <sys/types.h>

#include "bin/boot/serve_limit.h"
#include "lib/base/error.h"

struct event_base;

/* The SSH server of `hpcbootd serve`: lets holders of the gang's key in and
 * starts agents for them, nothing else. It lives in hb_ssh.so; everything
 * happens on the loop's thread. */
struct hb_serve;

struct hb_serve_config {
    struct event_base *base;
    const char *agent_path;      /* the program that is started, absolute */
    const char *key;             /* file or directory; NULL: what is mounted */
    const char *authorized_keys; /* file; NULL: beside the key */
    const char *home;            /* or NULL */
    int port;                    /* 0: 22, or 2222 where that cannot be had */
    struct hb_serve_limits limits;
};

struct hb_serve_events {
    /* An agent has ended. job: it had a job, which ended with `status`. */
    void (*agent_ended)(void *arg, int job, int status);
};

struct hb_serve_counts {
    unsigned port;
    unsigned logins; /* under way */
    unsigned agents; /* running */
};

/* Exported by hb_ssh.so as hb_serve_ops. */
struct hb_serve_ops {
    /* Listens. The configuration and its strings are borrowed. */
    int (*open)(struct hb_serve **out, const struct hb_serve_config *config,
                const struct hb_serve_events *events, void *arg,
                struct hpcboot_error *err);
    void (*counts)(const struct hb_serve *serve, struct hb_serve_counts *out);
    /* Who reaps says so. 1: it was an agent. */
    int (*reaped)(struct hb_serve *serve, pid_t pid, int wait_status);
    /* No more logins; agents get a signal (0: none). */
    void (*drain)(struct hb_serve *serve, int signo);
    void (*close)(struct hb_serve *serve); /* NULL-safe */
};
#define HB_SERVE_SYMBOL "hb_serve_ops"

/* Between a serving process and an agent that it started: descriptor
 * HB_CHILD_KEPT_FD, SOCK_SEQPACKET, from the agent; a message is one byte and
 * what the table says. */
enum hb_serve_word {
    HB_SERVE_JOB = 'J',     /* it has a job */
    HB_SERVE_END = 'E',     /* i32, big-endian: the job's exit status */
    HB_SERVE_SESSION = 'S', /* HB_SESSION_KEY_BYTES: lets the job in again */
};
#define HB_SERVE_WORD_MAX 64
/* Where the gang's key is, for the agent and its proof. */
#define HB_SERVE_KEY_VAR "HPCBOOT_GANG_KEY"

#endif
