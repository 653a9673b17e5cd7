/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Whose a file in /dev/shm was cannot be told once its rank is dead, and what
 * another job uses must stay. So the kernel is asked: it grants a write lease
 * on a file only while nobody else has it open, and a mapping counts as that.
 * MPIs and NCCL keep mapped what they have made, so what can be leased, and
 * bears a name of theirs, is garbage. The lease is held until the name is
 * gone: whoever opens the file meanwhile waits that long. */
#include "config.h"

#include "bin/proc/segments.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

#define PLACE "/dev/shm"

/* MPICH 5, MPICH 4, Intel MPI, PSM2 and PSM3 (libfabric, Open MPI), UCX, NCCL.
 */
static const char *const prefixes[] = {
    "mpich_shm_", "mpich_shar_tmp", "Intel_MPI_", "psm2_shm.", "psm3_shm.",
    "ucx_shm_posix_", "nccl-",
};

int64_t hb_segments_time(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000 * 1000 * 1000 + t->tv_nsec;
}

int64_t hb_segments_now(void)
{
    struct timespec t = {0, 0};

    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return hb_segments_time(&t);
}

/* Suspended or not, and whatever rate it is disciplined to, the other clock
 * goes as this one does; it is never set. */
int64_t hb_segments_apart(void)
{
    struct timespec real = {0, 0}, boot = {0, 0};

    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_REALTIME, &real);
    return hb_segments_time(&real) - hb_segments_time(&boot);
}

int64_t hb_segments_since(int64_t stamp_ns, int64_t apart_ns)
{
    int64_t set_ns = hb_segments_apart() - apart_ns;

    return set_ns < 0 ? stamp_ns + set_ns : stamp_ns;
}

static int is_segments_name(const char *name)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (hb_starts_with(name, prefixes[i])) {
            return 1;
        }
    }
    return 0;
}

static int is_ours(int fd, int64_t since_ns, struct stat *st_out)
{
    return fstat(fd, st_out) == 0 && S_ISREG(st_out->st_mode) &&
           st_out->st_uid == geteuid() &&
           hb_segments_time(&st_out->st_ctim) >= since_ns;
}

/* Who is asked to give a lease back is sent SIGIO, which would end it; SIGURG
 * does nothing. */
static int is_nobodys(int fd)
{
    return fcntl(fd, F_SETSIG, SIGURG) == 0 &&
           fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

static int is_still_there(int dir, const char *name, const struct stat *was)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_dev == was->st_dev && st.st_ino == was->st_ino;
}

static int remove_one(int dir, const char *name, int64_t since_ns)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
                    O_CLOEXEC);
    struct stat st;
    int removed = fd >= 0 && is_ours(fd, since_ns, &st) && is_nobodys(fd) &&
                  is_still_there(dir, name, &st) &&
                  unlinkat(dir, name, 0) == 0;

    hb_fd_close(&fd);
    return removed;
}

int hb_segments_remove_in(const char *dir, int64_t since_ns)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int n = 0;

    while (d != NULL && (e = readdir(d)) != NULL) {
        if (is_segments_name(e->d_name)) {
            n += remove_one(dirfd(d), e->d_name, since_ns);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

int hb_segments_remove(int64_t since_ns)
{
    return hb_segments_remove_in(PLACE, since_ns);
}
