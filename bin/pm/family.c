/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Choice of the process-management family for a command line. The program is
 * found as execvp would find it, then unwrapped:
 *
 *     ELF file that links an MPI or a client library   -> that one's family
 *     wrapper (env, numactl, timeout ...)              -> what it starts
 *     script                                           -> its interpreter,
 *                                                         else the shell
 *     Python whose script names mpi4py                 -> that one's MPI
 *     shell script, sh -c TEXT                         -> what it names
 *     anything with an argument that links an MPI      -> that one's, a guess
 *     anything with a Python as an argument            -> its mpi4py's, a guess
 *     other Python                                     -> its mpi4py's MPI
 *     other interpreter, container runtime             -> default rule
 *     ELF file without any                             -> none
 *
 * Default rule, wherever nothing certain can be said: PMIx when libmpi.so.40
 * (Open MPI) is on the loader's path, else PMI-1. Serving both is not
 * possible: MPICH 5 refuses to start when it sees two families. */
#include "config.h"

#include "bin/pm/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/pm/mpi4py.h"
#include "bin/pm/mpi_lib.h"
#include "bin/pm/shelltext.h"
#include "bin/pm/wrapper.h"
#include "lib/base/str.h"

#define DEPTH_MAX 16 /* a script started by a wrapper started by a script ... */
#define LOOKS_MAX 1024 /* programs in all: texts may name each other */
#define SHELL_DEPTH 3 /* a shell counts as so many: it may name many programs */
#define SCRIPT_MAX (256u << 10) /* of a shell script that is looked through */
#define ARGS_MAX 32 /* a wrapper has its program among the first */
#define SHEBANG_MAX 256u /* what Linux reads of a script's first line */

static const char *const flavour_names[] = {
    [HB_MPI_UNKNOWN] = "unknown", [HB_MPI_NONE] = "none",
    [HB_MPI_OPENMPI4] = "openmpi4", [HB_MPI_OPENMPI5] = "openmpi5",
    [HB_MPI_MPICH] = "mpich", [HB_MPI_INTEL] = "intel",
    [HB_MPI_MVAPICH] = "mvapich",
};
static const char *const flavour_words[] = {
    [HB_MPI_UNKNOWN] = "an MPI", [HB_MPI_NONE] = "no MPI",
    [HB_MPI_OPENMPI4] = "Open MPI up to 4", [HB_MPI_OPENMPI5] = "Open MPI 5",
    [HB_MPI_MPICH] = "MPICH", [HB_MPI_INTEL] = "Intel MPI",
    [HB_MPI_MVAPICH] = "MVAPICH",
};
#define N_FLAVOURS (sizeof(flavour_names) / sizeof(flavour_names[0]))

const char *hb_mpi_flavour_name(enum hb_mpi_flavour flavour)
{
    return (size_t)flavour < N_FLAVOURS ? flavour_names[flavour] : "unknown";
}

int hb_mpi_flavour_parse(const char *name, enum hb_mpi_flavour *out)
{
    for (size_t i = 0; i < N_FLAVOURS; i++) {
        if (hb_streq(name, flavour_names[i])) {
            *out = (enum hb_mpi_flavour)i;
            return HPCBOOT_OK;
        }
    }
    return HPCBOOT_ERR_PARSE;
}

/* ---- the ends of the search ---------------------------------------------- */

static void say(struct hb_family_choice *c, const char *fmt, ...)
    HB_PRINTF(2, 3);

static void say(struct hb_family_choice *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(c->why, sizeof(c->why), fmt, ap);
    va_end(ap);
}

static void by_default(const struct hb_place *place, const char *because,
                       struct hb_family_choice *c)
{
    char *open = hb_place_system_library(place, "libmpi.so.40");

    c->certain = 0;
    c->flavour = HB_MPI_UNKNOWN;
    c->family = open != NULL ? HB_PM_PMIX : HB_PM_PMI1;
    say(c, "%s; default rule: %s, because Open MPI's libmpi.so.40 is %s%s",
        because, hb_pm_family_name(c->family),
        open != NULL ? "on the loader's path: " : "not on the loader's path",
        open != NULL ? open : "");
    free(open);
}

