/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The bytes of ranks. Output is read from pipes, cut into lines and sent to
 * the launcher as long as it has given credit; without credit the pipes are
 * not read, so that a rank that writes faster than the terminal reads is
 * slowed down by its own pipe. Input is queued per rank and acknowledged when
 * the slowest of its readers has taken it, which bounds the queue. The
 * process-management socket of a rank is a third pair of streams. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/sure.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* One read: what a link's socket takes in one write. */
#define READ_CHUNK (192 * 1024)
/* Answers that a rank may leave unread before its next requests wait. */
#define PM_UNREAD_MAX (1u << 20)
/* A line under way is shown after this, where it may be a prompt: where one
 * rank runs, so that no other rank's text can come in between, and of the rank
 * that reads standard input, as long as that may bring more. And where it goes
 * back to its beginning, as progress bars do, if the launcher wants that. */
#define IDLE_FLUSH_MS 100
/* Far above what a launcher's input window and a server's answers need. */
#define SINK_MAX_BYTES ((size_t)1 << 30)

static void streams_enable(struct agent *a, int on)
{
    if (a->reading == on) {
        return;
    }
    a->reading = on;
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        for (int k = 0; k < 2; k++) {
            struct event *ev = a->ranks[i].out[k].ev;

            if (ev != NULL && on) {
                sure_add(ev, NULL);
            } else if (ev != NULL) {
                event_del(ev);
            }
        }
    }
}

_Static_assert(HB_PIECE_PARTIAL == HB_OUT_PARTIAL &&
               HB_PIECE_CONTINUED == HB_OUT_CONTINUED,
               "flags of a piece travel as they are");

static void send_piece(void *arg, const void *data, size_t len,
                       unsigned flags)
{
    struct rank_stream *s = arg;
    struct agent *a = s->rank->agent;

    if (a->output_ns == 0) {
        a->output_ns = hb_now_ns();
    }
    AGENT_SEND(a, output, .rank = s->rank->rank, .stream = s->stream,
               .flags = (uint8_t)flags, .wall_ns = (uint64_t)hb_wall_ns(),
               .data = {data, len});
    a->credit -= (int64_t)len;
}

static void stream_end(struct rank_stream *s)
{
    hb_lines_finish(&s->lines, send_piece, s);
    if (s->ev != NULL) {
        event_free(s->ev);
        s->ev = NULL;
    }
    if (s->idle != NULL) {
        event_free(s->idle);
        s->idle = NULL;
    }
    hb_fd_close(&s->fd);
}

static int may_be_asking(const struct rank_stream *s)
{
    const struct agent *a = s->rank->agent;
    uint32_t asks = a->job.stdin_mode == HB_STDIN_RANK ? a->job.stdin_rank : 0;

    return a->job.map->n_ranks == 1 ||
           ((a->job.flags & HB_JOB_ANSWERS) != 0 && !a->stdin_ended &&
            s->rank->rank == asks);
}

static int is_a_bar(const struct rank_stream *s)
{
    return (s->rank->agent->job.flags & HB_JOB_SHOW_BARS) != 0 &&
           memchr(s->lines.data, '\r', s->lines.len) != NULL;
}

/* A prompt is waited for to be whole; a bar may never pause for so long. */
static void flush_when_idle(struct rank_stream *s)
{
    static const struct timeval idle = {0, IDLE_FLUSH_MS * 1000};
    int bar = s->lines.len > 0 && is_a_bar(s);

    if (bar ? !evtimer_pending(s->idle, NULL)
            : s->lines.len > 0 && may_be_asking(s)) {
        sure_add(s->idle, &idle);
    }
}

/* Reads once; the stream may have ended after it. */
static void stream_read(struct rank_stream *s)
{
    struct agent *a = s->rank->agent;
    static char chunk[READ_CHUNK];
    ssize_t n = read(s->fd, chunk, sizeof chunk);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        stream_end(s);
        return;
    }
    a->output_seen = 1;
    if (a->job.flags & HB_JOB_RAW_OUTPUT) {
        send_piece(s, chunk, (size_t)n, 0);
    } else {
        hb_lines_feed(&s->lines, chunk, (size_t)n, send_piece, s);
    }
    flush_when_idle(s);
}

static void on_output(evutil_socket_t fd, short what, void *arg)
{
    struct rank_stream *s = arg;
    struct agent *a = s->rank->agent;

    stream_read(s);
    if (a->credit <= 0) {
        streams_enable(a, 0);
    }
    if (s->ev == NULL) {
        agent_maybe_done(a);
    }
}

