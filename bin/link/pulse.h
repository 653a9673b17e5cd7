/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_LINK_PULSE_H
#define HB_LINK_PULSE_H

#include <stdint.h>

/* When to beat, and what a peer's silence means: an engine without I/O or
 * timer. Its owner comes when hb_pulse_due_ns says, and does what
 * hb_pulse_step returns. Times are of the monotonic clock. All zero: off. */
struct hb_pulse {
    uint32_t beat_ms, dead_ms;
    int64_t beat_ns, watch_ns;    /* when each is due; 0: not at all */
    int64_t heard_ns, watched_ns; /* last received, last looked */
    int64_t away_ms; /* how late the last look was itself; 0: in time */
    int suspected;
    int excused; /* this process was away since the peer's last word */
};

enum {
    HB_PULSE_BEAT = 1,    /* a beat is to be sent */
    HB_PULSE_SUSPECT = 2, /* silent for three fifths of dead_ms; told once */
    HB_PULSE_DEAD = 4     /* silent for dead_ms */
};

/* A beat every beat_ms from now on, death after dead_ms of silence; 0: not.
 * The first beat is the caller's, at once. */
void hb_pulse_start(struct hb_pulse *p, uint32_t beat_ms, uint32_t dead_ms,
                    int64_t now_ns);
/* Something was received. 1: the peer was suspected, and is no more. */
int hb_pulse_heard(struct hb_pulse *p, int64_t now_ns);
/* 1: a beat is due, and counts as sent. Nothing else is looked at. */
int hb_pulse_beat(struct hb_pulse *p, int64_t now_ns);
unsigned hb_pulse_step(struct hb_pulse *p, int64_t now_ns);
int64_t hb_pulse_silent_ms(const struct hb_pulse *p, int64_t now_ns);
/* How long this process itself was stopped or starved, up to now or to the
 * last look; 0: it was not. */
int64_t hb_pulse_away_ms(const struct hb_pulse *p, int64_t now_ns);
int64_t hb_pulse_due_ns(const struct hb_pulse *p); /* 0: never */

#endif
