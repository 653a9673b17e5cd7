/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Starts this node's ranks. Every rank gets its own session, pipes for its
 * output (or a terminal for the standard one), at most one pipe for its input
 * and, where its family wants one, a socket to the process-management
 * server. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/sure.h"
#include "bin/pm/family.h"
#include "bin/proc/env.h"
#include "bin/proc/guard.h"
#include "bin/proc/limits.h"
#include "bin/proc/segments.h"
#include "bin/proc/stage.h"
#include "bin/proc/stale.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

extern char **environ;

/* After this the user is told that a rank never called its server. */
#define CONTACT_NOTE_MS 10000
/* Descriptor number of the server's socket in the rank: stable, clear of the
 * numbers that shells and wrappers use for redirections. */
#define PM_SOCKET_FD 42
#define NATIVE_SOCKET_FD 43
/* That stay open here: stdio, two servers, exec's report. */
#define RANK_FDS 6
#define LEAST_FDS 2 /* of them: output, with its errors, and one server */
#define STALE_MS 1000 /* for what dead agents left; SIGKILL is quick */

struct rank *agent_rank(struct agent *a, uint32_t rank)
{
    const struct hb_jobmap *map = a->job.map;

    if (map == NULL || rank >= map->n_ranks ||
        map->node_of_rank[rank] != a->node || a->ranks == NULL) {
        return NULL;
    }
    return &a->ranks[map->local_rank[rank]];
}

void rank_failed(struct rank *r, enum hb_proc_stage stage,
                 int sys_errno, const char *text)
{
    struct agent *a = r->agent;

    AGENT_SEND(a, rank_failed, .rank = r->rank, .stage = (uint32_t)stage,
               .sys_errno = sys_errno, .text = text,
               .time_ns = (uint64_t)hb_now_ns());
    if (!r->ended) {
        r->ended = 1;
        a->n_ended++;
    }
}

static void rank_spec_of(const struct rank *r, struct hb_proc_spec *spec)
{
    struct agent *a = r->agent;
    struct agent_app *app =
        &a->job.apps[hb_jobmap_app_of(a->job.map, r->rank)];

    memset(spec, 0, sizeof *spec);
    spec->argv = r->argv.n > 0 ? r->argv.v : app->argv.v;
    spec->file = app->program != NULL &&
                 hb_streq(spec->argv[0], app->argv.v[0])
                     ? app->program : spec->argv[0];
    spec->env = hb_strv_view(&app->env);
    spec->wdir = app->wdir;
    spec->tries_wdir = 1;
}

/* Told of as a failure to start, it is none of the processes that ranks leave
 * behind. It only has to exit, if it has not been stopped. */
static void await_unstarted(const struct rank *r)
{
    siginfo_t info;

    if (r->pid > 0) {
        (void)kill(r->pid, SIGCONT);
        (void)waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOWAIT);
    }
}

static void on_started(evutil_socket_t fd, short what, void *arg)
{
    struct rank *r = arg;
    struct agent *a = r->agent;
    struct hpcboot_error err = {0};
    struct hb_proc_spec spec;
    enum hb_proc_stage stage = HB_PROC_EXEC;
    int sys_errno = 0;
    int rc = hb_proc_started(r->error_fd, &stage, &sys_errno);

    if (rc == HPCBOOT_ERR_AGAIN) {
        return;
    }
    if (rc == 1) {
        rank_spec_of(r, &spec);
        hb_proc_explain(&spec, stage, sys_errno, &err);
        await_unstarted(r);
        rank_failed(r, stage, err.sys_errno, err.text);
    } else {
        r->started = 1;
        /* It may have ended already, and has no process any more. */
        AGENT_SEND(a, rank_started, .rank = r->rank,
                   .pid = (uint32_t)r->group, .time_ns = (uint64_t)hb_now_ns());
    }
    event_free(r->error_ev);
    r->error_ev = NULL;
    hb_fd_close(&r->error_fd);
    agent_reap(a);
}

