/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A job that goes on when something of it fails. With continue the others are
 * told who will not come any more. With respawn a rank is started again under
 * its number, where it was; the ranks of a host that was lost on a spare, or
 * on that host once it is back. What takes the place of a host becomes the
 * same node of the map, of which others learn no more than another name.
 *
 * A rank that its MPI has wired to the others cannot be put back by anybody
 * but that MPI: then the job ends, in words. */
#include "config.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define WAIT_BACK_MS 60000 /* for a host, where --wait-hosts says nothing */

static const char restart_job[] = "--on-failure restart-job starts all again";

void job_ranks_lost(struct job *j, const uint32_t *ranks, uint32_t n,
                    const char *why)
{
    struct hb_json *js;

    if (j->on_failure != HB_FAIL_CONTINUE || n == 0) {
        return;
    }
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].state == HOST_RUNNING) {
            HOST_SEND(&j->hosts[i], ranks_lost,
                      .ranks = {.v = ranks, .n = n}, .why = why);
        }
    }
    js = job_event(j, "ranks_lost");
    if (js != NULL) {
        hb_json_array(js, "ranks");
        for (uint32_t i = 0; i < n; i++) {
            hb_json_int(js, NULL, ranks[i]);
        }
        hb_json_end_array(js);
        hb_json_str(js, "why", why);
        job_event_end(j);
    }
}

/* All of them, also those that ended as they were told. */
void job_node_ranks_lost(struct job *j, uint32_t node, const char *why)
{
    uint32_t *ranks = NULL;

    hb_jobmap_ranks_of_node(j->map, node, &ranks);
    job_ranks_lost(j, ranks, j->map->local_size[node], why);
    free(ranks);
}

void job_host_ranks_lost(struct job_host *h, const char *why)
{
    struct job *j = h->job;
    uint32_t *ranks, n = 0;

    if (j->map == NULL || h->node == HB_NODE_UNSET) {
        return;
    }
    ranks = hb_xcalloc(j->map->n_ranks, sizeof *ranks);
    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        if (j->map->node_of_rank[r] == h->node && !j->ranks[r].ended) {
            j->ranks[r].ended = 1;
            j->n_ended++;
            ranks[n++] = r;
        }
    }
    job_ranks_lost(j, ranks, n, why);
    free(ranks);
}

/* --- a rank ------------------------------------------------------------- */

struct respawn { /* under way */
    struct job *job;
    struct event *timer;
    struct respawn *next;
    uint32_t rank;
};

static void on_respawn_due(evutil_socket_t fd, short what, void *arg)
{
    struct respawn *s = arg;
    struct job *j = s->job;
    struct job_host *h = j->node_host[j->map->node_of_rank[s->rank]];

    if (j->phase == JOB_RUNNING && h->state == HOST_RUNNING) {
        j->lives->epoch++;
        HOST_SEND(h, respawn, .rank = s->rank,
                  .restart = j->ranks[s->rank].restarts);
        job_event_rank(h, "rank_respawn", s->rank, "restart",
                       j->ranks[s->rank].restarts);
    }
}

static void respawn_later(struct job *j, uint32_t rank, int64_t ms)
{
    struct respawn *s;

    for (s = j->respawns; s != NULL && s->rank != rank; s = s->next) {
    }
    if (s == NULL) {
        s = hb_xcalloc(1, sizeof *s);
        s->job = j;
        s->rank = rank;
        s->timer = evtimer_new(j->base, on_respawn_due, s);
        s->next = j->respawns;
        j->respawns = s;
    }
    arm_ms(s->timer, ms);
}

/* All ranks of a host are started at once. Those that were waiting for their
 * own restart start with them, and the restart is counted once. */
static void respawn_no_more(struct job *j, uint32_t node)
{
    for (const struct respawn *s = j->respawns; s != NULL; s = s->next) {
        if (j->map->node_of_rank[s->rank] == node &&
            evtimer_pending(s->timer, NULL)) {
            evtimer_del(s->timer);
            j->ranks[s->rank].restarts--;
        }
    }
}

