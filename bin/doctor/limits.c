/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Limits of this process, which ranks inherit, and those of its cgroup and of
 * the groups above it. */

#include "config.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/doctor/impl.h"
#include "bin/proc/cgroup.h"

/* Below this an adapter's queues and a few buffers do not fit. */
#define MEMLOCK_MIN_BYTES (64ull << 20)
/* Sockets and files of a rank with a few hundred peers. */
#define FILES_MIN 4096u
/* Ranks of a host with some threads each, as OpenMP and PMIx start them. */
#define PROCESSES_MIN 1024u
#define PIDS_LEFT_MIN 64u
/* A throttled period costs every rank that waits for this one. */
#define THROTTLED_PERCENT 5u

/* A limit of /proc/self/limits: the soft one (0), which this process has, or
 * the hard one (1). UINT64_MAX: none, or not known. */
static uint64_t limit_of(const char *limits, const char *name, int hard)
{
    const char *line = strstr(limits, name);
    char *end;
    uint64_t value;

    if (line == NULL) {
        return UINT64_MAX;
    }
    line += strlen(name);
    for (int i = 0; i < hard; i++) {
        line += strspn(line, " ");
        line += strcspn(line, " \n");
    }
    line += strspn(line, " ");
    value = strtoull(line, &end, 10);
    return end == line ? UINT64_MAX : value;
}

/* Has this process a capability where the kernel asks for it, outside of all
 * user namespaces? */
static int is_capable(const struct look *l, unsigned capability)
{
    char *status = look_file(l, "/proc/self/status");
    char *map = look_file(l, "/proc/self/uid_map");
    const char *set = strstr(status, "\nCapEff:");
    unsigned long inside, outside, n;
    int capable = set != NULL &&
                  sscanf(map, "%lu %lu %lu", &inside, &outside, &n) == 3 &&
                  outside == 0 && n == UINT32_MAX &&
                  (strtoull(set + 8, NULL, 16) >> capability & 1) != 0;

    free(status);
    free(map);
    return capable;
}

/* Ranks get the hard limit, and who has the capability is not asked for one. */
static void check_memlock(struct look *l)
{
    char *limits = look_file(l, "/proc/self/limits");
    uint64_t bytes = limit_of(limits, "Max locked memory", 1);

    if (look_has_rdma(l) && bytes < MEMLOCK_MIN_BYTES &&
        !is_capable(l, CAP_IPC_LOCK)) {
        look_found(l, HB_GRADE_BAD, "memlock",
                   "RDMA memory is locked; queues and buffers cannot be made "
                   "(\"Cannot allocate memory\")",
                   "raise it: ulimit -l unlimited before sshd or the "
                   "container's start, LimitMEMLOCK=infinity of its runtime, "
                   "or the capability IPC_LOCK in the pod's spec",
                   "ranks may lock %llu KiB of memory",
                   (unsigned long long)bytes >> 10);
    }
    free(limits);
}

static void check_files(struct look *l)
{
    char *limits = look_file(l, "/proc/self/limits");
    uint64_t files = limit_of(limits, "Max open files", 0);

    if (files < FILES_MIN) {
        look_found(l, HB_GRADE_DEGRADED, "limits",
                   "each peer takes a descriptor or more: ranks of a large "
                   "job run out of them",
                   "raise it: ulimit -n 65536, or LimitNOFILE of the "
                   "container's runtime",
                   "ranks may have %llu open files",
                   (unsigned long long)files);
    }
    free(limits);
}

/* ulimit -u counts all processes and threads of a user, but for root's and
 * those of who may do without. */
static void check_processes(struct look *l)
{
    char *limits = look_file(l, "/proc/self/limits");
    char *status = look_file(l, "/proc/self/status");
    const char *uid = strstr(status, "\nUid:");
    uint64_t most = limit_of(limits, "Max processes", 0);

    if (uid != NULL && strtoul(uid + 5, NULL, 10) != 0 &&
        most < PROCESSES_MIN && !is_capable(l, CAP_SYS_RESOURCE)) {
        look_found(l, HB_GRADE_DEGRADED, "limits",
                   "all threads of this user on the host count, and ranks of "
                   "many threads cannot be started",
                   "raise it: ulimit -u, or nproc in /etc/security/limits.conf",
                   "ranks may be %llu processes and threads in all",
                   (unsigned long long)most);
    }
    free(limits);
    free(status);
}

