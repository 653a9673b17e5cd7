/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Answers to PINGs: one at a time in the queue.
 */
#include "config.h"

#include "bin/link/pong.h"

#include <stdlib.h>

#include "lib/base/clock.h"

uint32_t hb_load_milli(void)
{
    double load = 0;

    return getloadavg(&load, 1) == 1 ? (uint32_t)(load * 1000) : 0;
}

void hb_pong_ask(struct hb_pong *p, const struct hb_frame *ping,
                 uint64_t time_ns)
{
    p->is_asked = 1;
    p->epoch = ping->epoch;
    p->src = ping->src;
    p->dst = ping->dst;
    p->time_ns = time_ns;
}

void hb_pong_sent(struct hb_pong *p, size_t n)
{
    p->to_go -= n < p->to_go ? n : p->to_go;
}

int hb_pong_put(struct hb_pong *p, struct hb_buf *out)
{
    struct hb_msg_pong m;

    if (!p->is_asked || p->to_go > 0) {
        return 0;
    }
    p->is_asked = 0;
    m = (struct hb_msg_pong){.echo_ns = p->time_ns,
                             .time_ns = (uint64_t)hb_now_ns(),
                             .load_milli = hb_load_milli()};
    (void)hb_wire_put_pong(out, p->epoch, p->dst, p->src, &m, NULL);
    p->to_go = hb_buf_left(out);
    return 1;
}
