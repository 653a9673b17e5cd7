/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The model: a latency and a bandwidth for each carrier and kind of device,
 * the rate of a device where its host knows one, and the slower of the two
 * ends. The message weighed is of a size at which both matter. Software RDMA
 * and UCX over TCP lose against our own TCP here, as they do when measured;
 * they are used when they are asked for. */
#include "config.h"

#include "lib/xport/choose.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"

#define WEIGHED_BYTES 32768.0
#define MBPS_PER_BYTE_US 8.0 /* 8 Mb/s carry a byte in a microsecond */
#define UNKNOWN_MBPS 10000u

struct model {
    double latency_us;
    uint32_t most_mbps; /* what its software can do on one core */
};
static const struct model ucx_model[HB_UCX_KINDS] = {
    [HB_UCX_IB] = {2, 800000}, [HB_UCX_ROCE] = {3, 800000},
    [HB_UCX_SOFT] = {40, 4000}, [HB_UCX_TCP] = {25, 12000},
};
static const struct model tcp_model = {12, 24000};

const char *hb_carrier_name(enum hb_carrier c)
{
    return c == HB_BY_UCX ? "ucx" : c == HB_BY_TCP ? "tcp" : "none";
}

/* ---- wishes ---- */

static uint32_t carrier_bit(const char *name, size_t len)
{
    for (unsigned c = HB_BY_TCP; c <= HB_BY_UCX; c++) {
        const char *known = hb_carrier_name((enum hb_carrier)c);

        if (strlen(known) == len && memcmp(known, name, len) == 0) {
            return 1u << c;
        }
    }
    return 0;
}

static int read_list(const char *list, uint32_t *may,
                     struct hpcboot_error *err)
{
    *may = 0;
    while (*list != '\0') {
        size_t len = strcspn(list, ",");
        uint32_t bit = carrier_bit(list, len);

        if (bit == 0) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "HPCBOOT_TRANSPORTS: \"%.*s"
                           "\" is none; known are tcp and ucx",
                           (int)(len < 64 ? len : 64), list);
        }
        *may |= bit;
        list += len + (list[len] == ',');
    }
    return 0;
}

static const char *value_of(const char *name)
{
    const char *text = getenv(name);

    return text != NULL && *text != '\0' ? text : NULL;
}

static void read_fabric(const char *fabric, struct hb_carrier_wish *out)
{
    const char *wish = value_of("HPCBOOT_FABRIC_WISH");

    out->is_found = wish != NULL && strcmp(wish, "auto") == 0;
    if (wish != NULL) {
        snprintf(out->from, sizeof out->from, "--fabric %s%s",
                 out->is_found ? "auto found " : "", fabric);
    } else { /* hbrun's or the user's own */
        snprintf(out->from, sizeof out->from, "HPCBOOT_FABRIC=%s (--fabric)",
                 fabric);
    }
    if (strcmp(fabric, "ib") == 0 || strcmp(fabric, "roce") == 0) {
        out->may = out->is_found ? out->may : 1u << HB_BY_UCX;
        out->fabric = *fabric == 'i' ? HB_UCX_IB : HB_UCX_ROCE;
    } else if (strcmp(fabric, "tcp") == 0) {
        out->may = 1u << HB_BY_TCP;
    }
}

/* HPCBOOT_TRANSPORTS says what to use, and nothing of where. */
static const char *named_device(const char *fabric)
{
    const char *wish = value_of("HPCBOOT_FABRIC_WISH");

    return fabric != NULL && strcmp(fabric, "tcp") == 0 && wish != NULL &&
                   strcmp(wish, "device") == 0
               ? value_of("HPCBOOT_FABRIC_TCP") : NULL;
}

int hb_carrier_wish_read(struct hb_carrier_wish *out, struct hpcboot_error *err)
{
    const char *list = value_of("HPCBOOT_TRANSPORTS");
    const char *fabric = value_of("HPCBOOT_FABRIC");
    int rc = 0;

    memset(out, 0, sizeof *out);
    out->may = 1u << HB_BY_TCP | 1u << HB_BY_UCX;
    out->devices = value_of("HPCBOOT_FABRIC_DEVICES");
    out->tcp_device = named_device(fabric);
    if (list != NULL) {
        rc = read_list(list, &out->may, err);
        out->names_ucx = (out->may & 1u << HB_BY_UCX) != 0;
        snprintf(out->from, sizeof out->from, "HPCBOOT_TRANSPORTS=%s", list);
    } else if (fabric != NULL) {
        read_fabric(fabric, out);
    }
    if (out->may == (1u << HB_BY_TCP | 1u << HB_BY_UCX) &&
        out->fabric == 0) {
        out->from[0] = '\0';
    }
    return rc;
}

