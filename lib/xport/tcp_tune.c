/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What the TCP carrier asks of the system for its sockets. */
#include "config.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/fd.h"
#include "lib/xport/tcp_impl.h"

/* A round trip that does not leave a site. */
#define NEAR_US 2000

#define MS_PER_S 1000
/* Of the limit: each time that what is on its way is sent again. */
#define AGAIN_PART 4

/* A connection on which nothing is said is asked for a sign of life after this
 * part of the limit, and when there is none, as often as there is time: where
 * the network loses packets a few questions in a row are lost every now and
 * then on one of the many connections of a job, which would be a death. */
#define IDLE_PART 3
#define ASK_EVERY_S 1
#define ASK_LEAST 3

/* A peer that has no room is asked for some at the distances of what is sent
 * again, too; by an older system at ever longer ones, so that a cut may show
 * late. Nothing helps there: TCP_USER_TIMEOUT ends connections to peers that do
 * answer, and a call to ask whether the host lives would stay in the queue of a
 * rank that computes, which looks like a cut when it is full. */
void hb_tcp_be_quick(const struct hb_tcp *t, int fd)
{
    int limit_s = (int)t->limit_s, idle_s = limit_s / IDLE_PART;
    int questions = (limit_s - idle_s) / ASK_EVERY_S;
    const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, idle_s},
        {IPPROTO_TCP, TCP_KEEPINTVL, ASK_EVERY_S},
        {IPPROTO_TCP, TCP_KEEPCNT,
         questions < ASK_LEAST ? ASK_LEAST : questions},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        (void)setsockopt(fd, options[i].level, options[i].name,
                         &options[i].value, sizeof options[i].value);
    }
    hb_fd_send_again(fd, (int64_t)limit_s * MS_PER_S / AGAIN_PART);
}

/* Congestion controls that pace by a rate they estimate are made for long
 * paths: within a site BBR, the default of many images, sends at half of what
 * the way takes. There the socket gets another one, of those that the system
 * allows everybody; where it allows none, it stays as it is. Reno first: cubic
 * takes the jitter of short messages for a full path, ends its slow start, and
 * is slow for the long ones that follow.
 *
 * That is before the socket connects or listens, and who turns out to be far
 * gets the system's back: a socket that BBR once had paces for good, and the
 * timer that it sets for a packet takes ten times as long as the packet. */
void hb_tcp_be_near(struct hb_tcp *t, int fd)
{
    static const char *const others[] = {"reno", "cubic"};
    char name[sizeof t->far] = "";
    socklen_t len = sizeof name - 1;

    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) < 0 ||
        strncmp(name, "bbr", 3) != 0) {
        return;
    }
    for (size_t n = 0; n < sizeof others / sizeof *others; n++) {
        if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, others[n],
                       (socklen_t)strlen(others[n])) == 0) {
            memcpy(t->far, name, sizeof name);
            return;
        }
    }
}

void hb_tcp_be_far(const struct hb_tcp *t, int fd)
{
    struct tcp_info i = {0};
    socklen_t len = sizeof i;

    if (t->far[0] != '\0' &&
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len) == 0 &&
        i.tcpi_rtt > NEAR_US) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, t->far,
                         (socklen_t)strlen(t->far));
    }
}

/* The system is to choose the port when it knows the other end, as then it may
 * be that of other connections, too. One that it chooses now is this socket's
 * alone, and taken from all: rails to many peers would use up what there are,
 * and whoever calls after that finds none. */
int hb_tcp_bind(int fd, const struct sockaddr_storage *from)
{
    struct sockaddr_storage any_port = *from;

    hb_sockaddr_clear_port(&any_port);
    (void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int){1},
                     sizeof(int));
    return bind(fd, (struct sockaddr *)&any_port, hb_sockaddr_len(&any_port));
}
