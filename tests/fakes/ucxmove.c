/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What stands in for the module hb_ucx.so beside the driver of gpudriver.c: a
 * UCX that knows the device. FAKE_UCX_FAILS=1: no copy works. What it cannot
 * show is that the real UCX copies. */
#include "config.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/xport/ucxmove.h"

struct hb_ucxmove {
    int (*to_device)(uint64_t to, const void *from, size_t bytes);
    int (*to_host)(void *to, uint64_t from, size_t bytes);
};

static int fake_open(enum hb_ucxmove_kind kind, int shared,
                     struct hb_ucxmove **out, char *why, size_t why_size)
{
    void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    struct hb_ucxmove *m = calloc(1, sizeof *m);
    void *to, *from;

    (void)shared;
    if (kind != HB_UCXMOVE_CUDA || lib == NULL || m == NULL) {
        snprintf(why, why_size, "this is a fake");
        free(m);
        return -1;
    }
    to = dlsym(lib, "fake_to_device");
    from = dlsym(lib, "fake_to_host");
    memcpy(&m->to_device, &to, sizeof to);
    memcpy(&m->to_host, &from, sizeof from);
    *out = m;
    return 0;
}

static void fake_close(struct hb_ucxmove *m)
{
    free(m);
}

static int fake_copy(struct hb_ucxmove *m, void *to, const void *from,
                     size_t size, int to_device, char *why, size_t why_size)
{
    int rc = to_device ? m->to_device((uintptr_t)to, from, size)
                       : m->to_host(to, (uintptr_t)from, size);

    if (rc != 0 || getenv("FAKE_UCX_FAILS") != NULL) {
        snprintf(why, why_size, "the device is on fire");
        return -1;
    }
    return 0;
}

static const char *fake_version(void)
{
    return "0.0";
}

const struct hb_ucxmover hb_ucxmove = {
    .open = fake_open, .close = fake_close, .copy = fake_copy,
    .version = fake_version,
};
