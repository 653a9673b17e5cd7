/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#include "config.h"

#include "bin/hpcboot/clean.h"

void hb_clean_copy(char *out, size_t size, const char *text)
{
    size_t n = 0;

    for (; *text != '\0' && n + 1 < size; text++) {
        out[n++] = *text >= ' ' && *text != 0x7f ? *text : '?';
    }
    out[n] = '\0';
}
