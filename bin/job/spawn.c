/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What ranks start (MPI_Comm_spawn) is a job of its own with a launcher of its
 * own, another hbrun that this one starts: it logs in, places and starts ranks
 * as for any job, and writes their output where this one does.
 * Between the two launchers is a socket pair, spoken over as any control link:
 *
 *     down   SPAWN (what to start)  ANCESTRY (for whom)  ROOM (where)
 *     up     ROOM (what it took)  SPAWNED (its ranks run)
 *            NAME, answered by NAME_REPLY: both share one name service, which
 *            also counts the jobs
 *            JOB_FAILED (what went wrong first)  BYE (it ends)
 *
 * A spawned job that fails is a cause of this job's end, as a rank is; when
 * this job is told to end, so are those that it has spawned. It is over when
 * they are. Where this launcher dies, the system kills theirs, and their agents
 * do the rest. */
#include "config.h"

#include <signal.h>
#include <stdlib.h>

#include "bin/job/spawned.h"
#include "bin/pm/spawn.h"
#include "bin/proc/procfs.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define NUMBERS "hpcboot/jobs" /* what the name service counts them under */
#define SPAWNED_MAX 1000u /* at one time: each has a process here */
/* Of requests that wait or are on their way: words of programs, mostly. */
#define UNREAD_MAX ((size_t)256 << 20)
#define ROOM_MS 3000 /* that slots may take to come free */

static void begin_next(struct job *j);

static void answer(struct spawned *w, int status, const char *job_id,
                   const char *text)
{
    w->answered = 1;
    if (host_can_hear(w->by)) {
        HOST_SEND(w->by, spawned, .id = w->id, .status = status,
                  .job_id = job_id, .ranks = w->n_ranks, .text = text);
    }
}

/* ---- its end ------------------------------------------------------------- */

static void stop_timer(struct spawned *w)
{
    if (w->timer != NULL) {
        event_free(w->timer);
        w->timer = NULL;
    }
}

static void count_unread(struct spawned *w, size_t bytes)
{
    w->job->spawns->n_unread += bytes - w->n_unread;
    w->n_unread = bytes;
}

static void spawned_free(struct spawned *w)
{
    count_unread(w, 0);
    hb_link_destroy(w->link);
    stop_timer(w);
    hb_buf_destroy(&w->what);
    hb_strv_destroy(&w->hosts);
    free(w->ranks);
    free(w->job_id);
    free(w->why);
    free(w);
}

static void put_in(struct spawned **list, struct spawned *w)
{
    w->next = *list;
    *list = w;
    w->job->spawns->n++;
}

static void take_out(struct spawned **list, struct spawned *w)
{
    while (*list != w) {
        list = &(*list)->next;
    }
    *list = w->next;
    w->job->spawns->n--;
}

static void note_failure(struct spawned *w, int status, int64_t time_ns,
                         const char *text)
{
    free(w->why);
    w->why = hb_xstrdup(text);
    w->status = status;
    w->failed_ns = time_ns;
}

/* Who goes on may still be in the call that has started what failed. */
static void fail(const struct spawned *w, const char *more)
{
    int goes_on = w->job->on_failure == HB_FAIL_CONTINUE && w->answered;
    char *which = w->number > 0 ? hb_xasprintf("job %u, which", w->number)
                                : hb_xstrdup("a job that");
    char *words = hb_xasprintf("%s rank %u on %s %s: %s%s%s", which, w->rank,
                               w->by->spec->name,
                               w->number > 0 ? "has started" : "asks for",
                               w->why, more,
                               goes_on ? "; if it was before all had met in "
                                         "MPI_Init, that rank waits for ever"
                                       : "");
    const struct hb_cause cause = {
        .kind = HB_CAUSE_SPAWNED, .time_ns = w->failed_ns, .code = w->status,
        .rank = w->rank, .host = w->by->spec->name, .text = words,
    };

    job_cause(w->job, &cause);
    free(words);
    free(which);
}

/* No job: the call fails, and its rank sees to the rest. In Open MPI 4 the
 * other ranks of the call are not told, and wait for ever; its own launcher
 * ends such a job, too. */
static void no_job(struct spawned *w)
{
    const struct job *j = w->job;

    answer(w, HPCBOOT_ERR_SPAWN, NULL, w->why);
    if (j->family.flavour == HB_MPI_OPENMPI4 && j->map->n_ranks > 1) {
        fail(w, "; Open MPI 4 leaves the other ranks waiting in "
             "MPI_Comm_spawn");
    }
}

/* Without a farewell it was killed; its agents end its ranks. One that exited
 * before it could say anything has its status; else the fault is ours. */
