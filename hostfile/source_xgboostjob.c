/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of an XGBoostJob (Training Operator v1), LightGBM included:
 * MASTER_ADDR is "JOB-master-0", WORKER_ADDRS all workers with commas,
 * WORLD_SIZE their number together. WORKER_ADDRS tells it from other jobs. */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/pod.h"
#include "lib/base/str.h"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    static const char *const names[] = {"MASTER_ADDR", "WORKER_ADDRS",
                                        "WORLD_SIZE", NULL};
    const char *master = hb_source_env(req, "MASTER_ADDR");
    const char *workers = hb_source_env(req, "WORKER_ADDRS");
    char *list, *save = NULL;
    struct hb_members m;
    uint64_t size;
    int rc;

    if (!hb_source_all_set(req, names, reason_out) ||
        !hb_source_count(req, "XGBoostJob", "WORLD_SIZE", 1, &size, out,
                         reason_out)) {
        return 0;
    }
    if (size == 1) {
        *reason_out = hb_xstrdup("WORLD_SIZE is 1");
        return 0;
    }
    list = hb_xstrdup(workers);
    hb_members_begin(&m, "WORKER_ADDRS", 0);
    hb_members_add(&m, err, "%s", master);
    for (char *one = strtok_r(list, ",", &save); one != NULL;
         one = strtok_r(NULL, ",", &save)) {
        hb_members_add(&m, err, "%s", one);
    }
    rc = hb_members_end(&m, req, out);
    free(list);
    if (rc < 0) {
        return rc;
    }
    if (out->n != size) {
        hb_gang_note(out, "WORLD_SIZE is %llu, but MASTER_ADDR and "
                     "WORKER_ADDRS name %zu host%s; the names are believed",
                     (unsigned long long)size, out->n,
                     out->n == 1 ? "" : "s");
    }
    hb_source_operator_made(req, out, "MASTER_ADDR and WORKER_ADDRS");
    return 1;
}

const struct hb_source hb_source_xgboostjob = {
    .name = "XGBoostJob", .own_hosts = 1, .ask = ask};
