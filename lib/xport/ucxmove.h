/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_XPORT_UCXMOVE_H
#define HB_XPORT_UCXMOVE_H

#include <stddef.h>

/* What the module hb_ucx.so makes of UCX to copy between the memory of a
 * device and the host's, in plain types as in ucxlib.h. One thread at a
 * time. */
enum hb_ucxmove_kind { HB_UCXMOVE_CUDA, HB_UCXMOVE_ROCM, HB_UCXMOVE_ZE };
struct hb_ucxmove; /* a context of its own, and the way to itself */

/* Functions that can fail return 0, or -1 with a text in why. */
struct hb_ucxmover {
    /* shared: libucs was there before us. Fails where this UCX, or this host,
     * has nothing for memory of that kind. */
    int (*open)(enum hb_ucxmove_kind kind, int shared, struct hb_ucxmove **out,
                char *why, size_t why_size);
    void (*close)(struct hb_ucxmove *m);
    /* One of the two is the host's: `from` if to_device. Whole on return. */
    int (*copy)(struct hb_ucxmove *m, void *to, const void *from, size_t size,
                int to_device, char *why, size_t why_size);
    const char *(*version)(void);
};
extern const struct hb_ucxmover hb_ucxmove;

#endif
