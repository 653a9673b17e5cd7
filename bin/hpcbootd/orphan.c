/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* An agent whose parent, another agent, is gone. Under the policies that go on
 * it keeps its ranks for the orphan grace and waits to be adopted; after that
 * it ends them and itself. A parent that ends because the launcher has died
 * says so (GONE): then nobody waits.
 *
 * Adoption: the launcher logs in to the host anew. The agent that comes of it
 * is told the token of the one that waits, hands its link over through a
 * socket that only this user can use, and stays as the process that the login
 * waits for (a stub). The launcher's kept frames and ours, and the fences that
 * were passed up and not answered, are said again; so nothing is lost with
 * the parent, and nothing counted twice (bin/link/kept.h).
 *
 * The socket is there as soon as there is a parent to lose, for the launcher
 * may learn of the loss first. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bin/boot/boot.h"
#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/listener.h"
#include "bin/hpcbootd/sure.h"
#include "bin/link/kept.h"
#include "bin/proc/guard.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* Beyond the grace: the guard then looks at the old link again. */
#define GUARD_EXTRA_MS 2000
/* How often a stub looks at the link it has handed over, and after how many
 * looks at a dead one the agent that has it will not end by itself. */
#define LOOK_S 1
#define LOOKS_AT_DEAD 3
#define TYPE_AT HB_WIRE_LENGTH_WORD

struct asked_fence { /* passed up, not answered */
    struct asked_fence *next;
    struct hb_buf frame;
};

struct agent_orphan {
    uint32_t grace_ms;
    struct hb_kept kept;
    struct hb_buf mute; /* takes frames while there is no link */
    size_t mark;        /* where the frame that is being made begins */
    struct asked_fence *fences;
    struct listener *listening;
    struct event *over;
    /* of a stub */
    struct event *ended, *look;
    int conn_fd, watch_fd, dead_looks;
    pid_t agent;
};

static void end_event(struct event **ev)
{
    if (*ev != NULL) {
        event_free(*ev);
        *ev = NULL;
    }
}

static struct agent_orphan *orphan_new(void)
{
    struct agent_orphan *o = hb_xcalloc(1, sizeof *o);

    hb_buf_init(&o->mute, HB_WIRE_FRAME);
    o->conn_fd = o->watch_fd = -1;
    return o;
}

void agent_orphan_destroy(struct agent *a)
{
    struct agent_orphan *o = a->orphan;

    if (o == NULL) {
        return;
    }
    while (o->fences != NULL) {
        struct asked_fence *next = o->fences->next;

        hb_buf_destroy(&o->fences->frame);
        free(o->fences);
        o->fences = next;
    }
    listener_close(o->listening);
    end_event(&o->over);
    end_event(&o->ended);
    end_event(&o->look);
    hb_fd_close(&o->conn_fd);
    hb_fd_close(&o->watch_fd);
    hb_kept_close(&o->kept);
    hb_buf_destroy(&o->mute);
    free(o);
    a->orphan = NULL;
}

/* --- what is said, and kept ---------------------------------------------- */

struct hb_buf *agent_out(struct agent *a)
{
    struct agent_orphan *o = a->orphan;
    struct hb_buf *out = a->link != NULL ? hb_link_out(a->link) : &o->mute;

    if (a->link == NULL) {
        hb_buf_clear(out);
    }
    if (o != NULL) {
        o->mark = out->len;
    }
    return out;
}

static void keep_fence(struct agent_orphan *o, struct hb_bytes frame)
{
    struct asked_fence *f = hb_xcalloc(1, sizeof *f);

    hb_buf_init(&f->frame, HB_WIRE_FRAME);
    hb_buf_put_raw(&f->frame, frame.data, frame.len);
    f->next = o->fences;
    o->fences = f;
}

void agent_sent(struct agent *a)
{
    struct agent_orphan *o = a->orphan;
    const struct hb_buf *out;
    struct hb_bytes frame;
    const unsigned char *p;

    if (o != NULL && o->kept.is_open) {
        out = a->link != NULL ? hb_link_out(a->link) : &o->mute;
        p = out->data != NULL ? out->data + o->mark : NULL;
        frame = (struct hb_bytes){p, out->len - o->mark};
        if (frame.len >= HB_WIRE_HEADER) { /* else it could not be put */
            hb_kept_said(&o->kept, frame);
            if (((unsigned)p[TYPE_AT] << 8 | p[TYPE_AT + 1]) ==
                HB_MSG_FENCE_UP) {
                keep_fence(o, frame);
            }
        }
    }
    agent_flush(a);
}

size_t agent_unsent(const struct agent *a)
{
    const struct agent_orphan *o = a->orphan;

    return (a->link != NULL ? hb_link_backlog(a->link) : 0) +
           (o != NULL && o->kept.is_open ? hb_buf_left(&o->kept.frames) : 0);
}

