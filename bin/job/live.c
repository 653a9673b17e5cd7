/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* An elastic job whose policy lets ranks come and go while it runs (continue,
 * respawn). elastic.c asks the source of hosts; here is what follows.
 *
 * A host that has come is logged in to by the launcher, as at the start. When
 * its agent is ready it gets a seat (seats.h): from then on it is one of the
 * job. A host that cannot be taken in is none of the job's troubles: it is
 * tried again, later and later, as long as the source names it, and the job
 * does not wait for it, nor does it keep others out.
 *
 * A host that the source no longer names is told to end its ranks, as when it
 * were evicted. Its end is no failure, and its seat is free. */
#include "config.h"

#include <signal.h>
#include <stdlib.h>

#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "bin/job/seats.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* Entries of hosts stay, and hosts may come under ever new names. */
#define ENTRIES_PER_RANK 4u
#define ENTRIES_MAX 4096u
#define RETRY_LEAST_MS 1000

struct job_live {
    unsigned char *is_free; /* [most] seats; hb_seats */
    uint32_t most;          /* MAX of --np MIN:MAX */
    uint32_t n_left;        /* ranks whose seats are free */
    int64_t lack_ns;        /* since when there are fewer than MIN; 0 */
    int refused_said;
};

int job_is_live(const struct job *j)
{
    return !j->only_wait && j->opt->apps[0].np_min > 0 &&
           (j->on_failure == HB_FAIL_CONTINUE ||
            j->on_failure == HB_FAIL_RESPAWN);
}

uint32_t job_ranks_most(const struct job *j)
{
    return job_is_live(j) ? j->opt->apps[0].np : j->map->n_ranks;
}

uint32_t job_host_entries(const struct job *j)
{
    uint64_t more;

    if (j->only_wait || j->opt->apps[0].np_min == 0) {
        return (uint32_t)j->gang.n;
    }
    more = (uint64_t)j->opt->apps[0].np * ENTRIES_PER_RANK;
    return (uint32_t)(j->gang.n + (more < ENTRIES_MAX ? more : ENTRIES_MAX));
}

void job_live_open(struct job *j)
{
    if (job_is_live(j)) {
        j->live = hb_xcalloc(1, sizeof *j->live);
        j->live->most = j->opt->apps[0].np;
        j->live->is_free = hb_xcalloc(j->live->most, 1);
    }
}

void job_live_close(struct job *j)
{
    if (j->live != NULL) {
        free(j->live->is_free);
        free(j->live);
        j->live = NULL;
    }
}

static int is_of_library(const struct job *j)
{
    return (j->initialised & HB_CONTACT_NATIVE) != 0;
}

/* A world of libhpcboot begins when all numbers below its size have come. So a
 * new number is of no use there while one of those that have left is free. */
static struct hb_seats seats_of(const struct job *j)
{
    int fill = is_of_library(j) && j->live->n_left > 0;

    return (struct hb_seats){j->map, j->live->is_free,
                             fill ? j->map->n_ranks : j->live->most};
}

int job_live_refills(const struct job *j, uint32_t rank)
{
    uint32_t node = j->map->node_of_rank[rank];

    return j->live != NULL &&
           (j->live->is_free[node] || j->node_host[node]->let_go);
}

/* "rank 3", "ranks 4-7" */
static void put_ranks(const struct job *j, uint32_t node, struct hb_str *out)
{
    struct job_by_node by;

    job_by_node(j, &by);
    hb_str_putf(out, "rank%s ", j->map->local_size[node] == 1 ? "" : "s");
    job_put_ranks(out, &by, node);
    job_by_node_clear(&by);
}

/* --- hosts that come ----------------------------------------------------- */

/* A rank has ended whose host stays: nobody will get its number. */
static int has_a_gap(const struct job *j)
{
    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        if (j->ranks[r].ended && !job_live_refills(j, r)) {
            return 1;
        }
    }
    return 0;
}

