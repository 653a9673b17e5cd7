/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_KNOWN_H
#define HB_PROC_KNOWN_H

#include <stddef.h>

#include "bin/proc/procfs.h"

/* Processes that were dealt with, as they were seen first. {0} is empty; free
 * v in the end. Those that a pass has added are found in the next ones, after
 * hb_known_settle. */
struct hb_known {
    struct hb_procfs_stat *v;
    size_t n, cap, sorted;
};

int hb_known_has(const struct hb_known *k, const struct hb_procfs_stat *st);
/* It was about to end, by itself, when it was seen first. */
int hb_known_ended(const struct hb_known *k, const struct hb_procfs_stat *st);
void hb_known_add(struct hb_known *k, const struct hb_procfs_stat *st);
void hb_known_settle(struct hb_known *k);

#endif
