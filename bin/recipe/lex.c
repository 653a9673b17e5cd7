/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Words of a recipe, and the templates inside them.
 *
 * A word ends at a blank. Within "..." blanks count and \n \t \\ \" \$ are
 * understood; '...' is taken as it is; `<<END` stands for the lines that
 * follow, up to one that is END. ${NAME} is a variable, ${each THING: BODY}
 * repeats BODY, which ends at the brace that closes it: braces inside are
 * counted, so that JSON needs no quoting. Whoever reads a word gets a list of
 * nodes with their places in the file; nothing is looked up here. */
#include "config.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bin/recipe/recipe_impl.h"
#include "lib/base/str.h"

int recipe_fail(const char *file, struct recipe_at at,
                struct hpcboot_error *err, const char *fmt, ...)
{
    struct hb_str text = HB_STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    hb_str_vputf(&text, fmt, ap);
    va_end(ap);
    hb_fail(err, HPCBOOT_ERR_PARSE, "%s:%u:%u: %s", file, at.line, at.column,
            hb_str_text(&text));
    hb_str_destroy(&text);
    return HPCBOOT_ERR_PARSE;
}

void nodes_destroy(struct node *n)
{
    while (n != NULL) {
        struct node *next = n->next;

        nodes_destroy(n->body); /* no deeper than HB_RECIPE_DEPTH_MAX */
        free(n->text);
        free(n->role);
        free(n->separator);
        free(n);
        n = next;
    }
}

int recipe_name_ok(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz"
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

    return n > 0 && name[n] == '\0' && !isdigit((unsigned char)name[0]);
}

void lex_begin(struct lexer *l, const char *file, const char *text, size_t len)
{
    *l = (struct lexer){.file = file, .p = text + hb_bom_len(text, len),
                        .end = text + len, .at = {1, 1}};
}

static int peek(const struct lexer *l, size_t ahead)
{
    return (size_t)(l->end - l->p) > ahead ? (unsigned char)l->p[ahead] : -1;
}

static int take(struct lexer *l)
{
    int c = peek(l, 0);

    if (c >= 0) {
        l->p++;
        l->at.column++;
        if (c == '\n') {
            l->at.line++;
            l->at.column = 1;
        }
    }
    return c;
}

/* 1: a line ended in a backslash, which is skipped: it goes on in the next. */
static int goes_on(struct lexer *l)
{
    size_t crlf = peek(l, 1) == '\r';

    if (peek(l, 0) != '\\' || peek(l, 1 + crlf) != '\n') {
        return 0;
    }
    l->p += 2 + crlf;
    l->at = (struct recipe_at){l->at.line + 1, 1};
    return 1;
}

int lex_more(struct lexer *l)
{
    for (;;) {
        int c = peek(l, 0);

        if (c == ' ' || c == '\t' || c == '\r') {
            take(l);
        } else if (goes_on(l)) {
            continue;
        } else if (c == '#') {
            while (peek(l, 0) >= 0 && peek(l, 0) != '\n') {
                take(l);
            }
        } else {
            return c >= 0 && c != '\n';
        }
    }
}

int lex_next_line(struct lexer *l)
{
    while (peek(l, 0) >= 0 && peek(l, 0) != '\n') {
        take(l);
    }
    return take(l) >= 0 && peek(l, 0) >= 0;
}

/* Collects text and variables in order. */
struct builder {
    struct node *first, **tail;
    struct hb_str text;
    struct recipe_at at; /* of `text` */
};

static void builder_begin(struct builder *b, struct recipe_at at)
{
    *b = (struct builder){.text = HB_STR_INIT, .at = at};
    b->tail = &b->first;
}

static void add_node(struct builder *b, struct node *n)
{
    *b->tail = n;
    b->tail = &n->next;
}

