/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Counts GPUs without any vendor's library, by the devices that are there.
 *
 *   NVIDIA  /dev/nvidiaN: a container runtime makes those of its container.
 *           Parts of a GPU (MIG) are not devices of their own; the runtime's
 *           variable lists them: NVIDIA_VISIBLE_DEVICES=MIG-...,MIG-...
 *   AMD     nodes of the kernel's compute driver with compute units, each
 *           with the number of its device /dev/dri/renderDN
 *   Intel   /dev/dri/renderDN of a PCI device of the class "display, other",
 *           which GPUs without a screen have; a desktop's is not counted
 *
 * CUDA_VISIBLE_DEVICES, which batch systems set, can only lower the number
 * (ROCR_VISIBLE_DEVICES for AMD). What cannot be read is not there. */

#include "config.h"

#include "lib/topo/gpus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

/* A node's properties are some 30 lines. */
#define PROPERTIES_MAX_BYTES (16u << 10)
#define ID_MAX_BYTES 64u
#define INTEL_VENDOR "0x8086"
#define DISPLAY_OTHER "0x0380" /* and the programming interface */

static const char *variable(char *const *env, const char *name)
{
    size_t n = strlen(name);

    for (; env != NULL && *env != NULL; env++) {
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=') {
            return *env + n + 1;
        }
    }
    return NULL;
}

/* Calls `is` for each entry of a directory and counts those it is true for. */
static uint32_t count_entries(const char *root, const char *path,
                              int (*is)(const char *root, const char *name))
{
    char *full = hb_xasprintf("%s%s", root, path);
    DIR *dir = opendir(full);
    struct dirent *e;
    uint32_t n = 0;

    while (dir != NULL && (e = readdir(dir)) != NULL) {
        n += is(root, e->d_name) ? 1 : 0;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    free(full);
    return n;
}

/* "prefix" and a number. */
static int is_numbered(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(name, prefix, n) == 0 && name[n] != '\0' &&
           name[n + strspn(name + n, "0123456789")] == '\0';
}

static int exists(const char *root, const char *path)
{
    char *full = hb_xasprintf("%s%s", root, path);
    int yes = access(full, F_OK) == 0;

    free(full);
    return yes;
}

static char *text_of(const char *root, const char *path, size_t max)
{
    char *full = hb_xasprintf("%s%s", root, path), *text = NULL;
    size_t len;

    if (hb_file_read(full, max, &text, &len, NULL) < 0) {
        text = NULL;
    }
    free(full);
    return text;
}

static int is_nvidia(const char *root, const char *name)
{
    (void)root;
    return is_numbered(name, "nvidia");
}

/* The value of "KEY VALUE" on a line of its own, 0 when it is not there. */
static uint64_t property(const char *text, const char *key)
{
    size_t n = strlen(key);

    for (const char *p = text; p != NULL && *p != '\0';
         p = strchr(p, '\n') != NULL ? strchr(p, '\n') + 1 : NULL) {
        if (strncmp(p, key, n) == 0 && p[n] == ' ') {
            return strtoull(p + n + 1, NULL, 10);
        }
    }
    return 0;
}

static int is_amd(const char *root, const char *name)
{
    char *path, *text;
    uint64_t minor = 0;
    int yes = 0;

    if (!is_numbered(name, "")) {
        return 0;
    }
    path = hb_xasprintf("/sys/class/kfd/kfd/topology/nodes/%s/properties",
                        name);
    text = text_of(root, path, PROPERTIES_MAX_BYTES);
    free(path);
    if (text != NULL && property(text, "simd_count") > 0) {
        minor = property(text, "drm_render_minor");
    }
    if (minor > 0) {
        path = hb_xasprintf("/dev/dri/renderD%llu", (unsigned long long)minor);
        yes = exists(root, path);
        free(path);
    }
    free(text);
    return yes;
}

static int id_begins(const char *root, const char *device, const char *file,
                     const char *with)
{
    char *path = hb_xasprintf("/sys/class/drm/%s/device/%s", device, file);
    char *text = text_of(root, path, ID_MAX_BYTES);
    int yes = text != NULL && hb_starts_with(text, with);

    free(text);
    free(path);
    return yes;
}

static int is_intel(const char *root, const char *name)
{
    return is_numbered(name, "renderD") &&
           id_begins(root, name, "vendor", INTEL_VENDOR) &&
           id_begins(root, name, "class", DISPLAY_OTHER);
}

/* How many entries the list has; it ends at the first empty or negative one,
 * as the drivers read it. */
static uint32_t list_length(const char *list)
{
    uint32_t n = 0;

    while (*list != '\0' && *list != ',' && *list != '-') {
        n++;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return n;
}

static void lower(uint32_t *n, const char *list, const char *by,
                  const char **lowered_by)
{
    if (list != NULL && list_length(list) < *n) {
        *n = list_length(list);
        *lowered_by = by;
    }
}

static void count_nvidia(const char *root, char *const *env, uint32_t *n,
                         const char **by)
{
    const char *parts = variable(env, "NVIDIA_VISIBLE_DEVICES");

    *n = count_entries(root, "/dev", is_nvidia);
    if (*n > 0 && parts != NULL && hb_starts_with(parts, "MIG-")) {
        *n = list_length(parts);
        *by = "NVIDIA_VISIBLE_DEVICES";
    }
    lower(n, variable(env, "CUDA_VISIBLE_DEVICES"), "CUDA_VISIBLE_DEVICES", by);
}

static void describe(uint32_t n, const char *kind, const char *by,
                     struct hb_gpus *out)
{
    size_t len = strlen(out->origin);

    if (n == 0 && by == NULL) {
        return;
    }
    out->n += n;
    snprintf(out->origin + len, sizeof(out->origin) - len,
             "%s%u %s GPU%s in %s", len > 0 ? ", " : "", n, kind,
             n == 1 ? "" : "s", by != NULL ? by : "/dev");
}

void hb_gpus_count(const char *root, char *const *env, struct hb_gpus *out)
{
    const char *by = NULL;
    uint32_t n;

    memset(out, 0, sizeof(*out));
    count_nvidia(root, env, &n, &by);
    describe(n, "NVIDIA", by, out);
    by = NULL;
    n = count_entries(root, "/sys/class/kfd/kfd/topology/nodes", is_amd);
    lower(&n, variable(env, "ROCR_VISIBLE_DEVICES"), "ROCR_VISIBLE_DEVICES",
          &by);
    describe(n, "AMD", by, out);
    n = count_entries(root, "/dev/dri", is_intel);
    describe(n, "Intel", NULL, out);
    if (out->origin[0] == '\0') {
        snprintf(out->origin, sizeof(out->origin), "no GPU in /dev");
    }
}