static void by_link(const char *path, const struct hb_mpi_link *l,
                    struct hb_family_choice *c)
{
    c->family = l->family;
    c->flavour = l->flavour;
    c->links_mpi = l->links_mpi;
    c->certain = 1;
    say(c, "%s links %s, which is %s%s%s%s", path, l->what,
        l->links_mpi ? flavour_words[l->flavour] : "a client library",
        l->where[0] != '\0' ? " (" : "", l->where,
        l->where[0] != '\0' ? ")" : "");
}

static void by_absence(const struct hb_place *place, const char *path,
                       const struct hb_mpi_link *l,
                       struct hb_family_choice *c)
{
    char *because;

    if (l->missing[0] != '\0') {
        because = hb_xasprintf("%s needs %s, which is not on this host", path,
                               l->missing);
        by_default(place, because, c);
        free(because);
        return;
    }
    c->family = HB_PM_NONE;
    c->flavour = HB_MPI_NONE;
    c->certain = 1;
    say(c, "neither %s nor the libraries it needs (%u) are of an MPI", path,
        l->n_libraries);
}

/* A program that nobody knows, given a path to one that links an MPI: it may
 * be a wrapper. It may as well copy that file, so nothing is expected of it.
 * `bare`: it is there to start others, whose names may stand without a path. */
static int by_argument(const struct hb_place *place, const char *path,
                       char *const *args, int bare,
                       struct hb_family_choice *c)
{
    struct hb_mpi_link l;

    for (int i = 0; args[i] != NULL && i < ARGS_MAX; i++) {
        char *found = bare || strchr(args[i], '/') != NULL
                          ? hb_place_program(place, args[i]) : NULL;
        int is_one = found != NULL &&
                     hb_mpi_link_find(&l, place, found, NULL) >= 0 &&
                     l.links_mpi;

        if (is_one) {
            c->family = l.family;
            c->flavour = l.flavour;
            c->links_mpi = c->certain = 0;
            say(c, "%s may start its argument %s, which links %s (%s)", path,
                found, l.what, flavour_words[l.flavour]);
        }
        free(found);
        if (is_one) {
            return 1;
        }
    }
    return 0;
}

/* ---- Python -------------------------------------------------------------- */

/* mpi4py may have several modules, one per MPI. Only those whose MPI is
 * installed count; where these differ, nothing is certain. */
static int mpi4py_link(const struct hb_place *place,
                       const struct hb_strv *modules, struct hb_mpi_link *out,
                       const char **module_out)
{
    int n = 0;

    for (size_t i = 0; i < modules->n; i++) {
        struct hb_mpi_link l;

        if (hb_mpi_link_find(&l, place, modules->v[i], NULL) < 0 ||
            !l.links_mpi || l.where[0] == '\0') {
            continue;
        }
        if (n > 0 && l.family != out->family) {
            return 0;
        }
        *out = l;
        *module_out = modules->v[i];
        n++;
    }
    return n > 0;
}

static void by_mpi4py(const char *path, const char *module,
                      const struct hb_mpi_link *link, int is_sure,
                      struct hb_family_choice *c)
{
    by_link(module, link, c);
    c->certain = is_sure;
    if (!is_sure) {
        char *why = hb_xstrdup(c->why);

        say(c, "which version %s is cannot be told; %.380s", path, why);
        free(why);
    }
}

/* A script that says nothing of mpi4py, and is given a program of an MPI, is
 * rather that one's wrapper. */
static void by_python(const struct hb_place *place, const char *path,
                      char *const *args, struct hb_family_choice *c)
{
    struct hb_strv modules = HB_STRV_INIT;
    struct hb_mpi_link link;
    const char *module = NULL;
    char *because, *library;
    int named = hb_mpi4py_named(place, args), is_sure;

    if (!named && by_argument(place, path, args, 0, c)) {
        return;
    }
    is_sure = hb_mpi4py_find(place, path, args, &modules, &library);
    if (library != NULL) {
        hb_mpi_link_library(&link, library);
        *strrchr(modules.v[0], '/') = '\0';
        by_mpi4py(path, modules.v[0], &link, is_sure, c);
        c->links_mpi = named && is_sure;
    } else if (mpi4py_link(place, &modules, &link, &module)) {
        by_mpi4py(path, module, &link, is_sure, c);
        c->links_mpi = named && is_sure;
    } else {
        because = hb_xasprintf("%s has %s", path,
                               modules.n > 0
                                   ? "an mpi4py for more than one MPI"
                                   : "no mpi4py");
        by_default(place, because, c);
        free(because);
    }
    free(library);
    hb_strv_destroy(&modules);
}

