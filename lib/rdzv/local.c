/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Handing memory over between ranks of a node that no agent serves: a socket
 * in the abstract name space, which exists per network namespace and leaves
 * nothing in any file system. Only processes of the same user are served. And
 * seeing that a rank is gone where no agent tells: its name is. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/rdzv/foreign.h"

#define BACKLOG 1024

static socklen_t address_of(const char *name, struct sockaddr_un *at)
{
    memset(at, 0, sizeof *at);
    at->sun_family = AF_UNIX;
    memcpy(at->sun_path + 1, name, strlen(name));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       strlen(name));
}

int hb_local_listen(char name[HB_LOCAL_NAME_SIZE], struct hpcboot_error *err)
{
    struct sockaddr_un at;
    uint64_t number = 0;
    socklen_t len;
    int fd;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "no random number for the socket of this node");
    }
    snprintf(name, HB_LOCAL_NAME_SIZE, "hpcboot-%016llx",
             (unsigned long long)number);
    len = address_of(name, &at);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 ||
        hb_fd_listen(fd, BACKLOG) < 0) {
        hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "no socket for the ranks of "
                      "this node (with bind, listen, accept4)");
        hb_fd_close(&fd);
        return HPCBOOT_ERR_SYSTEM;
    }
    return fd;
}

int hb_local_live(const char *name, struct hpcboot_error *err)
{
    struct sockaddr_un at;
    socklen_t len = address_of(name, &at);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0) {
        hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "no socket that shows the ranks "
                      "of this node that this one lives");
        hb_fd_close(&fd);
        return HPCBOOT_ERR_SYSTEM;
    }
    return fd;
}

/* Nothing is sent: the system only looks whether the name is there. */
int hb_local_is_gone(const char *name)
{
    struct sockaddr_un at;
    socklen_t len = address_of(name, &at);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int gone = fd >= 0 && connect(fd, (struct sockaddr *)&at, len) < 0 &&
               errno == ECONNREFUSED;

    hb_fd_close(&fd);
    return gone;
}

static int too_late(struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "the other ranks of this node "
                   "have not come before the deadline");
}

static int wait_for(int fd, short events, int64_t deadline_ns,
                    struct hpcboot_error *err)
{
    struct pollfd p = {.fd = fd, .events = events};
    int64_t left;
    int rc;

    do {
        left = hb_deadline_left_ms(deadline_ns);
        rc = poll(&p, 1, left > INT32_MAX ? -1 : (int)left);
    } while (rc < 0 && errno == EINTR);
    return rc > 0   ? 0
           : rc < 0 ? hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "cannot wait for "
                                    "the other ranks of this node")
                    : too_late(err);
}

static int same_user(int fd)
{
    struct ucred who;
    socklen_t len = sizeof who;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
           who.uid == getuid();
}

/* 1; 0: who is to have it is gone; -1: it cannot be sent, see errno. */
static int send_fd(int to, int fd)
{
    char byte = 0;
    struct iovec iov = {&byte, 1};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(int));
    return sendmsg(to, &m, MSG_NOSIGNAL) == 1      ? 1
           : errno == EPIPE || errno == ECONNRESET ? 0
                                                   : -1;
}

/* 1: the next that calls has it; 0: who called is gone, or not to have it. */
static int hand_to_next(int listen_fd, int fd, struct hpcboot_error *err)
{
    int to = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC), rc;

    if (to < 0) {
        return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED
                   ? 0
                   : hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "no file "
                                   "descriptor by which to hand the memory of "
                                   "this node to its other ranks");
    }
    rc = same_user(to) ? send_fd(to, fd) : 0;
    if (rc < 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "the memory of this node "
                           "cannot be handed to its other ranks");
    }
    hb_fd_close(&to);
    return rc;
}

int hb_local_hand_over(int listen_fd, int fd, uint32_t n, int64_t deadline_ns,
                       struct hpcboot_error *err)
{
    while (n > 0) {
        int rc = wait_for(listen_fd, POLLIN, deadline_ns, err);

        if (rc == 0) {
            rc = hand_to_next(listen_fd, fd, err);
        }
        if (rc < 0) {
            return rc;
        }
        n -= rc > 0;
        if (rc == 0 && hb_deadline_left_ms(deadline_ns) == 0) {
            return too_late(err);
        }
    }
    return 0;
}

static int receive_fd(int from)
{
    char byte;
    struct iovec iov = {&byte, 1};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c;
    int fd = -1;

    if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) == 1) {
        c = CMSG_FIRSTHDR(&m);
        if (c != NULL && c->cmsg_type == SCM_RIGHTS &&
            c->cmsg_len == CMSG_LEN(sizeof(int))) {
            memcpy(&fd, CMSG_DATA(c), sizeof fd);
        }
    }
    return fd;
}

int hb_local_receive(const char *name, int64_t deadline_ns,
                     struct hpcboot_error *err)
{
    struct sockaddr_un at;
    socklen_t len = address_of(name, &at);
    int from = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = -1;
    int rc = 0;

    if (from < 0 || connect(from, (struct sockaddr *)&at, len) < 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "the lowest rank of this "
                           "node cannot be reached for its memory");
    } else if (!same_user(from)) {
        rc = hb_fail(err, HPCBOOT_ERR_AUTH, "the lowest rank of this node is "
                     "another user's");
    }
    if (rc == 0) {
        rc = wait_for(from, POLLIN, deadline_ns, err);
    }
    if (rc == 0) {
        fd = receive_fd(from);
        rc = fd >= 0 ? fd : hb_fail(err, HPCBOOT_ERR_CLOSED, "the lowest rank "
                                    "of this node has ended");
    }
    hb_fd_close(&from);
    return rc;
}
