/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The verbs ping between the ports that --fabric has chosen: a rank's first
 * device of HPCBOOT_FABRIC_DEVICES with its GID. The module of libibverbs is
 * loaded only where there is such a device. */
#include "config.h"

#include "bin/probe/rdma.h"

#include <hpcboot/hpcboot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/module_load.h"
#include "lib/fabric/ping.h"

#define KEY "probe.verbs"
#define NAME_MAX_BYTES 63

struct rdma {
    const struct hb_ping_ops *ops;
    struct hb_ping *ping; /* NULL: no port was chosen, or it does not open */
};

/* "mlx5_0:1,mlx5_1:1" */
static int first_device(char *name, unsigned *port, unsigned *gid_index)
{
    const char *devices = getenv("HPCBOOT_FABRIC_DEVICES");
    const char *index = getenv("HPCBOOT_FABRIC_GID_INDEX");

    *gid_index = index != NULL ? (unsigned)strtoul(index, NULL, 10) : 0;
    return devices != NULL && sscanf(devices, "%63[^:,]:%u", name, port) == 2;
}

/* 0: the port's own first one. */
static unsigned partition(void)
{
    const char *text = getenv("HPCBOOT_FABRIC_PKEY");

    return text != NULL ? (unsigned)strtoul(text, NULL, 0) : 0;
}

static void open_port(struct rdma *r, struct hb_str *report)
{
    char name[NAME_MAX_BYTES + 1];
    struct hpcboot_error err = {0};
    const void *symbol = NULL;
    unsigned port, gid_index;
    int rc;

    if (!first_device(name, &port, &gid_index)) {
        return;
    }
    rc = hb_module_open("hb_verbs", "hb_verbs_ping", &symbol, &err);
    if (rc >= 0) {
        r->ops = symbol;
        rc = r->ops->open(&r->ping, name, port, gid_index, partition(),
                          &err);
    }
    if (rc < 0) {
        hb_str_putf(report, "error %s\n", err.text);
    }
}

struct rdma *rdma_open(struct hb_str *report)
{
    struct rdma *r = hb_xcalloc(1, sizeof *r);
    struct hb_ping_address mine;

    open_port(r, report);
    if (r->ping != NULL) {
        r->ops->address(r->ping, &mine);
        (void)hpcboot_put(HPCBOOT_SCOPE_JOB, KEY, &mine, sizeof mine, NULL);
    }
    return r;
}

static void tell(int peer, const struct hb_ping_result *result,
                 struct hb_str *report)
{
    static const char *const names[HB_PING_STEPS] = {"ah", "ud", "rc"};

    for (int i = 0; i < HB_PING_STEPS; i++) {
        if (result->failed[i][0] != '\0') {
            hb_str_putf(report, "noverb %s %d %s\n", names[i], peer,
                        result->failed[i]);
        } else if (result->ns[i] > 0) {
            hb_str_putf(report, "verb %s %d %llu\n", names[i], peer,
                        (unsigned long long)result->ns[i]);
        }
    }
}

void rdma_meet(struct rdma *r, int peer, struct hb_str *report)
{
    struct hb_ping_result result;
    struct hb_ping_address theirs;
    void *value = NULL;
    size_t size = 0;

    if (r->ping == NULL ||
        hpcboot_get(peer, KEY, &value, &size, NULL) < 0) {
        return;
    }
    if (size == sizeof theirs) {
        memcpy(&theirs, value, size);
        r->ops->meet(r->ping, &theirs, hpcboot_rank() < peer, &result);
        tell(peer, &result, report);
    }
    free(value);
}

void rdma_close(struct rdma *r)
{
    if (r->ping != NULL) {
        r->ops->destroy(r->ping);
    }
    free(r);
}
