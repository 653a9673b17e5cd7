/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* `hpcbootd kv --port N`: the key-value server at which ranks of Horovod with
 * Gloo meet, started in front of rank 0 by its recipe. One thread and one
 * poll: clients ask again every few milliseconds, each on a connection of its
 * own. It holds what the job's ranks say of themselves, and ends with them. */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bin/hpcbootd/serve.h"
#include "bin/recipe/kvhttp.h"
#include "lib/base/buf.h"
#include "lib/base/fd.h"

#define EXIT_USAGE 2
#define EXIT_HOST 75
#define CONNECTIONS 1024
#define STORE_BYTES (64u << 20)
#define READ_BYTES 4096
#define BACKLOG 1024

struct connection {
    struct hb_buf in;
    struct hb_str out;
    size_t sent;
    int answered;
};

struct server {
    struct hb_kvs *store;
    struct pollfd fds[CONNECTIONS + 1]; /* [0]: the listener */
    struct connection conns[CONNECTIONS + 1];
    size_t n;
};

static int listen_at(uint16_t port)
{
    const struct sockaddr_in6 a6 = {.sin6_family = AF_INET6,
                                    .sin6_port = htons(port)};
    const struct sockaddr_in a4 = {.sin_family = AF_INET,
                                   .sin_port = htons(port)};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int family = fd >= 0 ? AF_INET6 : AF_INET, yes = 1, no = 0;

    if (fd < 0) {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if ((family == AF_INET6
             ? bind(fd, (const struct sockaddr *)&a6, sizeof a6)
             : bind(fd, (const struct sockaddr *)&a4, sizeof a4)) < 0 ||
        listen(fd, BACKLOG) < 0) {
        hb_fd_close(&fd);
    }
    return fd;
}

static void greet(struct server *s)
{
    int fd = -1;

    while (s->n <= CONNECTIONS &&
           (fd = accept4(s->fds[0].fd, NULL, NULL,
                         SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        s->fds[s->n] = (struct pollfd){.fd = fd, .events = POLLIN};
        s->conns[s->n] = (struct connection){.sent = 0};
        hb_buf_init(&s->conns[s->n].in,
                    HB_KVHTTP_HEAD_MAX + HB_KVHTTP_BODY_MAX + READ_BYTES);
        s->n++;
    }
}

static void drop(struct server *s, size_t i)
{
    hb_fd_close(&s->fds[i].fd);
    hb_buf_destroy(&s->conns[i].in);
    hb_str_destroy(&s->conns[i].out);
    s->n--;
    s->fds[i] = s->fds[s->n];
    s->conns[i] = s->conns[s->n];
}

/* Reads what there is; -1: the connection is over. */
static int take(struct server *s, size_t i)
{
    struct connection *c = &s->conns[i];
    void *room = hb_buf_reserve(&c->in, READ_BYTES);
    ssize_t n = room != NULL ? read(s->fds[i].fd, room, READ_BYTES) : -1;

    if (n <= 0) {
        return n < 0 && room != NULL && (errno == EAGAIN || errno == EINTR)
                   ? 0 : -1;
    }
    hb_buf_added(&c->in, (size_t)n);
    c->answered = hb_kvhttp_answer(s->store, (const char *)c->in.data,
                                   c->in.len, &c->out);
    if (c->answered) {
        s->fds[i].events = POLLOUT;
    }
    return 0;
}

/* -1: all was sent, or cannot be. */
static int give(struct server *s, size_t i)
{
    struct connection *c = &s->conns[i];
    ssize_t n = send(s->fds[i].fd, c->out.s + c->sent, c->out.len - c->sent,
                     MSG_NOSIGNAL);

    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    }
    c->sent += (size_t)n;
    return c->sent == c->out.len ? -1 : 0;
}

static void attend(struct server *s)
{
    for (size_t i = s->n; i-- > 1;) {
        int over = 0;

        if (s->fds[i].revents != 0) {
            over = s->conns[i].answered ? give(s, i) : take(s, i);
        }
        if (over < 0) {
            drop(s, i);
        }
    }
    if (s->fds[0].revents != 0) {
        greet(s);
    }
}

int kv_main(int argc, char **argv)
{
    struct server *s;
    int port = 0, fd;

    if (argc != 3 || !hb_streq(argv[1], "--port") ||
        hb_parse_int(argv[2], 1, 65535, &port) < 0) {
        fprintf(stderr, "hpcbootd: kv --port N\n");
        return EXIT_USAGE;
    }
    fd = listen_at((uint16_t)port);
    if (fd < 0) {
        fprintf(stderr, "hpcbootd: port %d cannot be listened at: %s\n", port,
                strerror(errno));
        return EXIT_HOST;
    }
    s = hb_xcalloc(1, sizeof *s);
    s->fds[0] = (struct pollfd){.fd = fd, .events = POLLIN};
    s->n = 1;
    if (hb_kvs_create(&s->store, STORE_BYTES, NULL) < 0) {
        free(s);
        return EXIT_HOST;
    }
    signal(SIGTERM, SIG_DFL);
    while (poll(s->fds, s->n, -1) >= 0 || errno == EINTR) {
        attend(s);
    }
    return EXIT_HOST;
}