static void on_idle(evutil_socket_t fd, short what, void *arg)
{
    struct rank_stream *s = arg;

    if (s->lines.len > 0 && (may_be_asking(s) || is_a_bar(s))) {
        unsigned flags = s->lines.continued ? HB_PIECE_CONTINUED : 0;

        send_piece(s, s->lines.data, s->lines.len, flags | HB_PIECE_PARTIAL);
        s->lines.len = 0;
        s->lines.continued = 1;
    }
}

void rank_stream_open(struct rank *r, int which, int fd)
{
    struct rank_stream *s = &r->out[which];
    struct agent *a = r->agent;

    s->rank = r;
    s->fd = fd;
    s->stream = (uint8_t)(which + 1);
    s->ev = sure_new(a->base, fd, EV_READ | EV_PERSIST, on_output, s);
    s->idle = sure_timer(a->base, on_idle, s);
    if (a->reading) {
        sure_add(s->ev, NULL);
    }
}

/* ---- what a server writes for a rank ------------------------------------- */

/* Of all ranks of this node, waiting for credit. Who writes more is answered
 * when there is less; who does not wait for answers loses what comes then. */
#define TEXTS_WAIT ((size_t)256 << 20)
#define TEXTS_MAX (2 * TEXTS_WAIT)

struct rank_text {
    struct rank_text *next;
    struct rank_stream stream; /* of its own: no line under way is torn */
    size_t at, len;
    char data[];
};

static void room_for_texts(struct agent *a)
{
    if (a->texts.full && a->texts.bytes <= TEXTS_WAIT) {
        a->texts.full = 0;
        if (a->pm != NULL && a->pm_ops->output_room != NULL) {
            a->pm_ops->output_room(a->pm);
        }
    }
}

/* The oldest one is done with. */
static void text_pop(struct rank *r)
{
    struct rank_text *t = r->texts.first;

    r->texts.first = t->next;
    r->agent->texts.bytes -= sizeof *t + t->len;
    room_for_texts(r->agent);
    hb_lines_destroy(&t->stream.lines);
    free(t);
}

/* As much as there is credit for. Whether that is all of it. */
static int text_send(struct agent *a, struct rank_text *t)
{
    while (t->at < t->len && a->credit > 0) {
        size_t left = t->len - t->at;
        size_t n = left < READ_CHUNK ? left : READ_CHUNK;

        if (a->job.flags & HB_JOB_RAW_OUTPUT) {
            send_piece(&t->stream, t->data + t->at, n, 0);
        } else {
            hb_lines_feed(&t->stream.lines, t->data + t->at, n, send_piece,
                          &t->stream);
        }
        t->at += n;
    }
    if (t->at < t->len) {
        return 0;
    }
    hb_lines_finish(&t->stream.lines, send_piece, &t->stream);
    return 1;
}

static void texts_send(struct rank *r)
{
    while (r->texts.first != NULL && text_send(r->agent, r->texts.first)) {
        text_pop(r);
    }
}

static void texts_drop(struct rank *r)
{
    while (r->texts.first != NULL) {
        text_pop(r);
    }
}

/* The last one, with room for its bytes. */
static struct rank_text *text_add(struct rank *r, uint8_t stream, size_t len)
{
    struct rank_text *t = hb_xcalloc(1, sizeof *t + len);

    t->stream.rank = r;
    t->stream.stream = stream;
    t->len = len;
    *(r->texts.first != NULL ? &r->texts.last->next : &r->texts.first) = t;
    r->texts.last = t;
    r->agent->texts.bytes += sizeof *t + len;
    return t;
}

static int is_lost(struct rank *r, size_t bytes)
{
    struct agent *a = r->agent;

    if (bytes <= TEXTS_MAX && a->texts.bytes <= TEXTS_MAX - bytes) {
        return 0;
    }
    if (!a->texts.loss_told) {
        a->texts.loss_told = 1;
        agent_note(a, HB_WARN, "text of rank %u is lost: it has its server "
                   "write (PMIx_Log_nb) and does not wait until that is done, "
                   "and %zu bytes wait for whoever reads hbrun's output",
                   r->rank, a->texts.bytes);
    }
    return 1;
}

