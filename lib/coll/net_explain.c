/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which way a collective would take between nodes: one rank's half of a team
 * of that layout is made, as a job makes it, and a call of it is set up, which
 * chooses and makes its schedule; that is read. So nothing is chosen here.
 *
 * The first rank of the first node leads it, and is root of all; it has every
 * phase but those of scans, which the last ranks of nodes have. */

#include "config.h"

#include "lib/coll/net_explain.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "lib/base/error.h"
#include "lib/coll/net.h"

static const char *const kinds[] = {
    [HB_COLL_NET_TCP] = "tcp",
    [HB_COLL_NET_RDMA] = "rdma",
    [HB_COLL_NET_SOFT] = "soft",
};
#define KINDS (sizeof kinds / sizeof kinds[0])

const char *hb_net_kind_name(enum hb_coll_net_kind kind)
{
    return (unsigned)kind < KINDS ? kinds[kind] : "unknown";
}

int hb_net_kind_of(const char *word)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (strcmp(word, kinds[i]) == 0) {
            return (int)i;
        }
    }
    return HPCBOOT_ERR_USAGE;
}

/* What one rank of such a team has. */
struct stand_in {
    struct hb_coll_engine *engine;
    struct hb_coll_team *team;
    int *node_of, *local;
    size_t *counts;
    void *region;
    size_t region_size;
};

static void stand_in_clear(struct stand_in *s)
{
    hb_coll_team_destroy(s->team);
    hb_coll_destroy(s->engine);
    if (s->region != NULL) {
        munmap(s->region, s->region_size);
    }
    free(s->node_of);
    free(s->local);
    free(s->counts);
}

