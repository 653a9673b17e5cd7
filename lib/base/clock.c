/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Time. Deadlines and time-outs use the monotonic clock alone: the wall clock
 * of a pod may jump when its host is set right. Wall time is for people.
 *
 * Deadlines are absolute, so that a wait which is interrupted and begun again
 * does not become longer.
 */
#include "config.h"

#include "lib/base/clock.h"

#include <time.h>

#define NS_PER_MS 1000000
#define NS_PER_S 1000000000

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int64_t hb_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t hb_now_ms(void)
{
    return hb_now_ns() / NS_PER_MS;
}

int64_t hb_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t hb_deadline_in_ms(int64_t ms)
{
    int64_t now = hb_now_ns();

    if (ms < 0 || ms > (HB_NEVER - now) / NS_PER_MS) {
        return HB_NEVER;
    }
    return now + ms * NS_PER_MS;
}

/* Rounded up, so that a wait of the result does not end before it. */
int64_t hb_deadline_left_ms(int64_t deadline_ns)
{
    int64_t now = hb_now_ns();

    if (deadline_ns == HB_NEVER) {
        return INT64_MAX;
    }
    if (deadline_ns <= now) {
        return 0;
    }
    return (deadline_ns - now - 1) / NS_PER_MS + 1;
}
