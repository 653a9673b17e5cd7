/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The files of --output-filename and the file patterns.
 *
 * A file's slot is its rank and stream; where a pattern does not name the
 * rank, all ranks have one slot, or those of a host that it names, and where
 * both streams have one name they share it. The first opening of a slot makes
 * the file empty, before the ranks begin, later ones append, so that only the
 * last few used need be open: a job has more ranks than the launcher may have
 * descriptors. A file that fails is named once and then left alone. */
#include "config.h"

#include "bin/cli/rankfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/cli/own_output.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define OPEN_FILES 64 /* at a time; far below any limit on descriptors */
/* Agents hear nothing while files are made, of thousands of ranks in a slow
 * file system: what is not made by then is when its rank writes. */
#define PREPARE_MS 3000

#define WIDTH_DIGITS 2 /* of the number in %4r */

/* Bits of a slot's state. */
#define SLOT_MADE 0x1u
#define SLOT_DEAD 0x2u

struct open_file {
    int fd; /* -1: free */
    size_t slot;
    char *path;
    uint64_t used;
};

struct hb_rankfiles {
    struct hb_rankfiles_config config;
    unsigned char *slots; /* [2 * n_ranks] */
    struct hb_line *lines; /* [2 * n_ranks] */
    struct open_file open[OPEN_FILES];
    uint64_t clock;
};

struct hb_rankfiles *hb_rankfiles_create(const struct hb_rankfiles_config *c)
{
    struct hb_rankfiles *f = hb_xcalloc(1, sizeof *f);
    size_t n_slots = 2 * (size_t)(c->n_ranks ? c->n_ranks : 1);

    f->config = *c;
    f->slots = hb_xcalloc(n_slots, sizeof *f->slots);
    f->lines = hb_xcalloc(n_slots, sizeof *f->lines);
    for (int i = 0; i < OPEN_FILES; i++) {
        f->open[i].fd = -1;
    }
    return f;
}

void hb_rankfiles_destroy(struct hb_rankfiles *f)
{
    if (!f) {
        return;
    }
    for (int i = 0; i < OPEN_FILES; i++) {
        hb_fd_close(&f->open[i].fd);
        free(f->open[i].path);
    }
    free(f->slots);
    free(f->lines);
    free(f);
}

int hb_rankfiles_has(const struct hb_rankfiles *f, int stream)
{
    return f->config.pattern[stream - 1] || f->config.dir;
}

/* --- names ------------------------------------------------------- */

char hb_pattern_place(const char *at, int *width_out, const char **end_out)
{
    const char *p = at + 1;
    int width = 0;

    while (p - at <= WIDTH_DIGITS && *p >= '0' && *p <= '9') {
        width = 10 * width + (*p++ - '0');
    }
    *width_out = width;
    *end_out = *p != '\0' ? p + 1 : p;
    return *p;
}

static int names(const char *pattern, const char *letters)
{
    int width, found = 0;

    for (const char *p = strchr(pattern, '%'); p && !found;
         p = strchr(p, '%')) {
        char letter = hb_pattern_place(p, &width, &p);

        found = letter != '\0' && strchr(letters, letter) != NULL;
    }
    return found;
}

static const char *host_of(const struct hb_rankfiles *f, uint32_t rank,
                           uint32_t *number_out)
{
    *number_out = 0;
    return f->config.host_of != NULL
               ? f->config.host_of(f->config.arg, rank, number_out) : "";
}

/* What tells the files of a pattern apart. */
static uint32_t number_of(const struct hb_rankfiles *f, const char *pattern,
                          uint32_t rank)
{
    uint32_t number = 0;

    if (names(pattern, "r")) {
        return rank;
    }
    if (names(pattern, "hp")) {
        (void)host_of(f, rank, &number);
    }
    return number;
}

static size_t slot_of(const struct hb_rankfiles *f, uint32_t rank, int stream)
{
    const char *const *pattern = f->config.pattern;

    if (!pattern[stream - 1]) {
        return 2 * (size_t)rank + (size_t)(stream - 1);
    }
    if (stream == 2 && hb_streq(pattern[0], pattern[1])) {
        stream = 1;
    }
    return 2 * (size_t)number_of(f, pattern[stream - 1], rank) +
           (size_t)(stream - 1);
}

