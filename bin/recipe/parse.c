/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Statements of a recipe: one per line, a keyword and words, dispatched by a
 * table. What a recipe says of the job as a whole (how many processes, ports,
 * roles) cannot depend on a condition (parse_when.c), because it is needed
 * before there are ranks. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/recipe/parse_impl.h"
#include "lib/base/str.h"

#define READY_SECONDS_MAX 86400
#define PORT_MAX 65535

typedef int (*statement_reader)(struct parser *p, struct statement *s,
                                struct hpcboot_error *err);

static int bad_word(struct parser *p, struct recipe_at at, const char *word,
                    const char *const *known, size_t n, const char *what,
                    struct hpcboot_error *err)
{
    const char *near = hb_nearest(word, known, n);

    return recipe_fail(p->l.file, at, err, "%s is no %s%s%s%s", word, what,
                       near != NULL ? "; did you mean " : "",
                       near != NULL ? near : "", near != NULL ? "?" : "");
}

int parse_choice(struct parser *p, const char *const *known, size_t n,
                 const char *what, int *out, struct hpcboot_error *err)
{
    struct recipe_at at;
    char *word = NULL;
    int rc = lex_plain(&p->l, what, &word, &at, err);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (hb_streq(known[i], word)) {
            *out = (int)i;
            free(word);
            return 0;
        }
    }
    if (rc == 0) {
        rc = bad_word(p, at, word, known, n, what, err);
    }
    free(word);
    return rc;
}

int parse_name(struct parser *p, const char *what, char **out,
               struct recipe_at *at, struct hpcboot_error *err)
{
    int rc = lex_plain(&p->l, what, out, at, err);

    if (rc == 0 && !recipe_name_ok(*out)) {
        rc = recipe_fail(p->l.file, *at, err, "%s is no name: letters, digits "
                         "and _ are", *out);
    }
    return rc;
}

static int names(struct parser *p, const char *what, struct hb_strv *out,
                 struct hpcboot_error *err)
{
    int rc = 0;

    do {
        struct recipe_at at;
        char *word = NULL;

        rc = lex_plain(&p->l, what, &word, &at, err);
        if (rc == 0) {
            hb_strv_push(out, word);
        }
        free(word);
    } while (rc == 0 && lex_more(&p->l));
    return rc;
}

static int words(struct parser *p, struct statement *s,
                 struct hpcboot_error *err)
{
    int rc = 0;

    while (rc == 0 && lex_more(&p->l)) {
        s->words = hb_xrealloc(s->words,
                               (s->n_words + 1) * sizeof *s->words);
        rc = lex_word(&p->l, &s->words[s->n_words], err);
        s->n_words += rc == 0;
    }
    return rc;
}

/* --- what a recipe says of the job --------------------------------- */

static int read_summary(struct parser *p, struct statement *s,
                        struct hpcboot_error *err)
{
    struct hb_strv text = HB_STRV_INIT;
    struct hb_str o = HB_STR_INIT;
    int rc = names(p, "a text", &text, err);

    for (size_t i = 0; i < text.n; i++) {
        hb_str_putf(&o, "%s%s", i > 0 ? " " : "", text.v[i]);
    }
    free(p->r->summary);
    p->r->summary = hb_str_steal(&o);
    hb_strv_destroy(&text);
    return rc;
}

static int read_detect(struct parser *p, struct statement *s,
                       struct hpcboot_error *err)
{
    static const char *const known[] = {"gang", "command", "variable"};
    struct hb_strv *lists[] = {&p->r->gangs, &p->r->commands,
                               &p->r->variables};
    int which;
    int rc = parse_choice(p, known, 3, "way to detect", &which, err);

    return rc < 0 ? rc : names(p, "a name", lists[which], err);
}

/* slot|host|gpu [in NAME...] */
static int read_processes(struct parser *p, struct statement *s,
                          struct hpcboot_error *err)
{
    static const char *const known[] = {"slot", "host", "gpu"}, *in[] = {"in"};
    struct hb_recipe *r = p->r;
    struct usual_processes *u;
    int per = 0, word;
    int rc = parse_choice(p, known, 3,
                          "place of processes (slot, host, gpu)", &per, err);

