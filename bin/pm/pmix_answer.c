/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Answers to libpmix, given on its own thread. Its callbacks for operations and
 * lookups put the answer for a client into that one's row of messages where
 * they are called, and lock nothing: while libpmix's thread sends it something
 * else, the answer is lost, and the client waits for ever. The other callbacks
 * hand over to that thread by themselves.
 *
 * The way there is a call that changes nothing, and whose callback comes on
 * that thread. */
#include "config.h"

#include <stdlib.h>

#include "bin/pm/pmix_impl.h"
#include "lib/base/str.h"

struct answer {
    pmix_op_cbfunc_t op; /* or */
    pmix_lookup_cbfunc_t lookup;
    void *cbdata;
    pmix_status_t rc;
    pmix_pdata_t *found; /* [room], of which n are answered; owned */
    size_t n, room;
};

static void give(pmix_status_t status, void *arg)
{
    struct answer *a = arg;

    if (a->lookup != NULL) {
        a->lookup(a->rc, a->n > 0 ? a->found : NULL, a->n, a->cbdata);
    } else {
        a->op(a->rc, a->cbdata);
    }
    if (a->found != NULL) {
        PMIX_PDATA_FREE(a->found, a->room);
    }
    free(a);
}

static void hand_over(const struct answer *what)
{
    struct answer *a = hb_xmalloc(sizeof *a);
    pmix_proc_t nobody;

    *a = *what;
    PMIX_LOAD_PROCID(&nobody, "nobody", 0);
    PMIx_server_deregister_client(&nobody, give, a);
}

void hb_pmix_answer(pmix_op_cbfunc_t op, pmix_status_t rc, void *cbdata)
{
    if (op != NULL) {
        hand_over(&(struct answer){.op = op, .cbdata = cbdata, .rc = rc});
    }
}

void hb_pmix_answer_lookup(pmix_lookup_cbfunc_t lookup, pmix_status_t rc,
                           void *cbdata, pmix_pdata_t *found, size_t n,
                           size_t room)
{
    hand_over(&(struct answer){.lookup = lookup, .cbdata = cbdata, .rc = rc,
                               .found = found, .n = n, .room = room});
}
