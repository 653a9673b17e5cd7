/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What the agents say while the job runs: one handler per frame type, in a
 * table. Every failure of a rank becomes a cause for the verdict. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "bin/job/ancestry.h"
#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/traffic.h"
#include "bin/job/wiring.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"

typedef int (*frame_handler)(struct job_host *h, const struct hb_frame *f,
                             struct hpcboot_error *err);

/* Differences of such times are taken: whatever an agent says, it comes to be
 * one that this host's clock has shown. */
int64_t host_time(struct job_host *h, uint64_t agent_ns)
{
    int64_t now_ns = hb_now_ns(), at_ns;

    hb_offset_heard(&h->clock, agent_ns, now_ns);
    at_ns = (int64_t)(agent_ns - (uint64_t)host_clock_offset(h));
    return at_ns < 0 ? 0 : at_ns > now_ns ? now_ns : at_ns;
}

/* The rank a frame speaks of; it must live on the host that sent it. */
static int check_rank(const struct job_host *h, uint32_t rank,
                      struct hpcboot_error *err)
{
    const struct job *j = h->job;

    if (j->map == NULL || j->ranks == NULL || rank >= j->map->n_ranks ||
        j->map->node_of_rank[rank] != h->node) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "the agent spoke of rank %u, which is not on it", rank);
    }
    return 0;
}

static int on_started(struct job_host *h, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct hb_msg_rank_started m;
    int rc = hb_wire_get_rank_started(f, &m, err);

    if (rc == 0) {
        rc = check_rank(h, m.rank, err);
    }
    if (rc == 0) {
        int64_t at = host_time(h, m.time_ns);

        h->times.spawned_ns = at > h->times.spawned_ns ? at
                                                       : h->times.spawned_ns;
        h->job->ranks[m.rank].started = 1;
        h->job->ranks[m.rank].pid = m.pid;
        h->job->n_started++;
        if (h->job->n_started == h->job->map->n_ranks) {
            job_ancestry_started(h->job);
        }
        job_event_rank(h, "rank_started", m.rank, "pid", m.pid);
        hb_log(HB_TRACE, "rank %u runs on %s, pid %u", m.rank, h->spec->name,
               m.pid);
    }
    return rc;
}

static void rank_over(struct job *j, uint32_t rank)
{
    if (!j->ranks[rank].ended) {
        j->ranks[rank].ended = 1;
        j->n_ended++;
    }
}

/* Ranks of libhpcboot wait in hpcboot_init for all others. Whether one that
 * ended before it came is to be told to them as dead: where its failure does
 * not end the job, and no other rank takes its place. */
static int is_missed(const struct job *j, uint32_t rank)
{
    return (j->on_failure == HB_FAIL_CONTINUE || j->live != NULL) &&
           !job_live_refills(j, rank);
}

static int on_rank_failed(struct job_host *h, const struct hb_frame *f,
                          struct hpcboot_error *err)
{
    struct hb_msg_rank_failed m;
    char why[256];
    int rc = hb_wire_get_rank_failed(f, &m, err);

    if (rc == 0) {
        rc = check_rank(h, m.rank, err);
    }
    if (rc == 0) {
        const struct hb_cause cause = {
            .kind = HB_CAUSE_START, .time_ns = host_time(h, m.time_ns),
            .rank = m.rank, .host = h->spec->name, .sys_errno = m.sys_errno,
            .text = m.text,
        };

        rank_over(h->job, m.rank);
        job_event_rank_text(h, "rank_failed", m.rank, m.text);
        if (is_missed(h->job, m.rank)) {
            snprintf(why, sizeof why, "could not be started: %s", m.text);
            job_tell_dead(h->job, &m.rank, 1, why);
        }
        job_ranks_lost(h->job, &m.rank, 1, m.text);
        job_cause(h->job, &cause);
        job_latecomers_look(h->job);
    }
    return rc;
}

/* A rank that was told to end and did so is no cause: what made its agent
 * tell it is one. It says nothing about a signal of another kind. */
static int did_as_told(const struct job *j, const struct hb_msg_rank_exit *m)
{
    int signo = WIFSIGNALED(m->wait_status) ? WTERMSIG(m->wait_status) : 0;

    return m->told && (signo == 0 || signo == SIGTERM || signo == SIGKILL ||
                       signo == j->opt->checkpoint_signal);
}

/* Whether the library is what ranks with this contact begin and end with. */
static int is_of_library(unsigned contact)
{
    return (contact & HB_CONTACT_NATIVE) && !(contact & HB_CONTACT_MPI);
}

