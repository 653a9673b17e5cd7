/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_K8S_TREE_H
#define HB_HOSTFILE_K8S_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/strv.h"

/* How the nodes of a cluster are connected, as its API says it: by labels of
 * the Nodes, or by Volcano's HyperNodes. Values; nobody is asked here. */

/* One condition of a label selector. */
enum hb_k8s_operator { HB_K8S_IN, HB_K8S_NOT_IN, HB_K8S_EXISTS, HB_K8S_ABSENT };
struct hb_k8s_need {
    char *key;
    enum hb_k8s_operator op;
    struct hb_strv values; /* of the first two */
};

/* What a HyperNode holds; exactly one of name, pattern, needs counts. */
struct hb_k8s_member {
    int is_node;   /* else a HyperNode */
    char *name;    /* or NULL */
    char *pattern; /* a regular expression of Go; or NULL */
    int by_labels; /* nodes that fulfil all needs, of which there may be none */
    struct hb_k8s_need *needs;
    size_t n_needs;
};

/* A Node or a HyperNode. */
struct hb_k8s_thing {
    char *name;
    struct hb_strv labels; /* KEY=VALUE */
    uint32_t tier;         /* of a HyperNode: smaller is nearer */
    struct hb_k8s_member *members;
    size_t n_members;
};
void hb_k8s_thing_destroy(struct hb_k8s_thing *thing);

struct hb_k8s_things {
    struct hb_k8s_thing *v;
    size_t n, cap;
};
/* More than the largest cluster has of either. */
#define HB_K8S_MAX_THINGS 100000u
/* Takes the thing; of several with one name the first stays. ERR_LIMIT. */
int hb_k8s_things_append(struct hb_k8s_things *things,
                         struct hb_k8s_thing *thing, struct hpcboot_error *err);
/* By name, without the second of each; find needs it. */
void hb_k8s_things_sort(struct hb_k8s_things *things);
const struct hb_k8s_thing *
hb_k8s_things_find(const struct hb_k8s_things *things, const char *name);
void hb_k8s_things_destroy(struct hb_k8s_things *things);

/* Does any HyperNode hold nodes by their labels? */
int hb_k8s_tree_needs_labels(const struct hb_k8s_things *hypernodes);
/* Borrows both, which must be sorted. ERR_PARSE: a pattern is not understood;
 * it is named. */
struct hb_k8s_tree;
int hb_k8s_tree_create(const struct hb_k8s_things *hypernodes,
                       const struct hb_k8s_things *nodes,
                       struct hb_k8s_tree **out, struct hpcboot_error *err);
void hb_k8s_tree_destroy(struct hb_k8s_tree *tree);
/* "spine-0/leaf-3": the HyperNodes around a node from far to near; NULL: it is
 * in none. free() it. */
char *hb_k8s_tree_path(const struct hb_k8s_tree *tree, const char *node);

/* The values of labels, `keys` from far to near with commas between; NULL: the
 * node has none of them. free() it. */
char *hb_k8s_labels_path(const struct hb_k8s_thing *node, const char *keys);

#endif
