/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Direct modex: what a rank has put is asked of the agent of its host, by way
 * of the launcher. Whoever asks waits until it is answered, so a question to a
 * host that is lost meanwhile is answered here; and what comes when nobody
 * waits for it any more goes nowhere: another agent that asks from the same
 * host numbers its questions anew. */
#include "config.h"

#include <stdlib.h>

#include "bin/job/bringup.h"
#include "bin/job/job_impl.h"
#include "lib/base/str.h"

#define ASKING_MAX 65536u /* questions of one host; it has fewer ranks */

struct modex { /* a question that is open */
    struct modex *next;
    uint64_t id;
    uint32_t by; /* host */
};

static void drop(struct job_host *asked, struct modex **at)
{
    struct modex *m = *at;

    asked->job->hosts[m->by].n_asking--;
    *at = m->next;
    free(m);
}

static void note(struct job_host *by, struct job_host *asked, uint64_t id)
{
    struct modex **at = &asked->asked, *m = hb_xcalloc(1, sizeof *m);

    if (*at != NULL) {
        at = &asked->asked_last->next;
    }
    m->id = id;
    m->by = by->index;
    *at = asked->asked_last = m;
    by->n_asking++;
}

/* Whether it is answered from now on. Most answers come in the order of their
 * questions. */
static int settle(struct job_host *asked, uint32_t by, uint64_t id)
{
    struct modex **at = &asked->asked, *before = NULL;

    while (*at != NULL && ((*at)->id != id || (*at)->by != by)) {
        before = *at;
        at = &before->next;
    }
    if (*at == NULL) {
        return 0;
    }
    if (asked->asked_last == *at) {
        asked->asked_last = before;
    }
    drop(asked, at);
    return 1;
}

/* One that is lost asks no more. */
static void forget_asker(struct job_host *asked, uint32_t by)
{
    struct modex **at = &asked->asked;

    asked->asked_last = NULL;
    while (*at != NULL) {
        if ((*at)->by == by) {
            drop(asked, at);
        } else {
            asked->asked_last = *at;
            at = &(*at)->next;
        }
    }
}

void job_modex_lost(struct job_host *h)
{
    struct job *j = h->job;

    for (uint32_t i = 0; h->n_asking > 0 && i < j->gang.n; i++) {
        forget_asker(&j->hosts[i], h->index);
    }
    while (h->asked != NULL) {
        HOST_SEND(&j->hosts[h->asked->by], modex_reply, .id = h->asked->id,
                  .status = HPCBOOT_ERR_PEER_DEAD);
        drop(h, &h->asked);
    }
}

void job_modex_free(struct job_host *h)
{
    while (h->asked != NULL) {
        drop(h, &h->asked);
    }
}

/* Passed on as it is. */
static int pass_on(const struct job_host *from, struct job_host *to,
                   const struct hb_frame *f, struct hpcboot_error *err)
{
    struct hb_buf *out = host_out(to);
    struct hb_frame copy = *f;
    int rc;

    if (out == NULL) {
        return 0;
    }
    copy.src = from->index;
    copy.dst = to->index;
    rc = hb_wire_put_frame(out, &copy, err);
    host_said(to);
    return rc;
}

/* To the node that has the rank; an unreachable one is answered for. */
static int on_modex(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct job_host *to = NULL;
    struct hb_msg_modex m;
    int rc = hb_wire_get_modex(f, &m, err), status = HPCBOOT_ERR_PEER_DEAD;

    if (rc == 0 && j->map != NULL && m.rank < j->map->n_ranks) {
        to = j->node_host[j->map->node_of_rank[m.rank]];
    }
    if (to != NULL && to->state == HOST_RUNNING && host_can_hear(to)) {
        if (h->n_asking < ASKING_MAX) {
            j->has_met = 1;
            note(h, to, m.id);
            return pass_on(h, to, f, err);
        }
        status = HPCBOOT_ERR_LIMIT;
    }
    if (rc == 0) {
        HOST_SEND(h, modex_reply, .id = m.id, .status = status);
    }
    return rc;
}

static int on_modex_reply(struct job_host *h, const struct hb_frame *f,
                          struct hpcboot_error *err)
{
    struct hb_msg_modex_reply m;
    int rc = hb_wire_get_modex_reply(f, &m, err);

    if (rc < 0 || f->dst >= h->job->gang.n || !settle(h, f->dst, m.id)) {
        return rc;
    }
    return pass_on(h, &h->job->hosts[f->dst], f, err);
}

int job_modex_frame(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    return f->type == HB_MSG_MODEX ? on_modex(h, f, err)
                                   : on_modex_reply(h, f, err);
}
