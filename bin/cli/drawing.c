/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Boxes, texts and lines, and their form as SVG. Texts may hold anything: what
 * XML gives a meaning is written as an entity, control characters are left out,
 * and what is no character is shown as one that nobody knows. */
#include "config.h"

#include "bin/cli/drawing.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/module_load.h"
#include "lib/base/str.h"

#define MARGIN 8.0

void hb_drawing_box(struct hb_drawing *d, double x, double y, double width,
                    double height, uint32_t fill, const char *text)
{
    double right = x + width + MARGIN, bottom = y + height + MARGIN;

    d->v = hb_xrealloc(d->v, (d->n + 1) * sizeof *d->v);
    d->v[d->n++] = (struct hb_shape){
        .x = x, .y = y, .width = width, .height = height, .fill = fill,
        .text = text != NULL ? hb_xstrdup(text) : NULL};
    d->width = right > d->width ? right : d->width;
    d->height = bottom > d->height ? bottom : d->height;
}

void hb_drawing_line(struct hb_drawing *d, double x, double y, double width,
                     double height, uint32_t stroke)
{
    hb_drawing_box(d, x, y, width, height, stroke, NULL);
    d->v[d->n - 1].is_line = 1;
}

void hb_drawing_destroy(struct hb_drawing *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->v[i].text);
    }
    free(d->v);
    memset(d, 0, sizeof *d);
}

static void put_text(struct hb_str *out, const char *text)
{
    size_t n;

    for (; *text != '\0'; text += n > 0 ? n : 1) {
        n = hb_utf8_len((const unsigned char *)text);
        switch (*text) {
        case '<': hb_str_put(out, "&lt;"); break;
        case '>': hb_str_put(out, "&gt;"); break;
        case '&': hb_str_put(out, "&amp;"); break;
        default:
            if (n == 0 || strncmp(text, "\xef\xbf\xbe", 3) == 0 ||
                strncmp(text, "\xef\xbf\xbf", 3) == 0) {
                hb_str_put(out, "\xef\xbf\xbd"); /* U+FFFD */
            } else if ((unsigned char)*text >= ' ') {
                hb_str_putn(out, text, n);
            }
        }
    }
}

void hb_drawing_svg(const struct hb_drawing *d, struct hb_str *out)
{
    hb_str_putf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" "
                "width=\"%g\" height=\"%g\" font-family=\"sans-serif\" "
                "font-size=\"%g\">\n<rect width=\"100%%\" height=\"100%%\" "
                "fill=\"#ffffff\"/>\n", d->width, d->height, HB_DRAWING_FONT);
    for (size_t i = 0; i < d->n; i++) {
        const struct hb_shape *s = &d->v[i];

        if (s->is_line) {
            hb_str_putf(out, "<line x1=\"%g\" y1=\"%g\" x2=\"%g\" "
                        "y2=\"%g\" stroke=\"#%06x\" stroke-width=\"2\"/>\n",
                        s->x, s->y, s->x + s->width, s->y + s->height,
                        s->fill);
        } else if (s->width > 0) {
            hb_str_putf(out, "<rect x=\"%g\" y=\"%g\" width=\"%g\" "
                        "height=\"%g\" fill=\"#%06x\" stroke=\"#404040\"/>\n",
                        s->x, s->y, s->width, s->height, s->fill);
        }
        if (s->text != NULL) {
            hb_str_putf(out, "<text x=\"%g\" y=\"%g\">", s->x + 3,
                        s->y + HB_DRAWING_FONT + 1);
            put_text(out, s->text);
            hb_str_put(out, "</text>\n");
        }
    }
    hb_str_put(out, "</svg>\n");
}

int hb_drawing_png(const struct hb_drawing *d, struct hb_buf *out,
                   struct hpcboot_error *err)
{
    const void *symbol = NULL;
    int rc = hb_module_open("hb_cairo", "hb_cairo_painter", &symbol, err);

    return rc < 0 ? rc : ((const struct hb_painter *)symbol)->png(d, out, err);
}
