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

/* One that is not there, is no file, or is not for this user says nothing, as
 * with ssh. What one would say that cannot be read now is not known. */
static int refresh(struct kept *k, struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};
    struct stat st;
    int is_file = stat(k->path, &st) == 0 && S_ISREG(st.st_mode);

    if (is_file && k->text && hb_ssh_is_same_file(&k->st, &st)) {
        return HPCBOOT_OK;
    }
    free(k->text);
    k->text = NULL;
    k->len = 0;
    if (is_file && hb_file_read(k->path, HB_KNOWN_FILE_MAX_BYTES, &k->text,
                                &k->len, &why) == HPCBOOT_OK) {
        k->st = st;
    }
    if (why.code == HPCBOOT_OK || why.code == HPCBOOT_ERR_NOT_FOUND
        || why.sys_errno == EACCES) {
        return HPCBOOT_OK;
    }
    *err = why;
    return why.code;
}

int hb_ssh_known_scan(const struct hb_strv *paths,
                      const struct hb_known_query *query,
                      struct hb_known *known, struct hpcboot_error *err)
{
    int rc = HPCBOOT_OK;

    for (size_t i = 0; i < paths->n; i++) {
        struct kept *k = find(paths->v[i]);
        int one = refresh(k, err);

        rc = one < 0 ? one : rc;
        if (k->text) {
            hb_known_scan(k->text, k->len, k->path, query, known);
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
