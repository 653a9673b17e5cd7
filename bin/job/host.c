/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a host holds only while it is needed. A gang may have thousands of
 * hosts, nearly all of which come up at the first try and say nothing on the
 * way: those cost the launcher a struct job_host and a link, and nothing that
 * only failures need. */
#include "config.h"

#include "bin/job/host.h"

#include <stdlib.h>

#include "bin/job/bringup.h"
#include "bin/job/job_impl.h"
#include "lib/base/str.h"

const char *host_why(const struct job_host *h)
{
    return h->why != NULL ? h->why : "";
}

void host_set_why(struct job_host *h, const char *text)
{
    char *why = hb_xstrdup(text); /* it may be part of the old one */

    free(h->why);
    h->why = why;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    host_due(arg);
}

void host_arm_ms(struct job_host *h, int64_t ms)
{
    if (h->timer == NULL) {
        h->timer = evtimer_new(h->job->base, on_timer, h);
    }
    if (h->timer == NULL) {
        hb_no_memory();
    }
    arm_ms(h->timer, ms);
}

void host_disarm(struct job_host *h)
{
    if (h->timer != NULL) {
        event_free(h->timer);
        h->timer = NULL;
    }
}

void host_keep_none(struct job_host *h)
{
    if (h->kept != NULL) {
        hb_kept_close(h->kept);
        free(h->kept);
        h->kept = NULL;
    }
}

void host_free(struct job_host *h)
{
    host_disarm(h);
    job_modex_free(h);
    hb_words_clear(&h->words);
    free(h->why);
    free(h->leaves);
    free(h->slots_origin);
    free(h->place);
    free(h->reached);
    free(h->gpus_origin);
    free(h->boot_user);
}

struct job_host *job_host_named(const struct job *j, const char *name)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (hb_streq(j->hosts[i].spec->name, name)) {
            return &j->hosts[i];
        }
    }
    return NULL;
}
