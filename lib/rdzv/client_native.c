/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A rank of hbrun. Its agent is reached over the socket that the rank has
 * inherited, if the descriptor is still that socket: its number and inode are
 * in the environment, so that a file which took the number is not written to.
 * Else over the agent's private socket, where the rank proves itself by the
 * job's cookie. One question is under way at a time; the first answer brings
 * the memory of the node. A fence whose deadline passes is taken back, and
 * answered for that: what the agent says last is how it has ended. An agent
 * that does not even say that in time owes an answer, which is read before
 * that to the next question. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/rdzv/client.h"
#include "lib/rdzv/native.h"

#define COOKIE_VAR "HPCBOOT_COOKIE"
#define RANK_VAR "HPCBOOT_RANK"
#define SIZE_VAR "HPCBOOT_SIZE"
#define NODES_VAR "HPCBOOT_NODES"
#define ELASTIC_VAR "HPCBOOT_ELASTIC" /* there may be more */
#define MAX_RANKS (1u << 24)
#define READ_BYTES 65536u
#define NOTE_MS 1000
#define WITHDRAW_MS 10000 /* an agent that lives answers this at once */

struct native {
    struct hb_rdzv r;
    int fd;
    dev_t dev; /* of what fd is */
    ino_t inode;
    struct hb_rdzv_inherited inherited;
    int64_t deadline_ns; /* of the question under way */
    int memory_fd;       /* came with an answer; -1 */
    int fd_cut;          /* the system had no descriptor to give it by */
    int withdraw_ms;     /* struct hb_rdzv_spec, or WITHDRAW_MS */
    int owes;            /* the answer to a fence that was taken back, */
    unsigned owed_scope; /* 1: of the node */
    unsigned passed;     /* bits of scopes whose owed fence was complete */
    struct hb_buf in, out;
};

struct answer {
    int status;
    const char *text;
    struct hb_bytes value; /* borrowed until the next question */
};

static int wait_for(struct native *n, short events, struct hpcboot_error *err)
{
    if (hb_rdzv_poll(&n->r, n->fd, events, n->deadline_ns) == 0) {
        return hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "the other ranks have not "
                       "come before the deadline");
    }
    return 0;
}

/* `sys_errno`: of the call that failed; 0: the agent's end is closed. */
static int lost(const struct native *n, int sys_errno,
                struct hpcboot_error *err)
{
    if (sys_errno == EBADF || sys_errno == ENOTSOCK) {
        return hb_fail(err, HPCBOOT_ERR_CLOSED, "descriptor %d, by which this "
                       "rank talks to the agent of hbrun, has been closed by "
                       "the program or one of its libraries after "
                       "hpcboot_init", n->fd);
    }
    if (sys_errno != 0 && sys_errno != EPIPE && sys_errno != ECONNRESET) {
        errno = sys_errno;
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "the agent of hbrun "
                             "cannot be talked to");
    }
    return hb_fail(err, HPCBOOT_ERR_CLOSED, "the agent of hbrun has closed the "
                   "connection: the job is ending, this process is not the "
                   "only one of its rank, or its hpcboot_init has failed "
                   "before");
}

static int send_out(struct native *n, struct hpcboot_error *err)
{
    if (hb_buf_failed(&n->out)) { /* no part of a question may leave */
        hb_buf_clear(&n->out);
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for a question to "
                       "the agent of hbrun");
    }
    while (hb_buf_left(&n->out) > 0) {
        ssize_t w = send(n->fd, hb_buf_next(&n->out), hb_buf_left(&n->out),
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (w > 0) {
            hb_buf_skip(&n->out, (size_t)w);
        } else if (w < 0 && errno == EAGAIN) {
            int rc = wait_for(n, POLLOUT, err);

            if (rc < 0) {
                return rc;
            }
        } else if (w < 0 && errno != EINTR) {
            return lost(n, errno, err);
        }
    }
    hb_buf_clear(&n->out);
    return 0;
}

static void take_fd(struct native *n, struct msghdr *m)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);

    if (c != NULL && c->cmsg_level == SOL_SOCKET &&
        c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int))) {
        hb_fd_close(&n->memory_fd);
        memcpy(&n->memory_fd, CMSG_DATA(c), sizeof(int));
    }
}

static int receive_some(struct native *n, struct hpcboot_error *err)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {hb_buf_reserve(&n->in, READ_BYTES), READ_BYTES};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t got;
    int rc;

    if (iov.iov_base == NULL) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the agent says too much");
    }
    rc = wait_for(n, POLLIN, err);
    if (rc < 0) {
        return rc;
    }
    got = recvmsg(n->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (got <= 0) {
        return lost(n, got < 0 ? errno : 0, err);
    }
    take_fd(n, &m);
    n->fd_cut |= (m.msg_flags & MSG_CTRUNC) != 0;
    hb_buf_added(&n->in, (size_t)got);
    return 0;
}

