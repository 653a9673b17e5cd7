/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Events: what ranks tell each other (PMIx_Notify_event), and are told of those
 * that were lost. libpmix tells the clients of its own node that have asked for
 * such an event, and asks the agent to see to the others: the event travels as
 * libpmix packs it, and each other server is given it as if it came from its
 * own host. Whom of its clients it is meant for every server finds in the range
 * and the infos. */
#include "config.h"

#include <stdlib.h>

#include "bin/pm/pmix_impl.h"
#include "lib/base/str.h"

/* Kept until libpmix has told the clients. */
struct notice {
    pmix_info_t *infos;
    size_t n;
};

static void notice_given(pmix_status_t status, void *arg)
{
    struct notice *note = arg;

    if (note->infos != NULL) {
        PMIX_INFO_FREE(note->infos, note->n);
    }
    free(note);
}

/* Takes the note. */
static void give(struct notice *note, pmix_status_t code,
                 const pmix_proc_t *source, pmix_data_range_t range)
{
    pmix_status_t rc = PMIx_Notify_event(code, source, range, note->infos,
                                         note->n, notice_given, note);

    if (rc != PMIX_SUCCESS) { /* it will not be called back */
        notice_given(rc, note);
    }
}

/* ---- of lost ranks ------------------------------------------------------- */

/* As an event that clients may have asked for; those that go on without a
 * rank learn of it here. */
static void rank_lost(struct hb_pm *pm, uint32_t rank)
{
    struct notice *note = hb_xcalloc(1, sizeof(*note));
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, pm->nspace, rank);
    note->n = 1;
    PMIX_INFO_CREATE(note->infos, note->n);
    PMIX_INFO_LOAD(&note->infos[0], PMIX_EVENT_AFFECTED_PROC, &proc,
                   PMIX_PROC);
    give(note, PMIX_ERR_PROC_ABORTED, &proc, PMIX_RANGE_NAMESPACE);
}

void hb_pmix_ranks_lost(struct hb_pm *pm, const uint32_t *ranks, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        rank_lost(pm, ranks[i]);
    }
}

/* ---- of ranks to others -------------------------------------------------- */

int hb_pmix_event_travels(pmix_data_range_t range)
{
    return range != PMIX_RANGE_LOCAL && range != PMIX_RANGE_PROC_LOCAL &&
           range != PMIX_RANGE_RM && range != PMIX_RANGE_INVALID;
}

static pmix_status_t pack(struct hb_pmix_event *ev, pmix_byte_object_t *out)
{
    pmix_data_buffer_t buffer;
    pmix_status_t rc;

    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    rc = PMIx_Data_pack(NULL, &buffer, &ev->n_infos, 1, PMIX_SIZE);
    if (rc == PMIX_SUCCESS && ev->n_infos > 0) {
        rc = PMIx_Data_pack(NULL, &buffer, ev->infos, (int32_t)ev->n_infos,
                            PMIX_INFO);
    }
    if (rc == PMIX_SUCCESS) {
        rc = PMIx_Data_unload(&buffer, out);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    return rc;
}

/* Not those that this server itself was given, or has given. */
void hb_pmix_run_event(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    struct hb_pm_event out = {.rank = ev->proc.rank, .code = ev->status,
                              .range = ev->range};
    pmix_byte_object_t packed = {NULL, 0};

    if (pm->job->map->n_nodes > 1 && hb_pmix_is_local(pm, &ev->proc) &&
        pack(ev, &packed) == PMIX_SUCCESS) {
        out.infos = (struct hb_bytes){packed.bytes, packed.size};
        pm->host.event(pm->arg, &out);
        PMIX_BYTE_OBJECT_DESTRUCT(&packed);
    }
}

static pmix_status_t unpack(struct hb_bytes in, struct notice *note)
{
    pmix_byte_object_t packed = {(char *)in.data, in.len};
    pmix_data_buffer_t buffer;
    int32_t one = 1, n_infos;
    pmix_status_t rc;
    size_t n = 0;

    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    rc = PMIx_Data_embed(&buffer, &packed);
    if (rc == PMIX_SUCCESS) {
        rc = PMIx_Data_unpack(NULL, &buffer, &n, &one, PMIX_SIZE);
    }
    if (rc == PMIX_SUCCESS && n > in.len) { /* each takes bytes */
        rc = PMIX_ERR_UNPACK_FAILURE;
    }
    if (rc == PMIX_SUCCESS && n > 0) {
        note->n = n;
        PMIX_INFO_CREATE(note->infos, n);
        n_infos = (int32_t)n;
        rc = PMIx_Data_unpack(NULL, &buffer, note->infos, &n_infos,
                              PMIX_INFO);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    return rc;
}

void hb_pmix_event_came(struct hb_pm *pm, const struct hb_pm_event *event)
{
    struct notice *note = hb_xcalloc(1, sizeof(*note));
    pmix_status_t rc = unpack(event->infos, note);
    pmix_proc_t source;

    if (rc != PMIX_SUCCESS) {
        notice_given(rc, note);
        return;
    }
    PMIX_LOAD_PROCID(&source, pm->nspace, event->rank);
    give(note, event->code, &source, (pmix_data_range_t)event->range);
}
