/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Completion scripts for bash and zsh (and fish: completion_fish.c), written
 * from the option table: the options with their texts, files after options that
 * take one, the words of options that take one of a few, programs otherwise,
 * and behind a program files alone: what begins with '-' there is its own. */
#include "config.h"

#include "bin/cli/completion.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

static const char *dashes(const char *name)
{
    return name[1] ? "--" : "-";
}

int hb_compl_offered(const struct hb_optdef *opt)
{
    return opt->kind != HB_OPT_NO;
}

void hb_compl_each_name(FILE *out, hb_compl_visitor visit)
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

int hb_compl_wants_file(const struct hb_optdef *opt)
{
    return !strncmp(opt->args, "FILE", 4) || !strcmp(opt->args, "DIR");
}

void hb_compl_topics(FILE *out)
{
    for (int i = 0; i < HB_SECTIONS; i++) {
        fprintf(out, "%s ", hb_section_topic((enum hb_opt_section)i));
    }
    fputs("all", out);
}

/* --- bash -------------------------------------------------------- */

/* For bash, '=' in --name=value is a word of its own. */
const char hb_bash_after_equals[] =
    "    if [ \"$cur\" = = ]; then\n"
    "        cur='' kind=none\n"
    "    elif [ \"$prev\" = = ] && [ \"$COMP_CWORD\" -ge 2 ]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]} kind=none\n"
    "    fi\n";

const struct hb_optdef *hb_compl_meant(const char *name)
{
    const struct hb_optdef *own = hb_opt_find(name, strlen(name),
                                              HB_DIALECT_OPENMPI);

    return own ? own : hb_opt_find_any(name, strlen(name));
}

static int is_meant(const struct hb_optdef *opt, const char *name)
{
    return opt == hb_compl_meant(name);
}

static void bash_word(FILE *out, const struct hb_optdef *opt,
                      const char *name)
{
    if (hb_compl_offered(opt)) {
        fprintf(out, "%s%s\n", dashes(name), name);
    }
}

