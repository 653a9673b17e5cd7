/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_BIND_IMPL_H
#define HB_TOPO_BIND_IMPL_H

#include "lib/topo/bind.h"

/* A binding under way, private to bind*.c. */
/* A run of units that ranks are seated in. */
struct hb_bind_run {
    uint32_t first, n; /* units */
    uint32_t seats;    /* ranks that fit without sharing */
    uint32_t ranks;    /* that are there so far, */
    uint32_t numbered; /* and have a seat */
};

struct hb_bind_seat {
    uint32_t run;
    uint32_t place; /* the rank is the place-th of its run */
};

struct hb_bind_planner {
    const struct hb_bind_policy *policy;
    const struct hb_topo *topo;
    const struct hb_topo_level *units;
    uint32_t n_ranks, pe;
    uint32_t quota_milli;
    int in_line;      /* runs are filled one after the other */
    struct hb_bind_run *runs;
    uint32_t n_runs;
    struct hb_bind_seat *seats; /* [n_ranks] */
    uint32_t n_seated;
    struct hb_bind_plan *out;
};


/* bind_seats.c */
int hb_bind_mapped_kind(const struct hb_bind_policy *p);
int hb_bind_by_device(const struct hb_bind_policy *p);
void hb_bind_add_cpus(const struct hb_topo *topo, const struct hb_topo_span *s,
                      struct hb_cpus *set);
struct hb_bind_run hb_bind_run_of(const struct hb_bind_planner *p,
                                  const struct hb_topo_span *s);
/* Runs are the objects of a kind, or (-1) the whole host; under a mapping by
 * device, what is next to each. */
int hb_bind_make_runs(struct hb_bind_planner *p, int kind,
                      struct hpcboot_error *err);
uint32_t hb_bind_count_seats(const struct hb_bind_planner *p);
void hb_bind_seat_all(struct hb_bind_planner *p);
/* Adds what a rank with this unit is bound to. */
int hb_bind_unit(const struct hb_bind_planner *p, uint32_t unit, int target,
                 struct hb_cpus *set, struct hpcboot_error *err);
int hb_bind_seats(struct hb_bind_planner *p, int target,
                  struct hpcboot_error *err);
/* Each rank gets its equal part of its run. */
void hb_bind_run_parts(struct hb_bind_planner *p);

/* bind_list.c: the CPUs that a pe-list or a rankfile names. */
int hb_bind_list(struct hb_bind_planner *p, struct hpcboot_error *err);
int hb_bind_slots(struct hb_bind_planner *p, struct hpcboot_error *err);
uint32_t hb_bind_list_length(const struct hb_bind_policy *policy);

/* bind.c */
#define HB_BIND_TARGET_DEFAULT (-1) /* nobody wished for anything */
#define HB_BIND_TARGET_DEVICE (-2)
const char *hb_bind_unit_name(const struct hb_bind_planner *p);
int hb_bind_unbound(struct hb_bind_plan *out, uint32_t n_ranks, char *why);
int hb_bind_may_do_without(const struct hb_bind_policy *policy);
int hb_bind_target_kind(const struct hb_bind_policy *p);

#endif
