/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_GROW_H
#define HB_JOB_GROW_H

#include <stdint.h>

/* How the tree of agents grows: who starts which host. A state machine without
 * I/O, clocks or names; hosts are numbers 0..n-1, the launcher is
 * HB_GROW_ROOT. The caller says what happened, and asks for the next login
 * until there is none to begin.
 *
 * Every agent that is up may start others, as long as it has a key to log in
 * with; work goes to whoever has room, so a slow parent gets little and a dead
 * one's hosts go back into the queue. A host that could not be started by an
 * agent is tried by the launcher itself before it counts as failed: nothing
 * fails in a tree that works without one. */
#define HB_GROW_ROOT UINT32_MAX

struct hb_grow_limits {
    uint32_t width;        /* children that start others, of any parent; >= 1 */
    uint32_t at_once;      /* logins under way at an agent; >= 1 */
    uint32_t root_at_once; /* and at the launcher; >= 1 */
    int flat;              /* the launcher starts all */
};

struct hb_grow;

struct hb_grow *hb_grow_create(uint32_t n,
                               const struct hb_grow_limits *limits);
void hb_grow_destroy(struct hb_grow *g); /* NULL-safe */

/* A host is to be started. direct: by the launcher itself. */
void hb_grow_put(struct hb_grow *g, uint32_t host, int direct);
/* The next login to begin: 1, with host and parent, or 0. */
int hb_grow_next(struct hb_grow *g, uint32_t *host_out, uint32_t *parent_out);
/* Its agent is up; it may start others when `parent` is set. */
void hb_grow_ready(struct hb_grow *g, uint32_t host, int parent);
/* The login did not work, or was given up. 1: it was an agent's; the launcher
 * itself should try (hb_grow_put with direct). The host is in no queue. */
int hb_grow_failed(struct hb_grow *g, uint32_t host);
/* A host that was up, or was being started, is gone. With it goes what hangs
 * below: `gone` is called for each such host, those nearest the leaves first,
 * and for the host itself last. They are in no queue. */
void hb_grow_lost(struct hb_grow *g, uint32_t host,
                  void (*gone)(void *arg, uint32_t host), void *arg);
/* The same, but what is up right below it goes on, with all that hangs there,
 * as a child of the launcher. `left` is called for each host right below; not
 * up: its login is over, it is in no queue. The host itself is not told. */
void hb_grow_lost_alone(struct hb_grow *g, uint32_t host,
                        void (*left)(void *arg, uint32_t host, int is_up),
                        void *arg);
/* This agent is given no more hosts. */
void hb_grow_forbid(struct hb_grow *g, uint32_t host);

/* HB_GROW_ROOT also for a host that is neither up nor being started. */
uint32_t hb_grow_parent(const struct hb_grow *g, uint32_t host);
uint32_t hb_grow_children(const struct hb_grow *g, uint32_t host);
uint32_t hb_grow_depth(const struct hb_grow *g); /* edges to the farthest */

#endif
