/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Figures and rules as words: what is kept of a probe, and what the user says
 * in HPCBOOT_COLL_TUNE. A word is NAME=NUMBER, or
 *
 *   COLLECTIVE[:BYTES|:FROM-|:-TO|:FROM-TO]=[WAY][/PIECE]
 *
 * No I/O here. */

#include "config.h"

#include "lib/coll/impl.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/error.h"

#define NUMBER_MOST 1000000000u
#define BYTES_DIGITS 15
#define MACHINE_BITS 40 /* what machine() in model_keep.c leaves */
#define BEGINS "machine="
#define WORD_SHOWN 60

static const struct {
    const char *name, *text;
} ways[HB_WAYS] = {
    [HB_WAY_WHOLE] = {"whole", "each reads what the others have put"},
    [HB_WAY_SLICES] = {"slices", "each folds a slice, and shares it"},
    [HB_WAY_CHAIN] = {"chain", "each adds its own to what comes from below"},
    [HB_WAY_LAST] = {"last", "the last to come folds, the others get that"},
    [HB_WAY_SHARED] = {"shared", "buffers are read where they are"},
    [HB_WAY_CMA] = {"cma", "buffers are read where they are, by the kernel"},
};

static const struct {
    const char *name;
    size_t at;
} figures[] = {
    {"cpus", offsetof(struct hb_coll_model, cpus)},
    {"round_ns", offsetof(struct hb_coll_model, round_ns)},
    {"switch_ns", offsetof(struct hb_coll_model, switch_ns)},
    {"put_ps", offsetof(struct hb_coll_model, put_ps)},
    {"get_ps", offsetof(struct hb_coll_model, get_ps)},
    {"fold_ps", offsetof(struct hb_coll_model, fold_ps)},
    {"copy_ps", offsetof(struct hb_coll_model, copy_ps)},
    {"stream_ps", offsetof(struct hb_coll_model, stream_ps)},
    {"past_ps", offsetof(struct hb_coll_model, past_ps)},
    {"far_ns", offsetof(struct hb_coll_model, far_ns)},
    {"cache_kib", offsetof(struct hb_coll_model, cache_kib)},
    {"l2_kib", offsetof(struct hb_coll_model, l2_kib)},
    {"send_ns", offsetof(struct hb_coll_model, send_ns)},
    {"recv_ns", offsetof(struct hb_coll_model, recv_ns)},
    {"cma_ns", offsetof(struct hb_coll_model, cma_ns)},
    {"cma_ps", offsetof(struct hb_coll_model, cma_ps)},
};
enum { FIGURES = sizeof figures / sizeof figures[0] };

const char *hb_way_name(enum hb_way way)
{
    return (unsigned)way < HB_WAYS ? ways[way].name : "unknown";
}

const char *hb_way_text(enum hb_way way)
{
    return (unsigned)way < HB_WAYS ? ways[way].text : "";
}

static uint32_t *figure(struct hb_coll_model *m, int i)
{
    return (uint32_t *)(void *)((char *)m + figures[i].at);
}

int hb_model_bytes(const char *text, size_t len, uint64_t *out)
{
    uint64_t n = 0;
    size_t i = 0, shift = 0;
    for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
        n = n * 10 + (uint64_t)(text[i] - '0');
    }
    if (i == 0 || i > BYTES_DIGITS) {
        return HPCBOOT_ERR_USAGE;
    }
    if (i + 1 == len) {
        shift = text[i] == 'K' || text[i] == 'k'   ? 10
                : text[i] == 'M' || text[i] == 'm' ? 20
                : text[i] == 'G' || text[i] == 'g' ? 30
                                                   : 0;
        i += shift != 0;
    }
    if (i != len || n > (UINT64_MAX >> 1) >> shift) {
        return HPCBOOT_ERR_USAGE;
    }
    *out = n << shift;
    return HPCBOOT_OK;
}

/* "", "64K", "64K-", "-1M", "64K-1M" */
static int parse_range(const char *s, size_t len, struct hb_coll_rule *r)
{
    const char *dash = memchr(s, '-', len);
    size_t left = dash != NULL ? (size_t)(dash - s) : len;
    size_t right = dash != NULL ? len - left - 1 : 0;
    r->least = 0;
    r->most = UINT64_MAX;
    if (left > 0 && hb_model_bytes(s, left, &r->least) < 0) {
        return HPCBOOT_ERR_USAGE;
    }
    if (dash == NULL) {
        r->most = r->least;
        return left > 0 ? HPCBOOT_OK : HPCBOOT_ERR_USAGE;
    }
    if (right > 0 && hb_model_bytes(dash + 1, right, &r->most) < 0) {
        return HPCBOOT_ERR_USAGE;
    }
    return r->least <= r->most ? HPCBOOT_OK : HPCBOOT_ERR_USAGE;
}