/* What, if anything, is wrong with how a rank ended. */
static enum hb_cause_kind exit_kind(const struct job *j,
                                    const struct hb_msg_rank_exit *m)
{
    const struct job_rank *r = &j->ranks[m->rank];
    int initialised = (r->contact & HB_CONTACT_INIT) != 0;
    int finalised = (r->contact & HB_CONTACT_FINALIZE) != 0;
    int left = j->node_host[j->map->node_of_rank[m->rank]]->let_go;

    if (did_as_told(j, m) || left) {
        return HB_CAUSE_NONE;
    }
    if (WIFSIGNALED(r->wait_status)) {
        return HB_CAUSE_SIGNAL;
    }
    if (WEXITSTATUS(r->wait_status) != 0) {
        return HB_CAUSE_EXIT;
    }
    if (j->live != NULL) {
        return HB_CAUSE_NONE; /* ranks may come and go */
    }
    if (!initialised && j->initialised && j->n_ended < j->map->n_ranks) {
        return HB_CAUSE_NO_INIT;
    }
    if (initialised && !finalised && j->map->n_ranks > 1 &&
        j->n_ended < j->map->n_ranks) {
        return HB_CAUSE_NO_FINALIZE;
    }
    return HB_CAUSE_NONE;
}

/* Others may be waiting for it: it has come, and not taken its leave. */
static int is_awaited(const struct hb_msg_rank_exit *m)
{
    return (m->contact & HB_CONTACT_INIT) != 0 &&
           (m->contact & HB_CONTACT_FINALIZE) == 0;
}

static int has_not_come(const struct hb_msg_rank_exit *m)
{
    return (m->contact & HB_CONTACT_INIT) == 0;
}

static void tell_death(struct job *j, const struct hb_msg_rank_exit *m)
{
    char text[256];
    int killed;

    if (WIFSIGNALED(m->wait_status)) {
        killed = WTERMSIG(m->wait_status) == SIGKILL &&
                 m->evidence[0] != '\0';
        snprintf(text, sizeof text, "was killed by signal %d (%s)%s%s",
                 WTERMSIG(m->wait_status),
                 strsignal(WTERMSIG(m->wait_status)), killed ? "; " : "",
                 killed ? m->evidence : "");
    } else {
        snprintf(text, sizeof text, "ended with exit status %d%s",
                 WEXITSTATUS(m->wait_status),
                 m->contact & HB_CONTACT_FINALIZE
                     ? "" : " and without hpcboot_finalize");
    }
    job_tell_dead(j, &m->rank, 1, text);
}

/* Ranks may run several programs of libhpcboot one after the other. Whether
 * this one has finalized the last, and ranks of other hosts are already in the
 * next, which cannot begin without it. (Ranks of its own host are told by their
 * agent.) */
static int has_left_others(const struct job *j, uint32_t rank)
{
    const struct job_host *h = j->node_host[j->map->node_of_rank[rank]];

    return (j->ranks[rank].contact & HB_CONTACT_FINALIZE) != 0 &&
           h->programs_begun < j->programs_begun &&
           !job_live_refills(j, rank);
}

static void on_program(struct job_host *h)
{
    struct job *j = h->job;

    if (++h->programs_begun <= j->programs_begun) {
        return;
    }
    j->programs_begun = h->programs_begun;
    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        const struct hb_msg_rank_exit m = {
            .rank = r, .wait_status = j->ranks[r].wait_status,
            .contact = j->ranks[r].contact, .evidence = "",
        };

        if (j->ranks[r].ended && has_left_others(j, r)) {
            tell_death(j, &m);
        }
    }
}

/* It failed: the cause of the job's end, or of what the policy says. */
static void rank_has_failed(struct job_host *h,
                            const struct hb_msg_rank_exit *m,
                            enum hb_cause_kind kind)
{
    struct job *j = h->job;
    char why[512], apart[256];
    struct hb_cause cause = {
        .kind = kind, .time_ns = host_time(h, m->time_ns), .rank = m->rank,
        .host = h->spec->name, .core_dumped = m->core_dumped,
        .evidence = m->evidence,
        .of_library = is_of_library(kind == HB_CAUSE_NO_INIT
                                        ? j->initialised : m->contact),
        .code = WIFSIGNALED(m->wait_status) ? WTERMSIG(m->wait_status)
                                            : WEXITSTATUS(m->wait_status),
    };

