/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Families of process management: their names, and the server of each. The
 * server of "none" is here too: it hands out nothing and expects nothing. */
#include "config.h"

#include "bin/pm/pm.h"

#include <stdlib.h>
#include <string.h>

#include "bin/pm/servers.h"
#include "lib/base/module_load.h"
#include "lib/base/str.h"

static const char *const family_names[] = {
    [HB_PM_NONE] = "none", [HB_PM_PMI1] = "pmi1", [HB_PM_PMI2] = "pmi2",
    [HB_PM_PMIX] = "pmix",
};
#define N_FAMILIES (sizeof(family_names) / sizeof(family_names[0]))

const char *hb_pm_family_name(enum hb_pm_family family)
{
    return (size_t)family < N_FAMILIES ? family_names[family] : "unknown";
}

int hb_pm_family_parse(const char *name, enum hb_pm_family *out,
                       struct hpcboot_error *err)
{
    const char *near;

    for (size_t i = 0; i < N_FAMILIES; i++) {
        if (hb_streq(name, family_names[i])) {
            *out = (enum hb_pm_family)i;
            return HPCBOOT_OK;
        }
    }
    near = hb_nearest(name, family_names, N_FAMILIES);
    return hb_fail(err, HPCBOOT_ERR_PARSE,
                   "\"%s\" is no process-management family%s%s%s: pmix, pmi1, "
                   "pmi2 and none are", name,
                   near != NULL ? " (did you mean " : "",
                   near != NULL ? near : "", near != NULL ? "?)" : "");
}

struct hb_pm {
    int unused;
};

static int none_create(struct hb_pm **out, const struct hb_pm_job *job,
                       const struct hb_pm_host *host, void *arg,
                       struct hpcboot_error *err)
{
    *out = hb_xcalloc(1, sizeof(**out));
    return HPCBOOT_OK;
}

static int none_rank_env(struct hb_pm *pm, uint32_t rank, int socket_fd,
                         struct hb_strv *env, struct hpcboot_error *err)
{
    return HPCBOOT_OK;
}

static int none_feed(struct hb_pm *pm, uint32_t rank, const void *data,
                     size_t len, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                   "rank %u speaks to a server that is not there", rank);
}

static void none_rank_gone(struct hb_pm *pm, uint32_t rank)
{
}

static void none_ranks_lost(struct hb_pm *pm, const uint32_t *ranks,
                            uint32_t n)
{
}

static void none_fence_done(struct hb_pm *pm, struct hb_bytes key, int status,
                            struct hb_bytes data)
{
}

static void none_done(struct hb_pm *pm, uint64_t id, int status,
                      struct hb_bytes data)
{
}

static void none_modex_serve(struct hb_pm *pm, uint64_t id, uint32_t rank,
                             void (*answer)(void *arg, uint64_t id,
                                            int status, struct hb_bytes data),
                             void *arg)
{
    answer(arg, id, HPCBOOT_ERR_UNSUPPORTED, (struct hb_bytes){NULL, 0});
}

static int none_fd(struct hb_pm *pm)
{
    return -1;
}

static void none_dispatch(struct hb_pm *pm)
{
}

static void none_destroy(struct hb_pm *pm)
{
    free(pm);
}

const struct hb_pm_ops hb_pm_none_ops = {
    .family = HB_PM_NONE, .wants_socket = 0, .create = none_create,
    .rank_env = none_rank_env, .feed = none_feed, .rank_gone = none_rank_gone,
    .ranks_lost = none_ranks_lost, .rank_again = none_rank_gone,
    .fence_done = none_fence_done, .modex_done = none_done,
    .modex_serve = none_modex_serve, .name_done = none_done, .fd = none_fd,
    .dispatch = none_dispatch, .destroy = none_destroy,
};

int hb_pm_ops_get(enum hb_pm_family family, const struct hb_pm_ops **out,
                  struct hpcboot_error *err)
{
    const void *found = NULL;
    int rc;

    if (family == HB_PM_PMIX) {
        rc = hb_module_open("hb_pmix", "hb_pmix_ops", &found, err);
        if (rc < 0) {
            return hb_error_prefix(err, rc,
                                   "PMIx programs (Open MPI) cannot be "
                                   "served%s", rc == HPCBOOT_ERR_UNSUPPORTED
                                   ? "; install libpmix (Debian: libpmix2), "
                                     "or choose --pmi pmi1" : "");
        }
        *out = found;
        return HPCBOOT_OK;
    }
    *out = family == HB_PM_PMI1   ? &hb_pmi1_ops
           : family == HB_PM_PMI2 ? &hb_pmi2_ops
                                  : &hb_pm_none_ops;
    return HPCBOOT_OK;
}
