/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Environments that come from outside this process: a pod's first process,
 * whose variables a login over SSH does not get, and files of --env-file.
 *
 * The environment of PID 1 is taken where PID 1 is what a container was
 * started with; on a machine of its own PID 1 is an init system, and its
 * variables are nobody's. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/proc/env.h"
#include "bin/proc/procfs.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

/* Well above what the kernel lets a program be started with by default. */
#define MAX_ENVIRON_BYTES (8u << 20)
#define MAX_ENV_FILE_BYTES (8u << 20)

/* A process's name in /proc/PID/comm, at most 15 bytes and a newline. */
#define MAX_COMM_BYTES 64

/* Deeper process trees above an agent are not climbed. */
#define MAX_ANCESTORS 1024

static const char *const init_names[] = {
    "systemd", "init", "openrc-init", "runit", "procd", "upstart", "linuxrc",
};

/* The name of a process without the newline; free() it; or NULL. */
static char *read_comm(const char *proc, int pid)
{
    char *path = hb_xasprintf("%s/%d/comm", proc, pid);
    char *comm = NULL;
    size_t len = 0;

    if (hb_file_read(path, MAX_COMM_BYTES, &comm, &len, NULL) == HPCBOOT_OK) {
        comm[strcspn(comm, "\n")] = '\0';
    }
    free(path);
    return comm;
}

static int is_init(const char *comm)
{
    for (size_t i = 0; i < sizeof(init_names) / sizeof(init_names[0]); i++) {
        if (strcmp(comm, init_names[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The topmost process above `pid` that this process namespace knows. */
static int top_ancestor(const char *proc, int pid)
{
    struct hb_procfs_stat st;

    for (int i = 0; i < MAX_ANCESTORS; i++) {
        if (hb_procfs_read_stat(proc, pid, &st) < 0) {
            return -1;
        }
        if (st.ppid <= 0) {
            return pid;
        }
        pid = st.ppid;
    }
    return -1;
}

/* The process whose environment is the container's. */
static int find_first(const char *proc, int pid, int *first_out,
                      struct hpcboot_error *err)
{
    char *comm = read_comm(proc, 1);
    int first = 1, rc = HPCBOOT_OK;

    if (comm == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "%s/1 cannot be read", proc);
    } else if (is_init(comm)) {
        rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND,
                     "process 1 is an init system (%s): no container", comm);
    } else if (strcmp(comm, "pause") == 0) {
        first = top_ancestor(proc, pid);
        if (first <= 1 || first == pid) {
            rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "process 1 is a pod's "
                         "pause process, and nothing stands above this one");
        }
    }
    if (rc == HPCBOOT_OK) {
        *first_out = first;
    }
    free(comm);
    return rc;
}

static void split_environ(const char *data, size_t len, struct hb_strv *out)
{
    for (size_t at = 0; at < len; at += strlen(data + at) + 1) {
        if (strchr(data + at, '=') != NULL) {
            hb_strv_push(out, data + at);
        }
    }
}

int hb_env_read_pid1_at(const char *proc, int pid, struct hb_strv *out,
                        struct hpcboot_error *err)
{
    char *path = NULL, *data = NULL;
    size_t len = 0;
    struct stat st;
    int first = 1;
    int rc = find_first(proc, pid, &first, err);

    if (rc < 0) {
        return rc;
    }
    path = hb_xasprintf("%s/%d/environ", proc, first);
    if (stat(path, &st) < 0 || st.st_uid != geteuid()) {
        rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND,
                     "process %d belongs to another user", first);
        goto out;
    }
    rc = hb_file_read(path, MAX_ENVIRON_BYTES, &data, &len, err);
    if (rc < 0) {
        rc = HPCBOOT_ERR_NOT_FOUND;
        goto out;
    }
    split_environ(data, len, out);
out:
    if (rc < 0 && err != NULL) {
        err->code = rc;
    }
    free(path);
    free(data);
    return rc;
}

int hb_env_read_pid1(struct hb_strv *out, struct hpcboot_error *err)
{
    return hb_env_read_pid1_at("/proc", (int)getpid(), out, err);
}

/* ---- --env-file */

/* One line, NUL-terminated, without its end. */
static int line_rule(const char *name, unsigned number, const char *line,
                     struct hb_strv *out, struct hpcboot_error *err)
{
    size_t len;

    line += strspn(line, " \t");
    if (line[0] == '\0' || line[0] == '#') {
        return HPCBOOT_OK;
    }
    if (hb_starts_with(line, "export ")) {
        line += strlen("export ");
        line += strspn(line, " \t");
    }
    len = strcspn(line, "=");
    if (len == 0 || strcspn(line, " \t") < len) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "%s:%u: \"%.100s\" is not NAME=value", name, number,
                       line);
    }
    hb_strv_pushf(out, "%c%s", line[len] == '=' ? '+' : '=', line);
    return HPCBOOT_OK;
}

int hb_env_text_rules(const char *name, const char *text, size_t len,
                      struct hb_strv *rules_out, struct hpcboot_error *err)
{
    struct hb_strv rules = HB_STRV_INIT;
    unsigned number = 0;
    int rc = HPCBOOT_OK;

    if (len > 0 && memchr(text, '\0', len) != NULL) {
        return hb_fail(err, HPCBOOT_ERR_PARSE, "%s: it has NUL bytes", name);
    }
    for (size_t at = hb_bom_len(text, len); rc == HPCBOOT_OK && at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end != NULL ? (size_t)(end - text) - at : len - at;
        /* A carriage return is the editor's, not the value's. */
        size_t keep = n > 0 && text[at + n - 1] == '\r' ? n - 1 : n;
        char *line = hb_xstrndup(text + at, keep);

        rc = line_rule(name, ++number, line, &rules, err);
        free(line);
        at += n + 1;
    }
    if (rc == HPCBOOT_OK) {
        hb_strv_extend(rules_out, hb_strv_view(&rules));
    }
    hb_strv_destroy(&rules);
    return rc;
}

typedef int (*read_fn)(const char *path, size_t max_bytes, char **data_out,
                       size_t *len_out, struct hpcboot_error *err);

static int file_rules(read_fn read_file, const char *path,
                      struct hb_strv *rules_out, struct hpcboot_error *err)
{
    char *text = NULL;
    size_t len = 0;
    int rc = read_file(path, MAX_ENV_FILE_BYTES, &text, &len, err);

    if (rc == HPCBOOT_OK) {
        rc = hb_env_text_rules(path, text, len, rules_out, err);
    }
    free(text);
    return rc;
}

int hb_env_file_rules(const char *path, struct hb_strv *rules_out,
                      struct hpcboot_error *err)
{
    return file_rules(hb_file_read_lasting, path, rules_out, err);
}

int hb_env_own_file_rules(const char *path, struct hb_strv *rules_out,
                          struct hpcboot_error *err)
{
    return file_rules(hb_file_read_own, path, rules_out, err);
}
