/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_LINK_OFFSET_H
#define HB_LINK_OFFSET_H

#include <stdint.h>

/* How far the clock of a link's other end is from ours. Start from zero. */
struct hb_offset {
    int64_t ns;       /* theirs minus ours; 0: not known */
    int64_t error_ns; /* the most that it was wrong by when it was measured */
    int64_t measured_ns; /* by our clock; 0: it is a guess */
};

/* A guess, which the first measurement replaces. */
void hb_offset_guess(struct hb_offset *o, int64_t ns);
/* They read `theirs_ns` between `sent_ns` and `now_ns` of ours. */
void hb_offset_measure(struct hb_offset *o, uint64_t sent_ns,
                       uint64_t theirs_ns, int64_t now_ns);

#endif
