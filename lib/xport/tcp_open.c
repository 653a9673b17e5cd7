/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What a rank opens before it knows the others: a port that they come by,
 * the secret they show there, and UCX where it is to be used. */
#include "config.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/xport/tcp_impl.h"

/* While a rank computes its callers wait in the system, and who finds no place
 * there takes it for cut off. The system takes its own limit for more than that
 * (net.core.somaxconn, 4096; 128 before Linux 5.4). */
#define BACKLOG INT_MAX
/* UCX opens some 20 at once, and ends the process where it gets no more. */
#define UCX_FDS 64u
/* Its queue of datagrams on an RDMA device takes so much locked memory, and it
 * tries for ever to get it. */
#define UCX_LOCKED_BYTES ((size_t)20 << 20)

#define PORT_RANGE "/proc/sys/net/ipv4/ip_local_port_range"
#define RANGE_MOST 64u /* bytes: two numbers */

static int listen_on(int family, uint16_t *port_out)
{
    struct sockaddr_storage at = {.ss_family = (sa_family_t)family};
    socklen_t len = hb_sockaddr_len(&at);
    int off = 0;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -1;
    }
    if (family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (bind(fd, (struct sockaddr *)&at, len) < 0 ||
        hb_fd_listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0) {
        hb_fd_close(&fd);
        return -1;
    }
    *port_out = ntohs(family == AF_INET6
                          ? ((struct sockaddr_in6 *)&at)->sin6_port
                          : ((struct sockaddr_in *)&at)->sin_port);
    return fd;
}

uint64_t hb_tcp_fds_most(void)
{
    struct rlimit most = {0};

    (void)getrlimit(RLIMIT_NOFILE, &most);
    return most.rlim_cur;
}

/* Not by UCX, for `why`: an error where nothing else may be used, else TCP
 * serves, which is told where RDMA was to be expected. */
static int do_without(struct hb_tcp *t, const char *why, int expected,
                      struct hpcboot_error *err)
{
    if ((t->wish.may & 1u << HB_BY_TCP) == 0) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "%s: %s", t->wish.from,
                       why);
    }
    snprintf(t->ucx_why, sizeof t->ucx_why, "%s", why);
    if (expected) {
        snprintf(t->warning, sizeof t->warning, "%s%smessages go over TCP: %s",
                 t->wish.from, t->wish.from[0] != '\0' ? ", but " : "", why);
    }
    return 0;
}

/* May this process lock so much? The kernel is asked, as who has the capability
 * IPC_LOCK has no limit. Nothing is touched by it. */
static int may_lock(size_t bytes, struct rlimit *limit_out)
{
    void *p;
    int may = 1;

    if (getrlimit(RLIMIT_MEMLOCK, limit_out) < 0 ||
        limit_out->rlim_cur >= bytes) {
        return 1;
    }
    p = mmap(NULL, bytes, PROT_READ,
             /* cppcheck-suppress invalidFunctionArg */
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) {
        may = mlock2(p, bytes, MLOCK_ONFAULT) == 0 ||
              (errno != ENOMEM && (errno != EPERM || limit_out->rlim_cur > 0));
        (void)munmap(p, bytes);
    }
    return may;
}

/* 1: UCX would fail by a limit, `why` says which. */
static int lacks_limits(const struct hb_tcp *t, char *why, size_t size)
{
    struct rlimit locked;

    if (hb_tcp_fds_most() < UCX_FDS) {
        snprintf(why, size, "UCX takes many file descriptors, and ulimit -n "
                 "is less than %u", UCX_FDS);
        return 1;
    }
    if (t->caps.ucx_kind != HB_UCX_TCP &&
        !may_lock(UCX_LOCKED_BYTES, &locked)) {
        snprintf(why, size, "RDMA needs locked memory, and ulimit -l is %llu "
                 "KiB", (unsigned long long)locked.rlim_cur >> 10);
        return 1;
    }
    return 0;
}

/* UCX is opened where a device makes it worth while, or the user wants it.
 * Where it cannot be had the others do, unless the user forbids them. */
static int open_ucx(struct hb_tcp *t, struct hpcboot_error *err)
{
    struct hpcboot_error why;
    char lack[96];
    int must = (t->wish.may & 1u << HB_BY_TCP) == 0;

    (void)hb_caps_rdma("", t->wish.devices, t->wish.fabric, &t->caps,
                       t->wish.fabric != 0 ? &t->ports : NULL);
    if (t->wish.fabric != 0 && t->caps.ucx_kind == HB_UCX_NONE) {
        return do_without(t, "this host has no such device that is up and can "
                          "be opened", 1, err);
    }
    if (t->caps.ucx_kind == HB_UCX_NONE && (must || t->wish.names_ucx)) {
        t->caps.ucx_kind = HB_UCX_TCP;
    }
    if (t->caps.ucx_kind == HB_UCX_NONE) {
        return do_without(t, "no RDMA device", 0, err);
    }
    if (!must && !t->wish.names_ucx && t->caps.ucx_kind >= HB_UCX_SOFT) {
        return do_without(t, "RDMA in software is slower", 0, err);
    }
    if (lacks_limits(t, lack, sizeof lack)) {
        return do_without(t, lack, 1, err);
    }
    return hb_ucx_open(t, &why) < 0 ? do_without(t, why.text, 1, err) : 0;
}

