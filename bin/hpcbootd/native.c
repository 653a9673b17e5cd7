/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The sockets of ranks that use libhpcboot. Each rank inherits one end of a
 * pair; whoever lost it on the way (a wrapper that closes descriptors) comes
 * to a listening socket in the session directory and shows the job's cookie.
 * What is said on them is lib/rdzv/native_server.c's; its fences and
 * questions go the way of those of the process-management servers.
 *
 * The memory that ranks share is made when the first of them asks for it: a
 * job that does not use the library pays for a pair of sockets. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/listener.h"
#include "bin/hpcbootd/sure.h"
#include "bin/proc/env.h"
#include "bin/proc/limits.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/coll/coll.h"
#include "lib/rdzv/native.h"
#include "lib/rdzv/native_server.h"

#define READ_BYTES (64 * 1024)
#define NOTES_MAX 16u /* of a host's ranks */
#define LISTEN_BACKLOG 512 /* all ranks of a large node at once */
/* Of addresses, not of memory: what nobody touches is not allocated. */
#define HEAP_MB 8192
#define HEAP_MB_MAX (1u << 24)
#define HEAP_VAR "HPCBOOT_HEAP_MB"
#define LOST_VAR "HPCBOOT_LOST_AFTER" /* read by lib/xport/tcp_open.c */

struct native_socket {
    struct agent_native *native;
    int fd;
    struct event *readable, *writable;
    struct hb_buf out;
    int pass_fd; /* borrowed; goes with the first byte of `out`; or -1 */
    struct hb_native_conn *conn;
    struct native_socket *next;
};

struct agent_native {
    struct agent *agent;
    struct hb_native_job job;
    struct hb_native_server *server;
    struct native_socket *sockets;
    struct listener *listening;
    char *path;
    struct hb_strv notes; /* of ranks, that were passed on */
};

static void socket_close(struct native_socket *s)
{
    struct native_socket **at = &s->native->sockets;

    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    if (s->conn != NULL) {
        hb_native_conn_close(s->conn);
    }
    event_free(s->readable);
    event_free(s->writable);
    hb_fd_close(&s->fd);
    hb_buf_destroy(&s->out);
    free(s);
}

static ssize_t send_some(struct native_socket *s)
{
    struct iovec iov = {(void *)(uintptr_t)hb_buf_next(&s->out),
                        hb_buf_left(&s->out)};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n;

    if (s->pass_fd >= 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &s->pass_fd, sizeof(int));
    }
    n = sendmsg(s->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
        s->pass_fd = -1;
    }
    return n;
}

/* A reader that is gone is noticed by the read event. So is one that cannot be
 * answered, and would wait for it: errno says why there is no room. */
static void socket_flush(struct native_socket *s)
{
    ssize_t n = hb_buf_failed(&s->out) ? -1 : 0;

    while (n >= 0 && hb_buf_left(&s->out) > 0) {
        n = send_some(s);
        hb_buf_skip(&s->out, n > 0 ? (size_t)n : 0);
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        hb_buf_tidy(&s->out, SIZE_MAX);
        sure_add(s->writable, NULL);
        return;
    }
    if (n < 0 && errno != EPIPE && errno != ECONNRESET) {
        agent_note(s->native->agent, HB_WARN, "a rank's libhpcboot cannot be "
                   "answered, and is cut off: %s%s", strerror(errno),
                   hb_errno_remedy(errno));
        (void)shutdown(s->fd, SHUT_RDWR);
    }
    hb_buf_clear(&s->out);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    socket_flush(arg);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct native_socket *s = arg;
    struct agent *a = s->native->agent;
    static char chunk[READ_BYTES];
    struct hpcboot_error err = {0};
    ssize_t n = read(fd, chunk, sizeof chunk);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n > 0 && hb_native_conn_feed(s->conn, chunk, (size_t)n, &err) >= 0) {
        return;
    }
    if (n > 0 && err.code == HPCBOOT_ERR_USAGE) {
        agent_note(a, HB_WARN, "%s", err.text);
    } else if (n > 0) {
        agent_note(a, HB_WARN, "a process of this job broke the protocol of "
                   "libhpcboot and is cut off: %s", err.text);
    }
    socket_close(s);
}

static void socket_open(struct agent_native *n, int fd, int64_t rank)
{
    struct native_socket *s = hb_xcalloc(1, sizeof *s);

    s->native = n;
    s->fd = fd;
    s->pass_fd = -1;
    hb_buf_init(&s->out, HB_NATIVE_FRAME_MAX * 2);
    s->conn = hb_native_conn_open(n->server, rank, s);
    s->readable = sure_new(n->agent->base, fd, EV_READ | EV_PERSIST,
                           on_readable, s);
    s->writable = sure_new(n->agent->base, fd, EV_WRITE, on_writable, s);
    sure_add(s->readable, NULL);
    s->next = n->sockets;
    n->sockets = s;
}

