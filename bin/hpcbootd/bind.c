/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Places on this host: the launcher's policy and this host's topology make a
 * plan for all its ranks; each rank's part goes into its start, where it is
 * applied and read back before exec, and into what the rank is told: the
 * number of its threads, its GPUs, and the topology, which this process has
 * read once, so that no rank need read it again. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bin/hpcbootd/agent.h"
#include "bin/pm/family.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/topo/gpu_share.h"

#define TOPO_FILE "topology.xml"

static void report(struct agent *a)
{
    if (!a->bind.bound) {
        agent_note(a, HB_INFO, "ranks are not bound: %s", a->bind.why);
        return;
    }
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        agent_note(a, HB_INFO, "rank %u %s", a->ranks[i].rank,
                   a->bind.report[i]);
    }
    agent_note(a, HB_INFO, "binding: %s", a->bind.why);
}

/* Whose MPI reads a topology of hwloc 2 where it is told of one; an older
 * hwloc inside another library would stumble over it. */
static int reads_topology(const struct agent *a)
{
    switch (a->job.flavour) {
    case HB_MPI_OPENMPI4:
    case HB_MPI_OPENMPI5:
    case HB_MPI_MPICH:
        return a->job.family != HB_PM_NONE;
    default:
        return 0;
    }
}

/* "RANK SLOTS" of the ranks that are here. */
static void take_slots(struct agent *a)
{
    for (size_t i = 0; i < a->job.rank_slots.n; i++) {
        const char *text = a->job.rank_slots.v[i];
        const char *blank = strchr(text, ' ');
        char *number = hb_xstrndup(text, blank != NULL ? (size_t)(blank - text)
                                                       : 0);
        uint64_t rank;
        struct rank *r;

        if (hb_parse_u64(number, 0, HB_MAX_RANKS, &rank) == 0 &&
            (r = agent_rank(a, (uint32_t)rank)) != NULL) {
            if (a->slots == NULL) {
                a->slots = hb_xcalloc(a->n_ranks, sizeof *a->slots);
            }
            a->slots[r - a->ranks] = blank + 1;
        }
        free(number);
    }
    a->bind_policy.slots = a->slots;
}

static void count_programs(struct agent *a)
{
    a->programs = hb_xcalloc(a->job.map->n_apps, sizeof *a->programs);
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        a->programs[hb_jobmap_app_of(a->job.map, a->ranks[i].rank)]++;
    }
    a->bind_policy.programs = a->programs;
    a->bind_policy.n_programs = a->job.map->n_apps;
}

/* Memory policies are tried once; a container that refuses them (seccomp) is
 * no reason to worry anybody. */
static void plan_memory(struct agent *a)
{
    int refused;

    if (!a->bind.bound ||
        !hb_bind_memory_matters(&a->bind_policy, a->here.topo)) {
        return;
    }
    refused = hb_bind_memory_probe();
    if (refused != 0) {
        agent_note(a, HB_DEBUG, "memory does not follow the ranks' CPUs: %s "
                   "(the container forbids set_mempolicy)", strerror(refused));
        return;
    }
    a->mem = hb_xcalloc(a->n_ranks, sizeof *a->mem);
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        hb_bind_memory_of(&a->bind_policy, a->here.topo, &a->bind.cpus[i],
                          &a->mem[i]);
    }
}

/* Who needs the topology tells that it cannot be had. */
static void keep_listed_gpus(struct agent *a)
{
    const struct hb_bind_policy *policy = &a->bind_policy;
    int by_gpu = policy->by == HB_MAP_GPU ||
                 (policy->by == HB_MAP_PPR_OBJECT &&
                  policy->ppr_object == HB_MAP_GPU);
    uint32_t n = a->job.map->n_apps;
    const struct hb_strv **env = hb_xcalloc(n + 1, sizeof *env);

    for (uint32_t i = 0; i < n; i++) {
        env[i] = &a->job.apps[i].env;
    }
    if ((by_gpu || policy->gpus > 0) && a->n_ranks > 0 &&
        hb_here_load(&a->here, NULL) >= 0) {
        hb_gpus_keep_common(a->here.topo, env, n);
    }
    free(env);
}

