/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* An inventory as bytes and as JSON, both from one table of fields.
 *
 *   u32 version, then devices, net devices, GPUs and the rest; a list is a u32
 *   count and its elements; a text is a string, a number a u32 or a u64.
 *
 * Texts are cut to their fields, counts are limited, nothing else can be out
 * of bounds: whoever decides by a number compares it. */

#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fabric/fabric.h"
#include "lib/fabric/sysread.h"

#define FORMAT 1u
/* What is of use of any host. Devices that came later and addresses behind
 * these are there on nodes that have some for each pod and service. */
#define DEVICES_MAX 1024u
#define PORTS_MAX 64u
#define GIDS_MAX 4096u
#define PKEYS_MAX 256u
#define ADDRS_MAX 1024u

enum kind { TEXT, U32, I32, U64, HEX };
struct field {
    const char *name;
    enum kind kind;
    size_t offset, size;
};
#define AT(type, kind, name) \
    {#name, kind, offsetof(struct type, name), \
     sizeof(((struct type *)0)->name)}

static const struct field place_fields[] = {
    AT(hb_place, TEXT, pci), AT(hb_place, I32, numa),
    AT(hb_place, TEXT, cpus), AT(hb_place, TEXT, above), {NULL, TEXT, 0, 0},
};
static const struct field rdma_fields[] = {
    AT(hb_rdma, TEXT, name), AT(hb_rdma, TEXT, driver),
    AT(hb_rdma, TEXT, firmware), AT(hb_rdma, TEXT, board),
    AT(hb_rdma, HEX, vendor), AT(hb_rdma, HEX, device),
    AT(hb_rdma, U32, node_type), AT(hb_rdma, U64, node_guid),
    AT(hb_rdma, U32, is_vf), AT(hb_rdma, U32, n_vfs), AT(hb_rdma, TEXT, pf),
    AT(hb_rdma, TEXT, uverbs), AT(hb_rdma, I32, closed),
    {NULL, TEXT, 0, 0},
};
static const struct field port_fields[] = {
    AT(hb_port, U32, number), AT(hb_port, U32, link_layer),
    AT(hb_port, U32, state), AT(hb_port, U32, phys_state),
    AT(hb_port, U32, rate_mbps), AT(hb_port, U32, mtu),
    AT(hb_port, U32, mtu_max), AT(hb_port, U32, lid),
    AT(hb_port, U32, sm_lid), AT(hb_port, U32, lmc),
    AT(hb_port, U32, gids_read), {NULL, TEXT, 0, 0},
};
static const struct field net_fields[] = {
    AT(hb_netdev, TEXT, name), AT(hb_netdev, TEXT, driver),
    AT(hb_netdev, TEXT, master), AT(hb_netdev, TEXT, lower),
    AT(hb_netdev, U32, index), AT(hb_netdev, U32, mtu),
    AT(hb_netdev, U32, type), AT(hb_netdev, U32, up),
    AT(hb_netdev, U32, speed_mbps), AT(hb_netdev, U32, is_default),
    AT(hb_netdev, U32, has_gateway),
    {NULL, TEXT, 0, 0},
};
static const struct field gpu_fields[] = {
    AT(hb_gpu, HEX, vendor), AT(hb_gpu, HEX, device), AT(hb_gpu, TEXT, driver),
    AT(hb_gpu, TEXT, node), AT(hb_gpu, I32, closed), AT(hb_gpu, U32, links),
    {NULL, TEXT, 0, 0},
};
static const struct field host_fields[] = {
    AT(hb_fabric, U32, nvswitches), AT(hb_fabric, TEXT, peer_memory),
    AT(hb_fabric, TEXT, verbs), AT(hb_fabric, U32, us), {NULL, TEXT, 0, 0},
};

/* --- bytes ----------------------------------------------------------- */

static uint32_t u32_at(const void *at)
{
    uint32_t v;

    memcpy(&v, at, sizeof v);
    return v;
}

static uint64_t u64_at(const void *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof v);
    return v;
}

