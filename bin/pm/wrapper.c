/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Launch wrappers: `numactl -N 0 ./prog`, `env A=b ./prog`. One row per
 * wrapper says which of its options take a separate argument and how many
 * words stand before the program. Shells, interpreters and container runtimes
 * are opaque: what they start cannot be told from their command line. */
#include "config.h"

#include "bin/pm/wrapper.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/str.h"

struct wrapper {
    const char *name;
    const char *valued; /* " -o -s ": options with a separate argument */
    int n_words;        /* between the options and the program */
    const char *until;  /* only this option opens it (gdb --args) */
};

static const struct wrapper wrappers[] = {
    {"env", " -u --unset -C --chdir -a --argv0 ", 0, NULL},
    {"numactl", " -i -N -C -m -p -w -P -c --interleave --cpunodebind "
                "--cpubind --physcpubind --membind --preferred "
                "--preferred-many --weighted-interleave ", 0, NULL},
    {"valgrind", " ", 0, NULL},
    {"gdb", " -ex -x -iex -ix ", 0, "--args"},
    {"cuda-gdb", " -ex -x -iex -ix ", 0, "--args"},
    {"timeout", " -k -s --kill-after --signal ", 1, NULL},
    {"nice", " -n --adjustment ", 0, NULL},
    {"ionice", " -c -n --class --classdata ", 0, NULL},
    {"taskset", " ", 1, NULL},
    {"chrt", " -T -P -D --sched-runtime --sched-period --sched-deadline ", 1,
     NULL},
    {"prlimit", " -o --output ", 0, NULL},
    {"stdbuf", " -i -o -e --input --output --error ", 0, NULL},
    {"strace", " -o -e -s -O -S -P -E -a -b -I -u -U -X --output ", 0,
     NULL},
    {"ltrace", " -o -e -s -a -n -l -x -A -D -F -u -w --output ", 0, NULL},
    {"nohup", " ", 0, NULL},
    {"setsid", " ", 0, NULL},
    {"time", " -f -o --format --output ", 0, NULL},
    {"catchsegv", " ", 0, NULL},
    {"unbuffer", " ", 0, NULL},
    {"hwloc-bind", " --mempolicy ", 0, NULL},
};

static const char *const opaque[] = {
    "sh", "bash", "dash", "zsh", "ksh", "mksh", "csh", "tcsh", "fish",
    "busybox", "perl", "ruby", "lua", "luajit", "node", "julia", "R",
    "Rscript", "octave", "octave-cli", "java", "tclsh", "wish", "awk", "gawk",
    "srun", "xargs", "parallel", "make", "su", "sudo", "runuser", "setpriv",
    "chroot", "unshare", "nsenter", "flock", "ssh", "script", "watch", "xterm",
    "screen", "tmux", "perf", "nsys", "ncu", "nvprof", "rocprof", "vtune",
    "map", "ddt", "tau_exec", "conda", "micromamba", "spack", "uv", "tini",
    "dumb-init",
};

/* Opaque, and what they start is another system's. */
static const char *const containers[] = {
    "apptainer", "singularity", "podman", "docker", "ch-run", "enroot",
    "udocker", "shifter", "charliecloud",
};

static int is_listed(const struct wrapper *w, const char *option)
{
    size_t len = strlen(option);

    for (const char *at = w->valued; (at = strstr(at, option)) != NULL;
         at += len) {
        if (at > w->valued && at[-1] == ' ' && at[len] == ' ') {
            return 1;
        }
    }
    return 0;
}

/* `-fo FILE` is `-f -o FILE`, but `-oL` has its value with it. gdb's words are
 * long behind a single dash. */
static int is_valued(const struct wrapper *w, const char *option)
{
    const char *letter = option + 1;

    if (is_listed(w, option) || option[1] == '-' || w->until != NULL) {
        return is_listed(w, option);
    }
    while (isalpha((unsigned char)*letter)) {
        if (is_listed(w, (char[]){'-', *letter++, '\0'})) {
            return *letter == '\0';
        }
    }
    return 0;
}

/* What env takes before the program: NAME=VALUE, and `-`, its old -i. */
static int is_setting(const char *word)
{
    size_t n = strcspn(word, "=");

    return (n > 0 && word[n] == '=') || strcmp(word, "-") == 0;
}

