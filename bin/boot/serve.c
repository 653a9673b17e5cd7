/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* `hpcbootd serve`: sockets, limits, and the list of who is here.
 *
 * Both families are listened to, each by a socket of its own, so that a host
 * that lacks one serves the other. A connection that the limits do not allow
 * now is told so in the words that hbrun and people know from sshd, and hangs
 * up. When too many logins are under way the one that has waited longest
 * makes room, and when one source has too many, of these the one that is late:
 * a login takes a fraction of a second, and who only holds a place loses it. */
#include "config.h"

#include "bin/boot/serve_impl.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bin/boot/ssh_channel.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define SSH_PORT 22
#define OTHER_PORT 2222   /* of the MPI Operator's images; hbrun tries it too */
#define BACKLOG 512       /* a launcher and the agents above may come at once */
#define ACCEPTS 32        /* in a row, before others get their turn */
#define AGAIN_MS 100      /* after descriptors had run out */
#define TELL_EVERY_MS 10000 /* a line about a flood, not a flood of lines */
#define KEEPALIVE_S 60    /* until a silent peer is asked */

static const char busy[] = "Exceeded MaxStartups\r\n";

static unsigned count_agents(const struct hb_serve *serve)
{
    unsigned n = 0;

    for (const struct hb_serve_agent *a = serve->agents; a; a = a->next) {
        n++;
    }
    return n;
}

static void turn_away(struct hb_serve *serve, int fd)
{
    int64_t now = hb_now_ms();

    serve->turned_away++;
    if (now - serve->told_at_ms >= TELL_EVERY_MS) {
        serve->told_at_ms = now;
        hb_log(HB_WARN, "too many logins: %lld were turned away so far",
               (long long)serve->turned_away);
    }
    (void)!send(fd, busy, sizeof busy - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
}

static void make_room(struct hb_serve *serve)
{
    struct hb_serve_session *s = serve->sessions;

    while (s && !hb_serve_session_pending(s)) {
        s = hb_serve_session_next(s);
    }
    if (s) {
        hb_serve_session_drop(s);
    }
}

static void make_room_of(struct hb_serve *serve,
                         const struct hb_limit_source *source)
{
    struct hb_serve_session *s = source ? serve->sessions : NULL;

    while (s && !hb_serve_session_is_late(s, source)) {
        s = hb_serve_session_next(s);
    }
    if (s) {
        hb_serve_session_drop(s);
    }
}

static void set_up_socket(int fd)
{
    int on = 1, idle = KEEPALIVE_S;

    /* Small packets must not wait for each other's acknowledgement. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
}

static void take(struct hb_serve *serve, int fd, const struct sockaddr *from)
{
    struct hb_limit_source *source = NULL;

    if (count_agents(serve) < HB_SERVE_AGENTS_MAX) {
        source = hb_limiter_begin(&serve->limiter, from, hb_now_ms());
        if (!source) {
            make_room_of(serve, hb_limiter_full(&serve->limiter, from));
            source = hb_limiter_begin(&serve->limiter, from, hb_now_ms());
        }
    }
    if (!source) {
        turn_away(serve, fd);
        return;
    }
    if (serve->n_pending >= serve->config->limits.pending) {
        make_room(serve);
    }
    set_up_socket(fd);
    hb_serve_keys_refresh(serve->keys);
    hb_serve_session_begin(serve, fd, source);
}

static void pause_accepting(struct hb_serve *serve)
{
    static const struct timeval wait = {0, AGAIN_MS * 1000};

    for (size_t i = 0; i < 2; i++) {
        if (serve->listeners[i].ev) {
            event_del(serve->listeners[i].ev);
        }
    }
    event_add(serve->again, &wait);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    struct hb_serve *serve = arg;

    for (size_t i = 0; i < 2; i++) {
        if (serve->listeners[i].ev) {
            event_add(serve->listeners[i].ev, NULL);
        }
    }
}

static void on_connection(evutil_socket_t listener, short what, void *arg)
{
    struct hb_serve *serve = ((struct hb_serve_listener *)arg)->serve;

    for (int i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage from;
        socklen_t len = sizeof from;
        int fd = accept4(listener, (struct sockaddr *)&from, &len,
                         SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS
                || errno == ENOMEM) {
                pause_accepting(serve);
            }
            return;
        }
        take(serve, fd, (struct sockaddr *)&from);
    }
}

/* Returns the socket, or -1 with errno. */
static int listen_at(int family, int port)
{
    struct sockaddr_in6 in6 = {
        .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port),
    };
    struct sockaddr_in in4 = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
    };
    const struct sockaddr *at = family == AF_INET6
        ? (const struct sockaddr *)&in6 : (const struct sockaddr *)&in4;
    int on = 1;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (bind(fd, at, family == AF_INET6 ? sizeof in6 : sizeof in4) < 0
        || hb_fd_listen(fd, BACKLOG) < 0) {
        hb_fd_close(&fd);
    }
    return fd;
}

