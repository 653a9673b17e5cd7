/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_PERF_H
#define HB_HPCBOOT_PERF_H

#include "bin/hpcboot/perf_loop.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

/* What the files of `hpcboot perf` share. */

struct hb_perf_item {
    int kind;
    size_t bytes;
};

/* What is to be measured, in order. */
struct hb_perf_plan {
    struct hb_perf_item *v;
    size_t n;
    double time_us;      /* of each row */
    size_t most_bytes;   /* rows whose buffers are larger are left out */
    uint64_t ranks;      /* there should be so many; 0: as many as there are */
    int alloc, pin, sync;
};
/* `collectives`: NAME[:BYTES],... or "all"; `sizes`: A[:B[:FACTOR]]. */
int hb_perf_plan(struct hb_perf_plan *out, const char *collectives,
                 const char *sizes, struct hpcboot_error *err);
void hb_perf_plan_destroy(struct hb_perf_plan *p);
/* "4096", "64K", "16M", "1G" */
int hb_perf_bytes(const char *text, size_t *out);

enum hb_perf_form { HB_PERF_TABLE, HB_PERF_CSV, HB_PERF_JSON };

/* perf_view.c: rows as they come, and what is made of all of them. */
struct hb_perf_view {
    enum hb_perf_form form;
    const char *svg; /* a file, or NULL */
    struct hb_perf_row *rows;
    size_t n;
};
void hb_perf_view_add(struct hb_perf_view *v, const struct hb_perf_row *row);
/* The exit status. */
int hb_perf_view_end(struct hb_perf_view *v);
/* A line of hb_perf_csv. 0: it is none. */
int hb_perf_row_parse(struct hb_perf_row *out, const char *line);

/* perf_rank.c: measures as a rank of the job that this process is in; the
 * first rank shows. The exit status. */
int hb_perf_rank(const struct hb_perf_plan *plan, struct hb_perf_view *view);

#endif
