/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Standard error of several ranks, with tracebacks in it: pieces, each with a
 * byte that says the rank (2 bits) and how often it comes, and its length in
 * front. Of no rank more is shown and kept than it has said, and of the one
 * whose traceback is let through all is shown.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/cli/fold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RANKS 4u

static void check(const struct hb_fold *f, uint32_t rank,
                  const struct hb_str *said, const struct hb_str *shown)
{
    size_t kept = strlen(hb_fold_text(f, rank));

    if (shown->len + kept > said->len) {
        abort();
    }
    if (hb_fold_first(f) == rank &&
        (shown->len != said->len ||
         memcmp(shown->s, said->s, said->len) != 0)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_str said[RANKS] = {HB_STR_INIT}, shown[RANKS] = {HB_STR_INIT};
    struct hb_strv lines = HB_STRV_INIT;
    struct hb_fold *f;

    hb_fold_create(&f, RANKS);
    while (size >= 2) {
        uint32_t rank = data[0] % RANKS;
        unsigned times = data[0] / RANKS + 1;
        size_t n = data[1] < size - 2 ? data[1] : size - 2;

        while (times-- > 0) {
            hb_str_putn(&said[rank], (const char *)data + 2, n);
            hb_fold_take(f, rank, (const char *)data + 2, n, &shown[rank]);
        }
        data += 2 + n;
        size -= 2 + n;
    }
    hb_fold_summary(f, &lines);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        check(f, rank, &said[rank], &shown[rank]);
        hb_str_destroy(&said[rank]);
        hb_str_destroy(&shown[rank]);
    }
    hb_strv_destroy(&lines);
    hb_fold_destroy(f);
    return 0;
}
