/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Reads out-of-memory kills and CPU throttling from this process's cgroup.
 *
 * Both layouts are found the same way: /proc/self/cgroup names the group in
 * each hierarchy, /proc/self/mountinfo says where the hierarchy is mounted
 * and which part of it (the mount's root). A controller that a v1 hierarchy
 * holds is read there, otherwise in v2; that covers "hybrid" hosts, where v2
 * is mounted beside v1 and empty. In a container without a cgroup name space
 * the group's path is the host's, and the mount's root is taken off its front.
 *
 * Counters only grow, so evidence is the difference of two readings. Missing
 * files (a root group, an old kernel) leave their number at 0. */
#include "config.h"

#include "bin/proc/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

/* A machine with hundreds of containers has as many lines of mountinfo. */
#define MAX_FILE_BYTES (4u << 20)

/* v1 writes "no limit" as the largest page-aligned number; nothing that has
 * half as many bytes exists. */
#define V1_NO_LIMIT (UINT64_C(1) << 62)

/* Below this share of throttled periods the quota is no part of a story. */
#define THROTTLED_WORTH_PERCENT 25

/* Fields of a mountinfo line before the optional ones, proc(5). */
#define MOUNTINFO_ROOT 3
#define MOUNTINFO_POINT 4
#define MOUNTINFO_FIXED 6

/* ---- finding the files */

/* Calls fn with a writable copy of each line until it returns non-zero. */
static int each_line(const char *text, int (*fn)(char *line, void *arg),
                     void *arg)
{
    int rc = 0;

    while (rc == 0 && *text != '\0') {
        size_t len = strcspn(text, "\n");
        char *line = hb_xstrndup(text, len);

        rc = fn(line, arg);
        free(line);
        text += len + (text[len] == '\n');
    }
    return rc;
}

/* 1 when `word` is one of a comma-separated list. */
static int in_list(const char *list, const char *word)
{
    size_t want = strlen(word);

    while (*list != '\0') {
        size_t len = strcspn(list, ",");

        if (len == want && memcmp(list, word, len) == 0) {
            return 1;
        }
        list += len + (list[len] == ',');
    }
    return 0;
}

struct group_search {
    const char *controller;
    char *v1, *v2; /* paths of this process's groups */
};

/* "4:memory:/a/b" or "0::/a/b" */
static int group_line(char *line, void *arg)
{
    struct group_search *s = arg;
    char *controllers = strchr(line, ':');
    char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

    if (path == NULL) {
        return 0;
    }
    *controllers++ = '\0';
    *path++ = '\0';
    if (s->v2 == NULL && strcmp(line, "0") == 0 && *controllers == '\0') {
        s->v2 = hb_xstrdup(path);
    } else if (s->v1 == NULL && in_list(controllers, s->controller)) {
        s->v1 = hb_xstrdup(path);
    }
    return 0;
}

struct mount_search {
    const char *controller; /* NULL: the v2 hierarchy */
    char *root, *point;
};

/* "31 23 0:28 ROOT POINT OPTIONS [FIELDS...] - TYPE SOURCE SUPER_OPTIONS" */
static int mount_line(char *line, void *arg)
{
    struct mount_search *s = arg;
    char *field[MOUNTINFO_FIXED], *type, *options, *save = NULL;
    char *dash = strstr(line, " - ");

    if (dash == NULL) {
        return 0;
    }
    *dash = '\0';
    for (int i = 0; i < MOUNTINFO_FIXED; i++) {
        field[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
        if (field[i] == NULL) {
            return 0;
        }
    }
    type = strtok_r(dash + strlen(" - "), " ", &save);
    (void)strtok_r(NULL, " ", &save); /* source */
    options = strtok_r(NULL, " ", &save);
    if (type == NULL || options == NULL) {
        return 0;
    }
    if (s->controller == NULL ? strcmp(type, "cgroup2") != 0
                              : strcmp(type, "cgroup") != 0
                                    || !in_list(options, s->controller)) {
        return 0;
    }
    hb_unescape_octal(field[MOUNTINFO_ROOT]);
    hb_unescape_octal(field[MOUNTINFO_POINT]);
    s->root = hb_xstrdup(field[MOUNTINFO_ROOT]);
    s->point = hb_xstrdup(field[MOUNTINFO_POINT]);
    return 1;
}

/* The group's path below the mount point; "" when the mount shows less. */
static char *below_root(const char *path, const char *root)
{
    size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

    if (strncmp(path, root, len) != 0
        || (path[len] != '/' && path[len] != '\0')
        || strstr(path, "/..") != NULL || strcmp(path + len, "/") == 0) {
        return hb_xstrdup("");
    }
    return hb_xstrdup(path + len);
}

static int place_on(const char *mountinfo, const char *controller,
                    const char *path, int version,
                    struct hb_cgroup_place *out)
{
    struct mount_search s = {.controller = version == 1 ? controller : NULL};

    if (path == NULL || !each_line(mountinfo, mount_line, &s)) {
        return -1;
    }
    out->version = version;
    out->mount = s.point;
    out->path = below_root(path, s.root);
    free(s.root);
    return 0;
}

int hb_cgroup_find(const char *cgroup, const char *mountinfo,
                   const char *controller, struct hb_cgroup_place *out)
{
    struct group_search s = {.controller = controller};
    int rc;

    each_line(cgroup, group_line, &s);
    rc = place_on(mountinfo, controller, s.v1, 1, out);
    if (rc < 0) {
        rc = place_on(mountinfo, controller, s.v2, 2, out);
    }
    free(s.v1);
    free(s.v2);
    return rc;
}

/* ---- reading them */

int hb_cgroup_value(const char *text, const char *key, uint64_t *out)
{
    size_t len = strlen(key);

    while (text != NULL && *text != '\0') {
        if (strncmp(text, key, len) == 0 && text[len] == ' ') {
            const char *number = text + len + 1;
            size_t digits = strspn(number, "0123456789");
            char *copy = hb_xstrndup(number, digits);
            int rc = hb_parse_u64(copy, 0, UINT64_MAX, out);

            free(copy);
            return rc == HPCBOOT_OK ? 0 : -1;
        }
        text = strchr(text, '\n');
        if (text != NULL) {
            text++;
        }
    }
    return -1;
}

/* The text of a file below `root`, or NULL; free() it. */
static char *read_text(const char *root, const char *dir, const char *below,
                       const char *name)
{
    char *path = hb_xasprintf("%s%s%s/%s", root, dir, below, name);
    char *text = NULL;
    size_t len;

    if (hb_file_read(path, MAX_FILE_BYTES, &text, &len, NULL) != HPCBOOT_OK) {
        text = NULL;
    }
    free(path);
    return text;
}

/* A limit file: "max" and v1's huge numbers are no limit, 0. */
static uint64_t read_limit(const char *root, const char *mount,
                           const char *path, const char *name)
{
    char *text = read_text(root, mount, path, name);
    uint64_t value = 0;

    if (text != NULL) {
        text[strcspn(text, "\n")] = '\0';
        if (hb_parse_u64(text, 0, UINT64_MAX, &value) != HPCBOOT_OK
            || value >= V1_NO_LIMIT) {
            value = 0;
        }
    }
    free(text);
    return value;
}

/* The least limit of this group and the ones above it that are visible. */
static uint64_t least_limit(const char *root, const struct hb_cgroup_place *p)
{
    const char *name = p->version == 2 ? "memory.max"
                                       : "memory.limit_in_bytes";
    char *path = hb_xstrdup(p->path);
    uint64_t least = 0;

    for (;;) {
        uint64_t limit = read_limit(root, p->mount, path, name);
        char *slash = strrchr(path, '/');

        if (limit > 0 && (least == 0 || limit < least)) {
            least = limit;
        }
        if (slash == NULL) {
            break;
        }
        *slash = '\0';
    }
    free(path);
    return least;
}

static void read_memory(const char *root, const struct hb_cgroup_place *p,
                        struct hb_cgroup_marks *out)
{
    char *text = read_text(root, p->mount, p->path,
                           p->version == 2 ? "memory.events"
                                           : "memory.oom_control");

    if (text != NULL) {
        out->known = 1;
        (void)hb_cgroup_value(text, "oom_kill", &out->oom_kills);
        out->memory_limit = least_limit(root, p);
    }
    free(text);
}

static void read_cpu(const char *root, const struct hb_cgroup_place *p,
                     struct hb_cgroup_marks *out)
{
    char *text = read_text(root, p->mount, p->path, "cpu.stat");
    uint64_t ns = 0;

    if (text != NULL) {
        out->known = 1;
        (void)hb_cgroup_value(text, "nr_periods", &out->periods);
        (void)hb_cgroup_value(text, "nr_throttled", &out->throttled_periods);
        (void)hb_cgroup_value(text, "throttled_usec", &out->throttled_us);
        if (hb_cgroup_value(text, "throttled_time", &ns) == 0) {
            out->throttled_us = ns / 1000; /* v1 */
        }
    }
    free(text);
}

void hb_cgroup_read_marks_at(const char *root, struct hb_cgroup_marks *out)
{
    static const struct {
        const char *name;
        void (*read)(const char *root, const struct hb_cgroup_place *p,
                     struct hb_cgroup_marks *out);
    } controllers[] = {{"memory", read_memory}, {"cpu", read_cpu}};
    char *cgroup = read_text(root, "/proc", "/self", "cgroup");
    char *mountinfo = read_text(root, "/proc", "/self", "mountinfo");

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; cgroup != NULL && mountinfo != NULL && i < 2; i++) {
        struct hb_cgroup_place p = {0};

        if (hb_cgroup_find(cgroup, mountinfo, controllers[i].name, &p) == 0) {
            controllers[i].read(root, &p, out);
        }
        free(p.mount);
        free(p.path);
    }
    free(cgroup);
    free(mountinfo);
}

void hb_cgroup_read_marks(struct hb_cgroup_marks *out)
{
    hb_cgroup_read_marks_at("", out);
}

/* ---- saying it */

static void size_text(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    snprintf(text, size, "%.4g %s", value, units[unit]);
}

static void say_oom(uint64_t kills, uint64_t limit, struct hb_str *o)
{
    char size[32];

    if (kills == 0) {
        return;
    }
    hb_str_putf(o, "out of memory: the cgroup killed %" PRIu64 " process%s",
                kills, kills == 1 ? "" : "es");
    if (limit > 0) {
        size_text(limit, size, sizeof(size));
        hb_str_putf(o, " (limit %s)", size);
    }
}

static void say_throttled(const struct hb_cgroup_marks *before,
                          const struct hb_cgroup_marks *after,
                          struct hb_str *o)
{
    uint64_t periods = after->periods - before->periods;
    uint64_t held = after->throttled_periods - before->throttled_periods;

    if (after->periods <= before->periods
        || after->throttled_periods < before->throttled_periods
        || after->throttled_us < before->throttled_us
        || held < (periods * THROTTLED_WORTH_PERCENT + 99) / 100) {
        return;
    }
    hb_str_putf(o, "%sthe CPU quota held this container back in %" PRIu64
                " %% of its periods, %.1f s in all", o->len > 0 ? "; " : "",
                held * 100 / periods,
                (double)(after->throttled_us - before->throttled_us) / 1e6);
}

void hb_cgroup_evidence(const struct hb_cgroup_marks *before,
                        const struct hb_cgroup_marks *after, char *text,
                        unsigned size)
{
    struct hb_str o = HB_STR_INIT;

    if (before->known && after->known) {
        say_oom(after->oom_kills > before->oom_kills
                    ? after->oom_kills - before->oom_kills : 0,
                after->memory_limit, &o);
        say_throttled(before, after, &o);
    }
    snprintf(text, size, "%s", hb_str_text(&o));
    hb_str_destroy(&o);
}
