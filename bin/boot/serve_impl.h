/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SERVE_IMPL_H
#define HB_BOOT_SERVE_IMPL_H

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <sys/types.h>

#include "bin/boot/serve.h"
#include "bin/boot/serve_jobs.h"
#include "bin/boot/serve_line.h"
#include "lib/base/channel.h"
#include "lib/trust/derive.h"

/* The server's three files: serve.c listens and counts, serve_session.c has
 * one login from its first byte to its command, serve_agent.c the agent behind
 * it; serve_keys.c knows who is let in and what this host shows, serve_jobs.c
 * who is let in again. */

/* --- serve_keys.c */
struct hb_serve_keys;

/* Reads the gang's key, makes this host's key of it. */
int hb_serve_keys_open(struct hb_serve_keys **out,
                       const struct hb_serve_config *config,
                       struct hpcboot_error *err);
void hb_serve_keys_close(struct hb_serve_keys *keys); /* NULL-safe */
/* Looks whether the mounted key or the keys that are authorized have changed,
 * and takes the new ones. */
void hb_serve_keys_refresh(struct hb_serve_keys *keys);
ssh_bind hb_serve_keys_bind(const struct hb_serve_keys *keys);
int hb_serve_keys_accepts(const struct hb_serve_keys *keys, const ssh_key key);
/* The file that holds the gang's private key, or NULL. */
const char *hb_serve_keys_path(const struct hb_serve_keys *keys);

/* --- serve_agent.c */
struct hb_serve_agent {
    struct hb_serve_agent *prev, *next;
    struct hb_serve *serve;
    pid_t pid;             /* 0: reaped */
    int control_fd;
    struct event *control;
    struct event *patience; /* with a client that takes no last words */
    struct hb_relay *relay; /* NULL: the client is gone */
    int stream_ended;       /* the agent has closed its output */
    int has_job, told_end, job_status, wait_status;
    unsigned session;       /* number of its job's session key; 0: none */
};

/* Starts an agent for a login whose channel is `parts`; takes what is in it,
 * also when it fails. */
struct hb_ssh_parts;
int hb_serve_agent_start(struct hb_serve *serve,
                         const struct hb_ssh_parts *parts, const char *token,
                         struct hpcboot_error *err);
void hb_serve_agent_reaped(struct hb_serve_agent *agent, int wait_status);
void hb_serve_agent_destroy(struct hb_serve_agent *agent);

/* --- serve_session.c */
struct hb_serve_session;

void hb_serve_session_begin(struct hb_serve *serve, int fd,
                            struct hb_limit_source *source);
void hb_serve_session_drop(struct hb_serve_session *session);
int hb_serve_session_pending(const struct hb_serve_session *session);
/* Whether it is a login of that source, and takes longer than one does. */
int hb_serve_session_is_late(const struct hb_serve_session *session,
                             const struct hb_limit_source *source);
struct hb_serve_session *
hb_serve_session_next(const struct hb_serve_session *session);

/* --- serve.c */
struct hb_serve {
    const struct hb_serve_config *config;
    struct hb_serve_events events;
    void *arg;
    struct hb_serve_keys *keys;
    struct hb_serve_jobs *jobs;
    struct hb_limiter limiter;
    struct hb_serve_listener {
        struct hb_serve *serve;
        int fd;
        struct event *ev;
    } listeners[2]; /* IPv6, IPv4 */
    struct event *again; /* accepts anew when descriptors had run out */
    unsigned port;
    unsigned n_pending;  /* sessions that are not logged in */
    int64_t turned_away, told_at_ms;
    struct hb_serve_session *sessions, *last_session; /* oldest first */
    struct hb_serve_agent *agents;
    int draining;
};

#endif
