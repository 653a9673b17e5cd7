/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Output cut at line ends: the first byte chooses the size of the reads, the
 * rest is the output. The pieces must be the same bytes in the same order.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/proc/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct check {
    const uint8_t *expected;
    size_t left;
};

static void take(void *arg, const void *data, size_t len, unsigned flags)
{
    struct check *c = arg;

    if (len == 0 || len > HB_PIECE_MAX || len > c->left
        || memcmp(data, c->expected, len) != 0) {
        abort();
    }
    c->expected += len;
    c->left -= len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_lines l = HB_LINES_INIT;
    struct check c;
    size_t step, at;

    if (size < 1) {
        return 0;
    }
    step = (size_t)data[0] * data[0] * 4 + 1;
    c = (struct check){data + 1, size - 1};
    for (at = 1; at < size; at += step) {
        hb_lines_feed(&l, data + at, size - at < step ? size - at : step, take,
                      &c);
    }
    hb_lines_finish(&l, take, &c);
    if (c.left != 0) {
        abort();
    }
    hb_lines_destroy(&l);
    return 0;
}