/* The directory is private; who comes is looked at all the same. */
static void on_connect(int fd, void *arg)
{
    struct agent_native *n = arg;
    struct ucred who;
    socklen_t len = sizeof who;

    if (fd < 0) {
        agent_note(n->agent, HB_WARN, "processes of ranks that call "
                   "hpcboot_init are kept waiting: %s%s", strerror(errno),
                   hb_errno_remedy(errno));
    } else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0 ||
               (who.uid != getuid() && who.uid != 0)) {
        hb_fd_close(&fd);
    } else {
        socket_open(n, fd, -1);
    }
}

/* ---- what the server asks ---- */

static void native_send(void *arg, void *conn_arg, const void *data,
                        size_t len, int fd)
{
    struct native_socket *s = conn_arg;

    hb_buf_put_raw(&s->out, data, len);
    s->pass_fd = fd >= 0 ? fd : s->pass_fd;
    errno = len > s->out.max_bytes - s->out.len ? ENOBUFS : ENOMEM;
    socket_flush(s);
}

static void native_fence(void *arg, struct hb_bytes key, const uint32_t *nodes,
                         uint32_t n_nodes, struct hb_bytes data)
{
    agent_fence_join(((struct agent_native *)arg)->agent, key, nodes, n_nodes,
                     data);
}

static void native_modex(void *arg, uint64_t id, uint32_t rank)
{
    struct agent *a = ((struct agent_native *)arg)->agent;

    AGENT_SEND(a, modex, .id = id, .rank = rank);
}

static void native_abort(void *arg, uint32_t rank, int code, const char *text)
{
    agent_rank_abort(((struct agent_native *)arg)->agent, rank, code, text);
}

/* What ranks of a host find they find alike: it is told once. */
static void native_note(void *arg, uint32_t rank, const char *text)
{
    struct agent_native *n = arg;

    for (size_t i = 0; i < n->notes.n; i++) {
        if (strcmp(n->notes.v[i], text) == 0) {
            return;
        }
    }
    if (n->notes.n < NOTES_MAX) {
        hb_strv_push(&n->notes, text);
        agent_note(n->agent, HB_WARN, "rank %u: %s", rank, text);
    }
}

/* One program of a rank after the other: the next is waited for, too, and the
 * launcher hears of it as it did of the first. */
static void native_contact(void *arg, uint32_t rank, unsigned bits)
{
    struct agent *a = ((struct agent_native *)arg)->agent;
    struct rank *r = agent_rank(a, rank);

    if (bits == HB_CONTACT_BEGUN) {
        AGENT_SEND(a, contact, .rank = rank, .contact = bits);
    } else if (r != NULL && (bits & HB_CONTACT_FINALIZE) == 0) {
        r->contact &= ~(unsigned)HB_CONTACT_FINALIZE;
        agent_rank_contact(a, rank, bits | HB_CONTACT_NATIVE);
    } else if (r != NULL) {
        r->contact |= bits;
        a->init_told = 0;
    }
}

/* The user's wish: the largest of the apps that have ranks here. What is none
 * is an error of those that have it. */
static size_t heap_bytes(const struct agent *a, size_t *least_out)
{
    uint64_t mb = 0;

    for (uint32_t i = 0, app, last = UINT32_MAX; i < a->n_ranks; i++) {
        const char *text;
        uint64_t wish;

        app = hb_jobmap_app_of(a->job.map, a->ranks[i].rank);
        text = app != last ? hb_env_get(&a->job.apps[app].env, HEAP_VAR) : NULL;
        if (text != NULL && hb_parse_u64(text, 1, HEAP_MB_MAX, &wish) == 0 &&
            wish > mb) {
            mb = wish;
        }
        last = app;
    }
    *least_out = mb > 0 ? 0 : HB_SEGMENT_HEAP_LEAST;
    return (size_t)(mb > 0 ? mb : HEAP_MB) << 20;
}

static int native_memory(void *arg, const struct hb_jobmap *map,
                         struct hb_segment *out, struct hpcboot_error *err)
{
    struct agent *a = ((struct agent_native *)arg)->agent;
    size_t least, heap = heap_bytes(a, &least);
    const struct hb_segment_spec spec = {
        .n_ranks = map->n_ranks, .n_nodes = map->n_nodes, .node = a->node,
        .n_local = a->n_ranks, .node_of = map->node_of_rank,
        .local_rank = map->local_rank, .names = map->node_names,
        .region_bytes = hb_coll_region_size((int)a->n_ranks),
        .region_small = hb_coll_region_small((int)a->n_ranks),
        .heap_bytes = heap, .heap_least = least, .agent = 1,
        .addresses = hb_limits_soft(hb_strv_view(&a->job.limits), RLIMIT_AS),
    };
    struct hb_coll_node_page *page;
    int rc = hb_segment_create(out, &spec, err);

