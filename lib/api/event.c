/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Events: what the node's memory records of deaths and of ranks that come and
 * go, one after the other. */
#include "config.h"

#include <stdio.h>

#include "lib/api/api.h"
#include "lib/base/clock.h"

static int have_event(void *arg)
{
    return hb_segment_deaths(hb_api.memory) > hb_api.events_told ||
           hb_segment_told(hb_api.memory) > hb_api.news_told;
}

/* 1: the next event is no death. */
static int take_news(struct hpcboot_event *event)
{
    const struct hb_news *n;

    if (hb_segment_told(hb_api.memory) == hb_api.news_told) {
        return 0;
    }
    n = hb_segment_news(hb_api.memory, hb_api.news_told);
    if (n->after > hb_api.events_told) {
        return 0;
    }
    hb_api.news_told++;
    event->kind = n->kind == HB_NEWS_COMES ? HPCBOOT_EVENT_RANK_COMES
                                           : HPCBOOT_EVENT_RANK_LEAVES;
    event->rank = (int)n->rank;
    event->epoch = hb_api.events_told;
    snprintf(event->text, sizeof event->text, "%s", n->text);
    return 1;
}

int hpcboot_next_event(struct hpcboot_event *event, int timeout_ms,
                       struct hpcboot_error *err)
{
    const struct hb_death *d;
    const char *call = "hpcboot_next_event";
    int rc = hb_api_ready(call, err);

    if (rc == 0) {
        rc = hb_api_sized(call, "HPCBOOT_EVENT_INIT", event, sizeof *event,
                          err);
    }
    if (rc == 0) {
        rc = hb_api_timeout(call, timeout_ms, err);
    }
    if (rc < 0) {
        return rc;
    }
    (void)hb_api_alive(NULL, hb_api.world, NULL);
    if (!have_event(NULL) && timeout_ms > 0) {
        (void)hb_api_wait_until(
            &(struct hb_api_awaited){.kind = HB_WAITS_EVENT}, have_event, NULL,
            hb_deadline_in_ms(timeout_ms), NULL);
    }
    if (!have_event(NULL)) {
        return 0;
    }
    if (take_news(event)) {
        return 1;
    }
    d = hb_segment_death(hb_api.memory, hb_api.events_told++);
    event->kind = HPCBOOT_EVENT_PEER_DEAD;
    event->rank = (int)d->rank;
    event->epoch = hb_api.events_told;
    snprintf(event->text, sizeof event->text, "%s", d->text);
    return 1;
}