/* Of a Python among the arguments, as of `py-spy record -- python x.py`. */
static int by_python_argument(const struct hb_place *place, const char *path,
                              char *const *args, struct hb_family_choice *c)
{
    struct hb_family_choice inner = {0};
    char *found;
    int i = 0;

    while (args[i] != NULL && !hb_is_python(args[i])) {
        i++;
    }
    found = args[i] != NULL && !hb_is_container(path)
                ? hb_place_program(place, args[i]) : NULL;
    if (found != NULL) {
        by_python(place, found, args + i + 1, &inner);
    }
    free(found);
    if (inner.flavour <= HB_MPI_NONE) {
        return 0;
    }
    c->family = inner.family;
    c->flavour = inner.flavour;
    c->links_mpi = c->certain = 0;
    say(c, "%s may start its argument %s: %.400s", path, args[i], inner.why);
    return 1;
}

/* ---- unwrapping ---------------------------------------------------------- */

static void detect(const struct hb_place *place, char *const *argv, int depth,
                   struct hb_family_choice *c);

/* The words that are put before a script: those of its #! line, at most two as
 * Linux has it. A text without one is started by the shell, also by hbrun. 0:
 * no script. */
static int shebang(const char *path, struct hb_strv *out)
{
    char line[SHEBANG_MAX + 1], *word, *end;
    FILE *f = fopen(path, "re");
    size_t n = f != NULL ? fread(line, 1, SHEBANG_MAX, f) : 0;

    if (f != NULL) {
        fclose(f);
    }
    line[n] = '\0';
    if (!hb_starts_with(line, "#!")) {
        hb_strv_push(out, "/bin/sh");
        return n > 0 && (strchr(line, '\n') != NULL || strlen(line) == n);
    }
    line[strcspn(line, "\r\n")] = '\0';
    word = line + 2 + strspn(line + 2, " \t");
    end = word + strcspn(word, " \t");
    hb_strv_take(out, hb_xstrndup(word, (size_t)(end - word)));
    word = end + strspn(end, " \t");
    for (end = word + strlen(word); end > word && strchr(" \t", end[-1]);) {
        *--end = '\0';
    }
    if (*word != '\0') {
        hb_strv_push(out, word);
    }
    return out->v[0][0] != '\0';
}

/* `#!/usr/bin/env -S A=b python3 -u`: env cuts the words itself. */
static void split_env_words(struct hb_strv *words)
{
    char *line, *save = NULL;

    if (words->n != 2 || !hb_ends_with(words->v[0], "/env") ||
        !hb_starts_with(words->v[1], "-S")) {
        return;
    }
    line = hb_xstrdup(words->v[1] + strlen("-S"));
    hb_strv_remove(words, 1);
    for (char *w = strtok_r(line, " \t", &save); w != NULL;
         w = strtok_r(NULL, " \t", &save)) {
        hb_strv_push(words, w);
    }
    free(line);
}

static void by_script(const struct hb_place *place, const char *path,
                      char *const *args, int depth,
                      struct hb_family_choice *c)
{
    struct hb_strv words = HB_STRV_INIT;

    if (shebang(path, &words)) {
        split_env_words(&words);
        hb_strv_push(&words, path);
        hb_strv_extend(&words, args);
        detect(place, words.v, depth + 1, c);
    } else {
        char *because = hb_xasprintf("%s is neither an ELF file nor a "
                                     "script", path);

        by_default(place, because, c);
        free(because);
    }
    hb_strv_destroy(&words);
}

/* ---- shells -------------------------------------------------------------- */

struct shell_search {
    const struct hb_place *place;
    struct hb_place here; /* the same, after the text's `cd`s */
    char *wdir;           /* theirs; NULL: there was none */
    int depth;
    int n_found;
    int differ; /* programs of two families are named */
    struct hb_family_choice found;
    int n_guessed, guesses_differ;
    struct hb_family_choice guess;
};

