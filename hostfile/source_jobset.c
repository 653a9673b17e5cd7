/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of a plain JobSet: the pods of the Job that this one is in, whose
 * host names are JOBSET-REPLICATEDJOB-JOB-POD in the subdomain JOBSET. Names
 * resolve as soon as a pod has an address. How many there are is told by the
 * user alone (indexed.h). */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/indexed.h"
#include "lib/base/str.h"

/* "JOBSET-REPLICATEDJOB-JOB-POD" in the subdomain JOBSET. */
static int is_jobset(const struct hb_pod *pod)
{
    size_t n = pod->subdomain != NULL ? strlen(pod->subdomain) : 0, stem;
    char *job;
    long index = -1;

    if (n == 0 || strncmp(pod->name, pod->subdomain, n) != 0 ||
        pod->name[n] != '-' || hb_pod_index(pod->name, &stem) < 0) {
        return 0;
    }
    job = hb_xstrndup(pod->name, stem);
    index = hb_pod_index(job, &stem);
    free(job);
    return index >= 0 && stem > n + 1;
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    struct hb_pod pod;
    const char *why = hb_indexed_pod(req, &pod);
    char *kind = NULL;
    int rc = 0;

    if (why == NULL && !is_jobset(&pod)) {
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
