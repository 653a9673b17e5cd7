/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_STALE_H
#define HB_PROC_STALE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bin/proc/guard.h"
#include "lib/base/error.h"

/* Where an agent and its guard were killed together with the launcher, nobody
 * is left to clean up. Directories of a job say whose they are, and the next
 * agent of the same user on the same host finds what the dead ones left. */

#define HB_BOOT_ID_LEN 36 /* a UUID */

struct hb_owner {
    char boot[HB_BOOT_ID_LEN + 1]; /* of the machine */
    uint64_t name_space; /* of pids: inode of /proc/self/ns/pid */
    pid_t pids[2];       /* guard and agent */
    uint64_t starts[2];  /* with its pid, the identity of each */
    char cookie[HB_COOKIE_MAX + 1];
};

/* "BOOT SPACE GUARD START AGENT START COOKIE": the text of an owner file; 0 or
 * -1. */
int hb_owner_parse(const char *text, size_t len, struct hb_owner *out);

/* To be called by an agent, below its guard: this directory (stage.h) is
 * theirs. ERR_SYSTEM: it could not be said; a later agent will not know. */
int hb_owner_write(const char *dir, const char *cookie,
                   struct hpcboot_error *err);

struct hb_stale_report {
    int dirs;   /* removed */
    int killed; /* processes that carried the cookie of their owners */
};

/* Ends and removes what agents of this user left in the places where
 * directories of jobs are made, if neither agent nor guard is alive. Those of
 * another machine, a former boot of this one, or another PID name space are
 * left alone: here nobody can tell, and so are those of other nodes of this
 * job; NULL: it is not known yet. Costs a look
 * into those places; blocks for at most timeout_ms where there is something to
 * be killed. */
void hb_stale_clear(const char *job_id, uint32_t node, int timeout_ms,
                    struct hb_stale_report *out);
/* The same in places[n] alone; for tests. */
void hb_stale_clear_in(const char *const *places, size_t n,
                       const char *job_id, uint32_t node, int timeout_ms,
                       struct hb_stale_report *out);

#endif
