/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Do all ranks of a team make the same call? With HPCBOOT_CHECK an alltoall
 * goes before each, which is itself always the same: so it is sound whatever
 * follows it. In it each rank tells every other what it is about to call, how
 * many bytes it has for that one, and how many it expects of it. It is a
 * request like any other, runs in its turn, and fails the team where calls
 * differ. Without it the engines find what they come across. Here are the
 * request, and the sentences of both. */

#include "config.h"

#include "lib/coll/engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/error.h"

/* What a rank tells another; to, from: bytes, of the v-kinds. */
struct side {
    uint64_t sign, bytes, to, from;
};

/* Where a sign has the root; its low bits have as much of it: */
#define ROOT_AT 15
#define ROOT_BITS 511u
/* Of a sign that HPCBOOT_CHECK compares. */
#define DETERMINISTIC (UINT64_C(1) << 62)

uint64_t hb_call_sign(const struct hpcboot_coll_args *a)
{
    bool reduces = hb_call_folds(a->coll);
    bool rooted = hb_call_is_rooted(a->coll);
    uint64_t o = !reduces ? 0 : a->op >= HPCBOOT_OP_USER ? 31 : a->op & 31;
    uint64_t type = a->coll == HPCBOOT_COLL_BARRIER ? 0 : a->type & 31;
    return (uint64_t)hb_call_of(a->coll, a->flags) | type << 5 | o << 10 |
           (uint64_t)(rooted ? a->root : 0) << ROOT_AT;
}

uint64_t hb_op_sign(const struct hb_op *op)
{
    uint64_t call = op->sign & ((1u << ROOT_AT) - 1);
    return hb_call_is_rooted(op->coll) ? call | (uint64_t)op->root << ROOT_AT
                                       : op->sign;
}

uint64_t hb_row_sign(const size_t *row, int n)
{
    uint64_t h = 0;
    for (int j = 0; j < n; j++) {
        h = (h + row[j] + 1) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return (h >> 32 & ROOT_BITS) << ROOT_AT;
}

/* Of a call with rows no number of bytes is that of all its ranks. */
static void put_call(char *out, size_t size, uint64_t sign, uint64_t bytes)
{
    int op = (int)(sign >> 10 & 31);
    int last = (int)((sign & ~DETERMINISTIC) >> ROOT_AT);
    enum hpcboot_coll coll = (enum hpcboot_coll)(sign & 31);
    int n = snprintf(out, size, "%s", hb_coll_name((int)(sign & 31)));
    if (coll == HPCBOOT_COLL_BARRIER || coll >= HPCBOOT_COLLS) {
        return;
    }
    if (!hb_call_is_loose(coll)) {
        n += snprintf(out + n, size - (size_t)n, " of %llu bytes",
                      (unsigned long long)bytes);
    }
    n += snprintf(out + n, size - (size_t)n, " (type %s",
                  hb_coll_type_name(sign >> 5 & 31));
    if (hb_call_folds(coll)) {
        n += snprintf(out + n, size - (size_t)n, ", op %s",
                      hb_coll_op_name(op == 31 ? HPCBOOT_OP_USER : op));
    }
    if (hb_call_is_rooted(coll) || last != 0) {
        n += snprintf(out + n, size - (size_t)n,
                      hb_call_is_rooted(coll) ? ", root %d"
                                              : ", counts with checksum %d",
                      last);
    }
    snprintf(out + n, size - (size_t)n,
             sign & DETERMINISTIC ? ", deterministic)" : ")");
}

static int call_differs(int rank, uint64_t sign, uint64_t bytes, int other,
                        uint64_t his_sign, uint64_t his_bytes,
                        struct hpcboot_error *err)
{
    char ours[128], theirs[128];

    put_call(ours, sizeof ours, sign, bytes);
    put_call(theirs, sizeof theirs, his_sign, his_bytes);
    return hb_fail(err, HPCBOOT_ERR_USAGE,
                   "the ranks of a team have made different calls: rank %d "
                   "%s, rank %d %s", rank, ours, other, theirs);
}

int hb_coll_made_differ(int rank, const struct hb_coll_made *made, int other,
                        const struct hb_coll_made *his,
                        struct hpcboot_error *err)
{
    return call_differs(rank, made->sign, made->bytes, other, his->sign,
                           his->bytes, err);
}

int hb_lengths_differ(int call, int from, uint64_t sent, int to,
                      uint64_t expected, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_USAGE,
                   "%s: the counts differ: rank %d sends %llu bytes to rank "
                   "%d, which expects %llu", hb_coll_name(call), from,
                   (unsigned long long)sent, to,
                   (unsigned long long)expected);
}

