/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Base64, for key files. Strict where an error would change what is decoded:
 * other characters, bytes after the padding, bits that are left over. */
#include "config.h"

#include "lib/trust/base64.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    "abcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char c)
{
    const char *p = c != '\0' ? strchr(digits, c) : NULL;

    return p ? (int)(p - digits) : -1;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

long hb_base64_decode(const char *text, size_t len, unsigned char *out)
{
    unsigned bits = 0, n_bits = 0, padding = 0;
    size_t n = 0, n_digits = 0;

    for (size_t i = 0; i < len; i++) {
        int v;

        if (is_blank(text[i])) {
            continue;
        }
        if (text[i] == '=') {
            padding++;
            continue;
        }
        v = value_of(text[i]);
        if (v < 0 || padding > 0) {
            return -1;
        }
        bits = bits << 6 | (unsigned)v;
        n_bits += 6;
        n_digits++;
        if (n_bits >= 8) {
            n_bits -= 8;
            out[n++] = (unsigned char)(bits >> n_bits);
            bits &= (1u << n_bits) - 1;
        }
    }
    if (bits != 0 || padding > 2 || (n_digits + padding) % 4 != 0) {
        return -1;
    }
    return (long)n;
}

void hb_base64_encode(struct hb_str *out, const void *data, size_t len,
                      size_t width)
{
    const unsigned char *p = data;
    size_t column = 0;

    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        unsigned v = (unsigned)p[i] << 16;
        char quad[4];

        v |= left > 1 ? (unsigned)p[i + 1] << 8 : 0;
        v |= left > 2 ? p[i + 2] : 0;
        for (int k = 0; k < 4; k++) {
            quad[k] = digits[v >> (18 - 6 * k) & 63];
        }
        if (left < 3) {
            quad[3] = '=';
        }
        if (left < 2) {
            quad[2] = '=';
        }
        for (int k = 0; k < 4; k++) {
            hb_str_putc(out, quad[k]);
            if (++column == width) {
                hb_str_putc(out, '\n');
                column = 0;
            }
        }
    }
    if (width > 0 && column > 0) {
        hb_str_putc(out, '\n');
    }
}
