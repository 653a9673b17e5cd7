/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The lines in brackets of a recipe: `[when NAME is VALUE and ...]` holds for
 * the statements below it until the next such line; `[always]` ends that. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/recipe/parse_impl.h"
#include "lib/base/str.h"

/* How many bytes a backslash takes away their meaning: those of the end of a
 * line may be two. */
static size_t escaped(const char *p, const char *end)
{
    return end - p > 2 && p[1] == '\r' && p[2] == '\n' ? 2 : end - p > 1;
}

/* The ] behind which its line has nothing but a comment, or NULL. */
static const char *closing(const struct lexer *l)
{
    const char *found = NULL;
    char quote = '\0';

    for (const char *p = l->p; p < l->end && *p != '\n'; p++) {
        if (*p == '\\' && quote != '\'') {
            size_t n = escaped(p, l->end);

            found = p[n] == '\n' ? found : NULL;
            p += n;
            continue;
        }
        if (quote == '\0' && *p == '#' && strchr(" \t", p[-1]) != NULL) {
            break;
        }
        if (quote != '\0') {
            quote = *p == quote ? '\0' : quote;
        } else if (*p == '"' || *p == '\'') {
            quote = *p;
        }
        if (strchr(" \t\r", *p) == NULL) {
            found = *p == ']' && quote == '\0' ? p : NULL;
        }
    }
    return found;
}

/* Cuts "[when ... ]" out of its line: the lexer then reads words of it. */
static int bracket_line(struct parser *p, struct lexer *inner,
                        struct hpcboot_error *err)
{
    const char *end = closing(&p->l);

    if (end == NULL) {
        return recipe_fail(p->l.file, p->l.at, err, "[ is not closed by ] at "
                           "the end of its line");
    }
    *inner = p->l;
    inner->end = end;
    inner->p++;
    inner->at.column++;
    return 0;
}

static int read_condition(struct parser *p, struct condition *c,
                          struct hpcboot_error *err)
{
    struct recipe_at at;
    char *word = NULL;
    int rc = parse_name(p, "the name of a variable", &word, &c->at, err);

    if (rc == 0) {
        c->name = hb_xcalloc(1, sizeof *c->name);
        c->name->kind = NODE_VARIABLE;
        c->name->at = c->at;
        c->name->text = word;
        word = NULL;
        rc = lex_plain(&p->l, "is", &word, &at, err);
    }
    if (rc == 0 && !hb_streq(word, "is")) {
        rc = recipe_fail(p->l.file, at, err, "expected is, as in NAME is "
                         "VALUE, or NAME is not VALUE");
    }
    free(word);
    if (rc == 0 && !lex_more(&p->l)) {
        rc = recipe_fail(p->l.file, p->l.at, err, "expected a value");
    }
    return rc < 0 ? rc : lex_word(&p->l, &c->value, err);
}

static int is_not(const struct condition *c)
{
    const struct node *n = c->value.nodes;

    return n != NULL && n->kind == NODE_TEXT && n->next == NULL &&
           hb_streq(n->text, "not");
}

static int read_conditions(struct parser *p, struct condition **out,
                           struct hpcboot_error *err)
{
    int rc;

    do {
        struct condition *c = hb_xcalloc(1, sizeof *c);
        char *word = NULL;
        struct recipe_at at;

        *out = c;
        out = &c->next;
        rc = read_condition(p, c, err);
        if (rc == 0 && is_not(c) && lex_more(&p->l)) {
            nodes_destroy(c->value.nodes);
            c->value.nodes = NULL;
            c->negated = 1;
            rc = lex_word(&p->l, &c->value, err);
        }
        if (rc < 0 || !lex_more(&p->l)) {
            return rc;
        }
        rc = lex_plain(&p->l, "and", &word, &at, err);
        if (rc == 0 && strcmp(word, "and") != 0) {
            rc = recipe_fail(p->l.file, at, err, "expected and, or ]");
        }
        free(word);
    } while (rc == 0);
    return rc;
}

int parse_bracket(struct parser *p, struct hpcboot_error *err)
{
    static const char *const known[] = {"always", "when"};
    struct hb_recipe *r = p->r;
    const char *end = p->l.end;
    struct lexer inner;
    int which = 0;
    int rc = bracket_line(p, &inner, err);

    if (rc < 0) {
        return rc;
    }
    p->l = inner;
    p->when = NULL;
    rc = parse_choice(p, known, 2, "kind of section (when, always)", &which,
                      err);
    if (rc == 0 && which == 1) {
        r->whens = hb_xrealloc(r->whens, (r->n_whens + 1) * sizeof *r->whens);
        r->whens[r->n_whens] = NULL;
        rc = read_conditions(p, &r->whens[r->n_whens], err);
        p->when = r->whens[r->n_whens++];
    }
    if (rc == 0 && lex_more(&p->l)) {
        rc = recipe_fail(p->l.file, p->l.at, err, "expected ]");
    }
    p->l.p = inner.end + 1;
    p->l.at.column++;
    p->l.end = end;
    return rc;
}