static void close_listeners(struct hb_serve *serve)
{
    for (size_t i = 0; i < 2; i++) {
        if (serve->listeners[i].ev) {
            event_free(serve->listeners[i].ev);
            serve->listeners[i].ev = NULL;
        }
        hb_fd_close(&serve->listeners[i].fd);
    }
}

/* A family that the host does not have is left out; one that it has and that
 * cannot be used is an error. Returns 0 or errno. */
static int try_port(struct hb_serve *serve, int port)
{
    static const int families[] = {AF_INET6, AF_INET};
    int n = 0, why = 0;

    for (size_t i = 0; i < 2; i++) {
        int fd = listen_at(families[i], port);

        serve->listeners[i].fd = fd;
        if (fd >= 0) {
            n++;
        } else if (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL) {
            close_listeners(serve);
            return errno;
        } else {
            why = errno;
        }
    }
    serve->port = (unsigned)port;
    return n > 0 ? 0 : why;
}

static int choose_port(struct hb_serve *serve, struct hpcboot_error *err)
{
    int port = serve->config->port ? serve->config->port : SSH_PORT;
    int why = try_port(serve, port);

    if (why && serve->config->port == 0) {
        hb_log(HB_DEBUG, "port %d cannot be had: %s", port, strerror(why));
        port = OTHER_PORT;
        why = try_port(serve, port);
    }
    if (why) {
        errno = why;
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "cannot listen on port %d", port);
    }
    return HPCBOOT_OK;
}

static int watch_listeners(struct hb_serve *serve, struct hpcboot_error *err)
{
    struct event_base *base = serve->config->base;
    int ok = 1;

    serve->again = evtimer_new(base, on_again, serve);
    for (size_t i = 0; i < 2; i++) {
        struct hb_serve_listener *l = &serve->listeners[i];

        l->serve = serve;
        if (l->fd >= 0) {
            l->ev = event_new(base, l->fd, EV_READ | EV_PERSIST,
                              on_connection, l);
            ok = ok && l->ev && event_add(l->ev, NULL) == 0;
        }
    }
    return ok && serve->again ? HPCBOOT_OK
        : hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
}

static void close_serve(struct hb_serve *serve)
{
    if (!serve) {
        return;
    }
    close_listeners(serve);
    while (serve->sessions) {
        hb_serve_session_drop(serve->sessions);
    }
    while (serve->agents) {
        hb_serve_agent_destroy(serve->agents);
    }
    hb_ssh_channels_end(); /* last words of agents that have ended */
    hb_serve_keys_close(serve->keys);
    hb_serve_jobs_destroy(serve->jobs);
    if (serve->again) {
        event_free(serve->again);
    }
    free(serve);
}

static int open_serve(struct hb_serve **out,
                      const struct hb_serve_config *config,
                      const struct hb_serve_events *events, void *arg,
                      struct hpcboot_error *err)
{
    struct hb_serve *serve = hb_xcalloc(1, sizeof *serve);
    int rc;

    serve->config = config;
    serve->events = *events;
    serve->arg = arg;
    serve->told_at_ms = -TELL_EVERY_MS;
    serve->listeners[0].fd = serve->listeners[1].fd = -1;
    serve->jobs = hb_serve_jobs_create();
    hb_limiter_init(&serve->limiter, &config->limits);
    rc = hb_serve_keys_open(&serve->keys, config, err);
    if (rc >= 0) {
        rc = choose_port(serve, err);
    }
    if (rc >= 0) {
        rc = watch_listeners(serve, err);
    }
    if (rc < 0) {
        close_serve(serve);
        return rc;
    }
    *out = serve;
    return HPCBOOT_OK;
}

static void counts(const struct hb_serve *serve, struct hb_serve_counts *out)
{
    out->port = serve->port;
    out->logins = serve->n_pending;
    out->agents = count_agents(serve);
}

static int reaped(struct hb_serve *serve, pid_t pid, int wait_status)
{
    for (struct hb_serve_agent *a = serve->agents; a; a = a->next) {
        if (a->pid == pid) {
            hb_serve_agent_reaped(a, wait_status);
            return 1;
        }
    }
    return 0;
}

static void drain(struct hb_serve *serve, int signo)
{
    serve->draining = 1;
    close_listeners(serve);
    event_del(serve->again);
    for (const struct hb_serve_agent *a = serve->agents; a; a = a->next) {
        if (signo > 0 && a->pid > 0) {
            kill(a->pid, signo);
        }
    }
}

extern const struct hb_serve_ops hb_serve_ops;
const struct hb_serve_ops hb_serve_ops = {
    .open = open_serve, .counts = counts, .reaped = reaped, .drain = drain,
    .close = close_serve,
};
