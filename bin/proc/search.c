/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Where a program is looked for: the text side of execvp, without the exec.
 * The child of proc.c tries these paths, explain.c looks for what went wrong
 * along the same ones. An empty entry of PATH is the current directory. */
#include "config.h"

#include "bin/proc/search.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/str.h"

/* What the shells and execvp use where there is no PATH. */
#define DEFAULT_PATH "/bin:/usr/bin"

const char *hb_search_env(char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; env != NULL && *env != NULL; env++) {
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=') {
            return *env + len + 1;
        }
    }
    return NULL;
}

void hb_search_paths(const char *file, char *const *env, struct hb_strv *out)
{
    const char *path = hb_search_env(env, "PATH");

    if (file[0] == '\0') {
        return;
    }
    if (strchr(file, '/') != NULL) {
        hb_strv_push(out, file);
        return;
    }
    path = path != NULL ? path : DEFAULT_PATH;
    for (;;) {
        size_t len = strcspn(path, ":");

        if (len == 0) {
            hb_strv_pushf(out, "./%s", file);
        } else {
            hb_strv_pushf(out, "%.*s/%s", (int)len, path, file);
        }
        if (path[len] == '\0') {
            return;
        }
        path += len + 1;
    }
}

void hb_search_program(const char *file, char *const *env, struct hb_strv *out)
{
    hb_search_paths(file, env, out);
    if (file[0] != '\0' && strchr(file, '/') == NULL) {
        hb_strv_pushf(out, "./%s", file);
    }
}

int hb_search_is_program(const char *path, const char *wdir)
{
    char *full = path[0] == '/' || wdir == NULL
                     ? hb_xstrdup(path) : hb_xasprintf("%s/%s", wdir, path);
    struct stat st;
    int is = stat(full, &st) == 0 && S_ISREG(st.st_mode) &&
             access(full, X_OK) == 0;

    free(full);
    return is;
}

int hb_search_finds(const char *file, char *const *env, const char *wdir)
{
    struct hb_strv paths = HB_STRV_INIT;
    int found = 0;

    hb_search_paths(file, env, &paths);
    for (size_t i = 0; !found && i < paths.n; i++) {
        found = hb_search_is_program(paths.v[i], wdir);
    }
    hb_strv_destroy(&paths);
    return found;
}
