/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The PMIx server: an adapter around libpmix, built as the module hb_pmix.so,
 * which exports hb_pmix_ops. libpmix talks to the ranks by its own thread and
 * its own socket on the loopback interface; what it cannot answer alone comes
 * as an upcall (pmix_upcall.c), is queued here and run on the loop thread:
 *
 *     libpmix thread: upcall -> copy -> queue -> eventfd
 *     loop thread:    dispatch -> run -> host.fence / modex / name
 *                     fence_done ... -> callback of libpmix
 *
 * The descriptor shown outside is an epoll of the eventfd and of a timer,
 * which is armed while lookups, fences and the like have a limit of time, and
 * while jobs wait for what others publish of themselves.
 *
 * Settings of libpmix are environment variables, set around its start only. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "bin/pm/family.h"
#include "bin/pm/pmix_impl.h"
#include "bin/pm/servers.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define TICK_MS 100
#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)
#define FINALIZE_S 2 /* the end of libpmix takes milliseconds */
/* Below the first libpmix was seen to run out of stack. */
#define STACK_NEED (256ULL << 10)
#define STACK_WANT (1ULL << 20)
#define THREAD_STACK_MOST (8ULL << 20) /* as Linux has it unasked */

/* The server of this process; upcalls have no other way to find it. */
static struct hb_pm *the_server;
static pthread_mutex_t the_server_lock = PTHREAD_MUTEX_INITIALIZER;

int hb_pmix_fail(struct hpcboot_error *err, const char *what,
                 pmix_status_t rc)
{
    return hb_fail(err, HPCBOOT_ERR_SYSTEM,
                   "PMIx server: %s: %s (libpmix %s)", what,
                   PMIx_Error_string(rc), PMIx_Get_version());
}

/* ---- the queue ----------------------------------------------------------- */

void hb_pmix_event_free(struct hb_pmix_event *ev)
{
    free(ev->procs);
    if (ev->infos != NULL) {
        PMIX_INFO_FREE(ev->infos, ev->n_infos);
    }
    for (char **k = ev->keys; k != NULL && *k != NULL; k++) {
        free(*k);
    }
    free(ev->keys);
    free(ev->name);
    hb_pm_spawn_clear(&ev->spawn);
    free(ev->data);
    free(ev);
}

void hb_pmix_post(struct hb_pmix_event *ev)
{
    static const uint64_t one = 1;

    ev->since_ns = hb_now_ns();
    pthread_mutex_lock(&the_server_lock);
    if (the_server == NULL) {
        pthread_mutex_unlock(&the_server_lock);
        hb_pmix_event_free(ev);
        return;
    }
    pthread_mutex_lock(&the_server->lock);
    ev->next = NULL;
    *the_server->last = ev;
    the_server->last = &ev->next;
    pthread_mutex_unlock(&the_server->lock);
    /* It can only fail when the counter is full, and then it is readable. */
    (void)!write(the_server->event_fd, &one, sizeof(one));
    pthread_mutex_unlock(&the_server_lock);
}

static struct hb_pmix_event *take_all(struct hb_pm *pm)
{
    struct hb_pmix_event *first;

    pthread_mutex_lock(&pm->lock);
    first = pm->first;
    pm->first = NULL;
    pm->last = &pm->first;
    pthread_mutex_unlock(&pm->lock);
    return first;
}

static void dispatch(struct hb_pm *pm)
{
    struct hb_pmix_event *ev, *next;
    uint64_t count;

    /* The counters are emptied before the queue is looked at: what comes
     * later makes the descriptor readable again. */
    (void)!read(pm->event_fd, &count, sizeof(count));
    if (read(pm->timer_fd, &count, sizeof(count)) == sizeof(count)) {
        hb_pmix_fences_tick(pm);
        hb_pmix_names_tick(pm);
        hb_pmix_joins_tick(pm);
    }
    for (ev = take_all(pm); ev != NULL; ev = next) {
        next = ev->next;
        ev->run(pm, ev);
        hb_pmix_event_free(ev);
    }
}

