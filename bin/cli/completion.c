/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Completion scripts for bash and zsh, written from the option table: the
 * options with their texts, files after options that take one, the words of
 * options that take one of a few, and programs otherwise. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

static const char *dashes(const char *name)
{
    return name[1] ? "--" : "-";
}

/* Options that are refused are not offered. */
static int offered(const struct hb_optdef *opt)
{
    return opt->kind != HB_OPT_NO;
}

typedef void (*name_visitor)(FILE *out, const struct hb_optdef *opt,
                             const char *name);

static void each_name(FILE *out, name_visitor visit)
{
    char name[HB_OPT_NAME_MAX];

    for (size_t i = 0; i < hb_opts_n; i++) {
        const char *pos = hb_opts[i].names;
        unsigned set;

        while (hb_opt_next_name(&pos, name, &set)) {
            visit(out, &hb_opts[i], name);
        }
    }
}

static int wants_file(const struct hb_optdef *opt)
{
    return !strncmp(opt->args, "FILE", 4) || !strcmp(opt->args, "DIR");
}

/* --- bash -------------------------------------------------------- */

/* For bash, '=' in --name=value is a word of its own. */
const char hb_bash_after_equals[] =
    "    if [ \"$cur\" = = ]; then\n"
    "        cur=''\n"
    "    elif [ \"$prev\" = = ] && [ \"$COMP_CWORD\" -ge 2 ]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n";

static void bash_word(FILE *out, const struct hb_optdef *opt,
                      const char *name)
{
    if (offered(opt)) {
        fprintf(out, "%s%s\n", dashes(name), name);
    }
}

static void bash_choice(FILE *out, const struct hb_optdef *opt,
                        const char *name)
{
    if (!hb_opt_is_choice(opt->args)) {
        return;
    }
    fprintf(out, "    -%s|--%s) words='", name, name);
    for (const char *p = opt->args; *p; p++) {
        fputc(*p == '|' ? ' ' : *p, out);
    }
    fputs("' ;;\n", out);
}

static void bash_file(FILE *out, const struct hb_optdef *opt,
                      const char *name)
{
    if (offered(opt) && wants_file(opt)) {
        fprintf(out, "    -%s|--%s) kind=file ;;\n", name, name);
    }
}

static void bash_other(FILE *out, const struct hb_optdef *opt,
                       const char *name)
{
    if (offered(opt) && hb_opt_n_args(opt) && !wants_file(opt)
        && !hb_opt_is_choice(opt->args)) {
        fprintf(out, "    -%s|--%s) kind=none ;;\n", name, name);
    }
}

static void bash(FILE *out)
{
    fputs("# bash completion for hbrun; made by hbrun --completion bash\n"
          "_hbrun_options='\n", out);
    each_name(out, bash_word);
    fputs("'\n\n"
          "_hbrun() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]}\n"
          "    local prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local words='' kind=''\n", out);
    fputs(hb_bash_after_equals, out);
    fputs("    case $prev in\n", out);
    each_name(out, bash_choice);
    each_name(out, bash_file);
    each_name(out, bash_other);
    fputs("    esac\n"
          "    if [ -n \"$words\" ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" \\\n"
          "            -- \"$cur\")\n"
          "    elif [ \"$kind\" = file ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
          "    elif [ \"$kind\" = none ]; then\n"
          "        COMPREPLY=()\n"
          "    elif [ \"${cur:0:1}\" = - ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$_hbrun_options\" \\\n"
          "            -- \"$cur\")\n"
          "    else\n"
          "        mapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\")\n"
          "    fi\n"
          "}\n"
          "complete -o filenames -F _hbrun hbrun\n", out);
}

/* --- zsh --------------------------------------------------------- */

void hb_zsh_text(FILE *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\'') {
            fputs("'\\''", out);
        } else {
            if (strchr("[]:\\", *p)) {
                fputc('\\', out);
            }
            fputc(*p, out);
        }
    }
}

void hb_zsh_register(FILE *out, const char *program)
{
    fprintf(out,
            "if [ \"$funcstack[1]\" = _%s ]; then\n"
            "  _%s \"$@\"\n"
            "else\n"
            "  compdef _%s %s\n"
            "fi\n", program, program, program, program);
}

static void zsh_action(FILE *out, const char *args)
{
    if (!strncmp(args, "FILE", 4)) {
        fputs("_files", out);
    } else if (!strcmp(args, "DIR")) {
        fputs("_files -/", out);
    } else if (hb_opt_is_choice(args)) {
        fputc('(', out);
        for (const char *p = args; *p; p++) {
            fputc(*p == '|' ? ' ' : *p, out);
        }
        fputc(')', out);
    } else {
        fputc(' ', out);
    }
}

static void zsh_argument(FILE *out, const char *word, size_t len)
{
    char *arg = hb_xstrndup(word, len);

    fputc(':', out);
    hb_zsh_text(out, arg);
    fputc(':', out);
    zsh_action(out, arg);
    free(arg);
}

static void zsh_spec(FILE *out, const struct hb_optdef *opt,
                     const char *name)
{
    int n = hb_opt_n_args(opt);
    size_t first = strcspn(opt->args, " ");

    if (!offered(opt)) {
        return;
    }
    fprintf(out, "    '*%s%s[", dashes(name), name);
    hb_zsh_text(out, opt->kind == HB_OPT_AS ? "is " : "");
    hb_zsh_text(out, opt->text);
    fputc(']', out);
    if (n > 0) {
        zsh_argument(out, opt->args, first);
    }
    if (n > 1) {
        zsh_argument(out, opt->args + first + 1,
                     strlen(opt->args + first + 1));
    }
    fputs("' \\\n", out);
}

static void zsh(FILE *out)
{
    fputs("#compdef hbrun\n"
          "# zsh completion for hbrun; made by hbrun --completion zsh\n"
          "_hbrun() {\n"
          "  _arguments -s -S \\\n", out);
    each_name(out, zsh_spec);
    fputs("    '(-):program:_command_names -e' \\\n"
          "    '*::arguments:_normal'\n"
          "}\n", out);
    hb_zsh_register(out, "hbrun");
}

void hb_options_completion(FILE *out, const char *shell)
{
    if (!strcmp(shell, "bash")) {
        bash(out);
    } else if (!strcmp(shell, "zsh")) {
        zsh(out);
    }
}
