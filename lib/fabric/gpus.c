/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* GPUs among the PCI functions, their device nodes, what links them directly,
 * and by what NICs can reach their memory.
 *
 * Of NVIDIA's links sysfs shows the switches alone, as PCI functions of their
 * own. AMD's driver lists links between GPUs; their kind 11 is XGMI. A node is
 * not opened, which could start a GPU: whether it is there and its mode allows
 * it is what counts. */

#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/fabric/sysread.h"

#define PCI "/sys/bus/pci/devices"
#define KFD "/sys/class/kfd/kfd/topology/nodes"
#define NVIDIA 0x10deu
#define AMD 0x1002u
#define INTEL 0x8086u
#define CLASS_DISPLAY 0x03u
#define CLASS_ACCELERATOR 0x12u
#define CLASS_BRIDGE_OTHER 0x0680u
#define LINK_XGMI 11
#define PROPERTIES_MAX_BYTES (16u << 10)

static int is_gpu(uint32_t vendor, uint32_t class)
{
    uint32_t base = class >> 16;

    /* A desktop's VGA of Intel is no GPU that a job would use. */
    return (vendor == NVIDIA && base == CLASS_DISPLAY) ||
           (vendor == AMD &&
            (base == CLASS_DISPLAY || base == CLASS_ACCELERATOR)) ||
           (vendor == INTEL && class >> 8 == 0x0380);
}

static char *whole(const char *root, const char *path)
{
    char *full = hb_xasprintf("%s%s", root, path), *text = NULL;
    size_t len;

    if (hb_file_read(full, PROPERTIES_MAX_BYTES, &text, &len, NULL) < 0) {
        text = NULL;
    }
    free(full);
    return text;
}

/* NVIDIA's driver says which node a function is, the others have render
 * nodes. */
static void find_node(const char *root, struct hb_gpu *g)
{
    char path[PATH_MAX], *text, *at;
    struct hb_strv names = HB_STRV_INIT;

    snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information",
             g->at.pci);
    text = g->vendor == NVIDIA ? whole(root, path) : NULL;
    at = text != NULL ? strstr(text, "Device Minor:") : NULL;
    if (at != NULL) {
        snprintf(g->node, sizeof g->node, "/dev/nvidia%u",
                 (unsigned)strtoul(at + strlen("Device Minor:"), NULL, 10));
    }
    free(text);
    if (g->vendor != NVIDIA) {
        hb_sys_list(&names, root, PCI "/%s/drm", g->at.pci);
    }
    for (size_t i = 0; i < names.n; i++) {
        if (hb_starts_with(names.v[i], "renderD")) {
            snprintf(g->node, sizeof g->node, "/dev/dri/%.24s", names.v[i]);
        }
    }
    hb_strv_destroy(&names);
    snprintf(path, sizeof path, "%s%s", root, g->node);
    g->closed = g->node[0] == '\0' ? ENOENT
                : access(path, R_OK | W_OK) == 0 ? 0 : errno;
}

static long property(const char *text, const char *key)
{
    size_t n = strlen(key);

    for (const char *p = text; p != NULL && *p != '\0';
         p = strchr(p, '\n') != NULL ? strchr(p, '\n') + 1 : NULL) {
        if (strncmp(p, key, n) == 0 && p[n] == ' ') {
            return strtol(p + n + 1, NULL, 10);
        }
    }
    return -1;
}

/* "location_id 768", "domain 0": bus, device and function in one number. */
static int is_node_of(const char *text, const char *pci)
{
    char address[32];
    long at = property(text, "location_id"), domain = property(text, "domain");

    if (at < 0) {
        return 0;
    }
    snprintf(address, sizeof address, "%04lx:%02lx:%02lx.%lx",
             domain > 0 ? domain & 0xffff : 0, at >> 8 & 0xff, at >> 3 & 0x1f,
             at & 7);
    return strcmp(address, pci) == 0;
}

static void count_xgmi(const char *root, const char *node, struct hb_gpu *g)
{
    struct hb_strv links = HB_STRV_INIT;

    hb_sys_list(&links, root, KFD "/%s/io_links", node);
    for (size_t i = 0; i < links.n; i++) {
        char *path = hb_xasprintf(KFD "/%s/io_links/%s/properties", node,
                                  links.v[i]);
        char *text = whole(root, path);
        g->links += text != NULL && property(text, "type") == LINK_XGMI;
        free(text);
        free(path);
    }
    hb_strv_destroy(&links);
}

static void find_links(const char *root, struct hb_fabric *f)
{
    struct hb_strv nodes = HB_STRV_INIT;

    hb_sys_list(&nodes, root, KFD);
    for (size_t i = 0; i < nodes.n; i++) {
        char *path = hb_xasprintf(KFD "/%s/properties", nodes.v[i]);
        char *text = whole(root, path);
        for (uint32_t k = 0; text != NULL && k < f->n_gpus; k++) {
            if (is_node_of(text, f->gpus[k].at.pci)) {
                count_xgmi(root, nodes.v[i], &f->gpus[k]);
            }
        }
        free(text);
        free(path);
    }
    hb_strv_destroy(&nodes);
}

static void find_peer_memory(const char *root, struct hb_fabric *f)
{
    static const struct {
        const char *path, *words;
    } signs[] = {
        {"/sys/module/nvidia_peermem", "nvidia_peermem"},
        {"/sys/module/nv_peer_mem", "nv_peer_mem"},
        {"/sys/kernel/mm/memory_peers/amdkfd", "amdkfd"},
        {"/sys/module/gdrdrv", "gdrcopy"},
    };
    size_t n;

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        n = strlen(f->peer_memory);
        if (hb_sys_exists(root, "%s", signs[i].path)) {
            snprintf(f->peer_memory + n, sizeof f->peer_memory - n, "%s%s",
                     n > 0 ? ", " : "", signs[i].words);
        }
    }
}

void hb_sys_gpus(const char *root, struct hb_fabric *out)
{
    struct hb_strv names = HB_STRV_INIT;

    hb_sys_list(&names, root, PCI);
    for (size_t i = 0; i < names.n; i++) {
        uint32_t class = (uint32_t)hb_sys_number(0, root, PCI "/%s/class",
                                                 names.v[i]);
        uint32_t base = class >> 16, vendor;
        struct hb_gpu g = {0};
        char dir[PATH_MAX];

        if (base != CLASS_DISPLAY && base != CLASS_ACCELERATOR &&
            class >> 8 != CLASS_BRIDGE_OTHER) {
            continue;
        }
        vendor = (uint32_t)hb_sys_number(0, root, PCI "/%s/vendor",
                                         names.v[i]);
        out->nvswitches += class >> 8 == CLASS_BRIDGE_OTHER &&
                           vendor == NVIDIA;
        if (!is_gpu(vendor, class)) {
            continue;
        }
        snprintf(dir, sizeof dir, PCI "/%s", names.v[i]);
        hb_sys_place(&g.at, root, dir);
        hb_copy(g.at.pci, sizeof g.at.pci, names.v[i]);
        g.vendor = vendor;
        g.device = (uint32_t)hb_sys_number(0, root, "%s/device", dir);
        hb_sys_link(g.driver, sizeof g.driver, root, "%s/driver", dir);
        find_node(root, &g);
        out->gpus = hb_xrealloc(out->gpus,
                                (out->n_gpus + 1) * sizeof *out->gpus);
        out->gpus[out->n_gpus++] = g;
    }
    hb_strv_destroy(&names);
    if (out->n_gpus > 0) {
        find_links(root, out);
        find_peer_memory(root, out);
    }
}
