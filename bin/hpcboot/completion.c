/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Completion of hpcboot for bash, zsh and fish, written from the tables of
 * commands and options: names, the words of commands and options that take one
 * of a few, files otherwise, and behind "--", where a program's words stand. */

#include "config.h"

#include <stdio.h>
#include <string.h>

#include "bin/cli/options.h"
#include "bin/hpcboot/command.h"
#include "lib/base/str.h"

static const char *command_name(size_t i)
{
    return hb_commands[i] != NULL ? hb_commands[i]->name : NULL;
}

static int wants_file(const struct hb_arg *a)
{
    return hb_starts_with(a->value, "FILE") || strcmp(a->value, "DIR") == 0;
}

static void put_words(const char *(*word)(size_t i))
{
    for (size_t i = 0; word(i) != NULL; i++) {
        printf("%s%s", i > 0 ? " " : "", word(i));
    }
}

static void bash_names(const struct hb_command *c)
{
    char buffer[HB_ARG_NAME_MAX];

    for (const struct hb_arg *a = c->args; a->names != NULL; a++) {
        size_t state = 0;
        const char *name;
        while ((name = hb_arg_name(a, &state, buffer, sizeof(buffer)))) {
            printf("%s ", name);
        }
    }
    fputs("--help -h", stdout);
}

/* "    'CMD:--name'|'CMD:-n') words" for an option with a few words. */
static void bash_choices(const struct hb_command *c)
{
    char buffer[HB_ARG_NAME_MAX];

    for (const struct hb_arg *a = c->args; a->names != NULL; a++) {
        size_t state = 0;
        const char *name, *bar = "    ";
        if (a->choice == NULL) {
            continue;
        }
        while ((name = hb_arg_name(a, &state, buffer, sizeof(buffer)))) {
            printf("%s%s:%s", bar, c->name, name);
            bar = "|";
        }
        fputs(") words='", stdout);
        put_words(a->choice);
        fputs("';;\n", stdout);
    }
}

/* The word right behind a command. */
static void bash_operand(const char *command, const char *(*word)(size_t i))
{
    printf("        %s:%s) words='", command, command);
    put_words(word);
    fputs("';;\n", stdout);
}

static void print_bash(void)
{
    fputs("# bash completion for hpcboot\n_hpcboot() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} words= kind\n"
          "    local prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]} word\n"
          "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
          "        [ \"$word\" != -- ] || return\n"
          "    done\n", stdout);
    fputs(hb_bash_after_equals, stdout);
    fputs("    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='", stdout);
    put_words(command_name);
    fputs(" help --help --version --completion'\n"
          "    else case $command:$prev in\n", stdout);
    for (size_t i = 0; hb_commands[i] != NULL; i++) {
        bash_choices(hb_commands[i]);
    }
    fputs("    --completion:*) words='bash zsh fish';;\n"
          "    *) case $command:$cur in\n", stdout);
    for (size_t i = 0; hb_commands[i] != NULL; i++) {
        printf("        %s:-*) words='", hb_commands[i]->name);
        bash_names(hb_commands[i]);
        fputs("';;\n", stdout);
    }
    fputs("        *) case $command:$prev in\n", stdout);
    for (size_t i = 0; hb_commands[i] != NULL; i++) {
        if (hb_commands[i]->operand_name != NULL) {
            bash_operand(hb_commands[i]->name, hb_commands[i]->operand_name);
        }
    }
    bash_operand("help", command_name);
    fputs("        esac;;\n        esac;;\n    esac; fi\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
          "}\ncomplete -o default -F _hpcboot hpcboot\n", stdout);
}

static void zsh_value(const struct hb_arg *a)
{
    if (a->choice != NULL) {
        printf(":%s:(", a->value);
        put_words(a->choice);
        fputs(")", stdout);
    } else if (a->value != NULL) {
        printf(":%s:%s", a->value, wants_file(a) ? "_files" : "");
    }
}

/* What else may be typed, and is not offered ('!'): the other number of dashes,
 * and a value behind '='. */
static void zsh_unoffered(const struct hb_arg *a, const char *name)
{
    int given = (int)strspn(name, "-");

    for (int n = 1; n <= 2; n++) {
        if (n != given) {
            printf("        '!%.*s%s", n, "--", name + given);
            zsh_value(a);
            fputs("' \\\n", stdout);
        }
        if (a->value != NULL) {
            printf("        '!%.*s%s=-", n, "--", name + given);
            zsh_value(a);
            fputs("' \\\n", stdout);
        }
    }
}