void agent_orphan_answered(struct agent *a, struct hb_bytes key)
{
    struct asked_fence **at = a->orphan != NULL ? &a->orphan->fences : NULL;

    while (at != NULL && *at != NULL) {
        struct asked_fence *f = *at;
        struct hb_msg_fence_up m;
        struct hb_frame frame;
        struct hb_buf view;

        hb_buf_view(&view, f->frame.data, f->frame.len);
        if (hb_wire_next(&view, &frame, NULL) == 1 &&
            hb_wire_get_fence_up(&frame, &m, NULL) == 0 &&
            m.key.len == key.len &&
            memcmp(m.key.data, key.data, key.len) == 0) {
            *at = f->next;
            hb_buf_destroy(&f->frame);
            free(f);
            return;
        }
        at = &f->next;
    }
}

void agent_orphan_came(struct agent *a, unsigned type)
{
    struct agent_orphan *o = a->orphan;

    if (o != NULL && hb_kept_came(&o->kept, type)) {
        AGENT_SEND(a, ack, .frames = o->kept.came);
    }
}

/* Says again what the launcher lacks: it has so many frames. Fences only to a
 * new parent. */
static int say_again(struct agent *a, uint64_t frames, int is_new,
                     struct hpcboot_error *err)
{
    struct agent_orphan *o = a->orphan;
    const struct asked_fence *f;
    uint32_t n = 0;
    int rc = hb_kept_known(&o->kept, frames, err);

    if (rc < 0) {
        return rc;
    }
    if (a->link == NULL) {
        return 0; /* lost meanwhile */
    }
    for (f = is_new ? o->fences : NULL; f != NULL; f = f->next) {
        n++;
    }
    AGENT_SEND(a, resumed, .frames = o->kept.came, .fences = n);
    for (f = is_new ? o->fences : NULL; f != NULL; f = f->next) {
        hb_buf_put_raw(hb_link_out(a->link), f->frame.data, f->frame.len);
    }
    hb_kept_repeat(&o->kept, hb_link_out(a->link));
    agent_flush(a);
    return 0;
}

int agent_orphan_frame(struct agent *a, const struct hb_frame *f,
                       struct hpcboot_error *err)
{
    struct hb_msg_ack ack;
    struct hb_msg_resume resume;
    int rc;

    if (a->orphan == NULL || !a->orphan->kept.is_open) {
        return 0; /* it was adopted, and this was on its way */
    }
    if (f->type == HB_MSG_ACK) {
        rc = hb_wire_get_ack(f, &ack, err);
        return rc < 0 ? rc : hb_kept_confirmed(&a->orphan->kept, ack.frames,
                                               err);
    }
    rc = hb_wire_get_resume(f, &resume, err);
    return rc < 0 ? rc : say_again(a, resume.frames, 0, err);
}

/* --- the one that waits ------------------------------------------------ */

static void give_up(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;

    agent_kill(a, 0, SIGKILL);
    agent_leave(a, HB_EXIT_LOST);
}

uint32_t agent_orphan_grace_ms(const struct agent *a)
{
    return a->orphan != NULL ? a->orphan->grace_ms : 0;
}

int agent_is_below_another(const struct agent *a)
{
    return agent_orphan_grace_ms(a) > 0;
}

int agent_orphaned(struct agent *a)
{
    struct agent_orphan *o = a->orphan;
    struct timeval due;

    if (!agent_is_below_another(a) || !a->ordered || a->killing > 0) {
        return 0;
    }
    due = (struct timeval){o->grace_ms / 1000,
                           (suseconds_t)(o->grace_ms % 1000) * 1000};
    hb_guard_leave_link((int64_t)o->grace_ms + GUARD_EXTRA_MS);
    hb_link_destroy(a->link);
    a->link = NULL;
    hb_fd_close(&o->conn_fd); /* who has brought that link ends nobody now */
    sure_add(o->over, &due);
    return 1;
}

/* The name says nothing that the command line of the agent does not. */
static socklen_t socket_name(const char *token, struct sockaddr_un *out)
{
    int n;

    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    n = snprintf(out->sun_path + 1, sizeof out->sun_path - 1,
                 "hpcbootd-%.80s", token);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)n);
}

/* The process at the other end, if it is this user's; else 0. */
static pid_t own_peer(int fd)
{
    struct ucred who;
    socklen_t len = sizeof who;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
                   who.uid == geteuid() ? who.pid : 0;
}

/* Two descriptors and how many frames the launcher has. */
static int take_link(int conn, int fds[2], uint64_t *frames_out)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec iov = {frames_out, sizeof *frames_out};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    const struct cmsghdr *c;
    ssize_t n = recvmsg(conn, &m, MSG_CMSG_CLOEXEC | MSG_WAITALL);

    c = n == (ssize_t)sizeof *frames_out ? CMSG_FIRSTHDR(&m) : NULL;
    if (c == NULL || c->cmsg_type != SCM_RIGHTS ||
        c->cmsg_len != CMSG_LEN(2 * sizeof(int))) {
        return -1;
    }
    memcpy(fds, CMSG_DATA(c), 2 * sizeof(int));
    return 0;
}