static void on_lost(void *arg, const struct hpcboot_error *err)
{
    struct spawned *w = arg;
    struct job *j = w->job;
    int status = hb_link_exit_status(w->link);

    take_out(&j->spawns->first, w);
    job_names_forget(j, w);
    if (w->job_id != NULL) {
        job_names_over(j, w->job_id);
    }
    if (w->why == NULL && (!w->answered || !w->said_bye)) {
        note_failure(w, status > 0 ? status : HB_EXIT_INTERNAL, hb_now_ns(),
                     err->text);
    }
    if (!w->answered) {
        no_job(w);
    } else if (!w->said_bye) {
        fail(w, "");
    }
    spawned_free(w);
    begin_next(j);
    job_maybe_over(j);
}

int job_spawns_wait(const struct job *j)
{
    return j->spawns != NULL && j->spawns->first != NULL;
}

void job_spawns_end(struct job *j, int at_once)
{
    struct spawned *w = j->spawns != NULL ? j->spawns->first : NULL;

    for (; w != NULL; w = w->next) {
        (void)kill(w->pid, at_once ? SIGKILL : SIGTERM);
    }
}

/* As whoever signals hbrun: it does the rest. */
void job_spawns_signal(struct job *j, int signo)
{
    struct spawned *w = j->spawns != NULL ? j->spawns->first : NULL;

    for (; w != NULL; w = w->next) {
        (void)kill(w->pid, signo == SIGSTOP ? SIGTSTP : signo);
    }
}

static void free_all(struct spawned *w)
{
    while (w != NULL) {
        struct spawned *next = w->next;

        spawned_free(w);
        w = next;
    }
}

void job_spawns_close(struct job *j)
{
    job_spawns_end(j, 1);
    if (j->spawns != NULL) {
        free_all(j->spawns->first);
        free_all(j->spawns->unnumbered);
        free_all(j->spawns->waiting);
    }
    free(j->spawns);
    j->spawns = NULL;
}

/* ---- what its launcher says ---------------------------------------------- */

/* A rank may have failed before the last one began. */
static int on_spawned(struct spawned *w, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct hb_msg_spawned m;
    int rc = hb_wire_get_spawned(f, &m, err);

    if (rc == 0 && !w->answered) {
        w->job_id = hb_xstrdup(m.job_id);
        answer(w, 0, m.job_id, NULL);
        if (w->why != NULL) {
            fail(w, "");
        }
    }
    return rc;
}

static int on_room(struct spawned *w, const struct hb_frame *f,
                   struct hpcboot_error *err)
{
    struct hb_msg_room m;
    int rc = hb_wire_get_room(f, &m, err);

    if (rc < 0 || m.hosts.n != m.ranks.n || w->ranks != NULL) {
        return rc;
    }
    count_unread(w, 0);
    w->ranks = hb_xcalloc(m.ranks.n + 1, sizeof *w->ranks);
    for (uint32_t i = 0; i < m.ranks.n; i++) {
        w->ranks[i] = hb_wire_u32s_at(&m.ranks, i);
    }
    hb_wire_strv_copy(&w->hosts, &m.hosts);
    begin_next(w->job);
    return 0;
}

static int on_failed(struct spawned *w, const struct hb_frame *f,
                     struct hpcboot_error *err)
{
    struct hb_msg_job_failed m;
    int rc = hb_wire_get_job_failed(f, &m, err);

    if (rc == 0) {
        note_failure(w, m.status, (int64_t)m.time_ns, m.text);
    }
    /* Before its ranks run it is the call that fails, and not the job. */
    if (rc == 0 && w->answered) {
        fail(w, "");
    }
    return rc;
}

/* A spawned job tells of its failures before it says BYE. One that ends with
 * another status than 0 and has told of none was told to end: by this job, or
 * by somebody else. */
static int on_bye(struct spawned *w, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    struct hb_msg_bye m = {0};
    char *words;
    int rc = hb_wire_get_bye(f, &m, err);

    w->said_bye = rc == 0;
    if (rc < 0 || m.status == 0 || w->why != NULL) {
        return rc;
    }
    words = hb_xasprintf("its launcher was told to end (status %u)", m.status);
    note_failure(w, (int)m.status, hb_now_ns(), words);
    free(words);
    if (w->answered) {
        fail(w, "");
    }
    return 0;
}

static void name_told(void *who, uint32_t src,
                      const struct hb_msg_name_reply *reply)
{
    struct spawned *w = who;

    (void)hb_wire_put_name_reply(hb_link_out(w->link), 0, HB_NODE_LAUNCHER,
                                 src, reply, NULL);
    hb_link_flush(w->link);
}

static int on_name(struct spawned *w, const struct hb_frame *f,
                   struct hpcboot_error *err)
{
    struct hb_msg_name m;
    int rc = hb_wire_get_name(f, &m, err);

