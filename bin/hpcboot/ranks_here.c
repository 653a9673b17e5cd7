/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The ranks on this host, found from outside: a process of this user that
 * carries a rank and a job's cookie in its environment belongs to a rank. The
 * job that is looked at is not asked, so it may hang as it likes.
 *
 * Whatever is read may be gone, or may be nonsense by intent: each source is
 * bounded, and what is missing is left out. */

#include "config.h"

#include "bin/hpcboot/ranks_here.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/proc/guard.h"
#include "bin/proc/procfs.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define ENVIRON_MAX ((size_t)1 << 20)
#define STAT_MAX 4096

/* FNV-1a of the part of the cookie that all hosts share: names the job and
 * does not give the cookie away. */
static uint32_t job_of(const char *cookie)
{
    uint32_t h = 2166136261u;

    for (; *cookie != '\0' && *cookie != '.'; cookie++) {
        h = (h ^ (unsigned char)*cookie) * 16777619u;
    }
    return h == 0 ? 1 : h;
}

static const char *entry(const char *env, size_t len, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = env; p < env + len; p += strlen(p) + 1) {
        if (strncmp(p, name, n) == 0 && p[n] == '=') {
            return p + n + 1;
        }
    }
    return NULL;
}

int hb_process_read(int pid, const char *file, size_t most, char **out,
                    size_t *len)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    return hb_file_read(path, most, out, len, NULL);
}

size_t hb_process_words(int pid, char out[HB_PROCESS_WORDS_MAX])
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, out, HB_PROCESS_WORDS_MAX - 1) : -1;
    hb_fd_close(&fd);
    n = n > 0 ? n : 0;
    out[n] = '\0';
    return n > 0 && out[n - 1] == '\0' ? (size_t)n - 1 : (size_t)n;
}

uint64_t hb_process_ticks(int pid)
{
    unsigned long long user = 0, system = 0;
    char *text = NULL;
    const char *end;
    size_t len;

    if (hb_process_read(pid, "stat", STAT_MAX, &text, &len) < 0) {
        return 0;
    }
    end = strrchr(text, ')');
    if (end != NULL) {
        (void)sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
                     "%llu %llu", &user, &system);
    }
    free(text);
    return user + system;
}

unsigned hb_percent_of_cpu(uint64_t ticks, double seconds)
{
    long hz = sysconf(_SC_CLK_TCK);

    return hz > 0 && seconds > 0
               ? (unsigned)((double)ticks * 100 / ((double)hz * seconds) + 0.5)
               : 0;
}

/* Whether it is a rank of a job other than this command's own. */
static int read_rank(int pid, struct hb_rank_process *out)
{
    const char *cookie, *rank, *size, *own = getenv(HB_COOKIE_VAR);
    uint64_t r, n = 0;
    char *env = NULL;
    size_t len;
    int yes = 0;

    if (hb_process_read(pid, "environ", ENVIRON_MAX, &env, &len) < 0) {
        return 0;
    }
    cookie = entry(env, len, HB_COOKIE_VAR);
    rank = entry(env, len, "HPCBOOT_RANK");
    size = entry(env, len, "HPCBOOT_SIZE");
    if (cookie != NULL && rank != NULL &&
        (own == NULL || job_of(cookie) != job_of(own)) &&
        hb_parse_u64(rank, 0, INT32_MAX, &r) == 0) {
        if (size != NULL) {
            (void)hb_parse_u64(size, 0, INT32_MAX, &n);
        }
        out->job = job_of(cookie);
        out->rank = (uint32_t)r;
        out->size = (uint32_t)n;
        yes = 1;
    }
    free(env);
    return yes;
}

static int read_process(int pid, struct hb_rank_process *out)
{
    char path[32];
    struct hb_procfs_stat st;
    struct stat owner;

    snprintf(path, sizeof path, "/proc/%d", pid);
    if (stat(path, &owner) < 0 || owner.st_uid != geteuid() ||
        !read_rank(pid, out) || hb_procfs_read_stat("/proc", pid, &st) < 0 ||
        st.state == 'Z') {
        return 0;
    }
    out->pid = pid;
    out->ppid = st.ppid;
    out->state = st.state;
    out->starttime = st.starttime;
    out->ticks = hb_process_ticks(pid);
    return 1;
}

size_t hb_ranks_here(struct hb_rank_process **out)
{
    DIR *dir = opendir("/proc");
    const struct dirent *e;
    size_t n = 0;

    *out = NULL;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        struct hb_rank_process p;
        uint64_t pid;

        if (hb_parse_u64(e->d_name, 1, INT32_MAX, &pid) == 0 &&
            read_process((int)pid, &p)) {
            *out = hb_xrealloc(*out, (n + 1) * sizeof **out);
            (*out)[n++] = p;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return n;
}
