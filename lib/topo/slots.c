/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How many ranks a host takes, and the words for when all take too few.
 *
 * A host has an offer, which is filled first, and a limit. Slots that
 * somebody stated (a hostfile, -H host:N, a resource manager) are a limit;
 * slots that were counted on the host are a default that more ranks than
 * cores may exceed, unless NOOVERSUBSCRIBE forbids it. max_slots limits
 * always. This is the one place where that is decided. */

#include "config.h"

#include "lib/topo/slots.h"

#include <stdio.h>

#include "lib/base/str.h"

/* Room for the first hosts of the table within one error text. */
#define TABLE_IN_ERROR_BYTES 110u
#define NO_LIMIT HB_MAX_RANKS

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t less(uint32_t n, uint32_t taken)
{
    return n > taken ? n - taken : 0;
}

int hb_slots_left_out(const struct hb_map_policy *policy,
                      const struct hb_map_host *h)
{
    return h->absent != NULL || (policy->nolocal && h->is_local);
}

/* Slots of a host before anything is exceeded. Cores were counted for one
 * CPU per rank; with PE=n fewer ranks have room. Stated slots are ranks. */
static uint32_t slots_of(const struct hb_map_policy *policy,
                         const struct hb_map_host *h)
{
    uint32_t n = h->slots;

    if (hb_slots_left_out(policy, h)) {
        return 0;
    }
    if (!h->stated) {
        n = policy->pe > 1 ? n / policy->pe : n;
        n = n > 0 ? n : 1;
    }
    return h->max_slots > 0 ? min_u32(n, h->max_slots) : n;
}

/* Where it is known how many ranks have CPUs (or a device) of their own, no
 * more than that are put on a host while others have room. */
uint32_t hb_slots_offer(const struct hb_map_policy *policy,
                        const struct hb_map_host *h)
{
    int devices = policy->by == HB_MAP_GPU || policy->by == HB_MAP_NIC;
    uint32_t n = slots_of(policy, h);

    if (h->room > 0 && n > 0) {
        n = devices && !h->stated && h->max_slots == 0 ? h->room
                                                       : min_u32(n, h->room);
    }
    return less(n, h->taken);
}

uint32_t hb_slots_share(const struct hb_map_policy *policy,
                        const struct hb_map_host *h)
{
    int node = policy->by == HB_MAP_PPR_NODE;
    uint64_t n = (uint64_t)policy->ppr * (node ? 1 : h->objects);

    if (hb_slots_left_out(policy, h)) {
        return 0;
    }
    if (policy->by == HB_MAP_NODE && policy->ppr > 0) {
        return min_u32(hb_slots_offer(policy, h), policy->ppr);
    }
    if (!node && (policy->by != HB_MAP_PPR_OBJECT || h->objects == 0)) {
        return hb_slots_offer(policy, h);
    }
    return n < HB_MAX_RANKS ? (uint32_t)n : HB_MAX_RANKS;
}

/* With those it has already. */
static uint32_t whole_limit(const struct hb_map_policy *policy,
                            const struct hb_map_host *h)
{
    int may_exceed = policy->oversubscribe > 0 || policy->wrap ||
                     (!h->stated && policy->oversubscribe == 0);

    if (hb_slots_left_out(policy, h)) {
        return 0;
    }
    if (!may_exceed) {
        return slots_of(policy, h);
    }
    return h->max_slots > 0 ? h->max_slots : NO_LIMIT;
}

uint32_t hb_slots_limit(const struct hb_map_policy *policy,
                        const struct hb_map_host *h)
{
    return less(whole_limit(policy, h), h->taken);
}

uint64_t hb_slots_sum(const uint32_t *v, uint32_t n)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < n; i++) {
        total += v[i];
    }
    return total;
}

static void table_line(struct hb_str *o, const struct hb_map_policy *policy,
                       const struct hb_map_host *h)
{
    hb_str_putf(o, "\n  %s  %u  %s", h->name, hb_slots_offer(policy, h),
                h->origin != NULL ? h->origin : "");
    if (h->max_slots > 0) {
        hb_str_putf(o, " (at most %u)", h->max_slots);
    }
    if (h->taken > 0) {
        hb_str_putf(o, " (%u taken by programs before)", h->taken);
    }
    if (hb_slots_left_out(policy, h)) {
        hb_str_putf(o, " (%s)",
                    h->absent != NULL ? h->absent : "left out: NOLOCAL");
    }
}

