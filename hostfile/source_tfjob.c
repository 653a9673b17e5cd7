/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of a TFJob (Training Operator v1), out of TF_CONFIG: every member
 * of every role, the chief first. "environment":"cloud" in a pod is the
 * operator's mark; a cluster with dynamic workers has none but lists workers by
 * index. TF_CONFIG of other origin, as programs set it in a shell or in a job
 * of a batch system, is the program's own and is passed over. (Jobs of
 * Volcano's tensorflow plugin have Volcano's lists.)
 *
 * Members are called POD.NAMESPACE.svc, by the Service that each pod has, of
 * which the pod's own /etc/hosts knows nothing. All are of one namespace, so
 * the one whose first label is this host's name is this host. */

#include "config.h"

#include "hostfile/source.h"

#include <string.h>
#include <strings.h>

#include "hostfile/json.h"
#include "hostfile/pod.h"
#include "lib/base/str.h"

static void mark_own(const struct hb_gang_request *req, struct hb_gang *gang)
{
    struct hb_pod pod;
    size_t n;

    hb_pod_read(&pod, req);
    n = strlen(pod.name);
    for (size_t i = 0; i < gang->n; i++) {
        const char *name = gang->hosts[i].name;

        gang->hosts[i].is_local |= strncasecmp(name, pod.name, n) == 0 &&
                                   strchr(".", name[n]) != NULL;
    }
    hb_pod_destroy(&pod);
}

static int add_members(const struct hb_gang_request *req,
                       const struct hb_tf_config *c, struct hb_gang *out,
                       struct hpcboot_error *err)
{
    struct hb_members m;

    hb_members_begin(&m, "TF_CONFIG", 0);
    for (size_t i = 0; i < c->members.n; i++) {
        hb_members_add(&m, err, "%s", c->members.v[i]);
    }
    return hb_members_end(&m, req, out);
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    /* images for Python set the other one, and so do some operators */
    static const char *const pods[] = {"KUBERNETES_SERVICE_HOST",
                                       "PYTHONUNBUFFERED", NULL};
    const char *text = hb_source_env(req, "TF_CONFIG");
    const struct hb_gang_json *json;
    struct hb_tf_config config;
    struct hpcboot_error why = {0};
    int rc;

    if (text == NULL) {
        *reason_out = hb_xstrdup("TF_CONFIG is not set");
        return 0;
    }
    if (hb_source_env_of(req, pods) == NULL) {
        *reason_out = hb_xstrdup("TF_CONFIG is set, but this is no pod "
                                 "(neither KUBERNETES_SERVICE_HOST nor "
                                 "PYTHONUNBUFFERED is set)");
        return 0;
    }
    rc = hb_gang_json_open(&json, &why);
    if (rc >= 0) {
        rc = json->tf_config(text, &config, &why);
    }
    if (rc < 0) {
        *reason_out = hb_xstrdup(why.text);
        if (strstr(text, "\"cluster\"") != NULL) {
            hb_source_note_unused(out, "the Training Operator", *reason_out);
        }
        return 0;
    }
    if (config.members.n == 0 || (!config.sparse && !config.cloud)) {
        *reason_out = hb_xstrdup("TF_CONFIG is not a TFJob's");
        hb_tf_config_destroy(&config);
        return 0;
    }
    rc = add_members(req, &config, out, err);
    if (rc >= 0 && config.sparse) {
        hb_gang_note(out, "TF_CONFIG has dynamic workers: only the %zu hosts "
                     "it names are used", out->n);
    }
    hb_tf_config_destroy(&config);
    if (rc < 0) {
        return rc;
    }
    mark_own(req, out);
    hb_source_operator_made(req, out, "TF_CONFIG");
    return 1;
}

const struct hb_source hb_source_tfjob = {
    .name = "TFJob", .own_hosts = 1, .ask = ask};