void hb_pmix_timer(struct hb_pm *pm, int on)
{
    struct itimerspec spec = {{0, 0}, {0, 0}};

    if (on == pm->ticking) {
        return; /* whoever comes does not put off the next tick of others */
    }
    pm->ticking = on;
    if (on) {
        spec.it_value.tv_nsec = TICK_MS * 1000000L;
        spec.it_interval = spec.it_value;
    }
    (void)timerfd_settime(pm->timer_fd, 0, &spec, NULL);
}

static int watch(struct hb_pm *pm, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN};

    return epoll_ctl(pm->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

static int open_queue(struct hb_pm *pm, struct hpcboot_error *err)
{
    pm->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pm->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    pm->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (pm->event_fd < 0 || pm->timer_fd < 0 || pm->epoll_fd < 0 ||
        watch(pm, pm->event_fd) < 0 || watch(pm, pm->timer_fd) < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "PMIx server: cannot make its queue");
    }
    return HPCBOOT_OK;
}

/* ---- start and end ------------------------------------------------------- */

#define TOPOLOGY_VARIABLE "HWLOC_XMLFILE"

/* What libpmix is told through the environment of this process, and only
 * while it starts. */
static const struct {
    const char *name, *value;
    int forced; /* also where the person has set another */
} settings[] = {
    /* nobody from another host may connect */
    {"PMIX_MCA_ptl_base_if_include", "lo", 1},
    /* a munge that one side of a container has and the other has not would
     * keep them apart */
    {"PMIX_MCA_psec", "native", 0},
    /* ds21, which 4.2 prefers, answers "not found" for a local rank that has
     * not put its data yet, where hash waits; and it lives in mapped files,
     * which a full file system turns into SIGBUS */
    {"PMIX_MCA_gds", "hash", 0},
    {TOPOLOGY_VARIABLE, NULL, 1}, {"HWLOC_THISSYSTEM", "1", 1},
    {"HWLOC_COMPONENTS", NULL, 1}, /* could keep XML out */
    {"HWLOC_PLUGINS_BLACKLIST", "hwloc_gl.so,hwloc_opencl.so,hwloc_cuda.so,"
     "hwloc_nvml.so,hwloc_rsmi.so,hwloc_levelzero.so,hwloc_pci.so,"
     "hwloc_xml_libxml.so", 1},
    {"HOME", NULL, 0},
};
#define N_SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* The topology is at hand: libpmix need not look at the machine again, for
 * which hwloc would also load its plug-ins for GPUs. */
static const char *setting_of(size_t i, const struct hb_pm_job *job)
{
    if (strcmp(settings[i].name, "HOME") == 0) {
        return hb_pmix_home(getenv("HOME"));
    }
    return strcmp(settings[i].name, TOPOLOGY_VARIABLE) == 0
               ? job->topology_file : settings[i].value;
}

static void settings_apply(char *old[N_SETTINGS], const struct hb_pm_job *job)
{
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const char *was = getenv(settings[i].name);
        const char *value = setting_of(i, job);

        old[i] = was != NULL ? hb_xstrdup(was) : NULL;
        if (value != NULL) {
            setenv(settings[i].name, value, settings[i].forced);
        } else {
            unsetenv(settings[i].name);
        }
    }
}

static void settings_restore(char *old[N_SETTINGS])
{
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (old[i] != NULL) {
            setenv(settings[i].name, old[i], 1);
        } else {
            unsetenv(settings[i].name);
        }
        free(old[i]);
    }
}

/* Threads get the size that `ulimit -s` had when the process began. One for the
 * arrays of Fortran may be more than `ulimit -v` lets a process have. */
static void bound_thread_stacks(void)
{
    pthread_attr_t attr;
    size_t size = 0, wanted;

    if (pthread_getattr_default_np(&attr) != 0) {
        return;
    }
    pthread_attr_getstacksize(&attr, &size);
    wanted = size < STACK_WANT ? STACK_WANT
             : size > THREAD_STACK_MOST ? THREAD_STACK_MOST : size;
    if (wanted != size && pthread_attr_setstacksize(&attr, wanted) == 0) {
        pthread_setattr_default_np(&attr);
    }
    pthread_attr_destroy(&attr);
}

