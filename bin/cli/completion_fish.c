/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Completion of hbrun for fish. A function tells where on the line the cursor
 * is, by reading the words before it as hbrun reads them; what is offered has
 * that as its condition. */
#include "config.h"

#include "bin/cli/completion.h"

#include <string.h>

void hb_fish_text(FILE *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\'' || *p == '\\') {
            fputc('\\', out);
        }
        fputc(*p, out);
    }
}

void hb_fish_option(FILE *out, const char *name, const char *help)
{
    const char *bare = name + strspn(name, "-");

    fprintf(out, " -%c %s -d '", bare[1] != '\0' ? 'l' : 's', bare);
    hb_fish_text(out, help);
    fputc('\'', out);
}

/* fish knows one option of a name, and would take the value of another
 * dialect's for the next option. */
static void case_of(FILE *out, const char *dialect, const char *name, int words)
{
    int is_other = words > 0 && dialect[0] != '*';

    fprintf(out, "            case '%s:%s'; set skip %d%s\n", dialect, name,
            words, is_other ? "; set where more" : "");
}

static void words_there(FILE *out, const struct hb_optdef *opt,
                        const char *name)
{
    for (int d = HB_DIALECT_OPENMPI; d <= HB_DIALECT_SRUN; d++) {
        enum hb_dialect dialect = (enum hb_dialect)d;
        int words = hb_compl_n_words(opt);

        if (hb_opt_find(name, strlen(name), dialect) == opt &&
            words != hb_compl_n_words(hb_compl_meant(name))) {
            case_of(out, hb_dialect_name(dialect), name, words);
        }
    }
}

static void words_of(FILE *out, const struct hb_optdef *opt, const char *name)
{
    int words = hb_compl_n_words(opt);

    if (words > 0 && hb_compl_meant(name) == opt) {
        case_of(out, "*", name, words);
    }
}

/* options; value, the first word of one; more, its second; program, behind --;
 * arguments, of a program. */
static void where(FILE *out)
{
    fputs("function __hbrun_where\n"
          "    set -l words (commandline -opc)\n"
          "    set -l dialect openmpi\n"
          "    switch (string replace -r '.*/' '' -- $words[1])\n"
          "        case srun; set dialect srun\n"
          "        case mpiexec.hydra mpirun.hydra; set dialect hydra\n"
          "    end\n"
          "    set -l where options\n"
          "    set -l name ''\n"
          "    set -l skip 0\n"
          "    for word in $words[2..-1]\n"
          "        if test \"$word\" = :\n"
          "            set where options; set skip 0; continue\n"
          "        else if test $where = arguments\n"
          "            continue\n"
          "        else if test $skip -gt 0\n"
          "            test \"$name\" = dialect; and set dialect $word\n"
          "            if test $skip -eq 3\n" /* two words, or NAME=VALUE */
          "                string match -q '*=*' -- $word; and set skip 0\n"
          "                or set skip 1\n"
          "            else\n"
          "                set skip (math $skip - 1)\n"
          "            end\n"
          "            set where more\n"
          "            test $skip -eq 0; and set where options\n"
          "            continue\n"
          "        else if test $where = program\n"
          "            set where arguments; continue\n"
          "        else if test \"$word\" = --\n"
          "            set where program; continue\n"
          "        else if not string match -qr -- '^-.' $word\n"
          "            set where arguments; continue\n"
          "        end\n"
          "        set name (string replace -r '^--?' '' -- $word)\n"
          "        switch $dialect:(string replace -r '=.*' '' -- $name)\n",
          out);
    hb_compl_each_name(out, words_there);
    hb_compl_each_name(out, words_of);
    fputs("        end\n"
          "        test $skip -gt 0 -a $where = options; and set where value\n"
          "        switch $skip,$name\n" /* --mca=NAME VALUE */
          "            case '1,dialect=*'\n"
          "                set dialect (string sub -s 9 -- $name)\n"
          "                set skip 0; set where options\n"
          "            case '1,*=*' '3,*=*=*'; set skip 0; set where options\n"
          "            case '2,*=*' '3,*=*'; set skip 1; set where more\n"
          "        end\n"
          "    end\n"
          "    echo $where\n"
          "end\n"
          "function __hbrun_at\n"
          "    contains -- (__hbrun_where) $argv\n"
          "end\n", out);
}

static void option(FILE *out, const struct hb_optdef *opt, const char *name)
{
    if (!hb_compl_offered(opt)) {
        return;
    }
    fputs("complete -c hbrun -n '__hbrun_at options value'", out);
    hb_fish_option(out, name, opt->text);
    if (hb_compl_n_words(opt) > 0) {
        fputs(hb_compl_wants_file(opt) ? " -r -F" : " -x", out);
    }
    if (hb_opt_is_choice(opt->args)) {
        fputs(" -a '", out);
        for (const char *p = opt->args; *p; p++) {
            fputc(*p == '|' ? ' ' : *p, out);
        }
        fputc('\'', out);
    }
    fputc('\n', out);
}

void hb_compl_fish(FILE *out)
{
    fputs("# fish completion for hbrun; made by hbrun --completion fish\n",
          out);
    where(out);
    fputs("complete -c hbrun -e\ncomplete -c hbrun -f\n", out);
    hb_compl_each_name(out, option);
    fputs("complete -c hbrun -n '__hbrun_at options; and string match -qr"
          " \"^--?(help|h)\\$\" -- (commandline -opc)[-1]' -a '", out);
    hb_compl_topics(out);
    fputs("'\n", out);
    fputs("complete -c hbrun -n '__hbrun_at options program'"
          " -a '(__fish_complete_command)'\n"
          "complete -c hbrun -n '__hbrun_at arguments' -F\n", out);
}
