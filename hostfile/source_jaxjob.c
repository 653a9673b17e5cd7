/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of a JAXJob (Training Operator v1): COORDINATOR_ADDRESS is
 * "JOB-worker-0" without a port, beside COORDINATOR_PORT, NUM_PROCESSES and
 * PROCESS_ID. All four must be there, as none of the names is its own. */

#include "config.h"

#include "hostfile/source.h"

#include "hostfile/pod.h"
#include "lib/base/str.h"

#define FIRST "-worker-0"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    static const char *const names[] = {
        "COORDINATOR_ADDRESS", "COORDINATOR_PORT", "NUM_PROCESSES",
        "PROCESS_ID", NULL};
    const char *first = hb_source_env(req, "COORDINATOR_ADDRESS");
    uint64_t nodes, id;
    int rc;

    if (!hb_source_all_set(req, names, reason_out)) {
        return 0;
    }
    if (!hb_source_count(req, "JAXJob", "NUM_PROCESSES", 1, &nodes, out,
                         reason_out) ||
        !hb_source_count(req, "JAXJob", "PROCESS_ID", 0, &id, out,
                         reason_out)) {
        return 0;
    }
    if (!hb_ends_with(first, FIRST)) {
        *reason_out = hb_xasprintf("COORDINATOR_ADDRESS is %.100s, not a name "
                                   "that ends in " FIRST, first);
        hb_source_note_several(out, "JAXJob", nodes, *reason_out);
        return 0;
    }
    rc = hb_pod_series(req, first, nodes, 0, "NUM_PROCESSES", out, err);
    if (rc >= 0) {
        rc = hb_source_take_index(req, "PROCESS_ID", "NUM_PROCESSES", out, err);
    }
    if (rc < 0) {
        return rc;
    }
    hb_source_operator_made(req, out, "NUM_PROCESSES and COORDINATOR_ADDRESS");
    return 1;
}

const struct hb_source hb_source_jaxjob = {
    .name = "JAXJob", .own_hosts = 1, .ask = ask};
