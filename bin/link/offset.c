/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The offset of a peer's clock, from the answers to our PINGs. An answer that
 * took long says little: it replaces an older one only when it can be less
 * wrong than that has become since. */
#include "config.h"

#include "bin/link/offset.h"

/* Quartz clocks part by up to 100 ppm: so much does an old measurement
 * lose. */
#define DRIFT_DIVISOR 10000

void hb_offset_guess(struct hb_offset *o, int64_t ns)
{
    *o = (struct hb_offset){.ns = ns};
}

void hb_offset_measure(struct hb_offset *o, uint64_t sent_ns,
                       uint64_t theirs_ns, int64_t now_ns)
{
    int64_t half, old_error;

    if (sent_ns > (uint64_t)now_ns) {
        return; /* not a moment of ours */
    }
    /* The most that a guess in the middle can be wrong by. */
    half = (now_ns - (int64_t)sent_ns) / 2;
    old_error = o->error_ns + (now_ns - o->measured_ns) / DRIFT_DIVISOR;
    if (o->measured_ns != 0 && half >= old_error) {
        return;
    }
    o->ns = (int64_t)(theirs_ns - (sent_ns + (uint64_t)half));
    o->error_ns = half;
    o->measured_ns = now_ns;
}
