/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Sets of ranks. The name of a set stands in the keys of fences: equal sets
 * must have equal names on all nodes, and different sets that are open at the
 * same time different ones. Up to some thousand members the list is the name;
 * beyond, two FNV-1a digests of different beginnings are: such sets are a few
 * in a job, made by the user's own program. */
#include "config.h"

#include "bin/pm/rankset.h"

#include <stdlib.h>

#define LIST_MAX 16384u /* bytes; a fence key may have 65536 */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

uint32_t hb_rankset_unique(uint32_t *list, uint32_t n)
{
    uint32_t kept = 0;

    if (n > 0) {
        qsort(list, n, sizeof(*list), by_number);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (kept == 0 || list[i] != list[kept - 1]) {
            list[kept++] = list[i];
        }
    }
    return kept;
}

static uint64_t digest(const char *text, uint64_t h)
{
    for (; *text != '\0'; text++) {
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    }
    return h;
}

void hb_rankset_name(struct hb_str *out, const uint32_t *list, uint32_t n)
{
    struct hb_str text = HB_STR_INIT;

    for (uint32_t i = 0; i < n; i++) {
        hb_str_putf(&text, i > 0 ? ",%u" : "%u", list[i]);
    }
    if (text.len <= LIST_MAX) {
        hb_str_put(out, hb_str_text(&text));
    } else {
        hb_str_putf(out, "%u ranks %016llx%016llx", n,
                    (unsigned long long)digest(text.s, 0xcbf29ce484222325u),
                    (unsigned long long)digest(text.s, 0x9e3779b97f4a7c15u));
    }
    hb_str_destroy(&text);
}
