/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Shows decisions as the job goes: --explain says on stderr what was chosen
 * and why. What it has in common with the plan of a dry run is here too: the
 * decisions, slots and where they come from, the ranks of each node. */
#include "config.h"

#include <stdlib.h>

#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

void job_put_slots(struct hb_str *o, const struct job_host *h)
{
    const char *origin;
    uint32_t slots = job_slots_of(h, &origin);

    if (slots > 0) {
        hb_str_putf(o, "%u (%s)", slots, origin);
    } else {
        hb_str_put(o, "unknown until the host is asked");
    }
}

void job_put_decisions(const struct job *j, struct hb_strv *lines)
{
    hb_strv_pushf(lines, "gang: %s: %s", j->gang.source, j->gang.detail);
    for (size_t i = 0; i < j->gang.n_passed && j->opt->explain; i++) {
        hb_strv_pushf(lines, "gang: passed over: %s", j->gang.passed_over[i]);
    }
    hb_strv_pushf(lines, "process management: %s%s: %s",
                  hb_pm_family_name(j->family.family),
                  j->family.certain ? "" : " (not certain)",
                  j->family.why);
    job_way_explain(j, lines);
    job_meeting_explain(j, lines);
    job_elastic_explain(j, lines);
    job_files_explain(j, lines);
    hb_options_explain(j->opt, lines);
}

/* --- ranks by node ------------------------------------------------- */

void job_by_node(const struct job *j, struct job_by_node *out)
{
    const struct hb_jobmap *map = j->map;

    out->first = hb_xcalloc(map->n_nodes + 1, sizeof *out->first);
    out->ranks = hb_xcalloc((size_t)map->n_ranks + 1, sizeof *out->ranks);
    for (uint32_t n = 0; n < map->n_nodes; n++) {
        out->first[n + 1] = out->first[n] + map->local_size[n];
    }
    for (uint32_t r = 0; r < map->n_ranks; r++) {
        out->ranks[out->first[map->node_of_rank[r]] + map->local_rank[r]] = r;
    }
}

void job_by_node_clear(struct job_by_node *by)
{
    free(by->first);
    free(by->ranks);
}

void job_put_ranks(struct hb_str *o, const struct job_by_node *by,
                   uint32_t node)
{
    const char *comma = "";
    uint32_t end = by->first[node + 1];

    for (uint32_t i = by->first[node], next; i < end; i = next) {
        for (next = i + 1;
             next < end && by->ranks[next] == by->ranks[next - 1] + 1;) {
            next++;
        }
        if (next - i > 1) {
            hb_str_putf(o, "%s%u-%u", comma, by->ranks[i], by->ranks[next - 1]);
        } else {
            hb_str_putf(o, "%s%u", comma, by->ranks[i]);
        }
        comma = ",";
    }
}

void job_explain(struct job *j)
{
    struct hb_strv lines = HB_STRV_INIT;
    struct job_by_node by;

    if (!j->opt->explain) {
        return;
    }
    job_put_decisions(j, &lines);
    job_tree_explain(j, &lines);
    job_by_node(j, &by);
    for (uint32_t n = 0; n < j->map->n_nodes; n++) {
        struct hb_str ranks = HB_STR_INIT, slots = HB_STR_INIT;

        job_put_ranks(&ranks, &by, n);
        job_put_slots(&slots, j->node_host[n]);
        hb_strv_pushf(&lines, "node %u: %s, ranks %s, slots %s", n,
                      j->map->node_names[n], hb_str_text(&ranks),
                      hb_str_text(&slots));
        hb_str_destroy(&ranks);
        hb_str_destroy(&slots);
    }
    job_by_node_clear(&by);
    for (size_t i = 0; i < lines.n; i++) {
        hb_log(HB_INFO, "%s", lines.v[i]);
    }
    hb_strv_destroy(&lines);
}
