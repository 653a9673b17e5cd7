/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* An agent that `hpcbootd serve` has started, and its connection.
 *
 * The agent is this very program, executed anew: none of the server's secrets
 * are in its memory. Its three standard descriptors are relayed to the SSH
 * channel. A fourth one carries a few words for the server alone: that there
 * is a job, how it ended, the session key that lets its launcher in again.
 *
 * Two things end: the stream and the process. A client that is gone closes
 * the stream, and the agent cleans up behind itself and ends. An agent that
 * has ended is waited for by whoever reaps, and its status is passed on. What
 * it has said last has as much time as a login has: behind a network that was
 * cut nobody takes it, and TCP would try for a quarter of an hour. */
#include "config.h"

#include "bin/boot/serve_impl.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/boot/boot.h"
#include "bin/boot/child.h"
#include "bin/boot/fds.h"
#include "bin/boot/relay.h"
#include "bin/boot/ssh_channel.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

extern char **environ;

#define SIDE_SSH 0

/* The descriptors of one agent: ours first, the child's second. */
struct pipes {
    int in[2], out[2], err[2], control[2];
};

static void close_pair(int pair[2])
{
    hb_fd_close(&pair[0]);
    hb_fd_close(&pair[1]);
}

static void close_pipes(struct pipes *p)
{
    close_pair(p->in);
    close_pair(p->out);
    close_pair(p->err);
    close_pair(p->control);
}

static int open_pipes(struct pipes *p, struct hpcboot_error *err)
{
    int rc = hb_fd_socketpair(p->in, err);

    if (rc >= 0) {
        rc = hb_fd_socketpair(p->out, err);
    }
    if (rc >= 0) {
        rc = hb_fd_pipe(p->err, err);
    }
    if (rc >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
                              p->control) < 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "no socket for an agent");
    }
    return rc;
}

static int spawn(struct hb_serve_agent *a, struct pipes *p, const char *token,
                 struct hpcboot_error *err)
{
    const struct hb_serve *serve = a->serve;
    const char *key = hb_serve_keys_path(serve->keys);
    struct hb_strv env = HB_STRV_INIT, argv = HB_STRV_INIT;
    struct hb_child_spec child = {
        .in = p->in[1], .out = p->out[1], .err = p->err[1],
        .keep = p->control[1],
    };
    int rc;

    hb_strv_push(&argv, serve->config->agent_path);
    hb_strv_push(&argv, "agent");
    hb_strv_push(&argv, "--token");
    hb_strv_push(&argv, token);
    hb_strv_push(&argv, "--served");
    hb_strv_extend(&env, environ);
    if (key) {
        hb_env_set(&env, HB_SERVE_KEY_VAR, key);
    }
    child.argv = argv.v;
    child.env = env.v;
    rc = hb_child_spawn(&child, &a->pid, err);
    hb_strv_destroy(&argv);
    hb_strv_destroy(&env);
    return rc;
}

/* The client's channel; NULL: it is gone. */
static struct hb_channel *client_of(const struct hb_serve_agent *a)
{
    return a->relay ? hb_relay_side(a->relay, SIDE_SSH) : NULL;
}

static void on_stderr(void *arg, const char *text, size_t len)
{
    struct hb_channel *client = client_of(arg);

    if (client) {
        hb_ssh_channel_stderr(client, text, len);
    }
}

static void take_status(struct hb_serve_agent *a, const unsigned char *data,
                        size_t len)
{
    if (len == 4) {
        a->told_end = 1;
        a->job_status = (int)((uint32_t)data[0] << 24 | data[1] << 16
                              | data[2] << 8 | data[3]);
    }
}

static void on_control(evutil_socket_t fd, short what, void *arg)
{
    struct hb_serve_agent *a = arg;
    unsigned char text[HB_SERVE_WORD_MAX];
    ssize_t n = recv(fd, text, sizeof text, MSG_DONTWAIT);

    if (n <= 0) {
        if (a->control && (n == 0 || (errno != EAGAIN && errno != EINTR))) {
            event_del(a->control);
        }
        return;
    }
    switch (text[0]) {
    case HB_SERVE_JOB:
        a->has_job = 1;
        break;
    case HB_SERVE_END:
        take_status(a, text + 1, (size_t)n - 1);
        break;
    case HB_SERVE_SESSION:
        if (n == 1 + HB_SESSION_KEY_BYTES && a->session == 0) {
            a->session = hb_serve_jobs_add(a->serve->jobs, text + 1,
                                           HB_SESSION_KEY_BYTES);
        }
        break;
    default:
        break;
    }
    explicit_bzero(text, sizeof text);
}

/* Of the job. An agent that was killed has lost its link, as the launcher says
 * too, and the job may be tried again. */
static int status_of(const struct hb_serve_agent *a)
{
    if (a->told_end) {
        return a->job_status;
    }
    return WIFEXITED(a->wait_status) && WEXITSTATUS(a->wait_status) != 0
        ? WEXITSTATUS(a->wait_status) : HB_EXIT_LOST;
}

