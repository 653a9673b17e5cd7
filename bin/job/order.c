/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* --order topology: puts the hosts of the gang into the order of the network
 * before anything counts on it, so that ranks which follow each other run near
 * each other, and --nodes takes neighbours. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/job_impl.h"
#include "bin/job/network.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define TOPOLOGY_BYTES_MAX (64u << 20)
#define SLURM_TOPOLOGY "/etc/slurm/topology.conf"

static void apply(struct job *j, const uint32_t *order)
{
    struct hb_host *hosts = hb_xcalloc(j->gang.n, sizeof *hosts);
    uint32_t *at = hb_xcalloc(j->gang.n, sizeof *at);

    for (uint32_t i = 0; i < j->gang.n; i++) {
        hosts[i] = j->gang.hosts[order[i]];
        at[order[i]] = i;
    }
    memcpy(j->gang.hosts, hosts, j->gang.n * sizeof *hosts);
    for (size_t i = 0; i < j->gang.n_mentions; i++) {
        if (j->gang.mentions[i].host < j->gang.n) {
            j->gang.mentions[i].host = at[j->gang.mentions[i].host];
        }
    }
    free(hosts);
    free(at);
}

static int order_by(struct job *j, const char *file, const char *text,
                    struct hpcboot_error *err)
{
    const char **names = hb_xcalloc(j->gang.n, sizeof *names);
    uint32_t *order = hb_xcalloc(j->gang.n, sizeof *order);
    uint32_t unknown = 0;
    int rc;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        names[i] = j->gang.hosts[i].name;
    }
    rc = hb_network_order(file, text, names, (uint32_t)j->gang.n, order,
                          &unknown, err);
    if (rc == 0) {
        apply(j, order);
    }
    if (rc == 0 && unknown > 0) {
        hb_log(HB_WARN, "%u of %zu hosts are not in %s; they come last",
               unknown, j->gang.n, file);
    }
    free(names);
    free(order);
    return rc;
}

int job_order_hosts(struct job *j, struct hpcboot_error *err)
{
    const char *order = j->opt->order, *file = j->opt->topology;
    char *text = NULL;
    size_t len;
    int rc;

    if (order != NULL && !hb_streq(order, "given") &&
        !hb_streq(order, "topology")) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--order %s: expected topology or given", order);
    }
    if (!hb_streq(order, "topology")) {
        return 0;
    }
    file = file != NULL ? file : SLURM_TOPOLOGY;
    rc = hb_file_read(file, TOPOLOGY_BYTES_MAX, &text, &len, err);
    if (rc < 0 && j->opt->topology == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "--order topology: there is no "
                     "%s; name another file with --topology", file);
    }
    if (rc >= 0) {
        rc = order_by(j, file, text, err);
    }
    free(text);
    if (rc < 0) { /* nothing was started: the request is wrong */
        err->code = HPCBOOT_ERR_USAGE;
        return HPCBOOT_ERR_USAGE;
    }
    return 0;
}