    _Static_assert(sizeof *page <= HB_SEGMENT_PAGE_BYTES,
                   "the segment keeps too little room");
    if (rc == 0) {
        page = hb_segment_page(out);
        page->wait_mode = agent_oversubscribed(a) ? HB_COLL_WAIT_YIELD
                                                  : HB_COLL_WAIT_SPIN;
    }
    if (rc == 0 && map->n_nodes > 1) {
        agent_lost_watch(a);
    }
    return rc;
}

static void native_alarm(void *arg, struct hb_segment *memory)
{
    hb_coll_node_changed(hb_segment_page(memory));
}

static void native_lost(void *arg, uint32_t rank, const char *text)
{
    struct agent *a = ((struct agent_native *)arg)->agent;

    AGENT_SEND(a, cut, .rank = rank, .text = text);
}

static void native_later(void *arg)
{
    agent_lost_watch(((struct agent_native *)arg)->agent);
}

static const struct hb_native_host native_host = {
    .send = native_send, .fence = native_fence, .modex = native_modex,
    .abort = native_abort, .note = native_note, .contact = native_contact,
    .memory = native_memory, .alarm = native_alarm, .lost = native_lost,
    .later = native_later,
};

/* ---- what the agent does ---- */

/* Ranks that inherit their socket do without the path. */
static void listen_privately(struct agent_native *n)
{
    struct agent *a = n->agent;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd, len;

    if (a->session_dir == NULL) {
        return;
    }
    len = snprintf(at.sun_path, sizeof at.sun_path, "%s/rendezvous",
                   a->session_dir);
    if (len < 0 || (size_t)len >= sizeof at.sun_path) {
        return;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 ||
        hb_fd_listen(fd, LISTEN_BACKLOG) < 0) {
        hb_fd_close(&fd);
        return;
    }
    n->path = hb_xstrdup(at.sun_path);
    n->listening = listener_open(a->base, fd, SOCK_NONBLOCK, on_connect, n);
}

void agent_native_start(struct agent *a)
{
    struct agent_native *n = hb_xcalloc(1, sizeof *n);

    n->agent = a;
    n->job = (struct hb_native_job){.map = a->job.map, .node = a->node,
                                    .world = a->job.world, .token = a->cookie};
    n->server = hb_native_server_create(&n->job, &native_host, n);
    listen_privately(n);
    a->native = n;
    if (a->job.n_grown > 0) { /* said before the files had come */
        hb_native_grown(n->server, agent_order_map(&a->job), a->job.world,
                        NULL, 0);
    }
}

void agent_native_stop(struct agent *a)
{
    struct agent_native *n = a->native;

    if (n == NULL) {
        return;
    }
    while (n->sockets != NULL) {
        socket_close(n->sockets);
    }
    if (n->listening != NULL) {
        (void)unlink(n->path);
    }
    listener_close(n->listening);
    hb_native_server_destroy(n->server);
    hb_strv_destroy(&n->notes);
    free(n->path);
    free(n);
    a->native = NULL;
}

void agent_native_env(const struct agent *a, int fd, int fd_as,
                      struct hb_strv *env)
{
    struct stat st;

    if (fstat(fd, &st) == 0) {
        hb_env_setf(env, HB_NATIVE_FD_VAR, "%d:%llu", fd_as,
                    (unsigned long long)st.st_ino);
    }
    if (a->lost_after_ms > 0) {
        hb_env_setf(env, LOST_VAR, "%u", a->lost_after_ms);
    }
    if (a->native->path != NULL) {
        hb_env_set(env, HB_NATIVE_SOCKET_VAR, a->native->path);
    }
}

void agent_native_open(struct agent *a, uint32_t rank, int fd)
{
    socket_open(a->native, fd, rank);
}

static void describe_end(struct agent *a, uint32_t rank, int status,
                         const char *evidence, char *text, size_t size)
{
    const char *host = a->job.map->node_names[a->node];
    const struct rank *r = agent_rank(a, rank);

    if (WIFSIGNALED(status)) {
        snprintf(text, size, "rank %u on %s was killed by signal %d (%s)%s%s",
                 rank, host, WTERMSIG(status), strsignal(WTERMSIG(status)),
                 evidence[0] != '\0' ? "; " : "", evidence);
    } else {
        snprintf(text, size, "rank %u on %s ended with exit status %d%s",
                 rank, host, WEXITSTATUS(status),
                 r != NULL && (r->contact & HB_CONTACT_FINALIZE)
                     ? "" : " and without hpcboot_finalize");
    }
}

void agent_native_look(struct agent *a)
{
    if (a->native != NULL) {
        hb_native_look(a->native->server);
    }
}