    if (kind == HB_CAUSE_EXIT && m->evidence[0] == '\0') {
        cause.evidence = job_cut_words(h, apart, sizeof apart);
    }
    if (job_respawn_rank(h, &cause, m->contact, why, sizeof why)) {
        job_rank_begins_anew(j, m->rank);
    } else {
        if (has_not_come(m)
                ? is_missed(j, m->rank)
                : is_awaited(m) || has_left_others(j, m->rank)) {
            tell_death(j, m);
        }
        job_ranks_lost(j, &m->rank, 1, "it failed");
        job_cause(j, &cause);
    }
}

static int on_rank_exit(struct job_host *h, const struct hb_frame *f,
                        struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct hb_msg_rank_exit m;
    enum hb_cause_kind kind;
    int rc = hb_wire_get_rank_exit(f, &m, err);

    rc = rc == 0 ? check_rank(h, m.rank, err) : rc;
    if (rc < 0) {
        return rc;
    }
    rank_over(j, m.rank);
    j->ranks[m.rank].contact = m.contact;
    j->ranks[m.rank].wait_status = m.wait_status;
    j->ranks[m.rank].ended_ns = host_time(h, m.time_ns);
    j->ranks[m.rank].told = m.told != 0;
    job_event_rank(h, "rank_exit", m.rank, "wait_status", m.wait_status);
    hb_log(HB_TRACE, "rank %u on %s ended with wait status %d", m.rank,
           h->spec->name, m.wait_status);
    kind = exit_kind(j, &m);
    if (kind != HB_CAUSE_NONE) {
        rank_has_failed(h, &m, kind);
        job_latecomers_look(j);
        return 0;
    }
    if (j->phase == JOB_RUNNING && /* its host leaves, say */
        (is_awaited(&m) || has_left_others(j, m.rank) ||
         (has_not_come(&m) && is_of_library(j->initialised) &&
          is_missed(j, m.rank)))) {
        tell_death(j, &m);
    }
    if (!h->let_go) {
        job_meeting_settle(j);
    }
    job_latecomers_look(j);
    return 0;
}

static int on_abort(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct hb_msg_abort m;
    int rc = hb_wire_get_abort(f, &m, err);

    if (rc == 0) {
        rc = check_rank(h, m.rank, err);
    }
    if (rc == 0) {
        char apart[256];
        const struct hb_cause cause = {
            .kind = HB_CAUSE_ABORT, .time_ns = host_time(h, m.time_ns),
            .rank = m.rank, .host = h->spec->name, .code = m.code,
            .text = m.text,
            .evidence = job_cut_words(h, apart, sizeof apart),
        };

        job_event_rank(h, "rank_abort", m.rank, "code", m.code);
        job_cause(h->job, &cause);
    }
    return rc;
}

static int on_output(struct job_host *h, const struct hb_frame *f,
                     struct hpcboot_error *err)
{
    struct hb_msg_output m;
    int rc = hb_wire_get_output(f, &m, err);

    if (rc == 0) {
        rc = check_rank(h, m.rank, err);
    }
    return rc == 0 ? job_carry_output(h, &m, err) : rc;
}

static int on_stdin_credit(struct job_host *h, const struct hb_frame *f,
                           struct hpcboot_error *err)
{
    struct hb_msg_stdin_credit m;
    int rc = hb_wire_get_stdin_credit(f, &m, err);

    if (rc == 0) {
        job_carry_stdin_credit(h, m.bytes);
    }
    return rc;
}

static int on_done(struct job_host *h, const struct hb_frame *f,
                   struct hpcboot_error *err)
{
    struct hb_msg_done m;
    int rc = hb_wire_get_done(f, &m, err);

    if (rc == 0 && h->leaves != NULL && h->job->phase == JOB_RUNNING) {
        return hb_fail(err, HPCBOOT_ERR_HOST, "%s", h->leaves);
    }
    if (rc == 0 && h->state == HOST_RUNNING) {
        h->times.fence_ns = m.fence_ns > 0 ? host_time(h, m.fence_ns) : 0;
        h->times.output_ns = m.output_ns > 0 ? host_time(h, m.output_ns) : 0;
        if (m.leftovers_killed > 0) {
            hb_log(HB_INFO, "host %s: %u %s that ranks had left behind %s "
                   "killed", h->spec->name, m.leftovers_killed,
                   m.leftovers_killed == 1 ? "process" : "processes",
                   m.leftovers_killed == 1 ? "was" : "were");
        }
        h->state = HOST_DONE;
        job_event_host(h, "host_done", NULL);
        h->job->hosts_done++;
        if (h->let_go) {
            job_live_left(h);
        }
        host_release(h);
        job_maybe_over(h->job);
    }
    return rc;
}

