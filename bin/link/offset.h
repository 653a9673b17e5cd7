/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_LINK_OFFSET_H
#define HB_LINK_OFFSET_H

#include <stdint.h>

/* How far the clock of another process is from ours, as its quickest word
 * shows. Start from zero.
 *
 * It is the least that it can be: a moment of theirs that is corrected by it is
 * the one at which we could have heard of it, never an earlier one. So what
 * follows from something that we were told comes after that, whatever the
 * delays were; the middle of a round trip is nearer to the truth where both
 * ways are alike, and may be wrong either way where they are not, as on
 * machines with much else to do. */
struct hb_offset {
    int64_t ns;       /* theirs minus ours; 0: not known */
    int64_t heard_ns; /* when that was heard, by our clock; 0: never */
};

/* They read `theirs_ns` some time before `now_ns` of ours. */
void hb_offset_heard(struct hb_offset *o, uint64_t theirs_ns, int64_t now_ns);
/* The offset, less what the clocks may have parted since it was heard. */
int64_t hb_offset_at(const struct hb_offset *o, int64_t now_ns);

#endif
