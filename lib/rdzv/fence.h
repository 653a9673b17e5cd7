/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_FENCE_H
#define HB_RDZV_FENCE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/collected.h"
#include "lib/base/error.h"

/* The one fence engine: collects a blob from each participating node up a
 * tree and brings the collection down again. A state machine without I/O,
 * the same in the launcher (the root) and in every agent. PMI-1 barriers,
 * PMI-2 fences, PMIx fences and the native rendezvous all ride on it.
 *
 * A fence is named by an opaque key (at most HB_FENCE_KEY_MAX bytes) that
 * every participant makes alike: kind, world, participants, round. Several
 * may be under way at once. Each participating node contributes once, when
 * all its own participating ranks have joined. Collected data is in the form
 * of lib/base/collected.h, at most HB_FENCE_DATA_MAX bytes; the engine never
 * looks inside a blob.
 *
 * An inner node passes on when every participating node of its subtree has
 * contributed; the lowest node above all participants completes the fence
 * (a fence of one node never leaves it). Each contribution gets exactly one
 * answer, and a key may be used again as soon as that has come; that of a fence
 * that has failed not before all its participants have contributed. */
#define HB_FENCE_KEY_MAX 65536u

struct hb_fence_engine;

struct hb_fence_ops {
    /* To the parent: this subtree's part. Not called at the root. */
    void (*up)(void *arg, struct hb_bytes key, const uint32_t *nodes,
               uint32_t n_nodes, struct hb_bytes data);
    /* To one child edge: result of a fence in which its subtree takes part. */
    void (*down)(void *arg, uint32_t child, struct hb_bytes key, int status,
                 struct hb_bytes data);
    /* To this node's own participants. */
    void (*done)(void *arg, struct hb_bytes key, int status,
                 struct hb_bytes data);
    /* Whether a node that lives is not the one that the key means, but has
     * taken its place: to that fence it is lost. NULL: none is. */
    int (*is_another)(void *arg, struct hb_bytes key, uint32_t node);
};

/* `self` is this node's number, or HB_FENCE_ROOT for a launcher that takes no
 * part itself. is_root: no parent. */
#define HB_FENCE_ROOT 0xffffffffu
int hb_fence_engine_create(struct hb_fence_engine **out, uint32_t self,
                           int is_root, const struct hb_fence_ops *ops,
                           void *arg, struct hpcboot_error *err);
void hb_fence_engine_destroy(struct hb_fence_engine *e);

/* Tells which nodes are reached through a child edge (the child's own number
 * included). Replaces what was said of that child. A node may move from one
 * child to another: what the first has contributed for it stays, and the
 * second contributes too; consumers see the node twice, with equal blobs. A
 * node that was lost lives again: whoever took its place is waited for. */
int hb_fence_set_child(struct hb_fence_engine *e, uint32_t child,
                       const uint32_t *subtree, uint32_t n,
                       struct hpcboot_error *err);

/* This node's own contribution. `nodes` are all participants, sorted. A
 * second contribution to the same key while it is open is ERR_PROTOCOL. */
int hb_fence_join(struct hb_fence_engine *e, struct hb_bytes key,
                  const uint32_t *nodes, uint32_t n_nodes,
                  struct hb_bytes data, struct hpcboot_error *err);
int hb_fence_from_child(struct hb_fence_engine *e, uint32_t child,
                        struct hb_bytes key, const uint32_t *nodes,
                        uint32_t n_nodes, struct hb_bytes data,
                        struct hpcboot_error *err);
int hb_fence_from_parent(struct hb_fence_engine *e, struct hb_bytes key,
                         int status, struct hb_bytes data,
                         struct hpcboot_error *err);
/* The processes of a node begin anew, and hb_fence_set_child will say how they
 * are reached: of fences that are open it is waited for once more, and what it
 * had contributed is void, be it here already or still on its way through
 * others. For the root; `child` is what the node was reached by if it was a
 * child of the root, else any other number. */
void hb_fence_forget(struct hb_fence_engine *e, uint32_t child, uint32_t node);
/* Nodes that were below here are so no more, and whoever is above knows how
 * they are reached, or that they are lost: fences go up without them. To be
 * called on the engines between them and the root from the top down, when the
 * root has been told by hb_fence_set_child or hb_fence_node_lost. */
void hb_fence_moved(struct hb_fence_engine *e, const uint32_t *nodes,
                    uint32_t n);
/* A node is gone: every fence with it that this engine has not passed on yet,
 * and every later one, ends with HPCBOOT_ERR_PEER_DEAD. To be called on every
 * engine from the parent of the lost node up to the root. */
void hb_fence_node_lost(struct hb_fence_engine *e, uint32_t node);
/* All ranks of a node have ended, and its agent may go: that it is gone then is
 * no loss, whatever its part in fences that are open. Of fences that its dead
 * should be in, others tell. */
void hb_fence_node_over(struct hb_fence_engine *e, uint32_t node);
/* Somebody has contributed, and not all were answered. */
int hb_fence_is_open(const struct hb_fence_engine *e, struct hb_bytes key);
/* Fences that are neither complete nor failed. */
size_t hb_fence_open_count(const struct hb_fence_engine *e);

#endif