static int take_answer(struct native *n, struct answer *a,
                       struct hpcboot_error *err)
{
    enum hb_native_kind kind = HB_NATIVE_ANSWER;
    struct hb_bytes body;
    struct hb_buf b;
    int rc = 0;

    while (rc == 0 && (rc = hb_native_next(&n->in, &kind, &body, err)) == 0) {
        rc = receive_some(n, err);
    }
    if (rc < 0) {
        return rc;
    }
    hb_buf_view(&b, body.data, body.len);
    a->status = hb_buf_get_i32(&b);
    a->text = hb_buf_get_str(&b, HPCBOOT_ERROR_TEXT_MAX - 1);
    a->value = hb_buf_get_blob(&b, HB_NATIVE_VALUE_MAX);
    if (kind != HB_NATIVE_ANSWER || hb_buf_failed(&b)) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the agent's answer is "
                       "malformed");
    }
    return 0;
}

/* The fence that it answers for may have been complete in time. */
static int take_owed(struct native *n, struct hpcboot_error *err)
{
    struct answer a;
    int rc = n->owes ? take_answer(n, &a, err) : 0;

    if (rc == 0 && n->owes) {
        n->owes = 0;
        n->passed |= a.status == 0 ? 1u << n->owed_scope : 0;
    }
    return rc;
}

/* Sends the question in n->out and waits for its answer. */
static int ask(struct native *n, int64_t deadline_ns, struct answer *a,
               struct hpcboot_error *err)
{
    int rc;

    n->deadline_ns = deadline_ns;
    hb_buf_compact(&n->in);
    rc = send_out(n, err);
    if (rc == 0) {
        rc = take_owed(n, err);
    }
    if (rc == 0) {
        rc = take_answer(n, a, err);
    }
    if (rc < 0) {
        return rc;
    }
    return a->status < 0 ? hb_fail(err, a->status, "%s", a->text) : 0;
}

static int native_put(struct hb_rdzv *r, int node_only, const char *key,
                      struct hb_bytes value, struct hpcboot_error *err)
{
    struct native *n = (struct native *)r;
    size_t begun = hb_native_begin(&n->out, HB_NATIVE_PUT);
    struct answer a;

    hb_buf_put_u8(&n->out, node_only != 0);
    hb_buf_put_str(&n->out, key);
    hb_buf_put_blob(&n->out, value.data, value.len);
    hb_native_end(&n->out, begun);
    return ask(n, HB_NEVER, &a, err);
}

static int native_get(struct hb_rdzv *r, uint32_t rank, const char *key,
                      void **value_out, size_t *size_out,
                      struct hpcboot_error *err)
{
    struct native *n = (struct native *)r;
    size_t begun = hb_native_begin(&n->out, HB_NATIVE_GET);
    struct answer a;
    char *copy;
    int rc;

    hb_buf_put_u32(&n->out, rank);
    hb_buf_put_str(&n->out, key);
    hb_native_end(&n->out, begun);
    rc = ask(n, HB_NEVER, &a, err);
    if (rc < 0) {
        return rc;
    }
    copy = malloc(a.value.len + 1);
    if (copy == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for a value of %zu "
                       "bytes", a.value.len);
    }
    if (a.value.len > 0) {
        memcpy(copy, a.value.data, a.value.len);
    }
    copy[a.value.len] = '\0';
    *value_out = copy;
    *size_out = a.value.len;
    return 0;
}

static int no_answer(struct native *n, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "the deadline of a fence has "
                   "passed, and the agent of hbrun on this host has not "
                   "answered for %d ms: it is stopped, or gets no CPU",
                   n->withdraw_ms);
}

static int withdraw(struct native *n, int node_only, struct hpcboot_error *err)
{
    struct answer a = {0};
    int rc;

    hb_native_end(&n->out, hb_native_begin(&n->out, HB_NATIVE_WITHDRAW));
    rc = ask(n, hb_deadline_in_ms(n->withdraw_ms), &a, err);
    if (rc == HPCBOOT_ERR_TIMED_OUT && a.status == 0) {
        n->owes = 1;
        n->owed_scope = node_only != 0;
        rc = no_answer(n, err);
    }
    return rc;
}

