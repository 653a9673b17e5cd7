/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Finds the CPU quota that holds for this process.
 *
 * /proc/self/cgroup names the group of each hierarchy, /proc/self/mountinfo
 * says where the hierarchies are mounted and which of their directories is
 * the root of the mount. From the group's directory up to the mount point
 * each level's quota is read and the least one wins, because the kernel
 * enforces all of them.
 *
 * In containers group and mount often do not fit together: with a group
 * namespace the group is "/" and the mount root "/" while the real limit
 * stands in the mount point itself; without one, the mount may show only the
 * container's own group while the path is the host's. So three places are
 * tried: the path relative to the mount's root, the path below the mount
 * point, and the mount point; the walk upwards from any of them ends at the
 * mount point. Files that are absent mean "no quota"; garbage is reported
 * as such and otherwise ignored: a job must not fail for it. */

#include "config.h"

#include "lib/topo/quota.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

/* mountinfo of a node with thousands of volumes stays below this. */
#define MOUNTINFO_MAX_BYTES (8u << 20)
#define CGROUP_MAX_BYTES (64u << 10)
/* A quota file is a line of two numbers. */
#define QUOTA_MAX_BYTES 256u
/* Quotas beyond this many CPUs limit nothing. */
#define MAX_QUOTA_CPUS (1u << 20)

enum hierarchy { V1, V2 };

struct mount_point {
    char *root; /* the hierarchy's directory that is mounted */
    char *dir;  /* where */
};

static char *read_text(const char *root, const char *path, size_t max)
{
    char *full = hb_xasprintf("%s%s", root, path);
    char *text = NULL;
    size_t len;

    if (hb_file_read(full, max, &text, &len, NULL) < 0) {
        text = NULL;
    }
    free(full);
    return text;
}

/* 1 when `word` is one of the comma-separated words of `list`. */
static int has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = list; *p != '\0'; p += strcspn(p, ",")) {
        p += *p == ',';
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0')) {
            return 1;
        }
    }
    return 0;
}

/* The group of this process: "0::/path" for v2, "N:list:/path" for v1. */
static char *own_group(const char *cgroup, enum hierarchy which)
{
    char *text = hb_xstrdup(cgroup);
    char *save = NULL, *found = NULL;

    for (char *line = strtok_r(text, "\n", &save);
         line != NULL && found == NULL; line = strtok_r(NULL, "\n", &save)) {
        char *list = strchr(line, ':');
        char *path = list != NULL ? strchr(list + 1, ':') : NULL;
        if (path == NULL) {
            continue;
        }
        *path++ = '\0';
        list++;
        if (which == V2 ? strcmp(list, "") == 0 : has_word(list, "cpu")) {
            found = hb_xstrdup(path);
        }
    }
    free(text);
    return found;
}

/* A line is "id parent dev ROOT DIR options [tags] - TYPE source OPTIONS". */
static int mount_line(char *line, enum hierarchy which, struct mount_point *out)
{
    char *tail = strstr(line, " - "), *save = NULL, *field[5];
    char type[32], options[512];

    if (tail == NULL ||
        sscanf(tail, " - %31s %*s %511s", type, options) != 2 ||
        strcmp(type, which == V2 ? "cgroup2" : "cgroup") != 0 ||
        (which == V1 && !has_word(options, "cpu"))) {
        return 0;
    }
    *tail = '\0';
    for (int i = 0; i < 5; i++) {
        field[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
        if (field[i] == NULL) {
            return 0;
        }
    }
    hb_unescape_octal(field[3]);
    hb_unescape_octal(field[4]);
    out->root = hb_xstrdup(field[3]);
    out->dir = hb_xstrdup(field[4]);
    return 1;
}

/* Does the mount show the group? */
static int shows(const struct mount_point *m, const char *group)
{
    size_t n = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);

    return strncmp(group, m->root, n) == 0 &&
           (group[n] == '/' || group[n] == '\0');
}

/* Where the hierarchy is mounted; a later mount covers earlier ones, but for
 * one that shows less: a volume may bring other groups' directories, as the
 * host's /sys/fs/cgroup into a container that sees its own alone. */
static int find_mount(const char *mountinfo, enum hierarchy which,
                      const char *group, struct mount_point *out)
{
    char *text = hb_xstrdup(mountinfo);
    char *save = NULL;
    int found = 0;

    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        struct mount_point m;
        if (!mount_line(line, which, &m)) {
            continue;
        }
        if (found && shows(out, group) && !shows(&m, group)) {
            free(m.root);
            free(m.dir);
            continue;
        }
        if (found) {
            free(out->root);
            free(out->dir);
        }
        *out = m;
        found = 1;
    }
    free(text);
    return found;
}

static int is_dir(const char *root, const char *path)
{
    char *full = hb_xasprintf("%s%s", root, path);
    struct stat st;
    int yes = stat(full, &st) == 0 && S_ISDIR(st.st_mode);

    free(full);
    return yes;
}

