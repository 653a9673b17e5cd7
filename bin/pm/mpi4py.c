/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* mpi4py of a Python interpreter, found the way Python's site module lays
 * out its packages, without running Python:
 *
 *     PYTHONPATH entries                       unless -E or -I
 *     <venv>/lib/pythonX.Y/site-packages       pyvenv.cfg beside bin/
 *     <user>/lib/pythonX.Y/site-packages       unless -s, -I, PYTHONNOUSERSITE
 *     <prefix>/[local/]lib/pythonX.Y/{site,dist}-packages
 *     <prefix>/lib/python3/dist-packages       Debian
 *
 * A virtual environment hides the places below it unless its pyvenv.cfg says
 * include-system-site-packages = true. The user's packages are in ~/.local or
 * PYTHONUSERBASE. X.Y is what the interpreter is named, links followed, or what
 * pyvenv.cfg says; where neither tells, packages of any version are taken.
 *
 * The wheels of mpi4py 4 hold a module per ABI and load the MPI by themselves
 * (their _mpiabi.py): the first libmpi of <venv>/lib, <user>/lib,
 * <prefix>/lib, the loader's path. That search is done alike here. Where
 * MPI4PY_MPIABI names the module, it is the loader that finds the MPI. */
#include "config.h"

#include "bin/pm/mpi4py.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

#define CFG_MAX 65536u
#define SCRIPT_MAX (1u << 20)
#define DIGITS "0123456789"

/* Two steps up: <prefix>/bin/python -> <prefix>. free() it. */
static char *prefix_of(const char *interpreter)
{
    char *prefix = hb_xstrdup(interpreter);

    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(prefix, '/');

        if (slash != NULL) {
            *slash = '\0';
        }
    }
    return prefix;
}

struct python {
    const struct hb_place *place;
    char *prefix;  /* where it was found, links not followed */
    char *system;  /* where it is */
    char *version; /* "3.11", or "3*" */
    char *user;    /* NULL: it sees no packages of the user */
    int knows_version;
    int is_venv;
    int sees_system; /* packages outside of its virtual environment */
    int sees_env;    /* PYTHONPATH and others of that kind */
    int is_guess;    /* what was found may be another version's */
};

/* Of a folder of packages: what stands before and behind the version; no
 * `behind`: all versions share it. */
struct layout {
    const char *before, *behind;
};

/* Python's own options end at the script, -c TEXT or -m MODULE. */
static int has_option(char *const *args, const char *letters)
{
    for (size_t i = 0; args[i] != NULL && args[i][0] == '-'; i++) {
        const char *at = args[i] + 1;

        while (*at != '\0' && strchr("-cmWX", *at) == NULL) {
            if (strchr(letters, *at++) != NULL) {
                return 1;
            }
        }
        if (args[i][1] == '\0' || *at == 'c' || *at == 'm') {
            return 0;
        }
        /* -W and -X have a value */
        i += *at != '\0' && *at != '-' && at[1] == '\0' &&
             args[i + 1] != NULL;
    }
    return 0;
}

/* "3.11" at the beginning of a text, with the t of a free-threaded one, as
 * its folders have it; else NULL. free() it. */
static char *take_version(const char *text)
{
    size_t major = strspn(text, DIGITS);
    size_t minor = text[major] == '.' ? strspn(text + major + 1, DIGITS) : 0;
    size_t n = major + 1 + minor;

    if (major == 0 || minor == 0) {
        return NULL;
    }
    return hb_xstrndup(text, n + (text[n] == 't'));
}

