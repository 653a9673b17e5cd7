/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* mpi4py of a Python interpreter, found the way Python's site module lays
 * out its packages, without running Python:
 *
 *     PYTHONPATH entries
 *     <venv>/lib/pythonX.Y/site-packages       pyvenv.cfg beside bin/
 *     ~/.local/lib/pythonX.Y/site-packages
 *     <prefix>/[local/]lib/pythonX.Y/{site,dist}-packages
 *     <prefix>/lib/python3/dist-packages       Debian
 *
 * A virtual environment hides the places below it unless its pyvenv.cfg says
 * include-system-site-packages = true.
 *
 * The wheels of mpi4py 4 hold a module per ABI and load the MPI by themselves
 * (their _mpiabi.py): the first libmpi of <venv>/lib, ~/.local/lib,
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

/* Whether a pyvenv.cfg stands in `prefix`; *system_out: the system's packages
 * are seen too. */
static int is_venv(const char *prefix, int *system_out)
{
    char *path = hb_xasprintf("%s/pyvenv.cfg", prefix);
    char *text = NULL, *at;
    size_t len;
    int found = hb_file_read(path, CFG_MAX, &text, &len, NULL) >= 0;

    if (found) {
        at = strstr(text, "include-system-site-packages");
        at = at != NULL ? strchr(at, '=') : NULL;
        *system_out = at != NULL &&
                      strncasecmp(at + 1 + strspn(at + 1, " \t"), "true",
                                  strlen("true")) == 0;
    }
    free(text);
    free(path);
    return found;
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

static int add_below(const char *prefix, const char *const *layouts,
                     struct hb_strv *out)
{
    int found = 0;

    for (int i = 0; layouts[i] != NULL && !found; i++) {
        char *dir = hb_xasprintf("%s%s", prefix, layouts[i]);

        found = add(dir, out);
        free(dir);
    }
    return found;
}

static int add_pythonpath(const struct hb_place *place, struct hb_strv *out)
{
    const char *list = hb_place_env(place, "PYTHONPATH");
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

void hb_mpi4py_find(const struct hb_place *place, const char *interpreter,
                    struct hb_strv *out)
{
    static const char *const venv_layouts[] = {
        "/lib/python3*/site-packages", "/lib64/python3*/site-packages", NULL,
    };
    static const char *const user_layouts[] = {
        "/.local/lib/python3*/site-packages", NULL,
    };
    static const char *const system_layouts[] = {
        "/local/lib/python3*/dist-packages",
        "/local/lib/python3*/site-packages",
        "/lib/python3*/site-packages", "/lib64/python3*/site-packages",
        "/lib/python3/dist-packages", "/lib/python3*/dist-packages", NULL,
    };
    const char *home = hb_place_env(place, "HOME");
    char *prefix = prefix_of(interpreter);
    char *real = realpath(interpreter, NULL);
    char *system = prefix_of(real != NULL ? real : interpreter);
    int see_system = 1, found = add_pythonpath(place, out);

    if (!found && is_venv(prefix, &see_system)) {
        found = add_below(prefix, venv_layouts, out);
    }
    if (!found && see_system && home != NULL) {
        found = add_below(home, user_layouts, out);
    }
    if (!found && see_system) {
        (void)add_below(system, system_layouts, out);
    }
    keep_named(place, out);
    free(system);
    free(real);
    free(prefix);
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

char *hb_mpi4py_library(const struct hb_place *place, const char *interpreter,
                        const struct hb_strv *modules)
{
    const char *list = hb_place_env(place, "MPI4PY_LIBMPI");
    const char *home = hb_place_env(place, "HOME");
    char *real, *prefix, *system, *found = NULL;
    int see_system = 1;

    if (!is_per_abi(modules) || hb_place_env(place, "MPI4PY_MPIABI") != NULL) {
        return NULL;
    }
    if (list != NULL) {
        return libmpi_named(place, list);
    }
    real = realpath(interpreter, NULL);
    prefix = prefix_of(interpreter);
    system = prefix_of(real != NULL ? real : interpreter);
    if (is_venv(prefix, &see_system)) {
        found = libmpi_below(prefix, "/lib");
    }
    if (found == NULL && see_system && home != NULL) {
        found = libmpi_below(home, "/.local/lib");
    }
    if (found == NULL && see_system && strcmp(system, "/usr") != 0) {
        found = libmpi_below(system, "/lib");
    }
    free(system);
    free(prefix);
    free(real);
    return found != NULL ? found : libmpi_of_system(place);
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
