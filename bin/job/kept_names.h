/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_KEPT_NAMES_H
#define HB_JOB_KEPT_NAMES_H

#include "lib/wire/wire.h"

/* The names that are published, at the first launcher. */
struct kept_names { /* zeroed: none */
    struct name *v;
    size_t n, n_left; /* the latter: after a job that took part */
    int full_said;
};

/* Removed: what servers of PMIx have published of the job behind it. */
#define KEPT_NAMES_OVER "hpcboot/over/"

/* The status of the answer; a value is borrowed. */
int kept_names_say(struct kept_names *all, const struct hb_msg_name *m,
                   struct hb_bytes *value_out);
/* It has been answered: what it removes goes, and what was there for it. */
void kept_names_said(struct kept_names *all, const struct hb_msg_name *m);
void kept_names_clear(struct kept_names *all);

#endif
