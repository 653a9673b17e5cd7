/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The texts lib/topo reads: CPU lists, --map-by and --rank-by. A list that
 * was understood must come out of its own text again. */

#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/str.h"
#include "lib/topo/cpus.h"
#include "lib/topo/bind.h"
#include "lib/topo/map.h"
#include "lib/topo/rankfile.h"
#include "lib/topo/topo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = hb_xstrndup((const char *)data, size), *again;
    struct hb_cpus cpus, same;
    struct hb_map_policy policy = {0};
    struct hb_bind_policy bind = {0};
    struct hb_rankfile file = {0};
    struct hb_topo *topo = NULL;
    struct hb_buf view;
    struct hpcboot_error err;

    if (hb_cpus_parse(text, &cpus, &err) >= 0) {
        again = hb_cpus_text(&cpus);
        if (hb_cpus_parse(again, &same, &err) < 0 ||
            !hb_cpus_equal(&cpus, &same)) {
            abort();
        }
        free(again);
    }
    hb_map_by_parse(text, &policy, &err);
    hb_rank_by_parse(text, &policy, &err);
    hb_grid_parse(text, &policy, &err);
    hb_bind_to_parse(text, &bind, &err);
    hb_bind_policy_parse(text, &bind, &err);
    if (hb_rankfile_parse("f", text, &file, &err) >= 0) {
        hb_rankfile_clear(&file);
    }
    hb_buf_view(&view, data, size);
    if (hb_topo_decode(&topo, &view, &err) >= 0) {
        hb_topo_destroy(topo);
    }
    free(text);
    return 0;
}
