/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of a PyTorchJob (Training Operator v1). With a master: MASTER_ADDR
 * is "JOB-master-0", PET_NNODES counts it in, workers are JOB-worker-0 and
 * on. Elastic, without one: PET_RDZV_ENDPOINT is "JOB-worker-0:PORT" and
 * PET_NNODES may be MIN:MAX; the gang is as large as it may become. RANK and
 * WORLD_SIZE count pods or processes by turns and are not used. */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/pod.h"
#include "lib/base/str.h"

/* Of one length. */
#define MASTER "-master-0"
#define WORKER "-worker-0"

/* PET_NNODES: N, or MIN:MAX. */
static int node_count(const struct hb_gang_request *req, uint64_t *max_out,
                      int *elastic_out)
{
    const char *text = hb_source_env(req, "PET_NNODES");
    const char *colon = strchr(text, ':');
    char *first = hb_xstrndup(text, strcspn(text, ":"));
    uint64_t min = 1;
    int rc = hb_parse_u64(first, 1, HB_MAX_HOSTS, &min);

    free(first);
    *elastic_out = colon != NULL;
    *max_out = min;
    if (rc >= 0 && colon != NULL) {
        rc = hb_parse_u64(colon + 1, min, HB_MAX_HOSTS, max_out);
    }
    return rc >= 0;
}

/* Also one whose pods meet elsewhere: at an address, or at a server outside of
 * the job, as etcd. */
static int is_a_gang(const struct hb_gang_request *req)
{
    return !hb_streq(hb_source_env(req, "PET_NNODES"), "1");
}

static int add_members(const struct hb_gang_request *req, const char *master,
                       uint64_t nodes, struct hb_gang *out,
                       struct hpcboot_error *err)
{
    int job = (int)(strlen(master) - strlen(MASTER));
    int has_master = hb_ends_with(master, MASTER);
    struct hb_members m;
    int rc;

    hb_members_begin(&m, "PET_NNODES", 0);
    if (has_master) {
        hb_members_add(&m, err, "%s", master);
    }
    for (uint64_t i = 0; i + (uint64_t)has_master < nodes && m.failed >= 0;
         i++) {
        hb_members_add(&m, err, "%.*s-worker-%llu", job, master,
                       (unsigned long long)i);
    }
    rc = hb_members_end(&m, req, out);
    hb_torch_slots(req, out);
    return rc;
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    static const char *const names[] = {"MASTER_ADDR", "PET_RDZV_ENDPOINT",
                                        NULL};
    const char *address = hb_source_env_of(req, names);
    char *master;
    uint64_t nodes;
    int elastic, rc;

    if (address == NULL || hb_source_env(req, "PET_NNODES") == NULL ||
        hb_source_env(req, "PYTHONUNBUFFERED") == NULL) {
        *reason_out = hb_xstrdup("PET_NNODES, MASTER_ADDR and "
                                 "PYTHONUNBUFFERED are not all set");
        return 0;
    }
    master = hb_xstrndup(address, strcspn(address, ":"));
    if (!hb_ends_with(master, MASTER) && !hb_ends_with(master, WORKER)) {
        *reason_out = hb_xasprintf("the rendezvous is at %.100s, which is no "
                                   "pod of a PyTorchJob", master);
        if (is_a_gang(req)) {
            hb_source_note_unused(out, "the Training Operator",
                                  *reason_out);
        }
        free(master);
        return 0;
    }
    if (!node_count(req, &nodes, &elastic)) {
        hb_source_number_wrong(req, "PyTorchJob", "PET_NNODES", out,
                               reason_out);
        free(master);
        return 0;
    }
    rc = add_members(req, master, nodes, out, err);
    free(master);
    if (rc >= 0) {
        rc = hb_source_take_index(req, "PET_NODE_RANK", "PET_NNODES", out, err);
    }
    if (rc < 0) {
        return rc;
    }
    hb_source_operator_made(req, out, "PET_NNODES and the rendezvous address");
    if (elastic) {
        hb_gang_note(out, "PET_NNODES=%s: all %llu pods are waited for",
                     hb_source_env(req, "PET_NNODES"),
                     (unsigned long long)nodes);
    }
    return 1;
}

const struct hb_source hb_source_pytorchjob = {
    .name = "PyTorchJob", .own_hosts = 1, .ask = ask};
