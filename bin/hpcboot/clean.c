/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#include "config.h"

#include "bin/hpcboot/clean.h"

#include <stdio.h>

#include "lib/base/str.h"

void hb_clean_copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text);
    hb_mask_controls(out);
}
