/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What sources share: the launcher's environment, files below a movable
 * root, and the key that an operator mounts into its pods. */

#include "config.h"

#include "hostfile/source.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostfile/dialect.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

/* A million hosts with long names. */
#define MAX_FILE_BYTES (256u << 20)
/* Where programs are when no PATH says so. */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
/* The largest RSA keys in PEM form are near 13 KiB. */
#define MAX_KEY_BYTES (64u << 10)

const char *hb_source_env(const struct hb_gang_request *req, const char *name)
{
    size_t n = strlen(name);

    for (char *const *e = req->env; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=') {
            return *e + n + 1;
        }
    }
    return NULL;
}

const char *hb_source_env_of(const struct hb_gang_request *req,
                             const char *const *names)
{
    for (; *names != NULL; names++) {
        const char *value = hb_source_env(req, *names);
        if (value != NULL && value[0] != '\0') {
            return value;
        }
    }
    return NULL;
}

int hb_source_number(const struct hb_gang_request *req, const char *name,
                     uint64_t min, uint64_t max, uint64_t *out)
{
    const char *text = hb_source_env(req, name);

    return text != NULL && hb_parse_u64(text, min, max, out) >= 0;
}

const char *hb_source_root(const struct hb_gang_request *req)
{
    return req->root != NULL ? req->root : "";
}

/* A relative path is one from where the program stands. */
static const char *root_of(const struct hb_gang_request *req, const char *path)
{
    return path[0] == '/' ? hb_source_root(req) : "";
}

int hb_source_exists(const struct hb_gang_request *req, const char *path)
{
    char *full = hb_xasprintf("%s%s", root_of(req, path), path);
    int yes = access(full, F_OK) == 0;

    free(full);
    return yes;
}

int hb_source_load(const struct hb_gang_request *req, const char *path,
                   char **text_out, size_t *len_out,
                   struct hpcboot_error *err)
{
    char *full = hb_xasprintf("%s%s", hb_source_root(req), path);
    int rc = hb_file_read(full, MAX_FILE_BYTES, text_out, len_out, err);

    free(full);
    return rc;
}

char *hb_source_text(const struct hb_gang_request *req, const char *path,
                     size_t *len_out)
{
    char *text = NULL;

    return hb_source_load(req, path, &text, len_out, NULL) >= 0 ? text : NULL;
}

/* 1 when nothing but blanks stands in the text, and lines that begin with #, as
 * in the default hostfile that Open MPI installs. */
static int is_blank(const char *text, size_t len)
{
    int comment = 0;

    for (size_t i = 0; i < len; i++) {
        comment = text[i] == '#' || (comment && text[i] != '\n');
        if (!comment && (strchr(" \t\r\n", text[i]) == NULL ||
                         text[i] == '\0')) {
            return 0;
        }
    }
    return 1;
}

/* `form` NULL: the one it looks like. */
static int read_form(const char *root, const struct hb_form *form,
                               const char *path, struct hb_gang *out,
                               struct hpcboot_error *err)
{
    char *full = hb_xasprintf("%s%s", root, path), *text = NULL;
    size_t len;
    int rc = hb_file_read_lasting(full, MAX_FILE_BYTES, &text, &len, err);

    if (rc >= 0 && !is_blank(text, len)) {
        rc = hb_form_parse(form != NULL ? form : hb_form_guess(text, len), path,
                           text, len, out, err);
    }
    if (rc >= 0 && root[0] != '\0') {
        hb_gang_mark_local(out, root);
    }
    free(text);
    free(full);
    return rc;
}

int hb_source_read(const char *root, const char *form, const char *path,
                   struct hb_gang *out, struct hpcboot_error *err)
{
    const struct hb_form *d = form != NULL ? hb_form_find(form) : NULL;

    if (form != NULL && d == NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: there is no hostfile form \"%s\"", path, form);
    }
    return read_form(root, d, path, out, err);
}

int hb_source_read_value(const struct hb_gang_request *req, const char *what,
                         const char *text, enum hb_tally tally,
                         struct hb_gang *out, struct hpcboot_error *err)
{
    int rc = hb_form_parse_value(what, text, tally, out, err);

    if (rc >= 0) {
        hb_gang_mark_local(out, hb_source_root(req));
    }
    return rc;
}

void hb_source_note_unused(struct hb_gang *out, const char *system,
                           const char *reason)
{
    hb_gang_note(out, "this may be a job of %s, but %s, so this host is alone; "
                 "if other hosts are meant, name them with -H", system,
                 reason);
}

void hb_source_note_several(struct hb_gang *out, const char *system,
                            uint64_t hosts, const char *reason)
{
    if (hosts > 1) {
        hb_source_note_unused(out, system, reason);
    }
}

