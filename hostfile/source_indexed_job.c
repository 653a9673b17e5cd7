/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of an Indexed Job of Kubernetes: pods JOB-0 to JOB-(n-1), with
 * names where the pod template has a subdomain. How many there are is told by
 * the user alone (indexed.h). JobSets are made of such Jobs; their pods belong
 * to the source that was asked before. */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>

#include "hostfile/indexed.h"
#include "lib/base/str.h"

/* Only a pod of such a Job, or of a JobSet, has an index; one whose host name
 * is another on purpose is no part of a gang, unless somebody says so. */
static void tell_of_index(const struct hb_gang_request *req,
                          const struct hb_pod *pod, struct hb_gang *out)
{
    const char *size = hb_source_env(req, HB_GANG_SIZE_VARIABLE);

    if (size == NULL || size[0] == '\0' || hb_streq(size, "1")) {
        return;
    }
    hb_gang_note(out, "this may be a pod of an Indexed Job, but its host name "
                 "%s does not end in JOB_COMPLETION_INDEX (%s), so this host "
                 "is alone; if other hosts are meant, name them with -H",
                 pod->name, hb_source_env(req, "JOB_COMPLETION_INDEX"));
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    struct hb_pod pod;
    const char *why = hb_indexed_pod(req, &pod);
    size_t stem;
    char *kind;
    int rc = 0;

    if (why != NULL && pod.name != NULL) {
        tell_of_index(req, &pod, out);
    } else if (why == NULL && hb_indexed_is_jobset(&pod)) {
        why = "the host name is that of a JobSet's pod";
    }
    if (why != NULL) {
        *reason_out = hb_xstrdup(why);
    } else {
        hb_pod_index(pod.name, &stem);
        kind = hb_xasprintf("Indexed Job %.*s", (int)stem, pod.name);
        rc = hb_indexed_ask(req, &pod, kind, out, reason_out, err);
        free(kind);
    }
    hb_pod_destroy(&pod);
    return rc;
}

const struct hb_source hb_source_indexed_job = {
    .name = "Indexed Job", .own_hosts = 1, .ask = ask};
