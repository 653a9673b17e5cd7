/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* GPUs for ranks.
 *
 * Distance has two steps only: next to a CPU of the rank, or not; the depth of
 * the PCI tree is no distance. Each GPU has an even share of what the ranks
 * take. A rank takes the least used of the near ones, the first of them when
 * equal, and of the far ones when the shares of the near ones are gone.
 *
 * sysfs shows every GPU of the machine, also to a container that was given
 * one; what was given is known by the device nodes. Of these a batch system may
 * leave some, by a list in the variable of their maker: numbers say which, and
 * names (of parts, too) how many at most. */

#include "config.h"

#include "lib/topo/gpu_share.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

#define PROC_FILE_BYTES 4096u
#define FAR ((uint64_t)1 << 40) /* more than any use count */
#define FULL (2 * FAR)

static int is_there(const char *root, const char *name)
{
    char *path = hb_xasprintf("%s%s", root, name);
    int there = access(path, F_OK) == 0;

    free(path);
    return there;
}

/* The driver says which /dev/nvidiaN a PCI function is. */
static int nvidia_given(const char *root, const char *pci)
{
    char *path = hb_xasprintf("%s/proc/driver/nvidia/gpus/%s/information", root,
                              pci);
    char *text = NULL, *at, node[64];
    size_t len;
    int given = 0;

    if (hb_file_read(path, PROC_FILE_BYTES, &text, &len, NULL) >= 0) {
        at = strstr(text, "Device Minor:");
        if (at != NULL) {
            snprintf(node, sizeof(node), "/dev/nvidia%u",
                     (unsigned)strtoul(at + strlen("Device Minor:"), NULL, 10));
            given = is_there(root, node);
        }
    }
    free(text);
    free(path);
    return given;
}

/* The others are known by their render nodes. */
static int render_given(const char *root, const char *pci)
{
    char *path = hb_xasprintf("%s/sys/bus/pci/devices/%s/drm", root, pci);
    DIR *d = opendir(path);
    struct dirent *e;
    int given = 0;

    while (d != NULL && !given && (e = readdir(d)) != NULL) {
        if (hb_starts_with(e->d_name, "renderD")) {
            char *node = hb_xasprintf("/dev/dri/%s", e->d_name);
            given = is_there(root, node);
            free(node);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    free(path);
    return given;
}

void hb_gpus_cut(struct hb_topo *topo, const char *root)
{
    struct hb_topo_devices *d = &topo->device[HB_TOPO_GPU];
    uint32_t kept = 0;

    for (uint32_t i = 0; i < d->n; i++) {
        const struct hb_topo_device *g = &d->v[i];
        if (g->vendor == HB_PCI_NVIDIA ? nvidia_given(root, g->pci)
                                       : render_given(root, g->pci)) {
            d->v[kept++] = *g;
        }
    }
    d->n = kept;
}

static int is_near(const struct hb_topo *topo, const struct hb_topo_span *s,
                   const struct hb_cpus *cpus)
{
    for (uint32_t i = s->first; cpus != NULL && i < s->first + s->n; i++) {
        if (hb_cpus_has(cpus, topo->pu_os[i])) {
            return 1;
        }
    }
    return cpus == NULL;
}

/* How evenly GPUs are shared: each may be taken `each` times, and `more` of
 * them once again. */
struct shares {
    uint32_t each, more;
};

static uint64_t cost_of(uint32_t used, int near, const struct shares *s)
{
    if (used < s->each || (used == s->each && s->more > 0)) {
        return used + (near ? 0 : FAR);
    }
    return FULL + 2 * (uint64_t)used + !near;
}

static int has(const uint32_t *gpus, uint32_t n, uint32_t gpu)
{
    for (uint32_t i = 0; i < n; i++) {
        if (gpus[i] == gpu) {
            return 1;
        }
    }
    return 0;
}

int hb_gpus_assign(const struct hb_topo *topo, const struct hb_cpus *cpus,
                   uint32_t n_ranks, uint32_t each_gets, uint32_t *gpus_out,
                   struct hpcboot_error *err)
{
    const struct hb_topo_devices *d = &topo->device[HB_TOPO_GPU];
    const uint32_t n = d->n > 0 ? d->n : 1, total = n_ranks * each_gets;
    struct shares left = {total / n, total % n};
    uint32_t *used;

    if (d->n - d->hidden < each_gets) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT,
                       "each rank was to get %u of the host's GPUs, and there "
                       "are %u that may be used", each_gets, d->n - d->hidden);
    }
    used = hb_xcalloc(n, sizeof(*used));
    for (uint32_t i = 0; i < total; i++) {
        const struct hb_cpus *own = cpus != NULL ? &cpus[i / each_gets] : NULL;
        uint32_t begun = i % each_gets, best = 0;
        uint64_t least = UINT64_MAX;
        for (uint32_t g = 0; g < d->n; g++) {
            uint64_t cost = cost_of(used[g], is_near(topo, &d->v[g].near, own),
                                    &left);
            if (cost < least && !has(&gpus_out[i - begun], begun, g)) {
                least = cost;
                best = g;
            }
        }
        left.more -= used[best]++ == left.each && left.more > 0;
        gpus_out[i] = best;
    }
    free(used);
    return HPCBOOT_OK;
}

