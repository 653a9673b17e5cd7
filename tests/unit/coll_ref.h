/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef COLL_REF_H
#define COLL_REF_H

/* What a collective must do, in the simplest code that says so. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/coll/coll.h"

/* One call, as every rank knows it. Blocks of the v-kinds have the lengths
 * coll_ref_count says. */
struct coll_case {
    enum hpcboot_coll coll;
    enum hpcboot_type type;
    int op;         /* HPCBOOT_OP_USER: affine maps that do not commute */
    int root, ranks;
    size_t count;
    bool in_place;
    uint64_t seed;
};

/* The number of elements that rank `from` sends to rank `to` (v-kinds). */
size_t coll_ref_count(const struct coll_case *c, int from, int to);
/* A call's buffers at one rank, and what must be in them afterwards. */
struct coll_buffers {
    struct hpcboot_coll_args args;
    size_t *rows; /* counts and displacements */
    char *send, *recv, *send_before, *expected;
    size_t send_bytes, recv_bytes; /* allocated, with a guard behind */
};
/* `heap`: where the buffers go, recv first; NULL: malloc. */
void coll_ref_make(const struct coll_case *c, int rank, char *heap,
                   struct coll_buffers *b);
/* Fills the buffers again, for another run. */
void coll_ref_fill(const struct coll_case *c, int rank,
                   struct coll_buffers *b);
/* NULL, or what is wrong; only the guard-safe text of coll_text. */
const char *coll_ref_compare(const struct coll_case *c, int rank,
                             const struct coll_buffers *b);
void coll_ref_free(struct coll_buffers *b, bool heap);
/* The op of HPCBOOT_OP_USER cases: on bytes, elements of 2. */
extern const struct hb_coll_user_op coll_ref_user;
/* dst = a op b, one element, in the precision of `type` (two-byte floats: in
 * float, `acc` of 4 bytes). */
void coll_ref_fold(const struct coll_case *c, const char *const *src, int n,
                   char *dst);

uint64_t coll_ref_random(uint64_t *state);
float coll_ref_half_value(uint16_t h);
uint16_t coll_ref_half_bits(float f);
uint16_t coll_ref_bf_bits(float f);

#endif