/* "        '--name[help]:VALUE:(words)'" */
static void zsh_option(const struct hb_arg *a)
{
    char buffer[HB_ARG_NAME_MAX];
    size_t state = 0;
    const char *name;

    while ((name = hb_arg_name(a, &state, buffer, sizeof(buffer)))) {
        printf("        '%s[", name);
        hb_zsh_text(stdout, a->help);
        fputc(']', stdout);
        zsh_value(a);
        fputs("' \\\n", stdout);
        zsh_unoffered(a, name);
    }
}

static void print_zsh(void)
{
    fputs("#compdef hpcboot\n_hpcboot() {\n  if (( CURRENT == 2 )); then\n"
          "    compadd -- --help --version --completion help ", stdout);
    put_words(command_name);
    fputs("\n    return\n  fi\n  local command=$words[2]\n"
          "  shift words; (( CURRENT-- ))\n  case $command in\n", stdout);
    for (size_t i = 0; hb_commands[i] != NULL; i++) {
        printf("    %s)\n      _arguments -S \\\n", hb_commands[i]->name);
        for (const struct hb_arg *a = hb_commands[i]->args; a->names != NULL;
             a++) {
            zsh_option(a);
        }
        fputs("        '--help[this text]' '-h[this text]' ", stdout);
        if (hb_commands[i]->operand_name != NULL) {
            printf("'1:%s:(", hb_commands[i]->operand);
            put_words(hb_commands[i]->operand_name);
            fputs(")' ", stdout);
        }
        fputs("'*: :_files';;\n", stdout);
    }
    fputs("    --completion) compadd bash zsh fish;;\n    help) compadd ",
          stdout);
    put_words(command_name);
    fputs(";;\n  esac\n}\n", stdout);
    hb_zsh_register(stdout, "hpcboot");
}

static void fish_option(const char *command, const struct hb_arg *a)
{
    char buffer[HB_ARG_NAME_MAX];
    size_t state = 0;
    const char *name;

    while ((name = hb_arg_name(a, &state, buffer, sizeof(buffer)))) {
        printf("complete -c hpcboot -n '__hpcboot_of %s'", command);
        hb_fish_option(stdout, name, a->help);
        if (a->value != NULL) {
            fputs(wants_file(a) ? " -r -F" : " -x", stdout);
        }
        if (a->choice != NULL) {
            fputs(" -a '", stdout);
            put_words(a->choice);
            fputc('\'', stdout);
        }
        fputc('\n', stdout);
    }
}

static void fish_operand(const char *command, const char *(*word)(size_t i))
{
    printf("complete -c hpcboot -n '__hpcboot_behind %s' -f -a '", command);
    put_words(word);
    fputs("'\n", stdout);
}

static void print_fish(void)
{
    fputs("# fish completion for hpcboot\n"
          "function __hpcboot_of\n"
          "    set -l words (commandline -opc)\n"
          "    test \"$words[2]\" = $argv[1]; and not contains -- -- $words\n"
          "end\n"
          "function __hpcboot_first\n"
          "    set -l words (commandline -opc)\n"
          "    test (count $words) -eq 1; or test $words[2] = --completion\n"
          "end\n"
          "function __hpcboot_behind\n"
          "    set -l words (commandline -opc)\n"
          "    test (count $words) -eq 2; and test $words[2] = $argv[1]\n"
          "end\n"
          "complete -c hpcboot -e\n"
          "complete -c hpcboot -n __hpcboot_first -f -l version -l help\n"
          "complete -c hpcboot -n __hpcboot_first -x -l completion"
          " -a 'bash zsh fish' -d 'a script for a shell'\n", stdout);
    for (size_t i = 0; hb_commands[i] != NULL; i++) {
        const struct hb_command *c = hb_commands[i];

        printf("complete -c hpcboot -n __hpcboot_first -f -a %s -d '",
               c->name);
        hb_fish_text(stdout, c->summary);
        fputs("'\n", stdout);
        for (const struct hb_arg *a = c->args; a->names != NULL; a++) {
            fish_option(c->name, a);
        }
        printf("complete -c hpcboot -n '__hpcboot_of %s' -s h -l help"
               " -d 'this text'\n", c->name);
        if (c->operand_name != NULL) {
            fish_operand(c->name, c->operand_name);
        }
    }
    fputs("complete -c hpcboot -n __hpcboot_first -f -a help"
          " -d 'the options of a command'\n", stdout);
    fish_operand("help", command_name);
}

int hb_completion_print(const char *shell)
{
    if (strcmp(shell, "bash") == 0) {
        print_bash();
    } else if (strcmp(shell, "zsh") == 0) {
        print_zsh();
    } else if (strcmp(shell, "fish") == 0) {
        print_fish();
    } else {
        return 0;
    }
    return 1;
}