/* Another number of ranks cannot be had of ranks that know theirs. */
static const char *why_fixed(const struct job *j)
{
    int by_mpi = j->initialised && !is_of_library(j);

    if (job_meeting_has_roles(j)) {
        return "its ranks have roles, whose numbers stay";
    }
    if (job_meeting_is_closed(j)) {
        return "its ranks have met, as many as they are; --on-failure "
               "restart-job starts all in the new size";
    }
    if (is_of_library(j) && j->live != NULL && has_a_gap(j)) {
        return "a rank has ended on a host that stays, and the others, which "
               "use libhpcboot, cannot begin anew without it; --on-failure "
               "restart-job starts all in the new size";
    }
    return by_mpi || (j->initialised & HB_CONTACT_MPI) || j->family.links_mpi
               ? "its ranks are wired to each other by their MPI, which takes "
                 "none in; --on-failure restart-job starts all in the new size"
               : NULL;
}

int job_takes_in_later(const struct job *j)
{
    return job_is_elastic(j) && (!job_is_live(j) || why_fixed(j) == NULL);
}

int job_takes_a_part(const struct job *j)
{
    return j->opt->min_hosts > 0 || job_takes_in_later(j);
}

static void attach(struct job_host *h)
{
    h->comebacks += h->gone;
    h->missed = (uint8_t)job_live_misses(h);
    h->joins = 1;
    h->let_go = h->failed_in_row = 0;
    job_event_host(h, "host_comes", h->job->gang.source);
    hb_log(HB_DEBUG, "host %s has come into the gang (%s)", h->spec->name,
           h->job->gang.source);
    host_start_late(h, 0);
}

static struct job_host *add_entry(struct job *j, const struct hb_host *spec)
{
    struct hb_host *s = &j->gang.hosts[j->gang.n];
    struct job_host *h = &j->hosts[j->gang.n];

    *s = *spec;
    s->name = hb_xstrdup(spec->name);
    s->user = spec->user != NULL ? hb_xstrdup(spec->user) : NULL;
    s->origin = hb_xstrdup(spec->origin);
    s->is_local = hb_host_is_self(spec->name);
    j->members[j->gang.n] = s->name;
    h->job = j;
    h->index = (uint32_t)j->gang.n++;
    h->spec = s;
    h->node = HB_NODE_UNSET;
    return h;
}

/* Has no part in the job, and might. */
static int is_out(const struct job_host *h)
{
    int had_ranks = h->let_go || h->gone, none = h->node == HB_NODE_UNSET;

    return !h->left_out && !h->joins && !h->unfit && h->link == NULL &&
           h->boot == NULL &&
           ((h->state == HOST_DONE && (none || h->let_go)) ||
            (h->state == HOST_LOST && (none || had_ranks))) &&
           h->comebacks + h->gone <= h->job->opt->max_restarts;
}

/* Ranks for which there is room, less those of hosts that are on their way. */
static int64_t room_left(const struct job *j)
{
    const struct hb_seats seats = seats_of(j);
    int64_t room = hb_seats_room(&seats);

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];
        uint32_t slots = job_ranks_of(h);

        if (h->joins && h->failed_in_row == 0 &&
            (h->state < HOST_READY || job_wiring_asks(h))) {
            room -= slots > 0 ? slots : 1;
        }
    }
    return room;
}

static int has_a_seat(const struct job_host *h)
{
    const struct hb_seats seats = seats_of(h->job);
    struct hb_seat seat;
    uint32_t n = job_ranks_of(h);

    return n == 0 || hb_seats_choose(&seats, h->spec->name, n, &seat);
}

/* There is room, and only in places that are too large for it. */
static void tell_unseated(struct job_host *h)
{
    uint32_t n = job_ranks_of(h);

    if (!h->unseated) {
        h->unseated = 1;
        hb_log(HB_WARN, "host %s has come into the gang (%s) and gets no "
               "ranks: it has %u slot%s, and the ranks that have left, whose "
               "numbers are to be filled again, were more on their host",
               h->spec->name, h->job->gang.source, n, n == 1 ? "" : "s");
        job_event_host(h, "host_not_taken", "too few slots");
    }
}

