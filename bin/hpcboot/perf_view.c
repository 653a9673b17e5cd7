/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What `hpcboot perf` shows: rows as they come (a table in the columns that
 * the OSU benchmarks have, or CSV), and at the end a JSON list and a picture,
 * time over bytes, both logarithmic. */

#include "config.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/cli/drawing.h"
#include "bin/hpcboot/perf.h"
#include "bin/hpcboot/result.h"
#include "bin/job/verdict.h"
#include "lib/base/json.h"
#include "lib/base/log.h"

#define EXIT_WRONG 1

static void table_row(const struct hb_perf_view *v,
                      const struct hb_perf_row *row)
{
    if (v->n == 1 || v->rows[v->n - 2].kind != row->kind) {
        printf("%s# %s, %u ranks%s\n%-12s %12s %12s %12s %12s %12s %10s  "
               "%s\n", v->n == 1 ? "" : "\n", hb_perf_name(row->kind),
               row->ranks, row->kind == HB_PERF_PINGPONG
                               ? ", one way from the first to the last" : "",
               "# bytes", "avg(us)", "min(us)", "median(us)", "p99(us)",
               "max(us)", "calls", "check");
    }
    printf("%-12llu %12.2f %12.2f %12.2f %12.2f %12.2f %10llu  %s\n",
           (unsigned long long)row->bytes, row->avg_us, row->min_us,
           row->median_us, row->p99_us, row->max_us,
           (unsigned long long)row->calls, row->wrong == 0 ? "ok" : "WRONG");
}

void hb_perf_view_add(struct hb_perf_view *v, const struct hb_perf_row *row)
{
    char line[HB_PERF_CSV_MAX];

    v->rows = hb_xrealloc(v->rows, (v->n + 1) * sizeof *v->rows);
    v->rows[v->n++] = *row;
    if (v->form == HB_PERF_TABLE) {
        table_row(v, row);
    } else if (v->form == HB_PERF_CSV) {
        hb_perf_csv(row, line, sizeof line);
        printf("%s%s\n", v->n == 1 ? HB_PERF_CSV_HEAD "\n" : "", line);
    }
    fflush(stdout);
}

static int kind_of(const char *name)
{
    int kind = 0;

    while (kind < HB_PERF_KINDS && strcmp(hb_perf_name(kind), name) != 0) {
        kind++;
    }
    return kind < HB_PERF_KINDS ? kind : -1;
}

/* Of ranks' output, any line may come; sscanf reads "inf" and "nan" as well. */
static int are_times(const struct hb_perf_row *r)
{
    const double us[] = {r->min_us, r->median_us, r->avg_us, r->p99_us,
                         r->max_us};
    int are = 1;

    for (size_t i = 0; i < sizeof us / sizeof *us; i++) {
        are &= us[i] >= 0 && us[i] <= DBL_MAX;
    }
    return are;
}

int hb_perf_row_parse(struct hb_perf_row *out, const char *line)
{
    struct hb_perf_row r = {0};
    unsigned long long bytes, calls, wrong;
    char name[32];
    int end = 0;

    if (sscanf(line, "%31[a-z_],%u,%llu,%lf,%lf,%lf,%lf,%lf,%llu,%llu%n", name,
               &r.ranks, &bytes, &r.min_us, &r.median_us, &r.avg_us,
               &r.p99_us, &r.max_us, &calls, &wrong, &end) != 10 ||
        strcspn(line + end, "\r\n") != 0 || kind_of(name) < 0 ||
        !are_times(&r)) {
        return 0;
    }
    r.kind = kind_of(name);
    r.bytes = bytes;
    r.calls = calls;
    r.wrong = wrong;
    *out = r;
    return 1;
}

static void put_json(const struct hb_perf_view *v, struct hb_str *out)
{
    struct hb_json j;

    hb_json_begin(&j, out);
    hb_json_array(&j, NULL);
    for (size_t i = 0; i < v->n; i++) {
        const struct hb_perf_row *r = &v->rows[i];

        hb_json_object(&j, NULL);
        hb_json_str(&j, "collective", hb_perf_name(r->kind));
        hb_json_int(&j, "ranks", r->ranks);
        hb_json_int(&j, "bytes", (int64_t)r->bytes);
        hb_json_real(&j, "min_us", r->min_us);
        hb_json_real(&j, "median_us", r->median_us);
        hb_json_real(&j, "avg_us", r->avg_us);
        hb_json_real(&j, "p99_us", r->p99_us);
        hb_json_real(&j, "max_us", r->max_us);
        hb_json_int(&j, "calls", (int64_t)r->calls);
        hb_json_int(&j, "wrong", (int64_t)r->wrong);
        hb_json_end_object(&j);
    }
    hb_json_end_array(&j);
    hb_str_putc(out, '\n');
}

/* ---- the picture ---- */

#define WIDTH 640.0
#define HEIGHT 400.0
#define LEFT 70.0
#define TOP 30.0
#define LEGEND_WIDTH 190.0
#define LINE_HEIGHT 16.0
#define DOT 4.0
#define LABEL_MAX 32

/* Bounds of one axis in powers of `base`, and how long it is. */
struct axis {
    double base;
    int low, high;
    double length;
};

/* n with base^n <= v < base^(n+1). */
static int floor_log(double v, double base)
{
    int n = 0;

    for (; v >= base; v /= base) {
        n++;
    }
    for (; v > 0 && v < 1; v *= base) {
        n--;
    }
    return n;
}

static double power(double base, int n)
{
    double v = 1;

    for (int i = 0; i < (n < 0 ? -n : n); i++) {
        v *= base;
    }
    return n < 0 ? 1 / v : v;
}