/* Process and stream have both ended. */
static void maybe_gone(struct hb_serve_agent *a)
{
    struct hb_serve *serve = a->serve;
    struct hb_channel *client = client_of(a);
    int job = a->has_job || a->told_end, status = status_of(a);

    if (a->pid > 0 || !a->stream_ended) {
        return;
    }
    if (client) {
        hb_ssh_channel_exit(client, WIFEXITED(a->wait_status)
                            ? WEXITSTATUS(a->wait_status)
                            : 128 + WTERMSIG(a->wait_status));
    }
    hb_serve_agent_destroy(a);
    serve->events.agent_ended(serve->arg, job, status);
}

static void on_relay_ended(void *arg, int side, const struct hpcboot_error *err)
{
    struct hb_serve_agent *a = arg;

    if (side == SIDE_SSH) {
        hb_relay_destroy(a->relay); /* the agent sees the end of its link */
        a->relay = NULL;
    }
    a->stream_ended = 1;
    maybe_gone(a);
}

static void on_patience(evutil_socket_t fd, short what, void *arg)
{
    struct hb_serve_agent *a = arg;

    hb_log(HB_INFO, "a launcher has not taken what its agent said last; its "
           "connection is closed");
    hb_relay_destroy(a->relay);
    a->relay = NULL;
    a->stream_ended = 1;
    maybe_gone(a);
}

static void be_patient(struct hb_serve_agent *a)
{
    int ms = a->serve->config->limits.login_ms;
    struct timeval t = {ms / 1000, ms % 1000 * 1000};

    event_add(a->patience, &t);
}

void hb_serve_agent_reaped(struct hb_serve_agent *a, int wait_status)
{
    /* Its last words may still be on their way. */
    on_control(a->control_fd, EV_READ, a);
    on_control(a->control_fd, EV_READ, a);
    on_control(a->control_fd, EV_READ, a);
    a->pid = 0;
    a->wait_status = wait_status;
    if (!a->stream_ended && a->patience) {
        be_patient(a);
    }
    maybe_gone(a);
}

void hb_serve_agent_destroy(struct hb_serve_agent *a)
{
    if (a->prev) {
        a->prev->next = a->next;
    } else if (a->serve->agents == a) {
        a->serve->agents = a->next;
    }
    if (a->next) {
        a->next->prev = a->prev;
    }
    hb_serve_jobs_end(a->serve->jobs, a->session);
    hb_relay_destroy(a->relay);
    if (a->control) {
        event_free(a->control);
    }
    if (a->patience) {
        event_free(a->patience);
    }
    hb_fd_close(&a->control_fd);
    free(a);
}

static int join(struct hb_serve_agent *a, struct pipes *p,
                struct hb_channel *ssh, struct hpcboot_error *err)
{
    struct hb_fd_spec fds = {
        .read_fd = p->out[0], .write_fd = p->in[0], .err_fd = p->err[0],
        .pid = -1,
    };
    struct hb_channel *own = NULL;
    int rc;

    p->out[0] = p->in[0] = p->err[0] = -1;
    rc = hb_fd_channel_create(&own, a->serve->config->base, &fds, err);
    if (rc < 0) {
        return rc;
    }
    hb_fd_channel_set_chatter(own, on_stderr, NULL, a);
    a->patience = evtimer_new(a->serve->config->base, on_patience, a);
    a->relay = hb_relay_create(ssh, own, on_relay_ended, a);
    a->control_fd = p->control[0];
    p->control[0] = -1;
    a->control = event_new(a->serve->config->base, a->control_fd,
                           EV_READ | EV_PERSIST, on_control, a);
    return a->patience && a->control && event_add(a->control, NULL) == 0
        ? HPCBOOT_OK
        : hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
}

/* A process that was started sees the end of its link; it is on the list until
 * it is reaped. */
static void give_up(struct hb_serve_agent *a, struct hb_channel *ssh)
{
    if (a->relay) {
        hb_relay_destroy(a->relay); /* closes ssh */
        a->relay = NULL;
    } else if (ssh) {
        ssh->ops->close(ssh);
    }
    a->stream_ended = 1;
    if (a->pid == 0) {
        free(a);
    }
}

int hb_serve_agent_start(struct hb_serve *serve,
                         const struct hb_ssh_parts *parts, const char *token,
                         struct hpcboot_error *err)
{
    struct pipes p = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    struct hb_serve_agent *a = hb_xcalloc(1, sizeof *a);
    struct hb_channel *ssh = NULL;
    int rc = hb_ssh_channel_create(&ssh, serve->config->base, parts, err);

    a->serve = serve;
    a->control_fd = -1;
    if (rc >= 0) {
        rc = open_pipes(&p, err);
    }
    if (rc >= 0) {
        rc = spawn(a, &p, token, err);
    }
    if (rc >= 0) {
        a->next = serve->agents;
        if (a->next) {
            a->next->prev = a;
        }
        serve->agents = a;
        rc = join(a, &p, ssh, err);
    } else if (ssh) {
        hb_ssh_channel_stderr(ssh, err->text, strlen(err->text));
        hb_ssh_channel_exit(ssh, HB_EXIT_LOST);
    }
    close_pipes(&p);
    if (rc < 0) {
        give_up(a, ssh);
    }
    return rc;
}