void job_live_named(struct job *j, const struct hb_host *spec)
{
    struct job_host *h = job_host_named(j, spec->name);
    const char *fixed = why_fixed(j);

    if ((h != NULL && !is_out(h)) || room_left(j) <= 0 ||
        (j->policy.nolocal && hb_host_is_self(spec->name))) {
        return;
    }
    if (fixed != NULL || (h == NULL && j->gang.n == j->host_entries)) {
        if (h == NULL && !j->live->refused_said) {
            j->live->refused_said = 1;
            hb_log(HB_WARN, "host %s has come into the gang (%s) and is not "
                   "taken in: %s", spec->name, j->gang.source,
                   fixed != NULL ? fixed : "too many others have been");
        }
        return;
    }
    h = h != NULL ? h : add_entry(j, spec);
    h->spec->slots = spec->slots; /* it may be back with others */
    if (has_a_seat(h)) {
        h->unseated = 0;
        attach(h);
    } else {
        tell_unseated(h);
    }
}

/* Its login failed, or its agent was lost before it was one of the job. */
void job_live_failed(struct job_host *h)
{
    const struct hb_backoff b = {.first_ms = h->job->opt->restart_delay_ms};
    int64_t ms = hb_backoff_ms(&b, h->failed_in_row);

    host_leave_tree(h);
    host_close(h);
    h->state = HOST_IDLE;
    hb_log(h->failed_in_row++ == 0 ? HB_WARN : HB_DEBUG, "host %s has come "
           "into the gang (%s) and cannot be taken in: %s; the job goes on, "
           "and it is tried again", h->spec->name, h->job->gang.source,
           host_why(h));
    job_event_host(h, "host_not_taken", host_why(h));
    host_arm_ms(h, ms > RETRY_LEAST_MS ? ms : RETRY_LEAST_MS);
}

/* --- seats --------------------------------------------------------------- */

/* Frees a seat whose host has gone or has never come: its ranks have ended. */
static void vacate(struct job *j, uint32_t node)
{
    job_carry_disown(j, node);
    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        if (j->map->node_of_rank[r] == node && !j->ranks[r].ended) {
            j->ranks[r].ended = 1;
            j->n_ended++;
        }
    }
    if (!j->live->is_free[node]) {
        j->live->is_free[node] = 1;
        j->live->n_left += j->map->local_size[node];
    }
}

void job_live_vacate(struct job_host *h)
{
    if (h->job->live != NULL && h->node != HB_NODE_UNSET) {
        vacate(h->job, h->node);
    }
}

static int new_seat(struct job_host *h, uint32_t n_ranks,
                    struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct hb_jobmap *grown;
    int rc = hb_jobmap_grow(j->map, h->spec->name, n_ranks, &grown, err);

    if (rc == 0) {
        job_meeting_grow(j, grown);
        hb_jobmap_destroy(j->map);
        j->map = grown;
    }
    return rc;
}

/* Ranks that were there before begin again under their numbers. */
static void free_seat(struct job_host *h, uint32_t node)
{
    struct job *j = h->job;

    job_forget_ends(j, node);
    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        if (j->map->node_of_rank[r] == node) {
            struct job_rank *was = &j->ranks[r];

            *was = (struct job_rank){.restarts = was->restarts + 1,
                                     .output_waits = was->output_waits,
                                     .output_disowned = was->output_waits};
        }
    }
    if (j->node_host[node]->node == node) {
        j->node_host[node]->node = HB_NODE_UNSET;
    }
    j->live->n_left -= j->map->local_size[node];
}

static int sit_down(struct job_host *h, const struct hb_seat *seat,
                    struct hpcboot_error *err)
{
    struct job *j = h->job;
    int rc = 0;

    if (seat->node == j->map->n_nodes) {
        rc = new_seat(h, seat->n_ranks, err);
    } else {
        free_seat(h, seat->node);
    }
    if (rc == 0) {
        j->live->is_free[seat->node] = 0;
        j->node_host[seat->node] = h;
        hb_jobmap_rename(j->map, seat->node, h->spec->name);
        h->node = seat->node;
    }
    return rc;
}