void look_at_limits(struct look *l)
{
    check_memlock(l);
    check_files(l);
    check_processes(l);
}

/* Where this process's cgroup of a controller lies; free both strings of it.
 * 0, or -1 where there is none. */
static int cgroup_place(const struct look *l, const char *controller,
                        struct hb_cgroup_place *out)
{
    char *cgroup = look_file(l, "/proc/self/cgroup");
    char *mounts = look_file(l, "/proc/self/mountinfo");
    int rc = hb_cgroup_find(cgroup, mounts, controller, out);

    free(cgroup);
    free(mounts);
    return rc;
}

static char *cgroup_file(const struct look *l,
                         const struct hb_cgroup_place *place, const char *name)
{
    char *path = hb_xasprintf("%s%s/%s", place->mount, place->path, name);
    char *text = look_file(l, path);

    free(path);
    return text;
}

/* What the groups above limit holds below them too. Looks at this process's
 * group and at each above it, until `look` says (1) that this was enough. */
static void each_cgroup(struct look *l, const char *controller,
                        int (*look)(struct look *,
                                    const struct hb_cgroup_place *))
{
    struct hb_cgroup_place place = {0};
    int more = cgroup_place(l, controller, &place) == 0;

    while (more && look(l, &place) == 0) {
        char *last = strrchr(place.path, '/');

        more = last != NULL;
        if (more) {
            *last = '\0';
        }
    }
    free(place.mount);
    free(place.path);
}

static int is_throttled(struct look *l, const struct hb_cgroup_place *place)
{
    char *stat = cgroup_file(l, place, "cpu.stat");
    uint64_t periods = look_value(stat, "nr_periods");
    uint64_t throttled = look_value(stat, "nr_throttled");
    int is = periods > 0 && throttled * 100 > periods * THROTTLED_PERCENT;

    if (is) {
        look_found(l, HB_GRADE_DEGRADED, "cpu",
                   "a rank that is stopped for the rest of a period holds up "
                   "all that wait for it",
                   "raise the CPU limit, or start fewer ranks",
                   "the CPU quota has stopped this container in %llu of %llu "
                   "periods", (unsigned long long)throttled,
                   (unsigned long long)periods);
    }
    free(stat);
    return is;
}

static int is_full(struct look *l, const struct hb_cgroup_place *place)
{
    char *max = cgroup_file(l, place, "pids.max");
    char *now = cgroup_file(l, place, "pids.current");
    uint64_t most = strtoull(max, NULL, 10), used = strtoull(now, NULL, 10);
    int is = most > 0 && most < used + PIDS_LEFT_MIN;

    if (is) {
        look_found(l, HB_GRADE_BAD, "limits",
                   "ranks and their threads cannot be started",
                   "raise the limit of processes (pids.max, podPidsLimit)",
                   "%llu of %llu processes are in use",
                   (unsigned long long)used, (unsigned long long)most);
    }
    free(max);
    free(now);
    return is;
}

/* "mlx5_0 hca_handle=2 hca_object=2000", "max" where there is none. */
static int forbids_rdma(struct look *l, const struct hb_cgroup_place *place)
{
    char *text = cgroup_file(l, place, "rdma.max"), *save = NULL;
    int does = 0;

    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        const char *handle = strstr(line, "hca_handle=");
        const char *object = strstr(line, "hca_object=");

        if ((handle != NULL && strtoul(handle + 11, NULL, 10) == 0 &&
             strncmp(handle + 11, "max", 3) != 0) ||
            (object != NULL && strtoul(object + 11, NULL, 10) == 0 &&
             strncmp(object + 11, "max", 3) != 0)) {
            look_found(l, HB_GRADE_BAD, "rdma-cgroup",
                       "no queue can be made on the device, whatever its file "
                       "allows", "raise rdma.max of this container's cgroup",
                       "its cgroup forbids an RDMA device: %s", line);
            does = 1;
        }
    }
    free(text);
    return does;
}

void look_at_cgroups(struct look *l)
{
    each_cgroup(l, "cpu", is_throttled);
    each_cgroup(l, "pids", is_full);
    each_cgroup(l, "rdma", forbids_rdma);
}
