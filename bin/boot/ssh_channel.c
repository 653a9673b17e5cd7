/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A channel over SSH.
 *
 * libssh reads and writes the socket whenever one of its functions is called,
 * and tells through callbacks what came. The callbacks only put bytes aside;
 * the callee's events are sent when no libssh function is on the stack, so
 * that the callee may write to the channel or close it from inside any of
 * them. Because a write may have read, each write is followed by a look at
 * what came (the `look` event).
 *
 * Flow control: while paused the callback takes nothing, libssh keeps what
 * came and lets the window run down, and the sender stops (1.25 MB at most are
 * held). In the other direction a write is cut to the remote window and to
 * what may wait for the socket.
 *
 * libssh makes the socket blocking when it takes it; here it is nonblocking
 * again, which libssh handles as long as it only writes after poll has said
 * so, and it does.
 *
 * A channel that its callee has closed lingers until its last bytes are out;
 * hb_ssh_channels_end() ends those of a program that leaves its loop. */
#include "config.h"

#include "bin/boot/ssh_channel.h"

#include <event2/event.h>
#include <libssh/callbacks.h>
#include <libssh/server.h>
#include <stdlib.h>
#include <string.h>

#include "bin/boot/ssh_exit.h"
#include "bin/boot/ssh_meter.h"
#include "bin/boot/ssh_proxy.h"
#include "bin/boot/ssh_words.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define ROUNDS 32 /* libssh reads 4 KiB in each; then others get their turn */
#define QUEUE_BYTES (512 * 1024) /* encrypted and waiting for the socket */
#define PACKET_BYTES 32 /* of one, besides what is in it */
#define QUEUE_PACKETS (4 * QUEUE_BYTES / PACKET_BYTES) /* with libssh's own */
#define PIECE_BYTES (16 * 1024) /* on the stack, which may be small */
#define EXIT_NOT_SAID 255 /* as a client shows an end without a status */
#define SHELL_SIGNAL 128 /* a shell adds the number of the signal */
#define LINGER_MS 1000 /* for the exit status, and for the last bytes out */

struct ssh_chan {
    struct hb_channel ch;
    struct hb_ssh_parts parts;
    struct hb_ssh_meter meter;
    ssh_event poll;
    struct event *read_event, *write_event, *look_event, *linger_event;
    struct ssh_channel_callbacks_struct callbacks;
    struct hb_str in, in_err; /* taken from libssh, not yet handed on */
    int paused;
    size_t queued;   /* written since the socket took all */
    int want_write;  /* the callee waits for `writable` */
    int in_kex;      /* keys are being exchanged anew: libssh takes nothing */
    int over, reported, lingering;
    int given_up;    /* libssh reads and writes nothing any more */
    int depth, closing;
    hb_ssh_chatter chatter;
    void (*chatter_ended)(void *arg);
    void *chatter_arg;
    struct ssh_chan *prev, *next; /* among those that linger */
};

static struct ssh_chan *lingering;

static void free_event(struct event **event)
{
    if (*event) {
        event_free(*event);
        *event = NULL;
    }
}

static int is_alive(const struct ssh_chan *c)
{
    return !c->given_up && ssh_is_connected(c->parts.session);
}

static void keep_lingering(struct ssh_chan *c)
{
    c->lingering = 1;
    c->next = lingering;
    if (lingering) {
        lingering->prev = c;
    }
    lingering = c;
}

static void forget_lingering(struct ssh_chan *c)
{
    if (c->prev) {
        c->prev->next = c->next;
    } else if (c->lingering) {
        lingering = c->next;
    }
    if (c->next) {
        c->next->prev = c->prev;
    }
}

static void destroy(struct ssh_chan *c)
{
    forget_lingering(c);
    free_event(&c->read_event);
    free_event(&c->write_event);
    free_event(&c->look_event);
    free_event(&c->linger_event);
    hb_ssh_exit_destroy(c->parts.exit);
    if (c->parts.channel && c->callbacks.size) {
        ssh_remove_channel_callbacks(c->parts.channel, &c->callbacks);
    }
    if (c->poll) {
        ssh_event_remove_session(c->poll, c->parts.session);
        ssh_event_free(c->poll);
    }
    ssh_free(c->parts.session); /* with its channels, and closes the socket */
    hb_ssh_proxy_destroy(c->parts.proxy);
    hb_str_destroy(&c->in);
    hb_str_destroy(&c->in_err);
    free(c);
}