/* ---- what there is ---- */

static int read_number(const char *path, uint32_t *out)
{
    FILE *f = fopen(path, "re");
    int n = f != NULL && fscanf(f, "%u", out) == 1;

    if (f != NULL) {
        fclose(f);
    }
    return n;
}

/* The first line of a small file; "" without one. */
static void read_line(const char *dir, const char *name, char text[64])
{
    char path[512];
    FILE *f;

    text[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "re");
    if (f != NULL) {
        (void)!fgets(text, 64, f);
        fclose(f);
    }
    text[strcspn(text, "\n")] = '\0';
}

static int says(const char *dir, const char *name, const char *word)
{
    char text[64];

    read_line(dir, name, text);
    return strstr(text, word) != NULL;
}

static uint32_t kind_of(const char *port, int is_soft)
{
    int is_roce = says(port, "link_layer", "Ethernet");

    if (!is_roce && !says(port, "link_layer", "InfiniBand")) {
        return HB_UCX_NONE;
    }
    return is_soft ? HB_UCX_SOFT : is_roce ? HB_UCX_ROCE : HB_UCX_IB;
}

/* Whether a list of devices ("mlx5_0:1,...") has it; NULL has all. */
static int is_listed(const char *devices, const char *name, const char *port)
{
    char full[128];
    size_t len;

    snprintf(full, sizeof full, "%.60s:%.10s", name, port);
    len = strlen(full);
    while (devices != NULL && *devices != '\0') {
        size_t n = strcspn(devices, ",");

        if ((n == len && memcmp(devices, full, n) == 0) ||
            (n == strlen(name) && memcmp(devices, name, n) == 0)) {
            return 1;
        }
        devices += n + (devices[n] == ',');
    }
    return devices == NULL;
}