char *hb_gpus_shared(const struct hb_topo *topo, uint32_t n_ranks,
                     uint32_t each_gets)
{
    const struct hb_topo_devices *d = &topo->device[HB_TOPO_GPU];
    uint32_t n = d->n - d->hidden;

    if ((uint64_t)n_ranks * each_gets <= n) {
        return NULL;
    }
    return hb_xasprintf("%u ranks that see %u GPU%s each share the %u GPU%s "
                        "here; for each its own, start fewer, or take more "
                        "hosts, with --map-by ppr:%u:node",
                        n_ranks, each_gets, each_gets == 1 ? "" : "s", n,
                        n == 1 ? "" : "s", n / each_gets);
}

static const struct maker {
    uint32_t vendor;
    const char *variable;
    const char *order; /* "NAME=VALUE" that goes with it, or NULL */
} makers[] = {
    {HB_PCI_NVIDIA, "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER=PCI_BUS_ID"},
    {HB_PCI_AMD, "ROCR_VISIBLE_DEVICES", NULL},
    {HB_PCI_INTEL, "ZE_AFFINITY_MASK", NULL},
};

/* The number of a GPU among those of its maker. */
static uint32_t ordinal(const struct hb_topo_devices *d, uint32_t gpu)
{
    uint32_t n = 0;

    if (d->v[gpu].listed > 0) {
        return d->v[gpu].listed - 1;
    }
    for (uint32_t i = 0; i < gpu; i++) {
        n += d->v[i].vendor == d->v[gpu].vendor;
    }
    return n;
}

/* Is the number in a list? That ends with the first entry which is none, as
 * the makers' libraries read it. */
static int lists(const char *list, uint32_t number)
{
    char *end;

    for (const char *p = list; *p >= '0' && *p <= '9';
         p = end + (*end == ',')) {
        unsigned long entry = strtoul(p, &end, 10);
        if (*end != ',' && *end != '\0') {
            return 0;
        }
        if (entry == number) {
            return 1;
        }
    }
    return 0;
}

/* 1 when a list of numbers has all GPUs of a maker. */
static int lists_all(const struct hb_topo_devices *d, uint32_t vendor,
                     const char *list)
{
    for (uint32_t g = 0; g < d->n; g++) {
        if (d->v[g].vendor == vendor && !lists(list, ordinal(d, g))) {
            return 0;
        }
    }
    return 1;
}

/* 1 when a list has nothing but numbers below n, or ends with what is none. */
static int is_of_numbers(const char *list, uint32_t n)
{
    const char *p = list;
    char *end;

    while (*p >= '0' && *p <= '9') {
        if (strtoul(p, &end, 10) >= n || (*end != ',' && *end != '\0')) {
            return 0;
        }
        p = end + (*end == ',');
    }
    return p > list && (*p == '\0' || *p == ',' || *p == '-');
}

/* -1 shows none. */
static uint32_t entries_of(const char *list)
{
    uint32_t n = *list != '\0' && *list != '-';

    for (const char *p = list; n > 0 && (p = strchr(p, ',')) != NULL; p++) {
        n++;
    }
    return n;
}

/* Leaves those of a maker that a list has, in its order, each once. */
static void keep_listed(struct hb_topo_devices *d, uint32_t vendor,
                        const char *list)
{
    struct hb_topo_device *v = hb_xcalloc(d->n, sizeof(*v));
    uint32_t kept = 0;
    char *end;

    for (uint32_t i = 0; i < d->n; i++) {
        if (d->v[i].vendor != vendor) {
            v[kept++] = d->v[i];
        }
    }
    for (const char *p = list; *p >= '0' && *p <= '9';
         p = end + (*end == ',')) {
        uint32_t number = (uint32_t)strtoul(p, &end, 10), g = 0;
        while (g < d->n && (d->v[g].vendor != vendor || d->v[g].listed > 0 ||
                            ordinal(d, g) != number)) {
            g++;
        }
        if (g < d->n) {
            d->v[g].listed = number + 1;
            v[kept++] = d->v[g];
        }
    }
    free(d->v);
    d->v = v;
    d->n = kept;
}

void hb_gpus_keep_listed(struct hb_topo *topo, const struct hb_strv *env)
{
    struct hb_topo_devices *d = &topo->device[HB_TOPO_GPU];

    d->hidden = 0;
    for (size_t m = 0; m < sizeof(makers) / sizeof(makers[0]); m++) {
        const char *list = hb_env_get(env, makers[m].variable);
        uint32_t own = 0, most;
        if (list == NULL || lists_all(d, makers[m].vendor, list)) {
            continue;
        }
        for (uint32_t i = 0; i < d->n; i++) {
            own += d->v[i].vendor == makers[m].vendor;
        }
        most = entries_of(list);
        if (is_of_numbers(list, own)) {
            keep_listed(d, makers[m].vendor, list);
        } else if (most > 0 && most < own) {
            d->hidden += own - most;
        }
    }
}