/* Open MPI names its shared-memory files by host and job alone, where two
 * agents of one machine collide, and leaves them when it is killed: a
 * directory of this agent's own mends both. The user's choice stands. */
static void put_shm_dir(const struct agent *a, struct hb_strv *env)
{
    static const char *const names[] = {
        "OMPI_MCA_btl_vader_backing_directory", /* 4.x */
        "OMPI_MCA_btl_sm_backing_directory",    /* 5.x */
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (a->shm_dir != NULL && a->job.family == HB_PM_PMIX &&
            hb_env_get(env, names[i]) == NULL) {
            hb_env_set(env, names[i], a->shm_dir);
        }
    }
}

/* This rank's whole environment: the app's, the server's, the identity. */
static int rank_env(struct rank *r, struct hb_strv *env,
                    struct hpcboot_error *err)
{
    struct agent *a = r->agent;
    uint32_t i = hb_jobmap_app_of(a->job.map, r->rank);
    const struct agent_app *app = &a->job.apps[i];
    int rc;

    hb_strv_extend(env, hb_strv_view(&app->env));
    hb_pm_personality_env(a->job.family, a->job.flavour, a->job.map, r->rank,
                          &a->job.pm_apps[i], env);
    if (app->wdir != NULL) {
        hb_env_set(env, "PWD", app->wdir);
    }
    if (a->files_dir != NULL) {
        hb_env_set(env, "HPCBOOT_SESSION_DIR", a->files_dir);
    }
    hb_env_setf(env, "HPCBOOT_EPOCH", "%u", a->epoch);
    hb_env_setf(env, "HPCBOOT_RESTART", "%u", a->job.restart + r->restarts);
    if (a->job.flags & HB_JOB_ELASTIC) {
        hb_env_set(env, "HPCBOOT_ELASTIC", "1");
    }
    put_shm_dir(a, env);
    agent_bind_env(r, env);
    agent_wiring_env(r, env);
    hb_env_set(env, HB_COOKIE_VAR, a->cookie);
    rc = a->pm_ops->rank_env(a->pm, r->rank,
                             a->pm_ops->wants_socket ? PM_SOCKET_FD : -1,
                             env, err);
    return rc < 0 ? rc : agent_recipe_apply(r, env, err);
}

/* The descriptors of one rank under way: [0] ours, [1] the child's. */
struct rank_fds {
    int out[2], err[2], in[2], pm[2], native[2];
};

static void fds_close(struct rank_fds *f)
{
    int *all[] = {f->out, f->err, f->in, f->pm, f->native};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hb_fd_close(&all[i][0]);
        hb_fd_close(&all[i][1]);
    }
}

static int wants_stdin(const struct rank *r)
{
    const struct agent_job *job = &r->agent->job;

    return job->stdin_mode == HB_STDIN_ALL ||
           (job->stdin_mode == HB_STDIN_RANK && job->stdin_rank == r->rank);
}

static int fds_open(const struct rank *r, struct rank_fds *f,
                    struct hpcboot_error *err)
{
    static const int yes = 1;
    struct agent *a = r->agent;
    int rc = (a->job.flags & HB_JOB_UNBUFFERED) != 0
                 ? hb_fd_terminal(f->out, err) : hb_fd_pipe(f->out, err);

