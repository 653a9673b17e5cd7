/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_CLEAN_H
#define HB_HPCBOOT_CLEAN_H

#include <stddef.h>

/* What other hosts and programs say goes to the user's terminal: a copy that
 * has nothing a terminal would obey, and no tab. */
void hb_clean_copy(char *out, size_t size, const char *text);

#endif
