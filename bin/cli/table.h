/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_TABLE_H
#define HB_CLI_TABLE_H

#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

/* Text in columns, for --dry-run and its kin. Columns are parted by two
 * blanks; one that holds only numbers is aligned to the right, but for names,
 * some of which are made of digits. */
struct hb_table {
    struct hb_strv cells; /* row by row, the headings first */
    size_t n_columns;
    unsigned names; /* bit c: column c has names */
};

/* headings: NULL-terminated, copied. */
void hb_table_begin(struct hb_table *t, const char *const *headings);
void hb_table_cell(struct hb_table *t, const char *fmt, ...) HB_PRINTF(2, 3);
/* Appends the lines; a last row may be short. */
void hb_table_put(const struct hb_table *t, struct hb_str *out);
void hb_table_destroy(struct hb_table *t); /* leaves it empty */

#endif
