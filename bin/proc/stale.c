/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What the dead have left: ranks of a job whose launcher, guard and agent were
 * all killed, in so far as they have sessions of their own and so outlive
 * their parents, and the job's directories.
 *
 * Each directory holds a file that names guard and agent by pid and start
 * time, the boot of a machine and the PID name space in which that means
 * something, and the cookie by which their ranks are known. Only directories of
 * this user that were made by mkdtemp are believed, so what is in them was
 * written by this user.
 *
 * The places may be shared by many machines, and name spaces of the same number
 * are on each of them. What tells machines apart is the boot: names and
 * machine-id are alike where many start from one image. So what a boot of this
 * machine itself has left stays when it is started anew, for whoever cleans the
 * disk. A directory that is empty and says nothing was left by an agent that
 * was killed while it made or removed it; it goes when it is old enough for
 * that. */
#include "config.h"

#include "bin/proc/stale.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bin/proc/procfs.h"
#include "bin/proc/segments.h"
#include "bin/proc/stage.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define OWNER_MAX_BYTES 512 /* a boot, five numbers and a cookie */
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/* An agent says whose its directory is right after it has made it. */
#define UNOWNED_S 60

/* 0: not known, as where there is no /proc. */
static uint64_t own_name_space(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* -1: not known, as where there is no /proc. */
static int own_boot(char out[HB_BOOT_ID_LEN + 1])
{
    char *text = NULL;
    size_t len = 0;
    int rc = -1;

    if (hb_file_read(BOOT_ID, HB_BOOT_ID_LEN + 1, &text, &len, NULL) == 0
        && len >= HB_BOOT_ID_LEN) {
        memcpy(out, text, HB_BOOT_ID_LEN);
        out[HB_BOOT_ID_LEN] = '\0';
        rc = 0;
    }
    free(text);
    return rc;
}

int hb_owner_parse(const char *text, size_t len, struct hb_owner *out)
{
    char copy[OWNER_MAX_BYTES + 1];
    int end = -1;

    if (len == 0 || len > OWNER_MAX_BYTES) {
        return -1;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    _Static_assert(HB_BOOT_ID_LEN == 36 && HB_COOKIE_MAX == 128,
                   "the widths below");
    if (sscanf(copy, "%36s %" SCNu64 " %d %" SCNu64 " %d %" SCNu64 " %128s%n",
               out->boot, &out->name_space, &out->pids[0], &out->starts[0],
               &out->pids[1], &out->starts[1], out->cookie, &end) != 7
        || end < 0 || copy[end] != '\n' || copy[end + 1] != '\0'
        || strlen(copy) != len || strlen(out->boot) != HB_BOOT_ID_LEN
        || out->name_space == 0 || out->pids[0] <= 0 || out->pids[1] <= 0
        || strlen(out->cookie) < HB_COOKIE_MIN) {
        return -1;
    }
    return 0;
}

int hb_owner_write(const char *dir, const char *cookie,
                   struct hpcboot_error *err)
{
    struct hb_procfs_stat guard, agent;
    char boot[HB_BOOT_ID_LEN + 1];
    char *path = hb_xasprintf("%s/" HB_SESSION_OWNER, dir), *text = NULL;
    int fd = -1, rc = 0;

    if (own_name_space() == 0 || own_boot(boot) < 0
        || hb_procfs_read_stat("/proc", getppid(), &guard) < 0
        || hb_procfs_read_stat("/proc", getpid(), &agent) < 0) {
        rc = hb_fail(err, HPCBOOT_ERR_SYSTEM,
                     "whose %s is cannot be said without /proc", dir);
        goto out;
    }
    text = hb_xasprintf("%s %" PRIu64 " %d %" PRIu64 " %d %" PRIu64 " %s\n",
                        boot, own_name_space(), (int)guard.pid, guard.starttime,
                        (int)agent.pid, agent.starttime, cookie);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
              S_IRUSR | S_IWUSR);
    if (fd < 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "%s cannot be made",
                           path);
    } else {
        rc = hb_fd_write_all(fd, text, strlen(text), err);
    }
out:
    hb_fd_close(&fd);
    free(text);
    free(path);
    return rc;
}