/* Its agent is ready. */
void job_live_ready(struct job_host *h)
{
    struct job *j = h->job;
    const struct hb_seats seats = seats_of(j);
    const char *fixed = why_fixed(j);
    struct hpcboot_error err = {0};
    struct hb_seat seat;

    if (j->phase != JOB_RUNNING || fixed != NULL ||
        !hb_seats_choose(&seats, h->spec->name, job_ranks_of(h), &seat)) {
        hb_log(HB_INFO, "host %s is let go: %s", h->spec->name,
               fixed != NULL ? fixed : "there is no room for it any more");
        h->joins = h->late = 0;
        host_let_go(h);
        return;
    }
    if (sit_down(h, &seat, &err) < 0) {
        job_fail(j, HB_CAUSE_INTERNAL, 0, "%s", err.text);
    } else if (!job_meeting_joins(h)) {
        job_live_go(h);
    }
}

static void tell_leaving(const struct job_host *h)
{
    struct job *j = h->job;
    uint32_t *ranks = NULL;

    hb_jobmap_ranks_of_node(j->map, h->node, &ranks);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].state == HOST_RUNNING && host_can_hear(&j->hosts[i])) {
            HOST_SEND(&j->hosts[i], leave, .why = "is told to end: its host is "
                      "no longer in the gang",
                      .ranks = {.v = ranks, .n = j->map->local_size[h->node]});
        }
    }
    free(ranks);
}

/* All that its ranks need is known. */
void job_live_go(struct job_host *h)
{
    struct job *j = h->job;
    struct hb_str ranks = HB_STR_INIT;
    char *why = hb_xasprintf("begins on %s, which has come into the gang",
                             h->spec->name);

    j->world = h->world = j->lives->epoch;
    h->joins = 0;
    h->failed_in_row = 0;
    put_ranks(j, h->node, &ranks);
    hb_log(HB_INFO, "host %s has come into the gang (%s): %s begin%s there",
           h->spec->name, j->gang.source, hb_str_text(&ranks),
           j->map->local_size[h->node] == 1 ? "s" : "");
    job_event_host(h, "host_joins", hb_str_text(&ranks));
    hb_str_destroy(&ranks);
    host_begin_late(h);
    job_tell_map(h, why);
    free(why);
    job_latecomers_come(h);
}

/* --- hosts that go ------------------------------------------------------- */

/* The last of it is gone, and nothing is wrong. */
void job_live_left(struct job_host *h)
{
    struct job *j = h->job;

    job_route_lost(h);
    if (j->fences != NULL) {
        hb_fence_node_lost(j->fences, h->node);
    }
    job_node_ranks_lost(j, h->node, "they have left with their host");
    vacate(j, h->node);
    job_event_host(h, "host_left", NULL);
    job_maybe_over(j);
}

/* Its link broke on the way. 1: that is all. */
int job_live_lost(struct job_host *h)
{
    if (h->joins) {
        job_live_vacate(h);
        h->node = h->missed ? h->node : HB_NODE_UNSET;
        job_live_failed(h);
        return 1;
    }
    if (!h->let_go || h->state != HOST_RUNNING) {
        return 0;
    }
    host_leave_tree(h);
    host_close(h);
    h->state = HOST_LOST;
    job_tell_lost(h->job, h->node, h->unfit ? "it cannot do what is asked for"
                                            : "it was no longer in the gang");
    job_live_left(h);
    return 1;
}

