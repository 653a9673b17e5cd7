/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Where this process runs, from the kernel's own words: affinity masks,
 * control groups and sysfs. hwloc is not needed for it, so that a program
 * which links the library loads no more than the library. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/api/api.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/topo/cpus.h"
#include "lib/topo/quota.h"

#define SYSFS_FILE_MAX 65536u
#define MILLI 1000.0

static int put_text(const char *call, char *out, size_t size, const char *text,
                    struct hpcboot_error *err)
{
    size_t len = strlen(text);

    if (out == NULL || len >= size) {
        return hb_fail(err, out == NULL ? HPCBOOT_ERR_USAGE
                                        : HPCBOOT_ERR_LIMIT,
                       "%s: the text has %zu bytes, the buffer %zu", call,
                       len + 1, out == NULL ? 0 : size);
    }
    memcpy(out, text, len + 1);
    return 0;
}

static int put_cpus(const char *call, char *out, size_t size,
                    const struct hb_cpus *cpus, struct hpcboot_error *err)
{
    char *text = hb_cpus_text(cpus);
    int rc = put_text(call, out, size, text, err);

    free(text);
    return rc < 0 ? rc : (int)hb_cpus_count(cpus);
}

static int bound_to(struct hb_cpus *out, struct hpcboot_error *err)
{
    hb_cpus_zero(out);
    return sched_getaffinity(0, sizeof out->set, out->set) == 0
               ? 0 : hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                                   "the kernel does not tell the binding");
}

/* In a thread of its own: asks for all CPUs, and gets what the cpuset has. */
static void *widen(void *arg)
{
    struct hb_cpus *c = arg;

    memset(c, 0xff, sizeof *c);
    (void)sched_setaffinity(0, sizeof c->set, c->set);
    if (bound_to(c, NULL) < 0) {
        hb_cpus_zero(c);
    }
    return NULL;
}

static int allowed_cpus(struct hb_cpus *out, struct hpcboot_error *err)
{
    pthread_t thread;
    int rc = pthread_create(&thread, NULL, widen, out);

    if (rc == 0) {
        pthread_join(thread, NULL);
    }
    return rc == 0 && hb_cpus_count(out) > 0 ? 0 : bound_to(out, err);
}

int hpcboot_binding(char *cpus, size_t size, struct hpcboot_error *err)
{
    struct hb_cpus set;
    int rc = bound_to(&set, err);

    return rc < 0 ? rc : put_cpus("hpcboot_binding", cpus, size, &set, err);
}

int hpcboot_allowed(char *cpus, size_t size, double *quota_out,
                    struct hpcboot_error *err)
{
    struct hb_quota quota;
    struct hb_cpus set;
    int rc = allowed_cpus(&set, err);

    if (rc == 0) {
        rc = put_cpus("hpcboot_allowed", cpus, size, &set, err);
    }
    if (rc >= 0 && quota_out != NULL) {
        hb_quota_read("", &quota);
        *quota_out = quota.milli / MILLI;
    }
    return rc;
}

/* A file that holds a list of CPUs; 0 where there is none. */
static int read_list(const char *path, struct hb_cpus *out)
{
    char *text = NULL;
    size_t len;
    int ok = hb_file_read(path, SYSFS_FILE_MAX, &text, &len, NULL) >= 0 &&
             hb_cpus_parse(text, out, NULL) == 0 && hb_cpus_count(out) > 0;

    free(text);
    return ok;
}

/* ---- network devices ---- */

/* 0: all of the binding is near it, 1: a part, 2: none. A device of which
 * nothing is known (a virtual machine) is as near as any. */
static int distance(const char *class, const char *name,
                    const struct hb_cpus *binding)
{
    static const char *const files[] = {"device/local_cpulist",
                                        "device/../local_cpulist"};
    struct hb_cpus near, both;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = hb_xasprintf("/sys/class/%s/%s/%s", class, name,
                                  files[i]);
        int known = read_list(path, &near);

        free(path);
        if (known) {
            both = near;
            hb_cpus_and(&both, binding);
            return hb_cpus_equal(&both, binding) ? 0
                   : hb_cpus_count(&both) > 0    ? 1
                                                 : 2;
        }
    }
    return 0;
}

/* Bridges, tunnels and loopback have no device. */
static int is_device(const char *class, const char *name)
{
    char *path = hb_xasprintf("/sys/class/%s/%s/device", class, name);
    int yes = name[0] != '.' && access(path, F_OK) == 0;

    free(path);
    return yes;
}

static int list_nearest(const char *class, const struct hb_cpus *binding,
                        struct hb_str *out)
{
    char *path = hb_xasprintf("/sys/class/%s", class);
    struct dirent **all = NULL;
    int n = scandir(path, &all, NULL, alphasort), found = 0, least = 3;

    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < n; i++) {
            const char *name = all[i]->d_name;
            int d = is_device(class, name) ? distance(class, name, binding)
                                           : 3;

            if (turn == 0) {
                least = d < least ? d : least;
            } else if (d == least && d < 3) {
                hb_str_putf(out, "%s%s", found++ > 0 ? " " : "", name);
            }
        }
    }
    for (int i = 0; i < n; i++) {
        free(all[i]);
    }
    free(all);
    free(path);
    return found;
}

int hpcboot_nearest_nics(char *names, size_t size, struct hpcboot_error *err)
{
    struct hb_str text = HB_STR_INIT;
    struct hb_cpus binding;
    int n, rc = bound_to(&binding, err);

    if (rc < 0) {
        return rc;
    }
    n = list_nearest("infiniband", &binding, &text);
    if (n == 0) {
        n = list_nearest("net", &binding, &text);
    }
    rc = put_text("hpcboot_nearest_nics", names, size, hb_str_text(&text),
                  err);
    hb_str_destroy(&text);
    return rc < 0 ? rc : n;
}