static void flush_text(struct builder *b, struct recipe_at at)
{
    if (b->text.len > 0) {
        struct node *n = hb_xcalloc(1, sizeof *n);

        n->kind = NODE_TEXT;
        n->at = b->at;
        n->text = hb_str_steal(&b->text);
        add_node(b, n);
    }
    b->at = at;
}

static struct node *builder_end(struct builder *b, int rc)
{
    flush_text(b, b->at);
    hb_str_destroy(&b->text);
    if (rc < 0) {
        nodes_destroy(b->first);
        b->first = NULL;
    }
    return b->first;
}

static int body(struct lexer *l, struct node **out, struct hpcboot_error *err);

/* The character after a backslash. */
static int escape(struct lexer *l, struct builder *b,
                  struct hpcboot_error *err)
{
    static const char from[] = "nt\\\"${}", to[] = "\n\t\\\"${}";
    struct recipe_at at = l->at;
    const char *known;
    int c;

    if (goes_on(l)) {
        return 0;
    }
    take(l);
    c = take(l);
    known = c > 0 ? strchr(from, c) : NULL;
    if (known == NULL) {
        return recipe_fail(l->file, at, err, "\\ is followed by one of "
                           "n t \\ \" $ { }");
    }
    hb_str_putc(&b->text, to[known - from]);
    return 0;
}

static char *take_name(struct lexer *l)
{
    struct hb_str name = HB_STR_INIT;

    hb_str_put(&name, "");
    while (isalnum(peek(l, 0)) || peek(l, 0) == '_' || peek(l, 0) == '-') {
        hb_str_putc(&name, (char)take(l));
    }
    return hb_str_steal(&name);
}

static void skip_blanks(struct lexer *l)
{
    while (peek(l, 0) == ' ' || peek(l, 0) == '\t' || peek(l, 0) == '\n' ||
           peek(l, 0) == '\r') {
        take(l);
    }
}

static int separator(struct lexer *l, struct node *n,
                     struct hpcboot_error *err)
{
    struct recipe_at at = l->at;
    struct builder b;
    int rc = 0;

    if (peek(l, 0) != '"') {
        return recipe_fail(l->file, at, err, "expected a separator in "
                           "quotes, as by \" \"");
    }
    take(l);
    builder_begin(&b, at);
    while (rc == 0 && peek(l, 0) != '"') {
        if (peek(l, 0) < 0 || peek(l, 0) == '\n') {
            rc = recipe_fail(l->file, at, err, "the quote is not closed");
        } else if (peek(l, 0) == '\\') {
            rc = escape(l, &b, err);
        } else {
            hb_str_putc(&b.text, (char)take(l));
        }
    }
    take(l);
    free(n->separator);
    n->separator = rc == 0 ? hb_xstrdup(hb_str_text(&b.text)) : NULL;
    hb_str_destroy(&b.text);
    return rc;
}

static int each_what(struct lexer *l, struct node *n,
                     struct hpcboot_error *err)
{
    static const char *const things[] = {
        [EACH_RANK] = "rank", [EACH_HOST] = "host", [EACH_ROLE] = "role"};
    struct recipe_at at = l->at;
    char *name = take_name(l);
    int rc = 0;
    size_t i = 0;

    while (i < 3 && !hb_streq(things[i], name)) {
        i++;
    }
    n->each = (enum each_kind)i;
    if (i == 3) {
        rc = recipe_fail(l->file, at, err, "expected rank, host or role "
                         "after each");
    }
    free(name);
    return rc;
}

