/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A host's inside as text, JSON, and a drawing.
 *
 * The text lists, the drawing nests: packages hold groups (NUMA nodes, or the
 * last caches where those are finer), groups hold cores, cores their hardware
 * threads. Numbers are logical for objects and the kernel's for CPUs. A thread
 * is white where it may be used, grey where not, and has the colour of the
 * first rank that is bound to it. */

#include "config.h"

#include "bin/hpcboot/topo_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/topo/gpu_share.h"

#define ALLOWED_FILL 0xffffffu
#define FORBIDDEN_FILL 0xc8c8c8u

/* Numbers of the ranks that are bound to a CPU, "0,4"; "" without any. */
static void put_ranks(const struct hb_topo_view *v, uint32_t cpu,
                      struct hb_str *out)
{
    size_t begun = out->len;

    for (uint32_t r = 0; v->plan.bound && r < v->n_ranks; r++) {
        if (hb_cpus_has(&v->plan.cpus[r], cpu)) {
            hb_str_putf(out, "%s%u", out->len > begun ? "," : "", r);
        }
    }
}

static char *cpus_of(const struct hb_topo *t, const struct hb_topo_span *s)
{
    struct hb_cpus set;

    hb_cpus_zero(&set);
    for (uint32_t i = s->first; i < s->first + s->n; i++) {
        hb_cpus_add(&set, t->pu_os[i]);
    }
    return hb_cpus_text(&set);
}

static uint32_t number_of(const struct hb_topo_view *v,
                          enum hb_topo_device_kind kind, uint32_t i)
{
    return kind == HB_TOPO_GPU ? hb_gpus_number(v->machine, i) : i;
}

/* --- text --------------------------------------------------------- */

static void text_devices(const struct hb_topo_view *v,
                         enum hb_topo_device_kind kind, struct hb_str *out)
{
    const struct hb_topo_devices *d = &v->machine->device[kind];

    for (uint32_t i = 0; i < d->n; i++) {
        char *cpus = cpus_of(v->machine, &d->v[i].near);

        hb_str_putf(out, "%s %u: %s%s%s, next to CPUs %s\n",
                    hb_topo_device_name(kind), number_of(v, kind, i),
                    d->v[i].name,
                    strcmp(d->v[i].name, d->v[i].pci) != 0 ? " at " : "",
                    strcmp(d->v[i].name, d->v[i].pci) != 0 ? d->v[i].pci : "",
                    cpus);
        free(cpus);
    }
}

static void text_objects(const struct hb_topo_view *v, enum hb_topo_kind kind,
                         struct hb_str *out)
{
    const struct hb_topo_level *level = &v->machine->level[kind];

    for (uint32_t i = 0; i < level->n; i++) {
        char *cpus = cpus_of(v->machine, &level->v[i]);

        hb_str_putf(out, "%s %u: CPUs %s\n", hb_topo_kind_name(kind), i, cpus);
        free(cpus);
    }
}

void hb_topo_view_text(const struct hb_topo_view *v, struct hb_str *out)
{
    char *words = hb_topo_words(v->machine), *cpus = hb_cpus_text(&v->cpus);

    hb_str_putf(out, "%s: %s\n", v->name, words);
    hb_str_putf(out, "allowed: CPUs %s; %s\n", cpus, v->allowed.origin);
    hb_str_putf(out, "slots: %u\n", v->allowed.slots);
    free(words);
    free(cpus);
    text_objects(v, HB_TOPO_PACKAGE, out);
    text_objects(v, HB_TOPO_NUMA, out);
    text_objects(v, HB_TOPO_L3CACHE, out);
    text_devices(v, HB_TOPO_GPU, out);
    text_devices(v, HB_TOPO_NIC, out);
    if (v->with_fabric) {
        hb_fabric_text(&v->fabric, out);
    }
    for (size_t i = 0; i < v->differences.n; i++) {
        hb_str_putf(out, "differs: %s\n", v->differences.v[i]);
    }
    if (v->n_ranks == 0) {
        return;
    }
    for (uint32_t r = 0; v->plan.bound && r < v->n_ranks; r++) {
        hb_str_putf(out, "rank %u %s\n", r, v->plan.report[r]);
    }
    hb_str_putf(out, "%s: %s\n", v->plan.bound ? "binding" : "not bound",
                v->plan.why);
}

/* --- JSON --------------------------------------------------------- */

static void json_list(struct hb_json *j, const char *key, char *list)
{
    hb_json_str(j, key, list);
    free(list);
}