    if (rc < 0) {
        return rc;
    }
    if (!lex_more(&p->l)) {
        r->per_host = per == HB_RECIPE_PER_HOST;
        return per != HB_RECIPE_PER_GPU
                   ? 0 : recipe_fail(p->l.file, p->l.at, err, "expected in, as "
                                     "in processes gpu in GANG");
    }
    r->usual = hb_xrealloc(r->usual, (r->n_usual + 1) * sizeof *r->usual);
    u = &r->usual[r->n_usual++];
    *u = (struct usual_processes){.per = (enum hb_recipe_per)per};
    rc = parse_choice(p, in, 1, "word here (in)", &word, err);
    return rc < 0 ? rc : names(p, "a gang or a variable", &u->in, err);
}

static int read_program(struct parser *p, struct statement *s,
                        struct hpcboot_error *err)
{
    static const char *const known[] = {"all", "first"};

    return parse_choice(p, known, 2, "set of processes (all, first)",
                        &p->r->one_program, err);
}

/* NAME=COUNT, and one NAME that has the ranks that are left. */
static int read_role(struct parser *p, uint32_t *rest,
                     struct hpcboot_error *err)
{
    struct hb_recipe *r = p->r;
    struct recipe_at at;
    char *word = NULL, *equals;
    uint64_t count = HB_RECIPE_REST;
    int rc = lex_plain(&p->l, "a role", &word, &at, err);

    equals = rc == 0 ? strchr(word, '=') : NULL;
    if (equals != NULL) {
        *equals = '\0';
        if (hb_parse_u64(equals + 1, 0, HB_MAX_RANKS, &count) < 0) {
            rc = recipe_fail(p->l.file, at, err, "%s is no number of ranks",
                             equals + 1);
        }
    } else if (rc == 0 && (*rest)++ > 0) {
        rc = recipe_fail(p->l.file, at, err, "only one role can have the "
                         "ranks that are left; give %s a number", word);
    }
    if (rc == 0 && *word == '\0') {
        rc = recipe_fail(p->l.file, at, err, "expected a role");
    } else if (rc == 0 && recipe_role(r, word) < r->roles.n) {
        rc = recipe_fail(p->l.file, at, err, "role %s is named twice", word);
    }
    if (rc == 0) {
        hb_strv_push(&r->roles, word);
        r->role_counts = hb_xrealloc(r->role_counts,
                                     r->roles.n * sizeof *r->role_counts);
        r->role_counts[r->roles.n - 1] = (uint32_t)count;
    }
    free(word);
    return rc;
}

static int read_roles(struct parser *p, struct statement *s,
                      struct hpcboot_error *err)
{
    uint32_t rest = 0;
    int rc;

    if (p->r->roles.n > 0) {
        return recipe_fail(p->l.file, s->at, err, "there are roles already");
    }
    do {
        rc = read_role(p, &rest, err);
    } while (rc == 0 && lex_more(&p->l));
    if (rc == 0 && rest == 0) {
        rc = recipe_fail(p->l.file, s->at, err, "one role has to have the "
                         "ranks that are left: a name without a number");
    }
    return rc;
}

/* alias ROLE NAME... */
static int read_alias(struct parser *p, struct statement *s,
                      struct hpcboot_error *err)
{
    struct hb_strv list = HB_STRV_INIT;
    char *role = NULL;
    int rc = lex_plain(&p->l, "a role", &role, &s->at, err);

    rc = rc < 0 ? rc : names(p, "a name", &list, err);
    if (rc == 0 && recipe_role(p->r, role) == p->r->roles.n) {
        rc = recipe_fail(p->l.file, s->at, err, "there is no role %s", role);
    }
    for (size_t i = 0; rc == 0 && i < list.n; i++) {
        hb_env_set(&p->r->aliases, list.v[i], role);
    }
    hb_strv_destroy(&list);
    free(role);
    return rc;
}

static int read_head(struct parser *p, struct statement *s,
                     struct hpcboot_error *err)
{
    free(p->r->head_role);
    p->r->head_role = NULL;
    return lex_plain(&p->l, "a role", &p->r->head_role, &p->r->head_at, err);
}