/* libpmix keeps large buffers on its stacks: the caller's and those of its own
 * threads. Ranks have limits of their own. */
static int widen_stacks(struct hpcboot_error *err)
{
    struct rlimit l;

    bound_thread_stacks();
    if (getrlimit(RLIMIT_STACK, &l) < 0 || l.rlim_cur >= STACK_WANT) {
        return HPCBOOT_OK;
    }
    l.rlim_cur = l.rlim_max < STACK_WANT ? l.rlim_max : STACK_WANT;
    (void)setrlimit(RLIMIT_STACK, &l);
    if (l.rlim_cur < STACK_NEED) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "the PMIx server needs a stack of %llu KiB, and the "
                       "hard limit is %llu KiB: raise it (ulimit -Hs), or "
                       "choose another family with --pmi", STACK_NEED >> 10,
                       (unsigned long long)l.rlim_max >> 10);
    }
    return HPCBOOT_OK;
}

static pmix_status_t start_library(struct hb_pm *pm)
{
    const char *node = pm->job->map->node_names[pm->job->node];
    char *old[N_SETTINGS];
    pmix_rank_t rank = pm->job->node;
    pmix_info_t *info;
    pmix_status_t rc;
    enum { N_INFO = 4 };

    PMIX_INFO_CREATE(info, N_INFO);
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, pm->job->session_dir,
                   PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, pm->job->session_dir,
                   PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_HOSTNAME, node, PMIX_STRING);
    PMIX_INFO_LOAD(&info[3], PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
    settings_apply(old, pm->job);
    hb_pmix_offer_groups(&hb_pmix_module);
    rc = PMIx_server_init(&hb_pmix_module, info, N_INFO);
    settings_restore(old);
    PMIX_INFO_FREE(info, N_INFO);
    return rc;
}

/* The end of libpmix, in a thread of its own: in 4.2 a client that failed the
 * handshake, as somebody else's process on this host does, can leave a lock
 * that its end then waits for. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t over;
    int done;
} finalizing = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void *finalize(void *arg)
{
    (void)PMIx_server_finalize();
    pthread_mutex_lock(&finalizing.lock);
    finalizing.done = 1;
    pthread_cond_signal(&finalizing.over);
    pthread_mutex_unlock(&finalizing.lock);
    return NULL;
}

/* Waits so long and no longer: what is left of libpmix ends with the agent. */
static void stop_library(void)
{
    struct timespec until;
    pthread_t thread;
    int rc = 0;

    finalizing.done = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += FINALIZE_S;
    if (pthread_create(&thread, NULL, finalize, NULL) != 0) {
        return;
    }
    pthread_mutex_lock(&finalizing.lock);
    while (!finalizing.done && rc == 0) {
        rc = pthread_cond_clockwait(&finalizing.over, &finalizing.lock,
                                    CLOCK_MONOTONIC, &until);
    }
    rc = finalizing.done;
    pthread_mutex_unlock(&finalizing.lock);
    if (rc) {
        pthread_join(thread, NULL);
    } else {
        pthread_detach(thread);
    }
}

static void destroy(struct hb_pm *pm)
{
    struct hb_pmix_event *ev, *next;

    if (pm == NULL) {
        return;
    }
    if (pm->running) {
        stop_library();
    }
    pthread_mutex_lock(&the_server_lock);
    the_server = the_server == pm ? NULL : the_server;
    pthread_mutex_unlock(&the_server_lock);
    for (ev = take_all(pm); ev != NULL; ev = next) {
        next = ev->next;
        hb_pmix_event_free(ev);
    }
    hb_pmix_fences_destroy(pm);
    hb_pmix_names_destroy(pm);
    hb_pmix_joins_destroy(pm);
    hb_pmix_spawns_destroy(pm);
    hb_pmix_logged_destroy(pm);
    hb_kvs_destroy(pm->rounds);
    hb_fd_close(&pm->epoll_fd);
    hb_fd_close(&pm->timer_fd);
    hb_fd_close(&pm->event_fd);
    pthread_mutex_destroy(&pm->lock);
    free(pm);
}