void job_respawn_close(struct job *j)
{
    while (j->respawns != NULL) {
        struct respawn *next = j->respawns->next;

        event_free(j->respawns->timer);
        free(j->respawns);
        j->respawns = next;
    }
}

static struct hb_backoff backoff(const struct job *j)
{
    return (struct hb_backoff){.first_ms = j->opt->restart_delay_ms,
                               .max = j->opt->max_restarts};
}

/* Why it cannot be started again, or NULL. */
static const char *never_again(const struct job *j, uint32_t rank,
                               unsigned contact, char *text, size_t size)
{
    if (contact & HB_CONTACT_INIT) {
        snprintf(text, size, "it has been wired to the others, "
                 "which take no rank back; %s", restart_job);
        return text;
    }
    if (j->ranks[rank].restarts >= j->opt->max_restarts) {
        snprintf(text, size, "it had been started again %u time%s "
                 "(--max-restarts)", j->ranks[rank].restarts,
                 j->ranks[rank].restarts == 1 ? "" : "s");
        return text;
    }
    return NULL;
}

int job_respawn_rank(struct job_host *h, struct hb_cause *c, unsigned contact,
                     char *why, size_t size)
{
    const struct hb_backoff b = backoff(h->job);
    struct job *j = h->job;
    struct job_rank *r = &j->ranks[c->rank];
    struct hb_verdict sentence = {0};
    int has_evidence = c->evidence != NULL && c->evidence[0] != '\0';
    char never[160];
    int64_t ms;

    if (j->on_failure != HB_FAIL_RESPAWN || j->phase != JOB_RUNNING ||
        (c->kind != HB_CAUSE_EXIT && c->kind != HB_CAUSE_SIGNAL)) {
        return 0;
    }
    if (never_again(j, c->rank, contact, never, sizeof never) != NULL) {
        snprintf(why, size, "%s%s%s", has_evidence ? c->evidence : "",
                 has_evidence ? "; " : "", never);
        c->evidence = why;
        return 0;
    }
    ms = hb_backoff_ms(&b, r->restarts++);
    hb_verdict_add(&sentence, c);
    hb_log(HB_WARN, "%s; it is started again in %.10g s (restart %u of at "
           "most %u)", sentence.text, (double)ms / 1000, r->restarts, b.max);
    respawn_later(j, c->rank, ms);
    return 1;
}

/* --- a host -------------------------------------------------------------- */

/* Counts one more start of each rank of the node. *most: the highest count. -1:
 * a rank has been started too often. */
static int count_starts(struct job *j, uint32_t node, uint32_t *most)
{
    *most = 0;
    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        if (j->map->node_of_rank[r] != node) {
            continue;
        }
        if (++j->ranks[r].restarts > j->opt->max_restarts) {
            return -1;
        }
        *most = j->ranks[r].restarts > *most ? j->ranks[r].restarts : *most;
    }
    return 0;
}

/* Stated slots are a limit for a spare as for any other, unless the host that
 * it stands in for went beyond its own. */
static int has_slots(const struct job_host *spare, uint32_t node)
{
    const struct job *j = spare->job;
    uint32_t n = j->map->local_size[node];

    return job_may_have(spare, n) || !job_may_have(j->node_host[node], n);
}

static int is_spare(const struct job_host *h)
{
    return h->left_out && !h->gone;
}

/* One that never came before the job began comes last. */
static struct job_host *find_spare(const struct job *j, uint32_t node)
{
    struct job_host *absent = NULL;

    for (uint32_t i = 0; !job_meeting_pins(j, node) && i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (!is_spare(h) || !has_slots(h, node)) {
            continue;
        }
        if (!hb_lives_was_lost(j->lives, h->spec->name)) {
            return h;
        }
        absent = absent != NULL ? absent : h;
    }
    return absent;
}

