/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Search paths. Libraries are looked for in the order of ld.so(8): RPATH of
 * the user and of its loaders unless there is a RUNPATH, LD_LIBRARY_PATH,
 * RUNPATH, then the system. For the system ld.so reads a binary cache made
 * from /etc/ld.so.conf; here the same text is read that the cache is made of,
 * so the answer is the same after an ldconfig.
 *
 * A candidate of another class or machine is passed over, as ld.so does. */
#include "config.h"

#include "bin/pm/libpath.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

#define CONF "/etc/ld.so.conf"
#define CONF_MAX 65536u
#define CONF_DEPTH 4 /* of includes inside includes */
#define DEFAULT_PATH "/usr/local/bin:/bin:/usr/bin"

/* Behind what the configuration says: glibc's and musl's own. */
static const char *const built_in_dirs[] = {
    "/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib", NULL,
};

/* `path` is absolute. */
static void read_conf(const char *path, int depth, struct hb_strv *out);

/* `word` of a line of the file `from` is a pattern, relative to that one. */
static void include_conf(const char *from, const char *word, int depth,
                         struct hb_strv *out)
{
    int folder = word[0] == '/' ? 0 : (int)(strrchr(from, '/') + 1 - from);
    char *pattern = hb_xasprintf("%.*s%s", folder, from, word);
    glob_t found;

    if (depth < CONF_DEPTH && glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            read_conf(found.gl_pathv[i], depth + 1, out);
        }
        globfree(&found);
    }
    free(pattern);
}

static void conf_line(const char *from, char *line, int depth,
                      struct hb_strv *out)
{
    char *save = NULL, *word = line + strspn(line, " \t");

    word[strcspn(word, "#")] = '\0';
    for (size_t n = strlen(word); n > 0 && strchr(" \t\r", word[n - 1]); n--) {
        word[n - 1] = '\0';
    }
    if (hb_starts_with(word, "include ") || hb_starts_with(word, "include\t")) {
        word += strlen("include ");
        for (word = strtok_r(word, " \t", &save); word != NULL;
             word = strtok_r(NULL, " \t", &save)) {
            include_conf(from, word, depth, out);
        }
    } else if (word[0] == '/') {
        hb_strv_push(out, word);
    }
}

static void read_conf(const char *path, int depth, struct hb_strv *out)
{
    char *text = NULL, *save = NULL;
    size_t len;

    if (hb_file_read(path, CONF_MAX, &text, &len, NULL) < 0) {
        return;
    }
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        conf_line(path, line, depth, out);
    }
    free(text);
}

void hb_place_init(struct hb_place *p, const char *wdir, char *const *env)
{
    memset(p, 0, sizeof(*p));
    p->wdir = wdir;
    p->env = env;
    p->system_dirs = hb_xcalloc(1, sizeof(*p->system_dirs));
}

void hb_place_destroy(struct hb_place *p)
{
    hb_strv_destroy(p->system_dirs);
    free(p->system_dirs);
}

static const struct hb_strv *system_dirs(const struct hb_place *p)
{
    if (p->system_dirs->n == 0) {
        read_conf(CONF, 0, p->system_dirs);
        for (int i = 0; built_in_dirs[i] != NULL; i++) {
            hb_strv_push(p->system_dirs, built_in_dirs[i]);
        }
    }
    return p->system_dirs;
}

const char *hb_place_env(const struct hb_place *p, const char *name)
{
    size_t len = strlen(name);

    for (char *const *e = p->env; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=') {
            return *e + len + 1;
        }
    }
    return NULL;
}

char *hb_place_path(const struct hb_place *p, const char *path)
{
    if (path[0] == '/' || p->wdir == NULL || p->wdir[0] == '\0') {
        return hb_xstrdup(path);
    }
    return hb_xasprintf("%s/%s", p->wdir, path);
}

static int is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           access(path, X_OK) == 0;
}

char *hb_place_text(const char *path, size_t max_bytes)
{
    char *text = NULL;
    struct stat st;
    size_t len;

    if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        (void)hb_file_read(path, max_bytes, &text, &len, NULL);
    }
    return text;
}

/* `text` cut at any of `separators`; an empty piece is the directory where
 * the process stands. */
static void cut_dirs(const char *text, const char *separators,
                     struct hb_strv *out)
{
    while (text != NULL) {
        size_t n = strcspn(text, separators);

        hb_strv_take(out, n > 0 ? hb_xstrndup(text, n) : hb_xstrdup("."));
        text = text[n] != '\0' ? text + n + 1 : NULL;
    }
}

