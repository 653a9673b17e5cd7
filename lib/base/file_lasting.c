/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Files that a user names and that are read again in each life of a job. A
 * pipe, as of --hostfile <(command) or a FIFO, gives its text once: it is kept
 * here by its path, for as long as the process lives, and counts again when the
 * pipe has nothing more to say: nobody writes to it at that moment. */
#include "config.h"

#include "lib/base/fd.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/str.h"

struct said {
    struct said *next;
    char *path, *text; /* text[len + 1], the last byte NUL */
    size_t len;
};

static struct said *all;

static char *copy_of(const char *text, size_t len)
{
    char *copy = hb_xcalloc(len + 1, 1);

    memcpy(copy, text, len);
    return copy;
}

static struct said *find(const char *path)
{
    struct said *s = all;

    while (s != NULL && !hb_streq(s->path, path)) {
        s = s->next;
    }
    return s;
}

static void keep(const char *path, const char *text, size_t len)
{
    struct said *s = find(path);

    if (s == NULL) {
        s = hb_xcalloc(1, sizeof *s);
        s->path = hb_xstrdup(path);
        s->next = all;
        all = s;
    }
    free(s->text);
    s->text = copy_of(text, len);
    s->len = len;
}

int hb_file_read_lasting(const char *path, size_t max_bytes, char **data_out,
                         size_t *len_out, struct hpcboot_error *err)
{
    const struct said *s = find(path);
    int rc = (s != NULL ? hb_file_read_now : hb_file_read)(
        path, max_bytes, data_out, len_out, err);
    struct stat st;

    if (rc < 0 || stat(path, &st) < 0 || !S_ISFIFO(st.st_mode)) {
        return rc;
    }
    if (*len_out > 0) {
        keep(path, *data_out, *len_out);
    } else if (s != NULL) {
        free(*data_out);
        *data_out = copy_of(s->text, s->len);
        *len_out = s->len;
    }
    return rc;
}
