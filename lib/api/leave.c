/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The end of a job whose ranks the program itself has brought together: its
 * allgather moves none of our messages, and what a rank has sent, and nobody
 * has a request of any more, may be on its way when it comes to
 * hpcboot_finalize. So all meet by messages before, each in log2(size) steps
 * with those that are 1, 2, 4... ranks before and after it: who has heard of
 * them knows that all have come. A rank of another node that is dead shows when
 * it is sent something, so each is, and no dead rank is waited for. */
#include "config.h"

#include <sched.h>
#include <time.h>

#include "lib/api/api.h"
#include "lib/api/hop.h"

/* Beyond what hpcboot_send can say. */
#define TAG_HERE ((uint64_t)1 << 40)
#define TAG_BACK ((uint64_t)2 << 40)
#define WORDS 4
#define YIELDS 1000
#define NAP_NS (200 * 1000)

struct word {
    struct hb_xport_req *req; /* NULL: it is over */
    int peer;
};

static struct word say(int peer, uint64_t tag)
{
    struct word w = {.peer = peer};

    return hb_xport_send(hb_api.xport, peer, HB_LEAVE_CONTEXT, tag, "", 0,
                         &w.req, NULL) < 0 ? (struct word){NULL, peer} : w;
}

static struct word hear(int peer, uint64_t tag)
{
    static char nothing;
    struct word w = {.peer = peer};

    return hb_xport_recv(hb_api.xport, peer, HB_LEAVE_CONTEXT, tag, UINT64_MAX,
                         &nothing, 0, &w.req, NULL) < 0
               ? (struct word){NULL, peer} : w;
}

static int is_over(struct word *w)
{
    struct hpcboot_error why;
    int rc = w->req == NULL
                 ? 1 : hb_xport_test(hb_api.xport, w->req, NULL, &why);

    if (rc == HPCBOOT_ERR_PEER_DEAD) {
        hb_api_peer_lost(w->peer, &why);
    } else if (rc == 0 && hb_api_peer_dead(w->peer, NULL) < 0) {
        hb_xport_cancel(hb_api.xport, w->req);
        rc = 1;
    }
    w->req = rc == 0 ? w->req : NULL;
    return rc != 0;
}

static void leave_time(unsigned *vain)
{
    const struct timespec nap = {0, NAP_NS};

    if (hb_api.rdzv->work() > 0) {
        *vain = 0;
    } else if (++*vain < YIELDS) {
        sched_yield();
    } else {
        nanosleep(&nap, NULL);
    }
}

static void meet_at(int distance)
{
    int after = (hb_api.rank + distance) % hb_api.size;
    int before = (hb_api.rank - distance + hb_api.size) % hb_api.size;
    uint64_t here = TAG_HERE + (uint64_t)distance;
    uint64_t back = TAG_BACK + (uint64_t)distance;
    struct word words[WORDS] = {say(after, here), say(before, back),
                                hear(before, here), hear(after, back)};
    unsigned vain = 0;

    for (int i = 0; i < WORDS; i++) {
        while (!is_over(&words[i])) {
            leave_time(&vain);
        }
    }
}

void hb_api_leave_together(void)
{
    for (int distance = 1; distance < hb_api.size; distance *= 2) {
        meet_at(distance);
    }
}
