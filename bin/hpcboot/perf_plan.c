/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which collectives `hpcboot perf` measures, and at which sizes. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/hpcboot/args.h"
#include "bin/hpcboot/perf.h"

#define BYTES_MOST ((size_t)1 << 40)
#define FACTOR_MOST 1024u
#define WORD_MAX 64u

int hb_perf_bytes(const char *text, size_t *out)
{
    static const char units[] = "KMG";
    size_t n = strlen(text);
    const char *unit = n > 1 ? strchr(units, text[n - 1]) : NULL;
    unsigned shift = unit != NULL ? 10 * (unsigned)(unit - units + 1) : 0;
    char *digits = hb_xstrndup(text, n - (unit != NULL));
    uint64_t v = 0;
    int rc = hb_parse_u64(digits, 0, BYTES_MOST >> shift, &v);

    free(digits);
    if (rc == 0) {
        *out = (size_t)v << shift;
    }
    return rc;
}

static void add(struct hb_perf_plan *p, int kind, size_t bytes)
{
    p->v = hb_xrealloc(p->v, (p->n + 1) * sizeof *p->v);
    p->v[p->n++] = (struct hb_perf_item){.kind = kind, .bytes = bytes};
}

struct range {
    size_t from, to, factor;
};

static void add_range(struct hb_perf_plan *p, int kind,
                      const struct range *sizes)
{
    size_t n = sizes->from;

    if (kind == HPCBOOT_COLL_BARRIER) {
        add(p, kind, 0);
        return;
    }
    for (; n <= sizes->to; n = n == 0 ? 1 : n * sizes->factor) {
        add(p, kind, n);
    }
}

/* Cuts the next word of *rest, which ends at `stop` or the end. */
static int next_word(const char **rest, char stop, char *word)
{
    size_t n = strcspn(*rest, (const char[]){stop, '\0'});

    if (n == 0 || n >= WORD_MAX) {
        return 0;
    }
    memcpy(word, *rest, n);
    word[n] = '\0';
    *rest += n + ((*rest)[n] == stop);
    return 1;
}

static int parse_range(const char *text, struct range *out)
{
    char word[WORD_MAX];
    const char *rest = text;
    uint64_t factor = out->factor;

    if (!next_word(&rest, ':', word) || hb_perf_bytes(word, &out->from) < 0) {
        return -1;
    }
    out->to = out->from;
    if (*rest != '\0' &&
        (!next_word(&rest, ':', word) || hb_perf_bytes(word, &out->to) < 0)) {
        return -1;
    }
    if (*rest != '\0' && hb_parse_u64(rest, 2, FACTOR_MOST, &factor) < 0) {
        return -1;
    }
    out->factor = (size_t)factor;
    return out->from <= out->to ? 0 : -1;
}

static int unknown(const char *word, struct hpcboot_error *err)
{
    const char *names[HB_PERF_KINDS + 1];

    for (int k = 0; k < HB_PERF_KINDS; k++) {
        names[k] = hb_perf_name(k);
    }
    names[HB_PERF_KINDS] = "all";
    return hb_args_no_such("collective", word, names, HB_PERF_KINDS + 1,
                           "hpcboot perf --help", err);
}

/* NAME or NAME:BYTES */
static int add_word(struct hb_perf_plan *p, char *word,
                    const struct range *sizes, struct hpcboot_error *err)
{
    char *colon = strchr(word, ':');
    struct range one = *sizes;
    int found = 0;

    if (colon != NULL) {
        *colon = '\0';
        if (hb_perf_bytes(colon + 1, &one.from) < 0) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "%s:%s: expected bytes "
                           "behind the colon, as in 64K", word, colon + 1);
        }
        if (strcmp(word, hb_perf_name(HPCBOOT_COLL_BARRIER)) == 0) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "%s:%s: a barrier has no "
                           "bytes", word, colon + 1);
        }
        one.to = one.from;
    }
    for (int k = 0; k < HB_PERF_KINDS; k++) {
        if (strcmp(word, "all") == 0 || strcmp(word, hb_perf_name(k)) == 0) {
            add_range(p, k, &one);
            found = 1;
        }
    }
    return found ? 0 : unknown(word, err);
}

int hb_perf_plan(struct hb_perf_plan *out, const char *collectives,
                 const char *sizes, struct hpcboot_error *err)
{
    struct range range = {.factor = 2};
    const char *rest = collectives;
    char word[WORD_MAX];
    int rc = 0;

    if (parse_range(sizes, &range) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--sizes %s: expected FROM:TO "
                       "or FROM:TO:FACTOR, as in 1:16M", sizes);
    }
    do {
        rc = next_word(&rest, ',', word)
                 ? add_word(out, word, &range, err)
                 : hb_fail(err, HPCBOOT_ERR_USAGE, "\"%s\": expected names of "
                           "collectives, with commas between", collectives);
    } while (rc == 0 && (*rest != '\0' || rest[-1] == ','));
    return rc;
}

void hb_perf_plan_destroy(struct hb_perf_plan *p)
{
    free(p->v);
    p->v = NULL;
    p->n = 0;
}
