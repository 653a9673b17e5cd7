/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The beats of a control link and the watch over its peer.
 *
 * Anything received is a sign of life. The watch looks several times per
 * dead_ms: when it finds that it comes far too late itself, this process was
 * stopped or starved, and the silence says nothing about the peer. Where that
 * happens again and again a peer that does not say a word in between is silent
 * nevertheless: after the first time each look counts. */
#include "config.h"

#include "bin/link/pulse.h"

#define WATCHES_PER_DEATH 5 /* one starved beat is no sleep */
#define SUSPECT_AFTER 3     /* of those: suspected */
#define NS_PER_MS ((int64_t)1000000)

static int64_t watch_period_ms(const struct hb_pulse *p)
{
    return p->dead_ms / WATCHES_PER_DEATH + 1;
}

void hb_pulse_start(struct hb_pulse *p, uint32_t beat_ms, uint32_t dead_ms,
                    int64_t now_ns)
{
    p->beat_ms = beat_ms;
    p->dead_ms = dead_ms;
    p->heard_ns = p->watched_ns = now_ns;
    p->beat_ns = beat_ms > 0 ? now_ns + beat_ms * NS_PER_MS : 0;
    p->away_ms = 0;
    p->excused = 0;
    p->watch_ns = dead_ms > 0 ? now_ns + watch_period_ms(p) * NS_PER_MS : 0;
}

int hb_pulse_heard(struct hb_pulse *p, int64_t now_ns)
{
    int was_suspected = p->suspected;

    p->heard_ns = now_ns;
    p->suspected = 0;
    p->excused = 0;
    return was_suspected;
}

int64_t hb_pulse_silent_ms(const struct hb_pulse *p, int64_t now_ns)
{
    return (now_ns - p->heard_ns) / NS_PER_MS;
}

static int64_t late_ms(const struct hb_pulse *p, int64_t now_ns)
{
    int64_t since = (now_ns - p->watched_ns) / NS_PER_MS;

    return p->dead_ms > 0 && since > 2 * watch_period_ms(p) ? since : 0;
}

int64_t hb_pulse_away_ms(const struct hb_pulse *p, int64_t now_ns)
{
    int64_t late = late_ms(p, now_ns);

    return late > 0 ? late : p->away_ms;
}

static void excuse(struct hb_pulse *p, int64_t now_ns)
{
    int64_t heard_ns = p->heard_ns +
                       (p->away_ms - watch_period_ms(p)) * NS_PER_MS;

    p->heard_ns = p->excused && heard_ns < now_ns ? heard_ns : now_ns;
    p->excused = 1;
}

static unsigned watch(struct hb_pulse *p, int64_t now_ns)
{
    int64_t period = watch_period_ms(p), silent, left;

    p->away_ms = late_ms(p, now_ns);
    if (p->away_ms > 0) {
        excuse(p, now_ns);
    }
    p->watched_ns = now_ns;
    silent = hb_pulse_silent_ms(p, now_ns);
    left = p->dead_ms - silent;
    if (left <= 0) {
        return HB_PULSE_DEAD;
    }
    p->watch_ns = now_ns + (left < period ? left : period) * NS_PER_MS;
    if (p->suspected ||
        silent * WATCHES_PER_DEATH < (int64_t)p->dead_ms * SUSPECT_AFTER) {
        return 0;
    }
    p->suspected = 1;
    return HB_PULSE_SUSPECT;
}

int hb_pulse_beat(struct hb_pulse *p, int64_t now_ns)
{
    if (p->beat_ns == 0 || now_ns < p->beat_ns) {
        return 0;
    }
    p->beat_ns = now_ns + p->beat_ms * NS_PER_MS;
    return 1;
}

unsigned hb_pulse_step(struct hb_pulse *p, int64_t now_ns)
{
    unsigned todo = hb_pulse_beat(p, now_ns) ? HB_PULSE_BEAT : 0;

    if (p->watch_ns != 0 && now_ns >= p->watch_ns) {
        todo |= watch(p, now_ns);
    }
    return todo;
}

int64_t hb_pulse_due_ns(const struct hb_pulse *p)
{
    if (p->beat_ns == 0 || (p->watch_ns != 0 && p->watch_ns < p->beat_ns)) {
        return p->watch_ns;
    }
    return p->beat_ns;
}
