/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a job of hosts like this one would know of the network between them,
 * without a job: from the same places as the cards of its ranks have it. */

#include "config.h"

#include "lib/coll/model.h"

#include "lib/xport/choose.h"

void hb_net_facts_here(struct hb_coll_net_facts *out, char *path, size_t size)
{
    struct hb_coll_model kept = {0};
    struct hb_caps caps = {0};
    bool device = hb_caps_rdma("", NULL, 0, &caps, NULL) &&
                  caps.ucx_kind < HB_UCX_SOFT;
    hb_caps_net("", &caps);
    *out = (struct hb_coll_net_facts){
        .kind = device ? HB_COLL_NET_RDMA : HB_COLL_NET_TCP,
        .mbps = device ? caps.ucx_mbps : caps.tcp_mbps, .rails = 1};
    hb_net_here(&kept, true, path, size);
    hb_coll_net_costs(false, &out->send_ns, &out->recv_ns);
    if (size > 0 && (kept.send_ns != out->send_ns ||
                     kept.recv_ns != out->recv_ns)) {
        *path = '\0'; /* the user says otherwise */
    }
}
