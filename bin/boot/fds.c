/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A channel over descriptors: pipes, a socket pair, or an agent's own stdin
 * and stdout. Nothing is queued here: a write goes to the kernel at once or is
 * refused, so that backpressure reaches the sender unaltered.
 *
 * How the stream ended is worth waiting for. A command closes its output
 * before its exit status is known, and a last word on its stderr may still be
 * under way; the other way round, a command may be gone while a grandchild
 * keeps the pipe open. So `closed` comes when all three are over (output,
 * stderr, process), or a linger time after the first of them.
 *
 * The callee may close the channel from inside any event: freeing waits until
 * the event has returned. */
#include "config.h"

#include "bin/boot/fds.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/boot/child.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define READ_BYTES (256 * 1024) /* what a socket holds; several frames */
#define READ_ROUNDS 4          /* then the other hosts get their turn */
#define ERR_BYTES 4096
#define REST_MS 1000   /* for output to end behind its process */
#define STATUS_MS 3000 /* for a process, which may sweep up, behind that */

struct fd_channel {
    struct hb_channel ch;
    int read_fd, write_fd, err_fd;
    struct event *read_event, *write_event, *err_event, *linger_event;
    pid_t pid;
    struct hb_child *child; /* pid, once it is watched; or NULL */
    int term_after_ms;
    int is_socket;
    int output_over, child_over, reported;
    int heard; /* data came since the linger began */
    int depth;  /* events under way */
    int closing; /* freed when depth is 0 again */
    char *how;     /* the command's end in words, or NULL */
    char *trouble; /* why the stream cannot be used, or NULL */
    hb_fd_chatter chatter;
    void (*chatter_ended)(void *arg);
    void *chatter_arg;
};

static void child_gone(void *arg, const char *how, int exit_status);

static void free_event(struct event **event)
{
    if (*event) {
        event_free(*event);
        *event = NULL;
    }
}

/* What is not watched would be waited for in vain. */
static void watch(struct event *event, const struct timeval *limit)
{
    if (event == NULL || event_add(event, limit) != 0) {
        hb_no_memory();
    }
}

/* Waits for something that most channels never come to, and which therefore
 * has its event only from then on. */
static void wait_for(struct fd_channel *c, struct event **event, int fd,
                     short what, event_callback_fn cb,
                     const struct timeval *limit)
{
    if (*event == NULL) {
        *event = event_new(event_get_base(c->read_event), fd, what, cb, c);
    }
    watch(*event, limit);
}

static int watch_child(struct fd_channel *c, struct hpcboot_error *err)
{
    return c->pid <= 0 || c->child || !c->read_event ? HPCBOOT_OK
           : hb_child_watch(&c->child, event_get_base(c->read_event), c->pid,
                            child_gone, c, err);
}

static void destroy(struct fd_channel *c)
{
    if (c->chatter_ended) {
        c->chatter_ended(c->chatter_arg);
    }
    (void)watch_child(c, NULL); /* so that it is reaped */
    free_event(&c->read_event);
    free_event(&c->write_event);
    free_event(&c->err_event);
    free_event(&c->linger_event);
    hb_child_release(c->child, c->term_after_ms);
    if (c->write_fd != c->read_fd) {
        hb_fd_close(&c->write_fd);
    }
    hb_fd_close(&c->read_fd);
    hb_fd_close(&c->err_fd);
    free(c->how);
    free(c->trouble);
    free(c);
}

static void enter(struct fd_channel *c)
{
    c->depth++;
}

/* 1: the channel is gone. */
static int leave(struct fd_channel *c)
{
    int closing = c->closing;

    if (--c->depth == 0 && closing) {
        destroy(c);
    }
    return closing;
}