static void json_objects(const struct hb_topo_view *v, struct hb_json *j)
{
    for (int kind = 0; kind < HB_TOPO_KINDS; kind++) {
        const struct hb_topo_level *level = &v->machine->level[kind];

        hb_json_array(j, hb_topo_kind_name((enum hb_topo_kind)kind));
        for (uint32_t i = 0; i < level->n; i++) {
            json_list(j, NULL, cpus_of(v->machine, &level->v[i]));
        }
        hb_json_end_array(j);
    }
}

static void json_devices(const struct hb_topo_view *v, struct hb_json *j)
{
    for (int kind = 0; kind < HB_TOPO_DEVICE_KINDS; kind++) {
        const struct hb_topo_devices *d = &v->machine->device[kind];

        hb_json_array(j, hb_topo_device_name((enum hb_topo_device_kind)kind));
        for (uint32_t i = 0; i < d->n; i++) {
            hb_json_object(j, NULL);
            hb_json_str(j, "name", d->v[i].name);
            hb_json_str(j, "pci", d->v[i].pci);
            json_list(j, "cpus", cpus_of(v->machine, &d->v[i].near));
            hb_json_end_object(j);
        }
        hb_json_end_array(j);
    }
}

static void json_ranks(const struct hb_topo_view *v, struct hb_json *j)
{
    hb_json_array(j, "ranks");
    for (uint32_t r = 0; v->plan.bound && r < v->n_ranks; r++) {
        hb_json_object(j, NULL);
        hb_json_int(j, "rank", r);
        json_list(j, "cpus", hb_cpus_text(&v->plan.cpus[r]));
        hb_json_end_object(j);
    }
    hb_json_end_array(j);
    hb_json_str(j, "why", v->n_ranks > 0 ? v->plan.why : NULL);
}

static void json_fabric(const struct hb_topo_view *v, struct hb_json *j)
{
    hb_json_object(j, "fabric");
    hb_fabric_json(&v->fabric, j);
    hb_json_array(j, "differences");
    for (size_t i = 0; i < v->differences.n; i++) {
        hb_json_str(j, NULL, v->differences.v[i]);
    }
    hb_json_end_array(j);
    hb_json_end_object(j);
}

void hb_topo_view_json(const struct hb_topo_view *v, struct hb_str *out)
{
    struct hb_json j;

    hb_json_begin(&j, out);
    hb_json_object(&j, NULL);
    hb_json_str(&j, "host", v->name);
    json_list(&j, "allowed", hb_cpus_text(&v->cpus));
    hb_json_int(&j, "cores", v->allowed.cores);
    hb_json_int(&j, "slots", v->allowed.slots);
    if (v->allowed.quota_milli > 0) {
        hb_json_real(&j, "quota", v->allowed.quota_milli / 1000.0);
    } else {
        hb_json_null(&j, "quota");
    }
    hb_json_str(&j, "slots_origin", v->allowed.origin);
    hb_json_object(&j, "objects");
    json_objects(v, &j);
    hb_json_end_object(&j);
    hb_json_object(&j, "devices");
    json_devices(v, &j);
    hb_json_end_object(&j);
    json_ranks(v, &j);
    if (v->with_fabric) {
        json_fabric(v, &j);
    }
    hb_json_end_object(&j);
    hb_str_putc(out, '\n');
}

/* --- drawing ------------------------------------------------------- */

#define GAP 6.0
#define TITLE 18.0
#define PU_WIDTH 58.0
#define PU_HEIGHT 18.0
#define CORES_IN_ROW 8u
#define DEVICE_WIDTH 150.0

struct size {
    double width, height;
};

static uint32_t colour_of(uint32_t rank)
{
    static const uint32_t colours[] = {
        0x9ecae1, 0xfdae6b, 0xa1d99b, 0xbcbddc, 0xfc9272, 0xfde28a,
        0x99d8c9, 0xf4b6d2,
    };

    return colours[rank % (sizeof colours / sizeof *colours)];
}

static uint32_t fill_of(const struct hb_topo_view *v, uint32_t cpu)
{
    if (!hb_cpus_has(&v->cpus, cpu)) {
        return FORBIDDEN_FILL;
    }
    for (uint32_t r = 0; v->plan.bound && r < v->n_ranks; r++) {
        if (hb_cpus_has(&v->plan.cpus[r], cpu)) {
            return colour_of(r);
        }
    }
    return ALLOWED_FILL;
}

