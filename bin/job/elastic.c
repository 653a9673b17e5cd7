/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* An elastic job looks at its source of hosts now and then. Where its policy
 * lets ranks come and go, live.c hears of what has changed. Where it lets the
 * job live again, a host that has come and takes logins, or one that the
 * source no longer names, is the end of this life: ranks get the checkpoint
 * signal and their grace, and the next life has the new size.
 *
 * Sources may block for long, and an API must not be asked by two at a time:
 * a child process asks, and writes a line per host. It is forked and never
 * executes anything; it dies with its parent. A host that was taken in twice
 * and did not come up is not tried again. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define LOOK_MS 3000 /* between the end of a look and the next */
#define NAMES_MAX (64u << 20)
#define TRIES_MAX 2u
#define CANDIDATES_MAX 16u /* at a time, as probes are */

struct candidate { /* a host that takes no part, and might */
    char *name;
    struct job_probe *probe; /* NULL: it cannot be asked, and is believed */
};

struct elastic {
    struct job *job;
    struct candidate candidates[CANDIDATES_MAX];
    uint32_t n, waiting; /* how many there are; have not been judged */
    struct event *timer, *readable;
    struct hb_buf names;
    pid_t child;
    int fd;
};

static struct job_host *host_named(const struct job *j, const char *name)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (hb_streq(j->hosts[i].spec->name, name)) {
            return &j->hosts[i];
        }
    }
    return NULL;
}

static unsigned tries_of(const struct hb_lives *l, const char *name)
{
    unsigned n = 0;

    for (size_t i = 0; i < l->tried.n; i++) {
        n += (unsigned)hb_streq(l->tried.v[i], name);
    }
    return n;
}

/* Takes no part now, and might. */
static int is_new(const struct job *j, const char *name)
{
    const struct job_host *h = host_named(j, name);

    return (h == NULL || hb_lives_was_lost(j->lives, name)) &&
           tries_of(j->lives, name) < TRIES_MAX;
}

/* --- in the child -------------------------------------------------------- */

/* "NAME PORT SLOTS MAX COUNT USER ORIGIN" per line; 0 and "-" where the
 * source says nothing. */
static void write_hosts(const struct hb_gang *gang, int fd)
{
    struct hb_str out = HB_STR_INIT;

    for (size_t i = 0; i < gang->n; i++) {
        const struct hb_host *h = &gang->hosts[i];

        hb_str_putf(&out, "%s %d %d %d %d %s %s\n", h->name, h->port, h->slots,
                    h->max_slots, (int)h->count,
                    h->user != NULL ? h->user : "-", h->origin);
    }
    (void)hb_fd_write_all(fd, hb_str_text(&out), out.len, NULL);
}

static void look(struct job *j, int fd)
{
    struct hb_gang gang = {0};
    struct hpcboot_error err = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int s = 1; s < NSIG; s++) {
        signal(s, SIG_DFL); /* the parent's would write into its own pipe */
    }
    hb_log_set_sink(NULL, NULL, HB_ERROR);
    if (job_gather(j, 0, NULL, &gang, &err) == 0) {
        hb_gang_default_word(&gang, j->opt->default_slots);
        write_hosts(&gang, fd);
    }
    _exit(0); /* nothing of the parent's is to be flushed or freed here */
}

/* --- in the launcher ----------------------------------------------------- */

static int has_line(const struct hb_buf *names, const char *name)
{
    const char *p = (const char *)names->data;
    size_t len = strlen(name);

    while (p != NULL && *p != '\0') {
        if (strncmp(p, name, len) == 0 && p[len] == ' ') {
            return 1;
        }
        p = strchr(p, '\n');
        p = p != NULL ? p + 1 : NULL;
    }
    return 0;
}

/* One that has gone from the source, and has ranks. */
static const struct job_host *vanished(const struct job *j,
                                       const struct hb_buf *names)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        if (h->state == HOST_RUNNING && h->node != HB_NODE_UNSET &&
            !has_line(names, h->spec->name)) {
            return h;
        }
    }
    return NULL;
}

