/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of a PaddleJob (Training Operator v1): PADDLE_JOB_ID is the job's
 * name, PADDLE_NNODES counts its pods, PADDLE_MASTER says where they meet: an
 * address in the first pod, a name in the others. Collective jobs have pods
 * JOB-worker-0 and on. Jobs with parameter servers (PADDLE_SERVER_NUM, or a
 * master in PADDLE_MASTER) have masters too, and how many is told nowhere. */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/pod.h"
#include "lib/base/str.h"

static int has_servers(const struct hb_gang_request *req, const char *job,
                       const char *master)
{
    char *name = hb_xasprintf("%s-master-0", job);
    int yes = strncmp(master, name, strlen(name)) == 0 ||
              hb_source_env(req, "PADDLE_SERVER_NUM") != NULL ||
              hb_source_env(req, "PADDLE_TRAINER_NUM") != NULL;

    free(name);
    return yes;
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    static const char *const names[] = {"PADDLE_JOB_ID", "PADDLE_MASTER",
                                        "PADDLE_NNODES", NULL};
    const char *job = hb_source_env(req, "PADDLE_JOB_ID");
    const char *master = hb_source_env(req, "PADDLE_MASTER");
    uint64_t nodes;
    char *first;
    int rc;

    if (!hb_source_all_set(req, names, reason_out) ||
        !hb_source_count(req, "PaddleJob", "PADDLE_NNODES", 1, &nodes, out,
                         reason_out)) {
        return 0;
    }
    if (has_servers(req, job, master)) {
        *reason_out = hb_xasprintf("PaddleJob %.64s has parameter servers, and "
                                   "nothing tells how many", job);
        hb_gang_note(out, "this is a pod of PaddleJob %.64s with parameter "
                     "servers: how many of its %llu pods are masters and how "
                     "many workers is told nowhere; name them with -H, as in "
                     "-H '%.64s-worker-[0-3]'", job,
                     (unsigned long long)nodes, job);
        return 0;
    }
    first = hb_xasprintf("%s-worker-0", job);
    rc = hb_pod_series(req, first, nodes, 0, "PADDLE_NNODES", out, err);
    free(first);
    if (rc < 0) {
        return rc;
    }
    hb_source_operator_made(req, out, "PADDLE_NNODES and PADDLE_JOB_ID");
    return 1;
}

const struct hb_source hb_source_paddlejob = {
    .name = "PaddleJob", .own_hosts = 1, .ask = ask};