/* Whom it did not reach may be why it has ended, and is told before. */
void agent_native_gone(struct agent *a, uint32_t rank, int wait_status,
                       const char *evidence)
{
    char text[HB_DEATH_TEXT_MAX];

    if (a->native != NULL) {
        agent_native_look(a);
        describe_end(a, rank, wait_status, evidence, text, sizeof text);
        hb_native_rank_gone(a->native->server, rank, text);
    }
}

int agent_native_fence_done(struct agent *a, struct hb_bytes key, int status,
                            struct hb_bytes data)
{
    size_t len = strlen(HB_NATIVE_FENCE_PREFIX);

    if (key.len < len || memcmp(key.data, HB_NATIVE_FENCE_PREFIX, len) != 0) {
        return 0;
    }
    if (a->native != NULL) {
        hb_native_fence_done(a->native->server, key, status, data);
    }
    return 1;
}

int agent_native_modex_done(struct agent *a, uint64_t id, int status,
                            struct hb_bytes data)
{
    if ((id & HB_NATIVE_MODEX_BIT) == 0) {
        return 0;
    }
    if (a->native != NULL) {
        hb_native_modex_done(a->native->server, id, status, data);
    }
    return 1;
}

int agent_native_modex_serve(struct agent *a, uint64_t id, uint32_t rank,
                             struct hb_buf *data)
{
    hb_buf_init(data, HB_WIRE_BLOB);
    if (a->native == NULL) {
        return HPCBOOT_ERR_NOT_FOUND;
    }
    return hb_native_modex_serve(a->native->server, rank, data);
}

int agent_native_peers_dead(struct agent *a, const struct hb_frame *f,
                            struct hpcboot_error *err)
{
    const struct hb_jobmap *map = agent_order_map(&a->job);
    char text[HB_DEATH_TEXT_MAX];
    struct hb_msg_peers_dead m;
    int rc = hb_wire_get_peers_dead(f, &m, err);

    for (uint32_t i = 0; rc == 0 && a->native != NULL && i < m.ranks.n; i++) {
        uint32_t rank = hb_wire_u32s_at(&m.ranks, i);

        if (rank < map->n_ranks) {
            snprintf(text, sizeof text, "rank %u on %s %s", rank,
                     map->node_names[map->node_of_rank[rank]], m.text);
            hb_native_peer_dead(a->native->server, rank, text);
        }
    }
    return rc;
}

/* ---- a job that grows ---- */

static uint32_t *copy_ranks(const struct hb_wire_u32s *list)
{
    uint32_t *v = hb_xcalloc(list->n + 1, sizeof *v);

    for (uint32_t i = 0; i < list->n; i++) {
        v[i] = hb_wire_u32s_at(list, i);
    }
    return v;
}

static void tell(struct agent *a, enum hb_news_kind kind,
                 const uint32_t *ranks, uint32_t n, const char *why)
{
    char text[HB_DEATH_TEXT_MAX];

    for (uint32_t i = 0; a->native != NULL && i < n; i++) {
        snprintf(text, sizeof text, "rank %u %s", ranks[i], why);
        hb_native_tell(a->native->server, kind, ranks[i], text);
    }
}

/* Each host that takes the place of another brings a map. */
static void drop_maps(struct agent *a)
{
    struct agent_job *job = &a->job;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < job->n_grown; i++) {
        struct hb_jobmap *map = job->grown[i];

        if (map == agent_order_map(job) ||
            (a->native != NULL && hb_native_holds(a->native->server, map))) {
            job->grown[kept++] = map;
        } else {
            hb_jobmap_destroy(map);
        }
    }
    job->n_grown = kept;
}

int agent_native_grown(struct agent *a, const struct hb_frame *f,
                       struct hpcboot_error *err)
{
    struct hb_msg_grown m;
    uint32_t *ranks;
    int rc = hb_wire_get_grown(f, &m, err);

    if (rc == 0) {
        rc = agent_order_grown(&a->job, &m, err);
    }
    if (rc < 0) {
        return rc;
    }
    a->epoch = f->epoch;
    ranks = copy_ranks(&m.ranks);
    tell(a, HB_NEWS_COMES, ranks, m.ranks.n, m.why);
    if (a->native != NULL) {
        hb_native_grown(a->native->server, agent_order_map(&a->job), m.world,
                        ranks, m.ranks.n);
    }
    drop_maps(a);
    free(ranks);
    return 0;
}

int agent_native_leave(struct agent *a, const struct hb_frame *f,
                       struct hpcboot_error *err)
{
    struct hb_msg_leave m;
    uint32_t *ranks;
    int rc = hb_wire_get_leave(f, &m, err);

    if (rc == 0) {
        ranks = copy_ranks(&m.ranks);
        tell(a, HB_NEWS_LEAVES, ranks, m.ranks.n, m.why);
        free(ranks);
    }
    return rc;
}
