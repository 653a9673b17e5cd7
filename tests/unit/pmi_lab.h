/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef TESTS_UNIT_PMI_LAB_H
#define TESTS_UNIT_PMI_LAB_H

#include "bin/pm/pm.h"
#include "lib/base/str.h"

/* A job of PMI servers in one process, one per node, without sockets: what a
 * rank says is fed, what it is told piles up in its text. Fences and the name
 * service are carried by the lab in lab_run. */
enum { LAB_RANKS = 8, LAB_NODES = 4, LAB_FENCES = 16, LAB_NAMES = 8 };

struct lab_fence {
    char *key;
    uint32_t n_nodes, n_joined;
    uint32_t joined[LAB_NODES];
    struct hb_buf data;
};

struct lab_node {
    struct lab *lab;
    uint32_t number;
    struct hb_pm_job job;
    struct hb_pm *pm;
};

struct lab {
    const struct hb_pm_ops *ops;
    struct hb_jobmap *map;
    struct lab_node node[LAB_NODES];
    struct hb_str told[LAB_RANKS];
    unsigned contact[LAB_RANKS];
    int n_contacts[LAB_RANKS]; /* so often the host was told */
    struct lab_fence fence[LAB_FENCES];
    size_t fence_bytes; /* of all blobs given to fences */
    int fence_status;   /* what lab_run answers; 0 by default */
    struct {
        uint32_t node;
        uint64_t id;
        enum hb_pm_name_op op;
        char *name, *value;
    } asked[LAB_NAMES];
    int n_asked;
    char *published_name, *published_value;
    int aborted, abort_code;
    uint32_t abort_rank;
    char *abort_text;
    char *violation;
    char *spawn; /* the last request for processes */
    uint64_t spawn_id;
    int n_spawns;
};

/* Rank r runs on node node_of_rank[r]. */
struct lab *lab_new(enum hb_pm_family family, uint32_t n_ranks,
                    const uint32_t *node_of_rank, uint32_t n_nodes);
/* The same for a spawned job, whose store begins with `preput`. */
struct lab *lab_new_spawned(enum hb_pm_family family, uint32_t n_ranks,
                          const uint32_t *node_of_rank, uint32_t n_nodes,
                          char *const *preput);
void lab_free(struct lab *lab);
int lab_say(struct lab *lab, uint32_t rank, const char *text);
/* A PMI-2 payload; the frame is put around it. */
int lab_say2(struct lab *lab, uint32_t rank, const char *payload);
/* Completes what is complete: fences, names. */
void lab_run(struct lab *lab);
/* Answers the last request for processes, which came from a rank of `node`. */
void lab_spawned(struct lab *lab, uint32_t node, int status);
/* What the rank was told since the last call; free() it. */
char *lab_heard(struct lab *lab, uint32_t rank);
#define assert_heard(lab, rank, text)                 \
    do {                                              \
        char *heard_ = lab_heard((lab), (rank));      \
        assert_string_equal(heard_, (text));          \
        free(heard_);                                 \
    } while (0)

#endif