static int has_this_host(const struct hb_gang *gang)
{
    size_t i = 0;

    while (i < gang->n && !gang->hosts[i].is_local) {
        i++;
    }
    return i < gang->n;
}

int hb_source_take_index(const struct hb_gang_request *req,
                         const char *index, const char *of,
                         struct hb_gang *gang, struct hpcboot_error *err)
{
    uint64_t size = gang->n, at;

    if (!hb_source_number(req, index, 0, UINT64_MAX, &at)) {
        return HPCBOOT_OK;
    }
    if (at < size) {
        gang->hosts[at].is_local |= !has_this_host(gang);
        return HPCBOOT_OK;
    }
    return hb_fail(err, HPCBOOT_ERR_USAGE, "%s is %llu, and pods of a gang of "
                   "%llu (%s) count from 0: one of the two is not this pod's",
                   index, (unsigned long long)at, (unsigned long long)size,
                   of);
}

int hb_source_all_set(const struct hb_gang_request *req,
                      const char *const *names, char **reason_out)
{
    struct hb_str lacking = HB_STR_INIT;
    size_t n = 0;

    for (; *names != NULL; names++) {
        if (hb_source_env(req, *names) == NULL) {
            hb_str_putf(&lacking, "%s%s", n++ > 0 ? ", " : "", *names);
        }
    }
    if (n > 0) {
        *reason_out = hb_xasprintf("%s %s not set", hb_str_text(&lacking),
                                   n == 1 ? "is" : "are");
    }
    hb_str_destroy(&lacking);
    return n == 0;
}

static void no_number(const struct hb_gang_request *req, const char *system,
                      const char *name, const char *of, struct hb_gang *out,
                      char **reason_out)
{
    *reason_out = hb_xasprintf("%s is \"%.100s\", which is no %s", name,
                               hb_source_env(req, name), of);
    hb_source_note_unused(out, system, *reason_out);
}

void hb_source_number_wrong(const struct hb_gang_request *req,
                            const char *system, const char *name,
                            struct hb_gang *out, char **reason_out)
{
    no_number(req, system, name, "number of hosts", out, reason_out);
}

int hb_source_count(const struct hb_gang_request *req, const char *system,
                    const char *name, uint64_t min, uint64_t *count_out,
                    struct hb_gang *out, char **reason_out)
{
    if (hb_source_number(req, name, min, HB_MAX_HOSTS, count_out)) {
        return 1;
    }
    no_number(req, system, name, min > 0 ? "number of hosts" : "index of a pod",
              out, reason_out);
    return 0;
}

/* 1: read; 0: nothing is there, and *reason_out says so. */
static int read_if_there(const struct hb_gang_request *req,
                         const char *variable, const char *path,
                         const struct hb_form *form, struct hb_gang *out,
                         char **reason_out, struct hpcboot_error *err)
{
    int rc;

    if (!hb_source_exists(req, path)) {
        *reason_out = hb_xasprintf("%s names %.200s, which is not there",
                                   variable, path);
        return 0;
    }
    rc = read_form(root_of(req, path), form, path, out, err);
    if (rc < 0) {
        return hb_error_prefix(err, rc, "%s", variable);
    }
    if (out->n == 0) {
        *reason_out = hb_xasprintf("%s names %.200s, which is empty", variable,
                                   path);
        return 0;
    }
    out->detail = hb_xasprintf("%zu host%s in %s (%s)", out->n,
                               out->n == 1 ? "" : "s", path, variable);
    return 1;
}

int hb_source_read_named(const struct hb_gang_request *req, const char *system,
                         const char *variable, const struct hb_form *form,
                         struct hb_gang *out, char **reason_out,
                         struct hpcboot_error *err)
{
    const char *path = hb_source_env(req, variable);
    int rc;

    if (path == NULL || path[0] == '\0') {
        *reason_out = hb_xasprintf("%s is not set", variable);
        return 0;
    }
    rc = read_if_there(req, variable, path, form, out, reason_out, err);
    if (rc == 0 && system != NULL) {
        hb_source_note_unused(out, system, *reason_out);
    }
    return rc;
}

/* 1 when the program is in one of the directories of PATH. */
static int is_installed(const struct hb_gang_request *req, const char *command)
{
    const char *path = hb_source_env(req, "PATH");
    int found = 0;

    for (path = path != NULL ? path : DEFAULT_PATH; *path != '\0' && !found;
         path += *path == ':') {
        size_t n = strcspn(path, ":");
        char *full = hb_xasprintf("%s%.*s/%s", hb_source_root(req), (int)n,
                                  path, command);
        found = path[0] == '/' && access(full, X_OK) == 0;
        free(full);
        path += n;
    }
    return found;
}