static int lists_differ(const struct hb_strv *a, const struct hb_strv *b)
{
    int differ = 0;

    for (size_t m = 0; m < sizeof(makers) / sizeof(makers[0]); m++) {
        const char *in_a = hb_env_get(a, makers[m].variable);
        const char *in_b = hb_env_get(b, makers[m].variable);
        differ |= in_a == NULL ? in_b != NULL : !hb_streq(in_a, in_b);
    }
    return differ;
}

void hb_gpus_keep_common(struct hb_topo *topo, const struct hb_strv *const *env,
                         uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (env[i] == NULL || lists_differ(env[0], env[i])) {
            return;
        }
    }
    if (n > 0) {
        hb_gpus_keep_listed(topo, env[0]);
    }
}

uint32_t hb_gpus_number(const struct hb_topo *topo, uint32_t gpu)
{
    const struct hb_topo_device *g = &topo->device[HB_TOPO_GPU].v[gpu];

    return g->listed > 0 ? g->listed - 1 : gpu;
}

/* n entries of a list, those of the at-th who takes so many, beginning again
 * where it ends. */
static void put_part(const char *list, uint32_t n, uint32_t at,
                     struct hb_str *out)
{
    const uint64_t all = entries_of(list);

    for (uint64_t i = 0; i < n && i < all; i++) {
        const char *p = list;
        for (uint64_t k = ((uint64_t)at * n + i) % all; k > 0; k--) {
            p = strchr(p, ',') + 1;
        }
        hb_str_putf(out, "%s%.*s", i > 0 ? "," : "", (int)strcspn(p, ","), p);
    }
}

/* The value of a maker's variable for one rank; empty: it stays as it is.
 * *by_list: it is a part of what is set. */
static void value_of(const struct maker *m, const struct hb_topo_devices *d,
                     const uint32_t *gpus, uint32_t n, uint32_t at,
                     const struct hb_strv *env, int *by_list,
                     struct hb_str *out)
{
    const char *set = hb_env_get(env, m->variable);
    uint32_t own = 0;
    int names;

    *by_list = 0;
    for (uint32_t i = 0; i < n; i++) {
        int is_own = gpus[i] < d->n && d->v[gpus[i]].vendor == m->vendor;
        own += (uint32_t)is_own;
        *by_list |= is_own && d->v[gpus[i]].listed > 0;
    }
    names = set != NULL && own > 0 && !lists_all(d, m->vendor, set);
    *by_list |= names;
    if (names && entries_of(set) > 0) {
        put_part(set, own, at, out);
    }
    for (uint32_t i = 0; i < n && !names; i++) {
        if (gpus[i] < d->n && d->v[gpus[i]].vendor == m->vendor) {
            hb_str_putf(out, "%s%u", out->len > 0 ? "," : "",
                        ordinal(d, gpus[i]));
        }
    }
}

void hb_gpus_env(const struct hb_topo *topo, const uint32_t *gpus, uint32_t n,
                 uint32_t at, struct hb_strv *env)
{
    for (size_t m = 0; m < sizeof(makers) / sizeof(makers[0]); m++) {
        struct hb_str value = HB_STR_INIT;
        int by_list;
        value_of(&makers[m], &topo->device[HB_TOPO_GPU], gpus, n, at, env,
                 &by_list, &value);
        if (value.len > 0) {
            hb_env_set(env, makers[m].variable, value.s);
        }
        if (value.len > 0 && !by_list && makers[m].order != NULL) {
            hb_env_put(env, makers[m].order);
        }
        hb_str_destroy(&value);
    }
}

char *hb_gpus_text(const struct hb_topo *topo, const uint32_t *gpus,
                   uint32_t n, uint32_t at, const struct hb_strv *env)
{
    const struct hb_topo_devices *d = &topo->device[HB_TOPO_GPU];
    struct hb_str out = HB_STR_INIT;

    hb_str_put(&out, "");
    for (size_t m = 0; m < sizeof(makers) / sizeof(makers[0]); m++) {
        const char *name = makers[m].variable;
        struct hb_str value = HB_STR_INIT;
        int by_list;
        value_of(&makers[m], d, gpus, n, at, env, &by_list, &value);
        if (by_list) {
            hb_str_putf(&out, "%s%s=%s", out.len > 0 ? ", " : "", name,
                        value.len > 0 ? value.s : hb_env_get(env, name));
        }
        for (uint32_t i = 0; i < n && !by_list; i++) {
            if (d->v[gpus[i]].vendor == makers[m].vendor) {
                hb_str_putf(&out, "%sGPU %u (%s)", out.len > 0 ? ", " : "",
                            gpus[i], d->v[gpus[i]].pci);
            }
        }
        hb_str_destroy(&value);
    }
    return hb_str_steal(&out);
}
