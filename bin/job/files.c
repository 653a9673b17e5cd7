/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Files that travel with the job: programs of --preload-binary and what
 * --preload-files lists. They are found and opened while the job is planned,
 * so that a missing one is told before a host is contacted, and sent down the
 * tree before the orders. Every host says how much it and those below it have
 * taken, so that no agent has to keep more than what is under way; a subtree
 * that is slow holds only itself up.
 *
 * All files of a job share one directory on a host, so two different files
 * must not have one name. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/job/job_impl.h"
#include "bin/proc/env.h"
#include "bin/proc/search.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* Bytes under way to a host and those below it; what agents report at a time
 * is a small part of that (bin/hpcbootd/session.c). */
#define FILES_UNDER_WAY (8u << 20)
#define MODE_BITS 0777

static int open_file(const char *path, struct stat *st,
                     struct hpcboot_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 || fstat(fd, st) < 0) {
        (void)hb_fail_errno(err, HPCBOOT_ERR_USAGE,
                            "%s cannot be copied to the hosts", path);
        hb_fd_close(&fd);
    } else if (!S_ISREG(st->st_mode)) {
        (void)hb_fail(err, HPCBOOT_ERR_USAGE, "%s cannot be copied to the "
                      "hosts: it is no regular file", path);
        hb_fd_close(&fd);
    }
    return fd;
}

/* 1: this very file is on the list; 0: no file of that name is; ERR_USAGE:
 * another one is. */
static int on_list(const struct job *j, const char *path,
                   const struct stat *st, struct hpcboot_error *err)
{
    for (uint32_t i = 0; i < j->n_files; i++) {
        const struct job_file *have = &j->files[i];

        if (!hb_streq(have->name, hb_base_name(path))) {
            continue;
        }
        if (have->dev == st->st_dev && have->ino == st->st_ino) {
            return 1;
        }
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s and %s cannot both be "
                       "copied to the hosts: they would have one name there",
                       have->path, path);
    }
    return 0;
}

static int add_file(struct job *j, const char *path,
                    struct hpcboot_error *err)
{
    struct job_file *f;
    struct stat st;
    int fd = open_file(path, &st, err);
    int rc = fd < 0 ? HPCBOOT_ERR_USAGE : on_list(j, path, &st, err);

    if (rc != 0) {
        hb_fd_close(&fd);
        return rc < 0 ? rc : 0;
    }
    j->files = hb_xrealloc(j->files, (j->n_files + 1) * sizeof *j->files);
    f = &j->files[j->n_files++];
    f->path = hb_xstrdup(path);
    f->name = hb_base_name(f->path);
    f->fd = fd;
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    f->mode = st.st_mode & MODE_BITS;
    f->size = (uint64_t)st.st_size;
    return 0;
}

/* The program as this host finds it: --path and PATH for a bare name, else
 * relative to where hbrun was started. */
static char *find_program(const struct job *j,
                          const struct hb_app_options *app, int access_mode)
{
    struct hb_strv env = HB_STRV_INIT, tries = HB_STRV_INIT;
    const char *path = hb_search_env(j->env, "PATH");
    char *found = NULL;

    if (path != NULL) {
        hb_env_setf(&env, "PATH", "%s", path);
    }
    hb_env_put_before_path(&env, app->path);
    hb_search_program(app->argv.v[0], hb_strv_view(&env), &tries);
    for (size_t i = 0; i < tries.n && found == NULL; i++) {
        struct stat st;

        if (stat(tries.v[i], &st) == 0 && S_ISREG(st.st_mode) &&
            access(tries.v[i], access_mode) == 0) {
            found = hb_xstrdup(tries.v[i]);
        }
    }
    hb_strv_destroy(&env);
    hb_strv_destroy(&tries);
    return found;
}

static int add_program(struct job *j, uint32_t i, struct hpcboot_error *err)
{
    const struct hb_app_options *app = &j->opt->apps[i];

    j->programs[i] = find_program(j, app, X_OK);
    if (j->programs[i] == NULL) {
        char *other = find_program(j, app, F_OK);
        int rc = other != NULL
                     ? hb_fail(err, HPCBOOT_ERR_USAGE, "--preload-binary: %s "
                               "is not executable; chmod +x it", other)
                     : hb_fail(err, HPCBOOT_ERR_USAGE, "--preload-binary: "
                               "there is no program %s here that could be "
                               "copied", app->argv.v[0]);

        free(other);
        return rc;
    }
    return add_file(j, j->programs[i], err);
}

