/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TRUST_BASE64_H
#define HB_TRUST_BASE64_H

#include <stddef.h>

#include "lib/base/str.h"

/* The alphabet of RFC 4648 with padding. */
#define HB_BASE64_ROOM(len) ((len) / 4 * 3 + 3) /* bytes that may come of it */

/* Decodes a text, passing over blanks and line ends; `out` has room for
 * HB_BASE64_ROOM(len) bytes. Returns how many came, or -1: not base64. */
long hb_base64_decode(const char *text, size_t len, unsigned char *out);
/* Appends; a line end after each `width` characters and at the end, or none
 * at all where width is 0. */
void hb_base64_encode(struct hb_str *out, const void *data, size_t len,
                      size_t width);

#endif
