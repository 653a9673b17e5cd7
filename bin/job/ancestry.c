/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* This job is spawned: ranks of another one have asked for it, and the launcher
 * of that one has started this launcher (spawn.c). What it is to be comes over
 * the socket that it inherits, before anything is planned; what becomes of it
 * goes back the same way. In between it is a job like any other. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/job/ancestry.h"
#include "bin/job/job_impl.h"
#include "bin/pm/spawn.h"
#include "bin/proc/env_names.h"
#include "bin/proc/search.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define VARIABLE "HPCBOOT_SPAWN_FD"
#define FD_LEAST 3
#define PIECE 65536
#define FAREWELL_MS 2000

struct job_ancestry {
    int fd; /* the link has its own */
    struct hb_link *link; /* NULL without a loop */
    char *job_id;
    uint32_t rank, number;
    struct hb_strv preput;
    struct hb_strv hosts; /* that may be used, and */
    uint32_t *ranks;      /* how many of others each has */
    uint32_t taken;       /* stated slots that these have */
    int started;
    int told_failure;
    int alone; /* who has asked for it does not wait for its MPI_Init */
};

/* ---- what it is to be ---------------------------------------------------- */

static int is_hint(const char *hint, const char *names, const char **value_out)
{
    const char *equal = strchr(hint, '=');
    size_t len = equal != NULL ? (size_t)(equal - hint) : 0;

    while (equal != NULL && *names != '\0') {
        size_t n = strcspn(names, " ");

        if (n == len && strncmp(names, hint, n) == 0) {
            *value_out = equal + 1;
            return 1;
        }
        names += n + strspn(names + n, " ");
    }
    return 0;
}

/* An MPI may send its own rank's variables along; those that a launcher sets
 * for its ranks are the new ones' own. */
static int is_own(const char *variable)
{
    size_t len = strcspn(variable, "=");

    return hb_env_is_told_path(variable, len) ||
           hb_env_denied_row(variable, len) != NULL ||
           hb_env_family_row(variable, len) != NULL;
}

/* As options of hbrun say it of variables; the character is that of a rule
 * (bin/proc/env.h). A name that is taken away is one, and no pattern. */
static void take_variable(struct hb_app_options *app, const char *hint)
{
    static const struct {
        const char *hint;
        char rule;
    } kinds[] = {{"env", '+'}, {"prepend-env", '<'}, {"append-env", '>'},
                 {"unset-env", '-'}};
    const char *value;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (is_hint(hint, kinds[i].hint, &value) && !is_own(value) &&
            (kinds[i].rule != '-' ||
             (*value != '\0' && strpbrk(value, "*?[=") == NULL))) {
            hb_strv_pushf(&app->env_rules, "%c%s", kinds[i].rule, value);
        }
    }
}

/* Keys that are not known are ignored, as MPI has it. */
static void take_hint(struct hb_app_options *app, const char *hint)
{
    const char *value;

    if (is_hint(hint, "wdir wd cwd", &value)) {
        free(app->wdir);
        app->wdir = hb_xstrdup(value);
    } else if (is_hint(hint, "path", &value)) {
        free(app->path);
        app->path = hb_xstrdup(value);
    } else if (is_hint(hint, "host hosts hostlist", &value)) {
        free(app->host_list);
        app->host_list = hb_xstrdup(value);
    } else {
        take_variable(app, hint);
    }
}

