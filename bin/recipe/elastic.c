/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A world is the ranks of the job that are there, in the order of the job.
 * What a rank calls itself is its host and its local rank in the world that it
 * knows, the last one; both change only when a new world begins, for all at
 * once. A process that begins knows none, and says which rank of the job it
 * is: one more, one in the place of a lost one, or one that was started again.
 * It is in no world before the next one. */
#include "config.h"

#include "bin/recipe/elastic.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/jobmap.h"

#define RANKS_MAX (1u << 16) /* whoever reaches the port may name one */

struct slot {
    char *host;     /* NULL: nobody has come yet */
    uint32_t local; /* in this world */
    int lost, waits;
    int in; /* knows this world */
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
        struct slot s = {.in = 1};

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

/* Takes `host`. Slots of ranks between the last one and this are of nobody. */
static int64_t begins(struct hb_elastic *e, uint32_t rank, char *host,
                      uint32_t local)
{
    while (e->n <= rank) {
        e->slots = hb_xrealloc(e->slots, (e->n + 1) * sizeof *e->slots);
        e->slots[e->n++] = (struct slot){.lost = 1};
    }
    free(e->slots[rank].host);
    e->slots[rank] = (struct slot){.host = host, .local = local, .waits = 1};
    return rank;
}

static int64_t find(struct hb_elastic *e, const char *host, uint32_t local)
{
    for (uint32_t i = 0; i < e->n; i++) {
        const struct slot *s = &e->slots[i];

        if (s->in && !s->lost && s->local == local &&
            strcmp(s->host, host) == 0) {
            e->slots[i].waits = 1;
            return i;
        }
    }
    return -1;
}

int64_t hb_elastic_ask(struct hb_elastic *e, const char *key)
{
    const char *slash = strchr(key, '/'), *name = slash ? slash + 1 : key;
    char *host = NULL, *number = NULL;
    uint32_t local = 0;
    uint64_t rank;
    int64_t found = -1;

    if (read_key(name, strlen(name), &host, &local) < 0) {
        return -1;
    }
    if (slash == NULL) {
        found = find(e, host, local);
    } else {
        number = hb_xstrndup(key, (size_t)(slash - key));
        if (hb_parse_u64(number, 0, RANKS_MAX - 1, &rank) == 0) {
            found = begins(e, (uint32_t)rank, host, local);
            host = NULL;
        }
    }
    free(number);
    free(host);
    return found;
}

int hb_elastic_grows(const struct hb_elastic *e)
{
    for (uint32_t i = 0; i < e->n; i++) {
        if (e->slots[i].waits && !e->slots[i].in) {
            return 1;
        }
    }
    return 0;
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
        e->slots[rank].in = 0;
    }
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

int hb_elastic_turn(struct hb_elastic *e, uint32_t least)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < e->n; i++) {
        if (!e->slots[i].lost && !e->slots[i].waits) {
            return 0;
        }
        left += !e->slots[i].lost;
    }
    if (left == 0 || left < least) {
        return 0;
    }
    for (uint32_t i = 0; i < e->n; i++) {
        struct slot *s = &e->slots[i];

        s->waits = 0;
        s->in = !s->lost;
        s->local = s->lost ? 0 : count(e, i, s->host, 0);
    }
    return 1;
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
