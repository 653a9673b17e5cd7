/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Key sniffing on any bytes: what it points at lies inside, and begins with the
 * line it should. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trust/keyfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_key_sniff sniff;

    if (hb_key_sniff((const char *)data, size, &sniff) != HB_KEY_NONE
        && (sniff.begin >= sniff.end || sniff.end > size
            || memcmp(data + sniff.begin, "-----BEGIN ", 11) != 0)) {
        abort();
    }
    return 0;
}
