/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What the user wants instead of what the model says, as words of
 * HPCBOOT_COLL_NET, and the names of algorithms. */

#include "config.h"

#include "lib/coll/sched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

static const char *const alg_names[HB_ALGS] = {
    [HB_ALG_KNOMIAL] = "knomial",   [HB_ALG_PIPELINE] = "pipeline",
    [HB_ALG_DOUBLE_TREE] = "double_tree", [HB_ALG_DOUBLING] = "doubling",
    [HB_ALG_HALVING] = "halving",   [HB_ALG_RING] = "ring",
    [HB_ALG_BRUCK] = "bruck",       [HB_ALG_PAIRWISE] = "pairwise",
    [HB_ALG_LINEAR] = "linear",
};

const char *hb_alg_name(enum hb_alg alg)
{
    return (unsigned)alg < HB_ALGS ? alg_names[alg] : "unknown";
}

#define RADIX_LEAST 2
#define SEGMENT_LEAST 1024
#define SEGMENT_MOST (64 << 20)
#define LEADERS_MOST 1024

static bool word_is(const char *word, size_t len, const char *name)
{
    return strlen(name) == len && strncmp(word, name, len) == 0;
}

static int find_coll(const char *word, size_t len)
{
    for (int i = 0; i < HPCBOOT_COLLS; i++) {
        if (word_is(word, len, hb_coll_name((enum hpcboot_coll)i))) {
            return i;
        }
    }
    return -1;
}

/* ":4" is a radix, ":65536" a segment. */
static bool parse_number(const char *text, size_t len, struct hb_wish *w,
                         int coll)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9' || n > SEGMENT_MOST) {
            return false;
        }
        n = 10 * n + (size_t)(text[i] - '0');
    }
    if (n >= SEGMENT_LEAST && n <= SEGMENT_MOST) {
        w->segment[coll] = n;
        return true;
    }
    w->radix[coll] = (int)n;
    return n >= RADIX_LEAST && n <= HB_RADIX_MOST;
}

static bool parse_way(const char *word, size_t len, struct hb_wish *w,
                      int coll)
{
    const char *colon = memchr(word, ':', len);
    size_t name = colon != NULL ? (size_t)(colon - word) : len;
    for (int a = 0; a < HB_ALGS; a++) {
        if (word_is(word, name, alg_names[a]) &&
            hb_is_choice((enum hpcboot_coll)coll, (enum hb_alg)a)) {
            w->alg[coll] = a;
            return colon == NULL ||
                   parse_number(colon + 1, len - name - 1, w, coll);
        }
    }
    return false;
}

static bool parse_word(const char *word, size_t len, struct hb_wish *w)
{
    const char *equals = memchr(word, '=', len);
    if (word_is(word, len, "flat") || word_is(word, len, "nodes")) {
        w->hierarchy = word[0] == 'n';
        return true;
    }
    if (equals == NULL) {
        return false;
    }
    size_t name = (size_t)(equals - word), rest = len - name - 1;
    if (word_is(word, name, "leaders")) {
        char *end;
        long n = strtol(equals + 1, &end, 10);
        w->leaders = (int)n;
        return end == word + len && n >= 1 && n <= LEADERS_MOST;
    }
    int coll = find_coll(word, name);
    return coll >= 0 && parse_way(equals + 1, rest, w, coll);
}

/* "; bcast has knomial, pipeline", where the word is about a collective for
 * which there is a choice. */
static void put_ways(char *out, size_t size, const char *word, size_t len)
{
    const char *equals = memchr(word, '=', len);
    int coll = equals != NULL ? find_coll(word, (size_t)(equals - word)) : -1;
    size_t at = 0;
    out[0] = '\0';
    for (int a = 0; coll >= 0 && a < HB_ALGS && at < size; a++) {
        enum hpcboot_coll c = (enum hpcboot_coll)coll;
        if (hb_is_choice(c, (enum hb_alg)a)) {
            at += (size_t)snprintf(out + at, size - at, "%s%s%s%s",
                                   at == 0 ? "; " : ", ",
                                   at == 0 ? hb_coll_name(c) : "",
                                   at == 0 ? " has " : "", alg_names[a]);
        }
    }
}

static int no_wish(const char *word, size_t len, struct hpcboot_error *err)
{
    char ways[160];
    put_ways(ways, sizeof ways, word, len);
    return hb_fail(err, HPCBOOT_ERR_USAGE,
                   "HPCBOOT_COLL_NET: \"%.*s\" is no wish for collectives "
                   "between nodes: flat, nodes, leaders=N, or "
                   "COLLECTIVE=ALGORITHM[:RADIX or :SEGMENT]%s",
                   (int)(len < 64 ? len : 64), word, ways);
}

int hb_wish_parse(const char *text, struct hb_wish *out,
                  struct hpcboot_error *err)
{
    struct hb_wish w = {.hierarchy = -1};
    for (int i = 0; i < HPCBOOT_COLLS; i++) {
        w.alg[i] = -1;
    }
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, ",");
        if (!parse_word(text, len, &w)) {
            return no_wish(text, len, err);
        }
        text += len + (text[len] == ',');
    }
    *out = w;
    return HPCBOOT_OK;
}
