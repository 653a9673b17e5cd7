/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_MISSING_H
#define HB_JOB_MISSING_H

#include <stddef.h>

#include "bin/boot/boot.h"
#include "lib/base/str.h"

/* Hosts that did not come up, told by what is wrong with them: "3 hosts do
 * not resolve: a, b, c; 1 refuses port 22: d". No I/O. */
struct hb_missing {
    const char *host;
    const struct hb_boot_reason *reason;
};

/* Appends the sentence; many names become ranges, or the first of them. */
void hb_missing_text(const struct hb_missing *m, size_t n, struct hb_str *out);
/* Both are told in the same breath. */
int hb_missing_alike(const struct hb_missing *a, const struct hb_missing *b);
/* What is wrong with one host: "refuses port 22"; NULL where only its own
 * words can tell. */
const char *hb_missing_words(const struct hb_boot_reason *reason, char *text,
                             size_t size);
/* The reason as one word for programs: "no-name", "refused". */
const char *hb_missing_key(enum hb_boot_why why);

#endif
