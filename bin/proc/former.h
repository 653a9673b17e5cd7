/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_FORMER_H
#define HB_PROC_FORMER_H

/* Ends the agent of this user that was started with the token, and waits until
 * its guard has cleaned up below it; at most so long. 1: there was one; 0:
 * none, or it cannot be found, as without /proc. */
int hb_former_end(const char *token, int timeout_ms);

#endif
