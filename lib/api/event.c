/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Events: what the node's memory records of deaths and of ranks that come and
 * go, one after the other. */
#include "config.h"

#include <stdio.h>

#include "lib/api/api.h"

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

static void take_death(struct hpcboot_event *event)
{
    const struct hb_death *d =
        hb_segment_death(hb_api.memory, hb_api.events_told++);

    event->kind = HPCBOOT_EVENT_PEER_DEAD;
    event->rank = (int)d->rank;
    event->epoch = hb_api.events_told;
    snprintf(event->text, sizeof event->text, "%s", d->text);
}

/* 1: *event is the next one; 0: there is none. */
static int take(struct hpcboot_event *event)
{
    int have;

    pthread_mutex_lock(&hb_api.lock);
    have = have_event(NULL);
    if (have && !take_news(event)) {
        take_death(event);
    }
    pthread_mutex_unlock(&hb_api.lock);
    return have;
}

int hpcboot_next_event(struct hpcboot_event *event, int timeout_ms,
                       struct hpcboot_error *err)
{
    const char *call = "hpcboot_next_event";
    int64_t deadline_ns;
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
    deadline_ns = hb_api_deadline(timeout_ms);
    do { /* another thread may take what this one waits for */
        rc = take(event);
    } while (rc == 0 && timeout_ms > 0 &&
             hb_api_wait_until(
                 &(struct hb_api_awaited){.kind = HB_WAITS_EVENT}, have_event,
                 NULL, deadline_ns, NULL) > 0);
    return rc;
}