static int plan_gpus(struct agent *a, struct hpcboot_error *err)
{
    uint32_t each = a->bind_policy.gpus;
    char *shared;
    int rc;

    if (each == 0 || a->n_ranks == 0) {
        return 0;
    }
    rc = hb_here_load(&a->here, err);
    if (rc < 0) {
        return rc;
    }
    a->gpus = hb_xcalloc((size_t)a->n_ranks * each, sizeof *a->gpus);
    rc = hb_gpus_assign(a->here.topo, a->bind.bound ? a->bind.cpus : NULL,
                        a->n_ranks, each, a->gpus, err);
    if (rc < 0) {
        return rc;
    }
    shared = hb_gpus_shared(a->here.topo, a->n_ranks, each);
    if (shared != NULL) {
        agent_note(a, HB_WARN, "%s", shared);
    }
    free(shared);
    return 0;
}

/* The topology in the session directory, for hwloc in the ranks and in the
 * PMIx server. */
static void export_topology(struct agent *a)
{
    struct hpcboot_error why = {0};
    char *path;
    int fd;

    if ((!reads_topology(a) && a->job.family != HB_PM_PMIX) ||
        a->session_dir == NULL) {
        return;
    }
    if (hb_here_load(&a->here, &why) < 0) {
        agent_note(a, HB_DEBUG, "ranks look at the topology themselves: %s",
                   why.text);
        return;
    }
    path = hb_xasprintf("%s/" TOPO_FILE, a->session_dir);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
              S_IRUSR | S_IWUSR);
    if (fd >= 0 && hb_fd_write_all(fd, a->here.xml, strlen(a->here.xml),
                                   NULL) >= 0) {
        a->topo_file = path;
        path = NULL;
    }
    hb_fd_close(&fd);
    free(path);
}

static void describe_places(struct agent *a)
{
    for (uint32_t i = 0; a->bind.bound && i < a->n_ranks; i++) {
        hb_strv_take(&a->places, hb_cpus_text(&a->bind.cpus[i]));
        hb_strv_take(&a->localities, hb_bind_locality(a->here.topo,
                                                      &a->bind.cpus[i]));
    }
}

static int plan(struct agent *a, struct hpcboot_error *err)
{
    struct hb_bind_policy *policy = &a->bind_policy;
    int tell = (a->job.flags & HB_JOB_REPORT_BINDINGS) != 0;
    int rc = hb_bind_policy_parse(a->job.bind_to, policy, err);

    if (rc == 0) {
        take_slots(a);
        count_programs(a);
        keep_listed_gpus(a);
    }
    if (rc == 0 && policy->to == HB_BIND_NONE && !tell) {
        return 0; /* nothing to look at, and nobody to tell */
    }
    if (rc == 0 && !hb_bind_leave_alone(policy, a->job.family == HB_PM_PMIX,
                                        a->n_ranks, &a->bind)) {
        rc = hb_bind_here(policy, a->n_ranks, &a->here, &a->bind, err);
    }
    if (rc == 0 && tell) {
        report(a);
    } else if (rc == 0 && a->bind.unmet) {
        agent_note(a, HB_WARN, "ranks are not bound: %s", a->bind.why);
    }
    return rc;
}

int agent_bind_plan(struct agent *a, struct hpcboot_error *err)
{
    int rc = plan(a, err);

    if (rc == 0) {
        plan_memory(a);
        rc = plan_gpus(a, err);
    }
    if (rc == 0) {
        export_topology(a);
        describe_places(a);
    }
    if (a->here.topo != NULL) {
        agent_note(a, HB_DEBUG, "the topology came from %s in %u.%03u ms",
                   a->here.from_cache ? "an earlier look" : "hwloc",
                   a->here.us / 1000, a->here.us % 1000);
    }
    return rc;
}

int agent_oversubscribed(const struct agent *a)
{
    uint32_t slots = a->allowed.slots;

    /* Hardware threads may have been asked for, or several CPUs for each. */
    if (hb_bind_by_threads(&a->bind_policy)) {
        slots = hb_allowed_within(a->allowed.pus, a->allowed.quota_milli);
    }
    return (a->job.flags & HB_JOB_OVERSUBSCRIBED) != 0 || a->n_ranks > slots;
}