static int take_spawn(struct hb_options *opt, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct hb_msg_spawn m;
    size_t word = 0, hint = 0;
    int rc = hb_wire_get_spawn(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    hb_options_make_spawned(opt, m.counts.n / HB_SPAWN_COUNTS);
    for (uint32_t i = 0; i < opt->n_apps; i++) {
        struct hb_app_options *app = &opt->apps[i];
        uint32_t at = i * HB_SPAWN_COUNTS;
        const char *s;

        app->np = hb_wire_u32s_at(&m.counts, at);
        for (uint32_t n = hb_wire_u32s_at(&m.counts, at + 1);
             n > 0 && (s = hb_wire_strv_next(&m.words, &word)) != NULL; n--) {
            hb_strv_push(&app->argv, s);
        }
        for (uint32_t n = hb_wire_u32s_at(&m.counts, at + 2);
             n > 0 && (s = hb_wire_strv_next(&m.hints, &hint)) != NULL; n--) {
            take_hint(app, s);
        }
    }
    return 0;
}

static int take_ancestry(struct job_ancestry *a, struct hb_options *opt,
                         const struct hb_frame *f, struct hpcboot_error *err)
{
    struct hb_msg_ancestry m;
    int rc = hb_wire_get_ancestry(f, &m, err);

    if (rc == 0) {
        free(a->job_id);
        a->job_id = hb_xstrdup(m.job_id);
        a->rank = m.rank;
        a->number = m.number;
        free(opt->pmi);
        opt->pmi = hb_xstrdup(m.family);
    }
    return rc;
}

static int take_room(struct job_ancestry *a, const struct hb_frame *f,
                     struct hpcboot_error *err)
{
    struct hb_msg_room m;
    int rc = hb_wire_get_room(f, &m, err);

    if (rc == 0 && (m.hosts.n != m.ranks.n || a->ranks != NULL)) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a ROOM that does not fit");
    }
    if (rc == 0) {
        hb_wire_strv_copy(&a->hosts, &m.hosts);
        a->ranks = hb_xcalloc(m.ranks.n + 1, sizeof *a->ranks);
        for (uint32_t i = 0; i < m.ranks.n; i++) {
            a->ranks[i] = hb_wire_u32s_at(&m.ranks, i);
        }
    }
    return rc;
}

static int is_alone(const struct hb_msg_spawn *m)
{
    const char *hint;
    size_t at = 0;

    do {
        hint = hb_wire_strv_next(&m->hints, &at);
    } while (hint != NULL && !hb_streq(hint, HB_SPAWN_ALONE));
    return hint != NULL;
}

static int take(struct job_ancestry *a, struct hb_options *opt,
                const struct hb_frame *f, struct hpcboot_error *err)
{
    struct hb_msg_spawn m;

    switch (f->type) {
    case HB_MSG_SPAWN:
        if (hb_wire_get_spawn(f, &m, NULL) == 0) {
            hb_wire_strv_copy(&a->preput, &m.preput);
            a->alone = is_alone(&m);
        }
        return take_spawn(opt, f, err);
    case HB_MSG_ANCESTRY:
        return take_ancestry(a, opt, f, err);
    case HB_MSG_ROOM:
        return take_room(a, f, err);
    default:
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a %s frame came instead",
                       hb_wire_type_name(f->type));
    }
}

/* Blocks until all three have come: nothing can be done before. */
static int read_it(struct job_ancestry *a, struct hb_options *opt,
                   struct hb_buf *in, struct hpcboot_error *err)
{
    char piece[PIECE];
    struct hb_frame f;
    int rc = 0;

    while (rc >= 0 && a->ranks == NULL) {
        ssize_t n = read(a->fd, piece, sizeof piece);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return hb_fail(err, HPCBOOT_ERR_CLOSED, "the launcher that is to "
                           "say what to start has ended");
        }
        hb_buf_put_raw(in, piece, (size_t)n);
        while (rc >= 0 && (rc = hb_wire_next(in, &f, err)) > 0) {
            rc = take(a, opt, &f, err);
        }
        hb_buf_compact(in);
    }
    return rc < 0 ? rc : 0;
}

int job_ancestry_open(struct job_ancestry **out, struct hb_options *opt,
                      char *const *env, struct hpcboot_error *err)
{
    const char *text = hb_search_env(env, VARIABLE);
    struct job_ancestry *a;
    struct hb_buf in;
    int fd, rc;

    if (text == NULL) {
        return 0;
    }
    if (hb_parse_int(text, FD_LEAST, 1 << 20, &fd) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, VARIABLE " is for hbrun itself, "
                       "and %s is none of its values; unset it", text);
    }
    a = hb_xcalloc(1, sizeof *a);
    a->fd = fd;
    hb_buf_init(&in, HB_WIRE_FRAME);
    rc = read_it(a, opt, &in, err);
    hb_buf_destroy(&in);
    if (rc < 0) {
        job_ancestry_close(a, HB_EXIT_INTERNAL);
        return hb_error_prefix(err, rc, VARIABLE " is for hbrun itself");
    }
    *out = a;
    return 0;
}

/* ---- in its life --------------------------------------------------------- */

static void on_frame(void *arg, const struct hb_frame *f)
{
    struct job *j = arg;
    struct hpcboot_error err = {0};

    if (f->type == HB_MSG_NAME_REPLY) {
        (void)job_name_answered(j, f, &err);
    }
}