    if (rc == 0 && !(a->job.flags & HB_JOB_MERGE_STDERR)) {
        rc = hb_fd_pipe(f->err, err);
    }
    if (rc == 0 && wants_stdin(r)) {
        int p[2];

        rc = hb_fd_pipe(p, err);
        if (rc == 0) {
            f->in[0] = p[1];
            f->in[1] = p[0];
        }
    }
    if (rc == 0 && a->pm_ops->wants_socket) {
        rc = hb_fd_socketpair(f->pm, err);
    }
    if (rc == 0 && f->pm[0] >= 0) { /* without, writers are not known */
        (void)setsockopt(f->pm[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
    }
    if (rc == 0) {
        rc = hb_fd_socketpair(f->native, err);
    }
    if (rc == 0) {
        (void)fcntl(f->out[0], F_SETPIPE_SZ, RANK_PIPE_BYTES);
    }
    return rc;
}

/* Hands our ends to the rank's streams once the child runs. */
static void fds_adopt(struct rank *r, struct rank_fds *f)
{
    int *ours[] = {&f->out[0], &f->err[0], &f->in[0], &f->pm[0],
                   &f->native[0]};

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (*ours[i] >= 0) {
            (void)hb_fd_set_nonblock(*ours[i], 1, NULL);
        }
    }
    rank_stream_open(r, 0, f->out[0]);
    if (f->err[0] >= 0) {
        rank_stream_open(r, 1, f->err[0]);
    }
    if (f->in[0] >= 0) {
        rank_stdin_open(r, f->in[0]);
    }
    if (f->pm[0] >= 0) {
        rank_pm_open(r, f->pm[0]);
    }
    agent_native_open(r->agent, r->rank, f->native[0]);
    f->out[0] = f->err[0] = f->in[0] = f->pm[0] = f->native[0] = -1;
}

int rank_start(struct rank *r, const struct rank_limits *start,
               struct hpcboot_error *err)
{
    static const int keep_as[] = {NATIVE_SOCKET_FD, PM_SOCKET_FD};
    struct agent *a = r->agent;
    struct rank_fds f = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    int keep[2];
    struct hb_strv env = HB_STRV_INIT;
    struct hb_proc_spec spec;
    int rc = fds_open(r, &f, err);

    if (rc == 0) {
        rc = rank_env(r, &env, err);
    }
    if (rc == 0) {
        rank_spec_of(r, &spec);
        spec.stdio[0] = f.in[1];
        spec.stdio[1] = f.out[1];
        spec.stdio[2] = f.err[1] >= 0 ? f.err[1] : f.out[1];
        agent_native_env(a, f.native[1], NATIVE_SOCKET_FD, &env);
        spec.env = hb_strv_view(&env);
        keep[0] = f.native[1];
        keep[1] = f.pm[1];
        spec.keep_fds = keep;
        spec.keep_as = keep_as;
        spec.n_keep = f.pm[1] >= 0 ? 2 : 1;
        spec.umask = (int)a->job.umask;
        spec.limits = start->limits;
        spec.n_limits = start->n_limits;
        /* One session for the ranks of a host: where the kernel schedules by
         * sessions (autogroup), a rank that yields gives its core to ranks of
         * its own session alone. */
        spec.new_group = 1;
        spec.death_signal = SIGKILL;
        agent_bind_spec(r, &spec);
        rc = hb_proc_spawn(&spec, &r->pid, &r->error_fd, err);
    }
    if (rc == 0) {
        r->group = r->pid;
        fds_adopt(r, &f);
        r->error_ev = sure_new(a->base, r->error_fd, EV_READ | EV_PERSIST,
                               on_started, r);
        sure_add(r->error_ev, NULL);
    }
    fds_close(&f);
    hb_strv_destroy(&env);
    return rc;
}

/* A directory that nobody asked for need not be here: it is just where hbrun
 * happened to be typed. */
static void settle_wdir(struct agent *a, uint32_t i)
{
    struct agent_app *app = &a->job.apps[i];
    const char *home = hb_env_get(&app->env, "HOME"), *what = "is not here";

    if (app->wdir == NULL || app->wdir_given || access(app->wdir, X_OK) == 0) {
        return;
    }
    if (errno == EACCES) {
        what = "may not be entered by this user";
    }
    home = home != NULL && access(home, X_OK) == 0 ? home : "/";
    agent_note(a, HB_WARN, "the launcher's working directory %s %s; ranks "
               "start in %s (--wdir names another)", app->wdir, what, home);
    free(app->wdir);
    app->wdir = hb_xstrdup(home);
    a->job.pm_apps[i].wdir = app->wdir;
}

static int prepare_app(struct agent *a, uint32_t at, const struct hb_strv *pid1,
                       struct rank_limits *out, struct hpcboot_error *err)
{
    struct agent_app *app = &a->job.apps[at];
    struct hb_strv refused = HB_STRV_INIT;
    struct hb_env_policy policy = {
        .launcher = hb_strv_view(&a->job.env), .host = environ,
        .pid1 = pid1->n > 0 ? hb_strv_view(pid1) : NULL,
        .job_rules = hb_strv_view(&a->job.env_rules),
        .app_rules = hb_strv_view(&app->env_rules),
        .path = app->path,
    };
    int rc = hb_env_compose(&policy, &app->env, err);