static void put_place(struct hb_str *out, const struct hb_rankfiles *f,
                      uint32_t rank, char letter, int width)
{
    uint32_t number;
    const char *host = host_of(f, rank, &number);

    switch (letter) {
    case 'r':
    case 'p':
        hb_str_putf(out, "%0*u", width, letter == 'r' ? rank : number);
        break;
    case 'h':
        hb_str_put(out, host);
        break;
    case 'g':
        hb_str_putc(out, '0');
        break;
    default:
        hb_str_putc(out, '%');
        break;
    }
}

static char *expand(const struct hb_rankfiles *f, const char *pattern,
                    uint32_t rank)
{
    struct hb_str out = HB_STR_INIT;
    int width;

    for (const char *p = pattern; *p;) {
        if (*p != '%') {
            hb_str_putc(&out, *p++);
        } else {
            char letter = hb_pattern_place(p, &width, &p);

            put_place(&out, f, rank, letter, width);
        }
    }
    return hb_str_steal(&out);
}

/* Ranks are padded as Open MPI pads them: to the digits of their number. */
static char *path_of(const struct hb_rankfiles *f, uint32_t rank, int stream)
{
    const struct hb_rankfiles_config *c = &f->config;
    int width = snprintf(NULL, 0, "%u", c->n_ranks);
    char job[16];

    if (c->pattern[stream - 1]) {
        return expand(f, c->pattern[stream - 1], rank);
    }
    snprintf(job, sizeof job, "%u/", c->job);
    return hb_xasprintf("%s/%srank.%0*u/%s", c->dir,
                        c->dir_no_job ? "" : job, width, rank,
                        stream == 1 ? "stdout" : "stderr");
}

static int make_directories(const char *path, struct hpcboot_error *err)
{
    char *copy = hb_xstrdup(path);
    int rc = 0;

    for (char *p = strchr(copy + 1, '/'); rc == 0 && p;
         p = strchr(p + 1, '/')) {
        *p = '\0';
        if (mkdir(copy, 0777) < 0 && errno != EEXIST) {
            rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                               "the directory %s cannot be made", copy);
        }
        *p = '/';
    }
    free(copy);
    return rc;
}

/* What waits for a reader would hold up the launcher, and all ranks with it. */
static int not_a_file(const char *path, int is_terminal,
                      struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_USAGE, "the output file %s is a %s, and "
                   "ranks would wait for who reads it; hbrun's own standard "
                   "output and error may be one: leave the name out, or merge "
                   "the two (--merge-stderr-to-stdout)",
                   path, is_terminal ? "terminal" : "pipe");
}

static int check_open(int fd, const char *path, struct hpcboot_error *err)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) ||
                                   S_ISSOCK(st.st_mode) || isatty(fd))
               ? not_a_file(path, isatty(fd), err) : 0;
}

static int is_own_file(const struct hb_rankfiles *f, const struct stat *st)
{
    struct stat own;

    for (int i = 0; i < 2; i++) {
        const char *name = f->config.own[i];

        if (name != NULL && stat(name, &own) == 0 &&
            own.st_dev == st->st_dev && own.st_ino == st->st_ino) {
            return 1;
        }
    }
    return 0;
}

static int check_file(const struct hb_rankfiles *f, const struct stat *st,
                      const char *path, struct hpcboot_error *err)
{
    if (is_own_file(f, st)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "the output file %s is that of "
                       "--events or --metrics, too; give another name", path);
    }
    return hb_own_output(st) < 0
               ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE, "the output file %s is "
                             "where hbrun's own output goes, and the two "
                             "would write over each other; give another name "
                             "or none, or merge standard error into standard "
                             "output (--merge-stderr-to-stdout)", path);
}

/* What is there already. A pipe that nobody reads cannot be opened. */
static int check_there(const struct hb_rankfiles *f, const char *path,
                       struct hpcboot_error *err)
{
    struct stat st;
    int fd, rc = 0;

    if (stat(path, &st) < 0) {
        return 0;
    }
    if (S_ISREG(st.st_mode)) {
        return check_file(f, &st, path, err);
    }
    fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0) {
        rc = check_open(fd, path, err);
    } else if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
        rc = not_a_file(path, 0, err);
    }
    hb_fd_close(&fd);
    return rc;
}

/* --- opening and writing ----------------------------------------- */

static struct open_file *least_used(struct hb_rankfiles *f)
{
    struct open_file *oldest = &f->open[0];

    for (int i = 0; i < OPEN_FILES; i++) {
        if (f->open[i].fd < 0) {
            return &f->open[i];
        }
        if (f->open[i].used < oldest->used) {
            oldest = &f->open[i];
        }
    }
    return oldest;
}