static void put_fence(struct native *n, int node_only, int collect)
{
    const struct hb_rdzv *r = &n->r;
    size_t begun = hb_native_begin(&n->out, HB_NATIVE_FENCE);

    hb_buf_put_u8(&n->out, node_only != 0);
    hb_buf_put_u8(&n->out, collect != 0);
    hb_buf_put_u32(&n->out, r->members);
    hb_buf_put_u32(&n->out, r->n_dead);
    for (uint32_t i = 0; i < r->n_dead; i++) {
        hb_buf_put_u32(&n->out, r->dead[i]);
    }
    hb_native_end(&n->out, begun);
}

/* The next fence of a scope goes on with the one whose answer is owed: 1, it
 * was complete. */
static int go_on(struct native *n, int node_only, int64_t deadline_ns,
                 struct hpcboot_error *err)
{
    unsigned scope = 1u << (node_only != 0);
    int rc;

    n->deadline_ns = deadline_ns;
    rc = send_out(n, err);
    if (rc == 0) {
        rc = take_owed(n, err);
    }
    if (rc == HPCBOOT_ERR_TIMED_OUT) {
        return no_answer(n, err);
    }
    if (rc == 0 && (n->passed & scope) != 0) {
        n->passed &= ~scope;
        rc = 1;
    }
    return rc;
}

static int native_fence(struct hb_rdzv *r, int node_only, int collect,
                        int64_t deadline_ns, struct hpcboot_error *err)
{
    struct native *n = (struct native *)r;
    struct answer a = {0};
    int rc = go_on(n, node_only, deadline_ns, err);

    if (rc != 0) {
        return rc > 0 ? 0 : rc;
    }
    put_fence(n, node_only, collect);
    r->may_stop = 1;
    rc = ask(n, deadline_ns, &a, err);
    r->may_stop = 0;
    return rc == HPCBOOT_ERR_TIMED_OUT && a.status == 0
               ? withdraw(n, node_only, err) : rc;
}

/* Nobody waits for a warning; an agent that is gone needs none. */
static void native_note(struct hb_rdzv *r, const char *text)
{
    struct native *n = (struct native *)r;
    size_t begun = hb_native_begin(&n->out, HB_NATIVE_NOTE);
    char most[HB_NATIVE_TEXT_MAX + 1];

    snprintf(most, sizeof most, "%s", text);
    hb_buf_put_str(&n->out, most);
    hb_native_end(&n->out, begun);
    n->deadline_ns = hb_deadline_in_ms(NOTE_MS);
    (void)send_out(n, NULL);
}

static int native_finalize(struct hb_rdzv *r, struct hpcboot_error *err)
{
    struct native *n = (struct native *)r;
    struct answer a;

    hb_native_end(&n->out, hb_native_begin(&n->out, HB_NATIVE_FINALIZE));
    return ask(n, HB_NEVER, &a, err);
}

static void remember(struct native *n)
{
    struct stat st;

    if (fstat(n->fd, &st) == 0) {
        n->dev = st.st_dev;
        n->inode = st.st_ino;
    }
}

/* The number may be a file of the program's by now. */
static void close_own(struct native *n)
{
    struct stat st;

    if (n->fd >= 0 && fstat(n->fd, &st) == 0 && st.st_dev == n->dev &&
        st.st_ino == n->inode) {
        hb_fd_close(&n->fd);
    }
}

/* The inherited descriptor stays open: the rank may be a script that starts
 * another program with it. */
static void native_destroy(struct hb_rdzv *r)
{
    struct native *n = (struct native *)r;

    hb_rdzv_leave(&n->inherited);
    close_own(n);
    hb_fd_close(&n->memory_fd);
    hb_buf_destroy(&n->in);
    hb_buf_destroy(&n->out);
    free(n);
}

static const struct hb_rdzv_ops native_ops = {
    .name = "hbrun", .put = native_put, .get = native_get,
    .fence = native_fence, .note = native_note, .finalize = native_finalize,
    .destroy = native_destroy,
};

/* "43:INODE": a copy of the descriptor, if it is what it was; else
 * ERR_NOT_FOUND. */
static int inherited(struct hb_rdzv_inherited *out, struct hpcboot_error *err)
{
    const char *text = getenv(HB_NATIVE_FD_VAR);
    unsigned long long inode;
    struct stat st;
    int fd;

    if (text == NULL || sscanf(text, "%d:%llu", &fd, &inode) != 2 ||
        fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode) || st.st_ino != inode) {
        return HPCBOOT_ERR_NOT_FOUND;
    }
    *out = hb_rdzv_keep(fd);
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return fd >= 0 ? fd : hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "no copy of "
                                        "the socket that this rank inherited "
                                        "from hbrun");
}