int hb_source_is_here(const struct hb_gang_request *req, const char *system,
                      const char *command, int rc, struct hb_gang *out,
                      char **reason_out, const struct hpcboot_error *err)
{
    /* Whether this host is in a list that cannot be read is not known. */
    const char *known = rc < 0 ? "" : "this host is none of them and ";
    char *found;

    if (is_installed(req, command) || (rc > 0 && has_this_host(out))) {
        return 1;
    }
    found = hb_xstrdup(rc < 0 ? err->text : out->detail);
    hb_gang_destroy(out);
    *reason_out = hb_xasprintf("%s; but %sthere is no %s here: left over from "
                               "elsewhere", found, known, command);
    hb_gang_note(out, "variables of %s are set (%s), but %sthere is no %s "
                 "here, so they are taken as left over from elsewhere; if "
                 "those hosts are meant, name them with -H", system, found,
                 known, command);
    free(found);
    return 0;
}

void hb_torch_slots(const struct hb_gang_request *req, struct hb_gang *gang)
{
    const char *text = hb_source_env(req, "PET_NPROC_PER_NODE");
    enum hb_count count;
    int slots;

    if (text == NULL || !hb_slots_word(text, &slots, &count)) {
        return;
    }
    hb_gang_default_slots(gang, slots, strcmp(text, "auto") == 0
                                           ? HB_COUNT_GPUS_ELSE_CORES : count);
}

static int is_private_key(const char *path)
{
    char *text = NULL, *line;
    size_t len;
    int yes = 0;

    if (hb_file_read(path, MAX_KEY_BYTES, &text, &len, NULL) >= 0) {
        line = text + strspn(text, " \t\r\n");
        line[strcspn(line, "\r\n")] = '\0';
        yes = hb_starts_with(line, "-----BEGIN ") &&
              hb_ends_with(line, "PRIVATE KEY-----");
    }
    free(text);
    return yes;
}

static int wanted_file(const struct dirent *e)
{
    return e->d_name[0] != '.' && !hb_ends_with(e->d_name, ".pub");
}

/* The first private key of a directory, ssh's own name for it before others;
 * what it is called says nothing about its kind. free() it. */
static char *key_in(const char *dir)
{
    struct dirent **list = NULL;
    char *found = hb_xasprintf("%s/id_rsa", dir);
    int n;

    if (is_private_key(found)) {
        return found;
    }
    free(found);
    found = NULL;
    n = scandir(dir, &list, wanted_file, alphasort);
    for (int i = 0; i < n; i++) {
        char *path = hb_xasprintf("%s/%s", dir, list[i]->d_name);
        if (found == NULL && is_private_key(path)) {
            found = path;
        } else {
            free(path);
        }
        free(list[i]);
    }
    free(list);
    return found;
}

/* Kubernetes fills a mounted Secret through a link of this name. */
static int is_mounted(const char *dir)
{
    char *data = hb_xasprintf("%s/..data", dir);
    int yes = access(data, F_OK) == 0;

    free(data);
    return yes;
}

/* The key an operator mounted for its gang, or NULL; free() it. */
static char *mounted_key(const struct hb_gang_request *req)
{
    const char *root = hb_source_root(req), *home = hb_source_env(req, "HOME");
    struct hb_strv dirs = HB_STRV_INIT;
    char *found = NULL;

    if (home != NULL && home[0] == '/') {
        hb_strv_pushf(&dirs, "%s%s/.ssh", root, home);
    }
    hb_strv_pushf(&dirs, "%s/root/.ssh", root);
    hb_strv_pushf(&dirs, "%s/home/mpiuser/.ssh", root);
    /* A mounted key before one that may be the user's own. */
    for (int mounted = 1; mounted >= 0; mounted--) {
        for (size_t i = 0; found == NULL && i < dirs.n; i++) {
            if (is_mounted(dirs.v[i]) == mounted) {
                found = key_in(dirs.v[i]);
            }
        }
    }
    hb_strv_destroy(&dirs);
    return found;
}

void hb_source_operator_made(const struct hb_gang_request *req,
                             struct hb_gang *out, const char *where)
{
    out->operator_made = 1;
    out->gang_key = mounted_key(req);
    out->detail = hb_xasprintf("%zu host%s in %s, %s%s", out->n,
                               out->n == 1 ? "" : "s", where,
                               out->gang_key != NULL ? "the job's key is " :
                               "no key of the job was found",
                               out->gang_key != NULL ? out->gang_key : "");
}
