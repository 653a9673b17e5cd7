/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* `hpcbootd kv --port N [--slots FILE [--min N] [--wait]]`: the key-value
 * server at which ranks of Horovod with Gloo meet, started in front of rank 0
 * by its recipe. One thread and one poll: clients ask again every few
 * milliseconds, each on a connection of its own. It holds what the job's ranks
 * say of themselves, and ends with them.
 *
 * With the slots of the job (elastic.h) ranks may be lost and may come. The
 * agent writes down which ones were lost; those that begin say so themselves
 * (join.c), and rank 0 is told of them until all ask who they are by now: it is
 * the one whose word all others take. Whoever asks waits until all have, and
 * there are enough; with an empty store a new world begins then. */
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
#include "bin/recipe/elastic.h"
#include "bin/recipe/kvhttp.h"
#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/jobmap.h"

#define CONNECTIONS 16384 /* ranks that wait for the next world keep theirs */
/* And as much of requests that are not whole and answers that are not taken. */
#define STORE_BYTES (64u << 20)
#define READ_BYTES 4096
#define BACKLOG 1024
#define SLOTS_BYTES (16u << 20) /* of the file of slots */
#define LOOK_MS 100            /* for ranks that were lost */
#define NOBODY UINT32_MAX
/* Where rank 0 puts how it is told; its own words say the second. */
#define WORKER_KEY "/worker_addresses/%s:0"
#define TELL_MS 2000
#define SILENT_MS 1000 /* who asks does so at once */

struct connection {
    struct hb_buf in;
    struct hb_str out;
    size_t sent;
    int answered;
    int64_t since_ms;
    uint32_t rank; /* it waits for the next world; or NOBODY */
};

struct server {
    struct hb_kvs *store;
    struct pollfd fds[CONNECTIONS + 1]; /* [0]: the listener */
    struct connection conns[CONNECTIONS + 1];
    size_t n;
    size_t under_way; /* bytes of requests and answers */
    struct hb_elastic *elastic; /* NULL: no rank may be lost */
    char *worker_key;
    int64_t told_ms;
    uint32_t min;
    int patient; /* with fewer than min it waits for others */
    size_t lost_read; /* bytes of the file of lost ranks */
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
        hb_fd_listen(fd, BACKLOG) < 0) {
        hb_fd_close(&fd);
    }
    return fd;
}

static void forget_request(struct server *s, size_t i)
{
    s->under_way -= s->conns[i].in.len;
    hb_buf_destroy(&s->conns[i].in);
}

static void drop(struct server *s, size_t i)
{
    if (s->conns[i].rank != NOBODY) {
        hb_elastic_unask(s->elastic, s->conns[i].rank);
    }
    hb_fd_close(&s->fds[i].fd);
    forget_request(s, i);
    s->under_way -= s->conns[i].out.len;
    hb_str_destroy(&s->conns[i].out);
    s->n--;
    s->fds[i] = s->fds[s->n];
    s->conns[i] = s->conns[s->n];
    s->fds[0].events = POLLIN;
}

/* Room for one more: of those that neither ask nor take their answer the one
 * that has been here longest goes. 0: there is none that is late. */
static int make_room(struct server *s)
{
    size_t oldest = 0;

    for (size_t i = 1; i < s->n; i++) {
        if (s->conns[i].rank == NOBODY &&
            (oldest == 0 || s->conns[i].since_ms < s->conns[oldest].since_ms)) {
            oldest = i;
        }
    }
    if (oldest == 0 ||
        hb_now_ms() - s->conns[oldest].since_ms < SILENT_MS) {
        return 0;
    }
    drop(s, oldest);
    return 1;
}

static size_t bytes_of(const struct connection *c)
{
    return c->in.len + c->out.len;
}

/* More than the store could take has been begun and not ended: the longest of
 * it goes. */
static void drop_longest(struct server *s)
{
    size_t longest = 1;

    for (size_t i = 2; i < s->n; i++) {
        if (bytes_of(&s->conns[i]) > bytes_of(&s->conns[longest])) {
            longest = i;
        }
    }
    drop(s, longest);
}

/* A new connection, or -1 with errno. */
static int welcome(struct server *s)
{
    int fd;

    if (s->n > CONNECTIONS) {
        errno = EMFILE;
        return -1;
    }
    fd = accept4(s->fds[0].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        s->fds[s->n] = (struct pollfd){.fd = fd, .events = POLLIN};
        s->conns[s->n] = (struct connection){.rank = NOBODY,
                                             .since_ms = hb_now_ms()};
        hb_buf_init(&s->conns[s->n].in,
                    HB_KVHTTP_HEAD_MAX + HB_KVHTTP_BODY_MAX + READ_BYTES);
        s->n++;
    }
    return fd;
}