/* ---- binding ---- */

static const struct level {
    const char *name, *file; /* of a CPU in sysfs: those it shares one with */
} levels[] = {
    {"core", "topology/thread_siblings_list"},
    {"l3", "cache/index3/shared_cpu_list"},
    {"package", "topology/core_siblings_list"},
    {"numa", NULL}, /* by node instead */
};

static const struct level *find_level(const char *what)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (strcmp(what, levels[i].name) == 0) {
            return &levels[i];
        }
    }
    return NULL;
}

/* The NUMA nodes' numbers have gaps; this many are looked for. */
#define NUMA_MAX 1024

static int numa_of(unsigned cpu, struct hb_cpus *out)
{
    for (int i = 0; i < NUMA_MAX; i++) {
        char *path = hb_xasprintf("/sys/devices/system/cpu/cpu%u/node%d/"
                                  "cpulist", cpu, i);
        int found = read_list(path, out);

        free(path);
        if (found) {
            return 1;
        }
    }
    return 0;
}

static int around(const struct level *level, unsigned cpu, struct hb_cpus *out)
{
    char *path;
    int found;

    if (level->file == NULL) {
        return numa_of(cpu, out);
    }
    path = hb_xasprintf("/sys/devices/system/cpu/cpu%u/%s", cpu, level->file);
    found = read_list(path, out);
    free(path);
    return found;
}

/* The allowed CPUs of the n-th object of a level, counted by their first
 * CPU; n < 0: only counts. Returns how many objects there are. */
static int nth_object(const struct level *level, const struct hb_cpus *allowed,
                      int n, struct hb_cpus *out)
{
    struct hb_cpus left = *allowed, object;
    int count = 0;

    for (unsigned cpu = 0; cpu < HB_MAX_CPUS; cpu++) {
        if (!hb_cpus_has(&left, cpu)) {
            continue;
        }
        if (!around(level, cpu, &object)) {
            return 0;
        }
        for (unsigned i = 0; i < HB_MAX_CPUS; i++) {
            if (hb_cpus_has(&object, i)) {
                CPU_CLR_S(i, sizeof left.set, left.set);
            }
        }
        if (count++ == n) {
            hb_cpus_and(&object, allowed);
            *out = object;
        }
    }
    return count;
}

static int choose(const struct level *level, const struct hb_cpus *allowed,
                  struct hb_cpus *out, struct hpcboot_error *err)
{
    int n = nth_object(level, allowed, -1, out);

    if (n == 0) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "hpcboot_bind: this "
                       "machine does not tell where its %ss are", level->name);
    }
    if (level == &levels[0] && n < hb_api.local_size) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "hpcboot_bind: %d ranks "
                       "on this node, and %d cores are allowed",
                       hb_api.local_size, n);
    }
    (void)nth_object(level, allowed,
                     n >= hb_api.local_size
                         ? hb_api.local_rank
                         : hb_api.local_rank * n / hb_api.local_size, out);
    return 0;
}

static int apply(const struct hb_cpus *cpus, struct hpcboot_error *err)
{
    char *text;

    if (sched_setaffinity(0, sizeof cpus->set, cpus->set) < 0) {
        int rc = errno == EINVAL ? HPCBOOT_ERR_USAGE : HPCBOOT_ERR_SYSTEM;

        text = hb_cpus_text(cpus);
        if (rc == HPCBOOT_ERR_USAGE) {
            hb_fail(err, rc, "hpcboot_bind: CPUs %s: there are none of these "
                    "for this process", text);
        } else {
            hb_fail_errno(err, rc, "hpcboot_bind: CPUs %s", text);
        }
        free(text);
        return rc;
    }
    return (int)hb_cpus_count(cpus);
}

/* A word that begins with a digit is meant as a list of CPUs; the error is that
 * of the parser then. */
static int parse_cpus(const char *what, struct hb_cpus *out,
                      struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};
    int rc = hb_cpus_parse(what, out, &why);

    if (rc < 0 && *what >= '0' && *what <= '9') {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_bind: %s",
                       why.text);
    }
    if (rc < 0 || hb_cpus_count(out) == 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_bind: \"%s\" is "
                       "neither core, l3, numa, package, none nor a list of "
                       "CPUs", what);
    }
    return 0;
}

int hpcboot_bind(const char *what, struct hpcboot_error *err)
{
    const struct level *level;
    struct hb_cpus allowed, now, cpus;
    int rc = hb_api_ready("hpcboot_bind", err);

    if (rc == 0 && what == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_bind: what to bind to is "
                     "NULL; name core, l3, numa, package, none or CPUs");
    }
    if (rc == 0) {
        rc = bound_to(&now, err);
    }
    if (rc == 0) {
        rc = allowed_cpus(&allowed, err);
    }
    if (rc < 0) {
        return rc;
    }
    if (strcmp(what, "none") == 0) {
        return apply(&allowed, err);
    }
    level = find_level(what);
    if (level != NULL && !hb_cpus_equal(&now, &allowed)) {
        return (int)hb_cpus_count(&now); /* a launcher has bound it */
    }
    if (level != NULL) {
        rc = choose(level, &allowed, &cpus, err);
    } else {
        rc = parse_cpus(what, &cpus, err);
    }
    return rc < 0 ? rc : apply(&cpus, err);
}
