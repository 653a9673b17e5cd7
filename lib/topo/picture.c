/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Bindings as Open MPI draws them:
 *
 *   package 0[core 0[hwt 0-1]], package 0[core 1[hwt 0-1]]: [BB/BB/..][../..]
 *
 * A bracket is a package, a slash parts cores, B is a hardware thread that is
 * bound and a dot one that is not. Only what the container may use is drawn.
 * Cores and packages are counted over the host, threads within their core. */

#include "config.h"

#include <stdlib.h>

#include "lib/base/str.h"
#include "lib/topo/bind.h"

/* "0-1", "1", "0,2" of the core's bound threads; nothing when none is. */
static int put_threads(const struct hb_topo *topo, const struct hb_cpus *cpus,
                       const struct hb_topo_span *core, struct hb_str *o)
{
    struct hb_cpus threads;
    char *list;
    uint32_t i = 0;

    while (i < core->n && !hb_cpus_has(cpus, topo->pu_os[core->first + i])) {
        i++;
    }
    if (i == core->n) { /* as most cores of a large machine */
        return 0;
    }
    hb_cpus_zero(&threads);
    for (; i < core->n; i++) {
        if (hb_cpus_has(cpus, topo->pu_os[core->first + i])) {
            hb_cpus_add(&threads, i);
        }
    }
    list = hb_cpus_text(&threads);
    hb_str_put(o, list);
    free(list);
    return 1;
}

static uint32_t package_of(const struct hb_topo *topo, uint32_t pu)
{
    const struct hb_topo_level *level = &topo->level[HB_TOPO_PACKAGE];
    const struct hb_topo_span *s = hb_topo_around(topo, HB_TOPO_PACKAGE, pu);

    return s != NULL ? (uint32_t)(s - level->v) : 0;
}

static void put_words(const struct hb_topo *topo, const struct hb_cpus *cpus,
                      struct hb_str *o)
{
    const struct hb_topo_level *cores = &topo->level[HB_TOPO_CORE];

    for (uint32_t i = 0; i < cores->n; i++) {
        struct hb_str threads = HB_STR_INIT;
        if (put_threads(topo, cpus, &cores->v[i], &threads)) {
            hb_str_putf(o, "%spackage %u[core %u[hwt %s]]",
                        o->len > 0 ? ", " : "",
                        package_of(topo, cores->v[i].first), i,
                        hb_str_text(&threads));
        }
        hb_str_destroy(&threads);
    }
}

static void put_drawing(const struct hb_topo *topo, const struct hb_cpus *cpus,
                        struct hb_str *o)
{
    const struct hb_topo_level *cores = &topo->level[HB_TOPO_CORE];

    hb_str_putc(o, '[');
    for (uint32_t i = 0; i < cores->n; i++) {
        const struct hb_topo_span *core = &cores->v[i];
        if (i > 0) {
            hb_str_put(o, package_of(topo, core->first) ==
                                  package_of(topo, core[-1].first)
                              ? "/" : "][");
        }
        for (uint32_t k = 0; k < core->n; k++) {
            hb_str_putc(o, hb_cpus_has(cpus, topo->pu_os[core->first + k])
                               ? 'B' : '.');
        }
    }
    hb_str_putc(o, ']');
}

char *hb_bind_picture(const struct hb_topo *topo, const struct hb_cpus *cpus)
{
    struct hb_str o = HB_STR_INIT;

    put_words(topo, cpus, &o);
    hb_str_put(&o, ": ");
    put_drawing(topo, cpus, &o);
    return hb_str_steal(&o);
}