/* Where no more connections can be had the listener is left for a moment: it
 * would be ready again and again. */
static void greet(struct server *s)
{
    int full = 0;

    do {
        while (welcome(s) >= 0) {
        }
        full = errno == EMFILE || errno == ENFILE;
    } while (full && make_room(s));
    if (full) {
        s->fds[0].events = 0;
    }
}

static void say(struct server *s, size_t i, uint32_t rank)
{
    struct hb_str text = HB_STR_INIT;

    if (rank == NOBODY) {
        hb_str_put(&text, "-1,-1,-1,-1,-1,-1");
    } else {
        hb_elastic_numbers(s->elastic, rank, &text);
    }
    hb_kvhttp_text(&s->conns[i].out, hb_str_text(&text));
    s->under_way += s->conns[i].out.len;
    hb_str_destroy(&text);
    s->conns[i].answered = 1;
    s->conns[i].rank = NOBODY;
    s->fds[i].events = POLLOUT;
}

/* All that are there have asked: a world begins, and its store is empty but for
 * where rank 0, which lives on, is told of others. */
static int turn(struct server *s)
{
    struct hb_kvs *fresh;
    struct hb_bytes worker;
    uint32_t size = hb_elastic_size(s->elastic);

    if (!s->patient && size < s->min) {
        fprintf(stderr, "hpcbootd: ranks that are left: %u; at least %u "
                "are needed\n", size, s->min);
        return -1;
    }
    if (!hb_elastic_turn(s->elastic, s->min)) {
        return 0;
    }
    if (hb_kvs_create(&fresh, STORE_BYTES, NULL) < 0) {
        return -1;
    }
    if (hb_kvs_get(s->store, s->worker_key, &worker) == 1) {
        (void)hb_kvs_put(fresh, s->worker_key, worker, HB_KVS_REPLACE, NULL);
    }
    hb_kvs_destroy(s->store);
    s->store = fresh;
    for (size_t i = 1; i < s->n; i++) {
        if (s->conns[i].rank != NOBODY) {
            say(s, i, s->conns[i].rank);
        }
    }
    return 0;
}

/* Again and again: it hears nothing before its training has begun. */
static void tell_of_others(struct server *s)
{
    struct hb_bytes worker;

    if (hb_elastic_grows(s->elastic) &&
        hb_now_ms() - s->told_ms >= TELL_MS &&
        hb_kvs_get(s->store, s->worker_key, &worker) == 1) {
        s->told_ms = hb_now_ms();
        kv_tell(worker.data, worker.len);
    }
}

static void ask(struct server *s, size_t i, const char *key)
{
    int64_t rank = hb_elastic_ask(s->elastic, key);

    if (rank < 0) {
        say(s, i, NOBODY);
    } else {
        s->conns[i].rank = (uint32_t)rank;
        s->fds[i].events = POLLRDHUP; /* it may give up waiting */
    }
}

/* Reads what there is; -1: the connection is over. */
static int take(struct server *s, size_t i)
{
    struct connection *c = &s->conns[i];
    void *room = hb_buf_reserve(&c->in, READ_BYTES);
    ssize_t n = room != NULL ? read(s->fds[i].fd, room, READ_BYTES) : -1;
    char *asked = NULL;

    if (n <= 0 || c->rank != NOBODY) {
        return n < 0 && room != NULL && (errno == EAGAIN || errno == EINTR)
                   ? 0 : -1;
    }
    hb_buf_added(&c->in, (size_t)n);
    s->under_way += (size_t)n;
    c->answered = hb_kvhttp_answer(s->store, (const char *)c->in.data,
                                   c->in.len, &c->out,
                                   s->elastic != NULL ? &asked : NULL);
    s->under_way += c->out.len;
    if (asked != NULL || c->answered) {
        forget_request(s, i);
    }
    if (asked != NULL) {
        c->answered = 0;
        ask(s, i, asked);
        free(asked);
    } else if (c->answered) {
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
        while (s->under_way > STORE_BYTES) {
            drop_longest(s);
        }
    }
    if (s->fds[0].revents != 0) {
        greet(s);
    }
}

