/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Where the figures of this machine are kept.
 *
 * The file lies in the user's cache folder under the name of its kind of
 * machine (processor, number of CPUs, kernel, version of this library), so a
 * home directory may serve many. It is read only if it is this user's, a plain
 * file, and writable by nobody else; it comes into being in one step. Whatever
 * is wrong with it, typical figures do: it is never a reason to fail.
 *
 * What others do while a machine is measured makes figures larger, and evenly
 * at times, so that the probe does not see it; on a virtual machine two
 * processors may for a while be two threads of one core, and figures smaller:
 * such a take counts where there is no other. So the first few jobs measure,
 * later ones now and then; the file has the last takes, and of each figure the
 * second of five counts, the least first: of a machine that is busy half of the
 * time, one that was not. Of how near the ranks may be (far_ns) it is the
 * least. */

#include "config.h"

#include "lib/coll/impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/fd.h"

#define PATH_ROOM 4096
#define FIGURES " 6" /* another where more, or otherwise, is measured */
#define CPUINFO_ROOM 4096
#define TAKES 5     /* by the first jobs */
#define TAKE_S 3600 /* and then one in so long */

static uint64_t mix(uint64_t h, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) { /* FNV-1a */
        h = (h ^ (unsigned char)s[i]) * 1099511628211u;
    }
    return h;
}

/* The line of /proc/cpuinfo that names the processor, if there is one. */
static uint64_t mix_processor(uint64_t h)
{
    char text[CPUINFO_ROOM];
    int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    hb_fd_close(&fd);
    text[n > 0 ? n : 0] = '\0';
    for (char *line = text, *end; *line != '\0'; line = end) {
        end = line + strcspn(line, "\n");
        if (strncmp(line, "model", 5) == 0 ||
            strncmp(line, "CPU part", 8) == 0) {
            h = mix(h, line, (size_t)(end - line));
        }
        end += *end == '\n';
    }
    return h;
}

static uint64_t machine(void)
{
    struct utsname u;
    uint64_t h = 14695981039346656037u;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (uname(&u) == 0) {
        h = mix(h, u.release, strlen(u.release));
        h = mix(h, u.machine, strlen(u.machine));
    }
    h = mix(h, PACKAGE_VERSION FIGURES, sizeof PACKAGE_VERSION FIGURES);
    h = mix(h, (const char *)&cpus, sizeof cpus);
    return mix_processor(h) >> 24; /* as long as the text takes */
}

/* The folder, made if `make`; "" where the user has none. */
static void folder_of(char *path, size_t size, bool make)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool own = cache != NULL && cache[0] == '/';
    int n = -1;
    path[0] = '\0';
    if (own) {
        n = snprintf(path, size, "%s", cache);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(path, size, "%s/.cache", home);
    }
    if (n < 0 || (size_t)n + sizeof "/hpcboot" > size) {
        path[0] = '\0';
        return;
    }
    if (make) {
        (void)mkdir(path, 0700);
    }
    memcpy(path + n, "/hpcboot", sizeof "/hpcboot");
    if (make) {
        (void)mkdir(path, 0700);
    }
}

/* One file for figures of the memory ("coll") and one for those of messages
 * ("net"): they are measured apart. */
static bool file_of(char *path, size_t size, const char *what, uint64_t key,
                    bool make)
{
    folder_of(path, size, make);
    size_t n = strlen(path);
    return n > 0 && (size_t)snprintf(path + n, size - n, "/%s-%llu", what,
                                     (unsigned long long)key) < size - n;
}

struct kept {
    struct hb_coll_model takes[TAKES]; /* the oldest first */
    int n;
    bool due; /* for another */
};

static void load(struct kept *k, const char *path, uint64_t key)
{
    char text[HB_MODEL_TEXT_MOST];
    struct stat st;
    *k = (struct kept){.due = true};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                st.st_uid == geteuid() && (st.st_mode & 022) == 0 &&
                st.st_size <= (off_t)sizeof text;
    ssize_t n = good ? read(fd, text, sizeof text) : -1;
    hb_fd_close(&fd);
    if (n > 0) {
        k->n = hb_model_parse_takes(k->takes, TAKES, text, (size_t)n, key);
        k->due = k->n < TAKES || time(NULL) - st.st_mtime > TAKE_S;
    }
}

static size_t print_takes(const struct kept *k, uint64_t key, char *text,
                          size_t size)
{
    size_t len = (size_t)snprintf(
        text, size, "# What a probe of this machine has measured, for "
        "collectives: the last takes.\n# Remove it to have it measured "
        "anew.\n");
    for (int i = 0; i < k->n && len < size; i++) {
        len += (size_t)hb_model_print(&k->takes[i], key, text + len,
                                      size - len);
    }
    return len;
}

static void save(const struct kept *k, const char *path, uint64_t key)
{
    char text[HB_MODEL_TEXT_MOST], temporary[PATH_ROOM + 32];
    size_t len = print_takes(k, key, text, sizeof text);
    snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    int fd = open(temporary,
                  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return;
    }
    bool good = len < sizeof text && len <= hb_fd_file_most() &&
                hb_fd_write_all(fd, text, len, NULL) == 0;
    hb_fd_close(&fd);
    if (!good || rename(temporary, path) != 0) {
        (void)unlink(temporary);
    }
}

static bool take(struct kept *k, hb_model_probe_fn probe)
{
    struct hb_coll_model now = {0};
    if (probe == NULL || !k->due || probe(&now, NULL) < 0) {
        return false;
    }
    if (k->n == TAKES) {
        memmove(k->takes, k->takes + 1, (TAKES - 1) * sizeof *k->takes);
        k->n--;
    }
    k->takes[k->n++] = now;
    return true;
}

void hb_model_find(struct hb_coll_model *m, const char *what,
                   hb_model_probe_fn probe, char *path, size_t size)
{
    char file[PATH_ROOM];
    uint64_t key = machine();
    struct kept k = {.due = true};
    bool named = file_of(file, sizeof file, what, key, false);
    if (named) {
        load(&k, file, key);
    }
    bool taken = take(&k, probe);
    if (taken && named && file_of(file, sizeof file, what, key, true)) {
        save(&k, file, key);
    }
    if (k.n > 0) {
        hb_model_of_takes(m, k.takes, k.n);
        m->source = taken ? HB_MODEL_PROBED : HB_MODEL_KEPT;
    }
    if (path != NULL) {
        snprintf(path, size, "%s", named ? file : "");
    }
}
