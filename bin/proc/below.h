/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_BELOW_H
#define HB_PROC_BELOW_H

#include <sys/types.h>

/* Calls visit(ctx, pid) for the process and those that it and its threads have
 * forked, and so on, until one returns more than 0, which is returned; less:
 * what is below this one is passed over. Where /proc is missing, for the
 * process alone. Deep and wide trees (of a `make` say) are looked at in part:
 * 8 levels, 64 processes. */
int hb_below(pid_t pid, int (*visit)(void *ctx, pid_t pid), void *ctx);
/* Those alone that it and its threads have forked, or were given as the
 * subreaper of those whose parents have ended. All of them. */
int hb_children(pid_t pid, int (*visit)(void *ctx, pid_t pid), void *ctx);

#endif