static int on_note(struct job_host *h, const struct hb_frame *f,
                   struct hpcboot_error *err)
{
    struct hb_msg_note m;
    int rc = hb_wire_get_note(f, &m, err);

    if (rc == 0) {
        job_note(h, m.level <= HB_TRACE ? (enum hb_log_level)m.level
                                        : HB_TRACE, m.text);
    }
    return rc;
}

/* Where ranks come and go it is no failure that one ended without it. */
static void never_came(struct job *j, uint32_t r, unsigned contact)
{
    const struct hb_cause cause = {
        .kind = HB_CAUSE_NO_INIT, .time_ns = j->ranks[r].ended_ns, .rank = r,
        .of_library = is_of_library(contact),
        .host = job_host_of_rank(j, r),
    };

    if (is_missed(j, r)) {
        tell_death(j, &(struct hb_msg_rank_exit){.rank = r, .evidence = ""});
    }
    if (j->live == NULL) {
        job_ranks_lost(j, &r, 1, "it never came");
        job_cause(j, &cause);
    }
}

/* MPI_Init waits for all ranks of the job, as does hpcboot_init: those that
 * have ended without it will not come, which is older than what became of those
 * that waited for them. (Of those that were lost with their host, or never
 * started, no end has been heard.) */
static void on_init(struct job *j, unsigned contact)
{
    int is_first = j->initialised == 0;

    j->initialised = contact;
    for (uint32_t r = 0; is_first && r < j->map->n_ranks; r++) {
        const struct job_rank *rank = &j->ranks[r];

        if (rank->ended && rank->ended_ns != 0 && rank->wait_status == 0 &&
            !rank->told && (rank->contact & HB_CONTACT_INIT) == 0) {
            never_came(j, r, contact);
        }
    }
}

/* The first rank of a host has initialised, in this program; or ten seconds are
 * over, and a rank that links an MPI has not called its server. */
static int on_contact(struct job_host *h, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct hb_msg_contact m;
    int rc = hb_wire_get_contact(f, &m, err);

    rc = rc == 0 ? check_rank(h, m.rank, err) : rc;
    if (rc == 0 && (m.contact & HB_CONTACT_INIT) != 0) {
        if (h->programs_begun == 0) {
            job_event_host(h, "host_initialised", NULL);
        }
        on_init(j, m.contact);
        h->in_init = (m.contact & HB_CONTACT_NATIVE) != 0;
        on_program(h);
        job_latecomers_look(j);
    } else if (rc == 0 && (m.contact & HB_CONTACT_BEGUN) != 0) {
        h->in_init = 0;
    } else if (rc == 0 && !j->contact_noted && j->family.links_mpi) {
        j->contact_noted = 1;
        hb_log(HB_WARN, "rank %u on %s links an MPI library and has not "
               "called its %s server for 10 s: if it takes itself for rank 0 "
               "of 1, choose another family with --pmi", m.rank,
               h->spec->name, hb_pm_family_name(j->family.family));
    }
    return rc;
}

/* A host that cannot do what was asked for is no broken host: another try
 * would end the same way. */