static void report(struct fd_channel *c)
{
    struct hpcboot_error err;

    if (c->reported) {
        return;
    }
    c->reported = 1;
    event_del(c->read_event);
    free_event(&c->write_event);
    free_event(&c->linger_event);
    hb_fail(&err, HPCBOOT_ERR_CLOSED, "%s",
            c->child_over ? c->how
            : c->trouble  ? c->trouble
                          : "the other side closed the stream");
    enter(c);
    if (c->ch.events.closed) {
        c->ch.events.closed(c->ch.arg, &err);
    }
    leave(c);
}

static void linger_cb(evutil_socket_t fd, short what, void *arg);

static void linger(struct fd_channel *c)
{
    int ms = c->child_over ? REST_MS : STATUS_MS;
    struct timeval limit = {ms / 1000, ms % 1000 * 1000};

    c->heard = 0;
    wait_for(c, &c->linger_event, -1, 0, linger_cb, &limit);
}

/* One of output, stderr and process is over. */
static void one_over(struct fd_channel *c)
{
    if (c->reported || c->closing) {
        return;
    }
    if (c->output_over && (c->child_over || !c->child) && !c->err_event) {
        report(c);
    } else if (c->output_over || c->child_over) {
        linger(c);
    }
}

static void linger_cb(evutil_socket_t fd, short what, void *arg)
{
    struct fd_channel *c = arg;

    if (c->heard && !c->output_over) {
        linger(c);
    } else {
        report(c);
    }
}

static void child_gone(void *arg, const char *how, int exit_status)
{
    struct fd_channel *c = arg;

    c->child_over = 1;
    c->ch.exit_status = exit_status;
    c->how = hb_xstrdup(how);
    one_over(c);
}

/* errno says more. */
static int in_trouble(struct fd_channel *c, const char *what)
{
    free(c->trouble);
    c->trouble = hb_xasprintf("%s: %s", what, strerror(errno));
    return HPCBOOT_ERR_CLOSED;
}

static void output_over(struct fd_channel *c)
{
    c->output_over = 1;
    event_del(c->read_event);
    (void)watch_child(c, NULL); /* else its end stays without a reason */
    one_over(c);
}

static void read_cb(evutil_socket_t fd, short what, void *arg)
{
    /* One loop thread reads, one channel at a time; too much for the stack
     * of somebody who has made his small. */
    static char data[READ_BYTES];
    struct fd_channel *c = arg;

    for (int round = 0; round < READ_ROUNDS; round++) {
        ssize_t n = read(c->read_fd, data, sizeof data);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return;
        }
        if (n < 0 && errno != ECONNRESET) {
            in_trouble(c, "cannot read from the stream");
        }
        if (n <= 0) {
            output_over(c);
            return;
        }
        c->heard = 1;
        enter(c);
        if (c->ch.events.data) {
            c->ch.events.data(c->ch.arg, data, (size_t)n);
        }
        /* A short read has emptied the pipe; and the callee may have paused
         * the channel. */
        if (leave(c) || (size_t)n < sizeof data
            || !event_pending(c->read_event, EV_READ, NULL)) {
            return;
        }
    }
}

static void err_cb(evutil_socket_t fd, short what, void *arg)
{
    struct fd_channel *c = arg;
    char text[ERR_BYTES];
    ssize_t n = read(c->err_fd, text, sizeof text);

    if (n > 0) {
        enter(c);
        if (c->chatter) {
            c->chatter(c->chatter_arg, text, (size_t)n);
        }
        leave(c);
        return;
    }
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    free_event(&c->err_event);
    hb_fd_close(&c->err_fd);
    one_over(c);
}

static void write_cb(evutil_socket_t fd, short what, void *arg)
{
    struct fd_channel *c = arg;

    enter(c);
    if (c->ch.events.writable) {
        c->ch.events.writable(c->ch.arg);
    }
    leave(c);
}