int job_plan_files(struct job *j, struct hpcboot_error *err)
{
    int rc = 0;

    j->programs = hb_xcalloc(j->opt->n_apps, sizeof *j->programs);
    for (uint32_t i = 0; rc == 0 && i < j->opt->n_apps; i++) {
        const struct hb_app_options *app = &j->opt->apps[i];

        if (app->preload_binary > 0) {
            rc = add_program(j, i, err);
        }
        for (size_t k = 0; rc == 0 && k < app->preload_files.n; k++) {
            rc = add_file(j, app->preload_files.v[k], err);
        }
    }
    return rc;
}

const char *job_file_program(const struct job *j, uint32_t app)
{
    return j->programs[app] != NULL ? hb_base_name(j->programs[app]) : "";
}

/* Reads the next piece for one host. It was that long when the job was
 * planned; a file that has shrunk would never be whole. */
static int read_piece(const struct job_host *h, char *data, size_t *len_out,
                      struct hpcboot_error *err)
{
    const struct job_file *f = &h->job->files[h->file];
    uint64_t left = f->size - h->file_sent;
    size_t want = left < HB_WIRE_FILE_CHUNK ? (size_t)left
                                            : HB_WIRE_FILE_CHUNK;
    ssize_t n;

    do {
        n = pread(f->fd, data, want, (off_t)h->file_sent);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "%s cannot be read",
                             f->path);
    }
    if (n == 0) {
        return hb_fail(err, HPCBOOT_ERR_SYSTEM, "%s was cut short while it "
                       "was copied to the hosts", f->path);
    }
    *len_out = (size_t)n;
    return 0;
}

/* One message of the file that this host is at. */
static int send_piece(struct job_host *h, char *data,
                      struct hpcboot_error *err)
{
    const struct job_file *f = &h->job->files[h->file];
    size_t len = 0;
    int rc = 0;

    if (!h->file_begun) {
        const struct hb_msg_file m = {
            .name = f->name, .mode = f->mode, .size = f->size,
        };

        rc = hb_wire_put_file(hb_link_out(h->link), 0, HB_NODE_LAUNCHER,
                              HB_NODE_ALL, &m, err);
        h->file_begun = 1;
        h->file_sent = 0;
    } else {
        struct hb_msg_file_data m = {.data = {data, 0}};

        rc = read_piece(h, data, &len, err);
        if (rc < 0) {
            return rc;
        }
        m.data.len = len;
        rc = hb_wire_put_file_data(hb_link_out(h->link), 0, HB_NODE_LAUNCHER,
                                   HB_NODE_ALL, &m, err);
        h->file_sent += len;
        h->files_out += len;
    }
    if (h->file_sent == f->size) {
        h->file_begun = 0;
        h->file++;
    }
    hb_link_flush(h->link);
    return rc;
}

int job_files_send(struct job_host *h, struct hpcboot_error *err)
{
    char *data = h->file < h->job->n_files ? hb_xmalloc(HB_WIRE_FILE_CHUNK)
                                           : NULL;
    int rc = 0;

    while (rc == 0 && h->file < h->job->n_files &&
           h->files_out - h->files_taken < FILES_UNDER_WAY) {
        rc = send_piece(h, data, err);
    }
    free(data);
    return rc < 0 ? rc : h->file == h->job->n_files;
}

int job_files_taken(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct hb_msg_file_taken m;
    int rc = hb_wire_get_file_taken(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    if (h->via != NULL || m.bytes > h->files_out) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the agent has taken bytes "
                       "of files that it was not sent");
    }
    h->files_taken = m.bytes;
    host_go_on(h);
    return 0;
}

void job_files_explain(const struct job *j, struct hb_strv *lines)
{
    for (uint32_t i = 0; i < j->n_files; i++) {
        hb_strv_pushf(lines, "file: %s, %" PRIu64 " bytes, is copied to the "
                      "hosts", j->files[i].path, j->files[i].size);
    }
}

void job_files_close(struct job *j)
{
    for (uint32_t i = 0; i < j->n_files; i++) {
        hb_fd_close(&j->files[i].fd);
        free(j->files[i].path);
    }
    free(j->files);
    for (uint32_t i = 0; j->programs != NULL && i < j->opt->n_apps; i++) {
        free(j->programs[i]);
    }
    free(j->programs);
}
