/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Any bytes as what a user wants of collectives between nodes
 * (HPCBOOT_COLL_NET): what is accepted has a schedule, for every collective. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/str.h"
#include "lib/coll/sched.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RANKS 6

static const int node_of[RANKS] = {0, 0, 1, 1, 1, 2};

static void schedule(struct hb_call *c)
{
    struct hb_sched s = {0};

    hb_sched_make(&s, c);
    if (s.failed) {
        abort();
    }
    for (int i = 0; i < s.count; i++) {
        const struct hb_step *step = &s.steps[i];

        if ((step->kind == HB_STEP_SEND || step->kind == HB_STEP_RECV) &&
            (step->peer < 0 || step->peer >= RANKS || step->peer == c->rank)) {
            abort();
        }
    }
    hb_sched_clear(&s);
}

static bool has_blocks(enum hpcboot_coll coll)
{
    return coll != HPCBOOT_COLL_BCAST && coll != HPCBOOT_COLL_REDUCE &&
           coll != HPCBOOT_COLL_ALLREDUCE && coll != HPCBOOT_COLL_SCAN &&
           coll != HPCBOOT_COLL_EXSCAN;
}

/* One block after the other, all alike; the v-kinds want them as rows. */
static void schedule_rows(struct hb_call *c)
{
    size_t len[RANKS], off[RANKS];

    for (size_t i = 0; i < RANKS; i++) {
        len[i] = c->bytes;
        off[i] = i * c->bytes;
    }
    c->total = has_blocks(c->coll) ? c->bytes * RANKS : c->bytes;
    c->send_len = c->recv_len = len;
    c->send_off = c->recv_off = off;
    schedule(c);
    c->send_len = c->recv_len = c->send_off = c->recv_off = NULL;
}

static void schedule_all(const struct hb_wish *w, const struct hb_layout *l)
{
    static const size_t sizes[] = {0, 8, 5000, 1 << 20};
    struct hb_call c = {.esize = 8, .layout = l, .model = &hb_model_tcp,
                        .wish = w};

    for (int coll = 0; coll < HPCBOOT_COLLS; coll++) {
        c.coll = (enum hpcboot_coll)coll;
        for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
            c.root = i;
            c.rank = i + 1;
            c.bytes = c.coll == HPCBOOT_COLL_BARRIER ? 0 : sizes[i];
            schedule_rows(&c);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = hb_xstrndup((const char *)data, size);
    struct hb_layout layout;
    struct hb_wish w;

    if (hb_wish_parse(text, &w, NULL) == 0) {
        if (hb_layout_make(&layout, node_of, RANKS) < 0) {
            abort();
        }
        schedule_all(&w, &layout);
        hb_layout_clear(&layout);
    }
    free(text);
    return 0;
}
