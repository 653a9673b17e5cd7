/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A child process that asks the source of hosts while the job runs. Sources
 * may block for long, and an API must not be asked by two at a time. The child
 * is forked and never executes anything; it dies with its parent, and has none
 * of its descriptors, but for those that both were started with: a source may
 * be one (/dev/fd/9).
 *
 * It writes the whole gang, a line per host and an empty line at the end. A
 * source that tells of its changes (the Kubernetes API is watched) is followed
 * for as long as it can be, and the gang is written again when it is another
 * one; of any other source it is written once, and the child ends. Hosts of
 * another source are none: who cannot ask an API is not alone for that. What
 * went wrong stands in place of hosts, in a line that begins with "!". */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/job/job_impl.h"
#include "bin/job/lookout.h"
#include "bin/proc/first.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define LINES_MAX (64u << 20)
#define CHUNK_BYTES (16u << 10) /* on the stack, which may be small */
/* A hostfile may be read while it is written: the user hears of what lasts. */
#define FAILURES_SAID 3u

struct job_lookout {
    struct job *job;
    job_lookout_told told;
    void *arg;
    struct event *readable;
    struct hb_buf said; /* not yet whole */
    unsigned failures;  /* in a row */
    pid_t child;        /* 0: none */
    int fd;
};

/* --- in the child -------------------------------------------------------- */

struct writer {
    const char *default_slots; /* or NULL */
    int fd;
    char *last; /* what was written; or NULL */
};

/* "NAME PORT SLOTS MAX COUNT USER ORIGIN" per line; 0 and "-" where the
 * source says nothing. */
static void write_gang(void *arg, struct hb_gang *gang)
{
    struct writer *w = arg;
    struct hb_str out = HB_STR_INIT;

    hb_gang_default_word(gang, w->default_slots);
    for (size_t i = 0; i < gang->n; i++) {
        const struct hb_host *h = &gang->hosts[i];

        hb_str_putf(&out, "%s %d %d %d %d %s %s\n", h->name, h->port, h->slots,
                    h->max_slots, (int)h->count,
                    h->user != NULL ? h->user : "-", h->origin);
    }
    hb_str_put(&out, "\n");
    if (!hb_streq(out.s, w->last) &&
        hb_fd_write_all(w->fd, out.s, out.len, NULL) < 0) {
        _exit(0); /* nobody reads any more */
    }
    free(w->last);
    w->last = hb_str_steal(&out);
}

static int gather(struct job *j, struct writer *w, struct hpcboot_error *err)
{
    struct hb_gang gang = {0};
    int rc = job_gather(j, 0, NULL, &gang, err);

    if (rc < 0) {
        return rc;
    }
    if (!hb_streq(gang.source, j->gang.source)) {
        return hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "%s names no hosts now",
                       j->gang.source);
    }
    write_gang(w, &gang);
    return 0;
}

static void look(struct job *j, int fd)
{
    struct writer w = {.default_slots = j->opt->default_slots, .fd = fd};
    struct hpcboot_error err = {0};
    int rc;

    for (int s = 1; s < NSIG; s++) {
        signal(s, SIG_DFL); /* the parent's would write into its own pipe */
    }
    hb_log_set_sink(NULL, NULL, HB_ERROR);
    hb_fd_close_as_exec(fd); /* links, which would not end while it lives */
    rc = job_follow(j, write_gang, &w, &err);
    if (rc == HPCBOOT_ERR_UNSUPPORTED && w.last == NULL) {
        rc = gather(j, &w, &err);
    }
    if (rc < 0) {
        char *text = hb_xasprintf("!%s\n\n", err.text);

        (void)hb_fd_write_all(fd, text, strlen(text), NULL);
    }
    _exit(0); /* nothing of the parent's is to be flushed or freed here */
}

/* --- in the launcher ----------------------------------------------------- */

static void end_child(struct job_lookout *l)
{
    if (l->readable != NULL) {
        event_free(l->readable);
        l->readable = NULL;
    }
    hb_fd_close(&l->fd);
    if (l->child > 0) {
        (void)kill(l->child, SIGKILL);
        (void)waitpid(l->child, NULL, 0);
        l->child = 0;
    }
    hb_buf_clear(&l->said);
}

/* Takes the newest gang that has come whole, for free(), and drops the older
 * ones; NULL: none has come whole. */
static char *take_newest(struct hb_buf *said)
{
    const char *text = (const char *)hb_buf_next(said), *from = text;
    const char *end = NULL, *at = text;
    char *newest;

    while ((at = memmem(at, hb_buf_left(said) - (size_t)(at - text), "\n\n",
                        2)) != NULL) {
        from = end != NULL ? end : text;
        at += 2;
        end = at;
    }
    if (end == NULL) {
        return NULL;
    }
    newest = hb_xstrndup(from, (size_t)(end - from) - 1);
    hb_buf_skip(said, (size_t)(end - text));
    hb_buf_compact(said);
    return newest;
}

/* 1: it is what went wrong. */
static int is_failure(struct job_lookout *l, char *text)
{
    if (text[0] != '!') {
        l->failures = 0;
        return 0;
    }
    text[strcspn(text, "\n")] = '\0';
    hb_log(++l->failures == FAILURES_SAID ? HB_WARN : HB_DEBUG, "hosts that "
           "come and go are not seen now: %s; it is tried again", text + 1);
    return 1;
}

static void on_said(evutil_socket_t fd, short what, void *arg)
{
    struct job_lookout *l = arg;
    char chunk[CHUNK_BYTES], *newest;
    ssize_t n = read(fd, chunk, sizeof chunk);

    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (n <= 0 || l->said.len + (size_t)n > LINES_MAX) {
        end_child(l);
        l->told(l->arg, NULL);
        return;
    }
    hb_buf_put_raw(&l->said, chunk, (size_t)n);
    newest = take_newest(&l->said);
    if (newest != NULL && !is_failure(l, newest)) {
        l->told(l->arg, newest);
    }
    free(newest);
}

int job_lookout_look(struct job_lookout *l)
{
    const pid_t parent = getpid();
    int p[2];

    if (l->child > 0) {
        return 0;
    }
    if (hb_fd_pipe(p, NULL) < 0) {
        return -1;
    }
    l->child = fork();
    if (l->child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(0); /* it has ended before that was asked for */
        }
        look(l->job, p[1]);
    }
    hb_fd_close(&p[1]);
    l->fd = p[0];
    if (l->child < 0) {
        end_child(l);
        return -1;
    }
    hb_first_own(l->child);
    l->readable = event_new(l->job->base, l->fd, EV_READ | EV_PERSIST, on_said,
                            l);
    event_add(l->readable, NULL);
    return 1;
}

int job_lookout_read(char *line, struct hb_host *out)
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

struct job_lookout *job_lookout_open(struct job *j, job_lookout_told told,
                                     void *arg)
{
    struct job_lookout *l = hb_xcalloc(1, sizeof *l);

    l->job = j;
    l->told = told;
    l->arg = arg;
    l->fd = -1;
    hb_buf_init(&l->said, LINES_MAX);
    return l;
}

void job_lookout_close(struct job_lookout *l)
{
    if (l != NULL) {
        end_child(l);
        hb_buf_destroy(&l->said);
        free(l);
    }
}