/* Its file's descriptor, or -1. That of a host which another has replaced goes
 * by the former's name, and is closed. */
static int find_open(struct hb_rankfiles *f, size_t slot, const char *path)
{
    for (int i = 0; i < OPEN_FILES; i++) {
        struct open_file *o = &f->open[i];

        if (o->fd >= 0 && o->slot == slot && strcmp(o->path, path) == 0) {
            o->used = ++f->clock;
            return o->fd;
        }
        if (o->fd >= 0 && o->slot == slot) {
            hb_fd_close(&o->fd);
        }
    }
    return -1;
}

static void keep_open(struct hb_rankfiles *f, size_t slot, const char *path,
                      int fd)
{
    struct open_file *entry = least_used(f);

    hb_fd_close(&entry->fd);
    free(entry->path);
    entry->path = hb_xstrdup(path);
    entry->fd = fd;
    entry->slot = slot;
    entry->used = ++f->clock;
}

static int open_path(const char *path, int how, int *fd_out,
                     struct hpcboot_error *err)
{
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY |
                O_NONBLOCK | how;
    int rc = 0;

    *fd_out = open(path, flags, 0666);
    if (*fd_out < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        rc = make_directories(path, err);
        *fd_out = rc == 0 ? open(path, flags, 0666) : -1;
    }
    return rc < 0 || *fd_out >= 0
               ? rc : hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "the output file "
                                    "%s cannot be opened", path);
}

static int open_slot(struct hb_rankfiles *f, size_t slot, const char *path,
                     int *fd_out, struct hpcboot_error *err)
{
    int made = (f->slots[slot] & SLOT_MADE) != 0, rc, fd;

    *fd_out = find_open(f, slot, path);
    if (*fd_out >= 0) {
        return 0;
    }
    rc = made ? 0 : check_there(f, path, err);
    rc = rc < 0 ? rc : open_path(path, made || f->config.append ? 0 : O_TRUNC,
                                 &fd, err);
    if (rc < 0) {
        return rc;
    }
    rc = check_open(fd, path, err);
    if (rc < 0) {
        hb_fd_close(&fd);
        return rc;
    }
    f->slots[slot] |= SLOT_MADE;
    keep_open(f, slot, path, fd);
    *fd_out = fd;
    return 0;
}

static int prepare(struct hb_rankfiles *f, uint32_t rank, int stream,
                   struct hpcboot_error *err)
{
    size_t slot = slot_of(f, rank, stream);
    char *path;
    int rc, fd;

    if (f->slots[slot] & SLOT_MADE) {
        return 0;
    }
    path = path_of(f, rank, stream);
    rc = open_slot(f, slot, path, &fd, err);
    free(path);
    return rc;
}

int hb_rankfiles_prepare(struct hb_rankfiles *f, uint32_t n_ranks,
                         struct hpcboot_error *err)
{
    int64_t end = hb_deadline_in_ms(PREPARE_MS);
    int rc = 0;

    for (uint32_t rank = 0; rc == 0 && rank < n_ranks; rank++) {
        for (int stream = 1; rc == 0 && stream <= 2; stream++) {
            rc = hb_rankfiles_has(f, stream) ? prepare(f, rank, stream, err)
                                             : 0;
        }
        if (hb_deadline_left_ms(end) == 0) {
            break;
        }
    }
    return rc;
}

static int write_slot(struct hb_rankfiles *f, size_t slot, const char *path,
                      const void *data, size_t len, struct hpcboot_error *err)
{
    const char *p = data;
    int fd = -1, rc = open_slot(f, slot, path, &fd, err);

    while (rc == 0 && len > 0) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno != EINTR) {
            rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                               "the output file %s cannot be written", path);
        } else if (n > 0) {
            p += n;
            len -= (size_t)n;
        }
    }
    return rc;
}

struct hb_line *hb_rankfiles_line(struct hb_rankfiles *f, uint32_t rank,
                                  int stream)
{
    return &f->lines[slot_of(f, rank, stream)];
}

int hb_rankfiles_write(struct hb_rankfiles *f, uint32_t rank, int stream,
                       const void *data, size_t len,
                       struct hpcboot_error *err)
{
    size_t slot = slot_of(f, rank, stream);
    char *path;
    int rc;

    if (f->slots[slot] & SLOT_DEAD) {
        return 0;
    }
    path = path_of(f, rank, stream);
    rc = write_slot(f, slot, path, data, len, err);
    free(path);
    if (rc < 0) {
        f->slots[slot] |= SLOT_DEAD;
    }
    return rc;
}
