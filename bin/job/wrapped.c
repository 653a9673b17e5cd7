/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A framework's launcher behind other programs. Where these do nothing but
 * start it (`numactl -N 0 torchrun ...`, `uv run torchrun ...`), they go in
 * front of what hbrun starts in its stead (launchers.c). Behind a shell or a
 * profiler it runs as it stands, once for each rank; where several of these
 * share a host that is told, as one on each host is what such lines mean. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bin/job/framework.h"
#include "bin/pm/shelltext.h"
#include "bin/pm/wrapper.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define SCRIPT_BYTES_MAX (1u << 20)
#define DEPTH_MAX 4 /* scripts that start scripts */
#define LOOKS_MAX 256 /* commands in all: scripts may name each other */

/* Programs whose `run` starts another one in an environment of its own, and
 * their options with a value in the next word. */
static const struct {
    const char *name, *valued;
} runners[] = {
    {"uv", " --extra --no-extra --group --no-group --only-group --env-file "
           "--with --with-editable --with-requirements --package --index "
           "--default-index -i --index-url --extra-index-url -f --find-links "
           "-P --upgrade-package --reinstall-package --index-strategy "
           "-w --no-build-isolation-package --no-build-package "
           "--no-binary-package --no-sources-package --exclude-newer-package "
           "--config-settings-package --allow-insecure-host "
           "--python-preference --preview-features "
           "--keyring-provider --resolution --prerelease --fork-strategy -C "
           "--config-setting --exclude-newer --link-mode --cache-dir "
           "--refresh-package -p --python --python-platform --color "
           "--directory --project --config-file "},
    {"poetry", " -C --directory -P --project "},
    {"pdm", " -p --project -c --config "},
    {"pipenv", " --python --pypi-mirror "},
    {"conda", " -n --name -p --prefix --cwd "},
    {"mamba", " -n --name -p --prefix --cwd "},
    {"micromamba", " -n --name -p --prefix --cwd -r --root-prefix -a --attach "
                   "-e --env --label --rc-file "},
    {"pixi", " -e --environment --manifest-path "},
    {"hatch", " -e --env -p --project "},
    {"rye", " "},
};

static int is_valued(const char *valued, const char *option)
{
    char *word = hb_xasprintf(" %s ", option);
    int yes = strstr(valued, word) != NULL;

    free(word);
    return yes;
}

/* Where the program of `uv [OPTION...] run [OPTION...]` begins; 0: it is none
 * of these. An option that is not known takes no word. */
static size_t behind_run(char *const *argv)
{
    const char *valued = NULL;
    int runs = 0;
    size_t i = 1;

    for (size_t k = 0; k < sizeof runners / sizeof *runners; k++) {
        if (hb_streq(hb_base_name(argv[0]), runners[k].name)) {
            valued = runners[k].valued;
        }
    }
    for (; valued != NULL && argv[i] != NULL; i++) {
        if (argv[i][0] == '-') {
            i += is_valued(valued, argv[i]) && argv[i + 1] != NULL;
        } else if (runs) {
            return i;
        } else if (!(runs = hb_streq(argv[i], "run"))) {
            return 0;
        }
    }
    return 0;
}

/* env that sets variables, and does no more: what else it does to them
 * (env -i, env -u RANK) is meant for the launcher, and not for ranks that have
 * been told where to meet. */
static int is_opened(char *const *argv, size_t *next)
{
    return hb_wrapper_open(argv, next) == HB_WRAPPER_OPENED &&
           (!hb_streq(hb_base_name(argv[0]), "env") || argv[1][0] != '-');
}

size_t job_wrapped_words(char *const *argv, int *other_path)
{
    size_t at = 0, next, runs;

    *other_path = 0;
    while (argv[at] != NULL) {
        runs = behind_run(argv + at);
        if (runs == 0 && !is_opened(argv + at, &next)) {
            break;
        }
        *other_path |= runs > 0;
        for (next = runs > 0 ? runs : next; next > 0; next--) {
            *other_path |= hb_starts_with(argv[at++], "PATH=");
        }
    }
    return at;
}

char *const *job_wrapped_program(char *const *argv)
{
    int other_path;

    return argv + job_wrapped_words(argv, &other_path);
}

const char *job_wrapped_tool(char *const *argv)
{
    return hb_launch_tool(job_wrapped_program(argv));
}

/* --- out of sight -------------------------------------------------------- */

struct hunt {
    const char *tool;
    const char *unread; /* the tool, where hbrun has no table of its options */
    char *const *env;
    int depth, looks;
};

static void look(struct hunt *h, char *const *argv);

