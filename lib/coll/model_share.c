/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Where the figures of this machine are kept, and how the ranks of a node come
 * to have the same.
 *
 * The file lies in the user's cache folder under the name of its kind of
 * machine (processor, number of CPUs, kernel, version of this library), so a
 * home directory may serve many. It is read only if it is this user's, a plain
 * file, and writable by nobody else; it comes into being in one step. Whatever
 * is wrong with it, typical figures do: it is never a reason to fail.
 *
 * Of the ranks that share a page, one takes it by a compare-and-swap, writes
 * the model, and says so; the others wait. One that has waited too long (the
 * writer was killed) says "none" in the same word, which then holds for all:
 * there is one value at the end, and nobody acts before it. */

#include "config.h"

#include "lib/coll/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"

#define TUNE "HPCBOOT_COLL_TUNE"
#define PATH_ROOM 4096
#define FIGURES " 2" /* another where more is measured */
#define CPUINFO_ROOM 4096
/* For the rank that writes the page: the probe, and a slow file system. */
#define SHARE_MS 500
#define NAP_NS 50000

enum { NOBODY, WRITING, WRITTEN, NONE };

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

/* Of the memory, "coll", or of messages, "net": who measures one of them
 * knows nothing of the other. */
static bool file_of(char *path, size_t size, const char *what, uint64_t key,
                    bool make)
{
    folder_of(path, size, make);
    size_t n = strlen(path);
    return n > 0 && (size_t)snprintf(path + n, size - n, "/%s-%llu", what,
                                     (unsigned long long)key) < size - n;
}

static bool load(struct hb_coll_model *m, const char *path, uint64_t key)
{
    char text[HB_MODEL_TEXT_MOST];
    struct stat st;
    struct hb_coll_model now = *m;
    uint64_t found = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                st.st_uid == geteuid() && (st.st_mode & 022) == 0 &&
                st.st_size <= (off_t)sizeof text;
    ssize_t n = good ? read(fd, text, sizeof text) : -1;
    hb_fd_close(&fd);
    good = n > 0 && hb_model_parse(&now, text, (size_t)n, &found, NULL) == 0 &&
           found == key && now.n_rules == 0;
    if (good) {
        *m = now;
        m->source = HB_MODEL_KEPT;
    }
    return good;
}

/* What the probe has measured, and no border that this build draws. */
static void keep(const struct hb_coll_model *m, const char *path,
                 uint64_t key)
{
    char text[HB_MODEL_TEXT_MOST], temporary[PATH_ROOM + 32];
    struct hb_coll_model measured = *m;
    measured.far_ns = 0;
    int len = hb_model_print(&measured, key, text, sizeof text);
    snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    int fd = open(temporary,
                  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return;
    }
    bool good = len > 0 && (size_t)len < sizeof text &&
                (uint64_t)len <= hb_fd_file_most() &&
                hb_fd_write_all(fd, text, (size_t)len, NULL) == 0;
    hb_fd_close(&fd);
    if (!good || rename(temporary, path) != 0) {
        (void)unlink(temporary);
    }
}

static int rules(struct hb_coll_model *m, struct hpcboot_error *err)
{
    const char *text = getenv(TUNE);
    struct hpcboot_error why = {0};
    if (text == NULL ||
        hb_model_parse(m, text, strlen(text), NULL, &why) == 0) {
        return HPCBOOT_OK;
    }
    return hb_fail(err, HPCBOOT_ERR_USAGE, TUNE ": %s", why.text);
}

int hb_model_here(struct hb_coll_model *m, bool probe, char *path,
                  size_t size, struct hpcboot_error *err)
{
    char file[PATH_ROOM];
    uint64_t key = machine();
    bool named = file_of(file, sizeof file, "coll", key, false);
    hb_model_typical(m);
    hb_stream_caches(m);
    if (!(named && load(m, file, key)) && probe &&
        hb_model_probe(m, NULL) == HPCBOOT_OK && named &&
        file_of(file, sizeof file, "coll", key, true)) {
        keep(m, file, key);
    }
    if (path != NULL) {
        snprintf(path, size, "%s", named ? file : "");
    }
    return rules(m, err);
}

void hb_net_here(struct hb_coll_model *m, bool probe, char *path, size_t size)
{
    char file[PATH_ROOM];
    struct hb_coll_model now = {0};
    uint64_t key = machine();
    bool named = file_of(file, sizeof file, "net", key, false);
    if (!(named && load(&now, file, key)) && probe &&
        hb_net_probe(&now, NULL) == HPCBOOT_OK && named &&
        file_of(file, sizeof file, "net", key, true)) {
        keep(&now, file, key);
    }
    m->send_ns = now.send_ns;
    m->recv_ns = now.recv_ns;
    if (path != NULL) {
        snprintf(path, size, "%s", named ? file : "");
    }
}

void hb_coll_net_costs(bool probe, uint32_t *send_ns_out,
                       uint32_t *recv_ns_out)
{
    struct hb_coll_model m = {0};
    (void)rules(&m, NULL); /* hb_coll_model_share says what is wrong there */
    uint32_t send_ns = m.send_ns, recv_ns = m.recv_ns;
    if (send_ns == 0 || recv_ns == 0) {
        hb_net_here(&m, probe, NULL, 0);
    }
    *send_ns_out = send_ns > 0 ? send_ns : m.send_ns;
    *recv_ns_out = recv_ns > 0 ? recv_ns : m.recv_ns;
}

const struct hb_coll_model *hb_model_shared(struct hb_coll_node_page *page)
{
    return atomic_load_explicit(&page->model_state, memory_order_acquire) ==
                   WRITTEN ? &page->model : NULL;
}

static void await(struct hb_coll_node_page *page)
{
    const struct timespec nap = {0, NAP_NS};
    int64_t deadline = hb_now_ns() + (int64_t)SHARE_MS * 1000000;
    uint32_t writing = WRITING;
    while (atomic_load(&page->model_state) == WRITING) {
        nanosleep(&nap, NULL);
        if (hb_now_ns() > deadline) {
            atomic_compare_exchange_strong(&page->model_state, &writing,
                                           NONE);
        }
    }
}

/* How many CPUs the ranks have, if not one each. */
static uint32_t cpus_of(int ranks)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    long most = ranks > 2 ? ranks / 2 : 1; /* a quota or cpuset has fewer */
    return (uint32_t)(online > 0 && online < most ? online : most);
}

int hb_coll_model_share(struct hb_coll_node_page *page, int ranks,
                        struct hpcboot_error *err)
{
    struct hb_coll_model m;
    uint32_t nobody = NOBODY, writing = WRITING;
    hb_model_typical(&m);
    int rc = rules(&m, err);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    if (!atomic_compare_exchange_strong(&page->model_state, &nobody,
                                        WRITING)) {
        await(page);
        return HPCBOOT_OK;
    }
    bool alone = atomic_load(&page->wait_mode) == HB_COLL_WAIT_SPIN;
    (void)hb_model_here(&m, alone, NULL, 0, NULL);
    m.cpus = m.cpus != 0 || alone ? m.cpus : cpus_of(ranks);
    page->model = m;
    atomic_compare_exchange_strong(&page->model_state, &writing, WRITTEN);
    return HPCBOOT_OK;
}
