/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef TESTS_UNIT_CLI_PARSE_H
#define TESTS_UNIT_CLI_PARSE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/cli/options.h"
#include "lib/base/str.h"

/* Parses a command line written as words parted by single blanks. */
struct parsed {
    struct hb_options *o;
    struct hpcboot_error err;
    struct hb_strv argv;
    int rc;
};

static inline void parse_words(struct parsed *p,
                               const struct hb_options_source *src,
                               const char *line)
{
    char *copy = hb_xstrdup(line), *at = copy, *word;

    memset(p, 0, sizeof *p);
    while ((word = strsep(&at, " "))) {
        hb_strv_push(&p->argv, word);
    }
    p->rc = hb_options_parse(&p->o, (int)p->argv.n, p->argv.v, src, &p->err);
    free(copy);
}

static inline void parsed_free(struct parsed *p)
{
    hb_options_destroy(p->o);
    hb_strv_destroy(&p->argv);
    p->o = NULL;
}

static inline void parse(struct parsed *p, const char *line)
{
    static char *const env[] = {NULL};
    static const struct hb_options_source src = {.env = env};

    parse_words(p, &src, line);
}

/* Parses what must be right. */
static inline struct hb_options *good(struct parsed *p, const char *line)
{
    parse(p, line);
    if (p->rc != 0) {
        fail_msg("\"%s\": %s", line, p->err.text);
    }
    return p->o;
}

/* Parses what must be wrong, and compares the sentence. */
static inline void bad(const char *line, const char *text)
{
    struct parsed p;

    parse(&p, line);
    if (p.rc >= 0) {
        fail_msg("\"%s\" was accepted", line);
    }
    assert_string_equal(p.err.text, text);
    parsed_free(&p);
}

static inline void assert_list(const struct hb_strv *list, const char *wanted)
{
    struct hb_str all = HB_STR_INIT;

    for (size_t i = 0; i < list->n; i++) {
        hb_str_putf(&all, "%s%s", i ? "|" : "", list->v[i]);
    }
    assert_string_equal(hb_str_text(&all), wanted);
    hb_str_destroy(&all);
}

#endif