/* The value of a line `KEY = VALUE`, or NULL. */
static const char *cfg_value(const char *text, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = text; *line != '\0';) {
        const char *at = line + len;

        if (strncmp(line, key, len) == 0) {
            at += strspn(at, " \t");
            if (*at == '=') {
                return at + 1 + strspn(at + 1, " \t");
            }
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return NULL;
}

static void read_venv(struct python *py)
{
    char *path = hb_xasprintf("%s/pyvenv.cfg", py->prefix);
    char *text = NULL;
    size_t len;

    py->is_venv = hb_file_read(path, CFG_MAX, &text, &len, NULL) >= 0;
    if (py->is_venv) {
        const char *system = cfg_value(text, "include-system-site-packages");
        const char *version = cfg_value(text, "version_info");

        version = version != NULL ? version : cfg_value(text, "version");
        py->sees_system = system != NULL &&
                          strncasecmp(system, "true", strlen("true")) == 0;
        if (py->version == NULL && version != NULL) {
            py->version = take_version(version);
        }
    }
    free(text);
    free(path);
}

static char *user_base(const struct python *py, char *const *args)
{
    const char *none = hb_place_env(py->place, "PYTHONNOUSERSITE");
    const char *base = hb_place_env(py->place, "PYTHONUSERBASE");
    const char *home = hb_place_env(py->place, "HOME");

    if (!py->sees_system || has_option(args, "sI") ||
        (py->sees_env && none != NULL && none[0] != '\0')) {
        return NULL;
    }
    if (py->sees_env && base != NULL && base[0] != '\0') {
        return hb_place_path(py->place, base);
    }
    return home != NULL ? hb_xasprintf("%s/.local", home) : NULL;
}

static void python_open(struct python *py, const struct hb_place *place,
                        const char *interpreter, char *const *args)
{
    char *real = realpath(interpreter, NULL);
    const char *file = real != NULL ? real : interpreter;
    const char *slash = strrchr(file, '/');
    const char *name = slash != NULL ? slash + 1 : file;

    memset(py, 0, sizeof(*py));
    py->place = place;
    py->prefix = prefix_of(interpreter);
    py->system = prefix_of(file);
    if (hb_starts_with(name, "python")) {
        py->version = take_version(name + strlen("python"));
    }
    py->sees_system = 1;
    py->sees_env = !has_option(args, "EI");
    read_venv(py);
    py->user = user_base(py, args);
    py->knows_version = py->version != NULL;
    if (!py->knows_version) {
        py->version = hb_xstrdup("3*");
    }
    free(real);
}

static void python_close(struct python *py)
{
    free(py->prefix);
    free(py->system);
    free(py->version);
    free(py->user);
}

/* Adds the modules below `dir` (a glob pattern) and says whether any is. */
static int add(const char *dir, struct hb_strv *out)
{
    char *pattern = hb_xasprintf("%s/mpi4py/MPI*.so", dir);
    size_t before = out->n;
    glob_t found;

    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            hb_strv_push(out, found.gl_pathv[i]);
        }
        globfree(&found);
    }
    free(pattern);
    return out->n > before;
}

static int add_below(struct python *py, const char *prefix,
                     const struct layout *layouts, struct hb_strv *out)
{
    int found = 0;

    for (const struct layout *l = layouts; l->before != NULL && !found; l++) {
        int is_shared = l->behind == NULL;
        char *dir = hb_xasprintf("%s%s%s%s", prefix, l->before,
                                 is_shared ? "" : py->version,
                                 is_shared ? "" : l->behind);

        found = add(dir, out);
        py->is_guess |= found && !is_shared && !py->knows_version;
        free(dir);
    }
    return found;
}

static int add_pythonpath(const struct python *py, struct hb_strv *out)
{
    const char *list = py->sees_env ? hb_place_env(py->place, "PYTHONPATH")
                                    : NULL;
    char *copy, *save = NULL;
    int found = 0;

    if (list == NULL) {
        return 0;
    }
    copy = hb_xstrdup(list);
    for (char *dir = strtok_r(copy, ":", &save); dir != NULL && !found;
         dir = strtok_r(NULL, ":", &save)) {
        found = add(dir, out);
    }
    free(copy);
    return found;
}

/* Keeps the module that MPI4PY_MPIABI names, written as its wheels allow:
 * "Open MPI", "open-mpi"; Intel MPI's is MPICH's. */
static void keep_named(const struct hb_place *place, struct hb_strv *modules)
{
    const char *named = hb_place_env(place, "MPI4PY_MPIABI");
    char mark[64] = "/MPI.";
    size_t at = strlen(mark);

    for (; named != NULL && *named != '\0' && at < sizeof mark - 2; named++) {
        if (strchr(" -_", *named) == NULL) {
            mark[at++] = (char)tolower((unsigned char)*named);
        }
    }
    mark[at] = '.';
    if (strcmp(mark, "/MPI.impi.") == 0) {
        snprintf(mark, sizeof mark, "/MPI.mpich.");
    }
    for (size_t i = 0; i < modules->n; i++) {
        if (strstr(modules->v[i], mark) != NULL) {
            char *module = hb_xstrdup(modules->v[i]);

            hb_strv_destroy(modules);
            hb_strv_push(modules, module);
            free(module);
            break;
        }
    }
}

static void find_modules(struct python *py, struct hb_strv *out)
{
    static const struct layout usual[] = {
        {"/lib/python", "/site-packages"},
        {"/lib64/python", "/site-packages"}, {NULL, NULL},
    };
    static const struct layout system[] = {
        {"/local/lib/python", "/dist-packages"},
        {"/local/lib/python", "/site-packages"},
        {"/lib/python", "/site-packages"},
        {"/lib64/python", "/site-packages"},
        {"/lib/python3/dist-packages", NULL},
        {"/lib/python", "/dist-packages"}, {NULL, NULL},
    };
    int found = add_pythonpath(py, out);

    if (!found && py->is_venv) {
        found = add_below(py, py->prefix, usual, out);
    }
    if (!found && py->user != NULL) {
        found = add_below(py, py->user, usual, out);
    }
    if (!found && py->sees_system) {
        (void)add_below(py, py->system, system, out);
    }
    keep_named(py->place, out);
}

