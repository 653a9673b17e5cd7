/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Files of words: programs (--app, -configfile) and parameters (--tune,
 * --am).
 *
 * A line is cut as a shell would cut it, without expanding anything: blanks
 * part words, '...' and "..." keep them, a backslash keeps the next byte, '#'
 * at a word's start begins a comment. In a file of programs a line is a
 * segment; in one of parameters it is options (-x, --mca and their kin) or
 * NAME = VALUE. A backslash at a line's end joins the next one, but to no
 * comment. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

struct cursor {
    const char *p, *end;
};

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Inside quotes up to the closing one; 0, or -1 when there is none. */
static int quoted(struct cursor *c, char quote, struct hb_str *word)
{
    for (; c->p < c->end; c->p++) {
        if (*c->p == quote) {
            c->p++;
            return 0;
        }
        if (quote == '"' && *c->p == '\\' && c->p + 1 < c->end
            && strchr("\"\\", c->p[1])) {
            c->p++;
        }
        hb_str_putc(word, *c->p);
    }
    return -1;
}

static int one_word(struct cursor *c, struct hb_str *word)
{
    while (c->p < c->end && !is_blank(*c->p)) {
        char ch = *c->p++;

        if (ch == '\'' || ch == '"') {
            const char *open = c->p - 1;

            if (quoted(c, ch, word) < 0) {
                c->p = open;
                return -1;
            }
        } else if (ch == '\\' && c->p < c->end) {
            hb_str_putc(word, *c->p++);
        } else {
            hb_str_putc(word, ch);
        }
    }
    return 0;
}

int hb_cli_split(const char *line, size_t len, struct hb_strv *words_out,
                   size_t *column_out, struct hpcboot_error *err)
{
    struct cursor c = {line, line + len};

    *column_out = 1;
    for (;;) {
        struct hb_str word = HB_STR_INIT;

        while (c.p < c.end && is_blank(*c.p)) {
            c.p++;
        }
        if (c.p == c.end || *c.p == '#') {
            return 0;
        }
        hb_str_put(&word, "");
        if (one_word(&c, &word) < 0) {
            hb_str_destroy(&word);
            *column_out = (size_t)(c.p - line) + 1;
            return hb_fail(err, HPCBOOT_ERR_PARSE,
                           "a quotation mark %c is not closed", *c.p);
        }
        hb_strv_take(words_out, hb_str_steal(&word));
    }
}

/* --- lines ------------------------------------------------------- */

struct file_line {
    const char *path;
    unsigned number; /* of its first physical line */
    const char *text;
    size_t len;
    char *joined; /* owned, where a backslash joined lines */
};

typedef int (*line_reader)(struct hb_scan *s, const struct file_line *line,
                           struct hpcboot_error *err);

/* As words are cut below: a '#' where a word begins, outside quotes. */
static int has_comment(const char *p, size_t n)
{
    char quote = '\0';

    for (size_t i = 0; i < n; i++) {
        if (quote == '\0' && p[i] == '#' && (i == 0 || is_blank(p[i - 1]))) {
            return 1;
        }
        if (p[i] == '\\' && quote != '\'') {
            i++;
        } else if (quote != '\0') {
            quote = p[i] == quote ? '\0' : quote;
        } else if (p[i] == '"' || p[i] == '\'') {
            quote = p[i];
        }
    }
    return 0;
}

static size_t skip_blanks(const char *p, size_t len, size_t at)
{
    while (at < len && is_blank(p[at])) {
        at++;
    }
    return at;
}

/* How many bytes of the line stand before a backslash that joins the next one;
 * all of them: there is none. */
static size_t before_backslash(const char *p, size_t n)
{
    size_t end = n - (n > 0 && p[n - 1] == '\r'), slashes = 0;

    while (slashes < end && p[end - 1 - slashes] == '\\') {
        slashes++;
    }
    return slashes % 2 == 1 && !has_comment(p, end) ? end - 1 : n;
}

/* Reads on over joined lines; returns what is behind them. */
static const char *next_line(const char *p, const char *end, unsigned *number,
                             struct file_line *line)
{
    struct hb_str joined = HB_STR_INIT;

    line->joined = NULL;
    line->number = *number;
    for (;;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((nl ? nl : end) - p);
        size_t own = nl ? before_backslash(p, n) : n;
        int more = own < n;

        (*number)++;
        if (more || joined.s) {
            hb_str_putn(&joined, p, own);
        } else {
            line->text = p;
            line->len = n;
        }
        p = nl ? nl + 1 : end;
        if (!more) {
            break;
        }
    }
    if (joined.s) {
        line->len = joined.len;
        line->joined = hb_str_steal(&joined);
        line->text = line->joined;
    }
    return p;
}

static int each_line(struct hb_scan *s, const char *path, const char *text,
                     size_t len, line_reader read,
                     struct hpcboot_error *err)
{
    const char *outer_origin = s->origin, *outer_spelling = s->spelling;
    const char *p = text + hb_bom_len(text, len), *end = text + len;
    struct file_line line = {.path = path};
    unsigned number = 1;
    int outer_file = s->in_file, rc = 0;

