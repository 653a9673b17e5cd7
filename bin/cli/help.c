/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* --help, written from the option table.
 *
 * Without a topic: hbrun's own options, by their names in the dialect of the
 * command line, and what that dialect alone has. With one: a section, or a
 * single option with its key and variable. "all" is everything, and what the
 * check of the man page reads. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define HELP_WIDTH 79  /* columns */
#define HELP_COLUMN 32 /* where the texts begin */

static const char usage[] =
    "usage: hbrun [options] PROGRAM [arguments] [: [options] PROGRAM ...]\n"
    "\n"
    "Starts the ranks of a parallel program, here or on a gang of hosts.\n"
    "  hbrun -n 4 ./prog             4 ranks on this host\n"
    "  hbrun -H a:2,b:2 ./prog       2 ranks on each of two hosts\n"
    "  hbrun --hostfile FILE ./prog  a rank for every slot of FILE\n";

static const char last_words[] =
    "\nEach name may be written with one dash or two, its argument as the\n"
    "next word or after '='. An option NAME can stand as \"NAME = VALUE\" in\n"
    "hpcboot.conf(5) and as the variable HPCBOOT_NAME. More: hbrun(1).\n"
    "Topics of --help:";

static const char *dialect_note(unsigned set)
{
    static const char *const notes[8] = {
        [1] = " (openmpi)",        [2] = " (hydra)",
        [3] = " (openmpi, hydra)", [4] = " (srun)",
        [5] = " (openmpi, srun)",  [6] = " (hydra, srun)",
    };

    return notes[set & 7] ? notes[set & 7] : "";
}

/* Whose names: of one dialect, or of all. */
#define ALL_DIALECTS (-1)

/* "--np N, -n"; with all names, those of other dialects too. */
static void put_names(struct hb_str *out, const struct hb_optdef *opt,
                      int dialect)
{
    const char *pos = opt->names;
    char name[HB_OPT_NAME_MAX];
    unsigned set;
    int any = 0;

    while (hb_opt_next_name(&pos, name, &set)) {
        if (dialect != ALL_DIALECTS && !(set & (1u << dialect))) {
            continue;
        }
        hb_str_putf(out, "%s%s%s", any ? ", " : "", name[1] ? "--" : "-",
                    name);
        if (hb_opt_has_optional(opt) && !any) {
            hb_str_putf(out, "[=%s", opt->args + 1);
        } else if (hb_opt_n_args(opt) && !any) {
            hb_str_putf(out, " %s", opt->args);
        }
        if (dialect == ALL_DIALECTS && opt->section != HB_SEC_SRUN) {
            hb_str_put(out, dialect_note(set));
        }
        any = 1;
    }
}

