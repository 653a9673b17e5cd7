/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_PMI_STORE_H
#define HB_PM_PMI_STORE_H

#include "bin/pm/pmi.h"
#include "lib/base/collected.h"

/* Between pmi_store.c and pmi_barrier.c, and of no interest elsewhere. */
struct hb_pmi_barriers;

struct hb_pmi_store {
    char *mapping; /* PMI_process_mapping */
    char *dead;    /* PMI_dead_processes: "1,3"; NULL: there are none */
    uint32_t *lost; /* [n_lost] the same, ascending */
    uint32_t n_lost;
    struct hb_kvs *kvs, *node_kvs;
    struct hb_buf fresh; /* {str key, str value}: put here since the last
                            barrier of all nodes */
    struct parked *parked;
    struct asked *asked;
    uint64_t last_id;
    struct hb_pmi_barriers *barriers;
};

void hb_pmi_waiter_set(struct hb_pmi_waiter *w, struct hb_pmi_rank *rank,
                       const char *thrid, const char *group);
void hb_pmi_waiter_clear(struct hb_pmi_waiter *w);

/* Adds what another node has put. Negative: it cannot be read or held. */
int hb_pmi_merge(struct hb_pm *pm, struct hb_bytes puts);

int hb_pmi_barriers_create(struct hb_pmi_barriers **out,
                           const struct hb_pm_job *job,
                           struct hpcboot_error *err);
void hb_pmi_barriers_destroy(struct hb_pmi_barriers *b);

#endif