    if (rc == 0) {
        rc = hb_limits_parse(hb_strv_view(&a->job.limits), &out->limits,
                             &out->n_limits, &refused, err);
    }
    if (rc == 0) {
        settle_wdir(a, at);
    }
    for (size_t i = 0; i < refused.n; i++) {
        agent_note(a, HB_WARN, "%s", refused.v[i]);
    }
    hb_strv_destroy(&refused);
    return rc;
}

/* Ranks that link an MPI and never call any server each believe they are
 * alone; the user hears of it while the job still runs. One that has died and
 * may be started again has had no time for that. */
static void on_contact_due(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;

    agent_loaded_tell(a);
    for (uint32_t i = 0; i < a->n_ranks && a->job.family != HB_PM_NONE; i++) {
        struct rank *r = &a->ranks[i];

        if (r->started && !r->ended && !r->waiting && r->contact == 0) {
            AGENT_SEND(a, contact, .rank = r->rank, .contact = 0);
        }
    }
}

static void make_ranks(struct agent *a)
{
    uint32_t *numbers = NULL;

    a->n_ranks = a->job.map->local_size[a->node];
    a->ranks = hb_xcalloc(a->n_ranks, sizeof *a->ranks);
    hb_jobmap_ranks_of_node(a->job.map, a->node, &numbers);
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        struct rank *r = &a->ranks[i];

        r->agent = a;
        r->rank = numbers[i];
        r->error_fd = r->in.fd = r->pm.fd = -1;
        r->out[0].fd = r->out[1].fd = -1;
    }
    free(numbers);
}

/* Pipes and a socket for each rank: the hard limit was taken already. */
static void tell_descriptors(struct hpcboot_error *err)
{
    struct rlimit lim;
    size_t len = strlen(err->text);

    if (err->sys_errno == EMFILE && getrlimit(RLIMIT_NOFILE, &lim) == 0) {
        snprintf(err->text + len, sizeof err->text - len, " (the agent may "
                 "open %llu, its hard limit, and a rank takes up to %d: "
                 "ulimit -Hn counts, or use more hosts)",
                 (unsigned long long)lim.rlim_cur, RANK_FDS);
    }
}

/* Thousands of ranks need not be started to find out that they are too many. */
static int may_have_descriptors(const struct agent *a,
                                struct hpcboot_error *err)
{
    struct rlimit lim;

    if (getrlimit(RLIMIT_NOFILE, &lim) < 0 ||
        (rlim_t)a->n_ranks * LEAST_FDS <= lim.rlim_cur) {
        return 0;
    }
    errno = EMFILE;
    hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "%u rank%s cannot be started here",
                  a->n_ranks, a->n_ranks == 1 ? "" : "s");
    tell_descriptors(err);
    return HPCBOOT_ERR_SYSTEM;
}

static void make_shm_dir(struct agent *a)
{
    static const char *const places[] = {"/dev/shm"};

    if (a->job.family == HB_PM_PMIX &&
        hb_session_dir_create_in(places, 1, a->job_id, a->host, &a->shm_dir,
                                 NULL) == 0) {
        hb_guard_set_shm_dir(a->shm_dir);
        (void)hb_owner_write(a->shm_dir, a->cookie, NULL);
    }
}

void agent_look_around(struct agent *a)
{
    struct hb_stale_report report;

    if (!a->looked_around) {
        a->looked_around = 1;
        hb_cgroup_read_marks(&a->marks);
        hb_stale_clear(a->job_id, a->host, STALE_MS, &report);
        a->stale_killed = report.killed;
    }
}

