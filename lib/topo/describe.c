/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A topology as bytes and as words.
 *
 *   u8 version, u32 n_pus, u32 pu_os[n_pus]
 *   per kind of object: u32 n, then {u32 first, u32 n, u32 os_index} each
 *   per kind of device: u32 n, then {name, pci, vendor, first, n} each
 *
 * Plain and not compressed: a machine of a thousand processing units takes
 * some 30 KB, and equal machines are sent once. A description comes from
 * another host or from a file that somebody else may have written, so every
 * count is checked against what is left of the bytes before memory is taken
 * for it, and the result goes through hb_topo_check. */

#include "config.h"

#include <stdio.h>

#include "lib/base/str.h"
#include "lib/topo/topo.h"

#define FORMAT 1
#define SPAN_BYTES 12u
#define DEVICE_BYTES_MIN 22u
#define MAX_DEVICES 1024u

static void put_span(const struct hb_topo_span *s, struct hb_buf *out)
{
    hb_buf_put_u32(out, s->first);
    hb_buf_put_u32(out, s->n);
    hb_buf_put_u32(out, s->os_index);
}

void hb_topo_encode(const struct hb_topo *topo, struct hb_buf *out)
{
    hb_buf_put_u8(out, FORMAT);
    hb_buf_put_u32(out, topo->n_pus);
    for (uint32_t i = 0; i < topo->n_pus; i++) {
        hb_buf_put_u32(out, topo->pu_os[i]);
    }
    for (int kind = 0; kind < HB_TOPO_KINDS; kind++) {
        const struct hb_topo_level *level = &topo->level[kind];
        hb_buf_put_u32(out, level->n);
        for (uint32_t i = 0; i < level->n; i++) {
            put_span(&level->v[i], out);
        }
    }
    for (int kind = 0; kind < HB_TOPO_DEVICE_KINDS; kind++) {
        const struct hb_topo_devices *d = &topo->device[kind];
        hb_buf_put_u32(out, d->n);
        for (uint32_t i = 0; i < d->n; i++) {
            hb_buf_put_str(out, d->v[i].name);
            hb_buf_put_str(out, d->v[i].pci);
            hb_buf_put_u32(out, d->v[i].vendor);
            put_span(&d->v[i].near, out);
        }
    }
}

static struct hb_topo_span get_span(struct hb_buf *in)
{
    struct hb_topo_span s;

    s.first = hb_buf_get_u32(in);
    s.n = hb_buf_get_u32(in);
    s.os_index = hb_buf_get_u32(in);
    return s;
}

static int get_level(struct hb_topo_level *level, struct hb_buf *in)
{
    uint32_t n = hb_buf_get_u32(in);

    if (n > hb_buf_left(in) / SPAN_BYTES) {
        return -1;
    }
    level->v = hb_xcalloc(n > 0 ? n : 1, sizeof(*level->v));
    level->n = n;
    for (uint32_t i = 0; i < n; i++) {
        level->v[i] = get_span(in);
    }
    return 0;
}

static int get_devices(struct hb_topo_devices *d, struct hb_buf *in)
{
    uint32_t n = hb_buf_get_u32(in);

    if (n > MAX_DEVICES || n > hb_buf_left(in) / DEVICE_BYTES_MIN) {
        return -1;
    }
    d->v = hb_xcalloc(n > 0 ? n : 1, sizeof(*d->v));
    d->n = n;
    for (uint32_t i = 0; i < n; i++) {
        snprintf(d->v[i].name, sizeof(d->v[i].name), "%s",
                 hb_buf_get_str(in, HB_TOPO_NAME_MAX - 1));
        snprintf(d->v[i].pci, sizeof(d->v[i].pci), "%s",
                 hb_buf_get_str(in, HB_TOPO_NAME_MAX - 1));
        d->v[i].vendor = hb_buf_get_u32(in);
        d->v[i].near = get_span(in);
    }
    return 0;
}

static int get_all(struct hb_topo *t, struct hb_buf *in)
{
    int rc = hb_buf_get_u8(in) == FORMAT ? 0 : -1;

    t->n_pus = hb_buf_get_u32(in);
    if (rc != 0 || t->n_pus == 0 || t->n_pus > hb_buf_left(in) / 4 ||
        t->n_pus > HB_MAX_CPUS) {
        return -1;
    }
    t->pu_os = hb_xcalloc(t->n_pus, sizeof(*t->pu_os));
    for (uint32_t i = 0; i < t->n_pus; i++) {
        t->pu_os[i] = hb_buf_get_u32(in);
        rc |= t->pu_os[i] < HB_MAX_CPUS ? 0 : -1;
    }
    for (int kind = 0; rc == 0 && kind < HB_TOPO_KINDS; kind++) {
        rc = get_level(&t->level[kind], in);
    }
    for (int kind = 0; rc == 0 && kind < HB_TOPO_DEVICE_KINDS; kind++) {
        rc = get_devices(&t->device[kind], in);
    }
    return hb_buf_failed(in) || hb_buf_left(in) > 0 ? -1 : rc;
}

int hb_topo_decode(struct hb_topo **out, struct hb_buf *in,
                   struct hpcboot_error *err)
{
    struct hb_topo *t = hb_xcalloc(1, sizeof(*t));
    int rc;

    if (get_all(t, in) != 0) {
        rc = hb_fail(err, HPCBOOT_ERR_PARSE,
                     "the description of a topology is damaged");
    } else {
        rc = hb_topo_check(t, err);
    }
    if (rc < 0) {
        hb_topo_destroy(t);
        return rc;
    }
    *out = t;
    return HPCBOOT_OK;
}

static void put_count(struct hb_str *o, uint32_t n, const char *what)
{
    if (n > 0) {
        hb_str_putf(o, "%s%u %s%s", o->len > 0 ? ", " : "", n, what,
                    n > 1 ? "s" : "");
    }
}

char *hb_topo_words(const struct hb_topo *topo)
{
    static const enum hb_topo_kind shown[] = {
        HB_TOPO_PACKAGE, HB_TOPO_NUMA, HB_TOPO_L3CACHE, HB_TOPO_L2CACHE,
        HB_TOPO_CORE, HB_TOPO_PU,
    };
    struct hb_str o = HB_STR_INIT;

    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        put_count(&o, topo->level[shown[i]].n, hb_topo_kind_name(shown[i]));
    }
    put_count(&o, topo->device[HB_TOPO_GPU].n, "GPU");
    put_count(&o, topo->device[HB_TOPO_NIC].n, "NIC");
    return hb_str_steal(&o);
}
