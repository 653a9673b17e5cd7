/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Expands and compresses host ranges.
 *
 * An expression is cut into pieces, each a literal or a bracket with ranges
 * of numbers. The product of the pieces' counts is checked against the
 * caller's limit before a single name is made, so "n[0-999999999]" costs
 * nothing. Then the names are counted off like an odometer.
 *
 * Compressing is local: neighbours with the same text around their last number
 * share a bracket, and in it a run of names whose numbers follow one another
 * is one range. That keeps the order, which is the order of ranks. */

#include "config.h"

#include "hostfile/range.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Name pieces: more brackets than this are a mistake. */
#define MAX_PIECES 16u
/* Digits of a number in a host name; fits 64 bits. */
#define MAX_DIGITS 18u
#define MAX_RANGES 1024u

struct range {
    uint64_t first, last;
    int width; /* 0: not padded */
};

struct piece {
    const char *literal; /* or NULL */
    size_t literal_len;
    struct range *ranges;
    size_t n_ranges;
    uint64_t count; /* texts this piece stands for */
};

struct pieces {
    struct piece v[MAX_PIECES];
    size_t n;
};

static void pieces_destroy(struct pieces *ps)
{
    for (size_t i = 0; i < ps->n; i++) {
        free(ps->v[i].ranges);
    }
}

/* Reads digits at *p. */
static const char *read_number(const char **p, uint64_t *out, int *width)
{
    size_t n = strspn(*p, "0123456789");

    if (n == 0) {
        return "a number";
    }
    if (n > MAX_DIGITS) {
        return "a number of at most 18 digits";
    }
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        *out = *out * 10 + (uint64_t)((*p)[i] - '0');
    }
    *width = (*p)[0] == '0' && n > 1 ? (int)n : 0;
    *p += n;
    return NULL;
}

static const char *read_range(const char **p, struct range *r)
{
    const char *wrong = read_number(p, &r->first, &r->width), *at;
    int width;

    r->last = r->first;
    if (wrong != NULL || **p != '-') {
        return wrong;
    }
    at = ++*p;
    wrong = read_number(p, &r->last, &width);
    if (wrong == NULL && r->last < r->first) {
        *p = at;
        wrong = "the end of a range not below its start";
    }
    return wrong;
}