static void forget_candidates(struct elastic *e)
{
    for (uint32_t i = 0; i < e->n; i++) {
        job_probe_end(e->candidates[i].probe);
        free(e->candidates[i].name);
    }
    e->n = 0;
}

/* All candidates are judged: takes in those that take logins. */
static void take_in(struct elastic *e)
{
    struct job *j = e->job;
    struct hb_str come = HB_STR_INIT;
    unsigned n = 0;

    for (uint32_t i = 0; i < e->n; i++) {
        const struct candidate *c = &e->candidates[i];

        if (c->probe == NULL || job_probe_takes_logins(c->probe)) {
            hb_strv_push(&j->lives->tried, c->name);
            hb_lives_note_back(j->lives, c->name);
            hb_str_putf(&come, "%s%s", come.len > 0 ? ", " : "", c->name);
            n++;
        } else { /* a life that begins now does without it */
            hb_lives_note_lost(j->lives, c->name);
        }
    }
    forget_candidates(e);
    if (come.len > 0) {
        j->end_signal = j->opt->checkpoint_signal;
        job_fail(j, HB_CAUSE_RESIZE, 0, "host%s %s %s come into the gang (%s)",
                 n > 1 ? "s" : "", hb_str_text(&come), n > 1 ? "have" : "has",
                 j->gang.source);
    }
    hb_str_destroy(&come);
    arm_ms(e->timer, LOOK_MS);
}

static void on_judged(void *arg)
{
    struct elastic *e = arg;

    if (--e->waiting == 0 && e->job->phase == JOB_RUNNING) {
        take_in(e);
    }
}

/* Only logins over SSH can be tried without starting anything. */
static void add_candidate(struct elastic *e, const struct hb_host *host)
{
    struct job *j = e->job;
    struct candidate *c = &e->candidates[e->n];
    const struct hb_boot_target target = {
        .host = host->name, .port = host->port, .user = host->user,
        .token = "",
    };

    if (e->n == CANDIDATES_MAX || !is_new(j, host->name)) {
        return; /* the next look has room for the others */
    }
    c->probe = NULL;
    if (j->boot.launch_with == NULL && !hb_host_is_self(host->name)) {
        c->probe = job_probe_begin(j, &target, on_judged, e);
        if (c->probe == NULL) {
            return;
        }
        e->waiting++;
    }
    c->name = hb_xstrdup(host->name);
    e->n++;
}

/* One line of what the child wrote; its strings are the line's. */
static int read_host(char *line, struct hb_host *out)
{
    char *save = NULL, *user;
    int *const numbers[] = {&out->port, &out->slots, &out->max_slots};
    int count = 0;

    memset(out, 0, sizeof *out);
    out->name = strtok_r(line, " ", &save);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (hb_parse_int(strtok_r(NULL, " ", &save), 0, INT_MAX,
                         numbers[i]) < 0) {
            return -1;
        }
    }
    if (hb_parse_int(strtok_r(NULL, " ", &save), 0, INT_MAX, &count) < 0) {
        return -1;
    }
    out->count = (enum hb_count)count;
    user = strtok_r(NULL, " ", &save);
    out->user = hb_streq(user, "-") ? NULL : user;
    out->origin = save;
    return user != NULL ? 0 : -1;
}

static void each_host(struct elastic *e, char *lines)
{
    struct job *j = e->job;
    char *save = NULL;

    for (char *line = strtok_r(lines, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        struct hb_host host;

        if (read_host(line, &host) < 0) {
            continue; /* the child was ended in the middle of it */
        }
        if (j->live != NULL) {
            job_live_named(j, &host);
        } else {
            add_candidate(e, &host);
        }
    }
}

static void judge_live(struct elastic *e)
{
    struct job *j = e->job;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (!has_line(&e->names, j->hosts[i].spec->name)) {
            job_live_vanished(&j->hosts[i]);
        }
    }
    each_host(e, (char *)e->names.data);
    job_live_count(j);
    if (j->phase == JOB_RUNNING) {
        arm_ms(e->timer, LOOK_MS);
    }
}

