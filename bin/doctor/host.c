/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What files of a host tell: limits of this process, which ranks inherit,
 * shared memory, huge pages, its cgroup, sidecars of a service mesh, the file
 * system of the working directory. A check is a row of a table and says nothing
 * where all is well. */

#include "config.h"

#include <errno.h>
#include <linux/capability.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include "bin/doctor/impl.h"
#include "bin/proc/cgroup.h"
#include "lib/base/fd.h"

#define FILE_BYTES_MAX (1u << 20)
#define MIB (1u << 20)
/* Below this an adapter's queues and a few buffers do not fit. */
#define MEMLOCK_MIN_BYTES (64ull * MIB)
/* A container's default; segments of MPIs and NCCL are larger. */
#define SHM_MIN_BYTES (256ull * MIB)
/* Sockets and files of a rank with a few hundred peers. */
#define FILES_MIN 4096u
#define PIDS_LEFT_MIN 64u
/* A throttled period costs every rank that waits for this one. */
#define THROTTLED_PERCENT 5u

char *look_file(const struct look *l, const char *path)
{
    char *full = hb_xasprintf("%s%s", l->e->root, path), *text = NULL;
    size_t len;

    if (hb_file_read(full, FILE_BYTES_MAX, &text, &len, NULL) < 0) {
        text = hb_xstrdup("");
    }
    free(full);
    return text;
}

void look_found(struct look *l, enum hb_grade grade, const char *check,
                const char *why, const char *mend, const char *fmt, ...)
{
    struct hb_str what = HB_STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    hb_str_vputf(&what, fmt, ap);
    va_end(ap);
    const struct hb_finding one = {.grade = grade, .check = (char *)check,
                                   .what = what.s, .why = (char *)why,
                                   .mend = (char *)mend};
    hb_finding_add(l->out, &one, NULL);
    hb_str_destroy(&what);
}

/* A limit of /proc/self/limits: the soft one (0), which this process has, or the
 * hard one (1). UINT64_MAX: none, or not known. */
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

int look_has_rdma(const struct look *l)
{
    return l->e->fabric != NULL && l->e->fabric->n_rdma > 0;
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

static void check_shm(struct look *l)
{
    char *path = hb_xasprintf("%s/dev/shm", l->e->root);
    struct statvfs s;
    unsigned long long size;

    if (statvfs(path, &s) != 0) {
        look_found(l, HB_GRADE_BAD, "shm",
                   "MPI, UCX and NCCL keep the memory that ranks of a host "
                   "share there", "mount a tmpfs there",
                   "/dev/shm cannot be used: %s", strerror(errno));
    } else {
        size = (unsigned long long)s.f_blocks * s.f_frsize;
        if (size < SHM_MIN_BYTES) {
            look_found(l, HB_GRADE_DEGRADED, "shm",
                       "segments of MPI, UCX and NCCL do not fit, and a rank "
                       "that touches what is missing dies of SIGBUS",
                       "mount an emptyDir with medium: Memory at /dev/shm, or "
                       "docker run --shm-size=8g",
                       "/dev/shm has %llu MiB", size / MIB);
        }
    }
    free(path);
}

static uint64_t value_of(const char *text, const char *key)
{
    uint64_t value = 0;

    return hb_cgroup_value(text, key, &value) == 0 ? value : 0;
}

static void check_hugepages(struct look *l)
{
    char *info = look_file(l, "/proc/meminfo");
    uint64_t total = value_of(info, "HugePages_Total:");
    uint64_t left = value_of(info, "HugePages_Free:");

    if (total > 0 && left == 0) {
        look_found(l, HB_GRADE_DEGRADED, "hugepages",
                   "libraries that ask for huge pages fall back to small ones",
                   "free some, or reserve more: sysctl vm.nr_hugepages",
                   "all %llu huge pages are taken",
                   (unsigned long long)total);
    }
    free(info);
}

/* A file of this process's cgroup; free() it. */
static char *cgroup_file(const struct look *l, const char *controller,
                         const char *name)
{
    char *cgroup = look_file(l, "/proc/self/cgroup");
    char *mounts = look_file(l, "/proc/self/mountinfo"), *path, *text;
    struct hb_cgroup_place place = {0};

    if (hb_cgroup_find(cgroup, mounts, controller, &place) != 0) {
        text = hb_xstrdup("");
    } else {
        path = hb_xasprintf("%s%s/%s", place.mount, place.path, name);
        text = look_file(l, path);
        free(path);
    }
    free(place.mount);
    free(place.path);
    free(cgroup);
    free(mounts);
    return text;
}

static void check_throttling(struct look *l)
{
    char *stat = cgroup_file(l, "cpu", "cpu.stat");
    uint64_t periods = value_of(stat, "nr_periods");
    uint64_t throttled = value_of(stat, "nr_throttled");

    if (periods > 0 && throttled * 100 > periods * THROTTLED_PERCENT) {
        look_found(l, HB_GRADE_DEGRADED, "cpu",
                   "a rank that is stopped for the rest of a period holds up "
                   "all that wait for it",
                   "raise the CPU limit, or start fewer ranks",
                   "the CPU quota has stopped this container in %llu of %llu "
                   "periods", (unsigned long long)throttled,
                   (unsigned long long)periods);
    }
    free(stat);
}

static void check_pids(struct look *l)
{
    char *max = cgroup_file(l, "pids", "pids.max");
    char *now = cgroup_file(l, "pids", "pids.current");
    uint64_t most = strtoull(max, NULL, 10), used = strtoull(now, NULL, 10);

    if (most > 0 && most < used + PIDS_LEFT_MIN) {
        look_found(l, HB_GRADE_BAD, "limits",
                   "ranks and their threads cannot be started",
                   "raise the limit of processes (pids.max, podPidsLimit)",
                   "%llu of %llu processes are in use",
                   (unsigned long long)used, (unsigned long long)most);
    }
    free(max);
    free(now);
}

/* "mlx5_0 hca_handle=2 hca_object=2000", "max" where there is none. */
static void check_rdma_cgroup(struct look *l)
{
    char *text = cgroup_file(l, "rdma", "rdma.max"), *save = NULL;

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
        }
    }
    free(text);
}