void host_start_late(struct job_host *h, int64_t delay_ms)
{
    h->left_out = h->gone = 0;
    h->late = 1;
    h->queued_once = h->direct = 1; /* fences know no late host of others */
    h->state = HOST_IDLE;
    h->attempts = h->failed_in_row = h->same_answers = 0;
    h->stdin_sent = h->stdin_taken = 0;
    h->credit_owed = 0;
    h->output_open = 0;
    h->programs_begun = 0;
    h->in_init = h->came_late = h->began_late = 0;
    h->lost_ns = 0;
    h->agent_killed = 0;
    h->file = 0;
    h->file_sent = h->files_out = h->files_taken = 0;
    h->file_begun = 0;
    h->bye_sent = h->nested = 0;
    free(h->leaves);
    h->leaves = NULL;
    host_arm_ms(h, delay_ms);
}

static void begin_anew(struct job_host *h, uint32_t node, int64_t delay_ms)
{
    struct job *j = h->job;
    int64_t limit = j->wait_ms > 0 ? j->wait_ms : WAIT_BACK_MS;

    j->lives->epoch++; /* WELCOME tells it */
    h->node = node;
    h->world = j->node_host[node]->world;
    j->node_host[node] = h;
    job_carry_disown(j, node);
    j->wait_until_ns = hb_deadline_in_ms(delay_ms + limit);
    host_start_late(h, delay_ms);
    job_route_add(h); /* fences wait for it from here on */
}

void job_rank_begins_anew(struct job *j, uint32_t rank)
{
    struct job_rank *r = &j->ranks[rank];

    r->ended = 0;
    r->ended_ns = 0;
    r->wait_status = 0;
    r->contact = 0;
    r->told = 0;
    j->n_ended--;
}

/* Some may have ended as they were told, when their host was to leave. */
void job_forget_ends(struct job *j, uint32_t node)
{
    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        if (j->map->node_of_rank[r] == node && j->ranks[r].ended) {
            job_rank_begins_anew(j, r);
        }
    }
}

/* Nobody has gone on from where its ranks have met others. */
static int is_unmet(const struct job_host *h)
{
    return h->programs_begun == 0 || (h->seen && !h->job->has_met);
}

/* Why the ranks of a lost host cannot live again, or NULL. */
static const char *never_move(const struct job *j, const struct job_host *h,
                              int too_often)
{
    if (h->node == HB_NODE_UNSET) {
        return "";
    }
    if (!is_unmet(h)) {
        return "its ranks had been wired to the others, which take none "
               "back; --on-failure restart-job starts all again";
    }
    return too_often ? "its ranks had been started again as often as "
                       "--max-restarts allows" : NULL;
}

const char *job_never_moves(struct job_host *h)
{
    if (h->node == HB_NODE_UNSET) {
        return NULL;
    }
    h->seen = (uint8_t)job_route_sees(h);
    return never_move(h->job, h, 0);
}

static void take_over(struct job_host *from, struct job_host *to)
{
    uint32_t node = from->node;

    from->node = HB_NODE_UNSET;
    if (to->left_out) {
        to->stands_for = from;
    }
    begin_anew(to, node, 0);
    job_event_host(to, "host_replaces", from->spec->name);
}

/* Why no spare takes the ranks of a node; "": there is none, or nothing that
 * the user would not know. */
static void why_no_spare(const struct job *j, uint32_t node, char *text,
                         size_t size)
{
    uint32_t i = 0, n = j->map->local_size[node];

    while (i < j->gang.n && !is_spare(&j->hosts[i])) {
        i++;
    }
    text[0] = '\0';
    if (job_meeting_pins(j, node)) {
        snprintf(text, size, ", at the address that the others know");
    } else if (i < j->gang.n) {
        snprintf(text, size, ": no spare has slots for %u rank%s", n,
                 n == 1 ? "" : "s");
    }
}