static int visit(void *arg, char *const *argv, char *const *env)
{
    struct hunt *h = arg;

    (void)env;
    look(h, argv);
    return h->tool != NULL || h->looks >= LOOKS_MAX;
}

static void look_into_script(struct hunt *h, const char *path,
                             char *const *args)
{
    char *text = NULL, *first = NULL;
    struct stat st;
    size_t len;

    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
        hb_file_read(path, SCRIPT_BYTES_MAX, &text, &len, NULL) >= 0 &&
        strlen(text) == len) {
        first = hb_xstrndup(text, strcspn(text, "\n"));
        if (strstr(first, "python") == NULL) {
            hb_shell_commands(text, path, args, h->env, visit, h);
        }
    }
    free(first);
    free(text);
}

static void look_into_shell(struct hunt *h, char *const *argv)
{
    const char *text, *script, *zero;
    size_t rest = hb_shell_open(argv, &text, &script, &zero);

    if (script != NULL) {
        look_into_script(h, script, argv + rest);
    } else if (text != NULL) {
        hb_shell_commands(text, zero, argv + rest, h->env, visit, h);
    }
}

/* A launcher of PyTorch's ranks whose options hbrun does not know. */
static const char *unread(char *const *argv)
{
    const char *module = hb_launch_module(argv);

    if (hb_streq(module, "accelerate.commands.launch") ||
        hb_streq(hb_base_name(argv[0]), "accelerate-launch") ||
        (hb_streq(hb_base_name(argv[0]), "accelerate") &&
         hb_streq(argv[1], "launch"))) {
        return "accelerate launch";
    }
    return hb_streq(hb_base_name(argv[0]), "colossalai") &&
           hb_streq(argv[1], "run") ? "colossalai run" : NULL;
}

static void see(struct hunt *h, char *const *argv)
{
    h->unread = unread(argv);
    h->tool = h->unread != NULL ? h->unread : hb_launch_tool(argv);
}

/* What a profiler or the like has among its words, before any script. */
static void look_behind(struct hunt *h, char *const *argv)
{
    for (size_t i = 1; argv[i] != NULL && h->tool == NULL; i++) {
        const char *before = argv[i - 1];
        int is_value = before[0] == '-' && !hb_streq(before, "--") &&
                       strchr(before, '=') == NULL;

        if (hb_ends_with(argv[i], ".py") || hb_is_shell(argv[i])) {
            look(h, argv + i);
            return;
        }
        if (!is_value) {
            see(h, argv + i);
        }
    }
}

static void look(struct hunt *h, char *const *argv)
{
    size_t next;

    argv = job_wrapped_program(argv);
    if (argv[0] == NULL || h->depth == DEPTH_MAX || ++h->looks > LOOKS_MAX) {
        return;
    }
    h->depth++;
    see(h, argv);
    if (h->tool == NULL && hb_is_shell(argv[0])) {
        look_into_shell(h, argv);
    } else if (h->tool == NULL &&
               hb_wrapper_open(argv, &next) != HB_WRAPPER_NO) {
        look_behind(h, argv);
    } else if (h->tool == NULL && strchr(argv[0], '/') != NULL) {
        look_into_script(h, argv[0], argv + 1);
    }
    h->depth--;
}

static uint32_t most_on_a_host(const struct hb_jobmap *map)
{
    uint32_t most = 0;

    for (uint32_t i = 0; map != NULL && i < map->n_nodes; i++) {
        most = map->local_size[i] > most ? map->local_size[i] : most;
    }
    return most;
}

void job_wrapped_tell(const struct job *j)
{
    uint32_t most = most_on_a_host(j->map);
    struct hunt h = {.env = j->env};

    if (most < 2 || j->opt->n_apps != 1 ||
        (j->framework != NULL && hb_streq(j->framework->name, "none"))) {
        return;
    }
    look(&h, j->opt->apps[0].argv.v);
    if (h.unread != NULL) {
        hb_log(HB_WARN, "hbrun does not read the options of %s: each rank "
               "starts one of its own, and a host has up to %u; --framework "
               "torch and the program without it has hbrun start the "
               "processes; -npernode 1 makes it one on each host; --framework "
               "none says that it is meant so", h.tool, most);
    } else if (h.tool != NULL) {
        hb_log(HB_WARN, "%s is behind another program, where hbrun does not "
               "read its options: each rank starts one of its own, and a host "
               "has up to %u; -npernode 1 makes it one on each host; of one "
               "that hbrun is given itself it starts the processes; "
               "--framework none says that it is meant so", h.tool, most);
    }
}
