/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A job that ranks of this one have started, as its launcher sees it. */
#ifndef HB_JOB_SPAWNED_H
#define HB_JOB_SPAWNED_H

#include "bin/job/job_impl.h"

struct spawned {
    struct spawned *next;
    struct job *job;
    struct job_host *by; /* the host of the rank that waits for the answer */
    uint64_t id;
    uint32_t rank, number, n_ranks;
    pid_t pid;
    struct hb_link *link;
    struct event *timer; /* while it waits for slots; then to look after it */
    unsigned stopped;    /* so many looks in a row that it does not */
    int room_over;       /* it has waited for slots long enough */
    struct hb_buf what;   /* SPAWN, until it goes down */
    size_t n_unread;      /* bytes of it that its launcher may not have read */
    struct hb_strv hosts; /* that it took, and */
    uint32_t *ranks;      /* how many ranks it put there */
    int answered;
    char *job_id; /* once its ranks run; or NULL */
    int said_bye;
    int status; /* of what it says has failed; 0: nothing */
    int64_t failed_ns;
    char *why;
};

struct job_spawns {
    struct spawned *first;
    struct spawned *unnumbered; /* nothing of them has begun; no more has any */
    struct spawned *waiting;    /* the latest first */
    uint32_t n;
    size_t n_unread; /* bytes in all */
};

/* Slots that are stated and not used; all there can be where none are. */
uint32_t job_spawned_room(const struct job *j);
/* Starts the launcher of a spawned job and sends it what to start. On failure
 * there may be a launcher all the same; the caller ends it. */
int job_spawned_begin(struct spawned *w, const struct hb_link_events *events,
                      struct hpcboot_error *err);

#endif