static bool same(const char *s, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(s, word, len) == 0;
}

static int parse_piece(const char *s, size_t len, uint32_t *piece_out)
{
    uint64_t n;
    if (hb_model_bytes(s, len, &n) < 0 || n < HB_PIECE_LEAST ||
        n > HB_PIECE_MOST || (n & (n - 1)) != 0) {
        return HPCBOOT_ERR_USAGE;
    }
    *piece_out = (uint32_t)n;
    return HPCBOOT_OK;
}

/* WAY, /PIECE or WAY/PIECE; without a way: as a whole */
static int parse_way(const char *s, size_t len, struct hb_coll_rule *r)
{
    const char *slash = memchr(s, '/', len);
    size_t word = slash != NULL ? (size_t)(slash - s) : len;
    bool known = word == 0 && slash != NULL;
    r->way = HB_WAY_WHOLE;
    for (unsigned w = 0; w < HB_WAYS; w++) {
        if (same(s, word, ways[w].name)) {
            r->way = (uint16_t)w;
            known = true;
        }
    }
    r->piece = 0;
    if (!known || slash == NULL) {
        return known ? HPCBOOT_OK : HPCBOOT_ERR_USAGE;
    }
    return parse_piece(slash + 1, len - word - 1, &r->piece);
}

static int parse_rule(struct hb_coll_model *m, const char *name, size_t n,
                      const char *value, size_t len)
{
    struct hb_coll_rule r = {.most = UINT64_MAX};
    const char *colon = memchr(name, ':', n);
    size_t word = colon != NULL ? (size_t)(colon - name) : n;
    int coll = 0;
    while (coll < HPCBOOT_COLLS && !same(name, word, hb_coll_name(coll))) {
        coll++;
    }
    if (coll == HPCBOOT_COLLS || m->n_rules == HB_COLL_RULES ||
        (colon != NULL && parse_range(colon + 1, n - word - 1, &r) < 0) ||
        parse_way(value, len, &r) < 0) {
        return HPCBOOT_ERR_USAGE;
    }
    r.coll = (uint16_t)coll;
    m->rules[m->n_rules++] = r;
    return HPCBOOT_OK;
}

static int parse_word(struct hb_coll_model *m, const char *s, size_t len,
                      uint64_t *machine)
{
    const char *equals = memchr(s, '=', len);
    size_t name = equals != NULL ? (size_t)(equals - s) : len;
    const char *value = s + name + 1;
    size_t n = equals != NULL ? len - name - 1 : 0;
    uint64_t number;
    if (equals == NULL) {
        return HPCBOOT_ERR_USAGE;
    }
    if (machine != NULL && same(s, name, "machine")) {
        return hb_model_bytes(value, n, machine) < 0 ||
                       *machine >> MACHINE_BITS != 0
                   ? HPCBOOT_ERR_USAGE
                   : HPCBOOT_OK;
    }
    for (int i = 0; i < FIGURES; i++) {
        if (same(s, name, figures[i].name)) {
            if (hb_model_bytes(value, n, &number) < 0 || number == 0 ||
                number > NUMBER_MOST) {
                return HPCBOOT_ERR_USAGE;
            }
            *figure(m, i) = (uint32_t)number;
            return HPCBOOT_OK;
        }
    }
    return parse_rule(m, s, name, value, n);
}

static bool parts(char c)
{
    return c == ' ' || c == ',' || c == '\n' || c == '\t' || c == '\r';
}

int hb_model_parse(struct hb_coll_model *m, const char *text, size_t len,
                   uint64_t *machine, struct hpcboot_error *err)
{
    struct hb_coll_model now = *m;
    uint64_t key = 0;
    for (size_t at = 0, end; at < len; at = end) {
        while (at < len && parts(text[at])) {
            at++;
        }
        end = at;
        bool comment = at < len && text[at] == '#';
        while (end < len && (comment ? text[end] != '\n'
                                     : !parts(text[end]))) {
            end++;
        }
        if (end == at || comment) {
            continue;
        }
        if (parse_word(&now, text + at, end - at,
                       machine != NULL ? &key : NULL) < 0) {
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "\"%.*s\" is no rule for a collective; such as "
                           "allreduce:64K-1M=slices/32K, at most %d of them, "
                           "or round_ns=90",
                           (int)hb_min(end - at, WORD_SHOWN), text + at,
                           HB_COLL_RULES);
        }
    }
    *m = now;
    if (machine != NULL) {
        *machine = key;
    }
    return HPCBOOT_OK;
}

