/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The known_hosts files of this process, kept in memory. Each login asks them
 * twice, before and after the host has shown its key, and a gang has many
 * hosts: read each time, a site's file of a megabyte on a file server would be
 * most of what hbrun does.
 *
 * A job may wait for its hosts for minutes while somebody adds the key that is
 * missing, so a file is read again when its inode, size or time has changed. */
#include "config.h"

#include "bin/boot/ssh_known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

#define KRL_MAGIC "SSHKRL\n" /* PROTOCOL.krl of OpenSSH */

struct kept {
    struct kept *next;
    char *path, *text; /* text NULL: has not been read */
    size_t len;
    struct stat st; /* of the file that was read */
};

/* They live as long as the process, like the pins. */
static struct kept *files;

static struct kept *find(const char *path)
{
    struct kept *k = files;

    while (k && !hb_streq(k->path, path)) {
        k = k->next;
    }
    if (!k) {
        k = hb_xcalloc(1, sizeof *k);
        k->path = hb_xstrdup(path);
        k->next = files;
        files = k;
    }
    return k;
}

int hb_ssh_is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino
        && a->st_size == b->st_size
        && a->st_mtim.tv_sec == b->st_mtim.tv_sec
        && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int says_nothing(int sys_errno)
{
    return sys_errno == ENOENT || sys_errno == ENOTDIR || sys_errno == EACCES;
}

/* One that is not there, is no file, or is not for this user says nothing, as
 * with ssh. What one would say that cannot be read now is not known; what it
 * said before stays. */
static int refresh(struct kept *k, struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};
    struct stat st = {0};
    char *text = NULL;
    size_t len = 0;
    int rc = HPCBOOT_OK;

    if (stat(k->path, &st) < 0 && !says_nothing(errno)) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "cannot read %s",
                             k->path);
    }
    if (k->text && hb_ssh_is_same_file(&k->st, &st)) {
        return HPCBOOT_OK;
    }
    if (S_ISREG(st.st_mode)) {
        rc = hb_file_read(k->path, HB_KNOWN_FILE_MAX_BYTES, &text, &len, &why);
    }
    if (rc < 0 && rc != HPCBOOT_ERR_NOT_FOUND
        && !says_nothing(why.sys_errno)) {
        *err = why;
        return rc;
    }
    free(k->text);
    k->text = text;
    k->len = len;
    k->st = st;
    return HPCBOOT_OK;
}

int hb_ssh_known_text(const char *path, const char **text_out, size_t *len_out,
                      struct hpcboot_error *err)
{
    struct kept *k = find(path);
    int rc = refresh(k, err);

    *text_out = k->text;
    *len_out = k->len;
    return rc;
}

int hb_ssh_known_scan(const struct hb_strv *paths,
                      const struct hb_known_query *query,
                      struct hb_known *known, struct hpcboot_error *err)
{
    int rc = HPCBOOT_OK;

    for (size_t i = 0; i < paths->n; i++) {
        const char *text;
        size_t len;
        int one = hb_ssh_known_text(paths->v[i], &text, &len, err);

        rc = one < 0 ? one : rc;
        if (text) {
            hb_known_scan(text, len, paths->v[i], query, known);
        }
    }
    return rc;
}

/* A line is "TYPE BASE64 COMMENT"; wherever the key stands in it, it counts. */
static int line_has(const char *p, const char *end, const char *blob)
{
    size_t len = strlen(blob);

    while (p < end) {
        const char *word;

        while (p < end && strchr(" \t\r", *p)) {
            p++;
        }
        word = p;
        while (p < end && !strchr(" \t\r", *p)) {
            p++;
        }
        if ((size_t)(p - word) == len && memcmp(word, blob, len) == 0) {
            return 1;
        }
    }
    return 0;
}

int hb_ssh_known_revoked(const char *path, const char *blob,
                         struct hpcboot_error *err)
{
    char *text = NULL;
    const char *p, *end;
    size_t len = 0;
    int line = 0, found = 0;
    int rc = hb_file_read(path, HB_KNOWN_FILE_MAX_BYTES, &text, &len, err);

    if (rc < 0) {
        return rc;
    }
    if (len >= strlen(KRL_MAGIC) && memcmp(text, KRL_MAGIC,
                                           strlen(KRL_MAGIC)) == 0) {
        rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "%s is a key revocation "
                     "list, which takes the ssh program: use --launch-with "
                     "ssh", path);
    }
    for (p = text, end = text + len; rc >= 0 && !found && p < end; p++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));

        stop = stop ? stop : end;
        line++;
        found = line_has(p, stop, blob) ? line : 0;
        p = stop;
    }
    free(text);
    return rc < 0 ? rc : found;
}