static int on_data(ssh_session session, ssh_channel channel, void *data,
                   uint32_t len, int is_stderr, void *arg)
{
    struct ssh_chan *c = arg;

    if (is_stderr) {
        hb_str_putn(&c->in_err, data, len);
        return (int)len;
    }
    if (c->paused) {
        return 0;
    }
    hb_str_putn(&c->in, data, len);
    return (int)len;
}

static void enter(struct ssh_chan *c)
{
    c->depth++;
}

static void end_politely(struct ssh_chan *c);

/* 1: the channel is gone, or on its way out. */
static int leave(struct ssh_chan *c)
{
    int closing = c->closing;

    if (--c->depth == 0 && closing && !c->lingering) {
        end_politely(c);
    }
    return closing;
}

static int write_pending(const struct ssh_chan *c)
{
    return (ssh_get_poll_flags(c->parts.session) & SSH_WRITE_PENDING) != 0;
}

static void linger(struct ssh_chan *c)
{
    static const struct timeval wait = {LINGER_MS / 1000,
                                        LINGER_MS % 1000 * 1000};

    event_add(c->linger_event, &wait);
}

/* The callee has closed the channel. What it wrote before is still due to go
 * out, for a moment; then the session ends. */
static void end_politely(struct ssh_chan *c)
{
    if (c->chatter_ended) {
        c->chatter_ended(c->chatter_arg);
    }
    c->chatter = NULL;
    c->chatter_ended = NULL;
    if (is_alive(c)) {
        if (c->parts.exit->status < 0 && !c->parts.exit->signal) {
            /* A login shell that waits for something in its start-up files
             * does not look at its input. An agent cares for the end of its
             * stream and not for this. */
            ssh_channel_request_send_signal(c->parts.channel, "HUP");
        }
        ssh_channel_send_eof(c->parts.channel);
        ssh_channel_close(c->parts.channel);
    }
    if (!is_alive(c) || !write_pending(c)) {
        destroy(c);
        return;
    }
    keep_lingering(c);
    event_add(c->write_event, NULL);
    linger(c);
}

void hb_ssh_channels_end(void)
{
    int64_t deadline = hb_deadline_in_ms(LINGER_MS);

    while (lingering) {
        int left_ms = (int)hb_deadline_left_ms(deadline);

        if (left_ms > 0 && is_alive(lingering)) {
            (void)ssh_blocking_flush(lingering->parts.session, left_ms);
        }
        destroy(lingering);
    }
}

static void say_how(const struct ssh_chan *c, struct hpcboot_error *err)
{
    const struct hb_ssh_exit *e = c->parts.exit;

    if (e->signal) {
        hb_fail(err, HPCBOOT_ERR_CLOSED,
                "the remote command was killed by signal %s", e->signal);
    } else if (e->status >= 0) {
        hb_fail(err, HPCBOOT_ERR_CLOSED,
                "the remote command exited with status %d", e->status);
    } else if (c->given_up) {
        hb_fail(err, HPCBOOT_ERR_CLOSED, "the SSH connection was given up: the "
                "other end " HB_SSH_METER_WORDS);
    } else if (!is_alive(c)) {
        hb_fail(err, HPCBOOT_ERR_CLOSED, "the SSH connection was lost: %s",
                hb_ssh_words(c->parts.session));
    } else {
        hb_fail(err, HPCBOOT_ERR_CLOSED,
                "the remote command closed its output");
    }
}

static void report(struct ssh_chan *c)
{
    const struct hb_ssh_exit *e = c->parts.exit;
    struct hpcboot_error err;

    if (c->reported || c->closing) {
        return;
    }
    c->reported = 1;
    event_del(c->linger_event);
    event_del(c->read_event);
    event_del(c->write_event);
    say_how(c, &err);
    c->ch.exit_status = e->status > 0 ? e->status : 0;
    c->ch.was_killed = e->signal != NULL || (e->status > SHELL_SIGNAL &&
                                             e->status < EXIT_NOT_SAID);
    enter(c);
    if (c->ch.events.closed) {
        c->ch.events.closed(c->ch.arg, &err);
    }
    leave(c);
}

static void linger_cb(evutil_socket_t fd, short what, void *arg)
{
    struct ssh_chan *c = arg;

    if (c->lingering) {
        destroy(c);
    } else {
        report(c);
    }
}

static void take_kept_of(struct ssh_chan *c, int is_stderr, struct hb_str *to)
{
    char piece[PIECE_BYTES];
    int n;

    while (ssh_channel_poll(c->parts.channel, is_stderr) > 0
           && (n = ssh_channel_read_nonblocking(c->parts.channel, piece,
                                                sizeof piece, is_stderr)) > 0) {
        hb_str_putn(to, piece, (size_t)n);
    }
}

