/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of a plain JobSet: the pods of the Job that this one is in, whose
 * host names are JOBSET-REPLICATEDJOB-JOB-POD in the subdomain JOBSET. Names
 * resolve as soon as a pod has an address. How many there are is told by the
 * user alone (indexed.h). */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>

#include "hostfile/indexed.h"
#include "lib/base/str.h"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    struct hb_pod pod;
    const char *why = hb_indexed_pod(req, &pod);
    char *kind = NULL;
    int rc = 0;

    if (why == NULL && !hb_indexed_is_jobset(&pod)) {
        why = "the host name is not that of a JobSet's pod";
    }
    if (why != NULL) {
        *reason_out = hb_xstrdup(why);
    } else {
        kind = hb_xasprintf("JobSet %s", pod.subdomain);
        rc = hb_indexed_ask(req, &pod, kind, out, reason_out, err);
    }
    free(kind);
    hb_pod_destroy(&pod);
    return rc;
}

const struct hb_source hb_source_jobset = {
    .name = "JobSet", .own_hosts = 1, .ask = ask};