static int read_number(struct parser *p, const char *what, unsigned min,
                       unsigned max, uint32_t *out, struct hpcboot_error *err)
{
    struct recipe_at at;
    char *word = NULL;
    uint64_t v = 0;
    int rc = lex_plain(&p->l, what, &word, &at, err);

    if (rc == 0 && hb_parse_u64(word, min, max, &v) < 0) {
        rc = recipe_fail(p->l.file, at, err, "%s is no %s", word, what);
    }
    free(word);
    *out = (uint32_t)v;
    return rc;
}

/* port NAME head|host|rank NUMBER [from VARIABLE...] */
static int read_port(struct parser *p, struct statement *s,
                     struct hpcboot_error *err)
{
    static const char *const kinds[] = {
        [HB_RECIPE_PORT_HEAD] = "head", [HB_RECIPE_PORT_HOST] = "host",
        [HB_RECIPE_PORT_RANK] = "rank"};
    static const char *const from[] = {"from"};
    struct hb_recipe *r = p->r;
    struct hb_recipe_port *port;
    int kind = 0, word, rc;

    r->ports = hb_xrealloc(r->ports, (r->n_ports + 1) * sizeof *r->ports);
    port = &r->ports[r->n_ports++];
    *port = (struct hb_recipe_port){.name = NULL};
    rc = parse_name(p, "the name of a port", &port->name, &s->at, err);
    for (size_t i = 0; rc == 0 && i + 1 < r->n_ports; i++) {
        if (hb_streq(r->ports[i].name, port->name)) {
            rc = recipe_fail(p->l.file, s->at, err, "port %s is named twice",
                             port->name);
        }
    }
    if (rc == 0) {
        rc = parse_choice(p, kinds, 3, "place of a port (head, host, rank)",
                          &kind, err);
    }
    port->kind = (enum hb_recipe_port_kind)kind;
    if (rc == 0) {
        rc = read_number(p, "port number", 0, PORT_MAX, &port->wanted, err);
    }
    if (rc == 0 && lex_more(&p->l)) {
        rc = parse_choice(p, from, 1, "word here (from)", &word, err);
        rc = rc < 0 ? rc : names(p, "a variable", &port->from, err);
    }
    return rc;
}

static int read_meet(struct parser *p, struct statement *s,
                     struct hpcboot_error *err)
{
    return parse_name(p, "the name of a port", &s->name, &s->at, err);
}

/* --- what it says of ranks ------------------------------------------- */

/* NAME TEXT */
static int read_assignment(struct parser *p, struct statement *s,
                           struct hpcboot_error *err)
{
    int rc = parse_name(p, "a name", &s->name, &s->at, err);

    if (rc == 0) {
        rc = words(p, s, err);
    }
    if (rc == 0 && s->n_words != 1) {
        rc = recipe_fail(p->l.file, s->n_words > 1 ? s->words[1].at : s->at,
                         err, "%s takes one text; quote blanks", s->name);
    }
    return rc;
}

static int read_name(struct parser *p, struct statement *s,
                     struct hpcboot_error *err)
{
    return parse_name(p, "a name", &s->name, &s->at, err);
}

static int read_nothing(struct parser *p, struct statement *s,
                        struct hpcboot_error *err)
{
    return 0;
}

static int read_command(struct parser *p, struct statement *s,
                        struct hpcboot_error *err)
{
    int rc = words(p, s, err);

    if (rc == 0 && s->n_words == 0) {
        rc = recipe_fail(p->l.file, p->l.at, err, "expected a command");
    }
    return rc;
}

static int read_ready(struct parser *p, struct statement *s,
                      struct hpcboot_error *err)
{
    int rc = read_number(p, "number of seconds", 1, READY_SECONDS_MAX,
                         &s->seconds, err);

    return rc < 0 ? rc : read_command(p, s, err);
}