/* Saturates: a number of names that does not fit is refused later anyway. */
static uint64_t add(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* A bracket at *p, which is behind '['. */
static const char *read_bracket(const char **p, struct piece *piece)
{
    for (;;) {
        struct range r;
        const char *wrong = read_range(p, &r);
        if (wrong != NULL) {
            return wrong;
        }
        if (piece->n_ranges == MAX_RANGES) {
            return "at most 1024 ranges in a bracket";
        }
        piece->ranges = hb_xrealloc(piece->ranges,
                                    (piece->n_ranges + 1) * sizeof(r));
        piece->ranges[piece->n_ranges++] = r;
        piece->count = add(piece->count, r.last - r.first + 1);
        if (**p == ']') {
            (*p)++;
            return NULL;
        }
        if (**p != ',') {
            return "\",\", \"-\" or \"]\"";
        }
        (*p)++;
    }
}

static const char *read_pieces(const char **p, struct pieces *ps)
{
    while (**p != '\0') {
        struct piece *piece = &ps->v[ps->n];
        const char *wrong = NULL;
        if (ps->n == MAX_PIECES) {
            return "fewer brackets in one name";
        }
        ps->n++;
        memset(piece, 0, sizeof(*piece));
        if (**p == '[') {
            (*p)++;
            wrong = read_bracket(p, piece);
        } else {
            piece->literal = *p;
            piece->literal_len = strcspn(*p, "[]");
            piece->count = 1;
            *p += piece->literal_len;
            wrong = **p == ']' ? "\"[\" before \"]\"" : NULL;
        }
        if (wrong != NULL) {
            return wrong;
        }
    }
    return ps->n == 0 ? "a host name" : NULL;
}

/* How many names, or max + 1 when more. No piece stands for none. */
static uint64_t product(const struct pieces *ps, uint64_t max)
{
    uint64_t n = 1;

    for (size_t i = 0; i < ps->n; i++) {
        if (ps->v[i].count > max / n) {
            return max + 1;
        }
        n *= ps->v[i].count;
    }
    return n;
}

/* The k-th text of a piece. */
static void put_piece(const struct piece *piece, uint64_t k, struct hb_str *o)
{
    if (piece->literal != NULL) {
        hb_str_putn(o, piece->literal, piece->literal_len);
        return;
    }
    for (size_t i = 0; i < piece->n_ranges; i++) {
        const struct range *r = &piece->ranges[i];
        uint64_t n = r->last - r->first + 1;
        if (k < n) {
            hb_str_putf(o, "%0*llu", r->width,
                        (unsigned long long)(r->first + k));
            return;
        }
        k -= n;
    }
}

static void put_name(const struct pieces *ps, uint64_t k, uint64_t total,
                     struct hb_strv *out)
{
    struct hb_str name = HB_STR_INIT;

    for (size_t i = 0; i < ps->n; i++) {
        total /= ps->v[i].count;
        put_piece(&ps->v[i], k / total, &name);
        k %= total;
    }
    hb_strv_take(out, hb_str_steal(&name));
}

int hb_range_expand(const char *expr, size_t max, struct hb_strv *out,
                    size_t *at_out, const char **expected_out)
{
    struct pieces ps = {.n = 0};
    const char *p = expr;
    const char *wrong = read_pieces(&p, &ps);
    uint64_t total = wrong == NULL ? product(&ps, max) : 0;

    if (wrong == NULL && total > max) {
        wrong = max < HB_RANGE_MAX ? "a list of fewer hosts"
                                   : "at most 1048576 hosts in a range";
        p = expr;
    }
    if (wrong != NULL) {
        pieces_destroy(&ps);
        *at_out = (size_t)(p - expr);
        *expected_out = wrong;
        return HPCBOOT_ERR_PARSE;
    }
    for (uint64_t k = 0; k < total; k++) {
        put_name(&ps, k, total, out);
    }
    pieces_destroy(&ps);
    return HPCBOOT_OK;
}

int hb_range_is(const char *expr)
{
    const char *open = strchr(expr, '[');

    /* "[fe80::1]": only an address has a colon inside its bracket. */
    return open != NULL && open[strcspn(open, ":]")] != ':';
}

/* Where the last number of a name stands. */
struct number {
    size_t at, len;
    uint64_t value;
};

static int last_number(const char *name, struct number *out)
{
    size_t end = strlen(name), at;

    while (end > 0 && (name[end - 1] < '0' || name[end - 1] > '9')) {
        end--;
    }
    at = end;
    while (at > 0 && end - at < MAX_DIGITS && name[at - 1] >= '0' &&
           name[at - 1] <= '9') {
        at--;
    }
    out->at = at;
    out->len = end - at;
    out->value = strtoull(name + at, NULL, 10);
    return out->len > 0;
}

/* 1 when `next` is `prev` with its number one larger. A number that gets
 * wider follows only when the first of the run was not padded. */
static int follows(const char *prev, const struct number *p, const char *next,
                   const struct number *n, int padded)
{
    return n->at == p->at && n->value == p->value + 1 &&
           (n->len == p->len || (!padded && n->len == p->len + 1)) &&
           (n->len == p->len || next[n->at] != '0') &&
           strncmp(prev, next, p->at) == 0 &&
           strcmp(prev + p->at + p->len, next + n->at + n->len) == 0;
}

/* The length of the run that begins at names[0]. */
static size_t run_of(char *const *names, size_t n, struct number *first)
{
    struct number prev, next;
    size_t len = 1;
    int padded;

    if (!last_number(names[0], first)) {
        return 1;
    }
    prev = *first;
    padded = first->len > 1 && names[0][first->at] == '0';
    while (len < n && last_number(names[len], &next) &&
           follows(names[len - 1], &prev, names[len], &next, padded)) {
        prev = next;
        len++;
    }
    return len;
}

/* 1 when two names differ in their last number alone. */
static int same_around(const char *a, const struct number *na, const char *b,
                       const struct number *nb)
{
    return na->len > 0 && nb->len > 0 && na->at == nb->at &&
           strncmp(a, b, na->at) == 0 &&
           strcmp(a + na->at + na->len, b + nb->at + nb->len) == 0;
}

/* The names at the front that one bracket can hold, and its ranges. */
static size_t bracket_of(char *const *names, size_t n, struct number *first,
                         size_t *ranges_out)
{
    size_t len = run_of(names, n, first), ranges = 1;
    struct number next;

    while (len < n && ranges < MAX_RANGES && first->len > 0 &&
           last_number(names[len], &next) &&
           same_around(names[0], first, names[len], &next)) {
        len += run_of(names + len, n - len, &next);
        ranges++;
    }
    *ranges_out = ranges;
    return len;
}

static void put_ranges(char *const *names, size_t n, struct hb_str *out)
{
    for (size_t i = 0; i < n;) {
        struct number first, last;
        size_t run = run_of(names + i, n - i, &first);
        hb_str_putf(out, "%s%.*s", i > 0 ? "," : "", (int)first.len,
                    names[i] + first.at);
        if (run > 1) {
            last_number(names[i + run - 1], &last);
            hb_str_putf(out, "-%.*s", (int)last.len,
                        names[i + run - 1] + last.at);
        }
        i += run;
    }
}

void hb_range_compress(char *const *names, size_t n, struct hb_str *out)
{
    for (size_t i = 0; i < n;) {
        struct number first;
        size_t ranges, len = bracket_of(names + i, n - i, &first, &ranges);
        hb_str_put(out, i > 0 ? "," : "");
        if (len == 1) {
            hb_str_put(out, names[i]);
        } else {
            hb_str_putn(out, names[i], first.at);
            hb_str_put(out, "[");
            put_ranges(names + i, len, out);
            hb_str_putf(out, "]%s", names[i] + first.at + first.len);
        }
        i += len;
    }
}