static void put(const struct field *f, const void *object, struct hb_buf *out)
{
    for (; f->name != NULL; f++) {
        const char *at = (const char *)object + f->offset;

        if (f->kind == TEXT) {
            hb_buf_put_str(out, at);
        } else if (f->kind == U64) {
            hb_buf_put_u64(out, u64_at(at));
        } else {
            hb_buf_put_u32(out, u32_at(at));
        }
    }
}

static void get(const struct field *f, void *object, struct hb_buf *in)
{
    for (; f->name != NULL; f++) {
        char *at = (char *)object + f->offset;

        if (f->kind == TEXT) {
            const char *text = hb_buf_get_str(in, f->size - 1);
            hb_copy(at, f->size, text);
        } else if (f->kind == U64) {
            uint64_t v = hb_buf_get_u64(in);
            memcpy(at, &v, sizeof v);
        } else {
            uint32_t v = hb_buf_get_u32(in);
            memcpy(at, &v, sizeof v);
        }
    }
}

/* A count that the bytes left could hold, or 0 and a failed buffer. */
static uint32_t get_count(struct hb_buf *in, uint32_t max)
{
    uint32_t n = hb_buf_get_u32(in);

    if (n > max || n > hb_buf_left(in)) {
        in->failed = 1;
        return 0;
    }
    return n;
}

/* So many as get_count takes: of a host with more the first ones travel. */
static uint32_t put_count(struct hb_buf *out, uint32_t n, uint32_t max)
{
    n = n < max ? n : max;
    hb_buf_put_u32(out, n);
    return n;
}

static void put_port(const struct hb_port *p, struct hb_buf *out)
{
    uint32_t n;

    put(port_fields, p, out);
    n = put_count(out, p->n_gids, GIDS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        hb_buf_put_u32(out, p->gids[i].index);
        hb_buf_put_u32(out, p->gids[i].type);
        hb_buf_put_raw(out, p->gids[i].raw, sizeof p->gids[i].raw);
        hb_buf_put_str(out, p->gids[i].netdev);
    }
    n = put_count(out, p->n_pkeys, PKEYS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        hb_buf_put_u32(out, p->pkeys[i]);
    }
}

static void get_raw(struct hb_buf *in, uint8_t raw[16])
{
    struct hb_bytes b = hb_buf_get_raw(in, 16);

    if (b.len == 16) {
        memcpy(raw, b.data, 16);
    }
}

static void get_port(struct hb_port *p, struct hb_buf *in)
{
    uint32_t n;

    get(port_fields, p, in);
    n = get_count(in, GIDS_MAX);
    p->gids = hb_xcalloc(n + 1, sizeof *p->gids);
    for (; p->n_gids < n && !hb_buf_failed(in); p->n_gids++) {
        struct hb_gid *g = &p->gids[p->n_gids];
        g->index = hb_buf_get_u32(in);
        g->type = hb_buf_get_u32(in);
        get_raw(in, g->raw);
        hb_copy(g->netdev, sizeof g->netdev,
                hb_buf_get_str(in, sizeof g->netdev - 1));
    }
    n = get_count(in, PKEYS_MAX);
    p->pkeys = hb_xcalloc(n + 1, sizeof *p->pkeys);
    for (; p->n_pkeys < n && !hb_buf_failed(in); p->n_pkeys++) {
        p->pkeys[p->n_pkeys] = hb_buf_get_u32(in);
    }
}

static void put_addr(const struct hb_netaddr *a, struct hb_buf *out)
{
    hb_buf_put_u32(out, a->family);
    hb_buf_put_u32(out, a->prefix);
    hb_buf_put_raw(out, a->raw, sizeof a->raw);
}

static void get_addr(struct hb_netaddr *a, struct hb_buf *in)
{
    a->family = hb_buf_get_u32(in);
    a->prefix = hb_buf_get_u32(in);
    get_raw(in, a->raw);
    if ((a->family != 4 && a->family != 6) ||
        a->prefix > (a->family == 4 ? 32u : 128u)) {
        in->failed = 1;
    }
}