int rank_put_output(struct rank *r, unsigned stream, struct hb_bytes text)
{
    struct agent *a = r->agent;
    int merged = (a->job.flags & HB_JOB_MERGE_STDERR) != 0;
    struct rank_text *t;

    if (is_lost(r, sizeof *t + text.len)) {
        return !a->texts.full;
    }
    t = text_add(r, merged ? 1 : (uint8_t)stream, text.len);
    memcpy(t->data, text.data, text.len);
    texts_send(r);
    a->texts.full |= a->texts.bytes > TEXTS_WAIT;
    return !a->texts.full;
}

static void text_cut(struct rank_text *t, size_t len)
{
    t->stream.rank->agent->texts.bytes -= t->len - len;
    t->len = len;
}

/* What there is now, since who escaped may write for ever. A terminal hands it
 * out in parts, and says how much there is of the next one alone. */
static void stream_keep(struct rank_stream *s)
{
    struct rank_text *t = text_add(s->rank, s->stream, RANK_PIPE_BYTES);
    size_t held = 0;
    ssize_t n;

    while ((n = read(s->fd, t->data + held, t->len - held)) > 0 ||
           (n < 0 && errno == EINTR)) {
        held += n > 0 ? (size_t)n : 0;
    }
    text_cut(t, held);
    t->stream.lines = s->lines; /* the line that it goes on with */
    s->lines = (struct hb_lines)HB_LINES_INIT;
    stream_end(s);
}

struct rank_texts rank_output_take(struct rank *r)
{
    struct rank_texts all;

    for (int k = 0; k < 2; k++) {
        if (r->out[k].ev != NULL) {
            stream_keep(&r->out[k]);
        }
    }
    texts_send(r);
    all = r->texts;
    r->texts = (struct rank_texts){NULL, NULL};
    return all;
}

void agent_credit(struct agent *a, uint32_t bytes)
{
    a->credit += bytes;
    for (uint32_t i = 0; i < a->n_ranks && a->credit > 0; i++) {
        texts_send(&a->ranks[i]);
    }
    if (a->credit > 0) {
        streams_enable(a, 1);
    }
}

void rank_output_end(struct rank *r)
{
    texts_drop(r);
    for (int k = 0; k < 2; k++) {
        if (r->out[k].ev != NULL) {
            stream_end(&r->out[k]);
        }
    }
}

int rank_drained(const struct rank *r)
{
    return r->out[0].ev == NULL && r->out[1].ev == NULL &&
           r->texts.first == NULL;
}

static void sink_open(struct rank *r, struct rank_sink *s, int fd,
                      event_callback_fn writable)
{
    s->fd = fd;
    s->eof = 0;
    s->ev = sure_new(r->agent->base, fd, EV_WRITE, writable, r);
    hb_buf_init(&s->queue, SINK_MAX_BYTES);
}

static void sink_close(struct rank_sink *s)
{
    if (s->ev != NULL) {
        event_free(s->ev);
        s->ev = NULL;
    }
    hb_fd_close(&s->fd);
    hb_buf_destroy(&s->queue);
}

/* Writes what the descriptor takes; returns the bytes that left the queue.
 * A reader that is gone swallows everything. */
static size_t sink_write(struct rank_sink *s)
{
    size_t taken = 0;

    while (s->fd >= 0 && hb_buf_left(&s->queue) > 0) {
        ssize_t n = write(s->fd, hb_buf_next(&s->queue),
                          hb_buf_left(&s->queue));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            hb_buf_tidy(&s->queue, SIZE_MAX);
            sure_add(s->ev, NULL);
            return taken;
        }
        if (n < 0) {
            taken += hb_buf_left(&s->queue);
            hb_buf_clear(&s->queue);
            s->eof |= !s->is_read; /* else the reader sees the end */
            break;
        }
        hb_buf_skip(&s->queue, (size_t)n);
        taken += (size_t)n;
    }
    if (s->fd >= 0 && hb_buf_left(&s->queue) == 0) {
        hb_buf_clear(&s->queue);
        if (s->eof) {
            sink_close(s);
        }
    }
    return taken;
}

/* No reader would know that a part is missing, or that an answer is. */
static void sink_add(struct rank_sink *s, const void *data, size_t len)
{
    hb_buf_put_raw(&s->queue, data, len);
    if (hb_buf_failed(&s->queue)) {
        hb_no_memory();
    }
}

void rank_sink_put(struct rank_sink *s, const void *data, size_t len)
{
    if (s->fd >= 0) {
        sink_add(s, data, len);
        (void)sink_write(s);
    }
}

