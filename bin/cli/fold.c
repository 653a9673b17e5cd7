/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A traceback begins with "Traceback (most recent call last):", goes on with
 * lines that are indented, and ends with one that is not: the exception. That
 * of a group of exceptions has a margin of + and |, and its own exception in
 * the first line behind "  | " that is not indented further. After
 * it another one may follow that was caused by it, with a sentence between.
 * PyTorch puts "[rank3]: " before each of these lines, which tells that further
 * ones are of the exception's text; of others so do a tab and the words before
 * a stack of C++. A mistake in the script itself has no first line, and begins
 * with a file and the number of a line, and nothing behind it. What Python's
 * fault handler says begins with "Fatal Python error: ", and goes on with
 * threads. A program may log what it has handled: where there is no room for
 * all, older ones are forgotten. */
#include "config.h"

#include "bin/cli/fold.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX (32u << 10)  /* of one rank */
#define TOTAL_MAX (8u << 20)  /* of all */
#define LAST_MAX 200u         /* bytes of an exception that are shown */
#define TEXT_MAX 256u         /* lines of an exception's text */
#define SHOWN_RANKS 8u        /* that are named in one line */
#define NOBODY UINT32_MAX

enum state { OUTSIDE, INSIDE, GROUP, MEMBERS, BEHIND, LINKED, FATAL };

struct rank_fold {
    enum state state;
    int mid;         /* the line goes on in the next piece */
    int held;        /* and is kept back */
    int marked;      /* its traceback is, as PyTorch does */
    unsigned n_text; /* lines behind the exception's that are told as its */
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

/* `  File "t.py", line 3`: elsewhere a function's name follows. */
static int is_mistake(const char *line, size_t len)
{
    static const char before[] = "\", line ";
    size_t digits = 0;

    while (digits < len && isdigit((unsigned char)line[len - 1 - digits])) {
        digits++;
    }
    len -= digits;
    return digits > 0 && begins(line, len, "  File \"") &&
           len >= strlen(before) &&
           begins(line + len - strlen(before), strlen(before), before);
}

static enum state begun(const struct rank_fold *r, const char *line,
                        size_t len)
{
    if (begins(line, len, "Traceback (most recent call last)")) {
        return INSIDE;
    }
    if (begins(line, len, "  + Exception Group Traceback (most recent")) {
        return GROUP;
    }
    if (begins(line, len, "Fatal Python error: ")) {
        return FATAL;
    }
    return (r->state == OUTSIDE || r->state == BEHIND) &&
           is_mistake(line, len) ? INSIDE : OUTSIDE;
}

static int is_of_fault(const char *line, size_t len)
{
    static const char *const heads[] = {
        " ", "Current thread", "Thread 0x", "Python runtime state: ",
        "Extension modules: "};
    size_t i = 0;

    while (i < sizeof heads / sizeof *heads && !begins(line, len, heads[i])) {
        i++;
    }
    return len == 0 || i < sizeof heads / sizeof *heads;
}

/* Behind the exception's line; `marked`: it is, and so may be what a program
 * says itself when it has got over an exception. */
static int is_of_text(struct rank_fold *r, const char *line, size_t len,
                      int marked)
{
    return (marked && r->marked && r->n_text++ < TEXT_MAX) || len == 0 ||
           begins(line, len, "\t") ||
           begins(line, len, "Exception raised from ") ||
           begins(line, len, "frame #");
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
    const char *whole = line;
    enum state begins_now;
    int marked;

    line = bare(line, &len);
    marked = line != whole && line[-1] == ' ';
    begins_now = begun(r, line, len);
    if (begins_now != OUTSIDE) {
        if (r->state != LINKED) {
            r->from = r->text.len;
        }
        r->state = begins_now;
        r->marked = marked;
        r->n_text = 0;
        if (begins_now == FATAL) {
            note_last(r, line, len);
        }
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
        if (is_of_text(r, line, len, marked)) {
            return 1;
        }
        r->state = OUTSIDE;
        return 0;
    case FATAL:
        if (is_of_fault(line, len)) {
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

uint32_t hb_fold_first(const struct hb_fold *f)
{
    return f->owner;
}

/* Do two lines differ in numbers alone, as those of ranks, ports and
 * addresses? */
static int is_alike(const char *a, const char *b)
{
    static const char number[] = "0123456789abcdefABCDEF";

    if (a == NULL || b == NULL) {
        return a == b;
    }
    while (*a != '\0' && *b != '\0') {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, number);
            b += strspn(b, number);
        } else if (*a++ != *b++) {
            return 0;
        }
    }
    return *a == *b;
}

void hb_fold_summary(const struct hb_fold *f, struct hb_strv *lines)
{
    unsigned char *done = hb_xcalloc(f->n_ranks, 1);

    for (uint32_t i = 0; i < f->n_ranks; i++) {
        struct hb_str o = HB_STR_INIT;
        const char *last = f->ranks[i].last;
        uint32_t n = 0;
        int differ = 0;

        if (done[i] || f->ranks[i].text.len == 0) {
            continue;
        }
        for (uint32_t k = i; k < f->n_ranks; k++) {
            if (f->ranks[k].text.len == 0 ||
                !is_alike(f->ranks[k].last, last)) {
                continue;
            }
            done[k] = 1;
            differ |= last != NULL && !hb_streq(f->ranks[k].last, last);
            if (n++ < SHOWN_RANKS) {
                hb_str_putf(&o, "%s%u", n > 1 ? ", " : "", k);
            }
        }
        hb_strv_pushf(lines, "rank%s %s%s: %s%s", n > 1 ? "s" : "",
                      hb_str_text(&o), n > SHOWN_RANKS ? " and others" : "",
                      last != NULL ? last : "a traceback",
                      differ ? " (the numbers in it differ)" : "");
        hb_str_destroy(&o);
    }
    free(done);
}
