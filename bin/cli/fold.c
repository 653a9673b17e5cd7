/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A traceback begins with "Traceback (most recent call last):", goes on with
 * lines that are indented, and ends with one that is not: the exception. That
 * of a group of exceptions has a margin of + and |, and its own exception in
 * the first line behind "  | " that is not indented further. After
 * it another one may follow that was caused by it, with a sentence between.
 * PyTorch puts "[rank3]: " before each of these lines. A program may log what
 * it has handled: where there is no room for all, older ones are forgotten. */
#include "config.h"

#include "bin/cli/fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX (32u << 10)  /* of one rank */
#define TOTAL_MAX (8u << 20)  /* of all */
#define LAST_MAX 200u         /* bytes of an exception that are shown */
#define SHOWN_RANKS 8u        /* that are named in one line */
#define NOBODY UINT32_MAX

enum state { OUTSIDE, INSIDE, GROUP, MEMBERS, BEHIND, LINKED };

struct rank_fold {
    enum state state;
    int mid;         /* the line goes on in the next piece */
    int held;        /* and is kept back */
    struct hb_str text;
    size_t from;     /* where the present traceback begins, and its causes */
    char *last;      /* the exception's line */
};

struct hb_fold {
    struct rank_fold *ranks;
    uint32_t n_ranks, owner;
    size_t total;
};

void hb_fold_create(struct hb_fold **out, uint32_t n_ranks)
{
    struct hb_fold *f = hb_xcalloc(1, sizeof *f);

    f->ranks = hb_xcalloc(n_ranks, sizeof *f->ranks);
    f->n_ranks = n_ranks;
    f->owner = NOBODY;
    *out = f;
}

void hb_fold_destroy(struct hb_fold *f)
{
    if (f == NULL) {
        return;
    }
    for (uint32_t i = 0; i < f->n_ranks; i++) {
        hb_str_destroy(&f->ranks[i].text);
        free(f->ranks[i].last);
    }
    free(f->ranks);
    free(f);
}

static int begins(const char *line, size_t len, const char *with)
{
    size_t n = strlen(with);

    return len >= n && memcmp(line, with, n) == 0;
}

/* Without "[rankN]: ". */
static const char *bare(const char *line, size_t *len)
{
    size_t i = strlen("[rank");

    if (!begins(line, *len, "[rank")) {
        return line;
    }
    while (i < *len && line[i] >= '0' && line[i] <= '9') {
        i++;
    }
    if (!begins(line + i, *len - i, "]:")) {
        return line;
    }
    i += 2;
    i += i < *len && line[i] == ' ';
    *len -= i;
    return line + i;
}

static void note_last(struct rank_fold *r, const char *line, size_t len)
{
    free(r->last);
    r->last = hb_xstrndup(line, len < LAST_MAX ? len : LAST_MAX);
}

static enum state begun(const char *line, size_t len)
{
    return begins(line, len, "Traceback (most recent call last)") ? INSIDE
           : begins(line, len, "  + Exception Group Traceback (most recent")
               ? GROUP : OUTSIDE;
}

/* A line of a group's traceback; 0: it is none, and that is over. */
static int step_group(struct rank_fold *r, const char *line, size_t len)
{
    size_t margin = strlen("  | "), i = 0;

    while (i < len && line[i] == ' ') {
        i++;
    }
    if (i < 2 || i == len || (line[i] != '|' && line[i] != '+')) {
        return 0;
    }
    if (r->state == GROUP && begins(line, len, "  | ") && len > margin &&
        line[margin] != ' ') {
        note_last(r, line + margin, len - margin);
        r->state = MEMBERS;
    }
    if (i == margin && line[i] == '+' &&
        memchr(line + i, ' ', len - i) == NULL) {
        r->state = BEHIND; /* the rule below the last member of the outer one */
    }
    return 1;
}

/* Moves on by one line (without its end); 1: it belongs to a traceback. */
static int step(struct rank_fold *r, const char *line, size_t len)
{
    line = bare(line, &len);
    if (begun(line, len) != OUTSIDE) {
        if (r->state != LINKED) {
            r->from = r->text.len;
        }
        r->state = begun(line, len);
        return 1;
    }
    if (r->state == GROUP || r->state == MEMBERS) {
        if (step_group(r, line, len)) {
            return 1;
        }
        r->state = BEHIND;
    }
    switch (r->state) {
    case INSIDE:
        if (len == 0 || line[0] != ' ') {
            r->state = BEHIND;
            note_last(r, line, len);
        }
        return 1;
    case BEHIND:
    case LINKED:
        if (begins(line, len, "During handling of the above") ||
            begins(line, len, "The above exception was the direct")) {
            r->state = LINKED;
            return 1;
        }
        if (len == 0) {
            return 1;
        }
        r->state = OUTSIDE;
        return 0;
    default:
        return 0;
    }
}

static int has_room(const struct hb_fold *f, const struct rank_fold *r,
                    size_t len)
{
    return r->text.len + len <= KEPT_MAX && f->total + len <= TOTAL_MAX;
}

static void forget_older(struct hb_fold *f, struct rank_fold *r)
{
    if (r->from > 0) {
        r->text.len -= r->from;
        memmove(r->text.s, r->text.s + r->from, r->text.len + 1);
        f->total -= r->from;
        r->from = 0;
    }
}

static void keep(struct hb_fold *f, struct rank_fold *r, const char *data,
                 size_t len)
{
    if (!has_room(f, r, len)) {
        forget_older(f, r);
    }
    if (has_room(f, r, len)) {
        hb_str_putn(&r->text, data, len);
        f->total += len;
    }
}

void hb_fold_take(struct hb_fold *f, uint32_t rank, const char *data,
                  size_t len, struct hb_str *shown)
{
    struct rank_fold *r = &f->ranks[rank];

    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t n = end != NULL ? (size_t)(end - data) + 1 : len;

        if (!r->mid) {
            int part = step(r, data, end != NULL ? n - 1 : n);

            if (part && f->owner == NOBODY) {
                f->owner = rank;
            }
            r->held = part && f->owner != rank;
        }
        if (r->held) {
            keep(f, r, data, n);
        } else {
            hb_str_putn(shown, data, n);
        }
        r->mid = end == NULL;
        data += n;
        len -= n;
    }
}

const char *hb_fold_text(const struct hb_fold *f, uint32_t rank)
{
    return rank < f->n_ranks ? hb_str_text(&f->ranks[rank].text) : "";
}

void hb_fold_summary(const struct hb_fold *f, struct hb_strv *lines)
{
    unsigned char *done = hb_xcalloc(f->n_ranks, 1);

    for (uint32_t i = 0; i < f->n_ranks; i++) {
        struct hb_str o = HB_STR_INIT;
        uint32_t n = 0;

        if (done[i] || f->ranks[i].text.len == 0) {
            continue;
        }
        for (uint32_t k = i; k < f->n_ranks; k++) {
            if (f->ranks[k].text.len == 0 ||
                !hb_streq(f->ranks[k].last, f->ranks[i].last)) {
                continue;
            }
            done[k] = 1;
            if (n++ < SHOWN_RANKS) {
                hb_str_putf(&o, "%s%u", n > 1 ? ", " : "", k);
            }
        }
        hb_strv_pushf(lines, "rank%s %s%s: %s", n > 1 ? "s" : "",
                      hb_str_text(&o), n > SHOWN_RANKS ? " and others" : "",
                      f->ranks[i].last != NULL ? f->ranks[i].last
                                               : "a traceback");
        hb_str_destroy(&o);
    }
    free(done);
}
