/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The module hb_cairo: a drawing as PNG. A surface larger than cairo can make
 * is an error of its own, and so is what it reports at the end. */
#include "config.h"

#include <cairo.h>

#include "bin/cli/drawing.h"

#define SIDE_MAX 32767 /* cairo's image surfaces */

static void set_colour(cairo_t *c, uint32_t rgb)
{
    cairo_set_source_rgb(c, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
                         (rgb & 255) / 255.0);
}

static void paint(cairo_t *c, const struct hb_drawing *d)
{
    set_colour(c, 0xffffff);
    cairo_paint(c);
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, HB_DRAWING_FONT);
    cairo_set_line_width(c, 1);
    for (size_t i = 0; i < d->n; i++) {
        const struct hb_shape *s = &d->v[i];

        if (s->is_line) {
            cairo_move_to(c, s->x, s->y);
            cairo_line_to(c, s->x + s->width, s->y + s->height);
            set_colour(c, s->fill);
            cairo_stroke(c);
        } else if (s->width > 0) {
            cairo_rectangle(c, s->x + 0.5, s->y + 0.5, s->width, s->height);
            set_colour(c, s->fill);
            cairo_fill_preserve(c);
            set_colour(c, 0x404040);
            cairo_stroke(c);
        }
        if (s->text != NULL) {
            set_colour(c, 0);
            cairo_move_to(c, s->x + 3, s->y + HB_DRAWING_FONT + 1);
            cairo_show_text(c, s->text);
        }
    }
}

static cairo_status_t take(void *arg, const unsigned char *data,
                           unsigned int len)
{
    struct hb_buf *out = arg;

    hb_buf_put_raw(out, data, len);
    return hb_buf_failed(out) ? CAIRO_STATUS_WRITE_ERROR
                              : CAIRO_STATUS_SUCCESS;
}

static int png(const struct hb_drawing *d, struct hb_buf *out,
               struct hpcboot_error *err)
{
    cairo_surface_t *surface;
    cairo_status_t status;
    cairo_t *c;

    if (d->width > SIDE_MAX || d->height > SIDE_MAX) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT, "the picture has %g x %g "
                       "pixels, a PNG up to %d on each side; use svg",
                       d->width, d->height, SIDE_MAX);
    }
    surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)d->width,
                                         (int)d->height);
    c = cairo_create(surface);
    paint(c, d);
    status = cairo_status(c);
    if (status == CAIRO_STATUS_SUCCESS) {
        status = cairo_surface_write_to_png_stream(surface, take, out);
    }
    cairo_destroy(c);
    cairo_surface_destroy(surface);
    return status == CAIRO_STATUS_SUCCESS
               ? HPCBOOT_OK
               : hb_fail(err, HPCBOOT_ERR_SYSTEM, "the picture cannot be "
                         "made: %s", cairo_status_to_string(status));
}

extern const struct hb_painter hb_cairo_painter;
const struct hb_painter hb_cairo_painter = {.png = png};