/* Acknowledges what even the slowest reader of standard input has taken. */
static void stdin_ack(struct agent *a)
{
    uint64_t least = a->stdin_received;

    for (uint32_t i = 0; i < a->n_ranks; i++) {
        const struct rank *r = &a->ranks[i];

        if (r->in.fd >= 0 && r->stdin_taken < least) {
            least = r->stdin_taken;
        }
    }
    if (least > a->stdin_acked) {
        AGENT_SEND(a, stdin_credit,
                   .bytes = (uint32_t)(least - a->stdin_acked));
        a->stdin_acked = least;
    }
}

/* What was queued for it counts as taken, even where another process still
 * holds the other end. */
void rank_stdin_close(struct rank *r)
{
    sink_close(&r->in);
    stdin_ack(r->agent);
}

static void on_stdin_writable(evutil_socket_t fd, short what, void *arg)
{
    struct rank *r = arg;

    r->stdin_taken += sink_write(&r->in);
    stdin_ack(r->agent);
}

void rank_stdin_open(struct rank *r, int fd)
{
    sink_open(r, &r->in, fd, on_stdin_writable);
    hb_pipes_add(&r->agent->stdin_pipes, fd);
    r->stdin_taken = r->agent->stdin_received;
}

void rank_stdin(struct rank *r, const struct hb_msg_stdin *m)
{
    struct agent *a = r->agent;

    /* Counted once per frame, by the first rank that is offered it. */
    if (m->rank != HB_ALL_RANKS || r == &a->ranks[0]) {
        a->stdin_received += m->data.len;
    }
    a->stdin_ended |= (m->flags & HB_IN_EOF) != 0;
    if (r->in.fd >= 0) {
        sink_add(&r->in, m->data.data, m->data.len);
        r->in.eof |= (m->flags & HB_IN_EOF) != 0;
        r->stdin_taken += sink_write(&r->in);
    }
    if (m->rank != HB_ALL_RANKS || r == &a->ranks[a->n_ranks - 1]) {
        stdin_ack(a);
    }
}

static void on_pm_writable(evutil_socket_t fd, short what, void *arg)
{
    struct rank *r = arg;

    (void)sink_write(&r->pm);
    if (r->pm_read != NULL && hb_buf_left(&r->pm.queue) <= PM_UNREAD_MAX) {
        sure_add(r->pm_read, NULL);
    }
}

static void pm_close(struct rank *r)
{
    if (r->pm_read != NULL) {
        event_free(r->pm_read);
        r->pm_read = NULL;
    }
    sink_close(&r->pm);
}

/* What processes write is never read together, as the socket says whose it is
 * (SO_PASSCRED). */
static ssize_t pm_read(struct rank *r, int fd, void *chunk, size_t size)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec iov = {chunk, size};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    struct ucred writer = {0};

    if (c != NULL && c->cmsg_level == SOL_SOCKET &&
        c->cmsg_type == SCM_CREDENTIALS) {
        memcpy(&writer, CMSG_DATA(c), sizeof writer);
    }
    if (n > 0) {
        r->pm_writer = writer.pid;
    }
    return n;
}

static void on_pm_readable(evutil_socket_t fd, short what, void *arg)
{
    struct rank *r = arg;
    struct agent *a = r->agent;
    static char chunk[READ_CHUNK];
    ssize_t n = pm_read(r, fd, chunk, sizeof chunk);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n > 0 && a->pm != NULL &&
        a->pm_ops->feed(a->pm, r->rank, chunk, (size_t)n, NULL) >= 0) {
        if (hb_buf_left(&r->pm.queue) > PM_UNREAD_MAX) {
            event_del(r->pm_read);
        }
        return;
    }
    pm_close(r);
    if (a->pm != NULL) {
        a->pm_ops->rank_gone(a->pm, r->rank);
    }
}

void rank_pm_open(struct rank *r, int fd)
{
    sink_open(r, &r->pm, fd, on_pm_writable);
    r->pm.is_read = 1;
    r->pm_read = sure_new(r->agent->base, fd, EV_READ | EV_PERSIST,
                          on_pm_readable, r);
    sure_add(r->pm_read, NULL);
}

void rank_io_destroy(struct rank *r)
{
    texts_drop(r);
    for (int k = 0; k < 2; k++) {
        struct rank_stream *s = &r->out[k];

        if (s->ev != NULL) {
            event_free(s->ev);
        }
        if (s->idle != NULL) {
            event_free(s->idle);
        }
        hb_fd_close(&s->fd);
        hb_lines_destroy(&s->lines);
    }
    sink_close(&r->in);
    pm_close(r);
}
