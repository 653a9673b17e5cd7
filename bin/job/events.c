/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* --events: one JSON object per line for every change of state, to a file or
 * to an inherited descriptor. A reader that does not read is not waited for:
 * lines queue here up to a limit, and go out as it reads on; beyond the limit
 * whole lines are left out and counted in the next one that fits
 * ("dropped"), as are those that there is no memory for. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/cli/own_output.h"
#include "bin/job/job_impl.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define QUEUE_MAX ((size_t)16 << 20)
#define LAST_WAIT_MS 2000

struct job_events {
    const char *target; /* as the option says */
    int fd;
    struct event *writable; /* of the present life's loop; or NULL */
    struct hb_buf queue;
    struct hb_str line;
    struct hb_json json;
    unsigned dropped;
};

/* A FIFO is opened for reading too, so that its reader may come later, or
 * never. A file that takes hbrun's own output is not opened once more, as
 * lines go behind what is there. */
static int open_file(const char *path)
{
    struct stat st;
    int is_there = stat(path, &st) == 0, fd;

    fd = is_there ? hb_own_output(&st) : -1;
    if (fd >= 0) {
        return fcntl(fd, F_DUPFD_CLOEXEC, 3);
    }
    if (!is_there || !S_ISFIFO(st.st_mode)) {
        return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY,
                    0644);
    }
    fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) {
        fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
    return fd;
}

static int open_target(const char *target, int *fd_out,
                       struct hpcboot_error *err)
{
    int n;

    if (hb_starts_with(target, "fd:")) {
        if (hb_parse_int(target + 3, 0, 1 << 20, &n) < 0 ||
            fcntl(n, F_GETFD) < 0) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "--events %s: no such open "
                           "descriptor", target);
        }
        if ((fcntl(n, F_GETFL) & O_ACCMODE) == O_RDONLY) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "--events %s: the "
                           "descriptor is open for reading only", target);
        }
        *fd_out = fcntl(n, F_DUPFD_CLOEXEC, 3);
    } else {
        *fd_out = open_file(target);
    }
    if (*fd_out < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_USAGE, "--events %s", target);
    }
    return 0;
}

static void forget_loop(struct job_events *e)
{
    if (e->writable != NULL) {
        event_free(e->writable);
        e->writable = NULL;
    }
}

static void write_queue(struct job_events *e)
{
    struct pollfd p = {e->fd, POLLOUT, 0};

    while (hb_buf_left(&e->queue) > 0 && poll(&p, 1, 0) > 0) {
        /* a pipe that polls writable takes PIPE_BUF bytes without blocking */
        size_t n = hb_buf_left(&e->queue);
        ssize_t put = write(e->fd, hb_buf_next(&e->queue),
                            n < 4096 ? n : 4096);

        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            hb_log(HB_WARN, "--events %s: %s; no further events are written",
                   e->target, strerror(errno));
            forget_loop(e);
            hb_fd_close(&e->fd);
            hb_buf_clear(&e->queue);
            return;
        }
        hb_buf_skip(&e->queue, (size_t)put);
    }
    if (hb_buf_left(&e->queue) == 0) {
        hb_buf_clear(&e->queue);
    } else if (e->writable != NULL) {
        event_add(e->writable, NULL);
    }
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    write_queue(arg);
}

/* A file cannot be watched, and never makes a line wait. */
static int watch(struct job_events *e, struct event_base *base,
                 struct hpcboot_error *err)
{
    if (base == NULL || e->fd < 0 || e->writable != NULL) {
        return 0;
    }
    e->writable = event_new(base, e->fd, EV_WRITE, on_writable, e);
    if (e->writable == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
    }
    write_queue(e);
    return 0;
}

int job_events_open(struct job *j, struct hpcboot_error *err)
{
    struct job_events *e;
    int fd = -1, rc;

    j->events = j->lives->events;
    if (j->opt->events == NULL) {
        return 0;
    }
    if (j->events != NULL) {
        return watch(j->events, j->base, err);
    }
    rc = open_target(j->opt->events, &fd, err);
    if (rc < 0) {
        return rc;
    }
    signal(SIGPIPE, SIG_IGN); /* a reader that leaves is an error of write */
    e = hb_xcalloc(1, sizeof *e);
    e->fd = fd;
    hb_buf_init(&e->queue, QUEUE_MAX);
    e->target = j->opt->events;
    j->events = j->lives->events = e;
    return watch(e, j->base, err);
}

struct hb_json *job_event(struct job *j, const char *name)
{
    struct job_events *e = j->events;

    if (e == NULL || e->fd < 0) {
        return NULL;
    }
    hb_str_destroy(&e->line);
    hb_json_begin(&e->json, &e->line);
    hb_json_object(&e->json, NULL);
    hb_json_real(&e->json, "time", (double)hb_wall_ns() / 1e9);
    hb_json_str(&e->json, "job", j->id);
    hb_json_str(&e->json, "event", name);
    if (e->dropped > 0) {
        hb_json_int(&e->json, "dropped", e->dropped);
    }
    return &e->json;
}