    if (memchr(text, '\0', len)) {
        return hb_fail(err, HPCBOOT_ERR_PARSE, "%s: holds a NUL byte; this "
                       "is no text file", path);
    }
    s->in_file = 1;
    while (rc == 0 && p < end) {
        char *origin;

        p = next_line(p, end, &number, &line);
        origin = hb_xasprintf("%s:%u", path, line.number);
        s->origin = origin;
        rc = read(s, &line, err);
        s->origin = outer_origin;
        free(origin);
        free(line.joined);
    }
    s->in_file = outer_file;
    s->spelling = outer_spelling;
    return rc;
}

static int split_line(const struct file_line *line, struct hb_strv *words,
                      struct hpcboot_error *err)
{
    size_t column;
    int rc = hb_cli_split(line->text, line->len, words, &column, err);

    return rc < 0 ? hb_error_prefix(err, rc, "%s:%u:%zu", line->path,
                                    line->number, column)
                  : 0;
}

/* --- programs ---------------------------------------------------- */

static int app_line(struct hb_scan *s, const struct file_line *line,
                    struct hpcboot_error *err)
{
    struct hb_strv words = HB_STRV_INIT;
    int rc = split_line(line, &words, err);

    if (rc == 0 && words.n) {
        rc = hb_scan_segment(s, words.n, words.v, err);
        if (rc < 0) {
            rc = hb_error_prefix(err, rc, "%s:%u:1", line->path,
                                 line->number);
        }
    }
    hb_strv_destroy(&words);
    return rc;
}

int hb_app_text(struct hb_scan *s, const char *path, const char *text,
                size_t len, struct hpcboot_error *err)
{
    uint32_t before = s->o->n_apps;
    int rc = each_line(s, path, text, len, app_line, err);

    if (rc == 0 && s->o->n_apps == before) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%s: names no program", path);
    }
    return rc;
}

/* --- parameters -------------------------------------------------- */

/* The options that may stand in a file of parameters. */
static const char *const tune_options[] = {"x", "mca", "omca", "gmca",
                                           "pmixmca", "prtemca"};

static const struct hb_optdef *tune_option(const char *word)
{
    const char *name = word + (word[1] == '-' ? 2 : 1);

    for (size_t i = 0; i < sizeof tune_options / sizeof tune_options[0];
         i++) {
        if (!strcmp(name, tune_options[i])) {
            return hb_opt_find(name, strlen(name), HB_DIALECT_OPENMPI);
        }
    }
    return NULL;
}

static int tune_words(struct hb_scan *s, const struct file_line *line,
                      const struct hb_strv *words, struct hpcboot_error *err)
{
    size_t at = 0;
    int rc = 0;

    while (rc == 0 && at < words->n) {
        const char *word = words->v[at++];
        const struct hb_optdef *opt = tune_option(word);
        const char *values[HB_OPT_ARGS] = {NULL};
        int wanted = opt ? hb_opt_n_args(opt) : 0;

        if (!opt) {
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "%s:%u:1: \"%s\" cannot stand here; -x and --mca "
                           "can", line->path, line->number, word);
        }
        for (int i = 0; i < wanted; i++) {
            if (at == words->n) {
                return hb_fail(err, HPCBOOT_ERR_USAGE,
                               "%s:%u:1: %s needs %s", line->path,
                               line->number, word, opt->args);
            }
            values[i] = words->v[at++];
        }
        s->spelling = word;
        rc = hb_opt_apply(s, opt, values, err);
    }
    return rc < 0 ? hb_error_prefix(err, rc, "%s:%u:1", line->path,
                                    line->number)
                  : 0;
}

/* NAME = VALUE; the value goes to the line's end. */
static int tune_pair(struct hb_scan *s, const struct file_line *line,
                     size_t at, struct hpcboot_error *err)
{
    const char *p = line->text, *eq = memchr(p + at, '=', line->len - at);
    size_t end = line->len, name_end, from;
    const char *values[HB_OPT_ARGS];
    char *name, *value;
    int rc;

    if (!eq || eq == p + at) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "%s:%u:%zu: expected NAME = VALUE, -x or --mca",
                       line->path, line->number, at + 1);
    }
    name_end = (size_t)(eq - p);
    while (name_end > at && is_blank(p[name_end - 1])) {
        name_end--;
    }
    from = skip_blanks(p, line->len, (size_t)(eq - p) + 1);
    while (end > from && is_blank(p[end - 1])) {
        end--;
    }
    values[0] = name = hb_xstrndup(p + at, name_end - at);
    values[1] = value = hb_xstrndup(p + from, end - from);
    s->spelling = "parameter";
    rc = hb_opt_apply(s, hb_opt_find("mca", 3, HB_DIALECT_OPENMPI), values,
                      err);
    free(name);
    free(value);
    return rc < 0 ? hb_error_prefix(err, rc, "%s:%u:%zu", line->path,
                                    line->number, at + 1)
                  : 0;
}

static int tune_line(struct hb_scan *s, const struct file_line *line,
                     struct hpcboot_error *err)
{
    size_t at = skip_blanks(line->text, line->len, 0);
    struct hb_strv words = HB_STRV_INIT;
    int rc;

    if (at == line->len || line->text[at] == '#') {
        return 0;
    }
    if (line->text[at] != '-') {
        return tune_pair(s, line, at, err);
    }
    rc = split_line(line, &words, err);
    if (rc == 0) {
        rc = tune_words(s, line, &words, err);
    }
    hb_strv_destroy(&words);
    return rc;
}

int hb_tune_text(struct hb_scan *s, const char *path, const char *text,
                 size_t len, struct hpcboot_error *err)
{
    return each_line(s, path, text, len, tune_line, err);
}
