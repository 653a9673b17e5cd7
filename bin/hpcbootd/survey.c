/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Tells the launcher what this host looks like inside: a signature, and the
 * whole description when it asks for that too, which it does of one host of
 * each kind. A host that cannot look says why and stays of use. */
#include "config.h"

#include "bin/hpcbootd/agent.h"
#include "lib/topo/here.h"

/* FNV-1a over the description: hosts of one gang are no enemies. */
static uint64_t signature(const struct hb_buf *b)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < b->len; i++) {
        h = (h ^ b->data[i]) * 0x100000001b3u;
    }
    return h;
}

int agent_survey(struct agent *a, const struct hb_frame *f,
                 struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};
    struct hb_msg_survey m;
    struct hb_buf b;
    int rc = hb_wire_get_survey(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    hb_buf_init(&b, HB_TOPO_BYTES_MAX);
    if (hb_here_load(&a->here, &why) < 0) {
        AGENT_SEND(a, surveyed, .text = why.text);
        return 0;
    }
    hb_topo_encode(a->here.topo, &b);
    AGENT_SEND(a, surveyed, .signature = signature(&b),
               .topology = {b.data, m.whole ? b.len : 0}, .text = "");
    hb_buf_destroy(&b);
    return 0;
}