static void put_rdma(const struct hb_rdma *d, struct hb_buf *out)
{
    uint32_t n;

    put(place_fields, &d->at, out);
    put(rdma_fields, d, out);
    n = put_count(out, d->n_ports, PORTS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        put_port(&d->ports[i], out);
    }
}

static void put_net(const struct hb_netdev *d, struct hb_buf *out)
{
    uint32_t n;

    put(place_fields, &d->at, out);
    put(net_fields, d, out);
    n = put_count(out, d->n_addrs, ADDRS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        put_addr(&d->addrs[i], out);
    }
}

void hb_fabric_encode(const struct hb_fabric *f, struct hb_buf *out)
{
    uint32_t n;

    hb_buf_put_u32(out, FORMAT);
    n = put_count(out, f->n_rdma, DEVICES_MAX);
    for (uint32_t i = 0; i < n; i++) {
        put_rdma(&f->rdma[i], out);
    }
    n = put_count(out, f->n_net, DEVICES_MAX);
    for (uint32_t i = 0; i < n; i++) {
        put_net(&f->net[i], out);
    }
    n = put_count(out, f->n_gpus, DEVICES_MAX);
    for (uint32_t i = 0; i < n; i++) {
        put(place_fields, &f->gpus[i].at, out);
        put(gpu_fields, &f->gpus[i], out);
    }
    put(host_fields, f, out);
}

static void get_rdma(struct hb_fabric *f, struct hb_buf *in)
{
    uint32_t n = get_count(in, DEVICES_MAX);

    f->rdma = hb_xcalloc(n + 1, sizeof *f->rdma);
    while (f->n_rdma < n && !hb_buf_failed(in)) {
        struct hb_rdma *d = &f->rdma[f->n_rdma++];
        uint32_t ports;

        get(place_fields, &d->at, in);
        get(rdma_fields, d, in);
        ports = get_count(in, PORTS_MAX);
        d->ports = hb_xcalloc(ports + 1, sizeof *d->ports);
        while (d->n_ports < ports && !hb_buf_failed(in)) {
            get_port(&d->ports[d->n_ports++], in);
        }
    }
}

static void get_net(struct hb_fabric *f, struct hb_buf *in)
{
    uint32_t n = get_count(in, DEVICES_MAX);

    f->net = hb_xcalloc(n + 1, sizeof *f->net);
    while (f->n_net < n && !hb_buf_failed(in)) {
        struct hb_netdev *d = &f->net[f->n_net++];
        uint32_t addrs;

        get(place_fields, &d->at, in);
        get(net_fields, d, in);
        addrs = get_count(in, ADDRS_MAX);
        d->addrs = hb_xcalloc(addrs + 1, sizeof *d->addrs);
        while (d->n_addrs < addrs && !hb_buf_failed(in)) {
            get_addr(&d->addrs[d->n_addrs++], in);
        }
    }
}

int hb_fabric_decode(struct hb_fabric *out, struct hb_buf *in,
                     struct hpcboot_error *err)
{
    struct hb_fabric f = {0};
    uint32_t version = hb_buf_get_u32(in), n;

    get_rdma(&f, in);
    get_net(&f, in);
    n = get_count(in, DEVICES_MAX);
    f.gpus = hb_xcalloc(n + 1, sizeof *f.gpus);
    while (f.n_gpus < n && !hb_buf_failed(in)) {
        struct hb_gpu *g = &f.gpus[f.n_gpus++];
        get(place_fields, &g->at, in);
        get(gpu_fields, g, in);
    }
    get(host_fields, &f, in);
    if (version != FORMAT || hb_buf_failed(in) || hb_buf_left(in) > 0) {
        hb_fabric_clear(&f);
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "an inventory of fabrics that cannot be read");
    }
    *out = f;
    return HPCBOOT_OK;
}

/* --- JSON ------------------------------------------------------------ */

