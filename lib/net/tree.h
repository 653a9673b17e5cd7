/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_NET_TREE_H
#define HB_NET_TREE_H

#include <stdint.h>

/* Arithmetic of a complete tree of `width` children per node over nodes
 * 0..n-1, numbered level by level; 0 is the root. Everybody who knows n and
 * width knows the whole tree, so it is never sent. width >= 1, node < n. */
#define HB_TREE_NONE UINT32_MAX

uint32_t hb_tree_parent(uint32_t node, uint32_t width); /* NONE for the root */
/* How many children; they are *first_out, *first_out + 1, ... (untouched
 * where there is none). */
uint32_t hb_tree_children(uint32_t node, uint32_t n, uint32_t width,
                          uint32_t *first_out);
uint32_t hb_tree_depth(uint32_t node, uint32_t width); /* edges to the root */
/* The neighbour of `from` on the way to `to`: a child or the parent; `from`
 * itself where the two are equal. */
uint32_t hb_tree_next_hop(uint32_t from, uint32_t to, uint32_t width);

#endif