static int become_the_server(struct hb_pm *pm, struct hpcboot_error *err)
{
    int taken;

    pthread_mutex_lock(&the_server_lock);
    taken = the_server != NULL;
    if (!taken) {
        the_server = pm;
    }
    pthread_mutex_unlock(&the_server_lock);
    return !taken ? HPCBOOT_OK
                  : hb_fail(err, HPCBOOT_ERR_INTERNAL,
                            "PMIx server: there is one already in this "
                            "process");
}

#define ROUNDS_MAX (16u << 20) /* bytes of fence signatures remembered */

static int create(struct hb_pm **out, const struct hb_pm_job *job,
                  const struct hb_pm_host *host, void *arg,
                  struct hpcboot_error *err)
{
    struct hb_pm *pm = hb_xcalloc(1, sizeof(*pm));
    pmix_status_t prc;
    int rc;

    pm->job = job;
    pm->host = *host;
    pm->arg = arg;
    pm->event_fd = pm->timer_fd = pm->epoll_fd = -1;
    pm->last = &pm->first;
    pthread_mutex_init(&pm->lock, NULL);
    if (strlen(job->job_id) > PMIX_MAX_NSLEN) {
        rc = hb_fail(err, HPCBOOT_ERR_LIMIT,
                     "PMIx server: a job id of more than %d bytes",
                     PMIX_MAX_NSLEN);
        goto fail;
    }
    snprintf(pm->nspace, sizeof(pm->nspace), "%s", job->job_id);
    if ((rc = hb_kvs_create(&pm->rounds, ROUNDS_MAX, err)) < 0 ||
        (rc = hb_pmix_names_create(pm, err)) < 0 ||
        (rc = open_queue(pm, err)) < 0 || (rc = widen_stacks(err)) < 0 ||
        (rc = become_the_server(pm, err)) < 0) {
        goto fail;
    }
    prc = start_library(pm);
    if (prc != PMIX_SUCCESS) {
        rc = hb_pmix_fail(err, hb_pmix_no_start(), prc);
        goto fail;
    }
    pm->running = 1;
    rc = hb_pmix_register_job(pm, err);
    if (rc < 0) {
        goto fail;
    }
    *out = pm;
    return HPCBOOT_OK;

fail:
    destroy(pm);
    return rc;
}

/* ---- ranks --------------------------------------------------------------- */

int hb_pmix_is_local(const struct hb_pm *pm, const pmix_proc_t *proc)
{
    const struct hb_jobmap *map = pm->job->map;

    return PMIX_CHECK_NSPACE(proc->nspace, pm->nspace) &&
           proc->rank < map->n_ranks &&
           map->node_of_rank[proc->rank] == pm->job->node;
}

pmix_status_t hb_pmix_status(int status)
{
    switch (status) {
    case HPCBOOT_OK:
        return PMIX_SUCCESS;
    case HPCBOOT_ERR_NOT_FOUND:
        return PMIX_ERR_NOT_FOUND;
    case HPCBOOT_ERR_TIMED_OUT:
        return PMIX_ERR_TIMEOUT;
    case HPCBOOT_ERR_UNSUPPORTED:
        return PMIX_ERR_NOT_SUPPORTED;
    case HPCBOOT_ERR_PEER_DEAD:
        return PMIX_ERR_UNREACH;
    default:
        return PMIX_ERROR;
    }
}

/* Open MPI does not come up over PSM and PSM2 (True Scale, Omni-Path) without
 * this variable of mpirun's: 128 bits that jobs of one host do not share, and
 * ranks that send to each other do, those of spawned jobs with them. */
