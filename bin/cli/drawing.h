/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_DRAWING_H
#define HB_CLI_DRAWING_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

/* A picture of boxes with texts in them, and lines, in pixels from the upper
 * left. Made once, and written as SVG by this program or as PNG by cairo. */
struct hb_shape {
    double x, y, width, height; /* width 0: text only */
    uint32_t fill;              /* 0xRRGGBB */
    int is_line;                /* from x, y; height may be negative */
    char *text;                 /* one line, from the upper left; or NULL */
};

struct hb_drawing {
    struct hb_shape *v;
    size_t n;
    double width, height; /* grow with the shapes */
};

/* Copies the text. */
void hb_drawing_box(struct hb_drawing *d, double x, double y, double width,
                    double height, uint32_t fill, const char *text);
/* From x, y to x + width, y + height, in the colour `stroke`. */
void hb_drawing_line(struct hb_drawing *d, double x, double y, double width,
                     double height, uint32_t stroke);
void hb_drawing_destroy(struct hb_drawing *d); /* leaves it empty */

#define HB_DRAWING_FONT 11.0 /* pixels */
#define HB_DRAWING_BYTES_MAX (64u << 20)

void hb_drawing_svg(const struct hb_drawing *d, struct hb_str *out);
/* Loads the module hb_cairo. ERR_UNSUPPORTED: it is not installed. */
int hb_drawing_png(const struct hb_drawing *d, struct hb_buf *out,
                   struct hpcboot_error *err);

/* What hb_cairo exports under the name hb_cairo_painter. */
struct hb_painter {
    int (*png)(const struct hb_drawing *d, struct hb_buf *out,
               struct hpcboot_error *err);
};

#endif