static int choose_ours(struct hb_tcp *t, struct hpcboot_error *err)
{
    int rc = 0;

    hb_caps_net("", &t->caps);
    if (t->wish.tcp_device != NULL) {
        t->caps.tcp_mbps = hb_net_mbps("", t->wish.tcp_device);
    }
    if (t->wish.may & 1u << HB_BY_UCX) {
        rc = open_ucx(t, err);
    }
    t->caps.may = t->wish.may;
    if (t->ucx == NULL) {
        t->caps.may &= ~(1u << HB_BY_UCX);
        t->caps.ucx_kind = HB_UCX_NONE;
    }
    return rc;
}

void hb_tcp_why_not_ucx(const struct hb_tcp *t, uint32_t rank, char *text,
                        size_t size)
{
    const struct hb_xport_job *job = &t->x->job;
    struct hb_endpoint peer;
    struct hb_buf b;
    size_t len;
    const void *card = job->address(job->ctx, rank, &len);
    uint32_t here = t->caps.ucx_version;

    snprintf(text, size, "%s", t->ucx_why);
    hb_buf_view(&b, card, len);
    if (text[0] == '\0' && hb_endpoint_get(&b, NULL, &peer) == 0 &&
        hb_caps_ucx_differs(&t->caps, &peer.caps)) {
        uint32_t there = peer.caps.ucx_version;

        snprintf(text, size, "it is %u.%u here, and %u.%u there",
                 HB_UCX_MAJOR(here), HB_UCX_MINOR(here), HB_UCX_MAJOR(there),
                 HB_UCX_MINOR(there));
    }
}

static int read_rails(uint64_t *most, struct hpcboot_error *err)
{
    const char *text = getenv("HPCBOOT_RAILS");

    *most = HB_RAILS_MOST;
    if (text != NULL && *text != '\0' &&
        hb_parse_u64(text, 1, HB_RAILS_MOST, most) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "HPCBOOT_RAILS: \"%.64s\" is no "
                       "number from 1 to %u", text, HB_RAILS_MOST);
    }
    return 0;
}

int hb_tcp_check_wishes(struct hpcboot_error *err)
{
    struct hb_carrier_wish wish;
    uint64_t rails;
    int rc = hb_carrier_wish_read(&wish, err);

    return rc < 0 ? rc : read_rails(&rails, err);
}

static int read_interfaces(struct hb_tcp *t, struct hpcboot_error *err)
{
    const char *device = t->wish.tcp_device;

    hb_interfaces_read(device, &t->ours);
    if (device != NULL && t->ours.n == 0) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "--fabric %s: this host "
                       "has no such net device that is up and has an address",
                       device);
    }
    return 0;
}

/* HPCBOOT_RAILS=N: only the first N devices may be rails. The networks of the
 * others are left out of this rank's card, by which both ends choose. */
static int limit_rails(struct hb_interfaces *ours, struct hpcboot_error *err)
{
    uint64_t most;
    int rc = read_rails(&most, err);

    if (rc < 0) {
        return rc;
    }
    for (unsigned i = 0; i < ours->n; i++) {
        if (ours->list[i].net.device > most) {
            ours->list[i].net = (struct hb_network){0};
        }
    }
    return 0;
}

static unsigned limit_s(void)
{
    const char *text = getenv("HPCBOOT_LOST_AFTER");
    uint64_t ms;

    if (text == NULL || hb_parse_u64(text, 1, UINT32_MAX, &ms) < 0 ||
        ms > HB_TCP_LIMIT_S * 1000u) {
        return HB_TCP_LIMIT_S;
    }
    return ms > HB_TCP_LEAST_S * 1000u ? (unsigned)(ms / 1000u)
                                       : HB_TCP_LEAST_S;
}

int hb_tcp_is_without_fd(int error)
{
    return error == EMFILE || error == ENFILE;
}

int hb_tcp_socket(struct hb_tcp *t, int family)
{
    int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int fd = socket(family, type, 0);

    if (fd < 0 && hb_tcp_is_without_fd(errno) && hb_tcp_make_room(t)) {
        fd = socket(family, type, 0);
    }
    return fd;
}

