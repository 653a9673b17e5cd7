/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Results into files, in one step: a new file beside the old one takes its
 * place when it is whole. A link is followed first, so that it stays one. */

#include "config.h"

#include "bin/hpcboot/result.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

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

static int replace(const char *path, mode_t mode, const char *data, size_t len,
                   struct hpcboot_error *err)
{
    char *temporary = hb_xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC), rc;

    if (fd < 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                           "%s: no file can be made beside it", path);
        free(temporary);
        return rc;
    }
    rc = fill(fd, mode, data, len, err);
    if (rc < 0) {
        hb_error_prefix(err, rc, "%s", path);
    } else if (rename(temporary, path) != 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "%s", path);
    }
    if (rc < 0) {
        unlink(temporary);
    }
    hb_fd_close(&fd);
    free(temporary);
    return rc;
}

static int write_to(const char *path, const char *data, size_t len,
                    struct hpcboot_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

    if (fd < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "%s", path);
    }
    rc = hb_fd_write_all(fd, data, len, err);
    hb_fd_close(&fd);
    return rc < 0 ? hb_error_prefix(err, rc, "%s", path) : rc;
}

int hb_result_write(const char *path, const char *data, size_t len,
                    struct hpcboot_error *err)
{
    struct stat st;
    char *target;
    int rc;

    if (path == NULL || strcmp(path, "-") == 0) {
        rc = hb_fd_write_all(STDOUT_FILENO, data, len, err);
        return rc < 0 ? hb_error_prefix(err, rc, "stdout") : rc;
    }
    if (stat(path, &st) != 0) {
        return replace(path, default_mode(), data, len, err);
    }
    if (!S_ISREG(st.st_mode)) {
        return write_to(path, data, len, err);
    }
    target = realpath(path, NULL);
    rc = replace(target != NULL ? target : path, st.st_mode & 07777, data, len,
                 err);
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
    copy = hb_xstrdup(path);
    if (access(dirname(copy), W_OK | X_OK) != 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                           "%s: no file can be made beside it", path);
    }
    free(copy);
    return rc;
}