/* What libssh kept: during a pause, or before its callbacks were set. */
static void take_kept(struct ssh_chan *c)
{
    take_kept_of(c, 0, &c->in);
    take_kept_of(c, 1, &c->in_err);
}

/* Hands on what was put aside. 1: the channel is gone. */
static int hand_on(struct ssh_chan *c)
{
    enter(c);
    if (c->in_err.len > 0) {
        struct hb_str text = c->in_err;

        c->in_err = (struct hb_str)HB_STR_INIT;
        if (c->chatter) {
            c->chatter(c->chatter_arg, text.s, text.len);
        }
        hb_str_destroy(&text);
    }
    if (!c->closing && !c->paused && c->in.len > 0) {
        struct hb_str data = c->in;

        /* The memory goes back and forth, so that a busy stream does not
         * allocate; the callee may cause more to be put aside. */
        c->in = (struct hb_str)HB_STR_INIT;
        if (c->ch.events.data) {
            c->ch.events.data(c->ch.arg, data.s, data.len);
        }
        if (c->in.len == 0) {
            hb_str_destroy(&c->in);
            data.len = 0;
            c->in = data;
        } else {
            hb_str_destroy(&data);
        }
    }
    return leave(c);
}

static int room(const struct ssh_chan *c)
{
    return !c->in_kex && c->queued < QUEUE_BYTES
        && ssh_channel_window_size(c->parts.channel) > 0;
}

/* After anything that may have moved bytes. */
static void look(struct ssh_chan *c)
{
    int alive = is_alive(c);

    if (hand_on(c)) {
        return;
    }
    if (alive && write_pending(c)) {
        event_add(c->write_event, NULL);
    } else {
        c->queued = 0;
    }
    if (alive && c->want_write && room(c)) {
        c->want_write = 0;
        enter(c);
        if (c->ch.events.writable) {
            c->ch.events.writable(c->ch.arg);
        }
        if (leave(c)) {
            return;
        }
    }
    if (c->paused || c->in.len > 0) {
        if (!alive) {
            event_del(c->read_event); /* nothing more will come */
        }
        return;
    }
    if (!alive || ssh_channel_is_closed(c->parts.channel)) {
        report(c);
    } else if (ssh_channel_is_eof(c->parts.channel) && !c->over) {
        c->over = 1;
        linger(c);
    }
}

static void move_bytes(struct ssh_chan *c)
{
    for (int i = 0; i < ROUNDS; i++) {
        int rc = ssh_event_dopoll(c->poll, 0);

        if (rc == SSH_AGAIN || rc == SSH_ERROR || !is_alive(c)) {
            break;
        }
    }
    if (hb_ssh_meter_is_over(&c->meter, c->parts.session, QUEUE_PACKETS)) {
        c->given_up = 1;
        event_del(c->read_event);
        event_del(c->write_event);
    }
}

static void socket_cb(evutil_socket_t fd, short what, void *arg)
{
    struct ssh_chan *c = arg;

    c->in_kex = 0;
    move_bytes(c);
    if (!c->lingering) {
        look(c);
    } else if (!is_alive(c) || !write_pending(c)) {
        destroy(c);
    } else {
        event_add(c->write_event, NULL);
    }
}

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
    struct ssh_chan *c = arg;

    if (!c->lingering && !c->reported) {
        look(c);
    }
}

static ssize_t chan_write(struct hb_channel *ch, const void *data,
                             size_t len)
{
    struct ssh_chan *c = (struct ssh_chan *)ch;
    size_t done = 0;

    if (!is_alive(c)
        || ssh_channel_is_closed(c->parts.channel)) {
        return HPCBOOT_ERR_CLOSED;
    }
    while (done < len && room(c)) {
        size_t n = len - done;
        size_t window = ssh_channel_window_size(c->parts.channel);
        int took;

        n = n < PIECE_BYTES ? n : PIECE_BYTES;
        n = n < window ? n : window;
        took = ssh_channel_write(c->parts.channel, (const char *)data + done,
                                 (uint32_t)n);
        if (took < 0) {
            event_active(c->look_event, EV_TIMEOUT, 1);
            return HPCBOOT_ERR_CLOSED;
        }
        done += (size_t)took;
        c->queued = write_pending(c)
            ? c->queued + (size_t)took + PACKET_BYTES : 0;
        c->in_kex = (size_t)took < n;
    }
    c->want_write = done < len;
    event_active(c->look_event, EV_TIMEOUT, 1);
    return (ssize_t)done;
}

