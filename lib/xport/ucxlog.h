/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_XPORT_UCXLOG_H
#define HB_XPORT_UCXLOG_H

#include <stddef.h>

#include <ucs/type/status.h>

/* What UCX would print becomes the text of our errors; of the module
 * hb_ucx.so. Calls of UCX stand between enter and leave. */

/* Once a process; shared: libucs was there before, and its log and its
 * settings are others'. */
void hb_ucxlog_open(int shared);
int hb_ucxlog_is_shared(void); /* as the first open has said */
void hb_ucxlog_enter(void); /* forgets what was said before */
void hb_ucxlog_leave(void);
/* -1, with a text in why. */
int hb_ucxlog_fail(char *why, size_t why_size, const char *what,
                   ucs_status_t status);
/* 1: the user has set UCX_name. */
int hb_ucxlog_user_has(const char *name);

#endif
