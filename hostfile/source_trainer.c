/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of a Kubeflow TrainJob with the MPI runtime, seen from its
 * launcher: /etc/mpi/hostfile in the Open MPI form, and none of the signs of
 * the MPI Operator beside it (which is asked before). Names are HOST.SUBDOMAIN
 * of a JobSet and resolve through the pod's search list. */

#include "config.h"

#include "hostfile/source.h"

#include "lib/base/str.h"

#define PATH "/etc/mpi/hostfile"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    int rc;

    if (hb_source_env(req, "K_MPI_JOB_ROLE") != NULL) {
        *reason_out = hb_xstrdup("K_MPI_JOB_ROLE is set: this is an MPIJob");
        return 0;
    }
    if (!hb_source_exists(req, PATH)) {
        *reason_out = hb_xstrdup("there is no " PATH);
        return 0;
    }
    rc = hb_source_read(hb_source_root(req), NULL, PATH, out, err);
    if (rc < 0) {
        return rc;
    }
    if (out->n == 0) {
        *reason_out = hb_xstrdup(PATH " is empty");
        hb_source_note_unused(out, "Kubeflow Trainer", *reason_out);
        return 0;
    }
    hb_source_operator_made(req, out, PATH);
    return 1;
}

const struct hb_source hb_source_trainer = {
    .name = "Kubeflow Trainer", .own_hosts = 1, .ask = ask};