    if (rc == 0) {
        job_name_ask(w->job, &m, name_told, w, f->src);
    }
    return rc;
}

static int take_frame(struct spawned *w, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    switch (f->type) {
    case HB_MSG_SPAWNED:
        return on_spawned(w, f, err);
    case HB_MSG_ROOM:
        return on_room(w, f, err);
    case HB_MSG_JOB_FAILED:
        return on_failed(w, f, err);
    case HB_MSG_NAME:
        return on_name(w, f, err);
    case HB_MSG_BYE:
        return on_bye(w, f, err);
    default:
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a %s frame came from the "
                       "launcher of a spawned job", hb_wire_type_name(f->type));
    }
}

static void on_frame(void *arg, const struct hb_frame *f)
{
    struct spawned *w = arg;
    struct hpcboot_error err = {0};

    if (take_frame(w, f, &err) < 0) {
        hb_log(HB_DEBUG, "job %u: %s", w->number, err.text);
        (void)kill(w->pid, SIGKILL); /* on_lost follows */
    }
}

static const struct hb_link_events link_events = {
    .frame = on_frame, .lost = on_lost,
};

/* Who has stopped it alone, as a debugger does not, has stopped the job: the
 * agents of other hosts take it for dead by now, and it cannot say anything. */
static void on_watch(evutil_socket_t fd, short what, void *arg)
{
    struct spawned *w = arg;
    int beat_ms = w->job->opt->heartbeat_ms;
    struct hb_procfs_stat st;
    char *words;

    w->stopped = hb_procfs_read_stat("/proc", w->pid, &st) == 0 &&
                 st.state == 'T' ? w->stopped + 1 : 0;
    if (w->stopped <= HB_LINK_BEATS) {
        arm_ms(w->timer, beat_ms);
        return;
    }
    words = hb_xasprintf("its launcher has been stopped for %.10g s",
                         (double)beat_ms * HB_LINK_BEATS / 1000);
    note_failure(w, HB_EXIT_RETRY, hb_now_ns(), words);
    free(words);
    (void)kill(w->pid, SIGKILL); /* on_lost follows */
}

/* ---- its beginning ------------------------------------------------------- */

static int check_numbers(const struct hb_msg_spawn *m, uint32_t *n_ranks_out,
                         struct hpcboot_error *err)
{
    uint64_t ranks = 0, words = 0, hints = 0;

    if (m->counts.n == 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "a program without a name, a "
                       "number of processes that there cannot be, or too many "
                       "words");
    }
    for (uint32_t i = 0; i + 2 < m->counts.n; i += HB_SPAWN_COUNTS) {
        ranks += hb_wire_u32s_at(&m->counts, i);
        words += hb_wire_u32s_at(&m->counts, i + 1);
        hints += hb_wire_u32s_at(&m->counts, i + 2);
    }
    if (m->counts.n % HB_SPAWN_COUNTS != 0 ||
        words != m->words.n || hints != m->hints.n || ranks > HB_MAX_RANKS) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the numbers of a request "
                       "for processes do not fit");
    }
    *n_ranks_out = (uint32_t)ranks;
    return 0;
}

/* Why no spawned job can begin now. */
static int check_job(const struct job *j, struct hpcboot_error *err)
{
    if (j->spawns->n >= SPAWNED_MAX) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT, "%u spawned jobs run already",
                       j->spawns->n);
    }
    if (j->phase != JOB_RUNNING || j->grace_given) {
        return hb_fail(err, HPCBOOT_ERR_CLOSED, "the job is about to end");
    }
    return 0;
}

/* What is to be started is kept until the job's number is known. */
static int keep(struct spawned *w, const struct hb_msg_spawn *m,
                struct hpcboot_error *err)
{
    int rc = hb_wire_put_spawn(&w->what, 0, HB_NODE_LAUNCHER,
                               HB_NODE_LAUNCHER, m, err);

    if (rc == 0 && w->what.len > UNREAD_MAX - w->job->spawns->n_unread) {
        rc = hb_fail(err, HPCBOOT_ERR_LIMIT, "what is to be started already "
                     "takes %zu bytes", w->job->spawns->n_unread);
    }
    if (rc == 0) {
        count_unread(w, w->what.len);
    }
    return rc;
}

static void refuse(struct spawned *w, int rc, const char *why)
{
    hb_log(HB_WARN, "rank %u on %s cannot start other processes: %s",
           w->rank, w->by->spec->name, why);
    note_failure(w, rc == HPCBOOT_ERR_USAGE ? HB_EXIT_USAGE : HB_EXIT_INTERNAL,
                 hb_now_ns(), why);
    no_job(w);
    if (w->pid > 0) {
        (void)kill(w->pid, SIGKILL);
    }
    spawned_free(w);
}