static struct size draw_core(const struct hb_topo_view *v, uint32_t core,
                             double x, double y, struct hb_drawing *out)
{
    const struct hb_topo_span *s = &v->machine->level[HB_TOPO_CORE].v[core];
    struct size size = {PU_WIDTH + 2 * GAP, TITLE + s->n * PU_HEIGHT + GAP};
    char title[32];

    snprintf(title, sizeof title, "core %u", core);
    hb_drawing_box(out, x, y, size.width, size.height, 0xf0f0f0, title);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t cpu = v->machine->pu_os[s->first + i];
        struct hb_str text = HB_STR_INIT, ranks = HB_STR_INIT;

        put_ranks(v, cpu, &ranks);
        hb_str_putf(&text, ranks.len > 0 ? "%u: r%s" : "%u", cpu,
                    hb_str_text(&ranks));
        hb_drawing_box(out, x + GAP, y + TITLE + i * PU_HEIGHT, PU_WIDTH,
                       PU_HEIGHT - 2, fill_of(v, cpu), text.s);
        hb_str_destroy(&text);
        hb_str_destroy(&ranks);
    }
    return size;
}

/* The cores whose first thread lies in a span, in rows. The box around them
 * was put in before, with a size that is set now. */
static struct size draw_group(const struct hb_topo_view *v,
                              const struct hb_topo_span *s, const char *title,
                              double x, double y, struct hb_drawing *out)
{
    const struct hb_topo_level *cores = &v->machine->level[HB_TOPO_CORE];
    double left = x + GAP, top = y + TITLE, low = 0, right = left;
    size_t box = out->n;
    uint32_t in_row = 0;

    hb_drawing_box(out, x, y, 1, 1, 0xe4eef6, title);
    for (uint32_t i = 0; i < cores->n; i++) {
        struct size size;

        if (cores->v[i].first < s->first ||
            cores->v[i].first - s->first >= s->n) {
            continue;
        }
        if (in_row == CORES_IN_ROW) {
            top += low + GAP;
            left = x + GAP;
            in_row = 0;
            low = 0;
        }
        size = draw_core(v, i, left, top, out);
        left += size.width + GAP;
        low = size.height > low ? size.height : low;
        right = left > right ? left : right;
        in_row++;
    }
    out->v[box].width = right - x;
    out->v[box].height = top + low + GAP - y;
    hb_drawing_box(out, x, y, 0, out->v[box].height, 0, NULL);
    return (struct size){out->v[box].width, out->v[box].height};
}

/* The finer of NUMA nodes and last caches; packages without either. */
static enum hb_topo_kind group_kind(const struct hb_topo *t)
{
    uint32_t numa = t->level[HB_TOPO_NUMA].n, l3 = t->level[HB_TOPO_L3CACHE].n;

    if (l3 == 0 && numa == 0) {
        return t->level[HB_TOPO_PACKAGE].n > 0 ? HB_TOPO_PACKAGE
                                               : HB_TOPO_CORE;
    }
    return l3 > numa ? HB_TOPO_L3CACHE : HB_TOPO_NUMA;
}

static double draw_groups(const struct hb_topo_view *v, double y,
                          struct hb_drawing *out)
{
    enum hb_topo_kind kind = group_kind(v->machine);
    const struct hb_topo_level *groups = &v->machine->level[kind];
    const struct hb_topo_level *packages = &v->machine->level[HB_TOPO_PACKAGE];

    for (uint32_t i = 0; i < groups->n; i++) {
        const struct hb_topo_span *p = hb_topo_around(
            v->machine, HB_TOPO_PACKAGE, groups->v[i].first);
        char title[64];

        snprintf(title, sizeof title, p != NULL ? "package %u, %s %u"
                                                : "%.0u%s %u",
                 p != NULL ? (unsigned)(p - packages->v) : 0u,
                 hb_topo_kind_name(kind), i);
        y += draw_group(v, &groups->v[i], title, GAP, y, out).height + GAP;
    }
    return y;
}

static double draw_devices(const struct hb_topo_view *v,
                           enum hb_topo_device_kind kind, double y,
                           struct hb_drawing *out)
{
    const struct hb_topo_devices *d = &v->machine->device[kind];

    for (uint32_t i = 0; i < d->n; i++) {
        char *cpus = cpus_of(v->machine, &d->v[i].near);
        char *text = hb_xasprintf("%s %u: %s", hb_topo_device_name(kind),
                                  number_of(v, kind, i), d->v[i].name);
        char *near = hb_xasprintf("next to CPUs %s", cpus);
        double x = GAP + (i % 4) * (DEVICE_WIDTH + GAP);
        double top = y + i / 4 * (2 * TITLE + GAP);

        hb_drawing_box(out, x, top, DEVICE_WIDTH, 2 * TITLE, 0xf7e6d5, text);
        hb_drawing_box(out, x, top + TITLE - 3, 0, TITLE, 0, near);
        free(cpus);
        free(text);
        free(near);
    }
    return y + (d->n + 3) / 4 * (2 * TITLE + GAP);
}

