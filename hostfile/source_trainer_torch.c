/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of a Kubeflow TrainJob with the torch runtime. Each pod has
 * PET_NNODES, PET_NODE_RANK, PET_NPROC_PER_NODE and PET_MASTER_ADDR, which is
 * "JOB-node-0-0.JOB"; the others differ in the last number. A PyTorchJob of
 * Training Operator v1 has MASTER_ADDR as well and is asked for elsewhere. */

#include "config.h"

#include "hostfile/source.h"

#include "hostfile/pod.h"
#include "lib/base/str.h"

#define WHERE "PET_NNODES and PET_MASTER_ADDR"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    static const char *const names[] = {"PET_NNODES", "PET_NODE_RANK",
                                        "PET_MASTER_ADDR", NULL};
    const char *master = hb_source_env(req, "PET_MASTER_ADDR");
    uint64_t nodes, rank;
    size_t stem;
    int rc;

    if (!hb_source_all_set(req, names, reason_out)) {
        return 0;
    }
    if (hb_source_env(req, "MASTER_ADDR") != NULL) {
        *reason_out = hb_xstrdup("MASTER_ADDR is set beside PET_MASTER_ADDR");
        return 0;
    }
    if (!hb_source_count(req, "Kubeflow Trainer", "PET_NNODES", 1, &nodes, out,
                         reason_out) ||
        !hb_source_count(req, "Kubeflow Trainer", "PET_NODE_RANK", 0, &rank,
                         out, reason_out)) {
        return 0;
    }
    if (hb_pod_index(master, &stem) != 0) {
        *reason_out = hb_xasprintf("PET_MASTER_ADDR is %.100s, not the name of "
                                   "a first pod", master);
        hb_source_note_several(out, "Kubeflow Trainer", nodes, *reason_out);
        return 0;
    }
    rc = hb_pod_series(req, master, nodes, 0, "PET_NNODES", out, err);
    if (rc >= 0) {
        rc = hb_source_take_index(req, "PET_NODE_RANK", "PET_NNODES", out, err);
    }
    if (rc < 0) {
        return rc;
    }
    hb_torch_slots(req, out);
    hb_source_operator_made(req, out, WHERE);
    return 1;
}

const struct hb_source hb_source_trainer_torch = {
    .name = "Kubeflow Trainer, torch", .own_hosts = 1, .ask = ask};
