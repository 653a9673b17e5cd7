/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A host that had been ready is there no more: what that means for those below
 * it, for its ranks and for the job. */
#include "config.h"

#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"

static void lose_talk(struct job_host *h, uint32_t node)
{
    job_route_lost(h);
    if (h->job->fences != NULL && node != HB_NODE_UNSET) {
        hb_fence_node_lost(h->job->fences, node);
    }
}

static void note_loss(struct job_host *h, const struct hpcboot_error *err)
{
    host_set_why(h, err->text);
    hb_lives_note_former(h->job->lives, h->spec->name, h->token);
    h->seen = (uint8_t)job_route_sees(h);
    h->examined = 0;
}

/* A host that had been ready is gone. After DONE that is how it should be. */
void host_lost(struct job_host *h, const struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct hb_cause cause = {
        .kind = HB_CAUSE_HOST,
        .time_ns = h->lost_ns != 0 ? h->lost_ns : hb_now_ns(),
        .host = h->spec->name, .text = err->text,
    };
    enum host_state was = h->state;
    uint32_t node = h->node;
    char why[200] = "";
    int is_cause = 0, leaves_none = hb_grow_children(j->grow, h->index) == 0;

    note_loss(h, err);
    if (job_live_lost(h)) {
        job_carry_stdin_lost(j);
        return;
    }
    /* Where nothing was begun, and where files were under way, all were let
     * go, those below it, too. */
    if (was == HOST_DONE && (leaves_none || h->bye_sent || !j->begun)) {
        if (j->live != NULL) {
            host_leave_tree(h); /* it may come into the gang again */
        }
        host_close(h);
        job_route_lost(h);
        job_maybe_over(j);
        return;
    }
    host_leave_tree(h);
    if (j->phase == JOB_CONNECTING) {
        h->reason = (struct hb_boot_reason){HB_WHY_VANISHED, ""};
        host_failed_try(h, HB_STAGE_AGENT);
        return;
    }
    job_event_host(h, "host_lost", err->text);
    host_close(h);
    if (h->lost_ns != 0) {
        host_probe(h);
    }
    h->state = HOST_LOST;
    h->gone = 1;
    job_carry_stdin_lost(j);
    if (j->orphan_ms > 0 && (was == HOST_DONE || node == HB_NODE_UNSET)) {
        hb_log(HB_INFO, "host %s: %s; it had no ranks", h->spec->name,
               err->text);
        lose_talk(h, node);
    } else if (!job_replace_host(h, why, sizeof why)) {
        cause.evidence = why;
        is_cause = 1;
        if (was == HOST_RUNNING && node != HB_NODE_UNSET) {
            job_tell_lost(j, node, err->text); /* why its fences will fail */
        }
        lose_talk(h, node);
    }
    if (is_cause) {
        job_host_ranks_lost(h, err->text);
        job_live_vacate(h);
        job_cause(j, &cause);
    }
    job_maybe_over(j);
}

/* What it hung below is gone. Before the job runs it is started anew;
 * afterwards its agent, left alone, ends its ranks. */
void host_orphaned(struct job_host *h, const struct hpcboot_error *err)
{
    struct job *j = h->job;

    h->via = NULL;
    if (h->state == HOST_DONE || h->state == HOST_LOST) {
        return;
    }
    host_close(h);
    hb_lives_note_former(j->lives, h->spec->name, h->token);
    h->examined = 0;
    if (j->phase == JOB_CONNECTING) {
        h->state = HOST_IDLE;
        host_arm_ms(h, 0);
        return;
    }
    job_event_host(h, "host_lost", err->text);
    host_set_why(h, err->text);
    h->state = HOST_LOST;
    lose_talk(h, h->node);
}