static void tell_of_stale(struct agent *a)
{
    if (a->stale_killed > 0) {
        agent_note(a, HB_WARN, "%d %s killed that a job left here whose "
                   "agent and guard had been killed", a->stale_killed,
                   a->stale_killed == 1 ? "process was" : "processes were");
    }
}

/* What ranks find on this host: directories. */
static int prepare_host(struct agent *a, struct hpcboot_error *err)
{
    int rc = may_have_descriptors(a, err);

    if (rc == 0) {
        rc = agent_session_settle(a, err);
    }
    if (rc == 0) {
        make_shm_dir(a);
        a->apart_ns = hb_segments_apart();
        a->segments_ns = hb_segments_now();
        hb_guard_set_segments(a->segments_ns, a->apart_ns);
    }
    return rc;
}

/* Bindings and servers, which go by the environment of the apps. */
static int start_servers(struct agent *a, struct hpcboot_error *err)
{
    int rc = agent_bind_plan(a, err);

    if (rc < 0) {
        return rc;
    }
    agent_wiring_plan(a);
    rc = agent_pm_start(a, err);
    agent_native_start(a);
    return rc;
}

/* starts[n_apps]. One that cannot be started is told of. */
static void start_all(struct agent *a, const struct rank_limits *starts)
{
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        struct hpcboot_error why = {0};
        struct rank *r = &a->ranks[i];

        agent_beat(a); /* thousands of ranks take longer than a host may */
        if (rank_start(r, &starts[hb_jobmap_app_of(a->job.map, r->rank)],
                       &why) < 0) {
            tell_descriptors(&why);
            rank_failed(r, HB_PROC_FORK, why.sys_errno, why.text);
        }
    }
}

static void expect_contact(struct agent *a)
{
    static const struct timeval due = {CONTACT_NOTE_MS / 1000, 0};

    if (a->job.family != HB_PM_NONE || (a->job.flags & HB_JOB_GUESSED) != 0) {
        a->contact_timer = sure_timer(a->base, on_contact_due, a);
        sure_add(a->contact_timer, &due);
        agent_loaded_watch(a);
    }
}

/* What this host's container was started with. A server lets nobody read its
 * memory, and so not what is in it of that; its agents have inherited it. */
static void read_container_env(const struct agent *a, struct hb_strv *out)
{
    if (a->served) {
        hb_strv_extend(out, environ);
    } else {
        (void)hb_env_read_pid1(out, NULL);
    }
}

int agent_start_ranks(struct agent *a, struct hpcboot_error *err)
{
    struct hb_strv pid1 = HB_STRV_INIT;
    struct rank_limits *starts;
    uint32_t n_apps = a->job.map->n_apps;
    int rc;

    a->reading = a->credit > 0;
    agent_look_around(a);
    tell_of_stale(a);
    make_ranks(a);
    starts = hb_xcalloc(n_apps, sizeof *starts);
    if ((a->job.flags & HB_JOB_USE_PID1_ENV) && !a->is_local) {
        read_container_env(a, &pid1);
    }
    rc = prepare_host(a, err);
    for (uint32_t i = 0; rc == 0 && i < n_apps; i++) {
        rc = prepare_app(a, i, &pid1, &starts[i], err);
    }
    if (rc == 0) {
        rc = start_servers(a, err);
    }
    agent_ports_release(a);
    if (rc == 0) {
        agent_meet_watch(a);
        start_all(a, starts);
        expect_contact(a);
    }
    for (uint32_t i = 0; i < n_apps; i++) {
        free(starts[i].limits);
    }
    free(starts);
    hb_strv_destroy(&pid1);
    agent_maybe_done(a);
    return rc;
}

void agent_ranks_destroy(struct agent *a)
{
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        struct rank *r = &a->ranks[i];

        if (r->error_ev != NULL) {
            event_free(r->error_ev);
        }
        if (r->hold != NULL) {
            event_free(r->hold);
        }
        hb_fd_close(&r->error_fd);
        hb_strv_destroy(&r->argv);
        rank_io_destroy(r);
    }
    free(a->ranks);
    agent_bind_destroy(a);
    agent_wiring_destroy(a);
}