void job_event_end(struct job *j)
{
    struct job_events *e = j->events;

    hb_json_end_object(&e->json);
    hb_str_putc(&e->line, '\n');
    if (hb_buf_left(&e->queue) + e->line.len > QUEUE_MAX / 2) {
        e->dropped++;
        return;
    }
    hb_buf_compact(&e->queue);
    if (hb_buf_reserve(&e->queue, e->line.len) == NULL) {
        e->queue.failed = 0; /* what waits there is whole */
        e->dropped++;
        return;
    }
    hb_buf_put_raw(&e->queue, e->line.s, e->line.len);
    e->dropped = 0;
    write_queue(e);
}

void job_event_host(struct job_host *h, const char *name, const char *detail)
{
    struct hb_json *js = job_event(h->job, name);

    if (js != NULL) {
        hb_json_str(js, "host", h->spec->name);
        if (detail != NULL) {
            hb_json_str(js, "detail", detail);
        }
        job_event_end(h->job);
    }
}

void job_event_rank(struct job_host *h, const char *name, uint32_t rank,
                    const char *what, int64_t value)
{
    struct hb_json *js = job_event(h->job, name);

    if (js != NULL) {
        hb_json_int(js, "rank", rank);
        hb_json_str(js, "host", h->spec->name);
        hb_json_int(js, what, value);
        job_event_end(h->job);
    }
}

void job_event_rank_text(struct job_host *h, const char *name, uint32_t rank,
                         const char *detail)
{
    struct hb_json *js = job_event(h->job, name);

    if (js != NULL) {
        hb_json_int(js, "rank", rank);
        hb_json_str(js, "host", h->spec->name);
        hb_json_str(js, "detail", detail);
        job_event_end(h->job);
    }
}

/* The job has begun: what hbrun was asked to start, and where. */
void job_event_begin(struct job *j)
{
    struct hb_json *js = job_event(j, "job_begin");

    if (js == NULL) {
        return;
    }
    hb_json_str(js, "version", PACKAGE_VERSION);
    hb_json_int(js, "pid", getpid());
    hb_json_str(js, "source", j->gang.source);
    hb_json_int(js, "hosts", (int64_t)j->gang.n);
    hb_json_array(js, "programs");
    for (uint32_t i = 0; i < j->opt->n_apps; i++) {
        hb_json_str(js, NULL, j->opt->apps[i].argv.v[0]);
    }
    hb_json_end_array(js);
    job_event_end(j);
}

/* Its ranks are placed and ordered. */
void job_event_run(struct job *j)
{
    struct hb_json *js = job_event(j, "job_run");

    if (js != NULL) {
        hb_json_int(js, "ranks", j->map->n_ranks);
        hb_json_int(js, "nodes", j->map->n_nodes);
        hb_json_str(js, "pmi", hb_pm_family_name(j->family.family));
        hb_json_int(js, "tree_depth", j->depth_at_start);
        job_event_end(j);
    }
}

/* All ranks are told to end. */
void job_event_ending(struct job *j, uint32_t grace_ms, const char *why)
{
    struct hb_json *js = job_event(j, "job_ending");

    if (js != NULL) {
        hb_json_int(js, "grace_ms", grace_ms);
        hb_json_str(js, "why", why);
        job_event_end(j);
    }
}

void job_events_leave(struct job *j)
{
    if (j->events != NULL) {
        forget_loop(j->events);
    }
}

int job_events_wait(const struct hb_lives *l)
{
    struct job_events *e = l->events;

    if (e == NULL || e->fd < 0) {
        return 0;
    }
    write_queue(e);
    return hb_buf_left(&e->queue) > 0;
}

static uint32_t lines_left(const struct hb_buf *queue)
{
    const unsigned char *next = hb_buf_next(queue);
    uint32_t n = 0;

    for (size_t i = 0; i < hb_buf_left(queue); i++) {
        n += next[i] == '\n';
    }
    return n;
}

void job_events_close(struct hb_lives *l)
{
    struct job_events *e = l->events;
    int64_t until = hb_deadline_in_ms(LAST_WAIT_MS);

    if (e == NULL) {
        return;
    }
    while (e->fd >= 0 && hb_buf_left(&e->queue) > 0 &&
           hb_deadline_left_ms(until) > 0) {
        struct pollfd p = {e->fd, POLLOUT, 0};

        (void)poll(&p, 1, 100);
        write_queue(e);
    }
    e->dropped += lines_left(&e->queue);
    if (e->dropped > 0) { /* no further line will say so */
        hb_log(HB_WARN, "--events %s: its end is lost (lines: %u): nobody has "
               "read on, or there was no memory", e->target, e->dropped);
    }
    hb_fd_close(&e->fd);
    hb_buf_destroy(&e->queue);
    hb_str_destroy(&e->line);
    free(e);
    l->events = NULL;
}