/* After "each": rank|host|role [of ROLE] [by "SEPARATOR"]: BODY } */
static int each(struct lexer *l, struct node *n, struct hpcboot_error *err)
{
    int rc;

    n->kind = NODE_EACH;
    n->separator = hb_xstrdup(",");
    skip_blanks(l);
    rc = each_what(l, n, err);
    while (rc == 0 && (skip_blanks(l), peek(l, 0) != ':')) {
        struct recipe_at at = l->at;
        char *name = take_name(l);

        skip_blanks(l);
        if (hb_streq(name, "of") && n->role == NULL) {
            n->role = take_name(l);
        } else if (hb_streq(name, "by")) {
            rc = separator(l, n, err);
        } else {
            rc = recipe_fail(l->file, at, err, "expected of, by or a colon");
        }
        free(name);
    }
    if (rc == 0 && n->role != NULL && n->each != EACH_RANK) {
        rc = recipe_fail(l->file, n->at, err, "only ranks are of a role");
    }
    if (rc < 0) {
        return rc;
    }
    take(l);
    skip_blanks(l);
    if (++l->depth > HB_RECIPE_DEPTH_MAX) {
        return recipe_fail(l->file, n->at, err, "${each ...} stands in more "
                           "than %u others", HB_RECIPE_DEPTH_MAX);
    }
    rc = body(l, &n->body, err);
    l->depth--;
    return rc;
}

/* NAME, or `words NAME`, of which the first word has been taken. */
static int name_after(struct lexer *l, struct node *n,
                      struct hpcboot_error *err)
{
    if (hb_streq(n->text, "words") && peek(l, 0) == ' ') {
        skip_blanks(l);
        free(n->text);
        n->text = take_name(l);
        n->is_cut = 1;
    }
    return recipe_name_ok(n->text)
               ? 0 : recipe_fail(l->file, n->at, err, "expected the name of a "
                                 "variable after ${");
}

/* At "${". */
static int variable(struct lexer *l, struct builder *b,
                    struct hpcboot_error *err)
{
    struct node *n;
    int rc = 0;

    flush_text(b, l->at);
    n = hb_xcalloc(1, sizeof *n);
    n->kind = NODE_VARIABLE;
    n->at = l->at;
    add_node(b, n);
    take(l);
    take(l);
    n->text = take_name(l);
    if (hb_streq(n->text, "each") && peek(l, 0) != '}') {
        rc = each(l, n, err);
    } else {
        rc = name_after(l, n, err);
    }
    if (rc == 0 && take(l) != '}') {
        rc = recipe_fail(l->file, n->at, err, "${ is not closed by }");
    }
    b->at = l->at;
    return rc;
}

/* Whoever ends lines so means a newline. */
static int is_crlf(const struct lexer *l)
{
    return peek(l, 0) == '\r' && peek(l, 1) == '\n';
}

static int is_variable(const struct lexer *l)
{
    return peek(l, 0) == '$' && peek(l, 1) == '{';
}

/* The body of an ${each}: up to the brace that closes it, which stays. */
static int body(struct lexer *l, struct node **out, struct hpcboot_error *err)
{
    struct recipe_at begin = l->at;
    struct builder b;
    unsigned open = 0;
    int rc = 0;

    builder_begin(&b, l->at);
    while (rc == 0 && (peek(l, 0) != '}' || open > 0)) {
        if (peek(l, 0) < 0) {
            rc = recipe_fail(l->file, begin, err, "${each is not closed by }");
        } else if (is_variable(l)) {
            rc = variable(l, &b, err);
        } else if (peek(l, 0) == '\\') {
            rc = escape(l, &b, err);
        } else if (is_crlf(l)) {
            take(l);
        } else {
            open += peek(l, 0) == '{';
            open -= peek(l, 0) == '}';
            hb_str_putc(&b.text, (char)take(l));
        }
    }
    *out = builder_end(&b, rc);
    return rc;
}

static int quoted(struct lexer *l, struct builder *b,
                  struct hpcboot_error *err)
{
    struct recipe_at begin = l->at;
    int quote = take(l), rc = 0;

    while (rc == 0 && peek(l, 0) != quote) {
        if (peek(l, 0) < 0 || peek(l, 0) == '\n') {
            rc = recipe_fail(l->file, begin, err, "the quote is not closed on "
                             "its line; <<END takes several lines");
        } else if (quote == '"' && is_variable(l)) {
            rc = variable(l, b, err);
        } else if (quote == '"' && peek(l, 0) == '\\') {
            rc = escape(l, b, err);
        } else {
            hb_str_putc(&b->text, (char)take(l));
        }
    }
    take(l);
    return rc;
}

