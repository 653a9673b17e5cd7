/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Pods by name.
 *
 * The kubelet writes the pod's own full name into its /etc/hosts when the pod
 * has a subdomain, that is, when a headless Service makes names for it and
 * its peers; nothing else in a pod tells the subdomain. Peers of an indexed
 * workload differ in the number at the end of the first label. */

#include "config.h"

#include "hostfile/pod.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile/hostname.h"
#include "lib/base/str.h"

/* "sub" of "sub.ns.svc[...]"; free() it. */
static char *service_of(const char *domain)
{
    size_t sub = strcspn(domain, "."), ns;

    if (domain[sub] == '\0') {
        return NULL;
    }
    ns = strcspn(domain + sub + 1, ".");
    return hb_starts_with(domain + sub + 1 + ns, ".svc")
               ? hb_xstrndup(domain, sub) : NULL;
}

void hb_pod_read(struct hb_pod *out, const struct hb_gang_request *req)
{
    struct hb_self *self = hb_self_create(hb_source_root(req));
    const char *domain = hb_self_domain(self);

    memset(out, 0, sizeof(*out));
    out->name = hb_xstrndup(hb_self_name(self),
                            strcspn(hb_self_name(self), "."));
    if (domain != NULL) {
        out->domain = hb_xstrdup(domain);
        out->subdomain = service_of(domain);
    }
    hb_self_destroy(self);
}

void hb_pod_destroy(struct hb_pod *pod)
{
    free(pod->name);
    free(pod->domain);
    free(pod->subdomain);
    memset(pod, 0, sizeof(*pod));
}

long hb_pod_index(const char *name, size_t *stem_len_out)
{
    size_t end = strcspn(name, "."), at = end;
    char *digits;
    uint64_t n;
    int rc;

    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') {
        at--;
    }
    if (at < 2 || name[at - 1] != '-') {
        return -1;
    }
    digits = hb_xstrndup(name + at, end - at);
    rc = hb_parse_u64(digits, 0, HB_MAX_HOSTS, &n);
    free(digits);
    if (rc < 0) {
        return -1;
    }
    *stem_len_out = at - 1;
    return (long)n;
}

void hb_members_begin(struct hb_members *m, const char *origin, int slots)
{
    memset(m, 0, sizeof(*m));
    m->build = hb_build_create(HB_TALLY_NONE);
    m->lines.file = origin;
    m->slots = slots;
}

void hb_members_add(struct hb_members *m, struct hpcboot_error *err,
                    const char *fmt, ...)
{
    struct hb_mentioned one = {.slots = m->slots};
    struct hb_str name = HB_STR_INIT;
    va_list ap;

    if (m->failed < 0) {
        return;
    }
    va_start(ap, fmt);
    hb_str_vputf(&name, fmt, ap);
    va_end(ap);
    hb_lines_end(&m->lines);
    m->lines.line = hb_str_steal(&name);
    one.name = m->lines.line;
    m->failed = hb_build_add(m->build, &m->lines, &one, err);
}

int hb_members_end(struct hb_members *m, const struct hb_gang_request *req,
                   struct hb_gang *out)
{
    if (m->failed >= 0) {
        hb_build_finish(m->build, out);
        hb_gang_mark_local(out, hb_source_root(req));
    }
    hb_lines_end(&m->lines);
    hb_build_destroy(m->build);
    return m->failed < 0 ? m->failed : HPCBOOT_OK;
}

int hb_pod_series(const struct hb_gang_request *req, const char *first,
                  uint64_t n, int slots, const char *origin,
                  struct hb_gang *out, struct hpcboot_error *err)
{
    struct hb_members m;
    size_t stem;

    if (hb_pod_index(first, &stem) < 0) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "%s: expected a name that ends in -0, found %.100s",
                       origin, first);
    }
    hb_members_begin(&m, origin, slots);
    for (uint64_t i = 0; i < n && m.failed >= 0; i++) {
        hb_members_add(&m, err, "%.*s-%llu%s", (int)stem, first,
                       (unsigned long long)i, first + strcspn(first, "."));
    }
    return hb_members_end(&m, req, out);
}

int hb_pod_peers(const struct hb_gang_request *req, const struct hb_pod *pod,
                 uint64_t n, const char *origin, struct hb_gang *out,
                 struct hpcboot_error *err)
{
    char *self = hb_xasprintf("%s.%s", pod->name, pod->subdomain);
    int rc = hb_pod_series(req, self, n, 0, origin, out, err);

    free(self);
    return rc;
}