/* 1: it is `cd DIR`, which says where relative names are looked for, unless
 * only running it would tell. */
static int change_dir(struct shell_search *s, char *const *argv)
{
    const char *to = argv[1];
    char *old = s->wdir;

    if (!hb_streq(argv[0], "cd") || to == NULL || argv[2] != NULL) {
        return 0;
    }
    if (strstr(to, HB_SHELL_UNKNOWN) != NULL) {
        return 1;
    }
    s->wdir = to[0] == '/' || s->here.wdir == NULL
                  ? hb_xstrdup(to) : hb_xasprintf("%s/%s", s->here.wdir, to);
    s->here.wdir = s->wdir;
    free(old);
    return 1;
}

static int is_found(const struct hb_family_choice *c)
{
    return c->certain && c->family != HB_PM_NONE;
}

static int is_guess(const struct hb_family_choice *c)
{
    return !c->certain && c->flavour > HB_MPI_NONE;
}

static void count(struct shell_search *s, const struct hb_family_choice *c)
{
    if (is_found(c)) {
        s->differ = s->n_found > 0 && c->family != s->found.family;
        s->found = s->n_found++ == 0 ? *c : s->found;
    } else if (is_guess(c)) {
        s->guesses_differ |= s->n_guessed > 0 && c->family != s->guess.family;
        s->guess = s->n_guessed++ == 0 ? *c : s->guess;
    }
}

/* A `cd` may have been a subshell's, and over by now. */
static int shell_command(void *arg, char *const *argv, char *const *env)
{
    struct shell_search *s = arg;
    struct hb_place first = *s->place;
    struct hb_family_choice c = {0}, there = {0};

    first.env = s->here.env = env; /* with its PATH, its LD_LIBRARY_PATH */
    if (--*s->place->looks <= 0) {
        return 1;
    }
    if (change_dir(s, argv)) {
        return 0;
    }
    detect(&s->here, argv, s->depth, &c);
    if (!is_found(&c) && s->wdir != NULL) {
        detect(&first, argv, s->depth, &there);
        c = is_found(&there) || !is_guess(&c) ? there : c;
    }
    count(s, &c);
    return s->differ;
}

static void shell_search(struct shell_search *s, char *const *argv)
{
    const char *text, *script, *zero;
    size_t rest = hb_shell_open(argv, &text, &script, &zero);
    char *path = NULL, *read = NULL;

    if (script != NULL) {
        path = hb_place_path(s->place, script);
        text = read = hb_place_text(path, SCRIPT_MAX);
    }
    if (text != NULL) {
        hb_shell_commands(text, zero, argv + rest, s->place->env,
                          shell_command, s);
    }
    free(read);
    free(path);
}

/* What a shell's text names counts, whether or not it comes to it; of guesses
 * only where they are all that there is. */
static int settle(struct shell_search *s, struct hb_family_choice *c)
{
    int found = c->found;

    if (s->n_found == 0 && s->n_guessed > 0 && !s->guesses_differ) {
        *c = s->guess;
    } else if (s->n_found > 0 && !s->differ) {
        *c = s->found;
    } else {
        return 0;
    }
    c->found = found;
    return 1;
}

static void by_shell(const struct hb_place *place, const char *path,
                     char *const *argv, int depth, struct hb_family_choice *c)
{
    struct shell_search s = {.place = place, .here = *place,
                             .depth = depth + SHELL_DEPTH};
    char *because;

    shell_search(&s, argv);
    free(s.wdir);
    if (*place->looks > 0 && settle(&s, c)) {
        char *why = hb_xstrdup(c->why);

        say(c, "what %s runs names a program: %.400s", path, why);
        free(why);
        return;
    }
    if (*place->looks > 0 && !s.differ &&
        by_argument(place, path, argv + 1, 1, c)) {
        return;
    }
    because = hb_xasprintf(s.differ ? "what %s runs names programs of two "
                                      "families"
                                    : "what %s starts cannot be told", path);
    by_default(place, because, c);
    free(because);
}

/* An ELF file that links no MPI itself. */
static void by_other(const struct hb_place *place, const char *path,
                     char *const *argv, const struct hb_mpi_link *link,
                     struct hb_family_choice *c)
{
    struct hb_mpi_link inside;
    size_t next;
    int opaque = hb_wrapper_open(argv, &next) == HB_WRAPPER_OPAQUE;

