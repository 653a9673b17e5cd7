/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HPCBOOT_KVS_H
#define HPCBOOT_KVS_H

#include <stddef.h>

#include "hpcboot/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What ranks tell each other before they can talk: each rank puts values under
 * names of its own; after a fence the others get them by rank and name. */
#define HPCBOOT_KEY_MAX 255         /* bytes of a key, without its NUL */
#define HPCBOOT_VALUE_MAX (1 << 20) /* bytes of a value */

enum hpcboot_scope {
    HPCBOOT_SCOPE_JOB, /* seen by every rank */
    HPCBOOT_SCOPE_NODE /* by the ranks of this node */
};

/* The value is copied; a second put of a key in its scope replaces the first;
 * of a key that is put in both scopes either value is found. It is seen after
 * the next fence of at least its scope, and may be from when this rank has
 * come to that. ERR_USAGE, ERR_LIMIT, ERR_NOMEM; ERR_CLOSED when the
 * launcher is gone; ERR_SYSTEM when it cannot be talked to. */
int hpcboot_put(enum hpcboot_scope scope, const char *key, const void *value,
                size_t size, struct hpcboot_error *err);

/* What `rank` has put; *value_out is for free(), and has a NUL behind its
 * *size_out bytes (size_out may be NULL). ERR_NOT_FOUND; ERR_PEER_DEAD when
 * the rank died and its value is not here. Blocks for one exchange with the
 * other node where the last fence did not collect. */
int hpcboot_get(int rank, const char *key, void **value_out, size_t *size_out,
                struct hpcboot_error *err);

enum {
    HPCBOOT_COLLECT = 1 /* values travel with the fence; get is local then */
};
/* Collective over the scope. timeout_ms 0: no deadline; over a bootstrap a
 * fence of the job never has one. ERR_PEER_DEAD: a rank has died, and so every
 * fence fails until hpcboot_world() is shrunk; then they are for the survivors
 * (under hbrun). ERR_TIMED_OUT: not all have come; the next fence of this scope
 * goes on with this one, and what is put in between may be seen only after the
 * one after it. ERR_CLOSED, ERR_SYSTEM, ERR_NOMEM. Meanwhile put, get and
 * fence of the rank's other threads wait. */
int hpcboot_fence(enum hpcboot_scope scope, unsigned flags, int timeout_ms,
                  struct hpcboot_error *err);

#ifdef __cplusplus
}
#endif

#endif