/* A line per host, "  NAME  SLOTS  ORIGIN": as many as an error text has room
 * for. */
static void short_table(struct hb_str *o, const struct hb_map_policy *policy,
                        const struct hb_map_host *hosts, uint32_t n_hosts)
{
    for (uint32_t i = 0; i < n_hosts; i++) {
        size_t before = o->len;
        table_line(o, policy, &hosts[i]);
        if (i > 0 && o->len > TABLE_IN_ERROR_BYTES) {
            o->len = before;
            o->s[before] = '\0';
            hb_str_putf(o, "\n  and %u more host%s", n_hosts - i,
                        i + 1 < n_hosts ? "s" : "");
            return;
        }
    }
}

/* Is max_slots what ends it, whatever the policy were? */
static int at_its_most(const struct hb_map_policy *policy,
                       const struct hb_map_host *h)
{
    return h->max_slots > 0 && whole_limit(policy, h) == h->max_slots;
}

/* A host that cannot take what is asked of it. */
static int is_short(const struct hb_map_policy *policy,
                    const struct hb_map_host *h)
{
    uint32_t limit = hb_slots_limit(policy, h);

    return !hb_slots_left_out(policy, h) &&
           (policy->by == HB_MAP_PPR_NODE ? limit < policy->ppr
                                          : limit < NO_LIMIT - h->taken);
}

/* What there is, and the ways out. Where all that are short of
 * room have their max_slots already, sharing CPUs is none. */
static void put_reason(struct hb_str *o, const struct hb_map_policy *policy,
                       const struct hb_map_host *hosts, uint32_t n_hosts)
{
    uint64_t there = 0, most = 0;
    uint32_t n_short = 0, n_most = 0;
    const char *first = NULL;

    for (uint32_t i = 0; i < n_hosts; i++) {
        int lacks = is_short(policy, &hosts[i]);

        there += hb_slots_offer(policy, &hosts[i]);
        n_short += (uint32_t)lacks;
        if (lacks && at_its_most(policy, &hosts[i])) {
            first = first ? first : hosts[i].name;
            most += hosts[i].max_slots;
            n_most++;
        }
    }
    if (n_most == 0 || n_most < n_short) {
        hb_str_putf(o, "%llu slot%s there. A slot is room for one rank. Ask "
                    "for fewer ranks, state more slots (slots=N in the "
                    "hostfile, -H HOST:N), or let ranks share CPUs (--map-by "
                    ":OVERSUBSCRIBE; max_slots stays a limit)",
                    (unsigned long long)there, there == 1 ? "" : "s");
        return;
    }
    hb_str_putf(o, "and max_slots of %.64s", first);
    if (n_most > 1) {
        hb_str_putf(o, " and %u more host%s", n_most - 1,
                    n_most > 2 ? "s" : "");
    }
    hb_str_putf(o, " allows %llu, however CPUs are shared. Ask for fewer "
                "ranks, raise max_slots in the hostfile, or name more hosts",
                (unsigned long long)most);
}

int hb_slots_fail(const struct hb_map_policy *policy,
                  const struct hb_map_host *hosts, uint32_t n_hosts,
                  const struct hb_map_app *apps, uint32_t n_apps,
                  uint32_t wanted, struct hpcboot_error *err)
{
    const char *program = apps[0].program != NULL ? apps[0].program : "the job";
    struct hb_str reason = HB_STR_INIT, table = HB_STR_INIT;
    char each[48] = "";
    int rc;

    if (policy->by == HB_MAP_PPR_NODE) {
        snprintf(each, sizeof each, ", %u on a host,", policy->ppr);
    }
    put_reason(&reason, policy, hosts, n_hosts);
    short_table(&table, policy, hosts, n_hosts);
    rc = hb_fail(err, HPCBOOT_ERR_LIMIT,
                 "not enough slots available: %u rank%s of %.40s%s%s asked "
                 "for, %s. Slots of each host:%s", wanted,
                 wanted == 1 ? "" : "s", program,
                 n_apps > 1 ? " and others" : "", each, hb_str_text(&reason),
                 hb_str_text(&table));
    hb_str_destroy(&reason);
    hb_str_destroy(&table);
    return rc;
}