int hb_model_parse_takes(struct hb_coll_model *takes, int most,
                         const char *text, size_t len, uint64_t machine)
{
    const char *at = memmem(text, len, BEGINS, sizeof BEGINS - 1);
    int n = 0;
    while (at != NULL && n < most) {
        uint64_t found = 0;
        size_t left = len - (size_t)(at - text);
        const char *next = memmem(at + 1, left - 1, BEGINS, sizeof BEGINS - 1);
        size_t size = next != NULL ? (size_t)(next - at) : left;
        takes[n] = (struct hb_coll_model){0};
        if (hb_model_parse(&takes[n], at, size, &found, NULL) < 0 ||
            found != machine || takes[n].n_rules > 0) {
            return 0;
        }
        n++;
        at = next;
    }
    return n;
}

int hb_model_print(const struct hb_coll_model *m, uint64_t machine,
                   char *text, size_t size)
{
    struct hb_coll_model copy = *m;
    int n = snprintf(text, size, BEGINS "%llu\n",
                     (unsigned long long)machine);
    for (int i = 0; i < FIGURES; i++) {
        size_t room = (size_t)n < size ? size - (size_t)n : 0;
        uint32_t value = *figure(&copy, i);
        if (value != 0) {
            n += snprintf(room > 0 ? text + n : NULL, room, "%s=%u\n",
                          figures[i].name, value);
        }
    }
    return n;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Of two ranks, however long a line took. */
static bool is_sooner_by_cache(const struct hb_coll_model *take)
{
    return take->stream_ps > 0 && take->stream_ps < take->past_ps;
}

/* More than HB_FAR_NS only where two whose lines took so long had pieces sooner
 * through the cache than past it: as many times farther they could be. */
static uint32_t border(const struct hb_coll_model *take)
{
    uint64_t ns = take->round_ns + take->round_ns / 4 * 3;
    if (ns <= HB_FAR_NS) {
        return ns < HB_FAR_NS_LEAST ? HB_FAR_NS_LEAST : (uint32_t)ns;
    }
    if (!is_sooner_by_cache(take)) {
        return HB_FAR_NS;
    }
    ns = ns * take->past_ps / take->stream_ps;
    return ns > HB_FAR_NS_MOST ? HB_FAR_NS_MOST : (uint32_t)ns;
}

/* The least of the takes is that of ranks that were near; not so near that they
 * were two threads of a core. */
static void draw_border(struct hb_coll_model *m,
                        const struct hb_coll_model *takes, int n)
{
    const struct hb_coll_model *least = NULL;
    for (int k = 0; k < n; k++) {
        const struct hb_coll_model *t = &takes[k];
        if (t->far_ns != 0) {
            return;
        }
        if (t->round_ns >= HB_ROUND_NS_LEAST &&
            (least == NULL || t->round_ns < least->round_ns)) {
            least = t;
        }
    }
    if (least != NULL &&
        (least->round_ns < HB_FAR_NS || is_sooner_by_cache(least))) {
        m->far_ns = border(least);
    }
}

static bool is_of_one_core(const struct hb_coll_model *take)
{
    return take->round_ns != 0 && take->round_ns < HB_ROUND_NS_LEAST;
}

void hb_model_of_takes(struct hb_coll_model *m,
                       const struct hb_coll_model *takes, int n)
{
    uint32_t values[HB_MODEL_TAKES_MOST];
    int of_one_core = 0;
    n = n < HB_MODEL_TAKES_MOST ? n : HB_MODEL_TAKES_MOST;
    for (int k = 0; k < n; k++) {
        of_one_core += is_of_one_core(&takes[k]);
    }
    bool leave_out = 2 * of_one_core < n; /* else the machine is such a one */
    for (int i = 0; i < FIGURES; i++) {
        size_t known = 0;
        for (int k = 0; k < n; k++) {
            struct hb_coll_model take = takes[k];
            bool counts = !(leave_out && is_of_one_core(&take));
            values[known] = *figure(&take, i);
            known += counts && values[known] != 0;
        }
        if (known > 0) {
            qsort(values, known, sizeof *values, compare);
            *figure(m, i) = values[known / 3];
        }
    }
    draw_border(m, takes, n);
}