static int on_host_failed(struct job_host *h, const struct hb_frame *f,
                          struct hpcboot_error *err)
{
    struct hb_msg_failed m;
    int rc = hb_wire_get_failed(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    if (hb_status_damage(m.code) == HB_DAMAGE_USAGE &&
        !job_latecomer_unfit(h, m.text)) {
        job_fail(h->job, HB_CAUSE_USAGE, 0, "host %s: %s", h->spec->name,
                 m.text);
    }
    return hb_fail(err, m.code, "%s", m.text);
}

/* It counts as lost when its ranks have ended (DONE): with respawn, for then
 * they can be started elsewhere, and where hosts come and go, for the source
 * may drop it, too. */
static int is_judged_when_done(struct job_host *h, struct hb_cause *cause)
{
    const struct job *j = h->job;

    if (j->phase != JOB_RUNNING) {
        return 0;
    }
    if (j->on_failure == HB_FAIL_RESPAWN) {
        cause->evidence = job_never_moves(h);
    }
    return j->live != NULL ||
           (j->on_failure == HB_FAIL_RESPAWN && cause->evidence == NULL);
}

static int on_leaving(struct job_host *h, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct hb_msg_leaving m;
    int rc = hb_wire_get_leaving(f, &m, err);

    if (rc == 0 && !h->gone) { /* else it was told to once more */
        struct hb_cause cause = {
            .kind = HB_CAUSE_HOST, .time_ns = host_time(h, m.time_ns),
            .host = h->spec->name, .text = m.text};

        job_event_host(h, "host_leaving", m.text);
        if (h->let_go) { /* it leaves since it was told to, by us as well */
            return 0;
        }
        h->gone = 1;
        if (is_judged_when_done(h, &cause)) {
            free(h->leaves);
            h->leaves = hb_xstrdup(m.text);
            return 0;
        }
        h->job->end_signal = h->job->opt->checkpoint_signal;
        job_cause(h->job, &cause);
    }
    return rc;
}

static const struct {
    frame_handler handler;
    int ordered; /* only of hosts whose ranks, or others' below, were */
} frames[HB_MSG_TYPES] = {
    [HB_MSG_RANK_STARTED] = {on_started, 1},
    [HB_MSG_RANK_FAILED] = {on_rank_failed, 1},
    [HB_MSG_RANK_EXIT] = {on_rank_exit, 1},
    [HB_MSG_ABORT] = {on_abort, 1},
    [HB_MSG_OUTPUT] = {on_output, 1},
    [HB_MSG_STDIN_CREDIT] = {on_stdin_credit, 1},
    [HB_MSG_DONE] = {on_done, 1},
    [HB_MSG_NOTE] = {on_note, 0},
    [HB_MSG_CONTACT] = {on_contact, 1},
    [HB_MSG_FAILED] = {on_host_failed, 0},
    [HB_MSG_LEAVING] = {on_leaving, 1},
    [HB_MSG_INSPECTED] = {job_inspected, 0},
    [HB_MSG_BOOT_STAGE] = {job_tree_frame, 0},
    [HB_MSG_BOOT_DOUBT] = {job_tree_frame, 0},
    [HB_MSG_BOOT_FAILED] = {job_tree_frame, 0},
    [HB_MSG_CHILD_LOST] = {job_tree_frame, 0},
    [HB_MSG_CLOCK] = {job_tree_frame, 0},
    [HB_MSG_SUSPECT] = {job_tree_frame, 0},
    [HB_MSG_FILE_TAKEN] = {job_files_taken, 0},
    [HB_MSG_SURVEYED] = {job_surveyed, 0},
    [HB_MSG_EXAMINED] = {job_examined, 0},
    [HB_MSG_PROBE_DATA] = {job_traffic_data, 0},
    [HB_MSG_PROBED] = {job_traffic_ended, 0},
    [HB_MSG_PORTS_FOUND] = {job_meeting_found, 0},
    [HB_MSG_MET] = {job_meeting_met, 1},
    [HB_MSG_FENCE_UP] = {job_route_frame, 1},
    [HB_MSG_MODEX] = {job_route_frame, 1},
    [HB_MSG_MODEX_REPLY] = {job_route_frame, 1},
    [HB_MSG_NAME] = {job_route_frame, 1},
    [HB_MSG_EVENT] = {job_route_frame, 1},
    [HB_MSG_SPAWN] = {job_spawn_frame, 1},
    [HB_MSG_RESUMED] = {job_adopt_frame, 0},
    [HB_MSG_ACK] = {job_adopt_frame, 0},
    [HB_MSG_CUT] = {job_cut_frame, 1},
    [HB_MSG_ALIVE] = {job_cut_frame, 0},
};

void job_frame(struct job_host *h, const struct hb_frame *f)
{
    int ordered = h->job->begun && h->state >= HOST_RUNNING;
    struct hpcboot_error err = {0};
    int rc;

    if (!host_heard(h, f)) {
        return;
    }
    if (f->type >= HB_MSG_TYPES || frames[f->type].handler == NULL) {
        rc = hb_fail(&err, HPCBOOT_ERR_PROTOCOL, "a %s frame is not for the "
                     "launcher", hb_wire_type_name(f->type));
    } else if (frames[f->type].ordered && !ordered) {
        rc = hb_fail(&err, HPCBOOT_ERR_PROTOCOL, "a %s frame came out of turn",
                     hb_wire_type_name(f->type));
    } else {
        rc = frames[f->type].handler(h, f, &err);
    }
    if (rc < 0) {
        host_lost(h, &err);
    }
}
