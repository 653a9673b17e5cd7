/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot: looks at and prepares what hbrun does, one subcommand at a time.
 * Here is their table; a subcommand is a file of its own. */

#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "bin/cli/logsink.h"
#include "bin/hpcboot/command.h"
#include "bin/job/verdict.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

const struct hb_command *const hb_commands[] = {
    &hb_command_hostfile,
    &hb_command_keys,
    &hb_command_manifest,
    &hb_command_wait,
    &hb_command_topo,
    &hb_command_doctor,
    &hb_command_perf,
    &hb_command_ps,
    &hb_command_stuck,
    &hb_command_explain,
    NULL,
};

static void help(FILE *out)
{
    fputs("usage: hpcboot COMMAND [options]\n\nCommands:\n", out);
    for (size_t i = 0; hb_commands[i] != NULL; i++) {
        fprintf(out, "  %-12s %s\n", hb_commands[i]->name,
                hb_commands[i]->summary);
    }
    fputs("\nhpcboot COMMAND --help lists a command's options.\n"
          "hpcboot --version, --completion bash|zsh|fish. More: hpcboot(1).\n",
          out);
}

int hb_command_scan(const struct hb_command *command, void *into, int argc,
                    char **argv)
{
    const char *word = command->operand != NULL ? command->operand : "";
    struct hpcboot_error err;
    int wants_help;

    if (hb_args_scan(command->args, into,
                     *word != '\0' ? (const char **)(void *)((char *)into +
                                         command->operand_at) : NULL,
                     argc, argv, &wants_help, &err) < 0) {
        hb_log(HB_ERROR, "%s: %s; hpcboot %s --help lists the options",
               command->name, err.text, command->name);
        return HPCBOOT_ERR_USAGE;
    }
    if (!wants_help) {
        return 1;
    }
    printf("usage: hpcboot %s%s%s [options]\n%s\n\nOptions:\n", command->name,
           *word != '\0' ? " " : "", word, command->summary);
    hb_args_help(command->args, stdout);
    if (command->more != NULL) {
        printf("\n%s", command->more());
    }
    return 0;
}

static int complete(const char *shell)
{
    if (shell == NULL || !hb_completion_print(shell)) {
        hb_log(HB_ERROR, "--completion: expected bash, zsh or fish after it");
        return HB_EXIT_USAGE;
    }
    return 0;
}

static int unknown(const char *word)
{
    const char *names[sizeof(hb_commands) / sizeof(hb_commands[0])];
    struct hpcboot_error err;
    size_t n = 0;

    for (; hb_commands[n] != NULL; n++) {
        names[n] = hb_commands[n]->name;
    }
    hb_args_no_such("command", word, names, n, "hpcboot --help", &err);
    hb_log(HB_ERROR, "%s%s", err.text,
           word[0] == '-' || strcmp(word, "run") == 0
               ? "; programs are started by hbrun" : "");
    return HB_EXIT_USAGE;
}

static const struct hb_command *find(const char *name)
{
    for (size_t i = 0; hb_commands[i] != NULL; i++) {
        if (strcmp(hb_commands[i]->name, name) == 0) {
            return hb_commands[i];
        }
    }
    return NULL;
}

/* "help COMMAND" is "COMMAND --help". */
static int help_of(char *name)
{
    char *words[] = {name, (char *)"--help", NULL};
    const struct hb_command *command = find(name);

    return command != NULL ? command->run(command, 2, words) : unknown(name);
}

#define EXIT_NO 1 /* the answer is no, and the output says why */

/* Output that was cut short is an error of its own. */
static int finish(int status)
{
    return status <= EXIT_NO && !hb_stdout_written() ? HB_EXIT_OUTPUT
                                                     : status;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    const struct hb_command *command = find(word);
    struct hpcboot_error err = {0};

    signal(SIGCHLD, SIG_DFL); /* else no child's status could be had */
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow fails its write */
    if (hb_fd_fill_standard(&err) < 0) {
        fprintf(stderr, "hpcboot: error: %s\n", err.text); /* if it is there */
        return HB_EXIT_INTERNAL;
    }
    hb_logsink_open("hpcboot", HB_INFO);
    if (argc < 2) {
        help(stderr);
        return HB_EXIT_USAGE;
    }
    if (strcmp(word, "help") == 0 && argc > 2) {
        return finish(help_of(argv[2]));
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "help") == 0) {
        help(stdout);
        return finish(0);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("hpcboot %s\n", PACKAGE_VERSION);
        return finish(0);
    }
    if (strcmp(word, "--completion") == 0) {
        return finish(complete(argv[2]));
    }
    if (hb_starts_with(word, "--completion=")) {
        return finish(complete(word + strlen("--completion=")));
    }
    if (command != NULL) {
        return finish(command->run(command, argc - 1, argv + 1));
    }
    return unknown(word);
}
