/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A world is the ranks of the job that are left, in their first order. What a
 * rank calls itself is its host and its local rank in the world that it knows,
 * the last one; both change only when a new world begins, for all at once. */
#include "config.h"

#include "bin/recipe/elastic.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/jobmap.h"

struct slot {
    char *host;
    uint32_t local; /* in this world */
    int lost, waits;
};

struct hb_elastic {
    struct slot *slots; /* by rank of the job */
    uint32_t n;
};

/* "HOST:N"; the host ends at the last colon. */
static int read_key(const char *text, size_t len, char **host, uint32_t *local)
{
    const char *colon = memrchr(text, ':', len);
    char *number;
    uint64_t n;
    int rc;

    if (colon == NULL || colon == text) {
        return -1;
    }
    number = hb_xstrndup(colon + 1, len - (size_t)(colon + 1 - text));
    rc = hb_parse_u64(number, 0, HB_MAX_RANKS, &n);
    free(number);
    if (rc < 0) {
        return -1;
    }
    *host = hb_xstrndup(text, (size_t)(colon - text));
    *local = (uint32_t)n;
    return 0;
}

int hb_elastic_create(struct hb_elastic **out, const char *slots,
                      struct hpcboot_error *err)
{
    struct hb_elastic *e = hb_xcalloc(1, sizeof *e);

    while (*slots != '\0') {
        size_t len = strcspn(slots, "\n");
        struct slot s = {.lost = 0};

        if (len > 0 && read_key(slots, len, &s.host, &s.local) < 0) {
            hb_elastic_destroy(e);
            return hb_fail(err, HPCBOOT_ERR_PARSE, "%.*s is not HOST:NUMBER",
                           (int)(len < 80 ? len : 80), slots);
        }
        if (len > 0) {
            e->slots = hb_xrealloc(e->slots, (e->n + 1) * sizeof *e->slots);
            e->slots[e->n++] = s;
        }
        slots += len + (slots[len] == '\n');
    }
    *out = e;
    return 0;
}

void hb_elastic_destroy(struct hb_elastic *e)
{
    if (e == NULL) {
        return;
    }
    for (uint32_t i = 0; i < e->n; i++) {
        free(e->slots[i].host);
    }
    free(e->slots);
    free(e);
}

int64_t hb_elastic_ask(struct hb_elastic *e, const char *key)
{
    char *host = NULL;
    uint32_t local = 0;
    int64_t found = -1;

    if (read_key(key, strlen(key), &host, &local) < 0) {
        return -1;
    }
    for (uint32_t i = 0; i < e->n && found < 0; i++) {
        if (!e->slots[i].lost && e->slots[i].local == local &&
            strcmp(e->slots[i].host, host) == 0) {
            e->slots[i].waits = 1;
            found = i;
        }
    }
    free(host);
    return found;
}

void hb_elastic_unask(struct hb_elastic *e, uint32_t rank)
{
    if (rank < e->n) {
        e->slots[rank].waits = 0;
    }
}

void hb_elastic_lose(struct hb_elastic *e, uint32_t rank)
{
    if (rank < e->n) {
        e->slots[rank].lost = 1;
        e->slots[rank].waits = 0;
    }
}

const char *hb_elastic_host(const struct hb_elastic *e, uint32_t rank)
{
    return e->slots[rank].host;
}

uint32_t hb_elastic_size(const struct hb_elastic *e)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->n; i++) {
        n += !e->slots[i].lost;
    }
    return n;
}

/* Ranks before `end` that are left, on a host or (host NULL) of a local
 * number. */
static uint32_t count(const struct hb_elastic *e, uint32_t end,
                      const char *host, uint32_t local)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < end; i++) {
        const struct slot *s = &e->slots[i];

        n += !s->lost && (host != NULL ? strcmp(s->host, host) == 0
                                       : s->local == local);
    }
    return n;
}

int hb_elastic_turn(struct hb_elastic *e)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < e->n; i++) {
        if (!e->slots[i].lost && !e->slots[i].waits) {
            return 0;
        }
        left += !e->slots[i].lost;
    }
    for (uint32_t i = 0; i < e->n; i++) {
        e->slots[i].waits = 0;
        e->slots[i].local = count(e, i, e->slots[i].host, 0);
    }
    return left > 0;
}

void hb_elastic_numbers(const struct hb_elastic *e, uint32_t rank,
                        struct hb_str *out)
{
    const struct slot *s = &e->slots[rank];
    uint32_t before = 0;

    if (s->lost) { /* Horovod's way to say: not of this job any more */
        hb_str_put(out, "-1,-1,-1,-1,-1,-1");
        return;
    }
    for (uint32_t i = 0; i < rank; i++) {
        before += !e->slots[i].lost;
    }
    hb_str_putf(out, "%u,%u,%u,%u,%u,%u", before, hb_elastic_size(e),
                s->local, count(e, e->n, s->host, 0),
                count(e, rank, NULL, s->local),
                count(e, e->n, NULL, s->local));
}
