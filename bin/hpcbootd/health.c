/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The health of `hpcbootd serve`, for exec probes of Kubernetes: both ends.
 *
 * The name of the socket holds the PID namespace and the port, so that pods in
 * one network namespace do not answer for each other. An answer is believed
 * only from this user's process or root's. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "bin/hpcbootd/listener.h"
#include "bin/hpcbootd/serve.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define BACKLOG 8
#define ANSWER_MS 2000 /* a probe's own limit is 1 s by default */
#define LINE_MAX_BYTES 256
#define EXIT_ILL 1
#define PORT_MAX 65535

static const unsigned usual_ports[] = {22, 2222};

struct health {
    struct listener *listener;
    health_words words;
    void *arg;
};

static socklen_t make_name(struct sockaddr_un *at, unsigned port)
{
    struct stat st = {0};
    int n;

    (void)stat("/proc/self/ns/pid", &st);
    memset(at, 0, sizeof *at);
    at->sun_family = AF_UNIX;
    n = snprintf(at->sun_path + 1, sizeof at->sun_path - 1,
                 "hpcbootd/%llu/%u", (unsigned long long)st.st_ino, port);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1
                       + (size_t)n);
}

static void on_probe(int fd, void *arg)
{
    struct health *h = arg;
    char text[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 16];
    int well, n;

    if (fd < 0) {
        hb_log(HB_WARN, "health probes are kept waiting: %s%s",
               strerror(errno), hb_errno_remedy(errno));
        return;
    }
    well = h->words(h->arg, text, sizeof text);
    n = snprintf(line, sizeof line, "%s %s\n", well ? "ok" : "no", text);
    (void)!send(fd, line, (size_t)n, MSG_NOSIGNAL);
    close(fd);
}

int health_open(struct health **out, struct event_base *base, unsigned port,
                health_words words, void *arg, struct hpcboot_error *err)
{
    struct health *h;
    struct sockaddr_un at;
    socklen_t len = make_name(&at, port);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0
        || hb_fd_listen(fd, BACKLOG) < 0) {
        hb_fd_close(&fd);
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "the socket for health probes cannot be had");
    }
    h = hb_xcalloc(1, sizeof *h);
    h->words = words;
    h->arg = arg;
    h->listener = listener_open(base, fd, SOCK_NONBLOCK, on_probe, h);
    *out = h;
    return HPCBOOT_OK;
}

void health_close(struct health *h)
{
    if (h) {
        listener_close(h->listener);
        free(h);
    }
}

static int is_trusted(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0
        && (peer.uid == 0 || peer.uid == geteuid());
}

/* For connecting, too: a server that hangs has no room for more than a few. */
static void limit_waits(int fd)
{
    static const struct timeval limit = {ANSWER_MS / 1000,
                                         ANSWER_MS % 1000 * 1000};

    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

/* With a limit, what waits is interrupted where the process is stopped or
 * frozen, and continued. */
static int is_connected(int fd, const struct sockaddr_un *at, socklen_t len)
{
    int rc;

    do {
        rc = connect(fd, (const struct sockaddr *)at, len);
    } while (rc < 0 && errno == EINTR);
    return rc == 0;
}

static ssize_t receive(int fd, char *line, size_t size)
{
    ssize_t n;

    do {
        n = recv(fd, line, size, 0);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* The line of the server on that port, empty where it does not answer; 0:
 * there is none. */
static int ask(unsigned port, char *line, size_t size)
{
    struct sockaddr_un at;
    socklen_t len = make_name(&at, port);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), there = 0;
    ssize_t n = 0;

    limit_waits(fd);
    if (fd >= 0 && is_connected(fd, &at, len)) {
        there = is_trusted(fd);
        n = there ? receive(fd, line, size - 1) : 0;
    } else if (fd >= 0) {
        there = errno == EAGAIN; /* the time is over */
    }
    hb_fd_close(&fd);
    line[n > 0 ? n : 0] = '\0';
    return there;
}

/* What stands behind --port, as its own word or not; NULL: nothing does. */
static const char *port_text(int argc, char **argv)
{
    static const char option[] = "--port";
    size_t len = sizeof option - 1;

    if (argc == 3) {
        return hb_streq(argv[1], option) ? argv[2] : NULL;
    }
    return argc == 2 && hb_starts_with(argv[1], option)
        && argv[1][len] == '=' ? argv[1] + len + 1 : NULL;
}

int health_main(int argc, char **argv)
{
    const char *text = port_text(argc, argv);
    char line[LINE_MAX_BYTES + 16];
    uint64_t port = 0;
    int found = 0;

    if (argc == 2 && (hb_streq(argv[1], "--help") || hb_streq(argv[1], "-h"))) {
        return hpcbootd_answer("usage: hpcbootd health [--port N]\n");
    }
    if (argc != 1 && (!text
                      || hb_parse_u64(text, 1, PORT_MAX, &port) < 0)) {
        fputs("hpcbootd: usage: hpcbootd health [--port N]\n", stderr);
        return EXIT_USAGE;
    }
    if (port > 0) {
        found = ask((unsigned)port, line, sizeof line);
    }
    for (size_t i = 0; port == 0 && !found
         && i < sizeof usual_ports / sizeof *usual_ports; i++) {
        found = ask(usual_ports[i], line, sizeof line);
    }
    if (!found) {
        fputs("hpcbootd: nobody serves in this pod\n", stderr);
        return EXIT_ILL;
    }
    if (line[0] == '\0') {
        fputs("hpcbootd: the server does not answer\n", stderr);
        return EXIT_ILL;
    }
    fputs(line, stdout);
    return hb_starts_with(line, "ok ") ? 0 : EXIT_ILL;
}
