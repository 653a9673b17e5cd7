/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Plain tables. Widths are counted in characters of UTF-8, not bytes; the
 * last column is not padded, so that no line ends in blanks. */
#include "config.h"

#include "bin/cli/table.h"

#include <stdlib.h>
#include <string.h>

#define GAP "  "

void hb_table_begin(struct hb_table *t, const char *const *headings)
{
    memset(t, 0, sizeof *t);
    for (; headings[t->n_columns]; t->n_columns++) {
        hb_strv_push(&t->cells, headings[t->n_columns]);
    }
}

void hb_table_cell(struct hb_table *t, const char *fmt, ...)
{
    struct hb_str text = HB_STR_INIT;
    va_list ap;

    hb_str_put(&text, "");
    va_start(ap, fmt);
    hb_str_vputf(&text, fmt, ap);
    va_end(ap);
    hb_strv_take(&t->cells, hb_str_steal(&text));
}

static size_t width_of(const char *text)
{
    size_t n = 0;

    for (; *text; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return n;
}

static int is_number(const char *text)
{
    return text[0] && strspn(text, "0123456789.-") == strlen(text);
}

struct column {
    size_t width;
    int right;
};

static void measure(const struct hb_table *t, struct column *columns)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        columns[c].right = t->cells.n > t->n_columns &&
                           (t->names >> c & 1) == 0;
    }
    for (size_t i = 0; i < t->cells.n; i++) {
        struct column *column = &columns[i % t->n_columns];
        size_t width = width_of(t->cells.v[i]);

        if (width > column->width) {
            column->width = width;
        }
        if (i >= t->n_columns && !is_number(t->cells.v[i])) {
            column->right = 0;
        }
    }
}

static void put_blanks(struct hb_str *out, size_t n)
{
    while (n-- > 0) {
        hb_str_putc(out, ' ');
    }
}

void hb_table_put(const struct hb_table *t, struct hb_str *out)
{
    struct column *columns;

    if (t->n_columns == 0) {
        return;
    }
    columns = hb_xcalloc(t->n_columns, sizeof *columns);
    measure(t, columns);
    for (size_t i = 0; i < t->cells.n; i++) {
        size_t c = i % t->n_columns;
        int last = c + 1 == t->n_columns || i + 1 == t->cells.n;
        size_t pad = columns[c].width - width_of(t->cells.v[i]);

        if (columns[c].right) {
            put_blanks(out, pad);
        }
        hb_str_put(out, t->cells.v[i]);
        if (!columns[c].right && !last) {
            put_blanks(out, pad);
        }
        hb_str_put(out, last ? "\n" : GAP);
    }
    free(columns);
}

void hb_table_destroy(struct hb_table *t)
{
    hb_strv_destroy(&t->cells);
    t->n_columns = 0;
}