/* 1: the lexer stands at a line that is `end`, which it skips. */
static int at_end_line(struct lexer *l, const char *end)
{
    size_t n = strlen(end), left = (size_t)(l->end - l->p);

    if (left < n || memcmp(l->p, end, n) != 0 ||
        (left > n && l->p[n] != '\n' && l->p[n] != '\r')) {
        return 0;
    }
    while (n-- > 0) {
        take(l);
    }
    return 1;
}

/* After "<<": the lines up to END, without the last newline. */
static int lines(struct lexer *l, struct builder *b, struct hpcboot_error *err)
{
    struct recipe_at begin = l->at;
    char *end = take_name(l);
    int rc = 0;

    if (*end == '\0' || lex_more(l)) {
        rc = recipe_fail(l->file, begin, err, "<< is followed by a word that "
                         "ends the text, and by nothing else");
    } else if (!lex_next_line(l)) {
        rc = recipe_fail(l->file, begin, err, "no line is %s", end);
    }
    b->at = l->at;
    while (rc == 0 && (l->at.column > 1 || !at_end_line(l, end))) {
        if (peek(l, 0) < 0) {
            rc = recipe_fail(l->file, begin, err, "no line is %s", end);
        } else if (is_variable(l)) {
            rc = variable(l, b, err);
        } else if (peek(l, 0) == '\\') {
            rc = escape(l, b, err);
        } else if (is_crlf(l)) {
            take(l);
        } else {
            hb_str_putc(&b->text, (char)take(l));
        }
    }
    if (b->text.len > 0 && b->text.s[b->text.len - 1] == '\n') {
        b->text.s[--b->text.len] = '\0';
    }
    free(end);
    return rc;
}

static int word_goes_on(const struct lexer *l)
{
    int c = peek(l, 0);

    return c >= 0 && c != ' ' && c != '\t' && c != '\n' && c != '\r';
}

int lex_word(struct lexer *l, struct word *out, struct hpcboot_error *err)
{
    struct builder b;
    int rc = 0;

    out->at = l->at;
    builder_begin(&b, l->at);
    if (peek(l, 0) == '<' && peek(l, 1) == '<') {
        take(l);
        take(l);
        rc = lines(l, &b, err);
    }
    while (rc == 0 && word_goes_on(l)) {
        int c = peek(l, 0);

        if (c == '"' || c == '\'') {
            rc = quoted(l, &b, err);
        } else if (is_variable(l)) {
            rc = variable(l, &b, err);
        } else if (c == '\\') { /* or the word goes on in the next line */
            rc = escape(l, &b, err);
        } else if (c == '\0') {
            rc = recipe_fail(l->file, l->at, err, "a NUL byte");
        } else {
            hb_str_putc(&b.text, (char)take(l));
        }
    }
    out->nodes = builder_end(&b, rc);
    return rc;
}

int lex_plain(struct lexer *l, const char *what, char **out,
              struct recipe_at *at_out, struct hpcboot_error *err)
{
    struct word w;
    int rc;

    if (!lex_more(l)) {
        return recipe_fail(l->file, l->at, err, "expected %s", what);
    }
    rc = lex_word(l, &w, err);
    if (rc < 0) {
        return rc;
    }
    if (w.nodes != NULL &&
        (w.nodes->kind != NODE_TEXT || w.nodes->next != NULL)) {
        rc = recipe_fail(l->file, w.at, err, "expected %s, without variables",
                         what);
    } else {
        *out = hb_xstrdup(w.nodes != NULL ? w.nodes->text : "");
        *at_out = w.at;
    }
    nodes_destroy(w.nodes);
    return rc;
}
