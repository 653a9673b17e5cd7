/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How ranks end, and begin again. A rank's end is reported at once, with the
 * time, what its server knows of it and what the cgroup says; its output may
 * follow. Ends are told in the order in which they were seen: who hears of one
 * first takes it for the cause of the others.
 *
 * Children are reaped on the loop thread
 * alone, which is also the one that forks, so an exit cannot be collected
 * before its pid is known. Orphans of ranks come here too, as this process is
 * a subreaper; they are reaped and not reported. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/sure.h"
#include "bin/proc/guard.h"
#include "bin/proc/limits.h"
#include "lib/base/clock.h"

#define SHELL_SIGNAL 128 /* a shell adds the number of the signal */
#define MIB 1048576.0
#define SHM_FULL_PART 16 /* full is what has less than this part of it left */

/* What kills all of a pod or a step at once kills its ranks a moment before
 * or after the agent. A rank's death that may be a part of that is told when
 * the agent has survived it, and what follows from it, later still; a host that
 * is lost speaks for itself. */
#define HOLD_MS 100

/* Its launcher says whether it is; a rank that its server has wired to others
 * cannot be. */
static int may_live_again(const struct rank *r)
{
    const struct agent *a = r->agent;

    return (a->job.flags & HB_JOB_RESPAWN) && r->wait_status != 0 &&
           !a->killing && !(r->contact & HB_CONTACT_INIT);
}

static void read_evidence(const struct agent *a, char *text, unsigned size)
{
    struct hb_cgroup_marks now = {0};

    hb_cgroup_read_marks(&now);
    hb_cgroup_evidence(&a->marks, &now, text, size);
}

static int is_ended_by(const struct rank *r, int signo)
{
    int status = r->wait_status;

    return WIFSIGNALED(status) ? WTERMSIG(status) == signo
                               : WEXITSTATUS(status) == SHELL_SIGNAL + signo;
}

/* A tmpfs takes a segment of any size, and has no page for who touches what is
 * beyond its own: the runtime of a container gives it 64 MiB. */
static void read_shared_memory(const struct rank *r, char *text, size_t size)
{
    struct statvfs s;

    if (is_ended_by(r, SIGBUS) && statvfs("/dev/shm", &s) == 0 &&
        s.f_bavail < s.f_blocks / SHM_FULL_PART) {
        snprintf(text, size, "/dev/shm is full, with %.4g of %.4g MiB left: "
                 "remove what was left there, or give it more, in a pod by an "
                 "emptyDir with medium: Memory",
                 (double)s.f_bavail * (double)s.f_frsize / MIB,
                 (double)s.f_blocks * (double)s.f_frsize / MIB);
    }
}

/* A client of PMI shuts the one socket that its rank has down when MPI ends. */
static void read_after_mpi(const struct rank *r, char *text, size_t size)
{
    if (is_ended_by(r, SIGPIPE) && (r->contact & HB_CONTACT_FINALIZE) &&
        r->agent->pm != NULL && r->agent->pm_ops->wants_socket) {
        snprintf(text, size, "MPI had ended in it: a second MPI program that "
                 "it runs has no connection to its server left, so start each "
                 "by an hbrun of its own");
    }
}

static void rank_exited(struct rank *r)
{
    struct agent *a = r->agent;
    char evidence[256] = "";

    if (r->rank == 0) {
        agent_loaded_tell(a);
    }
    r->pid = 0;
    r->waiting = may_live_again(r);
    r->ended = !r->waiting;
    a->n_ended += (uint32_t)r->ended;
    if (r->wait_status != 0) {
        read_evidence(a, evidence, sizeof evidence);
        if (evidence[0] == '\0') {
            read_shared_memory(r, evidence, sizeof evidence);
        }
        if (evidence[0] == '\0') {
            read_after_mpi(r, evidence, sizeof evidence);
        }
    }
    AGENT_SEND(a, rank_exit, .rank = r->rank, .wait_status = r->wait_status,
               .contact = r->contact, .time_ns = (uint64_t)r->end_ns,
               .evidence = evidence,
               .core_dumped = WIFSIGNALED(r->wait_status) &&
                              WCOREDUMP(r->wait_status),
               .told = (uint8_t)r->told);
    if (a->pm != NULL) {
        a->pm_ops->rank_gone(a->pm, r->rank);
    }
    rank_stdin_close(r);
}

/* Who waits for the rank hears what may have killed it, before its end is
 * reported. */
static void tell_peers(struct rank *r)
{
    char evidence[256] = "";

    r->peers_told = 1;
    if (WIFSIGNALED(r->wait_status) && WTERMSIG(r->wait_status) == SIGKILL) {
        read_evidence(r->agent, evidence, sizeof evidence);
    }
    agent_native_gone(r->agent, r->rank, r->wait_status, evidence);
}

