/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TRUST_SECRET_H
#define HB_TRUST_SECRET_H

#include <stddef.h>

/* Bytes nobody else is to see: kept out of core files, out of children's
 * memory (they read zeros) and, where the limit allows, off the swap device;
 * overwritten when freed. Starts as all zeros. */
struct hb_secret {
    unsigned char *data;
    size_t len;
    size_t mapped; /* whole pages */
};

/* Room for len bytes, which are 0; aborts where there is no memory. */
void hb_secret_alloc(struct hb_secret *s, size_t len);
void hb_secret_copy(struct hb_secret *s, const void *data, size_t len);
void hb_secret_free(struct hb_secret *s); /* leaves it empty */

/* From here on the kernel writes no core file of this process, and processes
 * of the same user can neither trace it nor read its memory. */
void hb_secret_shut_process(void);

#endif
