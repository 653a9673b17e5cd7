/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_FIRST_H
#define HB_PROC_FIRST_H

#include <sys/types.h>

/* What the first process of a container owes: processes whose parents have
 * ended are its children, and stay as zombies, which count for the limit of
 * processes, until it has looked at them. */

/* 1: this process is that one. */
int hb_is_first(void);
/* A child that somebody here waits for. */
void hb_first_own(pid_t pid);
/* Reaps the others that have ended. Does not block. */
void hb_first_reap(void);

#endif
