/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Teams that span nodes. */

#include "config.h"

#include "lib/base/error.h"
#include "lib/coll/impl.h"

int hb_net_setup(struct hb_coll_team *t, struct hb_op *op,
                 struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                   "%s: the team spans %d nodes", hb_coll_name(op->coll),
                   t->nodes);
}

void hb_net_clear(void *net)
{
}