/* A rank that has ended before its exec was reported waits for that. */
static void note_exit(struct agent *a, pid_t pid, int status, int64_t now)
{
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        struct rank *r = &a->ranks[i];

        if (r->pid == pid) {
            r->wait_status = status;
            r->end_ns = now;
            r->told = a->killing > 0;
            r->pid = -1;
            return;
        }
    }
    agent_probe_ended(a, pid, status);
}

/* Of ends that were seen together a signal may be the cause of the others. */
static int is_before(const struct rank *r, const struct rank *than)
{
    return r->end_ns != than->end_ns
               ? r->end_ns < than->end_ns
               : WIFSIGNALED(r->wait_status) &&
                     !WIFSIGNALED(than->wait_status);
}

/* The first whose peers do not know; NULL: there is none. */
static struct rank *first_unknown(struct agent *a)
{
    struct rank *first = NULL;

    for (uint32_t i = 0; i < a->n_ranks; i++) {
        struct rank *r = &a->ranks[i];

        if (r->pid == -1 && !r->peers_told && !may_live_again(r) &&
            (first == NULL || is_before(r, first))) {
            first = r;
        }
    }
    return first;
}

/* Peers are told when all ends of the moment are known: a rank that ends
 * because of what it hears has a later one. */
static void note_exits(struct agent *a)
{
    int64_t now = hb_now_ns();
    struct rank *r;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        note_exit(a, pid, status, now);
    }
    while ((r = first_unknown(a)) != NULL) {
        tell_peers(r);
    }
}

static void on_held(evutil_socket_t fd, short what, void *arg)
{
    agent_reap(arg);
}

/* Whether the rank's end is not to be told yet. */
static int held_back(struct rank *r)
{
    static const struct timeval hold = {0, HOLD_MS * 1000};
    struct agent *a = r->agent;

    if (a->killing || !WIFSIGNALED(r->wait_status) ||
        WTERMSIG(r->wait_status) != SIGKILL) {
        return 0;
    }
    if (r->hold == NULL) {
        r->hold = sure_timer(a->base, on_held, a);
        sure_add(r->hold, &hold);
    }
    return evtimer_pending(r->hold, NULL);
}

static int is_untold(const struct rank *r)
{
    return r->pid == -1 && r->error_ev == NULL && !r->ended;
}

/* The first that nobody has been told of; NULL: there is none, or its time has
 * not come. */
static struct rank *first_untold(struct agent *a)
{
    struct rank *first = NULL;
    int64_t held_ns = INT64_MAX;

    for (uint32_t i = 0; i < a->n_ranks; i++) {
        struct rank *r = &a->ranks[i];

        if (is_untold(r) && held_back(r) && r->end_ns < held_ns) {
            held_ns = r->end_ns;
        }
        if (is_untold(r) && (first == NULL || is_before(r, first))) {
            first = r;
        }
    }
    return first != NULL && first->end_ns < held_ns ? first : NULL;
}

void agent_reap(struct agent *a)
{
    struct rank *r;

    note_exits(a);
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        r = &a->ranks[i];
        if (r->waiting && a->killing) {
            r->waiting = 0;
            r->ended = 1;
            a->n_ended++;
        }
    }
    while ((r = first_untold(a)) != NULL) {
        rank_exited(r);
    }
    agent_maybe_done(a);
}

/* What the last one had of pipes and processes is gone for good, and the last
 * that it wrote on its way, or waits for a reader that pauses. */
static void forget_last(struct rank *r)
{
    struct agent *a = r->agent;
    struct rank_texts said;

    if (hb_group_is_left(r->group)) { /* else the number may be another's */
        (void)kill(-r->group, SIGKILL);
    }
    said = rank_output_take(r);
    rank_io_destroy(r);
    hb_strv_destroy(&r->argv);
    if (r->hold != NULL) {
        event_free(r->hold);
    }
    *r = (struct rank){.agent = a, .rank = r->rank, .restarts = r->restarts,
                       .texts = said, .error_fd = -1, .in.fd = -1, .pm.fd = -1};
    r->out[0].fd = r->out[1].fd = -1;
}

int agent_respawn(struct agent *a, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    struct hb_strv limits = HB_STRV_INIT;
    struct rank_limits start = {0};
    struct hpcboot_error why = {0};
    struct hb_msg_respawn m;
    struct rank *r;
    int rc = hb_wire_get_respawn(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    r = agent_rank(a, m.rank);
    if (r == NULL || !r->waiting) { /* it was told to end meanwhile */
        return 0;
    }
    a->epoch = f->epoch;
    forget_last(r);
    r->restarts = m.restart;
    a->pm_ops->rank_again(a->pm, r->rank);
    rc = hb_limits_parse(hb_strv_view(&a->job.limits), &start.limits,
                         &start.n_limits, &limits, &why);
    if (rc < 0 || rank_start(r, &start, &why) < 0) {
        rank_failed(r, HB_PROC_FORK, why.sys_errno, why.text);
        agent_maybe_done(a);
    } else if (a->stdin_ended) {
        rank_stdin_close(r);
    }
    hb_strv_destroy(&limits);
    free(start.limits);
    return 0;
}
