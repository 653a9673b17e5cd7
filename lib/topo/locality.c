/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Where a rank is, as MPIs compare it with where others are: for each kind of
 * object its letters and the logical numbers of those that the rank's CPUs
 * touch. Made here, so that nobody has to load a topology for it. */

#include "config.h"

#include <stdlib.h>

#include "lib/base/str.h"
#include "lib/topo/bind.h"

static const struct {
    enum hb_topo_kind kind;
    const char *letters;
} parts[] = {
    {HB_TOPO_NUMA, "NM"},    {HB_TOPO_PACKAGE, "SK"}, {HB_TOPO_L3CACHE, "L3"},
    {HB_TOPO_L2CACHE, "L2"}, {HB_TOPO_L1CACHE, "L1"}, {HB_TOPO_CORE, "CR"},
    {HB_TOPO_PU, "HT"},
};

char *hb_bind_locality(const struct hb_topo *topo, const struct hb_cpus *cpus)
{
    struct hb_str o = HB_STR_INIT;

    for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
        const struct hb_topo_level *level = &topo->level[parts[p].kind];
        struct hb_cpus touched;
        char *list;

        hb_cpus_zero(&touched);
        for (uint32_t pu = 0; pu < topo->n_pus; pu++) {
            const struct hb_topo_span *s =
                hb_cpus_has(cpus, topo->pu_os[pu])
                    ? hb_topo_around(topo, parts[p].kind, pu) : NULL;
            if (s != NULL) {
                hb_cpus_add(&touched, (unsigned)(s - level->v));
            }
        }
        if (hb_cpus_count(&touched) == 0) {
            continue;
        }
        list = hb_cpus_text(&touched);
        hb_str_putf(&o, "%s%s%s", o.len > 0 ? ":" : "", parts[p].letters,
                    list);
        free(list);
    }
    return hb_str_steal(&o);
}
