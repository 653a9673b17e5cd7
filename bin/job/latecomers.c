/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Hosts that have come into a running job of libhpcboot too late. Their ranks
 * wait in hpcboot_init until the others finalize and begin anew; where all
 * others have ended instead, they would wait for ever. They are told to end,
 * and that is no failure.
 *
 * What one host reports may be older than what is known of another: an end may
 * be known here before the beginning that it follows. So they are looked for
 * when nothing has changed for some seconds. */
#include "config.h"

#include <signal.h>
#include <stdlib.h>

#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define SURE_MS 3000

/* It is not in the midst of a program of the library, and in none that its
 * ranks have not begun together with the others. */
static int waits(const struct job_host *h)
{
    return h->came_late && (h->programs_begun == 0 || h->in_init);
}

/* Of each node: whether a rank is left; a rank has ended, in good order (of who
 * has died those that wait are told), and none takes its place. */
enum { LEFT = 1, ENDED = 2 };

static void look_at_nodes(const struct job *j, unsigned char *nodes)
{
    const unsigned both = HB_CONTACT_NATIVE | HB_CONTACT_FINALIZE;

    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        unsigned char *node = &nodes[j->map->node_of_rank[r]];

        if (!j->ranks[r].ended) {
            *node |= LEFT;
        } else if ((j->ranks[r].contact & both) == both &&
                   !job_live_refills(j, r)) {
            *node |= ENDED;
        }
    }
}

/* Nobody is left but ranks that wait, for hosts without any. */
static int all_wait_in_vain(const struct job *j)
{
    unsigned char *nodes;
    int left = 0, over = 0, others = 0;

    if (j->phase != JOB_RUNNING) {
        return 0;
    }
    nodes = hb_xcalloc(j->map->n_nodes, 1);
    look_at_nodes(j, nodes);
    for (uint32_t i = 0; i < j->map->n_nodes; i++) {
        left |= nodes[i] & LEFT;
        over |= nodes[i] == ENDED;
        others |= (nodes[i] & LEFT) && !waits(j->node_host[i]);
    }
    free(nodes);
    return left && over && !others;
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

        if (h->came_late && h->state == HOST_RUNNING && !h->let_go) {
            tell_too_late(h);
        }
    }
}

void job_latecomers_come(struct job_host *h)
{
    h->came_late = 1;
    h->job->has_latecomers = 1;
    job_latecomers_look(h->job);
}

int job_latecomer_unfit(struct job_host *h, const char *why)
{
    if (h->came_late && !h->let_go) {
        hb_log(HB_WARN, "host %s has come into the gang (%s) and cannot do "
               "what is asked for: %s; the job goes on without it",
               h->spec->name, h->job->gang.source, why);
        job_event_host(h, "host_not_taken", why);
        h->let_go = h->unfit = 1;
    }
    return h->began_late || h->joins;
}

void job_latecomers_look(struct job *j)
{
    const struct timeval sure = {SURE_MS / 1000, SURE_MS % 1000 * 1000};

    if (!j->has_latecomers) {
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