static void show(const struct field *f, const void *object, struct hb_json *j)
{
    char text[32];

    for (; f->name != NULL; f++) {
        const char *at = (const char *)object + f->offset;

        switch (f->kind) {
        case TEXT:
            hb_json_str(j, f->name, *at != '\0' ? at : NULL);
            break;
        case I32:
            hb_json_int(j, f->name, (int32_t)u32_at(at));
            break;
        case U32:
            hb_json_int(j, f->name, u32_at(at));
            break;
        default:
            snprintf(text, sizeof text, "0x%llx",
                     f->kind == U64 ? (unsigned long long)u64_at(at)
                                    : (unsigned long long)u32_at(at));
            hb_json_str(j, f->name, text);
        }
    }
}

static void show_gid(const struct hb_gid *g, struct hb_json *j)
{
    struct hb_str text = HB_STR_INIT;

    hb_gid_text(g, &text);
    hb_json_object(j, NULL);
    hb_json_int(j, "index", g->index);
    hb_json_str(j, "gid", hb_str_text(&text));
    hb_json_str(j, "type", hb_gid_type_name(g->type));
    hb_json_str(j, "netdev", g->netdev[0] != '\0' ? g->netdev : NULL);
    hb_json_end_object(j);
    hb_str_destroy(&text);
}

static void show_port(const struct hb_port *p, struct hb_json *j)
{
    char text[16];

    hb_json_object(j, NULL);
    show(port_fields, p, j);
    hb_json_str(j, "link_layer_name", hb_link_layer_name(p->link_layer));
    hb_json_str(j, "state_name", hb_port_state_name(p->state));
    hb_json_array(j, "gids");
    for (uint32_t i = 0; i < p->n_gids; i++) {
        show_gid(&p->gids[i], j);
    }
    hb_json_end_array(j);
    hb_json_array(j, "pkeys");
    for (uint32_t i = 0; i < p->n_pkeys; i++) {
        snprintf(text, sizeof text, "0x%04x", p->pkeys[i] & 0xffff);
        hb_json_str(j, NULL, text);
    }
    hb_json_end_array(j);
    hb_json_object(j, "counters");
    for (uint32_t i = 0; i < p->n_counters; i++) {
        hb_json_int(j, p->counters[i].name, (int64_t)p->counters[i].value);
    }
    hb_json_end_object(j);
    hb_json_end_object(j);
}

static void show_net(const struct hb_netdev *d, struct hb_json *j)
{
    hb_json_object(j, NULL);
    show(net_fields, d, j);
    show(place_fields, &d->at, j);
    hb_json_array(j, "addresses");
    for (uint32_t i = 0; i < d->n_addrs; i++) {
        char *text = hb_netaddr_text(&d->addrs[i]);
        hb_json_str(j, NULL, text);
        free(text);
    }
    hb_json_end_array(j);
    hb_json_end_object(j);
}

void hb_fabric_json(const struct hb_fabric *f, struct hb_json *j)
{
    hb_json_array(j, "rdma");
    for (uint32_t i = 0; i < f->n_rdma; i++) {
        hb_json_object(j, NULL);
        show(rdma_fields, &f->rdma[i], j);
        show(place_fields, &f->rdma[i].at, j);
        hb_json_array(j, "ports");
        for (uint32_t p = 0; p < f->rdma[i].n_ports; p++) {
            show_port(&f->rdma[i].ports[p], j);
        }
        hb_json_end_array(j);
        hb_json_end_object(j);
    }
    hb_json_end_array(j);
    hb_json_array(j, "net");
    for (uint32_t i = 0; i < f->n_net; i++) {
        show_net(&f->net[i], j);
    }
    hb_json_end_array(j);
    hb_json_array(j, "gpus");
    for (uint32_t i = 0; i < f->n_gpus; i++) {
        hb_json_object(j, NULL);
        show(gpu_fields, &f->gpus[i], j);
        show(place_fields, &f->gpus[i].at, j);
        hb_json_end_object(j);
    }
    hb_json_end_array(j);
    show(host_fields, f, j);
}