int hb_wrapper_sets(char *const *argv, const char *word)
{
    return strcmp(hb_base_name(argv[0]), "env") == 0 && is_setting(word) &&
           strcmp(word, "-") != 0;
}

const char *hb_wrapper_dir(char *const *argv, size_t next)
{
    const char *dir = NULL;
    size_t n = strcmp(hb_base_name(argv[0]), "env") == 0 ? next : 0;

    for (size_t i = 1; i < n; i++) {
        int apart = strcmp(argv[i], "-C") == 0 ||
                    strcmp(argv[i], "--chdir") == 0;

        if (apart) {
            dir = ++i < n ? argv[i] : dir;
        } else if (hb_starts_with(argv[i], "--chdir=")) {
            dir = argv[i] + strlen("--chdir=");
        } else if (hb_starts_with(argv[i], "-C")) {
            dir = argv[i] + strlen("-C");
        }
    }
    return dir;
}

/* "core:0", "pci=0000:01:00.0", "~0xff": where hwloc-bind binds to, of which
 * its command line may have many before the program. */
static int is_location(const char *word)
{
    const char *set = word + strspn(word, "~^+x");

    return strchr(word, '/') == NULL &&
           (strpbrk(word, ":=") != NULL || hb_starts_with(set, "0x") ||
            strcmp(set, "all") == 0 || strcmp(set, "root") == 0);
}

static int is_own_word(const struct wrapper *w, const char *word)
{
    return strcmp(w->name, "env") == 0
               ? is_setting(word)
               : strcmp(w->name, "hwloc-bind") == 0 && is_location(word);
}

static enum hb_wrapper_kind open_wrapper(const struct wrapper *w,
                                         char *const *argv, size_t *next_out)
{
    int is_env = strcmp(w->name, "env") == 0, opened = w->until == NULL;
    int words = w->n_words;
    size_t i = 1;

    for (; argv[i] != NULL; i++) {
        const char *word = argv[i];

        if (word[0] == '-' && word[1] != '\0') {
            if (is_env && (hb_starts_with(word, "-S") ||
                           hb_starts_with(word, "--split-string"))) {
                return HB_WRAPPER_OPAQUE;
            }
            opened |= w->until != NULL && strcmp(word, w->until) == 0;
            i += is_valued(w, word) && argv[i + 1] != NULL;
        } else if (!is_own_word(w, word) && words-- == 0) {
            break;
        }
    }
    if (argv[i] == NULL || !opened) {
        return HB_WRAPPER_OPAQUE;
    }
    *next_out = i;
    return HB_WRAPPER_OPENED;
}

static int is_among(const char *name, const char *const *names, size_t n)
{
    size_t i = 0;

    while (i < n && strcmp(name, names[i]) != 0) {
        i++;
    }
    return i < n;
}

int hb_is_container(const char *path)
{
    return is_among(hb_base_name(path), containers,
                    sizeof containers / sizeof *containers);
}

enum hb_wrapper_kind hb_wrapper_open(char *const *argv, size_t *next_out)
{
    const char *name = hb_base_name(argv[0]);

    for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
        if (strcmp(name, wrappers[i].name) == 0) {
            return open_wrapper(&wrappers[i], argv, next_out);
        }
    }
    return hb_is_container(name) ||
                   is_among(name, opaque, sizeof opaque / sizeof *opaque)
               ? HB_WRAPPER_OPAQUE : HB_WRAPPER_NO;
}

/* Behind a version Python has letters for how it was built, as 3.13t without
 * its lock and 3.11d for debugging, which Debian calls 3.11-dbg. */
static int is_version(const char *text)
{
    size_t version = strspn(text, "0123456789."), flags = 0;

    if (version > 0) {
        flags = strspn(text + version, "dmtu");
    }
    text += version + flags;
    return *text == '\0' || strcmp(text, "-dbg") == 0;
}

int hb_is_python(const char *path)
{
    static const char *const names[] = {"python", "pypy", "ipython"};
    const char *name = hb_base_name(path);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (hb_starts_with(name, names[i]) &&
            is_version(name + strlen(names[i]))) {
            return 1;
        }
    }
    return 0;
}