void hb_call_found(struct hb_coll_team *t, const struct hb_op *op,
                   int found, struct hpcboot_error *err)
{
    const struct hb_lengths *l = &t->lengths;
    if (found == HB_LENGTHS) {
        hb_lengths_differ(op->coll, l->from, l->sent, t->rank, l->expected,
                          err);
        return;
    }
    uint64_t word = hb_shm_cell(t, t->want, t->round)->word;
    uint64_t his = word & ((1u << HB_SIGN_BITS) - 1);
    call_differs(t->rank, op->sign, op->word, t->local[t->want], his,
                    word >> HB_SIGN_BITS, err);
}

static int judge(struct hb_coll_req *r, struct hpcboot_error *err)
{
    const struct hb_coll_team *t = r->team;
    const struct side *mine = r->sides, *theirs = mine + t->size;

    for (int i = 0; i < t->size; i++) {
        const struct side *m = &mine[i], *h = &theirs[i];
        bool same = h->sign == m->sign, other = i != t->rank;
        if (same && other && h->to != m->from) {
            return hb_lengths_differ(r->call, i, h->to, t->rank, m->from, err);
        }
        if (same && other && h->from != m->to) {
            return hb_lengths_differ(r->call, t->rank, m->to, i, h->from, err);
        }
        if (!same || h->bytes != m->bytes) {
            return call_differs(t->rank, m->sign, m->bytes, i, h->sign,
                                   h->bytes, err);
        }
    }
    return HPCBOOT_OK;
}

static uint64_t bytes_of(const struct hb_coll_team *t,
                         const struct hpcboot_coll_args *a)
{
    uint64_t n = a->count;

    if (a->coll == HPCBOOT_COLL_BARRIER || hb_call_is_loose(a->coll)) {
        return 0;
    }
    if (hb_call_has_row(a->coll)) {
        n = 0;
        for (int i = 0; i < t->size; i++) {
            n += a->recv_counts[i];
        }
    }
    return n * hb_coll_type_size(a->type);
}

/* What goes to rank j and what comes from it, in elements. */
static void fill_lengths(const struct hb_coll_team *t,
                         const struct hpcboot_coll_args *a, int j,
                         struct side *s)
{
    bool in_place = a->send == HPCBOOT_IN_PLACE;
    switch (a->coll) {
    case HPCBOOT_COLL_GATHERV:
        s->to = j == a->root ? a->count : 0;
        s->from = t->rank == a->root ? a->recv_counts[j] : 0;
        return;
    case HPCBOOT_COLL_SCATTERV:
        s->to = t->rank == a->root ? a->send_counts[j] : 0;
        s->from = j == a->root ? a->count : 0;
        return;
    case HPCBOOT_COLL_ALLTOALLV:
        s->to = in_place ? a->recv_counts[j] : a->send_counts[j];
        s->from = a->recv_counts[j];
        return;
    case HPCBOOT_COLL_ALLGATHERV:
        s->to = a->recv_counts[t->rank];
        s->from = a->recv_counts[j];
        return;
    case HPCBOOT_COLL_REDUCE_SCATTER:
        s->to = a->recv_counts[j];
        s->from = a->recv_counts[t->rank];
        return;
    default:
        return;
    }
}

static void fill_sides(const struct hb_coll_req *r, struct side *sides)
{
    uint64_t e = hb_coll_type_size(r->args.type);
    bool always = r->team->deterministic ||
                  (r->args.flags & HPCBOOT_DETERMINISTIC) != 0;

    for (int j = 0; j < r->team->size; j++) {
        struct side *s = &sides[j];
        s->sign = hb_call_sign(&r->args);
        s->sign |= always && hb_call_folds(r->args.coll) ? DETERMINISTIC : 0;
        s->bytes = bytes_of(r->team, &r->args);
        fill_lengths(r->team, &r->args, j, s);
        s->to *= e;
        s->from *= e;
    }
}

int hb_check_make(const struct hb_coll_req *r, struct hb_coll_req **out,
                  struct hpcboot_error *err)
{
    size_t n = (size_t)r->team->size;
    struct side *sides = calloc(2 * n, sizeof *sides);
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    int rc;

    if (sides == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory to compare calls");
    }
    fill_sides(r, sides);
    a.coll = HPCBOOT_COLL_ALLTOALL;
    a.type = HPCBOOT_BYTE;
    a.send = sides;
    a.recv = sides + n;
    a.count = sizeof *sides;
    a.timeout_ms = r->args.timeout_ms;
    rc = hb_coll_init(r->team, &a, NULL, out, err);
    if (rc != HPCBOOT_OK) {
        free(sides);
        return rc;
    }
    (*out)->judge = judge;
    (*out)->sides = sides;
    (*out)->call = r->call;
    return HPCBOOT_OK;
}
