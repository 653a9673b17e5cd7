/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Rails for the ranks of one host. Ranks choose in turn: the nearest rail, and
 * of several that are equally near the one with the least load for its rate.
 * So ranks that cannot tell their rails apart are spread evenly, and none goes
 * far while a near one is there. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/fabric/choose.h"

/* Steps of a device's way down from its host bridge, "a/b/c". */
static uint32_t common_steps(const char *a, const char *b)
{
    uint32_t n = 0;

    while (*a != '\0' && strcspn(a, "/") == strcspn(b, "/") &&
           strncmp(a, b, strcspn(a, "/")) == 0) {
        n++;
        a += strcspn(a, "/");
        b += strcspn(b, "/");
        a += *a == '/';
        b += *b == '/';
    }
    return n;
}

uint32_t hb_place_distance(const struct hb_place *a, const struct hb_place *b)
{
    uint32_t steps = common_steps(a->above, b->above);

    if (steps > 1) {
        return 0;
    }
    if (steps == 1) {
        return 1;
    }
    if (a->numa >= 0 && b->numa >= 0) {
        return a->numa == b->numa ? 2 : 3;
    }
    return 2;
}

/* Is a rail that has `n` ranks and rate `r` less loaded than another one? */
static int less_loaded(uint64_t n, uint64_t r, uint64_t other_n,
                       uint64_t other_r)
{
    return n * (other_r > 0 ? other_r : 1) < other_n * (r > 0 ? r : 1);
}

static uint32_t best_for(const uint32_t *distance, uint32_t n_rails,
                         const uint32_t *rates, const uint32_t *used)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < n_rails; i++) {
        if (distance[i] < distance[best] ||
            (distance[i] == distance[best] &&
             less_loaded(used[i] + 1, rates[i], used[best] + 1,
                         rates[best]))) {
            best = i;
        }
    }
    return best;
}

/* A rail that is left goes to the rank with the fewest, of those that it is
 * as near to as their first one is. */
static void give_rest(uint32_t rail, uint32_t n_ranks, uint32_t n_rails,
                      const uint32_t *distance, struct hb_rails_of *out)
{
    struct hb_rails_of *to = NULL;

    for (uint32_t r = 0; r < n_ranks; r++) {
        const uint32_t *d = distance + (size_t)r * n_rails;
        if (d[rail] == d[out[r].v[0]] && out[r].n < HB_RAILS_EACH &&
            (to == NULL || out[r].n < to->n)) {
            to = &out[r];
        }
    }
    if (to != NULL) {
        to->v[to->n++] = rail;
    }
}

void hb_fabric_assign(uint32_t n_ranks, uint32_t n_rails,
                      const uint32_t *distance, const uint32_t *rates,
                      struct hb_rails_of *out)
{
    uint32_t *used;

    memset(out, 0, n_ranks * sizeof *out);
    if (n_rails == 0) {
        return;
    }
    used = hb_xcalloc(n_rails, sizeof *used);
    for (uint32_t r = 0; r < n_ranks; r++) {
        out[r].n = 1;
        out[r].v[0] = best_for(distance + (size_t)r * n_rails, n_rails, rates,
                               used);
        used[out[r].v[0]]++;
    }
    for (uint32_t i = 0; i < n_rails; i++) {
        if (used[i] == 0) {
            give_rest(i, n_ranks, n_rails, distance, out);
        }
    }
    free(used);
}
