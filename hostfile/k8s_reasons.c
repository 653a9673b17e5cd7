/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Why hosts of a gang are not there, as the cluster says it. The pods of the
 * namespace are listed once; hosts that no pod is are told to be missing,
 * since a pod that was never made has nobody else to say so. */

#include "config.h"

#include "hostfile/k8s.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/k8s_pod.h"
#include "lib/base/clock.h"

static char *reason_of(const struct hb_k8s_names *names, const char *host,
                       const char *space)
{
    const struct hb_k8s_pod *pod = hb_k8s_names_find(names, host);

    if (pod == NULL) {
        return hb_xasprintf("no pod of namespace %s is called so: it was "
                            "deleted, or not made yet", space);
    }
    if (pod->why == NULL || (strcspn(host, ".") == strlen(pod->name) &&
                             hb_starts_with(host, pod->name))) {
        return pod->why != NULL ? hb_xstrdup(pod->why) : NULL;
    }
    return hb_xasprintf("%s: %s", pod->name, pod->why);
}

int hb_k8s_reasons(const struct hb_gang_request *req,
                   const char *const *hosts, size_t n, int64_t timeout_ms,
                   char **texts_out, struct hpcboot_error *err)
{
    const struct hb_k8s_query query = {0};
    struct hb_k8s_login login;
    struct hb_k8s_names *names;
    struct hb_k8s *k = NULL;
    char *reason = NULL;
    int rc, found = 0;

    memset(texts_out, 0, n * sizeof(*texts_out));
    if (!hb_k8s_login_read(req, &login, &reason)) {
        rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "%s", reason);
        free(reason);
        return rc;
    }
    rc = hb_k8s_open(&login, &query, &k, err);
    if (rc >= 0) {
        rc = hb_k8s_wait(k, hb_deadline_in_ms(timeout_ms), err);
    }
    if (rc >= 0) {
        names = hb_k8s_names_create(hb_k8s_pods(k));
        for (size_t i = 0; i < n; i++) {
            texts_out[i] = reason_of(names, hosts[i], login.space);
            found += texts_out[i] != NULL;
        }
        hb_k8s_names_destroy(names);
    }
    hb_k8s_close(k);
    hb_k8s_login_destroy(&login);
    return rc < 0 ? rc : found;
}
