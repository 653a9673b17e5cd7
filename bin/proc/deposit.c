/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Receives files: the copies of programs and data that a launcher hands to a
 * host before it starts ranks there.
 *
 * One file at a time: begin, data until all announced bytes have come. A file
 * is made new by openat() in a directory that was opened without following a
 * link; its name is one component, and neither an existing file nor a link
 * takes its place (O_EXCL, O_NOFOLLOW). Until it is whole nobody but the owner
 * can read it and nobody can run it. When it is whole it gets its mode, less
 * set-user-ID and the like, and its descriptor is closed, so that an exec does
 * not find it busy.
 *
 * Space is asked for beforehand where the file system can say, so that a full
 * disk is noticed before a large file has travelled. */
#include "config.h"

#include "bin/proc/deposit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

#define MODE_BITS 0777u

int hb_deposit_name_ok(const char *name)
{
    return name[0] != '\0' && strlen(name) <= NAME_MAX
           && strchr(name, '/') == NULL && strcmp(name, ".") != 0
           && strcmp(name, "..") != 0;
}

int hb_deposit_open(struct hb_deposit *d, const char *dir,
                    struct hpcboot_error *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_HOST,
                             "the directory for copied files %s cannot be "
                             "opened", dir);
    }
    d->dir = fd;
    return HPCBOOT_OK;
}

/* Another place is a remedy for what is wrong with this one. */
static int cannot_write(const struct hb_deposit *d, struct hpcboot_error *err)
{
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
        return hb_fail_errno(err, HPCBOOT_ERR_HOST,
                             "the copy of %s cannot be written", d->name);
    }
    return hb_fail(err, HPCBOOT_ERR_HOST,
                   "the copy of %s cannot be written: %s; HPCBOOT_TMPDIR on "
                   "this host names another place for it", d->name,
                   strerror(errno));
}

/* The last byte has come. */
static int finish(struct hb_deposit *d, struct hpcboot_error *err)
{
    int rc = HPCBOOT_OK;

    if (fchmod(d->fd, d->mode) < 0) {
        rc = cannot_write(d, err);
    }
    if (close(d->fd) < 0 && rc == HPCBOOT_OK) {
        rc = cannot_write(d, err);
    }
    d->fd = -1;
    return rc;
}

int hb_deposit_begin(struct hb_deposit *d, const char *name, uint32_t mode,
                     uint64_t size, struct hpcboot_error *err)
{
    if (d->dir < 0 || !hb_deposit_whole(d) || !hb_deposit_name_ok(name)
        || size > INT64_MAX) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "a file to be copied came out of turn or with a name "
                       "that is none");
    }
    free(d->name);
    d->name = hb_xstrdup(name);
    d->mode = mode & MODE_BITS;
    d->fd = openat(d->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
                   | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (d->fd < 0 && errno == EEXIST) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "the file %s was to be copied twice", name);
    }
    if (d->fd < 0) {
        return cannot_write(d, err);
    }
    d->left = size;
    if (size > 0 && fallocate(d->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size) < 0
        && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
        return cannot_write(d, err);
    }
    return size == 0 ? finish(d, err) : HPCBOOT_OK;
}

int hb_deposit_data(struct hb_deposit *d, const void *data, size_t len,
                    struct hpcboot_error *err)
{
    const char *at = data;

    if (d->fd < 0 || len == 0 || len > d->left) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "bytes of a copied file came out of turn");
    }
    d->left -= len;
    while (len > 0) {
        ssize_t n = write(d->fd, at, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return cannot_write(d, err);
        }
        at += n;
        len -= (size_t)n;
    }
    return d->left == 0 ? finish(d, err) : HPCBOOT_OK;
}

int hb_deposit_whole(const struct hb_deposit *d)
{
    return d->fd < 0;
}

void hb_deposit_close(struct hb_deposit *d)
{
    hb_fd_close(&d->fd);
    hb_fd_close(&d->dir);
    free(d->name);
    d->name = NULL;
}