static void bash_choice(FILE *out, const struct hb_optdef *opt,
                        const char *name)
{
    if (!hb_opt_is_choice(opt->args) || !is_meant(opt, name)) {
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
    if (hb_compl_offered(opt) && hb_compl_wants_file(opt) &&
        is_meant(opt, name)) {
        fprintf(out, "    -%s|--%s) kind=file ;;\n", name, name);
    }
}

int hb_compl_n_words(const struct hb_optdef *opt)
{
    return opt->flags & HB_O_PAIR ? 3 : hb_opt_n_args(opt);
}

static void bash_words(FILE *out, const struct hb_optdef *opt,
                       const char *name)
{
    if (hb_compl_n_words(opt) > 0 && is_meant(opt, name)) {
        fprintf(out, "        *,%s) skip=%d ;;\n", name,
                hb_compl_n_words(opt));
    }
}

/* The same where a dialect has another option of that name. */
static void bash_words_there(FILE *out, const struct hb_optdef *opt,
                             const char *name)
{
    for (int d = HB_DIALECT_OPENMPI; d <= HB_DIALECT_SRUN; d++) {
        if (hb_opt_find(name, strlen(name), (enum hb_dialect)d) == opt &&
            hb_compl_n_words(opt) != hb_compl_n_words(hb_compl_meant(name))) {
            fprintf(out, "        %s,%s) skip=%d ;;\n",
                    hb_dialect_name((enum hb_dialect)d), name,
                    hb_compl_n_words(opt));
        }
    }
}

/* The words before the cursor's own, as they were typed: a blank in quotes
 * parts none. They are not those of COMP_WORDS, where ':' parts words. */
static void bash_line(FILE *out)
{
    fputs("# Sets line: the words before the one at the cursor\n"
          "_hbrun_line() {\n"
          "    local b=$' \\t\\n' text=${COMP_LINE:0:COMP_POINT} one\n"
          "    one=\"[^$b\\\\\\\\\\\"']|\\\\\\\\.|'[^']*'\"\n"
          "    one=\"$one|\\\"([^\\\\\\\\\\\"]|\\\\\\\\.)*\\\"\"\n"
          "    line=()\n"
          "    while [[ $text =~ ^[$b]*(($one)+)[$b] ]]; do\n"
          "        line+=(\"${BASH_REMATCH[1]}\")\n"
          "        text=${text:${#BASH_REMATCH[0]}}\n"
          "    done\n"
          "}\n\n", out);
}

/* Where on the line the cursor is: the words before it are read as hbrun
 * reads them. */
static void bash_where(FILE *out)
{
    fputs("# Sets where: to options, value, program, arguments\n"
          "_hbrun_where() {\n"
          "    local word name='' skip=0 dialect=openmpi\n"
          "    local -a line\n"
          "    _hbrun_line\n"
          "    case ${line[0]##*/} in\n"
          "    srun) dialect=srun ;;\n"
          "    mpiexec.hydra|mpirun.hydra) dialect=hydra ;;\n"
          "    esac\n"
          "    where=options\n"
          "    for word in \"${line[@]:1}\"; do\n"
          "        case $where,$skip,$word in\n"
          "        *,:) where=options skip=0; continue ;;\n"
          "        arguments,*) continue ;;\n"
          "        *,3,*=*) skip=0; continue ;;\n"
          "        *,3,*) skip=1; continue ;;\n"
          "        *,[12],*)\n"
          "            [ \"$name\" != dialect ] || dialect=$word\n"
          "            skip=$((skip - 1)); continue ;;\n"
          "        options,0,--) where=program; continue ;;\n"
          "        options,0,-?*) name=${word#-} name=${name#-} ;;\n"
          "        *) where=arguments; continue ;;\n"
          "        esac\n"
          "        case $dialect,${name%%=*} in\n", out);
    hb_compl_each_name(out, bash_words_there);
    hb_compl_each_name(out, bash_words);
    fputs("        esac\n"
          "        case $skip,$name in\n" /* --mca=NAME VALUE */
          "        1,dialect=*) dialect=${name#*=} skip=0 ;;\n"
          "        1,*=*|3,*=*=*) skip=0 ;;\n"
          "        [23],*=*) skip=1 ;;\n"
          "        esac\n"
          "    done\n"
          "    [ \"$skip\" -eq 0 ] || where=value\n"
          "}\n\n", out);
}

static void bash(FILE *out)
{
    fputs("# bash completion for hbrun; made by hbrun --completion bash\n"
          "_hbrun_options='\n", out);
    hb_compl_each_name(out, bash_word);
    fputs("'\n\n", out);
    bash_line(out);
    bash_where(out);
    fputs("_hbrun() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]}\n"
          "    local prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local words='' kind='' where\n"
          "    _hbrun_where\n", out);
    fputs(hb_bash_after_equals, out);
    fputs("    case $where in\n"
          "    value) kind=none ;;\n"
          "    program) kind=program ;;\n"
          "    arguments) kind=file prev='' ;;\n"
          "    esac\n"
          "    case $prev in\n", out);
    hb_compl_each_name(out, bash_choice);
    hb_compl_each_name(out, bash_file);
    fputs("    -help|--help|-h) words=\"", out);
    hb_compl_topics(out);
    fputs(" $_hbrun_options\" ;;\n", out);
    fputs("    esac\n"
          "    if [ -n \"$words\" ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" \\\n"
          "            -- \"$cur\")\n"
          "    elif [ \"$kind\" = file ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
          "    elif [ \"$kind\" = none ]; then\n"
          "        COMPREPLY=()\n"
          "    elif [ \"${cur:0:1}\" = - ] && [ -z \"$kind\" ]; then\n"
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

static int is_help(const struct hb_optdef *opt)
{
    return opt->set == hb_set_help && opt->kind == HB_OPT_SET;
}

static void zsh_arguments(FILE *out, const struct hb_optdef *opt)
{
    int n = hb_opt_n_args(opt);
    size_t first = strcspn(opt->args, " ");

    if (n > 0) {
        zsh_argument(out, opt->args, first);
    }
    if (n > 1) {
        zsh_argument(out, opt->args + first + 1,
                     strlen(opt->args + first + 1));
    }
    if (is_help(opt)) {
        fputs("::topic:(", out);
        hb_compl_topics(out);
        fputc(')', out);
    }
}

static void zsh_spec(FILE *out, const struct hb_optdef *opt,
                     const char *name)
{
    if (!hb_compl_offered(opt)) {
        return;
    }
    fprintf(out, "    '*%s%s[", dashes(name), name);
    hb_zsh_text(out, opt->kind == HB_OPT_AS ? "is " : "");
    hb_zsh_text(out, opt->text);
    fputc(']', out);
    zsh_arguments(out, opt);
    fputs("' \\\n", out);
}

/* What else may be typed, and is not offered ('!'): one dash before a long
 * name, and a value behind '='. */
static void zsh_unoffered(FILE *out, const struct hb_optdef *opt,
                          const char *name)
{
    int n = hb_opt_n_args(opt);

    if (!is_meant(opt, name)) {
        return;
    }
    for (int n_dashes = 1; n_dashes <= 2; n_dashes++) {
        if (n_dashes != (int)strlen(dashes(name))) {
            fprintf(out, "    '!*%.*s%s", n_dashes, "--", name);
            zsh_arguments(out, opt);
            fputs("' \\\n", out);
        }
        fprintf(out, "    '!*%.*s%s=%s", n_dashes, "--", name,
                n < 2 ? "-" : "");
        if (n > 0 || is_help(opt)) {
            zsh_arguments(out, opt);
        } else {
            fputs(opt->args[0] != '\0' ? ":value: " : ":yes or no:(yes no)",
                  out);
        }
        fputs("' \\\n", out);
    }
}

static void zsh(FILE *out)
{
    fputs("#compdef hbrun\n"
          "# zsh completion for hbrun; made by hbrun --completion zsh\n"
          "_hbrun() {\n"
          "  local -a before=(\"${(@)words[1,CURRENT-1]}\")\n"
          "  local -i at=${before[(I):]}\n" /* the next program begins */
          "  if (( at > 1 )); then\n"
          "    words=(hbrun \"${(@)words[at+1,-1]}\")\n"
          "    (( CURRENT -= at - 1 ))\n"
          "  fi\n"
          "  _arguments -s -S \\\n", out);
    hb_compl_each_name(out, zsh_spec);
    hb_compl_each_name(out, zsh_unoffered);
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
    } else if (!strcmp(shell, "fish")) {
        hb_compl_fish(out);
    }
}