static void on_lost(void *arg, const struct hpcboot_error *err)
{
    struct job *j = arg;

    job_fail(j, HB_CAUSE_USER, SIGTERM, "the job that has started this job "
             "is gone");
    job_kill(j, 0, "its launcher is gone");
}

static const struct hb_link_events link_events = {
    .frame = on_frame, .lost = on_lost,
};

int job_ancestry_begin(struct job *j, struct hpcboot_error *err)
{
    struct job_ancestry *a = j->ancestry;
    struct hb_channel *ch;
    int fd, rc;

    if (a == NULL) {
        return 0;
    }
    fd = fcntl(a->fd, F_DUPFD_CLOEXEC, FD_LEAST);
    if (fd < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "the way back to the "
                             "launcher");
    }
    rc = hb_channel_from_fds(&ch, j->base, fd, fd, -1, err);
    if (rc == 0) {
        a->link = hb_link_create(j->base, ch, 0, &link_events, j);
        hb_buf_put_raw(hb_link_out(a->link), HB_WIRE_MAGIC,
                       HB_WIRE_MAGIC_LEN);
        hb_link_flush(a->link);
    }
    return rc;
}

void job_ancestry_end(struct job *j)
{
    if (j->ancestry != NULL) {
        hb_link_destroy(j->ancestry->link);
        j->ancestry->link = NULL;
    }
}

static const uint32_t *others_on(const struct job_ancestry *a,
                                 const char *host)
{
    for (size_t i = 0; i < a->hosts.n; i++) {
        if (hb_streq(a->hosts.v[i], host)) {
            return &a->ranks[i];
        }
    }
    return NULL;
}

uint32_t job_ancestry_others(const struct job *j, const char *host)
{
    const uint32_t *n = j->ancestry != NULL ? others_on(j->ancestry, host)
                                            : NULL;

    return n != NULL ? *n : 0;
}

/* Takes the ranks of other jobs off a host's stated slots, which are a limit;
 * counted slots are none. Whether there is room. */
static int has_room(struct hb_host *h, uint32_t others, int oversubscribe,
                    uint32_t *taken)
{
    int n = others < (uint32_t)h->slots ? (int)others : h->slots;

    if (h->slots == 0 || oversubscribe == 1) {
        return 1;
    }
    h->slots -= n;
    *taken += (uint32_t)n;
    return h->slots > 0;
}

int job_ancestry_room(struct job *j, struct hpcboot_error *err)
{
    struct job_ancestry *a = j->ancestry;
    struct hb_gang *g = &j->gang;
    size_t kept = 0;

    for (size_t i = 0; a != NULL && i < g->n; i++) {
        const uint32_t *others = others_on(a, g->hosts[i].name);
        struct hb_host h = g->hosts[i];

        if (others != NULL &&
            has_room(&h, *others, j->opt->oversubscribe, &a->taken)) {
            g->hosts[i] = g->hosts[kept];
            g->hosts[kept++] = h;
        }
    }
    if (a != NULL && kept == 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "no slot is free for the ranks "
                       "that rank %u wants to start: start fewer ranks in the "
                       "beginning, state more slots, or --oversubscribe",
                       a->rank);
    }
    if (a != NULL) {
        hb_gang_cut(g, kept);
        g->n_mentions = 0; /* they count what others have taken */
    }
    return 0;
}

void job_ancestry_universe(struct job *j)
{
    const struct job_ancestry *a = j->ancestry;
    uint32_t ranks = j->map->n_ranks, slots = j->map->universe_slots;

    if (j->opt->universe > 0) {
        j->map->universe_slots = j->opt->universe;
        return;
    }
    if (a == NULL) {
        return;
    }
    for (size_t i = 0; i < a->hosts.n; i++) {
        ranks += a->ranks[i];
    }
    slots += a->taken;
    j->map->universe_slots = slots > ranks ? slots : ranks;
}

int job_ancestry_put(const struct job *j, struct hb_buf *out,
                     struct hpcboot_error *err)
{
    const struct job_ancestry *a = j->ancestry;

    if (a == NULL) {
        return 0;
    }
    const struct hb_msg_ancestry m = {
        .job_id = a->job_id, .rank = a->rank, .number = a->number,
        .preput = hb_wire_strv_of(hb_strv_view(&a->preput)),
    };
    return hb_wire_put_ancestry(out, j->lives->epoch, HB_NODE_LAUNCHER,
                                HB_NODE_ALL, &m, err);
}

uint32_t job_ancestry_number(const struct job *j)
{
    return j->ancestry != NULL ? j->ancestry->number : 1;
}

