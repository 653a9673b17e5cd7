/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_NET_EXPLAIN_H
#define HB_COLL_NET_EXPLAIN_H

/* What a collective would take between nodes, for people. */

#include "lib/coll/sched.h"

const char *hb_net_kind_name(enum hb_coll_net_kind kind); /* "tcp" */
/* Of a word; negative: it is none. */
int hb_net_kind_of(const char *word);

struct hb_net_question {
    enum hpcboot_coll coll;
    size_t bytes;        /* of the vector, or of one block */
    int nodes, per_node; /* nodes: 2 or more; ranks fill one after another */
    struct hb_coll_net_facts facts;
    const char *wish;    /* as struct hb_coll_config's net_wish */
};

/* A phase between nodes: what is taken, and what else there was. */
struct hb_net_phase {
    struct hb_phase taken;
    bool wished;      /* the user has said so, not the model */
    size_t n;
    struct hb_choice ways[HB_ALGS]; /* that which is taken among them */
};

/* What a rank does, in order, each kind once. */
struct hb_net_part {
    bool between;     /* nodes; else on each of them */
    enum hpcboot_coll coll;
};
#define HB_NET_PARTS 12

struct hb_net_answer {
    struct hb_model model;
    enum hb_flat flat;
    struct hb_crowd crowd;
    int hierarchy; /* struct hb_wish */
    int n_phases, n_parts;
    struct hb_net_phase phases[HB_PHASES];
    struct hb_net_part parts[HB_NET_PARTS];
};

/* Makes the schedule as a team of that layout makes it; nothing is sent, and
 * no buffer is touched. */
int hb_net_explain(const struct hb_net_question *q, struct hb_net_answer *out,
                   struct hpcboot_error *err);

#endif