#define FABRIC_WIDTH (2 * DEVICE_WIDTH + GAP)
#define USABLE_FILL 0xd9ead3u
#define UNUSABLE_FILL 0xf4cccc

/* A box for each RDMA port and each net device: green where it can be used. */
static void draw_box(const char *line, const char *more, int usable, uint32_t i,
                     double y, struct hb_drawing *out)
{
    double x = GAP + (i % 2) * (FABRIC_WIDTH + GAP);
    double top = y + i / 2 * (2 * TITLE + GAP);

    hb_drawing_box(out, x, top, FABRIC_WIDTH, 2 * TITLE,
                   usable ? USABLE_FILL : UNUSABLE_FILL, line);
    hb_drawing_box(out, x, top + TITLE - 3, 0, TITLE, 0, more);
}

static uint32_t draw_ports(const struct hb_rdma *d, uint32_t n, double y,
                           struct hb_drawing *out)
{
    for (uint32_t p = 0; p < d->n_ports; p++) {
        struct hb_str line = HB_STR_INIT, more = HB_STR_INIT;

        hb_port_words(d, &d->ports[p], &line);
        hb_str_putf(&more, "%s, %u GIDs%s%s", d->at.pci, d->ports[p].n_gids,
                    d->closed != 0 ? ", cannot be opened: " : "",
                    d->closed != 0 ? strerror(d->closed) : "");
        draw_box(line.s, more.s,
                 d->closed == 0 && d->ports[p].state == HB_PORT_ACTIVE, n++, y,
                 out);
        hb_str_destroy(&line);
        hb_str_destroy(&more);
    }
    return n;
}

static void draw_fabric(const struct hb_topo_view *v, double y,
                        struct hb_drawing *out)
{
    const struct hb_fabric *f = &v->fabric;
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n_rdma; i++) {
        n = draw_ports(&f->rdma[i], n, y, out);
    }
    for (uint32_t i = 0; i < f->n_net; i++) {
        struct hb_str line = HB_STR_INIT, more = HB_STR_INIT;

        hb_str_putf(&line, "%s: %s, ", f->net[i].name,
                    f->net[i].up ? "up" : "down");
        hb_rate_text(f->net[i].speed_mbps, &line);
        for (uint32_t a = 0; a < f->net[i].n_addrs; a++) {
            char *text = hb_netaddr_text(&f->net[i].addrs[a]);
            hb_str_putf(&more, "%s%s", a > 0 ? ", " : "", text);
            free(text);
        }
        draw_box(line.s, hb_str_text(&more), (int)f->net[i].up, n++, y, out);
        hb_str_destroy(&line);
        hb_str_destroy(&more);
    }
}

void hb_topo_view_draw(const struct hb_topo_view *v, struct hb_drawing *out)
{
    char *words = hb_topo_words(v->machine), *cpus = hb_cpus_text(&v->cpus);
    char *lines[3];
    double y = GAP;

    lines[0] = hb_xasprintf("%s: %s", v->name, words);
    lines[1] = hb_xasprintf("allowed: CPUs %s; %s; %u slot%s", cpus,
                            v->allowed.origin, v->allowed.slots,
                            v->allowed.slots == 1 ? "" : "s");
    lines[2] = v->n_ranks > 0
                   ? hb_xasprintf("%u rank%s%s: %s", v->n_ranks,
                                  v->n_ranks == 1 ? "" : "s",
                                  v->plan.bound ? "" : ", not bound",
                                  v->plan.why)
                   : hb_xstrdup("white: may be used, grey: may not");
    for (size_t i = 0; i < 3; i++) {
        /* Texts make no room for themselves. */
        hb_drawing_box(out, GAP, y, 0, TITLE, 0, lines[i]);
        hb_drawing_box(out, strlen(lines[i]) * 6.5, y, 0, 0, 0, NULL);
        y += TITLE;
        free(lines[i]);
    }
    free(words);
    free(cpus);
    y = draw_groups(v, y + GAP, out);
    y = draw_devices(v, HB_TOPO_GPU, y, out);
    y = draw_devices(v, HB_TOPO_NIC, y, out);
    if (v->with_fabric) {
        draw_fabric(v, y, out);
    }
}