/* Ranks that the agent has written down as lost: a number in each line. */
static void look_for_lost(struct server *s)
{
    const char *dir = getenv("HPCBOOT_SESSION_DIR");
    char *path = hb_xasprintf("%s/" HB_RANKS_LOST, dir != NULL ? dir : "");
    char *text = NULL, *line, *nl;
    size_t len;
    uint64_t rank;

    if (dir != NULL &&
        hb_file_read(path, SLOTS_BYTES, &text, &len, NULL) >= 0 &&
        len > s->lost_read) {
        for (line = text + s->lost_read; (nl = strchr(line, '\n')) != NULL;
             line = nl + 1) {
            *nl = '\0';
            if (hb_parse_u64(line, 0, NOBODY - 1, &rank) == 0) {
                hb_elastic_lose(s->elastic, (uint32_t)rank);
            }
        }
        s->lost_read = (size_t)(line - text);
    }
    free(text);
    free(path);
}

/* The first line names rank 0's host. */
static char *worker_key(const char *slots)
{
    char *line = hb_xstrndup(slots, strcspn(slots, "\n")), *key;
    char *colon = strrchr(line, ':');

    if (colon != NULL) {
        *colon = '\0';
    }
    key = hb_xasprintf(WORKER_KEY, line);
    free(line);
    return key;
}

static int read_slots(struct server *s, const char *path)
{
    struct hpcboot_error err = {0};
    char *text = NULL;
    size_t len;
    int rc = hb_file_read(path, SLOTS_BYTES, &text, &len, &err);

    if (rc >= 0) {
        hb_elastic_destroy(s->elastic);
        s->elastic = NULL;
        rc = hb_elastic_create(&s->elastic, text, &err);
        free(s->worker_key);
        s->worker_key = worker_key(text);
    }
    if (rc < 0) {
        fprintf(stderr, "hpcbootd: %s\n", err.text);
    }
    free(text);
    return rc;
}

/* The port, or -1. */
static int read_line(struct server *s, int argc, char **argv)
{
    int port = -1, min = 0;

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        int rc = 0;

        if (hb_streq(argv[i], "--wait")) {
            s->patient = 1;
            continue;
        }
        if (hb_streq(argv[i], "--port")) {
            rc = hb_parse_int(value, 1, 65535, &port);
        } else if (hb_streq(argv[i], "--min")) {
            rc = hb_parse_int(value, 0, HB_MAX_RANKS, &min);
        } else {
            rc = hb_streq(argv[i], "--slots") ? read_slots(s, value) : -1;
        }
        if (rc < 0) {
            return -1;
        }
        i++;
    }
    s->min = (uint32_t)min;
    return port;
}

static void release(struct server *s)
{
    while (s->n > 1) {
        drop(s, s->n - 1);
    }
    hb_fd_close(&s->fds[0].fd);
    hb_elastic_destroy(s->elastic);
    hb_kvs_destroy(s->store);
    free(s->worker_key);
    free(s);
}

static int serve(struct server *s)
{
    int rc = 0;

    while (rc == 0) {
        int look = s->elastic != NULL || s->fds[0].events == 0;

        if (poll(s->fds, s->n, look ? LOOK_MS : -1) < 0) {
            rc = errno == EINTR ? 0 : -1;
            continue;
        }
        s->fds[0].events = POLLIN;
        if (s->elastic != NULL) {
            look_for_lost(s);
        }
        attend(s);
        if (s->elastic != NULL) {
            tell_of_others(s);
            rc = turn(s);
        }
    }
    return EXIT_HOST;
}

int kv_main(int argc, char **argv)
{
    struct server *s = hb_xcalloc(1, sizeof *s);
    int port, status = EXIT_USAGE;

    s->fds[0] = (struct pollfd){.fd = -1, .events = POLLIN};
    s->n = 1;
    port = read_line(s, argc, argv);
    if (port < 0) {
        fprintf(stderr, "hpcbootd: kv --port N [--slots FILE [--min N] "
                "[--wait]]\n");
        goto out;
    }
    status = EXIT_HOST;
    s->fds[0].fd = listen_at((uint16_t)port);
    if (s->fds[0].fd < 0) {
        fprintf(stderr, "hpcbootd: cannot listen on port %d: %s\n", port,
                strerror(errno));
        goto out;
    }
    if (hb_kvs_create(&s->store, STORE_BYTES, NULL) == 0) {
        signal(SIGTERM, SIG_DFL);
        signal(SIGCHLD, SIG_IGN); /* of those that tell */
        status = serve(s);
    }
out:
    release(s);
    return status;
}
