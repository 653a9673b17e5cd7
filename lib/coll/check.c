/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* HPCBOOT_CHECK: do all ranks of a team make the same call? On one node ranks
 * compare what stands beside the flags of the first round (shm.c). Between
 * nodes an allgather goes before each call, which is itself always the same:
 * so it is sound whatever follows it. It is a request like any other, runs in
 * its turn, and fails the team where calls differ. Here are both the request
 * and the sentence. */

#include "config.h"

#include "lib/coll/engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/error.h"

struct side {
    uint64_t sign, bytes;
};

static void put_call(char *out, size_t size, uint64_t sign, uint64_t bytes)
{
    int op = (int)(sign >> 10 & 31);
    bool folds = hb_call_folds((enum hpcboot_coll)(sign & 31));

    snprintf(out, size, "%s of %llu bytes (type %s, %s%s%sroot %d)",
             hb_coll_name(sign & 31), (unsigned long long)bytes,
             hb_coll_type_name(sign >> 5 & 31), folds ? "op " : "",
             folds ? hb_coll_op_name(op == 31 ? HPCBOOT_OP_USER : op) : "",
             folds ? ", " : "", (int)(sign >> 15 & 511));
}

int hb_call_differs(int rank, uint64_t sign, uint64_t bytes, int other,
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

static int judge(struct hb_coll_req *r, struct hpcboot_error *err)
{
    const struct hb_coll_team *t = r->team;
    const struct side *mine = r->sides, *all = mine + 1;

    for (int i = 0; i < t->size; i++) {
        if (all[i].sign != mine->sign || all[i].bytes != mine->bytes) {
            return hb_call_differs(t->rank, mine->sign, mine->bytes, i,
                                   all[i].sign, all[i].bytes, err);
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
    if (a->recv_counts != NULL) { /* the same list at all ranks */
        n = 0;
        for (int i = 0; i < t->size; i++) {
            n += a->recv_counts[i];
        }
    }
    return n * hb_coll_type_size(a->type);
}

int hb_check_make(const struct hb_coll_req *r, struct hb_coll_req **out,
                  struct hpcboot_error *err)
{
    size_t n = (size_t)r->team->size + 1;
    struct side *sides = calloc(n, sizeof *sides);
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    int rc;

    if (sides == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory to compare calls");
    }
    sides->sign = hb_call_sign(&r->args);
    sides->bytes = bytes_of(r->team, &r->args);
    a.coll = HPCBOOT_COLL_ALLGATHER;
    a.type = HPCBOOT_BYTE;
    a.send = sides;
    a.recv = sides + 1;
    a.count = sizeof *sides;
    a.timeout_ms = r->args.timeout_ms;
    rc = hb_coll_init(r->team, &a, NULL, out, err);
    if (rc != HPCBOOT_OK) {
        free(sides);
        return rc;
    }
    (*out)->judge = judge;
    (*out)->sides = sides;
    return HPCBOOT_OK;
}