static int stand_in_room(struct stand_in *s, const struct hb_net_question *q,
                         struct hpcboot_error *err)
{
    size_t all = (size_t)q->nodes * (size_t)q->per_node;
    s->node_of = calloc(all, sizeof *s->node_of);
    s->local = calloc((size_t)q->per_node, sizeof *s->local);
    s->counts = calloc(all, sizeof *s->counts);
    s->region_size = hb_coll_region_least(q->per_node);
    s->region = mmap(NULL, s->region_size, PROT_READ | PROT_WRITE,
                     /* cppcheck-suppress invalidFunctionArg */
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    s->region = s->region == MAP_FAILED ? NULL : s->region;
    if (s->node_of == NULL || s->local == NULL || s->counts == NULL ||
        s->region == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for %zu ranks", all);
    }
    for (size_t i = 0; i < all; i++) {
        s->node_of[i] = (int)(i / (size_t)q->per_node);
    }
    return HPCBOOT_OK;
}

static int stand_in_make(struct stand_in *s, const struct hb_net_question *q,
                         int rank, struct hpcboot_error *err)
{
    static const struct hb_coll_net nobody = {0};
    struct hb_coll_config config = HB_COLL_CONFIG_INIT;
    struct hb_coll_team_args a = HB_COLL_TEAM_INIT;
    config.node_rank = rank;
    config.node_size = q->per_node;
    config.net_wish = q->wish;
    int rc = hb_coll_create(&config, &s->engine, err);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    for (int i = 0; i < q->per_node; i++) {
        s->local[i] = i;
    }
    a.rank = rank;
    a.size = q->nodes * q->per_node;
    a.local_ranks = s->local;
    a.local_size = q->per_node;
    a.node_of = s->node_of;
    a.region = s->region;
    a.region_size = s->region_size;
    a.net = &nobody;
    a.net_facts = q->facts;
    return hb_coll_team_create(s->engine, &a, &s->team, err);
}

/* Sums of doubles, where the bytes are any; else of bytes. */
static struct hpcboot_coll_args args_of(const struct stand_in *s,
                                        const struct hb_net_question *q)
{
    bool folds = hb_call_folds(q->coll);
    bool wide = folds && q->bytes % sizeof(double) == 0;
    struct hpcboot_coll_args a = {
        .struct_size = sizeof a, .coll = q->coll, .op = HPCBOOT_SUM,
        .type = wide    ? HPCBOOT_DOUBLE
                : folds ? HPCBOOT_UINT8
                        : HPCBOOT_BYTE,
        .count = q->bytes / (wide ? sizeof(double) : 1)};
    a.send_counts = a.recv_counts = s->counts;
    for (int i = 0; i < q->nodes * q->per_node; i++) {
        s->counts[i] = a.count;
    }
    return a;
}

static bool is_known(const struct hb_net_answer *a,
                     const struct hb_net_part *part)
{
    for (int i = 0; i < a->n_parts; i++) {
        if (a->parts[i].between == part->between &&
            a->parts[i].coll == part->coll) {
            return true;
        }
    }
    return a->n_parts == HB_NET_PARTS;
}

static void add_part(struct hb_net_answer *a, bool between,
                     enum hpcboot_coll coll)
{
    struct hb_net_part part = {between, coll};
    if (!is_known(a, &part)) {
        a->parts[a->n_parts++] = part;
    }
}

/* Nothing tells of which phase a message is; but where there are several, no
 * phase of a node is between them. */
static void read_parts(const struct hb_sched *s, struct hb_net_answer *out)
{
    for (int i = 0; i < s->count; i++) {
        const struct hb_step *step = &s->steps[i];
        if (step->kind == HB_STEP_LOCAL) {
            add_part(out, false, (enum hpcboot_coll)step->coll);
        } else if (step->kind == HB_STEP_SEND || step->kind == HB_STEP_RECV) {
            for (int k = 0; k < s->n_phases; k++) {
                add_part(out, true, s->phases[k].coll);
            }
        }
    }
}

static void read_phase(const struct hb_call *c, const struct hb_phase *taken,
                       struct hb_net_phase *out)
{
    enum hpcboot_coll coll = taken->coll;
    struct hb_choice how = taken->how;
    bool known = false;
    if (how.radix > taken->size) { /* a tree has no use for more */
        how.radix = taken->size;
    }
    how.cost_ns = hb_predict(c, coll, taken->size, taken->bytes, &how);
    out->taken = *taken;
    out->taken.how.cost_ns = how.cost_ns;
    out->wished = c->wish->alg[coll] == (int)how.alg;
    out->n = hb_choices(c, coll, taken->size, taken->bytes, out->ways);
    for (size_t i = 0; i < out->n; i++) {
        if (out->ways[i].alg == how.alg) {
            out->ways[i] = how;
            known = true;
        }
    }
    if (!known && out->n < HB_ALGS) {
        out->ways[out->n++] = how;
    }
}

static int explain_rank(const struct hb_net_question *q, int rank,
                        struct hb_net_answer *out, struct hpcboot_error *err)
{
    struct stand_in s = {0};
    struct hb_op op = {0};
    int rc = stand_in_room(&s, q, err);
    rc = rc < 0 ? rc : stand_in_make(&s, q, rank, err);
    if (rc == HPCBOOT_OK) {
        struct hpcboot_coll_args a = args_of(&s, q);
        rc = hb_op_setup(s.team, &op, &a, NULL, err);
    }
    if (rc == HPCBOOT_OK) {
        struct hb_net_op *n = op.net;
        struct hb_call c = hb_net_call_of(s.team, &op);
        *out = (struct hb_net_answer){
            .model = *c.model, .flat = hb_sched_flat(&c),
            .crowd = hb_crowd_prices(&c), .hierarchy = c.wish->hierarchy,
            .n_phases = n->sched->n_phases};
        read_parts(n->sched, out);
        for (int i = 0; i < out->n_phases; i++) {
            read_phase(&c, &n->sched->phases[i], &out->phases[i]);
        }
        hb_op_clear(&op);
    }
    stand_in_clear(&s);
    return rc;
}

int hb_net_explain(const struct hb_net_question *q, struct hb_net_answer *out,
                   struct hpcboot_error *err)
{
    struct hb_net_answer first, last;
    int rc = explain_rank(q, 0, &first, err);
    if (rc == HPCBOOT_OK && first.n_phases == 0) {
        rc = explain_rank(q, q->per_node - 1, &last, err);
        first = rc == HPCBOOT_OK ? last : first;
    }
    if (rc == HPCBOOT_OK) {
        *out = first;
    }
    return rc;
}
