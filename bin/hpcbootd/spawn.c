/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What ranks of this node want started goes to the launcher, and its answers to
 * the ranks' server. Nothing holds back a rank that asks without waiting
 * (PMIx_Spawn_nb), and the launcher begins one job after the other: so those
 * that wait for their answers are counted, and what is too much is refused, as
 * a rank hears it of any spawn that fails. */
#include "config.h"

#include <stdlib.h>

#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/sure.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* Of all that ask at one time. A thousand jobs can run at once, so that more
 * questions have no sense; their words are file names, mostly. */
#define WAIT_MAX 4096u
#define WAIT_BYTES_MAX ((size_t)64 << 20)
_Static_assert(HB_SPAWN_TEXT_MAX <= HB_WIRE_STR &&
                   HB_SPAWN_BYTES_MAX / (1 + sizeof(char *)) <= HB_WIRE_LIST &&
                   HB_SPAWN_BYTES_MAX <= WAIT_BYTES_MAX,
               "each request that is whole can be sent");

struct agent_asked { /* for a spawned job */
    struct agent_asked *next;
    uint64_t id;
    size_t bytes;
};

/* Its answer is given by the loop, as none comes from inside a question. */
struct refused {
    struct agent *agent;
    uint64_t id;
};

static void say_refused(evutil_socket_t fd, short what, void *arg)
{
    static const struct hb_pm_spawned no = {.status = HPCBOOT_ERR_LIMIT};
    struct refused *r = arg;

    if (r->agent->pm != NULL) {
        r->agent->pm_ops->spawn_done(r->agent->pm, r->id, &no);
    }
    free(r);
}

static void refuse(struct agent *a, uint64_t id, uint32_t rank)
{
    static const struct timeval now = {0, 0};
    struct refused *r = hb_xcalloc(1, sizeof *r);

    if (!a->asked.refusal_told) {
        a->asked.refusal_told = 1;
        agent_note(a, HB_WARN, "rank %u cannot start more processes now: %u "
                   "requests of %zu bytes wait for their answers "
                   "(MPI_Comm_spawn, PMIx_Spawn_nb)", rank, a->asked.n,
                   a->asked.bytes);
    }
    r->agent = a;
    r->id = id;
    sure_once(a->base, say_refused, r, &now);
}

void agent_spawn(struct agent *a, uint64_t id, uint32_t rank,
                 const struct hb_pm_spawn *what)
{
    struct agent_asked *q;

    if (a->asked.n == WAIT_MAX ||
        what->bytes > WAIT_BYTES_MAX - a->asked.bytes) {
        refuse(a, id, rank);
        return;
    }
    q = hb_xcalloc(1, sizeof *q);
    *q = (struct agent_asked){a->asked.first, id, what->bytes};
    a->asked.first = q;
    a->asked.n++;
    a->asked.bytes += what->bytes;
    AGENT_SEND(a, spawn, .id = id, .rank = rank,
               .counts = {.v = what->counts,
                          .n = what->n_apps * HB_SPAWN_COUNTS},
               .words = hb_wire_strv_of(hb_strv_view(&what->words)),
               .hints = hb_wire_strv_of(hb_strv_view(&what->hints)),
               .preput = hb_wire_strv_of(hb_strv_view(&what->preput)));
}

static void forget(struct agent *a, struct agent_asked **at)
{
    struct agent_asked *q = *at;

    *at = q->next;
    a->asked.n--;
    a->asked.bytes -= q->bytes;
    free(q);
}

int agent_spawned(struct agent *a, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    struct agent_asked **at = &a->asked.first;
    struct hb_msg_spawned m;
    int rc = hb_wire_get_spawned(f, &m, err);

    if (rc < 0 || a->pm == NULL) {
        return rc;
    }
    const struct hb_pm_spawned answer = {
        .status = m.status, .job_id = m.job_id, .text = m.text,
    };

    while (*at != NULL && (*at)->id != m.id) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        forget(a, at);
    }
    a->pm_ops->spawn_done(a->pm, m.id, &answer);
    return 0;
}

void agent_spawns_destroy(struct agent *a)
{
    while (a->asked.first != NULL) {
        forget(a, &a->asked.first);
    }
}