/* Words from `column` on, each further line at HELP_COLUMN less `hang`. */
static int put_wrapped(FILE *out, const char *text, int column, int hang)
{
    int at = column, first = 1;

    while (*text) {
        size_t n = strcspn(text, " ");

        if (!first && at + (int)n >= HELP_WIDTH) {
            fprintf(out, "\n%*s", HELP_COLUMN - hang, "");
            at = HELP_COLUMN - hang;
            first = 1;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", (int)n, text);
        at += (int)n + !first;
        first = 0;
        text += n + strspn(text + n, " ");
    }
    return at;
}

/* "key=text key=text" as options: "--key text --key text". */
static char *meaning(const struct hb_optdef *opt)
{
    struct hb_str out = HB_STR_INIT;

    hb_str_put(&out, "same as");
    for (const char *p = opt->text; *p; p += strspn(p, " ")) {
        size_t key = strcspn(p, "="), end = strcspn(p, " ");

        hb_str_putf(&out, " --%.*s", (int)key, p);
        if (strncmp(p + key, "=yes", end - key)) {
            hb_str_putc(&out, '=');
            for (size_t i = key + 1; i < end; i++) {
                hb_str_putf(&out, "%.*s", p[i] == '%' ? 99 : 1,
                            p[i] == '%' ? opt->args : p + i);
            }
        }
        p += end;
    }
    return hb_str_steal(&out);
}

static char *row_text(const struct hb_optdef *opt)
{
    switch (opt->kind) {
    case HB_OPT_AS:
        return meaning(opt);
    case HB_OPT_SKIP:
        return hb_xasprintf("accepted, no effect%s%s",
                            opt->text[0] ? ": " : "", opt->text);
    case HB_OPT_NO:
        return hb_xasprintf("refused: %s", opt->text);
    default:
        return hb_xstrdup(opt->text);
    }
}

static void put_row(FILE *out, const struct hb_optdef *opt, int dialect)
{
    struct hb_str names = HB_STR_INIT;
    char *text = row_text(opt);

    put_names(&names, opt, dialect);
    if (names.len) {
        int at;

        fputs("  ", out);
        at = put_wrapped(out, names.s, 2, HELP_COLUMN - 4);
        if (at >= HELP_COLUMN) {
            fputc('\n', out);
            at = 0;
        }
        fprintf(out, "%*s", HELP_COLUMN - at, "");
        put_wrapped(out, text, HELP_COLUMN, 0);
        fputc('\n', out);
    }
    hb_str_destroy(&names);
    free(text);
}

static void put_section(FILE *out, enum hb_opt_section section, int dialect)
{
    fprintf(out, "\n%s:\n", hb_section_title(section));
    for (size_t i = 0; i < hb_opts_n; i++) {
        if (hb_opts[i].section == section &&
            (dialect == ALL_DIALECTS || hb_opt_has_effect(&hb_opts[i]))) {
            put_row(out, &hb_opts[i], dialect);
        }
    }
}

static void put_topics(FILE *out)
{
    int at = (int)strlen("Topics of --help:");

    fputs(last_words, out);
    for (int i = 0; i < HB_SECTIONS; i++) {
        const char *topic = hb_section_topic((enum hb_opt_section)i);

        at += (int)strlen(topic) + 1;
        if (at >= HELP_WIDTH) {
            fputc('\n', out);
            at = (int)strlen(topic) + 1;
        }
        fprintf(out, " %s", topic);
    }
    fputs("\nall, or an option.\n", out);
}

/* One option, with the other places it can be set in. */
static void put_option(FILE *out, const struct hb_optdef *opt)
{
    char key[HB_OPT_NAME_MAX];

    put_row(out, opt, ALL_DIALECTS);
    if (opt->flags & HB_O_CMD) {
        fputs("  on the command line only\n", out);
        return;
    }
    hb_opt_key(opt, key);
    fprintf(out, "  hpcboot.conf: %s = %s\n  variable: HPCBOOT_", key,
            hb_opt_is_switch(opt) ? "yes|no" : opt->args);
    for (const char *p = key; *p; p++) {
        fputc(*p == '-' ? '_' : toupper((unsigned char)*p), out);
    }
    fputc('\n', out);
}

/* A name may mean something else in another dialect. */
static const struct hb_optdef *option_of(const char *topic,
                                         enum hb_dialect dialect)
{
    const struct hb_optdef *opt;

    topic += strspn(topic, "-");
    opt = hb_opt_find(topic, strlen(topic), dialect);
    return opt ? opt : hb_opt_find_any(topic, strlen(topic));
}

/* Topics of mpirun's --help that are neither a topic nor an option here. */
static const struct {
    const char *topic;
    enum hb_opt_section section;
} of_mpirun[] = {
    {"compatibility", HB_SEC_OPENMPI}, {"devel", HB_SEC_OPENMPI},
    {"general", HB_SEC_PROGRAMS},      {"launch", HB_SEC_START},
    {"mapping", HB_SEC_PLACEMENT},     {"ranking", HB_SEC_PLACEMENT},
    {"unsupported", HB_SEC_OPENMPI},
};

/* HB_SECTIONS: there is none. */
static enum hb_opt_section section_of(const char *topic)
{
    for (int i = 0; i < HB_SECTIONS; i++) {
        if (!strcmp(topic, hb_section_topic((enum hb_opt_section)i))) {
            return (enum hb_opt_section)i;
        }
    }
    for (size_t i = 0; i < sizeof of_mpirun / sizeof *of_mpirun; i++) {
        if (!strcmp(topic, of_mpirun[i].topic)) {
            return of_mpirun[i].section;
        }
    }
    return HB_SECTIONS;
}

int hb_options_help_knows(const char *topic)
{
    return !strcmp(topic, "all") || section_of(topic) != HB_SECTIONS ||
           option_of(topic, HB_DIALECT_OPENMPI) != NULL;
}

static void put_topic(FILE *out, const char *topic, enum hb_dialect dialect)
{
    enum hb_opt_section section = section_of(topic);

    if (section != HB_SECTIONS) {
        put_section(out, section, ALL_DIALECTS);
    } else if (option_of(topic, dialect)) {
        put_option(out, option_of(topic, dialect));
    }
}

void hb_options_help(FILE *out, const char *topic, enum hb_dialect dialect)
{
    int all = topic && !strcmp(topic, "all");
    int last = all ? HB_SECTIONS : HB_SEC_NATIVE;

    if (topic && !all) {
        put_topic(out, topic, dialect);
        return;
    }
    fputs(usage, out);
    for (int i = 0; i < last; i++) {
        put_section(out, (enum hb_opt_section)i,
                    all ? ALL_DIALECTS : (int)dialect);
    }
    if (!all && dialect != HB_DIALECT_OPENMPI) { /* what it alone has */
        put_section(out, dialect == HB_DIALECT_SRUN ? HB_SEC_SRUN
                                                    : HB_SEC_HYDRA,
                    (int)dialect);
    }
    put_topics(out);
}
