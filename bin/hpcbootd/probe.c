/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The probe of this host (bin/probe): started for a doctor or a preflight,
 * before there is a job. Its standard input and output are one socket, whose
 * frames are carried to the launcher and back, unread. It ends by itself, when
 * the launcher says so, or with this process. */
#include "config.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/doctor/traffic.h"
#include "bin/hpcbootd/agent.h"
#include "bin/proc/guard.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define PROGRAM "hbprobe"
#define ARG_SIZE 16

struct agent_probe {
    struct bufferevent *io;
    pid_t pid;
    int error_fd;
    int ended, wait_status; /* it is gone; what it said may still come */
};

void agent_probe_destroy(struct agent *a)
{
    struct agent_probe *p = a->probe;

    if (p == NULL) {
        return;
    }
    if (p->pid > 0 && !p->ended) {
        (void)kill(-p->pid, SIGKILL);
    }
    if (p->io != NULL) {
        bufferevent_free(p->io);
    }
    hb_fd_close(&p->error_fd);
    free(p);
    a->probe = NULL;
}

/* Beside this program in a build tree, else where the installation put it. */
static char *find_program(void)
{
    static const char *const places[] = {"", "/../libexec/hpcboot"};
    char *self = hb_self_exe();
    char *slash = self != NULL ? strrchr(self, '/') : NULL, *path = NULL;

    for (size_t i = 0; slash != NULL && i < 2 && path == NULL; i++) {
        *slash = '\0';
        path = hb_xasprintf("%s%s/" PROGRAM, self, places[i]);
        if (access(path, X_OK) != 0) {
            free(path);
            path = NULL;
        }
    }
    free(self);
    return path != NULL ? path : hb_xstrdup(HB_PKGLIBEXECDIR "/" PROGRAM);
}

static void tell_end(struct agent *a)
{
    struct agent_probe *p = a->probe;
    enum hb_proc_stage stage;
    char text[PATH_MAX] = "";
    int sys_errno;

    if (hb_proc_started(p->error_fd, &stage, &sys_errno) == 1) {
        snprintf(text, sizeof text, PROGRAM " cannot be started: %s: %s",
                 hb_proc_stage_name(stage), strerror(sys_errno));
    }
    AGENT_SEND(a, probed, .wait_status = p->wait_status, .text = text);
    agent_probe_destroy(a);
}

/* Its end of the socket is closed: all that it said has been carried. */
static void on_closed(struct bufferevent *io, short what, void *arg)
{
    struct agent *a = arg;

    bufferevent_free(io);
    a->probe->io = NULL;
    if (a->probe->ended) {
        tell_end(a);
    }
}

/* Whole frames go up; with a broken one it has said all that is looked at. */
static void on_readable(struct bufferevent *io, void *arg)
{
    struct agent *a = arg;
    struct evbuffer *in = bufferevent_get_input(io);
    uint32_t length;

    while (evbuffer_copyout(in, &length, sizeof length) ==
           (ev_ssize_t)sizeof length) {
        size_t len = ntohl(length);
        unsigned char *bytes;

        if (len == 0 || len > HB_PROBE_FRAME_MAX) {
            on_closed(io, 0, a);
            return;
        }
        if (evbuffer_get_length(in) < sizeof length + len) {
            return;
        }
        evbuffer_drain(in, sizeof length);
        bytes = evbuffer_pullup(in, (ev_ssize_t)len);
        AGENT_SEND(a, probe_data, .kind = bytes[0],
                   .data = {bytes + 1, len - 1});
        evbuffer_drain(in, len);
    }
}

void agent_probe_ended(struct agent *a, pid_t pid, int wait_status)
{
    struct agent_probe *p = a->probe;

    if (p == NULL || p->pid != pid) {
        return;
    }
    p->ended = 1;
    p->wait_status = wait_status;
    if (p->io == NULL) {
        tell_end(a);
    }
}

static void make_env(const struct agent *a, const struct hb_msg_probe *m,
                     struct hb_strv *env)
{
    const char *text;
    size_t pos = 0;

    for (char **e = environ; *e != NULL; e++) {
        hb_strv_push(env, *e);
    }
    while ((text = hb_wire_strv_next(&m->env, &pos)) != NULL) {
        const char *equals = strchr(text, '=');
        char *name = hb_xstrndup(text, equals != NULL
                                           ? (size_t)(equals - text) : 0);

        if (equals != NULL && equals > text) {
            hb_env_set(env, name, equals + 1);
        }
        free(name);
    }
    hb_env_set(env, HB_COOKIE_VAR, a->cookie);
    agent_wiring_probe_env(a, env);
}

static int spawn(struct agent *a, const struct hb_msg_probe *m, int fd,
                 struct hpcboot_error *err)
{
    const uint32_t values[] = {m->rank, m->size, m->all, m->bytes, m->count};
    char words[5][ARG_SIZE], *program = find_program();
    char *argv[] = {program, words[0], words[1], words[2],
                    words[3], words[4], NULL};
    struct hb_strv env = HB_STRV_INIT;
    struct hb_proc_spec spec = {
        .file = program, .argv = argv, .stdio = {fd, fd, -1}, .umask = -1,
        .new_session = 1, .death_signal = SIGKILL};
    int rc;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        snprintf(words[i], sizeof words[i], "%u", values[i]);
    }
    make_env(a, m, &env);
    spec.env = hb_strv_view(&env);
    rc = hb_proc_spawn(&spec, &a->probe->pid, &a->probe->error_fd, err);
    hb_strv_destroy(&env);
    free(program);
    return rc;
}

static int start(struct agent *a, const struct hb_msg_probe *m,
                 struct hpcboot_error *err)
{
    struct agent_probe *p = hb_xcalloc(1, sizeof *p);
    int pair[2], rc;

    p->error_fd = -1;
    a->probe = p;
    rc = hb_fd_socketpair(pair, err);
    if (rc < 0) {
        return rc;
    }
    rc = spawn(a, m, pair[1], err);
    hb_fd_close(&pair[1]);
    if (rc < 0 || hb_fd_set_nonblock(pair[0], 1, err) < 0) {
        hb_fd_close(&pair[0]);
        return HPCBOOT_ERR_SPAWN;
    }
    p->io = bufferevent_socket_new(a->base, pair[0], BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(p->io, on_readable, NULL, on_closed, a);
    bufferevent_enable(p->io, EV_READ | EV_WRITE);
    return 0;
}

int agent_probe(struct agent *a, const struct hb_frame *f,
                struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};
    struct hb_msg_probe m;
    int rc = hb_wire_get_probe(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    agent_probe_destroy(a);
    if (m.size > 0 && start(a, &m, &why) < 0) {
        AGENT_SEND(a, probed, .wait_status = -1, .text = why.text);
        agent_probe_destroy(a);
    }
    return 0;
}

int agent_probe_data(struct agent *a, const struct hb_frame *f,
                     struct hpcboot_error *err)
{
    struct hb_msg_probe_data m;
    int rc = hb_wire_get_probe_data(f, &m, err);

    if (rc == 0 && a->probe != NULL && a->probe->io != NULL) {
        uint32_t length = htonl((uint32_t)m.data.len + 1);

        bufferevent_write(a->probe->io, &length, sizeof length);
        bufferevent_write(a->probe->io, &m.kind, 1);
        bufferevent_write(a->probe->io, m.data.data, m.data.len);
    }
    return rc;
}