static void transport_key(const struct hb_pm_job *job, struct hb_strv *env)
{
    static const char name[] = "OMPI_MCA_orte_precondition_transports";
    const char *id = job->job_id;
    uint64_t half[] = {FNV_BASIS, ~FNV_BASIS}; /* FNV-1a, begun twice */

    if (hb_env_get(env, name) != NULL) { /* by -x */
        return;
    }
    for (; *id != '\0' && *id != '@'; id++) { /* as far as a family has it */
        half[0] = (half[0] ^ (unsigned char)*id) * FNV_PRIME;
        half[1] = (half[1] ^ (unsigned char)*id) * FNV_PRIME;
    }
    hb_env_setf(env, name, "%016" PRIx64 "-%016" PRIx64, half[0], half[1]);
}

/* Open MPI 4 does not take PMIx variables for a sign that it was launched:
 * each rank would silently be rank 0 of 1. It asks a list of direct launchers
 * by their variables; that of IBM's jsrun is part of every build, leaves the
 * binding to the launcher, and only looks whether the variable is there. */
static void flavour_env(const struct hb_pm *pm, struct hb_strv *env)
{
    int flavour = pm->job->flavour;

    if (flavour == HB_MPI_OPENMPI4 || flavour == HB_MPI_UNKNOWN) {
        hb_env_set(env, "JSM_JSRUN_PORT", "1");
        if (pm->job->oversubscribed) { /* version 5 asks for a PMIx key */
            hb_env_set(env, "OMPI_MCA_mpi_oversubscribe", "1");
        }
    } else if (flavour == HB_MPI_MPICH || flavour == HB_MPI_MVAPICH) {
        hb_env_set(env, "MPIR_CVAR_PMI_VERSION", "x"); /* from 4.2 on */
    }
    if (flavour == HB_MPI_OPENMPI4 || flavour == HB_MPI_OPENMPI5 ||
        flavour == HB_MPI_UNKNOWN) {
        transport_key(pm->job, env);
    }
}

static int rank_env(struct hb_pm *pm, uint32_t rank, int socket_fd,
                    struct hb_strv *env, struct hpcboot_error *err)
{
    char **entries = NULL;
    pmix_proc_t proc;
    pmix_status_t rc;

    PMIX_LOAD_PROCID(&proc, pm->nspace, rank);
    rc = PMIx_server_setup_fork(&proc, &entries);
    if (rc == PMIX_SUCCESS) {
        for (char **e = entries; e != NULL && *e != NULL; e++) {
            hb_env_put(env, *e);
        }
        flavour_env(pm, env);
        if (hb_env_get(env, "HOME") == NULL && hb_pmix_home(NULL) != NULL) {
            hb_env_set(env, "HOME", hb_pmix_home(NULL));
        }
    }
    for (char **e = entries; e != NULL && *e != NULL; e++) {
        free(*e);
    }
    free(entries);
    return rc == PMIX_SUCCESS
               ? HPCBOOT_OK
               : hb_pmix_fail(err, "no variables for a rank", rc);
}

static int feed(struct hb_pm *pm, uint32_t rank, const void *data, size_t len,
                struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_INTERNAL,
                   "PMIx server: ranks are not served through a socket of "
                   "the agent");
}

/* libpmix sees the end of each client's connection by itself. */
static void rank_gone(struct hb_pm *pm, uint32_t rank)
{
    hb_pmix_names_gone(pm, rank);
}

static void rank_again(struct hb_pm *pm, uint32_t rank)
{
}

static int get_fd(struct hb_pm *pm)
{
    return pm->epoll_fd;
}

const struct hb_pm_ops hb_pmix_ops = {
    .family = HB_PM_PMIX,
    .wants_socket = 0,
    .create = create,
    .rank_env = rank_env,
    .feed = feed,
    .rank_gone = rank_gone,
    .ranks_lost = hb_pmix_ranks_lost,
    .rank_again = rank_again,
    .fence_done = hb_pmix_fence_done,
    .modex_done = hb_pmix_modex_done,
    .modex_serve = hb_pmix_modex_serve,
    .name_done = hb_pmix_name_done,
    .spawn_done = hb_pmix_spawn_done,
    .event = hb_pmix_event_came,
    .output_room = hb_pmix_output_room,
    .fd = get_fd,
    .dispatch = dispatch,
    .destroy = destroy,
};