/* Does anything listen on this port? The line of a socket in /proc/net/tcp is
 * "N: ADDRESS:PORT PEER:PORT STATE ...", 0A where it listens. Others that are
 * connected to such a port somewhere have nothing to do with it. */
static int listens_on(const char *sockets, unsigned port)
{
    for (const char *line = sockets; *line != '\0';
         line += strcspn(line, "\n"), line += *line == '\n') {
        unsigned mine, state;

        if (sscanf(line, "%*d: %*[0-9A-F]:%4x %*[0-9A-F]:%*4x %2x", &mine,
                   &state) == 2 && mine == port && state == TCP_LISTEN) {
            return 1;
        }
    }
    return 0;
}

/* A proxy has all the ports of its row: one alone may be another program's, as
 * 15001 is PBS's. */
static void check_sidecars(struct look *l)
{
    static const struct {
        unsigned ports[2];
        const char *name;
    } proxies[] = {
        {{15001, 15006}, "istio-proxy (ports 15001 and 15006)"},
        {{4143, 4140}, "linkerd-proxy (ports 4143 and 4140)"},
    };
    char *tcp = look_file(l, "/proc/net/tcp");
    char *tcp6 = look_file(l, "/proc/net/tcp6");

    for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++) {
        int there = 1;

        for (int k = 0; k < 2; k++) {
            there &= listens_on(tcp, proxies[i].ports[k]) ||
                     listens_on(tcp6, proxies[i].ports[k]);
        }
        if (there) {
            look_found(l, HB_GRADE_DEGRADED, "sidecar",
                       "it takes over connections between pods: ranks see "
                       "other addresses than they connect to, and the pod "
                       "does not end with its job",
                       "leave the pods out of the mesh: sidecar.istio.io/"
                       "inject: \"false\", linkerd.io/inject: disabled",
                       "a service mesh's proxy runs here: %s",
                       proxies[i].name);
        }
    }
    free(tcp);
    free(tcp6);
}

static const char *file_system_name(long type)
{
    static const struct {
        long type;
        const char *name;
    } known[] = {
        {0x6969, "nfs"}, {0xff534d42, "cifs"}, {0x0bd00bd0, "lustre"},
        {0x00c36400, "ceph"}, {0x47504653, "gpfs"}, {0x65735546, "fuse"},
        {0x794c7630, "overlay"}, {0x01021994, "tmpfs"}, {0xef53, "ext4"},
        {0x58465342, "xfs"}, {0x9123683e, "btrfs"}, {0x01021997, "9p"},
        {0x19830326, "beegfs"},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].type == type) {
            return known[i].name;
        }
    }
    return "another kind";
}

static void check_wdir(struct look *l)
{
    char *path;
    struct statfs s;

    if (l->e->wdir == NULL || l->e->wdir[0] == '\0') {
        return;
    }
    path = hb_xasprintf("%s%s", l->e->root, l->e->wdir);
    if (statfs(path, &s) != 0) {
        look_found(l, HB_GRADE_DEGRADED, "wdir",
                   "ranks start in the launcher's directory, or else in their "
                   "home", "mount it there too, or give --wdir",
                   "the working directory %s cannot be used: %s", l->e->wdir,
                   strerror(errno));
    } else {
        hb_strv_pushf(l->facts, "file system of the working directory=%s",
                      file_system_name(s.f_type));
    }
    free(path);
}

static void check_kernel(struct look *l)
{
    struct utsname u;

    if (uname(&u) == 0) {
        hb_strv_pushf(l->facts, "kernel=%s", u.release);
        hb_strv_pushf(l->facts, "machine=%s", u.machine);
    }
}

void hb_exam_host(const struct hb_exam *e, struct hb_findings *out,
                  struct hb_strv *facts)
{
    static void (*const checks[])(struct look *) = {
        check_memlock, check_files, check_shm, check_hugepages,
        check_throttling, check_pids, check_rdma_cgroup, check_sidecars,
        check_wdir, check_kernel, look_at_devices, look_at_sshd,
    };
    struct look l = {.e = e, .out = out, .facts = facts};

    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        checks[i](&l);
    }
    if (e->root[0] == '\0') {
        look_by_trying(&l);
    }
}