/* The group's directory under the mount point; free() it. */
static char *group_dir(const char *root, const struct mount_point *m,
                       const char *group)
{
    size_t n = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);
    char *dir = NULL;

    /* A path with ".." comes from outside this group namespace. */
    if (strstr(group, "/..") != NULL) {
        return hb_xstrdup(m->dir);
    }
    if (shows(m, group)) {
        dir = hb_xasprintf("%s%s", m->dir, group + n);
        if (is_dir(root, dir)) {
            return dir;
        }
        free(dir);
    }
    dir = hb_xasprintf("%s%s", m->dir, group);
    if (is_dir(root, dir)) {
        return dir;
    }
    free(dir);
    return hb_xstrdup(m->dir);
}

/* Takes quota and period, both in microseconds, into *out. */
static void note_quota(uint64_t quota, uint64_t period, struct hb_quota *out)
{
    uint64_t milli;

    if (period == 0 || quota == 0) {
        out->unreadable = 1;
        return;
    }
    if (quota / period >= MAX_QUOTA_CPUS) {
        return;
    }
    /* Where the product would overflow, whole CPUs are precise enough. */
    milli = quota > UINT64_MAX / 1000 ? quota / period * 1000
                                      : quota * 1000 / period;
    if (milli == 0) {
        milli = 1;
    }
    if (out->milli == 0 || milli < out->milli) {
        out->milli = (uint32_t)milli;
    }
}

/* One number, with nothing but blanks behind it. */
static int whole_number(char *text, uint64_t *out)
{
    text[strcspn(text, " \t\n")] = '\0';
    return hb_parse_u64(text, 0, UINT64_MAX, out) == HPCBOOT_OK;
}

/* cpu.max holds "max 100000" or "350000 100000". */
static void read_v2(const char *root, const char *dir, struct hb_quota *out)
{
    char *path = hb_xasprintf("%s/cpu.max", dir);
    char *text = read_text(root, path, QUOTA_MAX_BYTES);
    uint64_t quota, period;
    size_t first;

    if (text == NULL || hb_starts_with(text, "max")) {
        goto done;
    }
    first = strcspn(text, " ");
    if (text[first] == '\0' || !whole_number(text + first + 1, &period) ||
        !whole_number(text, &quota)) {
        out->unreadable = 1;
        goto done;
    }
    note_quota(quota, period, out);
done:
    free(text);
    free(path);
}

/* cpu.cfs_quota_us holds -1 or microseconds, cpu.cfs_period_us the period. */
static void read_v1(const char *root, const char *dir, struct hb_quota *out)
{
    char *quota_path = hb_xasprintf("%s/cpu.cfs_quota_us", dir);
    char *period_path = hb_xasprintf("%s/cpu.cfs_period_us", dir);
    char *quota_text = read_text(root, quota_path, QUOTA_MAX_BYTES);
    char *period_text = read_text(root, period_path, QUOTA_MAX_BYTES);
    uint64_t quota, period;

    if (quota_text == NULL || quota_text[0] == '-') {
        goto done;
    }
    if (period_text == NULL || !whole_number(quota_text, &quota) ||
        !whole_number(period_text, &period)) {
        out->unreadable = 1;
        goto done;
    }
    note_quota(quota, period, out);
done:
    free(quota_text);
    free(period_text);
    free(quota_path);
    free(period_path);
}

static void read_hierarchy(const char *root, enum hierarchy which,
                           const char *cgroup, const char *mountinfo,
                           struct hb_quota *out)
{
    struct mount_point m = {NULL, NULL};
    char *group = own_group(cgroup, which), *dir = NULL;
    size_t top;

    if (group == NULL || !find_mount(mountinfo, which, group, &m)) {
        goto done;
    }
    top = strcmp(m.dir, "/") == 0 ? 0 : strlen(m.dir);
    dir = group_dir(root, &m, strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        char *slash;
        (which == V2 ? read_v2 : read_v1)(root, dir, out);
        slash = strrchr(dir, '/');
        if (slash == NULL || (size_t)(slash - dir) < top) {
            break;
        }
        *slash = '\0';
    }
done:
    free(dir);
    free(group);
    free(m.root);
    free(m.dir);
}

void hb_quota_read(const char *root, struct hb_quota *out)
{
    char *cgroup = read_text(root, "/proc/self/cgroup", CGROUP_MAX_BYTES);
    char *mountinfo = read_text(root, "/proc/self/mountinfo",
                                MOUNTINFO_MAX_BYTES);

    memset(out, 0, sizeof(*out));
    if (cgroup != NULL && mountinfo != NULL) {
        read_hierarchy(root, V2, cgroup, mountinfo, out);
        read_hierarchy(root, V1, cgroup, mountinfo, out);
    }
    free(cgroup);
    free(mountinfo);
}