static void judge(struct elastic *e)
{
    struct job *j = e->job;
    const struct job_host *gone;

    hb_buf_put_raw(&e->names, "", 1);
    if (j->phase != JOB_RUNNING) {
        return;
    }
    /* What cannot be read now says nothing. */
    if (j->live != NULL && e->names.len > 1) {
        judge_live(e);
        return;
    }
    gone = e->names.len > 1 ? vanished(j, &e->names) : NULL;
    if (gone != NULL) {
        j->end_signal = j->opt->checkpoint_signal;
        job_fail(j, HB_CAUSE_RESIZE, 0, "host %s is no longer in the gang "
                 "(%s)", gone->spec->name, j->gang.source);
        return;
    }
    if (j->live == NULL && j->map->n_ranks < j->opt->apps[0].np) {
        each_host(e, (char *)e->names.data);
    }
    if (e->waiting == 0) {
        take_in(e);
    }
}

static void stop_look(struct elastic *e)
{
    if (e->readable != NULL) {
        event_free(e->readable);
        e->readable = NULL;
    }
    hb_fd_close(&e->fd);
    if (e->child > 0) {
        (void)kill(e->child, SIGKILL);
        (void)waitpid(e->child, NULL, 0);
        e->child = 0;
    }
}

static void on_names(evutil_socket_t fd, short what, void *arg)
{
    struct elastic *e = arg;
    char chunk[65536];
    ssize_t n = read(fd, chunk, sizeof chunk);

    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (n > 0 && e->names.len + (size_t)n < NAMES_MAX) {
        hb_buf_put_raw(&e->names, chunk, (size_t)n);
        return;
    }
    stop_look(e);
    judge(e);
}

static void on_look_due(evutil_socket_t fd, short what, void *arg)
{
    struct elastic *e = arg;
    struct hpcboot_error err = {0};
    int p[2];

    if (e->job->phase != JOB_RUNNING || hb_fd_pipe(p, &err) < 0) {
        return;
    }
    hb_buf_clear(&e->names);
    e->child = fork();
    if (e->child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        look(e->job, p[1]);
    }
    hb_fd_close(&p[1]);
    e->fd = p[0];
    if (e->child < 0) {
        stop_look(e);
        arm_ms(e->timer, LOOK_MS);
        return;
    }
    e->readable = event_new(e->job->base, e->fd, EV_READ | EV_PERSIST,
                            on_names, e);
    event_add(e->readable, NULL);
}

void job_elastic_watch(struct job *j)
{
    struct elastic *e;

    if (j->opt->apps[0].np_min == 0 ||
        (j->on_failure != HB_FAIL_RESTART && !job_is_live(j))) {
        return;
    }
    job_live_open(j);
    e = hb_xcalloc(1, sizeof *e);
    e->job = j;
    e->fd = -1;
    hb_buf_init(&e->names, NAMES_MAX);
    e->timer = evtimer_new(j->base, on_look_due, e);
    j->elastic = e;
    arm_ms(e->timer, LOOK_MS);
}

void job_elastic_close(struct job *j)
{
    if (j->elastic != NULL) {
        stop_look(j->elastic);
        forget_candidates(j->elastic);
        event_free(j->elastic->timer);
        hb_buf_destroy(&j->elastic->names);
        free(j->elastic);
        j->elastic = NULL;
    }
}

void job_elastic_explain(const struct job *j, struct hb_strv *lines)
{
    const struct hb_app_options *app = &j->opt->apps[0];

    if (app->np_min > 0) {
        hb_strv_pushf(lines, "elastic: %u to %u ranks: hosts that come and go "
                      "%s (--on-failure %s)", app->np_min, app->np,
                      j->on_failure == HB_FAIL_RESTART
                          ? "make all start again in the new size"
                      : job_is_live(j)
                          ? "do so while the others run"
                          : "are not looked for",
                      hb_on_failure_name(j->on_failure));
    }
}
