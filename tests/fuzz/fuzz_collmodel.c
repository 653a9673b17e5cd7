/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Any bytes as figures and rules for collectives. What is accepted must give
 * a choice for every collective, and its figures survive being written. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/coll/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void choose(const struct hb_coll_model *m)
{
    struct hb_candidate c[HB_CANDIDATES];

    for (int coll = 0; coll < HPCBOOT_COLLS; coll++) {
        for (size_t bytes = 1; bytes <= 1 << 24; bytes *= 16) {
            size_t piece = hb_model_choose(m, coll, 3, bytes).piece;

            if (piece < HB_PIECE_LEAST || piece > HB_PIECE_MOST ||
                hb_model_candidates(m, coll, 3, bytes, true, c) >
                    HB_CANDIDATES) {
                abort();
            }
        }
    }
}

/* The same bytes as a file of figures: any take is one that can be used. */
static void take(const char *text, size_t size, uint64_t machine)
{
    struct hb_coll_model takes[3], m;
    int n = hb_model_parse_takes(takes, 3, text, size, machine);

    if (n > 0) {
        hb_model_typical(&m);
        hb_model_of_takes(&m, takes, n);
        choose(&m);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[HB_MODEL_TEXT_MOST];
    struct hb_coll_model m, again;
    uint64_t machine = 0, same = 0;
    int len;

    hb_model_typical(&m);
    if (hb_model_parse(&m, (const char *)data, size, &machine, NULL) < 0) {
        return 0;
    }
    take((const char *)data, size, machine);
    choose(&m);
    len = hb_model_print(&m, machine, text, sizeof text);
    hb_model_typical(&again);
    if (len < 0 || (size_t)len >= sizeof text ||
        hb_model_parse(&again, text, (size_t)len, &same, NULL) < 0 ||
        same != machine || again.round_ns != m.round_ns ||
        again.copy_ps != m.copy_ps) {
        abort();
    }
    return 0;
}
