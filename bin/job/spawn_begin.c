/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The launcher of a spawned job begins: it is started, with its end of the
 * socket pair as a descriptor that it knows, and told what it is to start, for
 * whom, and where there is room. What it says is for spawn.c. */
#include "config.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bin/job/ancestry.h"
#include "bin/job/spawned.h"
#include "bin/proc/proc.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define SPAWN_FD 3

/* How many ranks a host has: of this job, of the jobs that it has spawned, and
 * of the jobs above it, which were counted when this one began. */
static uint32_t ranks_on(const struct job *j, const struct job_host *h)
{
    uint32_t n = job_ancestry_others(j, h->spec->name);

    n += h->node != HB_NODE_UNSET ? j->map->local_size[h->node] : 0;

    for (const struct spawned *w = j->spawns->first; w != NULL; w = w->next) {
        for (size_t i = 0; i < w->hosts.n; i++) {
            n += hb_streq(w->hosts.v[i], h->spec->name) ? w->ranks[i] : 0;
        }
    }
    return n;
}

static int takes_ranks(const struct job_host *h)
{
    return h->state != HOST_LOST && !h->gone && !h->left_out;
}

uint32_t job_spawned_room(const struct job *j)
{
    uint32_t room = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];
        uint32_t slots = h->spec->slots > 0 ? (uint32_t)h->spec->slots : 0;
        uint32_t used = ranks_on(j, h);

        if (slots == 0) {
            return UINT32_MAX;
        }
        room += takes_ranks(h) && slots > used ? slots - used : 0;
    }
    return room;
}

static void put_room(const struct job *j, struct hb_buf *out)
{
    struct hb_strv hosts = HB_STRV_INIT;
    uint32_t *ranks = hb_xcalloc(j->gang.n + 1, sizeof *ranks);

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        if (takes_ranks(h)) {
            ranks[hosts.n] = ranks_on(j, h);
            hb_strv_push(&hosts, h->spec->name);
        }
    }
    const struct hb_msg_room m = {
        .hosts = hb_wire_strv_of(hb_strv_view(&hosts)),
        .ranks = {.v = ranks, .n = (uint32_t)hosts.n},
    };
    (void)hb_wire_put_room(out, 0, HB_NODE_LAUNCHER, HB_NODE_LAUNCHER, &m,
                           NULL);
    hb_strv_destroy(&hosts);
    free(ranks);
}

static void tell_it(struct spawned *w)
{
    struct job *j = w->job;
    struct hb_buf *out = hb_link_out(w->link);
    const struct hb_msg_ancestry m = {
        .job_id = j->id, .rank = w->rank, .number = w->number,
        .family = hb_pm_family_name(j->family.family),
        .preput = hb_wire_strv_of(NULL),
    };

    hb_buf_put_raw(out, w->what.data, w->what.len);
    hb_buf_destroy(&w->what);
    (void)hb_wire_put_ancestry(out, 0, HB_NODE_LAUNCHER, HB_NODE_LAUNCHER, &m,
                               NULL);
    put_room(j, out);
    hb_link_flush(w->link);
}

static int run_launcher(const struct job *j, int fd, pid_t *pid_out,
                        struct hpcboot_error *err)
{
    struct hb_strv argv = HB_STRV_INIT, env = HB_STRV_INIT;
    char *self = hb_self_exe();
    enum hb_proc_stage stage;
    int error_fd = -1, why = 0, as = SPAWN_FD, rc;

    hb_strv_push(&argv, "hbrun");
    hb_options_retype(j->opt, &argv);
    hb_strv_push(&argv, "spawned"); /* SPAWN has the programs */
    hb_strv_extend(&env, j->env);
    hb_env_setf(&env, "HPCBOOT_SPAWN_FD", "%d", SPAWN_FD);
    const struct hb_proc_spec spec = {
        .file = self, .argv = hb_strv_view(&argv), .env = hb_strv_view(&env),
        .stdio = {-1, STDOUT_FILENO, STDERR_FILENO}, .keep_fds = &fd,
        .keep_as = &as, .n_keep = 1, .umask = -1, .new_group = 1,
        .death_signal = SIGKILL, .waits = 1,
    };
    rc = self == NULL ? hb_fail(err, HPCBOOT_ERR_SYSTEM, "the path of hbrun "
                                "is not known")
                      : hb_proc_spawn(&spec, pid_out, &error_fd, err);
    if (rc == 0 && hb_proc_started(error_fd, &stage, &why) == 1) {
        hb_proc_explain(&spec, stage, why, err);
        rc = HPCBOOT_ERR_SPAWN;
    }
    hb_fd_close(&error_fd);
    hb_strv_destroy(&argv);
    hb_strv_destroy(&env);
    free(self);
    return rc;
}

static int connect_to(struct spawned *w, int *fd,
                      const struct hb_link_events *events,
                      struct hpcboot_error *err)
{
    struct hb_channel *ch = NULL;
    int own = *fd, rc;

    *fd = -1;
    rc = hb_channel_from_fds(&ch, w->job->base, own, own, w->pid, err);
    if (rc == 0) {
        w->link = hb_link_create(w->job->base, ch, 1, events, w);
    }
    return rc;
}

int job_spawned_begin(struct spawned *w, const struct hb_link_events *events,
                      struct hpcboot_error *err)
{
    int fds[2], rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "a pair of sockets");
    }
    rc = run_launcher(w->job, fds[1], &w->pid, err);
    if (rc == 0) {
        rc = connect_to(w, &fds[0], events, err);
    }
    hb_fd_close(&fds[0]);
    hb_fd_close(&fds[1]);
    if (rc == 0) {
        tell_it(w);
    }
    return rc;
}
