/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * The search for the magic, fed in pieces: the first byte of the input says
 * how large they are. What comes out must be what one look at the whole text
 * finds.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/link/preamble.h"
#include "lib/base/str.h"
#include "lib/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void collect(void *arg, const char *text, size_t len)
{
    hb_str_putn(arg, text, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_preamble p = {0};
    struct hb_str chatter = HB_STR_INIT;
    size_t piece, at = 0, n, used, expected;
    const char *text, *found;

    if (size < 2) {
        return 0;
    }
    piece = 1 + data[0];
    text = (const char *)data + 1;
    size--;
    found = memmem(text, size, HB_WIRE_MAGIC, HB_WIRE_MAGIC_LEN);
    while (at < size && !hb_preamble_over(&p)) {
        n = piece < size - at ? piece : size - at;
        used = hb_preamble_feed(&p, text + at, n, collect, &chatter);
        if (used != n && !hb_preamble_over(&p)) {
            abort();
        }
        at += used;
    }
    /* Without a magic the last bytes may still be the start of one. */
    expected = found != NULL ? (size_t)(found - text) : size - p.matched;
    if (hb_preamble_over(&p) != (found != NULL) || chatter.len != expected
        || memcmp(hb_str_text(&chatter), text, expected) != 0
        || (found != NULL && at != expected + HB_WIRE_MAGIC_LEN)) {
        abort();
    }
    hb_str_destroy(&chatter);
    return 0;
}