/* A pod sees all devices of its node, and can open those that it was given. */
static int opens(const char *root, const char *name)
{
    char path[400], owner[64];
    struct dirent *e;
    DIR *all;
    int fd = -1;

    snprintf(path, sizeof path, "%.200s/sys/class/infiniband_verbs", root);
    all = opendir(path);
    while (all != NULL && fd < 0 && (e = readdir(all)) != NULL) {
        snprintf(path, sizeof path, "%.200s/sys/class/infiniband_verbs/%.60s",
                 root, e->d_name);
        read_line(path, "ibdev", owner);
        if (strcmp(owner, name) == 0) {
            snprintf(path, sizeof path, "%.200s/dev/infiniband/%.60s", root,
                     e->d_name);
            fd = open(path, O_RDWR | O_CLOEXEC);
        }
    }
    if (all != NULL) {
        closedir(all);
    }
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

struct search {
    const char *root, *devices;
    uint32_t kind;
    struct hb_caps *caps;
    struct hb_str *ports;
};

static int is_wished(const struct search *s, uint32_t kind)
{
    return s->kind == HB_UCX_NONE || kind == s->kind ||
           (s->kind == HB_UCX_ROCE && kind == HB_UCX_SOFT);
}

/* One port of a device; the better kind wins, then the higher rate. */
static void look_at_port(const struct search *s, const char *device,
                         const char *number, int is_soft)
{
    struct hb_caps *caps = s->caps;
    char port[320], path[400];
    uint32_t gbps = 0, kind;

    snprintf(port, sizeof port, "%.200s/sys/class/infiniband/%.60s/ports/%.20s",
             s->root, device, number);
    kind = kind_of(port, is_soft);
    if (kind == HB_UCX_NONE || !is_wished(s, kind) ||
        !says(port, "state", "ACTIVE")) {
        return;
    }
    snprintf(path, sizeof path, "%s/rate", port);
    (void)read_number(path, &gbps);
    if (caps->ucx_kind == HB_UCX_NONE || kind < caps->ucx_kind) {
        caps->ucx_kind = kind;
        caps->ucx_mbps = 0;
        hb_str_destroy(s->ports);
    }
    if (kind == caps->ucx_kind) {
        caps->ucx_mbps = gbps * 1000u > caps->ucx_mbps ? gbps * 1000u
                                                       : caps->ucx_mbps;
        hb_str_putf(s->ports, "%s%s:%s", s->ports->len > 0 ? "," : "", device,
                    number);
    }
}

static void look_at_device(const struct search *s, const char *name)
{
    char dir[300], path[400];
    struct dirent *e;
    DIR *ports;
    int is_soft;

    snprintf(dir, sizeof dir, "%.200s/sys/class/infiniband/%.60s", s->root,
             name);
    if (!says(dir, "node_type", "1: CA") || !opens(s->root, name)) {
        return;
    }
    /* Devices of software hang on no hardware. */
    snprintf(path, sizeof path, "%s/device", dir);
    is_soft = access(path, F_OK) != 0;
    snprintf(path, sizeof path, "%s/ports", dir);
    ports = opendir(path);
    while (ports != NULL && (e = readdir(ports)) != NULL) {
        if (e->d_name[0] != '.' && is_listed(s->devices, name, e->d_name)) {
            look_at_port(s, name, e->d_name, is_soft);
        }
    }
    if (ports != NULL) {
        closedir(ports);
    }
}

int hb_caps_rdma(const char *root, const char *devices, uint32_t kind,
                 struct hb_caps *caps, char **ports_out)
{
    struct hb_str ports = HB_STR_INIT;
    const struct search s = {root, devices, kind, caps, &ports};
    char dir[256];
    struct dirent *e;
    DIR *all;

    caps->ucx_kind = HB_UCX_NONE;
    caps->ucx_mbps = 0;
    snprintf(dir, sizeof dir, "%.200s/sys/class/infiniband", root);
    all = opendir(dir);
    while (all != NULL && (e = readdir(all)) != NULL) {
        if (e->d_name[0] != '.') {
            look_at_device(&s, e->d_name);
        }
    }
    if (all != NULL) {
        closedir(all);
    }
    if (ports_out != NULL && ports.len > 0) {
        *ports_out = hb_str_steal(&ports);
    }
    hb_str_destroy(&ports);
    return caps->ucx_kind != HB_UCX_NONE;
}

uint32_t hb_net_mbps(const char *root, const char *device)
{
    char path[400];
    uint32_t mbps = 0;

    snprintf(path, sizeof path, "%.200s/sys/class/net/%.60s/speed", root,
             device);
    return read_number(path, &mbps) && mbps <= INT32_MAX ? mbps : 0;
}

void hb_caps_net(const char *root, struct hb_caps *caps)
{
    char path[400];
    struct dirent *e;
    DIR *all;

    caps->tcp_mbps = 0;
    snprintf(path, sizeof path, "%.200s/sys/class/net", root);
    all = opendir(path);
    while (all != NULL && (e = readdir(all)) != NULL) {
        uint32_t mbps = e->d_name[0] != '.' ? hb_net_mbps(root, e->d_name) : 0;

        caps->tcp_mbps = mbps > caps->tcp_mbps ? mbps : caps->tcp_mbps;
    }
    if (all != NULL) {
        closedir(all);
    }
}

/* ---- the choice ---- */

static uint32_t slower(uint32_t a, uint32_t b)
{
    a = a != 0 ? a : UNKNOWN_MBPS;
    b = b != 0 ? b : UNKNOWN_MBPS;
    return a < b ? a : b;
}

/* Modelled: microseconds for a message of so many bytes, one way. */
static double cost_of(enum hb_carrier c, const struct hb_caps *a,
                      const struct hb_caps *b, double bytes)
{
    /* The kind that is slower is the one both can speak. */
    uint32_t kind = a->ucx_kind > b->ucx_kind ? a->ucx_kind : b->ucx_kind;
    const struct model *m = c == HB_BY_UCX && kind < HB_UCX_KINDS
                                ? &ucx_model[kind] : &tcp_model;
    uint32_t mbps = c == HB_BY_UCX && kind != HB_UCX_TCP
                        ? slower(a->ucx_mbps, b->ucx_mbps)
                        : slower(a->tcp_mbps, b->tcp_mbps);

    mbps = mbps < m->most_mbps ? mbps : m->most_mbps;
    return m->latency_us + bytes * MBPS_PER_BYTE_US / mbps;
}

int hb_caps_ucx_differs(const struct hb_caps *a, const struct hb_caps *b)
{
    return a->ucx_kind != HB_UCX_NONE && b->ucx_kind != HB_UCX_NONE &&
           a->ucx_version != b->ucx_version;
}

enum hb_carrier hb_carry_by(const struct hb_caps *a, const struct hb_caps *b)
{
    enum hb_carrier best = HB_BY_NONE;
    double least = 0;

    for (unsigned c = HB_BY_TCP; c <= HB_BY_UCX; c++) {
        double cost;

        if ((a->may & b->may & 1u << c) == 0 ||
            (c == HB_BY_UCX && (a->ucx_kind == HB_UCX_NONE ||
                                b->ucx_kind == HB_UCX_NONE ||
                                hb_caps_ucx_differs(a, b) ||
                                (a->ucx_kind == HB_UCX_IB) !=
                                    (b->ucx_kind == HB_UCX_IB)))) {
            continue;
        }
        cost = cost_of((enum hb_carrier)c, a, b, WEIGHED_BYTES);
        if (best == HB_BY_NONE || cost < least) {
            best = (enum hb_carrier)c;
            least = cost;
        }
    }
    return best;
}