/* ---- wheels with a module per ABI ---------------------------------------- */

static int is_per_abi(const struct hb_strv *modules)
{
    static const char *const marks[] = {
        "/MPI.mpich.", "/MPI.openmpi.", "/MPI.mpiabi.", "/MPI.impi.",
    };

    for (size_t i = 0; i < modules->n; i++) {
        for (size_t k = 0; k < sizeof(marks) / sizeof(marks[0]); k++) {
            if (strstr(modules->v[i], marks[k]) != NULL) {
                return 1;
            }
        }
    }
    return 0;
}

static const char *const libmpi_names[] = {
    "libmpi.so", "libmpi.so.12", "libmpi.so.40",
};
#define N_NAMES (sizeof(libmpi_names) / sizeof(libmpi_names[0]))

/* A wheel's libmpi.so is a line for the linker, which cannot be loaded. */
static int is_elf(const char *path)
{
    struct hb_elf elf;

    if (hb_elf_open(&elf, path, NULL) < 0) {
        return 0;
    }
    hb_elf_destroy(&elf);
    return 1;
}

static char *libmpi_below(const char *prefix, const char *below)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        char *path = hb_xasprintf("%s%s/%s", prefix, below, libmpi_names[i]);

        if (is_elf(path)) {
            return path;
        }
        free(path);
    }
    return NULL;
}

static char *libmpi_of_system(const struct hb_place *place)
{
    char *path = NULL;

    for (size_t i = 0; i < N_NAMES && path == NULL; i++) {
        path = hb_place_system_library(place, libmpi_names[i]);
        if (path != NULL && !is_elf(path)) { /* libmpi.so may be a script */
            free(path);
            path = NULL;
        }
    }
    return path;
}

/* MPI4PY_LIBMPI: files and folders; an empty entry is the loader's path. */
static char *libmpi_named(const struct hb_place *place, const char *list)
{
    char *copy = hb_xstrdup(list), *rest = copy, *found = NULL, *entry;

    while (found == NULL && (entry = strsep(&rest, ":")) != NULL) {
        struct stat st;

        if (entry[0] == '\0') {
            found = libmpi_of_system(place);
        } else if (stat(entry, &st) == 0 && S_ISDIR(st.st_mode)) {
            found = libmpi_below(entry, "");
        } else if (strchr(entry, '/') == NULL) {
            found = hb_place_system_library(place, entry);
        } else if (is_elf(entry)) {
            found = hb_xstrdup(entry);
        }
    }
    free(copy);
    return found;
}

static char *find_library(const struct python *py,
                          const struct hb_strv *modules)
{
    const char *list = hb_place_env(py->place, "MPI4PY_LIBMPI");
    char *found = NULL;

    if (!is_per_abi(modules) ||
        hb_place_env(py->place, "MPI4PY_MPIABI") != NULL) {
        return NULL;
    }
    if (list != NULL) {
        return libmpi_named(py->place, list);
    }
    if (py->is_venv) {
        found = libmpi_below(py->prefix, "/lib");
    }
    if (found == NULL && py->user != NULL) {
        found = libmpi_below(py->user, "/lib");
    }
    if (found == NULL && py->sees_system && strcmp(py->system, "/usr") != 0) {
        found = libmpi_below(py->system, "/lib");
    }
    return found != NULL ? found : libmpi_of_system(py->place);
}

int hb_mpi4py_find(const struct hb_place *place, const char *interpreter,
                   char *const *args, struct hb_strv *modules,
                   char **library_out)
{
    struct python py;

    python_open(&py, place, interpreter, args);
    find_modules(&py, modules);
    *library_out = find_library(&py, modules);
    python_close(&py);
    return !py.is_guess;
}

/* ---- command lines ------------------------------------------------------- */

static int script_names(const struct hb_place *place, const char *script)
{
    char *path = hb_place_path(place, script);
    char *text = hb_place_text(path, SCRIPT_MAX);
    int named = text != NULL && strstr(text, "mpi4py") != NULL;

    free(text);
    free(path);
    return named;
}

int hb_mpi4py_named(const struct hb_place *place, char *const *args)
{
    for (size_t i = 0; args[i] != NULL; i++) {
        if (strstr(args[i], "mpi4py") != NULL) {
            return 1;
        }
        if (hb_ends_with(args[i], ".py") || args[i][0] != '-') {
            return script_names(place, args[i]);
        }
    }
    return 0;
}