/* Somebody brings a new link. */
static void on_adopter(int conn, void *arg)
{
    struct agent *a = arg;
    struct agent_orphan *o = a->orphan;
    const struct timeval limit = {LOOK_S, 0}; /* it writes at once */
    struct hpcboot_error err = {0};
    uint64_t frames = 0;
    int fds[2];

    if (conn < 0) {
        agent_note(a, HB_WARN, "who adopts this agent is kept waiting: %s",
                   strerror(errno));
        return;
    }
    (void)setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (own_peer(conn) == 0 || take_link(conn, fds, &frames) < 0) {
        hb_fd_close(&conn);
        return;
    }
    hb_guard_leave_link(-1); /* the stub does that from here on */
    hb_link_destroy(a->link);
    a->link = NULL;
    event_del(o->over);
    hb_fd_close(&o->conn_fd);
    o->conn_fd = conn; /* its end tells the stub of ours */
    if (agent_link_open(a, fds[0], fds[1], &err) < 0) {
        agent_kill(a, 0, SIGKILL);
        agent_leave(a, 1);
    } else if (say_again(a, frames, 1, &err) < 0) {
        agent_fail(a, &err);
    }
}

static int listen_at(const char *token)
{
    struct sockaddr_un name;
    socklen_t len = socket_name(token, &name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && (bind(fd, (const struct sockaddr *)&name, len) < 0 ||
                    hb_fd_listen(fd, 1) < 0)) {
        hb_fd_close(&fd);
    }
    return fd;
}

/* Without the socket the agent ends with its parent, as it would with no
 * grace. An adopted one is the launcher's child, and waits no more. */
void agent_orphan_settle(struct agent *a, uint32_t orphan_ms)
{
    struct agent_orphan *o = a->orphan;
    int fd;

    if (o == NULL && orphan_ms > 0) {
        o = a->orphan = orphan_new();
        hb_kept_open(&o->kept);
        o->over = sure_timer(a->base, give_up, a);
        fd = listen_at(a->token);
        if (fd >= 0) {
            o->grace_ms = orphan_ms;
            o->listening = listener_open(a->base, fd, 0, on_adopter, a);
        }
    } else if (o != NULL && orphan_ms == 0) {
        o->grace_ms = 0;
        hb_kept_close(&o->kept);
        listener_close(o->listening);
        o->listening = NULL;
    }
}

/* --- the one that brings it a link -------------------------------------- */

static void on_agent_ended(evutil_socket_t fd, short what, void *arg)
{
    agent_leave(arg, 0);
}

/* What the guard is for an agent with a link of its own. */
static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;
    struct agent_orphan *o = a->orphan;
    struct pollfd p = {.fd = o->watch_fd};

    o->dead_looks = poll(&p, 1, 0) > 0 ? o->dead_looks + 1 : 0;
    if (o->dead_looks >= LOOKS_AT_DEAD) {
        (void)kill(o->agent, SIGKILL);
        agent_leave(a, 1);
    }
}

static void become_stub(struct agent *a, int conn, int watch, pid_t agent)
{
    static const struct timeval look = {LOOK_S, 0};
    struct agent_orphan *o = orphan_new();

    agent_orphan_destroy(a);
    a->orphan = o;
    o->conn_fd = conn;
    o->watch_fd = watch;
    o->agent = agent;
    end_event(&a->guard_ev);
    end_event(&a->term_ev);
    (void)signal(SIGTERM, SIG_IGN); /* the link lasts as long as its agent */
    hb_link_destroy(a->link);
    a->link = NULL;
    o->ended = sure_new(a->base, conn, EV_READ, on_agent_ended, a);
    o->look = sure_new(a->base, -1, EV_PERSIST, on_look, a);
    sure_add(o->ended, NULL);
    sure_add(o->look, &look);
}

static int give_link(int conn, const int fds[2], uint64_t frames)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {0};
    struct iovec iov = {&frames, sizeof frames};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(c), fds, 2 * sizeof(int));
    return sendmsg(conn, &m, MSG_NOSIGNAL) == (ssize_t)sizeof frames ? 0 : -1;
}

int agent_adopt(struct agent *a, const struct hb_frame *f,
                struct hpcboot_error *err)
{
    struct hb_msg_adopt m;
    struct sockaddr_un name;
    int fds[2] = {a->link_in, a->link_out}, watch = -1;
    int conn = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = hb_wire_get_adopt(f, &m, err);
    pid_t agent = 0;

    if (rc == 0 && conn >= 0 &&
        connect(conn, (const struct sockaddr *)&name,
                socket_name(m.token, &name)) == 0) {
        agent = own_peer(conn);
    }
    if (rc == 0 && (agent == 0 || give_link(conn, fds, m.frames) < 0)) {
        rc = hb_fail(err, HPCBOOT_ERR_HOST, "its agent is gone, too");
    }
    if (rc == 0) {
        watch = fcntl(a->link_out, F_DUPFD_CLOEXEC, 3);
        become_stub(a, conn, watch, agent);
    } else {
        hb_fd_close(&conn);
    }
    return rc;
}