static int dial(struct hpcboot_error *err)
{
    const char *path = getenv(HB_NATIVE_SOCKET_VAR);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd;

    if (path == NULL || strlen(path) >= sizeof at.sun_path) {
        return hb_fail(err, HPCBOOT_ERR_CLOSED, "the socket that this rank "
                       "inherited from hbrun was closed on the way (by a "
                       "wrapper?), and there is no other way to its agent");
    }
    memcpy(at.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) < 0) {
        hb_fail_errno(err, HPCBOOT_ERR_CLOSED, "the socket that this rank "
                      "inherited from hbrun was closed on the way, and the "
                      "agent's own, %s, cannot be reached", path);
        hb_fd_close(&fd);
        return HPCBOOT_ERR_CLOSED;
    }
    return fd;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t value;

    return text != NULL && hb_parse_u64(text, 0, MAX_RANKS, &value) == 0
               ? value : otherwise;
}

/* For the longest answer, at once: were one given up for want of memory, its
 * rest would be taken for the answer to the next question. */
static int make_room(struct native *n, struct hpcboot_error *err)
{
    return hb_buf_reserve(&n->in, n->in.max_bytes) != NULL
               ? 0 : hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for the "
                             "answers of the agent of hbrun");
}

static int hello(struct native *n, const struct hb_rdzv_spec *spec,
                 struct hpcboot_error *err)
{
    const char *cookie = getenv(COOKIE_VAR);
    struct hb_buf address;
    struct answer a;
    size_t begun;
    int rc = make_room(n, err);

    hb_buf_init(&address, HB_SEGMENT_ADDRESS_MAX - 1);
    if (rc == 0 &&
        (number_of(NODES_VAR, 2) > 1 || getenv(ELASTIC_VAR) != NULL)) {
        rc = spec->address(spec->arg, &address, err);
    }
    if (rc == 0) {
        begun = hb_native_begin(&n->out, HB_NATIVE_HELLO);
        hb_buf_put_u32(&n->out, HB_NATIVE_VERSION);
        hb_buf_put_u32(&n->out, n->r.rank);
        hb_buf_put_str(&n->out, cookie);
        hb_buf_put_blob(&n->out, address.data, address.len);
        hb_native_end(&n->out, begun);
        rc = ask(n, spec->deadline_ns, &a, err);
    }
    hb_buf_destroy(&address);
    if (rc == 0 && n->memory_fd < 0) {
        rc = n->fd_cut
                 ? hb_fail(err, HPCBOOT_ERR_SYSTEM, "no file descriptor is "
                           "left for the memory of the node (ulimit -n)")
                 : hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the agent's answer "
                           "came without the memory of the node");
    }
    return rc;
}

/* The table says what the environment said. */
static int check(struct native *n, struct hpcboot_error *err)
{
    const struct hb_segment *m = &n->r.memory;

    if (n->r.rank >= n->r.size || hb_segment_ranks(m) < n->r.size ||
        hb_segment_node_of(m)[n->r.rank] != hb_segment_node(m)) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, RANK_VAR "=%u and " SIZE_VAR
                       "=%u are not those of this job", n->r.rank, n->r.size);
    }
    n->r.size = hb_segment_ranks(m); /* it may have grown */
    return 0;
}

int hb_rdzv_native_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                        struct hpcboot_error *err)
{
    struct native *n;
    int rc;

    if (getenv(HB_NATIVE_FD_VAR) == NULL || getenv(RANK_VAR) == NULL) {
        return HPCBOOT_ERR_NOT_FOUND;
    }
    n = hb_xcalloc(1, sizeof *n);
    n->r.ops = &native_ops;
    n->r.rank = (uint32_t)number_of(RANK_VAR, 0);
    n->r.size = (uint32_t)number_of(SIZE_VAR, 1);
    n->r.memory = (struct hb_segment)HB_SEGMENT_INIT;
    n->memory_fd = -1;
    n->withdraw_ms = spec->withdraw_ms > 0 ? spec->withdraw_ms : WITHDRAW_MS;
    hb_buf_init(&n->in, HB_NATIVE_FRAME_MAX + 2 * READ_BYTES);
    hb_buf_init(&n->out, HB_NATIVE_FRAME_MAX + READ_BYTES);
    n->inherited.fd = -1;
    rc = inherited(&n->inherited, err);
    if (rc == HPCBOOT_ERR_NOT_FOUND) {
        rc = dial(err);
    }
    n->fd = rc;
    if (rc >= 0) {
        remember(n);
        rc = hello(n, spec, err);
    }
    if (rc == 0) {
        int fd = n->memory_fd;

        n->memory_fd = -1;
        rc = hb_segment_attach(&n->r.memory, fd, err);
    }
    if (rc == 0) {
        rc = check(n, err);
    }
    if (rc < 0) {
        hb_segment_close(&n->r.memory);
        native_destroy(&n->r);
        return rc;
    }
    *out = &n->r;
    return 0;
}
