/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The program's side of the Kubernetes client: it opens the module when the
 * API is first asked, and adds the one call that waits. */

#include "config.h"

#include "hostfile/k8s.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "hostfile/k8s_module.h"
#include "lib/base/clock.h"
#include "lib/base/module_load.h"
#include "lib/base/str.h"

static const struct hb_k8s_ops *ops;

static int load(struct hpcboot_error *err)
{
    const void *found = ops;
    int rc = HPCBOOT_OK;

    if (ops == NULL) {
        rc = hb_module_open(HB_K8S_MODULE, HB_K8S_SYMBOL, &found, err);
    }
    if (rc < 0) {
        return hb_error_prefix(err, rc, "the client of the Kubernetes API");
    }
    ops = found;
    return rc;
}

int hb_k8s_open(const struct hb_k8s_login *login,
                const struct hb_k8s_query *query, struct hb_k8s **out,
                struct hpcboot_error *err)
{
    int rc = load(err);

    return rc < 0 ? rc : ops->open(login, query, out, err);
}

/* Without the module there is no client to ask. */
void hb_k8s_close(struct hb_k8s *k)
{
    if (k != NULL) {
        ops->close(k);
    }
}

int hb_k8s_fd(const struct hb_k8s *k)
{
    return ops->fd(k);
}

int hb_k8s_step(struct hb_k8s *k, struct hpcboot_error *err)
{
    return ops->step(k, err);
}

const struct hb_k8s_pods *hb_k8s_pods(const struct hb_k8s *k)
{
    return ops->pods(k);
}

const char *hb_k8s_trouble(const struct hb_k8s *k)
{
    return ops->trouble(k);
}

int hb_k8s_open_things(const struct hb_k8s_login *login, const char *path,
                       const char *rule, int only_metadata,
                       struct hb_k8s **out, struct hpcboot_error *err)
{
    const struct hb_k8s_path what = {.path = path, .rule = rule,
                                     .only_metadata = only_metadata};
    int rc = load(err);

    return rc < 0 ? rc : ops->open_path(login, &what, out, err);
}

const struct hb_k8s_things *hb_k8s_things(const struct hb_k8s *k)
{
    return ops->things(k);
}

int hb_k8s_wait(struct hb_k8s *k, int64_t deadline_ns,
                struct hpcboot_error *err)
{
    struct pollfd p = {.fd = hb_k8s_fd(k), .events = POLLIN};

    for (;;) {
        int rc = hb_k8s_step(k, err);
        int64_t left = hb_deadline_left_ms(deadline_ns);
        if (rc != 0) {
            return rc;
        }
        if (left == 0) {
            const char *trouble = hb_k8s_trouble(k);
            return hb_fail(err, HPCBOOT_ERR_TIMED_OUT,
                           "the Kubernetes API has not answered in time%s%s",
                           trouble[0] != '\0' ? ": " : "", trouble);
        }
        if (poll(&p, 1, left < INT_MAX ? (int)left : INT_MAX) < 0 &&
            errno != EINTR) {
            return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "poll");
        }
    }
}

int hb_k8s_open_object(const struct hb_k8s_login *login, const char *path,
                       const char *field, struct hb_k8s **out,
                       struct hpcboot_error *err)
{
    const struct hb_k8s_path what = {.path = path, .field = field};
    int rc = load(err);

    return rc < 0 ? rc : ops->open_path(login, &what, out, err);
}

uint64_t hb_k8s_number(const struct hb_k8s *k)
{
    return ops->object(k)->number;
}

int hb_k8s_group_words(const struct hb_k8s_login *login, const char *path,
                       int64_t deadline_ns, char **out,
                       struct hpcboot_error *err)
{
    struct hb_k8s *k = NULL;
    int rc = hb_k8s_open_object(login, path, "minMember", &k, err);

    if (rc >= 0) {
        rc = hb_k8s_wait(k, deadline_ns, err);
    }
    if (rc > 0) {
        rc = ops->object(k)->words != NULL;
        *out = rc > 0 ? hb_xstrdup(ops->object(k)->words) : NULL;
    }
    hb_k8s_close(k);
    return rc;
}
