/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The offset of a peer's clock, from the moments that it speaks of. A word that
 * was long on its way says little: it replaces an older one only when it can be
 * less wrong than that has become since. */
#include "config.h"

#include "bin/link/offset.h"

/* Quartz clocks part by up to 100 ppm: so much does an old word lose. */
#define DRIFT_DIVISOR 10000

int64_t hb_offset_at(const struct hb_offset *o, int64_t now_ns)
{
    return o->heard_ns == 0
               ? 0 : o->ns - (now_ns - o->heard_ns) / DRIFT_DIVISOR;
}

void hb_offset_heard(struct hb_offset *o, uint64_t theirs_ns, int64_t now_ns)
{
    int64_t ns = (int64_t)(theirs_ns - (uint64_t)now_ns);

    if (o->heard_ns == 0 || ns > hb_offset_at(o, now_ns)) {
        o->ns = ns;
        o->heard_ns = now_ns;
    }
}
