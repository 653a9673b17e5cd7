/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_CLOCK_H
#define HB_BASE_CLOCK_H

#include <stdint.h>

int64_t hb_now_ns(void);      /* CLOCK_MONOTONIC */
int64_t hb_now_ms(void);
int64_t hb_wall_ns(void);     /* CLOCK_REALTIME */

/* A moment on the monotonic clock; HB_NEVER does not come. */
#define HB_NEVER INT64_MAX
int64_t hb_deadline_in_ms(int64_t ms); /* ms < 0: HB_NEVER */
/* Rounded up; 0 when it has passed, INT64_MAX for HB_NEVER. */
int64_t hb_deadline_left_ms(int64_t deadline_ns);

#endif
