/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Results into files, in one step: a new file beside the old one takes its
 * place when it is whole. A link is followed first, so that it stays one. A
 * file that takes this program's own output keeps its place, and goes on; one
 * whose place nothing can take is written itself. */

#include "config.h"

#include "bin/hpcboot/result.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/cli/own_output.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define LINKS_MAX 40 /* one behind the other; the kernel follows no more */

/* What the link `at` says, seen from where it lies; NULL: it is none. */
static char *followed(const char *at)
{
    char to[PATH_MAX], *copy, *out;
    ssize_t n = readlink(at, to, sizeof to - 1);

    if (n <= 0) {
        return NULL;
    }
    to[n] = '\0';
    if (to[0] == '/') {
        return hb_xstrdup(to);
    }
    copy = hb_xstrdup(at);
    out = hb_xasprintf("%s/%s", dirname(copy), to);
    free(copy);
    return out;
}

/* Where a path leads, also by a link to what is not there yet; free() it. */
static char *target_of(const char *path)
{
    char *at = realpath(path, NULL), *next;

    if (at != NULL) {
        return at;
    }
    at = hb_xstrdup(path);
    for (int i = 0; i < LINKS_MAX && (next = followed(at)) != NULL; i++) {
        free(at);
        at = next;
    }
    return at;
}

/* What a new file would have had from open(). */
static mode_t default_mode(void)
{
    mode_t mask = umask(0);

    umask(mask);
    return 0666 & ~mask;
}

static int fill(int fd, mode_t mode, const char *data, size_t len,
                struct hpcboot_error *err)
{
    int rc = hb_fd_write_all(fd, data, len, err);

    if (rc >= 0 && (fchmod(fd, mode) != 0 || fsync(fd) != 0)) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "the file is not whole");
    }
    return rc;
}

static int write_all(int fd, const char *name, const char *data, size_t len,
                     struct hpcboot_error *err)
{
    int rc = hb_fd_write_all(fd, data, len, err);

    return rc < 0 ? hb_error_prefix(err, rc, "%s", name) : rc;
}

static int write_to(const char *path, const char *data, size_t len,
                    struct hpcboot_error *err)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), rc;

    if (fd < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "%s", path);
    }
    rc = write_all(fd, path, data, len, err);
    hb_fd_close(&fd);
    return rc;
}

/* Nothing can take the place of a mount, as a container has files of, nor of a
 * file in a folder that may not be written: whether errno says so, and the file
 * itself may be. */
static int keeps_its_place(const char *path)
{
    int why = errno;
    int keeps = (why == EBUSY || why == EACCES || why == EPERM ||
                 why == EROFS) && access(path, W_OK) == 0;

    errno = why;
    return keeps;
}

static int replace(const char *path, mode_t mode, const char *data, size_t len,
                   struct hpcboot_error *err)
{
    char *temporary = hb_xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC), is_placed = 0, rc;

    if (fd < 0) {
        rc = keeps_its_place(path)
                 ? write_to(path, data, len, err)
                 : hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                                 "%s: no file can be made beside it", path);
        free(temporary);
        return rc;
    }
    rc = fill(fd, mode, data, len, err);
    if (rc < 0) {
        hb_error_prefix(err, rc, "%s", path);
    } else if (rename(temporary, path) == 0) {
        is_placed = 1;
    } else {
        rc = keeps_its_place(path)
                 ? write_to(path, data, len, err)
                 : hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "%s", path);
    }
    if (!is_placed) {
        unlink(temporary);
    }
    hb_fd_close(&fd);
    free(temporary);
    return rc;
}

int hb_result_write(const char *path, const char *data, size_t len,
                    struct hpcboot_error *err)
{
    struct stat st;
    char *target;
    int is_there, own, rc;

    if (path == NULL || strcmp(path, "-") == 0) {
        return write_all(STDOUT_FILENO, "stdout", data, len, err);
    }
    is_there = stat(path, &st) == 0;
    own = is_there ? hb_own_output(&st) : -1;
    if (own >= 0) {
        return write_all(own, path, data, len, err);
    }
    if (is_there && !S_ISREG(st.st_mode)) {
        return write_to(path, data, len, err);
    }
    target = target_of(path);
    rc = replace(target, is_there ? st.st_mode & 07777 : default_mode(), data,
                 len, err);
    free(target);
    return rc;
}

int hb_result_check(const char *path, struct hpcboot_error *err)
{
    struct stat st;
    char *copy;
    int rc = 0;

    if (path == NULL || strcmp(path, "-") == 0) {
        return 0;
    }
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        return hb_fail(err, HPCBOOT_ERR_SYSTEM, "%s: %s", path,
                       strerror(EISDIR));
    }
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        return access(path, W_OK) == 0
                   ? 0 : hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "%s", path);
    }
    copy = target_of(path);
    if (access(dirname(copy), W_OK | X_OK) != 0 && !keeps_its_place(path)) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                           "%s: no file can be made beside it", path);
    }
    free(copy);
    return rc;
}