static const struct {
    const char *name;
    statement_reader read;
    int of_job; /* no condition may stand above it */
} statements[] = {
    [ST_SUMMARY] = {"summary", read_summary, 1},
    [ST_DETECT] = {"detect", read_detect, 1},
    [ST_PROCESSES] = {"processes", read_processes, 1},
    [ST_PROGRAM] = {"program", read_program, 1},
    [ST_ROLES] = {"roles", read_roles, 1},
    [ST_ALIAS] = {"alias", read_alias, 1},
    [ST_HEAD] = {"head", read_head, 1},
    [ST_TAKE] = {"take", read_name, 1},
    [ST_SET] = {"set", read_assignment, 0},
    [ST_PORT] = {"port", read_port, 1},
    [ST_MEET] = {"meet", read_meet, 0},
    [ST_ENV] = {"env", read_assignment, 0},
    [ST_DEFAULT] = {"default", read_assignment, 0},
    [ST_UNSET] = {"unset", read_name, 0},
    [ST_FILE] = {"file", read_assignment, 0},
    [ST_START] = {"start", read_command, 0},
    [ST_READY] = {"ready", read_ready, 0},
    [ST_RUN] = {"run", read_command, 0},
    [ST_STOP] = {"stop", read_command, 0},
    [ST_SERVES] = {"serves", read_nothing, 0},
    [ST_GROWS] = {"grows", read_nothing, 0},
};
#define N_STATEMENTS (sizeof statements / sizeof statements[0])

static int keyword(struct parser *p, enum statement_kind *out,
                   struct recipe_at *at, struct hpcboot_error *err)
{
    const char *known[N_STATEMENTS];
    char *word = NULL;
    int rc = lex_plain(&p->l, "a statement", &word, at, err);
    size_t i = 0;

    for (size_t k = 0; k < N_STATEMENTS; k++) {
        known[k] = statements[k].name;
    }
    while (rc == 0 && i < N_STATEMENTS && !hb_streq(known[i], word)) {
        i++;
    }
    if (rc == 0 && i == N_STATEMENTS) {
        rc = bad_word(p, *at, word, known, N_STATEMENTS, "statement", err);
    }
    *out = (enum statement_kind)i;
    free(word);
    return rc;
}

static int read_statement(struct parser *p, struct hpcboot_error *err)
{
    struct hb_recipe *r = p->r;
    struct statement *s;
    int rc;

    if (r->n_statements == HB_RECIPE_LINES_MAX) {
        return recipe_fail(p->l.file, p->l.at, err, "more than %u statements",
                           HB_RECIPE_LINES_MAX);
    }
    if (r->n_statements == r->statements_cap) {
        r->statements_cap += 32;
        r->statements = hb_xrealloc(r->statements, r->statements_cap *
                                                       sizeof *r->statements);
    }
    s = &r->statements[r->n_statements++];
    *s = (struct statement){.when = p->when};
    rc = keyword(p, &s->kind, &s->at, err);
    if (rc == 0 && statements[s->kind].of_job && p->when != NULL) {
        rc = recipe_fail(p->l.file, s->at, err, "%s cannot depend on a "
                         "condition; put it before the first one",
                         statements[s->kind].name);
    }
    if (rc == 0) {
        rc = statements[s->kind].read(p, s, err);
    }
    if (rc == 0 && lex_more(&p->l)) {
        rc = recipe_fail(p->l.file, p->l.at, err, "nothing more was expected "
                         "on this line");
    }
    return rc;
}

/* --- the whole --------------------------------------------------------- */

static int parse(struct parser *p, struct hpcboot_error *err)
{
    int rc = 0;

    do {
        if (lex_more(&p->l)) {
            rc = *p->l.p == '[' ? parse_bracket(p, err)
                                : read_statement(p, err);
        }
    } while (rc == 0 && lex_next_line(&p->l));
    return rc;
}

int hb_recipe_parse(struct hb_recipe **out, const char *name,
                    const char *text, size_t len, struct hpcboot_error *err)
{
    struct parser p = {.r = hb_xcalloc(1, sizeof *p.r)};
    int rc = 0;

    p.r->name = hb_xstrdup(name);
    lex_begin(&p.l, p.r->name, text, len);
    if (len > HB_RECIPE_BYTES_MAX) {
        rc = recipe_fail(name, p.l.at, err, "a recipe has at most %u bytes",
                         HB_RECIPE_BYTES_MAX);
    } else if (memchr(text, '\0', len) != NULL) {
        rc = recipe_fail(name, p.l.at, err, "there is a NUL byte in it: it is "
                         "no text");
    }
    if (rc == 0) {
        rc = parse(&p, err);
    }
    if (rc == 0) {
        rc = recipe_check(p.r, err);
    }
    if (rc < 0) {
        hb_recipe_destroy(p.r);
        return rc;
    }
    *out = p.r;
    return 0;
}
