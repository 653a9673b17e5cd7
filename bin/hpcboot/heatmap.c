/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The traffic between hosts as a picture: a row for each that sends, a column
 * for each that receives. A cell's colour is how far it is from the median:
 * green as most are, red at four times as slow, black where nothing arrived,
 * white where nothing was tried. Large gangs get small cells without
 * numbers. */
#include "config.h"

#include "bin/hpcboot/heatmap.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define LEFT 8.0
#define LINE 18.0
#define NAME_WIDTH 96.0
#define NUMBERED_MAX 24u /* hosts whose cells have room for numbers */
#define CELL_WIDTH 52.0
#define CELL_HEIGHT 18.0
#define SMALL_CELL 6.0
#define TITLE_WIDTH 420.0
#define NOT_TRIED 0xffffffu
#define NOTHING_ARRIVED 0x202020u
#define SLOWEST 4.0 /* times the median: the last colour */

struct map {
    const struct hb_traffic *t;
    const struct hb_traffic_cell **table;
    const char *title;
    int is_rate;
    double top, width, height; /* of a cell */
};

/* 1: as most are; 4: as bad as it is shown. */
static double badness(const struct map *m, const struct hb_traffic_cell *c)
{
    double value = m->is_rate ? (double)m->t->kbps : (double)c->min_ns;
    double by = m->is_rate ? (double)c->kbps : (double)m->t->latency_ns;

    return by > 0 ? value / by : 1;
}

static uint32_t colour_of(const struct map *m, const struct hb_traffic_cell *c)
{
    double bad;

    if (c == NULL) {
        return NOT_TRIED;
    }
    if (c->failed != NULL && (m->is_rate || !c->large_only)) {
        return NOTHING_ARRIVED;
    }
    bad = (badness(m, c) - 1) / (SLOWEST - 1);
    bad = bad < 0 ? 0 : bad > 1 ? 1 : bad;
    /* green to yellow to red */
    return (uint32_t)(bad < 0.5 ? 120 + 270 * bad : 255) << 16 |
           (uint32_t)(bad < 0.5 ? 200 : 200 - 300 * (bad - 0.5)) << 8 | 0x60u;
}

static void put_value(const struct map *m, const struct hb_traffic_cell *c,
                      struct hb_str *out)
{
    if (c == NULL || c->failed != NULL) {
        return;
    }
    if (m->is_rate) {
        hb_str_putf(out, "%.0f", (double)c->kbps / 1e3);
    } else {
        hb_str_putf(out, "%.0f", (double)c->min_ns / 1e3);
    }
}

static void draw_row(const struct map *m, uint32_t from, int numbered,
                     struct hb_drawing *out)
{
    double y = m->top + 2 * LINE + from * m->height;

    if (numbered) {
        hb_drawing_box(out, LEFT, y, 0, LINE, 0, m->t->hosts[from].name);
    }
    for (uint32_t to = 0; to < m->t->n; to++) {
        const struct hb_traffic_cell *c =
            m->table[(size_t)from * m->t->n + to];
        struct hb_str text = HB_STR_INIT;

        if (numbered) {
            put_value(m, c, &text);
        }
        hb_drawing_box(out, LEFT + NAME_WIDTH + to * m->width, y, m->width,
                       m->height, colour_of(m, c), text.s);
        hb_str_destroy(&text);
    }
}

/* Returns where it ends. */
static double draw_map(const struct map *m, struct hb_drawing *out)
{
    int numbered = m->t->n <= NUMBERED_MAX;

    hb_drawing_box(out, LEFT, m->top, 0, LINE, 0, m->title);
    hb_drawing_box(out, LEFT + TITLE_WIDTH, m->top, 0, 0, 0, NULL);
    for (uint32_t to = 0; numbered && to < m->t->n; to++) {
        char *name = hb_xasprintf("%.8s", m->t->hosts[to].name);

        hb_drawing_box(out, LEFT + NAME_WIDTH + to * m->width, m->top + LINE,
                       0, LINE, 0, name);
        free(name);
    }
    for (uint32_t from = 0; from < m->t->n; from++) {
        draw_row(m, from, numbered, out);
    }
    return m->top + 3 * LINE + m->t->n * m->height;
}

void hb_heatmap_draw(const struct hb_traffic *t, struct hb_drawing *out)
{
    int numbered = t->n <= NUMBERED_MAX;
    struct map m = {.t = t, .top = LEFT, .table = hb_traffic_table(t),
                    .width = numbered ? CELL_WIDTH : SMALL_CELL,
                    .height = numbered ? CELL_HEIGHT : SMALL_CELL};
    char *titles[2];

    titles[0] = hb_xasprintf("latency there and back in us, median %.0f; "
                             "rows send to columns",
                             (double)t->latency_ns / 1e3);
    titles[1] = hb_xasprintf("bandwidth in MB/s, median %.0f",
                             (double)t->kbps / 1e3);
    for (int i = 0; i < 2; i++) {
        m.title = titles[i];
        m.is_rate = i;
        m.top = draw_map(&m, out);
        free(titles[i]);
    }
    free(m.table);
}