void agent_bind_spec(const struct rank *r, struct hb_proc_spec *spec)
{
    const struct agent *a = r->agent;
    size_t i = (size_t)(r - a->ranks);

    if (a->bind.bound) {
        const struct hb_cpus *cpus = &a->bind.cpus[i];

        spec->cpuset = cpus->set;
        spec->cpuset_size = sizeof cpus->set;
    }
    if (a->mem != NULL) {
        spec->mem_mode = a->mem[i].mode;
        spec->mem_nodes = a->mem[i].nodes;
        spec->mem_bits = HB_MAX_NUMA;
    }
}

/* Whether the user has said where threads are, also in the words of a runtime
 * of its own, which places would overrule. */
static int places_are_said(const struct hb_strv *env)
{
    static const char *const names[] = {
        "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (hb_env_get(env, names[i]) != NULL) {
            return 1;
        }
    }
    return 0;
}

/* Threads of a rank that has several CPUs; what the user set stays. Places are
 * CPUs that a runtime of OpenMP binds its threads to, the first ones first:
 * ranks that may run on the same CPUs would all be on these. */
static void put_threads(const struct rank *r, struct hb_strv *env)
{
    const struct agent *a = r->agent;
    uint32_t pe = a->bind_policy.pe;

    if (pe < 2) {
        return;
    }
    if (hb_env_get(env, "OMP_NUM_THREADS") == NULL) {
        hb_env_setf(env, "OMP_NUM_THREADS", "%u", pe);
    }
    if (!places_are_said(env) &&
        hb_bind_is_apart(&a->bind, (uint32_t)(r - a->ranks))) {
        hb_env_set(env, "OMP_PLACES",
                   hb_bind_by_threads(&a->bind_policy) ? "threads" : "cores");
    }
}

static void put_gpus(const struct rank *r, struct hb_strv *env)
{
    struct agent *a = r->agent;
    uint32_t at = (uint32_t)(r - a->ranks), each = a->bind_policy.gpus;
    const uint32_t *gpus = a->gpus + (size_t)at * each;

    if ((a->job.flags & HB_JOB_REPORT_BINDINGS) != 0) {
        char *text = hb_gpus_text(a->here.topo, gpus, each, at, env);

        agent_note(a, HB_INFO, "rank %u sees %s", r->rank, text);
        free(text);
    }
    hb_gpus_env(a->here.topo, gpus, each, at, env);
}

/* Who reads it: hwloc itself, by which it was written. libxml divides by zero
 * where it begins, which ends a program that traps that (gfortran
 * -ffpe-trap=zero,invalid). */
static void put_reader(struct hb_strv *env)
{
    if (hb_env_get(env, "HWLOC_LIBXML") == NULL &&
        hb_env_get(env, "HWLOC_LIBXML_IMPORT") == NULL) {
        hb_env_set(env, "HWLOC_LIBXML_IMPORT", "0");
    }
}

void agent_bind_env(const struct rank *r, struct hb_strv *env)
{
    const struct agent *a = r->agent;

    put_threads(r, env);
    if (a->gpus != NULL) {
        put_gpus(r, env);
    }
    if (a->topo_file != NULL && reads_topology(a) &&
        hb_env_get(env, "HWLOC_XMLFILE") == NULL) {
        hb_env_set(env, "HWLOC_XMLFILE", a->topo_file);
        hb_env_set(env, "HWLOC_THISSYSTEM", "1");
        hb_env_unset(env, "HWLOC_COMPONENTS"); /* could keep XML out */
        put_reader(env);
    }
}

void agent_bind_destroy(struct agent *a)
{
    hb_bind_plan_destroy(&a->bind);
    hb_here_clear(&a->here);
    hb_strv_destroy(&a->places);
    hb_strv_destroy(&a->localities);
    free(a->mem);
    free(a->gpus);
    free(a->slots);
    free(a->programs);
    free(a->topo_file);
}