static void chan_pause(struct hb_channel *ch, int paused)
{
    struct ssh_chan *c = (struct ssh_chan *)ch;

    if (c->paused && !paused) {
        take_kept(c);
    }
    c->paused = paused;
    if (!paused && !c->reported) {
        event_active(c->look_event, EV_TIMEOUT, 1);
    }
}

static void chan_close(struct hb_channel *ch)
{
    struct ssh_chan *c = (struct ssh_chan *)ch;

    if (!c->closing) {
        c->closing = 1;
        if (c->depth == 0) {
            end_politely(c);
        }
    }
}

static void chan_insist(struct hb_channel *ch, int64_t period_ms)
{
    hb_fd_send_again(((struct ssh_chan *)ch)->parts.fd, period_ms);
}

static const struct hb_channel_ops ssh_ops = {
    .write = chan_write, .pause = chan_pause, .close = chan_close,
    .insist = chan_insist
};

static int make_events(struct ssh_chan *c, struct event_base *base,
                       struct hpcboot_error *err)
{
    int fd = c->parts.fd;

    c->read_event = event_new(base, fd, EV_READ | EV_PERSIST, socket_cb, c);
    c->write_event = event_new(base, fd, EV_WRITE, socket_cb, c);
    c->look_event = event_new(base, -1, 0, look_cb, c);
    c->linger_event = evtimer_new(base, linger_cb, c);
    if (!c->read_event || !c->write_event || !c->look_event
        || !c->linger_event || event_add(c->read_event, NULL) != 0) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
    }
    return HPCBOOT_OK;
}

static int join_libssh(struct ssh_chan *c, struct hpcboot_error *err)
{
    c->callbacks.userdata = c;
    c->callbacks.channel_data_function = on_data;
    ssh_callbacks_init(&c->callbacks);
    hb_ssh_meter_watch(&c->meter, c->parts.session);
    c->poll = ssh_event_new();
    if (!c->parts.exit) {
        c->parts.exit = hb_ssh_exit_hear(c->parts.channel);
    }
    if (!c->poll || !c->parts.exit
        || ssh_event_add_session(c->poll, c->parts.session) != SSH_OK
        || ssh_add_channel_callbacks(c->parts.channel, &c->callbacks)
            != SSH_OK) {
        return hb_fail(err, HPCBOOT_ERR_INTERNAL, "libssh: %s",
                       hb_ssh_words(c->parts.session));
    }
    return hb_fd_set_nonblock(c->parts.fd, 1, err);
}

int hb_ssh_channel_create(struct hb_channel **out, struct event_base *base,
                          const struct hb_ssh_parts *parts,
                          struct hpcboot_error *err)
{
    struct ssh_chan *c = hb_xcalloc(1, sizeof *c);
    int rc;

    c->ch.ops = &ssh_ops;
    c->parts = *parts;
    rc = join_libssh(c, err);
    if (rc >= 0) {
        rc = make_events(c, base, err);
    }
    if (rc < 0) {
        destroy(c);
        return rc;
    }
    /* The first bytes may have come together with the answer to exec. */
    take_kept(c);
    event_active(c->look_event, EV_TIMEOUT, 1);
    *out = &c->ch;
    return HPCBOOT_OK;
}

void hb_ssh_channel_stderr(struct hb_channel *ch, const char *text,
                           size_t len)
{
    struct ssh_chan *c = (struct ssh_chan *)ch;
    size_t window = ssh_channel_window_size(c->parts.channel);

    len = len < window ? len : window;
    if (is_alive(c) && len > 0) {
        (void)ssh_channel_write_stderr(c->parts.channel, text, (uint32_t)len);
        event_active(c->look_event, EV_TIMEOUT, 1);
    }
}

void hb_ssh_channel_exit(struct hb_channel *ch, int status)
{
    struct ssh_chan *c = (struct ssh_chan *)ch;

    c->parts.exit->status = status < 0 ? EXIT_NOT_SAID : status;
    if (is_alive(c) && status >= 0) {
        (void)ssh_channel_request_send_exit_status(c->parts.channel, status);
    }
}

void hb_ssh_channel_set_chatter(struct hb_channel *ch, hb_ssh_chatter chatter,
                                void (*ended)(void *arg), void *arg)
{
    struct ssh_chan *c = (struct ssh_chan *)ch;

    c->chatter = chatter;
    c->chatter_ended = ended;
    c->chatter_arg = arg;
}