static ssize_t channel_write(struct hb_channel *ch, const void *data,
                             size_t len)
{
    struct fd_channel *c = (struct fd_channel *)ch;
    size_t done = 0;

    while (done < len) {
        const char *from = (const char *)data + done;
        ssize_t n = c->is_socket
            ? send(c->write_fd, from, len - done, MSG_NOSIGNAL)
            : write(c->write_fd, from, len - done);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            wait_for(c, &c->write_event, c->write_fd, EV_WRITE, write_cb,
                     NULL);
            break;
        }
        if (n < 0) {
            return in_trouble(c, "cannot write to the stream");
        }
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static void channel_pause(struct hb_channel *ch, int paused)
{
    struct fd_channel *c = (struct fd_channel *)ch;

    if (paused) {
        event_del(c->read_event);
        free_event(&c->linger_event);
    } else if (!c->reported && !c->output_over) {
        watch(c->read_event, NULL);
        one_over(c);
    }
}

static void channel_close(struct hb_channel *ch)
{
    struct fd_channel *c = (struct fd_channel *)ch;

    c->closing = 1;
    if (c->depth == 0) {
        destroy(c);
    }
}

static const struct hb_channel_ops fd_ops = {
    .write = channel_write, .pause = channel_pause, .close = channel_close
};

static int make_events(struct fd_channel *c, struct event_base *base,
                       struct hpcboot_error *err)
{
    short keep = EV_READ | EV_PERSIST;

    c->read_event = event_new(base, c->read_fd, keep, read_cb, c);
    if (c->err_fd >= 0) {
        c->err_event = event_new(base, c->err_fd, keep, err_cb, c);
    }
    if (!c->read_event || (c->err_fd >= 0 && !c->err_event)) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
    }
    if (event_add(c->read_event, NULL) != 0
        || (c->err_event && event_add(c->err_event, NULL) != 0)) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "descriptor %d cannot be waited for%s",
                             c->read_fd,
                             errno == EPERM ? " (is it a file?)" : "");
    }
    return HPCBOOT_OK;
}

static int set_nonblock(struct fd_channel *c, struct hpcboot_error *err)
{
    int fds[] = {c->read_fd, c->write_fd, c->err_fd};

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        int rc = fds[i] < 0 ? 0 : hb_fd_set_nonblock(fds[i], 1, err);

        if (rc < 0) {
            return rc;
        }
    }
    return HPCBOOT_OK;
}

int hb_fd_channel_create(struct hb_channel **out, struct event_base *base,
                         const struct hb_fd_spec *spec,
                         struct hpcboot_error *err)
{
    struct fd_channel *c = hb_xcalloc(1, sizeof *c);
    struct stat st;
    int rc;

    c->ch.ops = &fd_ops;
    c->read_fd = spec->read_fd;
    c->write_fd = spec->write_fd;
    c->err_fd = spec->err_fd;
    c->pid = spec->pid;
    c->term_after_ms = spec->term_after_ms;
    c->is_socket = fstat(c->write_fd, &st) == 0 && S_ISSOCK(st.st_mode);
    rc = set_nonblock(c, err);
    if (rc >= 0) {
        rc = make_events(c, base, err);
    }
    if (rc >= 0 && !spec->holds_stream) {
        rc = watch_child(c, err);
    }
    if (rc < 0) {
        destroy(c);
        return rc;
    }
    *out = &c->ch;
    return HPCBOOT_OK;
}

void hb_fd_channel_set_chatter(struct hb_channel *ch, hb_fd_chatter chatter,
                               void (*ended)(void *arg), void *arg)
{
    struct fd_channel *c = (struct fd_channel *)ch;

    c->chatter = chatter;
    c->chatter_ended = ended;
    c->chatter_arg = arg;
}

int hb_channel_from_fds(struct hb_channel **out, struct event_base *base,
                        int read_fd, int write_fd, pid_t pid,
                        struct hpcboot_error *err)
{
    struct hb_fd_spec spec = {
        .read_fd = read_fd, .write_fd = write_fd, .err_fd = -1, .pid = pid,
        .term_after_ms = -1,
    };

    return hb_fd_channel_create(out, base, &spec, err);
}
