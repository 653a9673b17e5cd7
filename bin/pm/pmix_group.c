/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Groups of PMIx, by which Open MPI 5 makes a communicator without another one
 * (MPI_Comm_create_from_group, so all of MPI's sessions). To construct one is a
 * fence among its members (pmix_fence.c), and two things travel with it: what
 * each node's members have put, which is for all of them, and the group's
 * number. The first of the members' nodes chooses it, from its own count and
 * the node's number, so that no two of a job are alike.
 *
 * To destruct one is libpmix's own matter, as with the servers of its makers:
 * 5.0 asks twice with one object, and is answered on the spot.
 *
 * libpmix 4 answers its clients in a form that those of release 5 do not
 * understand. They end the job then, where they let the program go on if groups
 * are not offered. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/pm/pmix_impl.h"
#include "lib/base/collected.h"
#include "lib/base/str.h"

#define NODE_SHIFT 32 /* below it a node's own count; 0 is MPI_COMM_WORLD's */

static pmix_status_t group(pmix_group_operation_t op, char *name,
                           const pmix_proc_t procs[], size_t n_procs,
                           const pmix_info_t directives[], size_t n,
                           pmix_info_cbfunc_t cb, void *cbdata)
{
    struct hb_pmix_event *ev;

    if (op != PMIX_GROUP_CONSTRUCT) {
        return PMIX_OPERATION_SUCCEEDED;
    }
    ev = hb_xcalloc(1, sizeof(*ev));
    ev->run = hb_pmix_run_collective;
    ev->word = "group";
    hb_pmix_take_procs(ev, procs, n_procs);
    hb_pmix_take_infos(ev, directives, n);
    ev->name = hb_xstrdup(name);
    ev->grouped = cb;
    ev->cbdata = cbdata;
    hb_pmix_post(ev);
    return PMIX_SUCCESS;
}

void hb_pmix_offer_groups(pmix_server_module_t *module)
{
    const char *release = strpbrk(PMIx_Get_version(), "0123456789");

    module->group = release != NULL && strtol(release, NULL, 10) > 4 ? group
                                                                     : NULL;
}

/* Takes the members from the event. */
void hb_pmix_grouping_take(struct hb_pmix_grouping *g,
                           struct hb_pmix_event *ev)
{
    g->cb = ev->grouped;
    g->cbdata = ev->cbdata;
    g->procs = ev->procs;
    g->n_procs = ev->n_procs;
    ev->procs = NULL;
    ev->n_procs = 0;
}

static const pmix_byte_object_t *put_of(const struct hb_pmix_event *ev)
{
    for (size_t i = 0; i < ev->n_infos; i++) {
        if (PMIX_CHECK_KEY(&ev->infos[i], PMIX_GROUP_ENDPT_DATA) &&
            ev->infos[i].value.type == PMIX_BYTE_OBJECT) {
            return &ev->infos[i].value.data.bo;
        }
    }
    return NULL;
}

void hb_pmix_group_part(struct hb_pm *pm, const struct hb_pmix_event *ev,
                        struct hb_buf *out)
{
    const pmix_byte_object_t *put = put_of(ev);

    hb_buf_put_u64(out, (uint64_t)pm->job->node << NODE_SHIFT |
                            ++pm->n_groups);
    if (put != NULL) {
        hb_buf_put_raw(out, put->bytes, put->size);
    }
}

/* The first node's number, and what all have put, one after the other. */
static int read_parts(struct hb_bytes data, size_t *number_out,
                      struct hb_buf *all)
{
    struct hb_buf view, part;
    struct hb_bytes blob;
    uint32_t node, first = UINT32_MAX;
    int rc;

    hb_buf_view(&view, data.data, data.len);
    while ((rc = hb_fence_data_next(&view, &node, &blob)) > 0) {
        uint64_t number;

        hb_buf_view(&part, blob.data, blob.len);
        number = hb_buf_get_u64(&part);
        if (hb_buf_failed(&part)) {
            return HPCBOOT_ERR_PROTOCOL;
        }
        if (node < first) {
            first = node;
            *number_out = number;
        }
        hb_buf_put_raw(all, hb_buf_next(&part), hb_buf_left(&part));
    }
    return rc < 0 ? rc : hb_buf_failed(all) ? HPCBOOT_ERR_LIMIT : HPCBOOT_OK;
}

struct answer {
    pmix_info_t *infos;
    size_t n;
};

static void release(void *arg)
{
    struct answer *a = arg;

    PMIX_INFO_FREE(a->infos, a->n);
    free(a);
}

static struct answer *answer_of(const struct hb_pmix_grouping *g,
                                size_t number, const struct hb_buf *all)
{
    struct answer *a = hb_xcalloc(1, sizeof(*a));
    pmix_byte_object_t put = {(char *)all->data, all->len};
    pmix_data_array_t members = {PMIX_PROC, g->n_procs, g->procs};

    a->n = all->len > 0 ? 3 : 2;
    PMIX_INFO_CREATE(a->infos, a->n);
    PMIX_INFO_LOAD(&a->infos[0], PMIX_GROUP_CONTEXT_ID, &number, PMIX_SIZE);
    PMIX_INFO_LOAD(&a->infos[1], PMIX_GROUP_MEMBERSHIP, &members,
                   PMIX_DATA_ARRAY);
    if (all->len > 0) {
        PMIX_INFO_LOAD(&a->infos[2], PMIX_GROUP_ENDPT_DATA, &put,
                       PMIX_BYTE_OBJECT);
    }
    return a;
}

void hb_pmix_group_done(const struct hb_pmix_grouping *g, int status,
                        struct hb_bytes data)
{
    struct answer *a = NULL;
    struct hb_buf all;
    size_t number = 0;

    hb_buf_init(&all, HB_FENCE_DATA_MAX);
    if (status == HPCBOOT_OK) {
        status = read_parts(data, &number, &all);
        a = status == HPCBOOT_OK ? answer_of(g, number, &all) : NULL;
    }
    hb_buf_destroy(&all);
    g->cb(hb_pmix_status(status), a != NULL ? a->infos : NULL,
          a != NULL ? a->n : 0, g->cbdata, a != NULL ? release : NULL, a);
}