int job_replace_host(struct job_host *h, char *why, size_t size)
{
    const struct hb_backoff b = backoff(h->job);
    struct job *j = h->job;
    struct job_host *to;
    uint32_t node = h->node, most = 0;
    const char *no;

    if (j->on_failure != HB_FAIL_RESPAWN || j->phase != JOB_RUNNING) {
        return 0;
    }
    if (node != HB_NODE_UNSET) {
        respawn_no_more(j, node);
    }
    no = never_move(j, h, node != HB_NODE_UNSET && is_unmet(h) &&
                              count_starts(j, node, &most) < 0);
    if (no != NULL) {
        snprintf(why, size, "%s", no);
        return 0;
    }
    job_forget_ends(j, node);
    job_route_forget(h);
    to = find_spare(j, node);
    if (to != NULL) {
        hb_log(HB_WARN, "host %s: %s; its ranks are started again on the "
               "spare %s", h->spec->name, host_why(h), to->spec->name);
        take_over(h, to);
    } else {
        int64_t ms = hb_backoff_ms(&b, most > 0 ? most - 1 : 0);
        char no_spare[80];

        why_no_spare(j, node, no_spare, sizeof no_spare);
        hb_log(HB_WARN, "host %s: %s; its ranks are started again when it is "
               "back%s", h->spec->name, host_why(h), no_spare);
        begin_anew(h, node, ms);
        job_event_host(h, "host_replaces", h->spec->name);
    }
    return 1;
}

/* Whose place it was to take, and who may be back by now. */
static struct job_host *find_former(const struct job_host *h)
{
    struct job_host *former = h->stands_for;

    while (former != NULL && former->never_came) {
        former = former->stands_for;
    }
    return former;
}

/* Its ranks have not begun there: another try is no restart of theirs. */
void job_never_came(struct job_host *h)
{
    const char *back = h->was_there ? "back" : "up";
    struct job *j = h->job;
    struct job_host *to;

    h->gone = h->never_came = 1;
    to = j->on_failure == HB_FAIL_RESPAWN && h->node != HB_NODE_UNSET
             ? find_spare(j, h->node) : NULL;
    if (to == NULL && j->on_failure == HB_FAIL_RESPAWN &&
        h->node != HB_NODE_UNSET) {
        to = find_former(h);
    }
    if (to == NULL) {
        job_fail(j, HB_CAUSE_HOST, 0, "host %s did not come %s: %s",
                 h->spec->name, back, host_why(h));
        return;
    }
    hb_log(HB_WARN, "host %s did not come %s: %s; %s %s is asked instead",
           h->spec->name, back, host_why(h),
           to->left_out ? "the spare" : "its ranks' former host",
           to->spec->name);
    h->late = 0;
    take_over(h, to);
}

/* The host itself hears of it behind its orders: its ranks wait for those that
 * begin anew. */
void job_tell_map(struct job_host *h, const char *why)
{
    struct job *j = h->job;
    uint32_t *ranks = NULL;
    struct hb_buf map;

    hb_buf_init(&map, HB_WIRE_BLOB);
    hb_jobmap_encode(j->map, &map);
    hb_jobmap_ranks_of_node(j->map, h->node, &ranks);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *to = &j->hosts[i];

        if ((to->state == HOST_RUNNING && host_can_hear(to)) || to == h) {
            HOST_SEND(to, grown, .map = {map.data, map.len},
                      .world = j->world, .why = why != NULL ? why : "",
                      .ranks = {.v = ranks, .n = why != NULL ?
                                j->map->local_size[h->node] : 0});
        }
    }
    hb_buf_destroy(&map);
    free(ranks);
}

void host_begin_late(struct job_host *h)
{
    struct hpcboot_error err = {0};
    struct job *j = h->job;
    int moved = hb_jobmap_rename(j->map, h->node, h->spec->name);

    h->restart = 0;
    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        if (j->map->node_of_rank[r] == h->node) {
            h->restart = j->ranks[r].restarts;
            break;
        }
    }
    h->late = h->never_came = 0;
    h->began_late = 1;
    job_route_add(h);
    if (job_orders_anew(j, h->restart, &err) < 0) {
        job_fail(j, HB_CAUSE_INTERNAL, 0, "%s", err.text);
        return;
    }
    host_go_on(h);
    if (moved) {
        job_tell_map(h, NULL);
    }
}

void host_wired_late(struct job_host *h)
{
    if (h->joins) {
        job_live_ready(h);
    } else if (!job_meeting_joins(h)) {
        host_begin_late(h);
    }
}

/* Its agent is ready, long after the others. */
void host_join_late(struct job_host *h)
{
    if (!job_wiring_joins(h)) {
        host_wired_late(h);
    }
}