    if (!opaque && hb_mpi_link_inside(&inside, path)) {
        by_link(path, &inside, c);
    } else if (by_argument(place, path, argv + 1, opaque, c) ||
               by_python_argument(place, path, argv + 1, c)) {
        return;
    } else if (opaque) {
        char *because = hb_xasprintf("what %s starts cannot be told", path);

        by_default(place, because, c);
        free(because);
    } else {
        by_absence(place, path, link, c);
    }
}

/* What argv[next] names is looked for as the wrapper will find it. Where it is
 * not found, that word may be the value of an option that nobody knows. */
static void by_wrapper(const struct hb_place *place, const char *path,
                       char *const *argv, size_t next, int depth,
                       struct hb_family_choice *c)
{
    const char *dir = hb_wrapper_dir(argv, next);
    char *wdir = dir != NULL ? hb_place_path(place, dir) : NULL, *started;
    struct hb_place inside = *place;
    struct hb_strv env = HB_STRV_INIT;

    hb_strv_extend(&env, place->env);
    for (size_t i = 1; i < next; i++) {
        if (hb_wrapper_sets(argv, argv[i])) {
            hb_env_put(&env, argv[i]);
        }
    }
    inside.env = hb_strv_view(&env);
    inside.wdir = wdir != NULL ? wdir : place->wdir;
    started = hb_place_program(&inside, argv[next]);
    if (started != NULL || !by_argument(&inside, path, argv + 1, 1, c)) {
        detect(&inside, argv + next, depth + 1, c);
    }
    free(started);
    hb_strv_destroy(&env);
    free(wdir);
}

static void by_program(const struct hb_place *place, const char *path,
                       char *const *argv, int depth,
                       struct hb_family_choice *c)
{
    struct hb_mpi_link link;
    size_t next = 0;
    int is_elf = hb_mpi_link_find(&link, place, path, NULL) >= 0;

    if (is_elf && link.family != HB_PM_NONE) {
        by_link(path, &link, c);
    } else if (is_elf && hb_is_python(path)) {
        by_python(place, path, argv + 1, c);
    } else if (is_elf && hb_is_shell(path)) {
        by_shell(place, path, argv, depth, c);
    } else if (hb_wrapper_open(argv, &next) == HB_WRAPPER_OPENED) {
        by_wrapper(place, path, argv, next, depth, c);
    } else if (!is_elf) {
        by_script(place, path, argv + 1, depth, c);
    } else {
        by_other(place, path, argv, &link, c);
    }
}

static void detect(const struct hb_place *place, char *const *argv, int depth,
                   struct hb_family_choice *c)
{
    char *path = depth < DEPTH_MAX ? hb_place_program(place, argv[0]) : NULL;

    if (path == NULL) {
        char *because = depth < DEPTH_MAX
            ? hb_xasprintf("%s is not on this host", argv[0])
            : hb_xasprintf("%s is wrapped too deeply", argv[0]);

        by_default(place, because, c);
        free(because);
        return;
    }
    c->found |= depth == 0;
    by_program(place, path, argv, depth, c);
    free(path);
}

int hb_family_detect(char *const *argv, const char *wdir, char *const *env,
                     struct hb_family_choice *out, struct hpcboot_error *err)
{
    struct hb_family_choice choice;
    struct hb_place place;
    int looks = LOOKS_MAX;
    char *absolute;

    if (argv == NULL || argv[0] == NULL || argv[0][0] == '\0') {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "no program is named");
    }
    memset(&choice, 0, sizeof(choice));
    /* What was found there is named in command lines that are looked at anew:
     * their names must not be taken as relative to it once more. */
    absolute = wdir != NULL && wdir[0] == '/' ? NULL
               : realpath(wdir != NULL && wdir[0] != '\0' ? wdir : ".", NULL);
    hb_place_init(&place, absolute != NULL ? absolute : wdir, env);
    place.looks = &looks;
    detect(&place, argv, 0, &choice);
    hb_place_destroy(&place);
    free(absolute);
    *out = choice;
    return HPCBOOT_OK;
}
