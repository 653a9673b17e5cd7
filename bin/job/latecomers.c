/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Hosts that have come into a running job of libhpcboot too late. Their ranks
 * wait in hpcboot_init until the others finalize and begin anew; where all
 * others have ended instead, they would wait for ever. They are told to end,
 * and that is no failure.
 *
 * An end may be known here before the beginning that it follows, which another
 * host reports: so it is looked at again some seconds later. */
#include "config.h"

#include <signal.h>

#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "lib/base/log.h"

#define SURE_MS 3000

/* The last program of the library that its ranks have been in, or wait for, as
 * those count that were there from the beginning. */
static uint32_t programs_of(const struct job_host *h)
{
    return h->programs_missed + h->programs_begun;
}

static int is_late(const struct job_host *h)
{
    return h->state == HOST_RUNNING && h->programs_missed > 0;
}

/* Who has not called hpcboot_init yet will. */
static uint32_t waits_for(const struct job_host *h)
{
    return h->programs_missed + (h->programs_begun > 0 ? h->programs_begun : 1);
}

/* The program that no rank but those that came late can be in: the first that
 * one of them waits for. 0: there are others. */
static uint32_t next_program(const struct job *j)
{
    uint32_t next = 0;

    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        const struct job_host *h = j->node_host[j->map->node_of_rank[r]];

        if (j->ranks[r].ended) {
            continue;
        }
        if (!is_late(h)) {
            return 0;
        }
        next = next == 0 || waits_for(h) < next ? waits_for(h) : next;
    }
    return next;
}

/* Somebody without whom it cannot begin has ended, in good order: of who has
 * died they are told. */
static int is_in_vain(const struct job *j, uint32_t program)
{
    const unsigned both = HB_CONTACT_NATIVE | HB_CONTACT_FINALIZE;

    for (uint32_t r = 0; program > 0 && r < j->map->n_ranks; r++) {
        const struct job_host *h = j->node_host[j->map->node_of_rank[r]];

        if (j->ranks[r].ended && (j->ranks[r].contact & both) == both &&
            programs_of(h) < program && !job_live_refills(j, r)) {
            return 1;
        }
    }
    return 0;
}

static int all_wait_in_vain(const struct job *j)
{
    return j->phase == JOB_RUNNING && is_in_vain(j, next_program(j));
}

static void tell_too_late(struct job_host *h)
{
    struct job *j = h->job;

    hb_log(HB_INFO, "host %s has come into the gang too late: all ranks that "
           "those there wait for have ended; they are told to end",
           h->spec->name);
    job_event_host(h, "host_leaving", "it has come too late");
    h->let_go = 1;
    HOST_SEND(h, kill, .grace_ms = (uint32_t)j->opt->grace_ms,
              .reason = "all ranks that it waits for have ended",
              .signo = SIGTERM);
}

static void on_sure(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;

    for (uint32_t i = 0; all_wait_in_vain(j) && i < j->map->n_nodes; i++) {
        struct job_host *h = j->node_host[i];

        if (is_late(h) && !h->let_go) {
            tell_too_late(h);
        }
    }
}

void job_latecomers_come(struct job_host *h)
{
    struct job *j = h->job;

    h->programs_missed = 0;
    for (uint32_t i = 0; i < j->map->n_nodes; i++) {
        const struct job_host *at = j->node_host[i];

        if (at != h && programs_of(at) > h->programs_missed) {
            h->programs_missed = programs_of(at);
        }
    }
    job_latecomers_look(j);
}

void job_latecomers_look(struct job *j)
{
    const struct timeval sure = {SURE_MS / 1000, SURE_MS % 1000 * 1000};

    if (j->live == NULL || !all_wait_in_vain(j)) {
        return;
    }
    if (j->too_late == NULL) {
        j->too_late = evtimer_new(j->base, on_sure, j);
    }
    evtimer_add(j->too_late, &sure);
}

void job_latecomers_close(struct job *j)
{
    if (j->too_late != NULL) {
        event_free(j->too_late);
        j->too_late = NULL;
    }
}
