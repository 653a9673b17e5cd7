/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Level by level, node i has the children width*i + 1 ... width*i + width, as
 * far as there are nodes; everything else follows from that. Products are
 * made in 64 bits: a width may be as large as the number of nodes.
 */
#include "config.h"

#include "lib/net/tree.h"

uint32_t hb_tree_parent(uint32_t node, uint32_t width)
{
    return node > 0 ? (node - 1) / width : HB_TREE_NONE;
}

uint32_t hb_tree_children(uint32_t node, uint32_t n, uint32_t width,
                          uint32_t *first_out)
{
    uint64_t first = (uint64_t)node * width + 1;

    if (first >= n) {
        return 0;
    }
    *first_out = (uint32_t)first;
    return n - first < width ? (uint32_t)(n - first) : width;
}

uint32_t hb_tree_depth(uint32_t node, uint32_t width)
{
    uint32_t depth = 0;

    for (; node > 0; node = hb_tree_parent(node, width)) {
        depth++;
    }
    return depth;
}

/* Ancestors have smaller numbers: climbing from `to`, the first node that is
 * not above `from` in number is `from` itself or shows that `to` lies
 * elsewhere. */
uint32_t hb_tree_next_hop(uint32_t from, uint32_t to, uint32_t width)
{
    uint32_t last = to;

    while (to > from) {
        last = to;
        to = hb_tree_parent(to, width);
    }
    return to == from ? last : hb_tree_parent(from, width);
}
