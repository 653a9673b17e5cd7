/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The parser of hpcboot.conf. It knows the form of the file and nothing of
 * options: each section and each KEY = VALUE is handed to a function with its
 * place, and what a key means is decided there. Lines are short, the file is
 * bounded by its reader, and no byte below blank but a tab is let through, so
 * that a wrong file is named at its first wrong byte. */
#include "config.h"

#include "bin/cli/conf.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

struct parser {
    const char *path;
    const char *p, *end; /* of the line under way */
    const char *start;
    unsigned line;
    char *profile;
};

static int expected(const struct parser *c, struct hpcboot_error *err,
                    const char *what)
{
    return hb_fail(err, HPCBOOT_ERR_PARSE, "%s:%u:%u: expected %s", c->path,
                   c->line, (unsigned)(c->p - c->start) + 1, what);
}

static void skip_blanks(struct parser *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t')) {
        c->p++;
    }
}

static int at_end(const struct parser *c)
{
    return c->p == c->end || *c->p == '#';
}

static int is_name_byte(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("-_.", c));
}

static char *take_name(struct parser *c)
{
    const char *from = c->p;

    while (c->p < c->end && is_name_byte(*c->p)) {
        c->p++;
    }
    return c->p > from ? hb_xstrndup(from, (size_t)(c->p - from)) : NULL;
}

/* [profile NAME] */
static int section(struct parser *c, hb_conf_fn fn, void *arg,
                   struct hpcboot_error *err)
{
    static const char word[] = "profile";
    struct hb_conf_entry entry = {.path = c->path, .line = c->line,
                                  .column = (unsigned)(c->p - c->start) + 1};
    char *name;

    c->p++;
    skip_blanks(c);
    name = take_name(c);
    if (!hb_streq(name, word)) {
        c->p -= name ? strlen(name) : 0;
        free(name);
        return expected(c, err, "[profile NAME]");
    }
    free(name);
    skip_blanks(c);
    name = take_name(c);
    if (!name) {
        return expected(c, err, "a profile's name");
    }
    free(c->profile);
    c->profile = name;
    skip_blanks(c);
    if (c->p == c->end || *c->p != ']') {
        return expected(c, err, "]");
    }
    c->p++;
    skip_blanks(c);
    entry.profile = c->profile;
    return at_end(c) ? fn(arg, &entry, err)
                     : expected(c, err, "the end of the line");
}

static int quoted_value(struct parser *c, struct hb_str *out,
                        struct hpcboot_error *err)
{
    for (c->p++; c->p < c->end && *c->p != '"'; c->p++) {
        if (*c->p == '\\') {
            c->p++;
            if (c->p == c->end || !strchr("\"\\", *c->p)) {
                return expected(c, err, "\\\" or \\\\");
            }
        }
        hb_str_putc(out, *c->p);
    }
    if (c->p == c->end) {
        return expected(c, err, "a closing quotation mark");
    }
    c->p++;
    skip_blanks(c);
    return at_end(c) ? 0 : expected(c, err, "the end of the line");
}

/* To the line's end, or to a '#' after a blank; blanks at the end are not
 * part of it. */
static void plain_value(struct parser *c, struct hb_str *out)
{
    const char *from = c->p, *to;

    while (c->p < c->end
           && !(*c->p == '#' && c->p > from
                && (c->p[-1] == ' ' || c->p[-1] == '\t'))) {
        c->p++;
    }
    to = c->p;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t')) {
        to--;
    }
    hb_str_putn(out, from, (size_t)(to - from));
}

static int pair(struct parser *c, hb_conf_fn fn, void *arg,
                struct hpcboot_error *err)
{
    struct hb_conf_entry entry = {.path = c->path, .line = c->line,
                                  .profile = c->profile};
    struct hb_str value = HB_STR_INIT;
    char *key;
    int rc = 0;

    entry.column = (unsigned)(c->p - c->start) + 1;
    key = take_name(c);
    if (!key) {
        return expected(c, err, "KEY = VALUE or [profile NAME]");
    }
    skip_blanks(c);
    if (c->p == c->end || *c->p != '=') {
        rc = expected(c, err, "'='");
        goto out;
    }
    c->p++;
    skip_blanks(c);
    if (c->p == c->end || *c->p == '#') {
        rc = expected(c, err, "a value");
        goto out;
    }
    entry.value_column = (unsigned)(c->p - c->start) + 1;
    if (*c->p == '"') {
        rc = quoted_value(c, &value, err);
    } else {
        plain_value(c, &value);
    }
    if (rc == 0) {
        entry.key = key;
        entry.value = hb_str_text(&value);
        rc = fn(arg, &entry, err);
    }
out:
    hb_str_destroy(&value);
    free(key);
    return rc < 0 ? rc : 0;
}

static int check_bytes(struct parser *c, struct hpcboot_error *err)
{
    for (const char *q = c->p; q < c->end; q++) {
        if (((unsigned char)*q < ' ' && *q != '\t') || *q == 0x7f) {
            c->p = q;
            return expected(c, err, "text, not a control character");
        }
    }
    return 0;
}

static int one_line(struct parser *c, hb_conf_fn fn, void *arg,
                    struct hpcboot_error *err)
{
    int rc = check_bytes(c, err);

    if (rc < 0) {
        return rc;
    }
    skip_blanks(c);
    if (at_end(c)) {
        return 0;
    }
    return *c->p == '[' ? section(c, fn, arg, err) : pair(c, fn, arg, err);
}

int hb_conf_parse(const char *path, const char *text, size_t len,
                  hb_conf_fn fn, void *arg, struct hpcboot_error *err)
{
    struct parser c = {.path = path};
    const char *p = text + hb_bom_len(text, len), *end = text + len;
    int rc = 0;

    while (rc == 0 && p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));

        c.line++;
        c.start = c.p = p;
        c.end = nl ? nl : end;
        p = nl ? nl + 1 : end;
        if (c.end > c.p && c.end[-1] == '\r') {
            c.end--;
        }
        rc = one_line(&c, fn, arg, err);
    }
    free(c.profile);
    return rc;
}
