/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Decoding of private keys on any bytes: what comes of it fits into the room
 * that was made, and what is encoded again is decoded to the same. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/trust/base64.h"
#include "lib/trust/gangkey.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(const char *text, size_t size)
{
    unsigned char *out = hb_xmalloc(HB_BASE64_ROOM(size));
    long n = hb_base64_decode(text, size, out);
    struct hb_str again = HB_STR_INIT;
    unsigned char *second;

    if (n > (long)HB_BASE64_ROOM(size)) {
        abort();
    }
    if (n > 0) {
        hb_base64_encode(&again, out, (size_t)n, 70);
        second = hb_xmalloc(HB_BASE64_ROOM(again.len));
        if (hb_base64_decode(again.s, again.len, second) != n
            || memcmp(out, second, (size_t)n) != 0) {
            abort();
        }
        free(second);
    }
    hb_str_destroy(&again);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = hb_xstrndup((const char *)data, size);
    struct hb_secret secret = {0};
    struct hb_key_sniff sniff;
    char label[HB_HOST_LABEL_MAX + 1];

    decode((const char *)data, size);
    hb_key_sniff(text, strlen(text), &sniff);
    if (hb_gang_secret(text, &sniff, "key", &secret, NULL) == HPCBOOT_OK
        && secret.len >= size) {
        abort();
    }
    hb_secret_free(&secret);
    if (hb_host_label(text, label) && strpbrk(label, ".:ABC")) {
        abort();
    }
    free(text);
    return 0;
}