static int slots_are_stated(const struct job *j)
{
    uint32_t i = 0;

    while (i < j->gang.n && j->hosts[i].spec->slots == 0) {
        i++;
    }
    return i < j->gang.n && j->opt->oversubscribe != 1;
}

/* Whether it is not known yet which slots one takes that has begun. */
static int is_placing(const struct job *j)
{
    const struct spawned *w = j->spawns->first;

    while (w != NULL && w->ranks != NULL) {
        w = w->next;
    }
    return w != NULL && slots_are_stated(j);
}

static void on_room_due(evutil_socket_t fd, short what, void *arg)
{
    struct spawned *w = arg;

    w->room_over = 1;
    begin_next(w->job);
}

/* A job whose ranks are through with MPI may hold its slots for a moment: who
 * spawns again and again then waits for them, and not for long. */
static int waits_for_room(struct spawned *w)
{
    const struct job *j = w->job;

    if (w->room_over || j->spawns->first == NULL || !slots_are_stated(j) ||
        job_spawned_room(j) >= w->n_ranks) {
        return 0;
    }
    if (w->timer == NULL) {
        w->timer = evtimer_new(j->base, on_room_due, w);
        arm_ms(w->timer, ROOM_MS);
    }
    return 1;
}

static void watch(struct spawned *w)
{
    int beat_ms = w->job->opt->heartbeat_ms;

    stop_timer(w);
    if (beat_ms > 0) {
        w->timer = evtimer_new(w->job->base, on_watch, w);
        arm_ms(w->timer, beat_ms);
    }
}

/* Where slots are stated one after the other, as two at once would both be
 * told that the last slot is free. */
static void begin_next(struct job *j)
{
    while (j->spawns->waiting != NULL && !is_placing(j)) {
        struct spawned *w = j->spawns->waiting;
        struct hpcboot_error err = {0};
        int rc = check_job(j, &err);

        while (w->next != NULL) {
            w = w->next;
        }
        if (rc == 0 && waits_for_room(w)) {
            return;
        }
        take_out(&j->spawns->waiting, w);
        if (rc == 0) {
            rc = job_spawned_begin(w, &link_events, &err);
        }
        if (rc < 0) {
            refuse(w, rc, err.text);
        } else {
            put_in(&j->spawns->first, w);
            watch(w);
        }
    }
}

/* Its number is unlike that of any job of the whole family, as labels and
 * folders of output need it. */
static void numbered(void *who, uint32_t src,
                     const struct hb_msg_name_reply *reply)
{
    struct spawned *w = who;
    struct job *j = w->job;
    struct hpcboot_error err = {0};
    struct hb_buf number;
    int rc;

    take_out(&j->spawns->unnumbered, w);
    hb_buf_view(&number, reply->value.data, reply->value.len);
    w->number = hb_buf_get_u32(&number);
    rc = hb_buf_failed(&number)
             ? hb_fail(&err, HPCBOOT_ERR_PROTOCOL, "they have no number")
             : check_job(j, &err);
    if (rc == 0) {
        put_in(&j->spawns->waiting, w);
        begin_next(j);
    } else {
        refuse(w, rc, err.text);
    }
}

static void start(struct job_host *h, const struct hb_msg_spawn *m)
{
    const struct hb_msg_name next = {.op = HB_NAME_COUNT, .name = NUMBERS};
    struct job *j = h->job;
    struct spawned *w = hb_xcalloc(1, sizeof *w);
    struct hpcboot_error err = {0};
    int rc;

    w->job = j;
    w->by = h;
    w->id = m->id;
    w->rank = m->rank;
    hb_buf_init(&w->what, HB_WIRE_FRAME);
    rc = check_numbers(m, &w->n_ranks, &err);
    if (rc == 0) {
        rc = check_job(j, &err);
    }
    if (rc == 0) {
        rc = keep(w, m, &err);
    }
    if (rc < 0) {
        refuse(w, rc, err.text);
        return;
    }
    put_in(&j->spawns->unnumbered, w);
    job_name_ask(j, &next, numbered, w, 0);
}

int job_spawn_frame(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct hb_msg_spawn m;
    int rc = hb_wire_get_spawn(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    if (j->map == NULL || m.rank >= j->map->n_ranks ||
        j->map->node_of_rank[m.rank] != h->node) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "the agent spoke of rank %u, which is not on it",
                       m.rank);
    }
    if (j->spawns == NULL) {
        j->spawns = hb_xcalloc(1, sizeof *j->spawns);
    }
    start(h, &m);
    return 0;
}
