/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The session directory of a job on a host.
 *
 * Made by mkdtemp, so that it is new, private and not to be guessed, in the
 * first place that will have it. Removed from the bottom up through directory
 * descriptors: every step is relative to a directory that was opened without
 * following links, so no one who may write into it can lead the removal
 * somewhere else.
 *
 * The places that come from variables are used only when they are absolute
 * and short enough for a socket path. */
#include "config.h"

#include "bin/proc/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

/* So much of a job's name stands in the directory's: its end, where names of
 * jobs differ. */
#define JOB_PART_MAX 8

/* Deeper trees are left alone: each level holds a descriptor. */
#define MAX_DEPTH 64

#define DIGITS "0123456789"

/* Of struct hb_session_places. */
enum { PLACE_TMP = 1, PLACE_SHM = 2 };

/* ---- making */

/* The part of a job's name, made safe in a path. */
static void job_part(const char *job_id, char part[JOB_PART_MAX + 1])
{
    size_t len = job_id != NULL ? strlen(job_id) : 0, n = 0;
    size_t at = len > JOB_PART_MAX ? len - JOB_PART_MAX : 0;

    for (; at < len; at++) {
        char c = job_id[at];
        int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
                    || (c >= '0' && c <= '9');

        part[n++] = plain ? c : '-';
    }
    part[n] = '\0';
}

/* "hpcboot-JOB.NODE." */
static char *name_begins(const char *job_id, uint32_t node)
{
    char part[JOB_PART_MAX + 1];

    job_part(job_id, part);
    return hb_xasprintf(HB_SESSION_PREFIX "%s.%u.", part, (unsigned)node);
}

int hb_session_is_name(const char *name, size_t len)
{
    const char *dot = memchr(name, '.', len), *last = memrchr(name, '.', len);

    return hb_starts_with(name, HB_SESSION_PREFIX) && dot != last
           && strspn(dot + 1, DIGITS) == (size_t)(last - dot - 1)
           && last + 1 + HB_SESSION_RANDOM == name + len;
}

int hb_session_is_neighbour(const char *name, const char *job_id,
                            uint32_t node)
{
    char *own = name_begins(job_id, node);
    size_t whole = strlen(own), job = whole - 1;
    int is;

    while (own[job - 1] != '.') {
        job--;
    }
    is = strncmp(name, own, job) == 0 && strncmp(name, own, whole) != 0;
    free(own);
    return is;
}

/* Makes the directory in one place; NULL and *why when that cannot be. */
static char *make_in(const char *place, const char *name, const char **why)
{
    char *path;

    if (place[0] != '/') {
        *why = "not an absolute path";
        return NULL;
    }
    path = hb_xasprintf("%s/%s", place, name);
    if (strlen(path) > HB_SESSION_PATH_MAX) {
        *why = "path too long for a socket";
    } else if (mkdtemp(path) == NULL) {
        *why = strerror(errno);
    } else {
        return path;
    }
    free(path);
    return NULL;
}

int hb_session_dir_create_in(const char *const *places, size_t n,
                             const char *job_id, uint32_t node,
                             char **path_out, struct hpcboot_error *err)
{
    struct hb_str tried = HB_STR_INIT;
    char *own = name_begins(job_id, node);
    char *name = hb_xasprintf("%sXXXXXX", own), *path = NULL;
    const char *why = "";
    int rc = HPCBOOT_OK;

    for (size_t i = 0; i < n && path == NULL; i++) {
        if (places[i] == NULL || places[i][0] == '\0') {
            continue;
        }
        path = make_in(places[i], name, &why);
        if (path == NULL) {
            hb_str_putf(&tried, "%s%s (%s)", tried.len > 0 ? ", " : "",
                        places[i], why);
        }
    }
    if (path == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_HOST,
                     "no directory for the session's sockets could be made: "
                     "%s; set HPCBOOT_TMPDIR on this host to a short path "
                     "that can be written", hb_str_text(&tried));
    } else {
        *path_out = path;
    }
    free(name);
    free(own);
    hb_str_destroy(&tried);
    return rc;
}

void hb_session_places(struct hb_session_places *out)
{
    snprintf(out->run_user, sizeof(out->run_user), "/run/user/%u",
             (unsigned)geteuid());
    out->v[0] = getenv("HPCBOOT_TMPDIR");
    out->v[PLACE_TMP] = "/tmp";
    out->v[PLACE_SHM] = "/dev/shm";
    out->v[3] = out->run_user;
    out->v[4] = getenv("TMPDIR");
}