/* What the grace is for is the checkpoint, as in an eviction. */
static void tell_to_leave(struct job_host *h)
{
    struct job *j = h->job;
    const struct hb_options *o = j->opt;
    struct hb_str ranks = HB_STR_INIT;

    put_ranks(j, h->node, &ranks);
    hb_log(HB_INFO, "host %s is no longer in the gang (%s): %s %s told to "
           "end, the others go on", h->spec->name, j->gang.source,
           hb_str_text(&ranks), j->map->local_size[h->node] == 1 ? "is"
                                                                 : "are");
    job_event_host(h, "host_leaving", hb_str_text(&ranks));
    hb_str_destroy(&ranks);
    h->let_go = 1;
    tell_leaving(h);
    HOST_SEND(h, kill, .grace_ms = (uint32_t)o->grace_ms,
              .reason = "its host is no longer in the gang",
              .signo = o->checkpoint_signal > 0 ? o->checkpoint_signal
                                                : SIGTERM);
}

static void not_missed(struct job_host *h)
{
    h->let_go = 1;
    hb_log(HB_INFO, "host %s is no longer in the gang (%s), and is not waited "
           "for", h->spec->name, h->job->gang.source);
}

/* It was being started, for the first time or in place of another. */
static void give_up(struct job_host *h)
{
    host_leave_tree(h);
    host_close(h);
    h->state = HOST_DONE;
    h->late = h->joins = 0;
    not_missed(h);
    if (h->node != HB_NODE_UNSET) {
        job_live_left(h);
    }
}

void job_live_vanished(struct job_host *h)
{
    if (h->let_go || (h->node == HB_NODE_UNSET && !h->joins)) {
        return;
    }
    if (h->state == HOST_RUNNING) {
        tell_to_leave(h);
    } else if (h->state <= HOST_LINKED && h->late) {
        give_up(h);
    } else if (h->gone) {
        not_missed(h);
    }
}

/* It was to come back, and did not. The others go on. */
int job_live_gave_up(struct job_host *h)
{
    struct job *j = h->job;

    if (h->joins) {
        job_live_failed(h);
        return 1;
    }
    if (j->live == NULL || j->phase != JOB_RUNNING) {
        return 0;
    }
    hb_log(HB_WARN, "host %s did not come back: %s; the others go on",
           h->spec->name, host_why(h));
    h->late = 0;
    h->gone = 1;
    job_live_left(h);
    return 1;
}

int job_live_misses(const struct job_host *h)
{
    return (h->gone || h->missed) && !h->let_go && h->node != HB_NODE_UNSET &&
           h->job->live->is_free[h->node]; /* who takes it takes the node */
}

/* --- the whole ----------------------------------------------------------- */

/* All have left with their hosts: no end, while there may be others. */
int job_live_waits(const struct job *j)
{
    return j->live != NULL && j->phase == JOB_RUNNING &&
           j->live->n_left == j->map->n_ranks && why_fixed(j) == NULL;
}

/* Too few for too long? Called before each look. */
void job_live_count(struct job *j)
{
    uint32_t least = j->opt->apps[0].np_min;
    uint32_t n = j->map->n_ranks - j->live->n_left;
    int64_t limit = j->wait_ms > 0 ? j->wait_ms : WAIT_LACK_MS;

    if (n >= least) {
        j->live->lack_ns = 0;
    } else if (j->live->lack_ns == 0) {
        j->live->lack_ns = hb_now_ns();
        hb_log(HB_WARN, "%u rank%s left, fewer than --np %u:%u wants: waiting "
               "%.10g s for hosts", n, n == 1 ? " is" : "s are", least,
               j->live->most, (double)limit / 1000);
    } else if (hb_now_ns() - j->live->lack_ns > limit * 1000000) {
        job_fail_all(j, HB_CAUSE_HOST, "%u rank%s left, --np %u:%u wants "
                     "more, and no host has come within %.10g s", n,
                     n == 1 ? " is" : "s are", least, j->live->most,
                     (double)limit / 1000);
    }
}

/* The job ends: who was on the way is not needed. */
void job_live_end(struct job *j)
{
    for (uint32_t i = 0; j->live != NULL && i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (h->joins && h->state < HOST_READY) {
            host_close(h);
            h->state = HOST_DONE;
        } else if (h->joins && h->state == HOST_READY) {
            host_let_go(h);
        }
        h->joins = 0;
    }
}
