/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_THREAD_H
#define HB_BOOT_THREAD_H

#include <stddef.h>

/* Starts fn(arg) in a thread of its own, which nobody waits for. Signals stay
 * with the program's own thread. 0, or pthread_create's error. */
int hb_boot_thread(void *(*fn)(void *arg), void *arg, size_t stack_bytes);

#endif
