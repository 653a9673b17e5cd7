/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The texts lib/topo reads: CPU lists, --map-by and --rank-by. A list that
 * was understood must come out of its own text again. */

#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/str.h"
#include "lib/topo/cpus.h"
#include "lib/topo/map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = hb_xstrndup((const char *)data, size), *again;
    struct hb_cpus cpus, same;
    struct hb_map_policy policy = {0};
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
    free(text);
    return 0;
}