/* Between two powers as far as the value is on its way, which on a
 * logarithmic axis is near enough to the right place, and exact at powers. */
static double place(const struct axis *a, double v)
{
    int n = floor_log(v, a->base);
    double part = v > 0 ? (v / power(a->base, n) - 1) / (a->base - 1) : 0;

    n = v > 0 ? n : a->low;
    return a->length * (n + part - a->low) / (a->high - a->low);
}

static void widen(struct axis *a, double v, int first)
{
    int n = floor_log(v, a->base);

    a->low = first || n < a->low ? n : a->low;
    a->high = first || n + 1 > a->high ? n + 1 : a->high;
}

static void draw_grid(const struct axis *x, const struct axis *y,
                      struct hb_drawing *out)
{
    char label[LABEL_MAX];

    hb_drawing_box(out, LEFT, TOP, WIDTH, HEIGHT, 0xfafafa, NULL);
    for (int n = x->low; n <= x->high; n += 2) {
        double at = LEFT + place(x, power(x->base, n));

        snprintf(label, sizeof label, "%.0f", power(x->base, n));
        hb_drawing_line(out, at, TOP + HEIGHT, 0, 5, 0x404040);
        hb_drawing_box(out, at - 10, TOP + HEIGHT + 5, 0, LINE_HEIGHT, 0,
                       label);
    }
    for (int n = y->low; n <= y->high; n++) {
        double at = TOP + HEIGHT - place(y, power(y->base, n));

        snprintf(label, sizeof label, "%g us", power(y->base, n));
        hb_drawing_line(out, LEFT, at, WIDTH, 0, 0xdddddd);
        hb_drawing_box(out, 4, at - 8, 0, LINE_HEIGHT, 0, label);
    }
    hb_drawing_box(out, LEFT + WIDTH / 2, TOP + HEIGHT + 22, 0, LINE_HEIGHT, 0,
                   "bytes");
    hb_drawing_box(out, LEFT, 4, 0, LINE_HEIGHT, 0,
                   "median time of a call");
}

static void draw_rows(const struct hb_perf_view *v, const struct axis *x,
                      const struct axis *y, struct hb_drawing *out)
{
    static const uint32_t colours[] = {
        0x1f77b4, 0xff7f0e, 0x2ca02c, 0xd62728, 0x9467bd, 0x8c564b,
        0xe377c2, 0x7f7f7f, 0xbcbd22, 0x17becf,
    };
    double before_x = 0, before_y = 0, legend = TOP;

    for (size_t i = 0; i < v->n; i++) {
        const struct hb_perf_row *r = &v->rows[i];
        uint32_t colour =
            colours[(size_t)r->kind % (sizeof colours / sizeof *colours)];
        double at_x = LEFT + place(x, (double)r->bytes);
        double at_y = TOP + HEIGHT - place(y, r->median_us);

        if (i > 0 && v->rows[i - 1].kind == r->kind) {
            hb_drawing_line(out, before_x, before_y, at_x - before_x,
                            at_y - before_y, colour);
        } else {
            char text[LABEL_MAX + 16];

            snprintf(text, sizeof text, "%s, %u ranks",
                     hb_perf_name(r->kind), r->ranks);
            hb_drawing_line(out, LEFT + WIDTH + 10, legend + 8, 15, 0, colour);
            hb_drawing_box(out, LEFT + WIDTH + 28, legend, 0, LINE_HEIGHT, 0,
                           text);
            legend += LINE_HEIGHT;
        }
        hb_drawing_box(out, at_x - DOT / 2, at_y - DOT / 2, DOT, DOT, colour,
                       NULL);
        before_x = at_x;
        before_y = at_y;
    }
    hb_drawing_box(out, LEFT + WIDTH + LEGEND_WIDTH, legend, 0, 0, 0, NULL);
}

static void draw(const struct hb_perf_view *v, struct hb_drawing *out)
{
    struct axis x = {.base = 2, .length = WIDTH};
    struct axis y = {.base = 10, .length = HEIGHT};

    for (size_t i = 0; i < v->n; i++) {
        widen(&x, (double)v->rows[i].bytes, i == 0);
        widen(&y, v->rows[i].median_us, i == 0);
    }
    draw_grid(&x, &y, out);
    draw_rows(v, &x, &y, out);
}

/* ---- the end ---- */

static int write_all(const struct hb_perf_view *v, struct hpcboot_error *err)
{
    struct hb_drawing drawing = {0};
    struct hb_str text = HB_STR_INIT;
    int rc = 0;

    if (v->form == HB_PERF_JSON) {
        put_json(v, &text);
        rc = hb_result_write(NULL, hb_str_text(&text), text.len, err);
        hb_str_destroy(&text);
    }
    if (rc >= 0 && v->svg != NULL && v->n > 0) {
        draw(v, &drawing);
        hb_drawing_svg(&drawing, &text);
        rc = hb_result_write(v->svg, hb_str_text(&text), text.len, err);
    }
    hb_str_destroy(&text);
    hb_drawing_destroy(&drawing);
    return rc;
}

int hb_perf_view_end(struct hb_perf_view *v)
{
    struct hpcboot_error err;
    uint64_t wrong = 0;
    int status = 0;

    for (size_t i = 0; i < v->n; i++) {
        wrong += v->rows[i].wrong;
    }
    if (write_all(v, &err) < 0) {
        hb_log(HB_ERROR, "perf: %s", err.text);
        status = HB_EXIT_OUTPUT;
    } else if (wrong > 0) {
        hb_log(HB_ERROR, "perf: %llu elements were not what they should be",
               (unsigned long long)wrong);
        status = EXIT_WRONG;
    }
    free(v->rows);
    v->rows = NULL;
    v->n = 0;
    return status;
}
