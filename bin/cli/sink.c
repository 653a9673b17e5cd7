/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Writing without blocking on a descriptor that others share.
 *
 * Standard output and error belong to an open file description that a shell
 * and other programs may hold too, so O_NONBLOCK cannot be set on it. A pipe
 * or terminal is opened a second time through /proc, non-blocking, with a
 * description of its own; a socket is sent to with MSG_DONTWAIT; where the
 * second opening is refused, poll() is asked and at most PIPE_BUF bytes are
 * written, for which a pipe that polls writable has room. A file or /dev/null
 * is written as it is.
 *
 * Bytes wait in one buffer. Marks say where a piece ends in it, so that the
 * owner of the piece is told when the last of its bytes has gone. After an
 * error the sink is dead: it drops what it is given and says so to owners, so
 * that a rank is never held up by a reader that is gone. */
#include "config.h"

#include "bin/cli/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

#define SINK_FIRST_CAP 65536u  /* bytes; one pipe's worth */
#define SINK_WRITE_MAX (1u << 20) /* bytes of one write call */

static int reopen(int fd)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static int can_block(const struct stat *st, int fd)
{
    return S_ISFIFO(st->st_mode) || (S_ISCHR(st->st_mode) && isatty(fd));
}

void hb_sink_open(struct hb_sink *s, int fd, const char *name)
{
    struct stat st;
    int own;

    memset(s, 0, sizeof *s);
    s->fd = fd;
    s->name = name;
    if (fstat(fd, &st) < 0) { /* closed: the first write says so */
        return;
    }
    if (S_ISSOCK(st.st_mode)) {
        s->way = HB_SINK_SOCKET;
    } else if (can_block(&st, fd)) {
        own = reopen(fd);
        s->way = own < 0 ? HB_SINK_POLLED : HB_SINK_REOPEN;
        if (own >= 0) {
            s->fd = own;
            s->owned = 1;
        }
    }
}

void hb_sink_close(struct hb_sink *s)
{
    if (s->owned) {
        hb_fd_close(&s->fd);
    }
    free(s->data);
    free(s->marks);
    memset(s, 0, sizeof *s);
    s->fd = -1;
}

/* --- the queue --------------------------------------------------- */

size_t hb_sink_waiting(const struct hb_sink *s)
{
    return s->len - s->start;
}

int hb_sink_owes(const struct hb_sink *s)
{
    return s->first_mark < s->n_marks;
}

char *hb_sink_reserve(struct hb_sink *s, size_t n)
{
    /* Half of the buffer at least comes free, or it grows: what waits is not
     * moved again and again by a reader that takes it in crumbs. */
    if (s->start > s->len / 2 && s->len + n > s->cap) {
        memmove(s->data, s->data + s->start, s->len - s->start);
        s->len -= s->start;
        s->start = 0;
    }
    if (s->len + n > s->cap) {
        size_t cap = s->cap ? s->cap : SINK_FIRST_CAP;

        while (cap < s->len + n) {
            cap *= 2;
        }
        s->data = hb_xrealloc(s->data, cap);
        s->cap = cap;
    }
    return s->data + s->len;
}

void hb_sink_added(struct hb_sink *s, size_t n)
{
    s->len += n;
}

void hb_sink_put(struct hb_sink *s, const void *data, size_t n)
{
    if (n) {
        memcpy(hb_sink_reserve(s, n), data, n);
        hb_sink_added(s, n);
    }
}

static void tell(const struct hb_sink *s, uint32_t rank, size_t bytes)
{
    if (s->done && bytes) {
        s->done(s->arg, rank, bytes);
    }
}

void hb_sink_mark(struct hb_sink *s, uint32_t rank, size_t bytes)
{
    struct hb_sink_mark *m;

    if (hb_sink_waiting(s) == 0) { /* it has gone already */
        tell(s, rank, bytes);
        return;
    }
    if (s->first_mark == s->n_marks) {
        s->first_mark = s->n_marks = 0;
    }
    if (s->n_marks == s->cap_marks) {
        size_t left = s->n_marks - s->first_mark;

        if (left) {
            memmove(s->marks, s->marks + s->first_mark, left * sizeof *m);
        }
        s->first_mark = 0;
        s->n_marks = left;
        if (left >= s->cap_marks / 2) {
            s->cap_marks = s->cap_marks ? s->cap_marks * 2 : 64;
            s->marks = hb_xrealloc(s->marks, s->cap_marks * sizeof *m);
        }
    }
    m = &s->marks[s->n_marks++];
    m->end = s->position + hb_sink_waiting(s);
    m->rank = rank;
    m->bytes = bytes;
}

/* n bytes at the front need no memory any more. */
static void gone(struct hb_sink *s, size_t n)
{
    s->start += n;
    s->position += n;
    if (s->start == s->len) {
        s->start = s->len = 0;
    }
    while (s->first_mark < s->n_marks
           && s->marks[s->first_mark].end <= s->position) {
        struct hb_sink_mark m = s->marks[s->first_mark++];

        tell(s, m.rank, m.bytes);
    }
}

/* --- writing ----------------------------------------------------- */

static ssize_t polled_write(int fd, const void *data, size_t n)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    if (poll(&p, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(fd, data, n < PIPE_BUF ? n : PIPE_BUF);
}

static ssize_t write_some(const struct hb_sink *s, const void *data, size_t n)
{
    size_t some = n < SINK_WRITE_MAX ? n : SINK_WRITE_MAX;
    ssize_t done;

    do {
        switch (s->way) {
        case HB_SINK_SOCKET:
            done = send(s->fd, data, some, MSG_DONTWAIT | MSG_NOSIGNAL);
            break;
        case HB_SINK_POLLED:
            done = polled_write(s->fd, data, some);
            break;
        default:
            done = write(s->fd, data, some);
            break;
        }
    } while (done < 0 && errno == EINTR);
    return done;
}

static int fail(struct hb_sink *s, struct hpcboot_error *err)
{
    int code = errno == EPIPE || errno == ECONNRESET ? HPCBOOT_ERR_CLOSED
                                                     : HPCBOOT_ERR_SYSTEM;

    s->dead = 1;
    if (errno == EBADF) {
        hb_fail(err, code, "%s cannot be written: it is closed; open it, as by "
                ">/dev/null where nobody wants it", s->name);
    } else {
        hb_fail_errno(err, code, "%s cannot be written", s->name);
    }
    gone(s, hb_sink_waiting(s));
    return code;
}

int hb_sink_try(struct hb_sink *s, const void *data, size_t n,
                size_t *written_out, struct hpcboot_error *err)
{
    const char *p = data;
    size_t at = 0;

    while (at < n) {
        ssize_t done = write_some(s, p + at, n - at);

        if (done < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
            *written_out = n;
            return fail(s, err);
        }
        if (done <= 0) {
            break;
        }
        at += (size_t)done;
    }
    *written_out = at;
    return 0;
}

int hb_sink_flush(struct hb_sink *s, struct hpcboot_error *err)
{
    size_t written, n = hb_sink_waiting(s);
    int rc;

    if (n == 0) {
        return 0;
    }
    rc = hb_sink_try(s, s->data + s->start, n, &written, err);
    if (rc < 0) {
        return rc;
    }
    gone(s, written);
    return hb_sink_waiting(s) > 0;
}