const char *job_ancestry_above(const struct job *j)
{
    return j->ancestry != NULL ? j->ancestry->job_id : NULL;
}

static void tell_room(struct job *j)
{
    struct hb_strv hosts = HB_STRV_INIT;

    for (uint32_t n = 0; n < j->map->n_nodes; n++) {
        hb_strv_push(&hosts, j->map->node_names[n]);
    }
    const struct hb_msg_room m = {
        .hosts = hb_wire_strv_of(hb_strv_view(&hosts)),
        .ranks = {.v = j->map->local_size, .n = j->map->n_nodes},
    };
    (void)hb_wire_put_room(hb_link_out(j->ancestry->link), 0,
                           HB_NODE_LAUNCHER, HB_NODE_LAUNCHER, &m, NULL);
    hb_strv_destroy(&hosts);
}

void job_ancestry_started(struct job *j)
{
    struct job_ancestry *a = j->ancestry;
    const struct hb_msg_spawned m = {
        .job_id = j->id, .ranks = j->map->n_ranks,
    };

    if (a == NULL || a->started || a->link == NULL) {
        return;
    }
    a->started = 1;
    tell_room(j);
    (void)hb_wire_put_spawned(hb_link_out(a->link), 0, HB_NODE_LAUNCHER,
                              HB_NODE_LAUNCHER, &m, NULL);
    hb_link_flush(a->link);
}

/* At once, while its ranks are given their grace: those above need not wait
 * for it. That it was told to end is no news to who has told it. */
void job_ancestry_failed(struct job *j)
{
    struct job_ancestry *a = j->ancestry;
    const struct hb_msg_job_failed m = {
        .status = j->verdict.status, .text = j->verdict.text,
        .time_ns = (uint64_t)j->verdict.time_ns,
    };

    if (a == NULL || a->link == NULL || j->verdict.kind == HB_CAUSE_USER) {
        return;
    }
    a->told_failure = 1;
    (void)hb_wire_put_job_failed(hb_link_out(a->link), 0, HB_NODE_LAUNCHER,
                                   HB_NODE_LAUNCHER, &m, NULL);
    hb_link_flush(a->link);
}

int job_ancestry_speaks(const struct job *j)
{
    const struct job_ancestry *a = j->ancestry;

    return a != NULL && ((a->started && a->told_failure) ||
                         j->verdict.kind == HB_CAUSE_USER);
}

/* The call that asked for them may still wait for them to come. */
void job_ancestry_judge(const struct job *j)
{
    const struct job_ancestry *a = j->ancestry;

    if (a != NULL && a->started && !a->alone && j->initialised == 0 &&
        j->verdict.kind == HB_CAUSE_NONE) {
        hb_log(HB_WARN, "job %u has ended, and none of its ranks called "
               "MPI_Init: rank %u, which has started them, may wait for them "
               "for ever", a->number, a->rank);
    }
}

void job_ancestry_name(struct job *j, const struct hb_msg_name *m)
{
    if (j->ancestry->link != NULL) {
        (void)hb_wire_put_name(hb_link_out(j->ancestry->link), 0,
                               HB_NODE_LAUNCHER, HB_NODE_LAUNCHER, m, NULL);
        hb_link_flush(j->ancestry->link);
    }
}

/* ---- its end ------------------------------------------------------------- */

static void say_bye(int fd, int status)
{
    const struct hb_msg_bye m = {.status = (uint32_t)status};
    struct pollfd p = {fd, POLLOUT, 0};
    struct hpcboot_error err = {0};
    struct hb_buf out;

    hb_buf_init(&out, HB_WIRE_FRAME);
    (void)hb_wire_put_bye(&out, 0, HB_NODE_LAUNCHER, HB_NODE_LAUNCHER, &m,
                          NULL);
    if (poll(&p, 1, FAREWELL_MS) == 1 &&
        hb_fd_write_all(fd, out.data, out.len, &err) < 0) {
        hb_log(HB_DEBUG, "the end of this job was not told: %s", err.text);
    }
    hb_buf_destroy(&out);
}

void job_ancestry_close(struct job_ancestry *a, int status)
{
    if (a == NULL) {
        return;
    }
    say_bye(a->fd, status);
    hb_fd_close(&a->fd);
    free(a->job_id);
    hb_strv_destroy(&a->preput);
    hb_strv_destroy(&a->hosts);
    free(a->ranks);
    free(a);
}
