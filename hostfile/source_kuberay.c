/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A pod of a KubeRay cluster. Only the head has a name that others can
 * resolve, CLUSTER-head-svc; workers have random names without a Service, and
 * nothing in a pod tells who they are. So there are no hosts to give, and
 * what would help is said. (Volcano's ray plugin is different: its Jobs have
 * the svc plugin's lists.) */

#include "config.h"

#include "hostfile/source.h"

#include "lib/base/str.h"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    const char *cluster = hb_source_env(req, "RAY_CLUSTER_NAME");

    if (cluster == NULL ||
        hb_source_env(req, "KUBERAY_GEN_RAY_START_CMD") == NULL) {
        *reason_out = hb_xstrdup("RAY_CLUSTER_NAME and "
                                 "KUBERAY_GEN_RAY_START_CMD are not both set");
        return 0;
    }
    *reason_out = hb_xasprintf("in RayCluster %.64s only the head has a name",
                               cluster);
    hb_gang_note(out, "this is a pod of RayCluster %.64s: only its head has a "
                 "name (%.64s-head-svc), its workers have none; the "
                 "Kubernetes API can list them for an account with the verbs "
                 "get, list and watch on pods, or give the workers' addresses "
                 "with -H", cluster, cluster);
    return 0;
}

const struct hb_source hb_source_kuberay = {
    .name = "KubeRay", .own_hosts = 1, .ask = ask};
