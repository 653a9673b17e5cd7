/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_SLOTS_H
#define HB_TOPO_SLOTS_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/topo/map.h"

/* Does the policy, or its state, leave a host out? */
int hb_slots_left_out(const struct hb_map_policy *policy,
                      const struct hb_map_host *h);
/* Ranks a host takes before any host takes more than that; 0 when the policy
 * leaves it out. */
uint32_t hb_slots_offer(const struct hb_map_policy *policy,
                        const struct hb_map_host *h);
/* Ranks it has of a job that takes what there is; of a host that nobody has
 * asked what it is like inside, as many as it has slots. */
uint32_t hb_slots_share(const struct hb_map_policy *policy,
                        const struct hb_map_host *h);
/* Ranks it may take at most. */
uint32_t hb_slots_limit(const struct hb_map_policy *policy,
                        const struct hb_map_host *h);
uint64_t hb_slots_sum(const uint32_t *v, uint32_t n);
/* ERR_LIMIT with how many, where each number came from and the ways out. */
int hb_slots_fail(const struct hb_map_policy *policy,
                  const struct hb_map_host *hosts, uint32_t n_hosts,
                  const struct hb_map_app *apps, uint32_t n_apps,
                  uint32_t wanted, struct hpcboot_error *err);

#endif
