/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_GUARD_H
#define HB_PROC_GUARD_H

#include <stdint.h>
#include <sys/types.h>

#include "bin/proc/filters.h"
#include "lib/base/error.h"

/* The keeper's, which ends as its agent does. */
#define HB_KEEPER_NAME "hb-keeper"

/* Nothing stays behind. The guard is the process above an agent: a child
 * subreaper that does nothing but wait. When the agent ends, for whatever
 * reason, the guard kills every descendant that is left and every process
 * that carries the job's cookie, and ends with the agent's status. When the
 * guard is killed, the agent notices (*watch_fd_out) and does the same.
 * Above the guard there is a keeper, the process that called this: it does for
 * the guard what that does for the agent, so that agent and guard may both be
 * killed.
 *
 * Forks twice: returns 0 in the agent, with *watch_fd_out readable once the
 * guard is gone; in the other two it never returns. These leave the caller's
 * session (setsid), ignore terminal signals, and pass TERM on. They let go of
 * all descriptors, the guard also of the link it watches when the agent ends,
 * so whoever reads from the agent sees its end at once.
 * The agent has a session of its own, and is a subreaper, too. To be called
 * early, while the process is small and has no threads. */
int hb_guard_enter(int *watch_fd_out, struct hpcboot_error *err);

/* To be called before hb_guard_enter, with the words of main: the keeper puts
 * a name of its own there. */
void hb_guard_words(char **argv);

/* To be called before hb_guard_enter: the guard watches the other end of this
 * descriptor too, and kills an agent that is still there some seconds after
 * it was closed: one that was stopped, or hangs. Borrowed. */
void hb_guard_watch_link(int fd);

/* The guard does not look at that link for so long; below 0: any more. */
void hb_guard_leave_link(int64_t ms);

/* The cookie by which strays are known; may be set late (the agent hears it
 * in WELCOME). Written by the agent for its guard through shared memory. A
 * cookie is a long random text, one for each agent of a job: two agents on
 * one machine must not take each other's ranks for strays. One of fewer than
 * HB_COOKIE_MIN bytes is not used. */
#define HB_COOKIE_VAR "HPCBOOT_COOKIE"
#define HB_COOKIE_MIN 16
#define HB_COOKIE_MAX 128
void hb_guard_set_cookie(const char *cookie);
/* The cookie of the agent that was started with `token`; free() it. */
char *hb_guard_cookie_of(const char *job_cookie, const char *token);
/* The session directory (stage.h), which the guard removes when the agent can
 * not; a path of at most HB_SESSION_PATH_MAX bytes. */
void hb_guard_set_session_dir(const char *path);
/* The same for the job's directory for shared-memory files. */
void hb_guard_set_shm_dir(const char *path);
/* Since when there may be shared memory of ranks, as hb_segments_since takes
 * it. */
void hb_guard_set_segments(int64_t stamp_ns, int64_t apart_ns);

/* Kills all descendants of the calling process (a subreaper) and, where a
 * cookie is set, all processes of this user that carry it and are not older
 * than the caller, until none is left or `timeout_ms` has passed; reaps what
 * it can, so statuses of children are lost to others. Returns how many were
 * killed. `sparing` (may be 0): a pid to leave alone; what runs below it is
 * not spared. Blocks; costs a few passes over /proc, or one call where there
 * is no child and no cookie. */
int hb_reap_all(const char *cookie, pid_t sparing, int timeout_ms);

struct hb_reap_report {
    int killed;
    int refused; /* could not be signalled: another user's (set-user-ID) */
    int left;    /* killed, and not dead in time (uninterruptible sleep) */
    int blind;   /* /proc is missing or another PID name space's: not done */
};
void hb_reap(const char *cookie, pid_t sparing, int timeout_ms,
             struct hb_reap_report *out);

/* The same for a process that is no agent: kills only what carries the
 * cookie, whoever started it. Costs a walk through /proc at least. */
int hb_reap_strays(const char *cookie, int timeout_ms);
/* Also those older than the caller, but not than `born` (as in procfs.h). */
int hb_reap_strays_since(const char *cookie, uint64_t born, int timeout_ms);

/* Sends a signal to every descendant of this process but for those (NULL:
 * none are spared). Returns how many; HPCBOOT_ERR_SYSTEM: it cannot see them,
 * /proc is missing or another's. */
int hb_signal_descendants(int signo, const struct hb_filters *sparing);
/* The same to those of a process group. */
int hb_signal_group(pid_t group, int signo, const struct hb_filters *sparing);
/* Whether a process group is still the one whose first process was a child that
 * has been reaped: somebody below this process (a subreaper) is in it, and its
 * number is nobody's pid, which it could be again only when nobody was left. */
int hb_group_is_left(pid_t group);
/* Makes the calling process a child subreaper. */
int hb_become_subreaper(struct hpcboot_error *err);
/* Whether the kernel lets this process wait for children at all: who hears of
 * no child's end would wait for it for ever. */
int hb_can_wait(struct hpcboot_error *err);

#endif
