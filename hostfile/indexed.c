/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Pods that know their index: see indexed.h. Peers can be named only where a
 * headless Service gives the pods a subdomain, which the pod's own /etc/hosts
 * shows. */

#include "config.h"

#include "hostfile/indexed.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hostfile/hostname.h"
#include "lib/base/str.h"

int hb_gang_size(const struct hb_gang_request *req, uint64_t *size_out,
                 struct hpcboot_error *err)
{
    const char *text = hb_source_env(req, HB_GANG_SIZE_VARIABLE);

    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    if (hb_parse_u64(text, 1, HB_MAX_HOSTS, size_out) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, HB_GANG_SIZE_VARIABLE
                       ": needs a number of pods from 1 to %u, not \"%.60s\"",
                       HB_MAX_HOSTS, text);
    }
    return 1;
}

const char *hb_indexed_pod(const struct hb_gang_request *req,
                           struct hb_pod *pod)
{
    uint64_t index;
    size_t stem;

    memset(pod, 0, sizeof(*pod));
    if (!hb_source_number(req, "JOB_COMPLETION_INDEX", 0, HB_MAX_HOSTS,
                          &index)) {
        return "JOB_COMPLETION_INDEX is not set";
    }
    hb_pod_read(pod, req);
    if (hb_pod_index(pod->name, &stem) != (long)index) {
        return "the host name does not end in JOB_COMPLETION_INDEX";
    }
    return NULL;
}

int hb_indexed_is_jobset(const struct hb_pod *pod)
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

/* Whose pods the size is of: a JobSet may have further Jobs, and the names of
 * their pods differ in another number. */
static char *where_of(const struct hb_pod *pod, int job_len)
{
    char *job = hb_xasprintf("%.*s", job_len, pod->name);
    char *text = hb_xasprintf(HB_GANG_SIZE_VARIABLE ", the pods of Job %s",
                              job);
    size_t set;

    if (hb_indexed_is_jobset(pod) && hb_pod_index(job, &set) >= 0) {
        free(text);
        text = hb_xasprintf(HB_GANG_SIZE_VARIABLE ", the pods of Job %s (-H "
                            "'%.*s-[0-N]-[0-M].%s' names those of several "
                            "Jobs)", job, (int)set, job, pod->subdomain);
    }
    free(job);
    return text;
}

int hb_indexed_ask(const struct hb_gang_request *req, const struct hb_pod *pod,
                   const char *kind, struct hb_gang *out, char **reason_out,
                   struct hpcboot_error *err)
{
    uint64_t size;
    size_t stem;
    char *where;
    long index;
    int rc;

    if (pod->subdomain == NULL) {
        *reason_out = hb_xasprintf("the pods of %s have no names", kind);
        hb_gang_note(out, "this is a pod of %s without a subdomain, so its "
                     "peers have no names: add a headless Service and set "
                     "spec.subdomain in the pod template to its name", kind);
        return 0;
    }
    rc = hb_gang_size(req, &size, err);
    if (rc < 0) {
        return rc;
    }
    index = hb_pod_index(pod->name, &stem);
    if (rc == 0) {
        *reason_out = hb_xasprintf("%s does not tell how many pods it has",
                                   kind);
        hb_gang_note(out, "this is a pod of %s, which tells a pod its index "
                     "but not how many there are: set " HB_GANG_SIZE_VARIABLE
                     " in the pod template, or use -H '%.*s-[0-N].%s'", kind,
                     (int)stem, pod->name, pod->subdomain);
        return 0;
    }
    rc = hb_pod_peers(req, pod, size, HB_GANG_SIZE_VARIABLE, out, err);
    if (rc < 0) {
        return rc;
    }
    if ((uint64_t)index >= size) {
        hb_gang_note(out, HB_GANG_SIZE_VARIABLE " is %llu, and this pod has "
                     "the index %ld: it is not one of them",
                     (unsigned long long)size, index);
    }
    where = where_of(pod, (int)stem);
    hb_source_operator_made(req, out, where);
    free(where);
    return 1;
}

/* "JOB-INDEX.SUBDOMAIN", or with more of this pod's own domain behind it. */
static int is_peer(const struct hb_pod *pod, const char *name)
{
    size_t label = strcspn(name, "."), n = hb_hostname_len(name), stem;

    if (n <= label + 1 || hb_pod_index(name, &stem) < 0) {
        return 0;
    }
    n -= label + 1;
    return n >= strlen(pod->subdomain) &&
           strncasecmp(name + label + 1, pod->domain, n) == 0 &&
           (pod->domain[n] == '\0' || pod->domain[n] == '.');
}

int hb_indexed_among(const struct hb_gang_request *req,
                     const struct hb_gang *named, struct hb_gang *out)
{
    struct hb_members m;
    struct hb_pod pod;
    int is_one = hb_indexed_pod(req, &pod) == NULL && pod.subdomain != NULL;

    hb_members_begin(&m, "JOB_COMPLETION_INDEX", 0);
    for (size_t i = 0; is_one && i < named->n; i++) {
        if (is_peer(&pod, named->hosts[i].name)) {
            hb_members_add(&m, NULL, "%s", named->hosts[i].name);
        }
    }
    if (hb_members_end(&m, req, out) >= 0 && out->n > 0) {
        out->source = hb_xstrdup(hb_indexed_is_jobset(&pod) ? "JobSet"
                                                            : "Indexed Job");
        hb_source_operator_made(req, out, "the subdomain of this pod");
    }
    hb_pod_destroy(&pod);
    return out->n > 0;
}
