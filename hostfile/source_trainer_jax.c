/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of a Kubeflow TrainJob with the jax runtime: JAX_NUM_PROCESSES,
 * JAX_PROCESS_ID and JAX_COORDINATOR_ADDRESS, "JOB-node-0-0.JOB:29500". Slots
 * are not told. */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/pod.h"
#include "lib/base/str.h"

#define WHERE "JAX_NUM_PROCESSES and JAX_COORDINATOR_ADDRESS"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    static const char *const names[] = {
        "JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS",
        NULL};
    const char *address = hb_source_env(req, "JAX_COORDINATOR_ADDRESS");
    uint64_t nodes, id;
    size_t stem;
    char *first;
    int rc;

    if (!hb_source_all_set(req, names, reason_out) ||
        !hb_source_count(req, "Kubeflow Trainer", "JAX_NUM_PROCESSES", 1,
                         &nodes, out, reason_out) ||
        !hb_source_count(req, "Kubeflow Trainer", "JAX_PROCESS_ID", 0, &id,
                         out, reason_out)) {
        return 0;
    }
    first = hb_xstrndup(address, strcspn(address, ":"));
    if (hb_pod_index(first, &stem) != 0) {
        *reason_out = hb_xasprintf("JAX_COORDINATOR_ADDRESS is %.100s, not the "
                                   "name of a first pod", address);
        hb_source_note_several(out, "Kubeflow Trainer", nodes, *reason_out);
        free(first);
        return 0;
    }
    rc = hb_pod_series(req, first, nodes, 0, "JAX_NUM_PROCESSES", out, err);
    free(first);
    if (rc >= 0) {
        rc = hb_source_take_index(req, "JAX_PROCESS_ID", "JAX_NUM_PROCESSES",
                                  out, err);
    }
    if (rc < 0) {
        return rc;
    }
    hb_source_operator_made(req, out, WHERE);
    return 1;
}

const struct hb_source hb_source_trainer_jax = {
    .name = "Kubeflow Trainer, jax", .own_hosts = 1, .ask = ask};