/* Whether its pids are those of this machine and name space. */
static int is_of_here(const struct hb_owner *o)
{
    char boot[HB_BOOT_ID_LEN + 1];

    return o->name_space == own_name_space() && own_boot(boot) == 0
           && hb_streq(boot, o->boot);
}

/* Who cannot be looked at, as for want of a descriptor, may live. */
static int lives(const struct hb_owner *o, int which)
{
    struct hb_procfs_stat st;

    errno = 0;
    if (hb_procfs_read_stat("/proc", o->pids[which], &st) < 0) {
        return errno != ENOENT && errno != ESRCH;
    }
    return st.starttime == o->starts[which] && st.state != 'Z';
}

enum state { OTHERS, EMPTY, STALE };

/* Its owner was never said, or not any longer: killed in between. */
static enum state without_owner(const struct stat *st)
{
    return time(NULL) - st->st_mtime > UNOWNED_S ? EMPTY : OTHERS;
}

/* STALE: a directory of this user whose owners are dead. */
static enum state state_of(const char *path, struct hb_owner *o)
{
    char *file, *text = NULL;
    struct stat st;
    size_t len = 0;
    enum state state = OTHERS;
    int rc;

    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode)
        || st.st_uid != geteuid()) {
        return OTHERS;
    }
    file = hb_xasprintf("%s/" HB_SESSION_OWNER, path);
    rc = hb_file_read(file, OWNER_MAX_BYTES, &text, &len, NULL);
    if (rc == HPCBOOT_ERR_NOT_FOUND) {
        state = without_owner(&st);
    } else if (rc == 0 && hb_owner_parse(text, len, o) == 0
               && is_of_here(o) && !lives(o, 0) && !lives(o, 1)) {
        state = STALE;
    }
    free(text);
    free(file);
    return state;
}

/* Its owner is said before there are ranks; so what shared memory they have
 * left is younger. */
static int64_t owned_since(const char *path)
{
    char *file = hb_xasprintf("%s/" HB_SESSION_OWNER, path);
    struct stat st;
    int64_t since_ns = INT64_MAX;

    if (lstat(file, &st) == 0) {
        since_ns = hb_segments_time(&st.st_mtim);
    }
    free(file);
    return since_ns;
}

static void clear(const char *path, int timeout_ms,
                  struct hb_stale_report *out)
{
    struct hb_owner owner;
    enum state state = state_of(path, &owner);

    if (state == STALE) {
        int64_t since_ns = owned_since(path);

        out->killed += hb_reap_strays_since(owner.cookie, owner.starts[0],
                                            timeout_ms);
        (void)hb_segments_remove(since_ns);
        out->dirs += hb_session_dir_remove(path) == 0;
    } else if (state == EMPTY) {
        out->dirs += rmdir(path) == 0; /* unless something is in it */
    }
}

static void clear_place(const char *place, const char *job_id, uint32_t node,
                        int timeout_ms, struct hb_stale_report *out)
{
    DIR *d = opendir(place);
    struct dirent *e;

    while (d != NULL && (e = readdir(d)) != NULL) {
        if (hb_session_is_name(e->d_name, strlen(e->d_name))
            && !hb_session_is_neighbour(e->d_name, job_id, node)) {
            char *path = hb_xasprintf("%s/%s", place, e->d_name);

            clear(path, timeout_ms, out);
            free(path);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
}

void hb_stale_clear_in(const char *const *places, size_t n,
                       const char *job_id, uint32_t node, int timeout_ms,
                       struct hb_stale_report *out)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < n; i++) {
        if (places[i] != NULL && places[i][0] == '/') {
            clear_place(places[i], job_id, node, timeout_ms, out);
        }
    }
}

void hb_stale_clear(const char *job_id, uint32_t node, int timeout_ms,
                    struct hb_stale_report *out)
{
    struct hb_session_places p;

    hb_session_places(&p);
    hb_stale_clear_in(p.v, HB_SESSION_PLACES, job_id, node, timeout_ms, out);
}
