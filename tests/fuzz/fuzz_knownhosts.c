/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* known_hosts of any bytes: the scan ends, and lines it names exist. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trust/knownhosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any function of the salt will do here. */
static int fake_hmac(const unsigned char *key, size_t key_len, const char *text,
                     size_t len, unsigned char out[HB_SHA1_BYTES])
{
    memcpy(out, key, HB_SHA1_BYTES);
    return 1;
}

static void check(const struct hb_known_place *place, int lines)
{
    if (place->line < 0 || place->line > lines
        || strlen(place->file) >= sizeof place->file) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_known_query query = {
        .host = "node-1", .port = size % 2 ? 22 : 2222,
        .key_type = "ssh-ed25519", .key_blob = "AAAA", .hmac = fake_hmac,
    };
    struct hb_known known = {0};
    int lines = 1;

    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n';
    }
    hb_known_scan((const char *)data, size, "f", &query, &known);
    check(&known.match, lines);
    check(&known.differs, lines);
    check(&known.other, lines);
    check(&known.revoked, lines);
    check(&known.authority, lines);
    if (known.n_types > HB_KNOWN_TYPES_MAX) {
        abort();
    }
    return 0;
}
