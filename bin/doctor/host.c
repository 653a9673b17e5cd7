/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What files of a host tell: shared memory, huge pages, sidecars of a service
 * mesh, the file system of the working directory; limits stand in a file of
 * their own. A check is a row of a table and says nothing where all is well. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bin/doctor/impl.h"
#include "bin/proc/cgroup.h"
#include "lib/base/fd.h"

#define FILE_BYTES_MAX (1u << 20)
#define MIB (1u << 20)
/* A container's default; segments of MPIs and NCCL are larger. */
#define SHM_MIN_BYTES (256ull * MIB)

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

int look_has_rdma(const struct look *l)
{
    return l->e->fabric != NULL && l->e->fabric->n_rdma > 0;
}

static void check_shm(struct look *l)
{
    static const char why[] = "segments of MPI, UCX and NCCL do not fit, and a "
                              "rank that touches what is missing dies of "
                              "SIGBUS";
    char *path = hb_xasprintf("%s/dev/shm", l->e->root);
    unsigned long long size, left;
    struct statvfs s;

    if (statvfs(path, &s) != 0 ||
        faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0) {
        look_found(l, HB_GRADE_BAD, "shm",
                   "MPI, UCX and NCCL keep the memory that ranks of a host "
                   "share there",
                   "mount a tmpfs there that all may write (mode 1777)",
                   "/dev/shm cannot be used: %s", strerror(errno));
        free(path);
        return;
    }
    size = (unsigned long long)s.f_blocks * s.f_frsize;
    left = (unsigned long long)s.f_bavail * s.f_frsize;
    if (size < SHM_MIN_BYTES) {
        look_found(l, HB_GRADE_DEGRADED, "shm", why,
                   "mount an emptyDir with medium: Memory at /dev/shm, or "
                   "docker run --shm-size=8g",
                   "/dev/shm has %llu MiB", size / MIB);
    } else if (left < SHM_MIN_BYTES) {
        look_found(l, HB_GRADE_DEGRADED, "shm", why,
                   "remove what programs that have ended left there: "
                   "ls -l /dev/shm", "/dev/shm has %llu of %llu MiB left",
                   left / MIB, size / MIB);
    }
    free(path);
}

uint64_t look_value(const char *text, const char *key)
{
    uint64_t value = 0;

    return hb_cgroup_value(text, key, &value) == 0 ? value : 0;
}

static void check_hugepages(struct look *l)
{
    char *info = look_file(l, "/proc/meminfo");
    uint64_t total = look_value(info, "HugePages_Total:");
    uint64_t left = look_value(info, "HugePages_Free:");

    if (total > 0 && left == 0) {
        look_found(l, HB_GRADE_DEGRADED, "hugepages",
                   "libraries that ask for huge pages fall back to small ones",
                   "free some, or reserve more: sysctl vm.nr_hugepages",
                   "all %llu huge pages are taken",
                   (unsigned long long)total);
    }
    free(info);
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
        look_at_limits, check_shm, check_hugepages, look_at_cgroups,
        check_sidecars, check_wdir, check_kernel, look_at_devices, look_at_sshd,
    };
    struct look l = {.e = e, .out = out, .facts = facts};

    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        checks[i](&l);
    }
    if (e->root[0] == '\0') {
        look_by_trying(&l);
    }
}