void hb_tcp_take_reserve(struct hb_tcp *t)
{
    t->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void hb_tcp_keep_reserve(struct hb_tcp_conn *c)
{
    if (c->by_reserve) {
        c->by_reserve = 0;
        hb_tcp_take_reserve(c->tcp);
    }
}

void hb_tcp_tell_no_fd(char *text, size_t size)
{
    snprintf(text, size, "has no file descriptor left for one more connection "
             "(ulimit -n is %llu there)",
             (unsigned long long)hb_tcp_fds_most());
}

/* "Cannot assign requested address" is said where there is no port left to call
 * from, and where there is no address, as of a family that is switched off. UDP
 * has ports of its own, and the same addresses; nothing is sent. */
int hb_tcp_is_without_port(int error, const struct sockaddr_storage *to)
{
    int fd, rc;

    if (error != EADDRNOTAVAIL) {
        return 0;
    }
    fd = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    rc = fd < 0 ? -1 : connect(fd, (const struct sockaddr *)to,
                               hb_sockaddr_len(to));
    hb_fd_close(&fd);
    return rc == 0;
}

void hb_tcp_tell_no_port(char *text, size_t size)
{
    char *range = NULL;
    size_t len;

    if (hb_file_read(PORT_RANGE, RANGE_MOST, &range, &len, NULL) == 0) {
        range[strcspn(range, "\t")] = '-';
        range[strcspn(range, "\n")] = '\0';
    }
    snprintf(text, size, "this rank has no local port left for one more "
             "connection (net.ipv4.ip_local_port_range is %s here)",
             range != NULL ? range : "not to be read");
    free(range);
}

int hb_tcp_call_without_fd(struct hb_tcp_conn *c)
{
    size_t len;

    if (c->pair != NULL || !hb_tcp_is_without_fd(errno)) {
        return 0;
    }
    len = (size_t)snprintf(c->why, sizeof c->why, "this rank ");
    c->code = HPCBOOT_ERR_SYSTEM;
    hb_tcp_tell_no_fd(c->why + len, sizeof c->why - len);
    hb_tcp_give_up(c);
    return 1;
}

/* Whether a function is the C library's own. Some network cards come with
 * sockets outside the kernel (Onload, VMA), whose library stands before it. */
static int is_libcs(void *function)
{
    Dl_info one, other;

    return dladdr(function, &one) != 0 &&
           dladdr((void *)(uintptr_t)&getppid, &other) != 0 &&
           one.dli_fbase == other.dli_fbase;
}

static int open_port(struct hb_tcp *t, uint16_t *port_out,
                     struct hpcboot_error *err)
{
    struct epoll_event e = {.events = EPOLLIN};

    t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (t->epoll_fd < 0 ||
        getrandom(t->token, sizeof t->token, 0) != sizeof t->token) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "messages to ranks of "
                             "other nodes cannot be made ready");
    }
    t->listen_fd = listen_on(AF_INET6, port_out);
    if (t->listen_fd < 0) {
        t->listen_fd = listen_on(AF_INET, port_out);
    }
    if (t->listen_fd < 0 && hb_tcp_is_without_fd(errno)) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "no socket for ranks of "
                             "other nodes");
    }
    if (t->listen_fd < 0 ||
        epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, t->listen_fd, &e) < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "no TCP port for ranks "
                             "of other nodes (of net.ipv4.ip_local_port_range, "
                             "with socket, listen, accept4, epoll_ctl)");
    }
    hb_tcp_be_near(t, t->listen_fd);
    return 0;
}

int hb_tcp_open(struct hb_tcp **out, struct hb_buf *address,
                struct hpcboot_error *err)
{
    struct hb_tcp *t = hb_xcalloc(1, sizeof *t);
    uint16_t port = 0;
    int rc;

    t->listen_fd = -1;
    hb_tcp_take_reserve(t);
    t->direct = is_libcs((void *)(uintptr_t)&send) &&
                is_libcs((void *)(uintptr_t)&recv);
    t->limit_s = limit_s();
    rc = open_port(t, &port, err);
    rc = rc < 0 ? rc : hb_carrier_wish_read(&t->wish, err);
    rc = rc < 0 ? rc : read_interfaces(t, err);
    rc = rc < 0 ? rc : limit_rails(&t->ours, err);
    rc = rc < 0 ? rc : choose_ours(t, err);
    if (rc < 0) {
        hb_tcp_destroy(t);
        return rc;
    }
    hb_endpoint_put(address, &t->ours, port, t->token);
    hb_endpoint_put_caps(address, &t->caps);
    *out = t;
    return 0;
}

const char *hb_tcp_warning(const struct hb_tcp *t)
{
    return t->warning;
}

int hb_tcp_join(struct hb_tcp *t, struct hb_xport *x,
                struct hpcboot_error *err)
{
    t->x = x;
    t->out = hb_xcalloc(x->job.size, sizeof *t->out);
    t->ahead = hb_xcalloc(x->job.size, sizeof *t->ahead);
    t->owed = hb_xcalloc(x->job.size, sizeof *t->owed);
    t->pairs = hb_xcalloc(x->job.size, sizeof *t->pairs);
    t->lost = hb_xcalloc(x->job.size, sizeof *t->lost);
    return t->ucx != NULL ? hb_ucx_join(t->ucx) : 0;
}