static int is_noexec(const char *place)
{
    struct statvfs fs;

    return place != NULL && statvfs(place, &fs) == 0 &&
           (fs.f_flag & ST_NOEXEC) != 0;
}

/* Behind the one that was named for it: those where a program can be started,
 * then the others, each in their order. */
static void noexec_last(const char *v[HB_SESSION_PLACES])
{
    const char *others[HB_SESSION_PLACES] = {NULL};
    size_t n = 1, n_others = 0;

    for (size_t i = 1; i < HB_SESSION_PLACES; i++) {
        if (is_noexec(v[i])) {
            others[n_others++] = v[i];
        } else {
            v[n++] = v[i];
        }
    }
    memcpy(v + n, others, n_others * sizeof *others);
}

int hb_session_dir_create(const char *job_id, uint32_t node,
                          enum hb_session_use use, char **path_out,
                          struct hpcboot_error *err)
{
    struct hb_session_places p;

    hb_session_places(&p);
    if (use == HB_SESSION_BARE) {
        const char *disk = p.v[PLACE_TMP];

        p.v[PLACE_TMP] = p.v[PLACE_SHM];
        p.v[PLACE_SHM] = disk;
    } else if (use == HB_SESSION_COPIES) {
        noexec_last(p.v);
    }
    return hb_session_dir_create_in(p.v, HB_SESSION_PLACES, job_id, node,
                                    path_out, err);
}

/* ---- removing */

static int is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Opens a directory for removal: no link, and on the file system `dev`. */
static DIR *open_dir(int parent, const char *name, dev_t dev)
{
    int fd = openat(parent, name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    DIR *d;

    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &st) < 0 || st.st_dev != dev) {
        hb_fd_close(&fd);
        return NULL;
    }
    /* Whoever made it read-only owns it, or the removal fails anyway. */
    (void)fchmod(fd, S_IRWXU);
    d = fdopendir(fd);
    if (d == NULL) {
        hb_fd_close(&fd);
    }
    return d;
}

static int remove_tree(int parent, const char *name, dev_t dev, int depth);

/* Whose the directory is stays in it until nothing else is left: a removal
 * that is cut short is then finished by a later agent. */
static int is_last(const char *name, int depth)
{
    return depth == 0 && strcmp(name, HB_SESSION_OWNER) == 0;
}

/* Returns how many entries at or below parent/name stay. */
static int remove_entry(int parent, const struct dirent *e, dev_t dev,
                        int depth)
{
    int is_dir = e->d_type == DT_DIR;

    if (unlinkat(parent, e->d_name, is_dir ? AT_REMOVEDIR : 0) == 0
        || errno == ENOENT) {
        return 0;
    }
    if (is_dir || errno == EISDIR || errno == EPERM) {
        return remove_tree(parent, e->d_name, dev, depth + 1);
    }
    return 1;
}

/* One pass over an open directory. Returns how many entries went, and in
 * *left_out how many below it could not. */
static int remove_entries(DIR *d, dev_t dev, int depth, int *left_out)
{
    struct dirent *e;
    int gone = 0, left = 0;

    while ((e = readdir(d)) != NULL) {
        if (!is_dots(e->d_name) && !is_last(e->d_name, depth)) {
            int below = remove_entry(dirfd(d), e, dev, depth);

            gone += below == 0;
            left += below;
        }
    }
    if (left == 0 && depth == 0) {
        gone += unlinkat(dirfd(d), HB_SESSION_OWNER, 0) == 0;
    }
    *left_out = left;
    return gone;
}

/* Empties and removes parent/name. Returns how many entries stay. */
static int remove_tree(int parent, const char *name, dev_t dev, int depth)
{
    DIR *d = depth < MAX_DEPTH ? open_dir(parent, name, dev) : NULL;
    int left = 0, removed;

    /* Some file systems skip entries when others go: until none goes. */
    for (;;) {
        int gone = d != NULL ? remove_entries(d, dev, depth, &left) : 0;

        removed = unlinkat(parent, name, AT_REMOVEDIR) == 0
                  || errno == ENOENT;
        if (removed || gone == 0) {
            break;
        }
        rewinddir(d);
    }
    if (d != NULL) {
        closedir(d);
    }
    return removed ? 0 : left + 1;
}

int hb_session_dir_remove(const char *path)
{
    struct stat st;

    if (path == NULL || lstat(path, &st) < 0 || !S_ISDIR(st.st_mode)
        || st.st_uid != geteuid()) {
        return 0;
    }
    return remove_tree(AT_FDCWD, path, st.st_dev, 0);
}