char *hb_place_program(const struct hb_place *p, const char *name)
{
    struct hb_strv dirs = HB_STRV_INIT;
    const char *path = hb_place_env(p, "PATH");
    char *found = NULL;

    if (strchr(name, '/') != NULL) {
        hb_strv_push(&dirs, "");
    } else {
        cut_dirs(path != NULL ? path : DEFAULT_PATH, ":", &dirs);
        hb_strv_push(&dirs, "."); /* last, as ranks are started */
    }
    for (size_t i = 0; i < dirs.n && found == NULL; i++) {
        char *joined = dirs.v[i][0] != '\0'
                           ? hb_xasprintf("%s/%s", dirs.v[i], name)
                           : hb_xstrdup(name);

        found = hb_place_path(p, joined);
        free(joined);
        if (!is_program(found)) {
            free(found);
            found = NULL;
        }
    }
    hb_strv_destroy(&dirs);
    return found;
}

/* Replaces $NAME and ${NAME} by `value`. */
static char *replace(char *text, const char *name, const char *value)
{
    struct hb_str out = HB_STR_INIT;
    char *at = text, *found;
    size_t name_len = strlen(name);

    while ((found = strchr(at, '$')) != NULL) {
        int braces = found[1] == '{';
        char *word = found + 1 + braces;

        hb_str_putn(&out, at, (size_t)(found - at));
        if (strncmp(word, name, name_len) == 0 &&
            (!braces || word[name_len] == '}')) {
            hb_str_put(&out, value);
            at = word + name_len + braces;
        } else {
            hb_str_putc(&out, '$');
            at = found + 1;
        }
    }
    hb_str_put(&out, at);
    free(text);
    return hb_str_steal(&out);
}

void hb_place_rpath(const char *list, const char *path, struct hb_strv *out)
{
    char *real = realpath(path, NULL);
    char *origin = hb_xstrdup(real != NULL ? real : path);
    char *slash = strrchr(origin, '/');
    struct hb_strv dirs = HB_STRV_INIT;

    if (slash != NULL) {
        *slash = '\0';
    }
    cut_dirs(list, ":", &dirs);
    for (size_t i = 0; i < dirs.n; i++) {
        char *dir = replace(hb_xstrdup(dirs.v[i]), "ORIGIN", origin);

        hb_strv_take(out, replace(dir, "LIB", "lib"));
    }
    hb_strv_destroy(&dirs);
    free(origin);
    free(real);
}

static int fits(const char *path, const struct hb_elf *user)
{
    struct hb_elf elf;
    int same;

    if (access(path, R_OK) != 0) {
        return 0;
    }
    if (user == NULL) {
        return 1;
    }
    if (hb_elf_open(&elf, path, NULL) < 0) {
        return 0;
    }
    same = elf.bits == user->bits && elf.machine == user->machine;
    hb_elf_destroy(&elf);
    return same;
}

static char *search(const struct hb_place *p, const struct hb_strv *dirs,
                    const char *name, const struct hb_elf *user)
{
    for (size_t i = 0; dirs != NULL && i < dirs->n; i++) {
        char *joined = hb_xasprintf("%s/%s", dirs->v[i], name);
        char *path = hb_place_path(p, joined);

        free(joined);
        if (fits(path, user)) {
            return path;
        }
        free(path);
    }
    return NULL;
}

static char *search_env(const struct hb_place *p, const char *name,
                        const struct hb_elf *user)
{
    const char *list = hb_place_env(p, "LD_LIBRARY_PATH");
    struct hb_strv dirs = HB_STRV_INIT;
    char *found;

    if (list == NULL || list[0] == '\0') {
        return NULL;
    }
    cut_dirs(list, ":;", &dirs);
    found = search(p, &dirs, name, user);
    hb_strv_destroy(&dirs);
    return found;
}

char *hb_place_system_library(const struct hb_place *p, const char *name)
{
    char *found = search_env(p, name, NULL);

    return found != NULL ? found : search(p, system_dirs(p), name, NULL);
}

char *hb_place_library(const struct hb_place *p, const char *needed,
                       const struct hb_elf *user, const char *user_path,
                       const struct hb_strv *inherited)
{
    struct hb_strv own = HB_STRV_INIT;
    char *found = NULL;

    if (strchr(needed, '/') != NULL) {
        found = hb_place_path(p, needed);
        if (!fits(found, user)) {
            free(found);
            found = NULL;
        }
        return found;
    }
    if (user->runpath != NULL) {
        hb_place_rpath(user->runpath, user_path, &own);
    } else {
        found = search(p, inherited, needed, user);
    }
    if (found == NULL) {
        found = search_env(p, needed, user);
    }
    if (found == NULL) {
        found = search(p, &own, needed, user);
    }
    if (found == NULL) {
        found = search(p, system_dirs(p), needed, user);
    }
    hb_strv_destroy(&own);
    return found;
}
