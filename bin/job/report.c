/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Shows decisions: --explain says on stderr what was chosen and why as the
 * job goes, --dry-run prints the whole plan on stdout and contacts nobody;
 * with --json for programs. What only a host can know is printed as unknown. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "bin/job/job_impl.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

static void put_slots(struct hb_str *o, const struct job_host *h)
{
    const char *origin;
    uint32_t slots = job_slots_of(h, &origin);

    if (slots > 0) {
        hb_str_putf(o, "%u (%s)", slots, origin);
    } else {
        hb_str_put(o, "unknown until the host is asked");
    }
}

static void put_decisions(const struct job *j, struct hb_strv *lines)
{
    hb_strv_pushf(lines, "gang: %s: %s", j->gang.source, j->gang.detail);
    for (size_t i = 0; i < j->gang.n_passed && j->opt->explain; i++) {
        hb_strv_pushf(lines, "gang: passed over: %s", j->gang.passed_over[i]);
    }
    hb_strv_pushf(lines, "process management: %s%s: %s",
                  hb_pm_family_name(j->family.family),
                  j->family.certain ? "" : " (not certain)",
                  j->family.why);
    job_files_explain(j, lines);
    hb_options_explain(j->opt, lines);
}

/* "0-3,6": the ranks of one node. */
static void put_ranks(struct hb_str *o, const struct job *j, uint32_t node)
{
    const struct hb_jobmap *map = j->map;
    uint32_t r = 0, first;
    const char *comma = "";

    while (r < map->n_ranks) {
        if (map->node_of_rank[r] != node) {
            r++;
            continue;
        }
        for (first = r; r < map->n_ranks && map->node_of_rank[r] == node;) {
            r++;
        }
        if (r - first > 1) {
            hb_str_putf(o, "%s%u-%u", comma, first, r - 1);
        } else {
            hb_str_putf(o, "%s%u", comma, first);
        }
        comma = ",";
    }
}

void job_explain(struct job *j)
{
    struct hb_strv lines = HB_STRV_INIT;

    if (!j->opt->explain) {
        return;
    }
    put_decisions(j, &lines);
    job_tree_explain(j, &lines);
    for (uint32_t n = 0; n < j->map->n_nodes; n++) {
        struct hb_str ranks = HB_STR_INIT, slots = HB_STR_INIT;

        put_ranks(&ranks, j, n);
        put_slots(&slots, j->node_host[n]);
        hb_strv_pushf(&lines, "node %u: %s, ranks %s, slots %s", n,
                      j->map->node_names[n], hb_str_text(&ranks),
                      hb_str_text(&slots));
        hb_str_destroy(&ranks);
        hb_str_destroy(&slots);
    }
    for (size_t i = 0; i < lines.n; i++) {
        hb_log(HB_INFO, "%s", lines.v[i]);
    }
    hb_strv_destroy(&lines);
}

static void plan_host_json(struct hb_json *js, const struct job *j,
                           const struct job_host *h)
{
    struct hb_str ranks = HB_STR_INIT;
    const char *slots_origin;
    uint32_t slots = job_slots_of(h, &slots_origin);

    hb_json_object(js, NULL);
    hb_json_str(js, "host", h->spec->name);
    hb_json_str(js, "origin", h->spec->origin);
    if (slots > 0) {
        hb_json_int(js, "slots", slots);
        hb_json_str(js, "slots_origin", slots_origin);
    } else {
        hb_json_null(js, "slots");
    }
    hb_json_bool(js, "slots_stated", h->spec->slots > 0);
    hb_json_bool(js, "local", h->spec->is_local);
    if (j->map != NULL && h->node != HB_NODE_UNSET) {
        put_ranks(&ranks, j, h->node);
        hb_json_int(js, "node", h->node);
        hb_json_str(js, "ranks", hb_str_text(&ranks));
    }
    hb_json_end_object(js);
    hb_str_destroy(&ranks);
}

static void plan_json(const struct job *j, struct hb_str *out)
{
    struct hb_json js;

    hb_json_begin(&js, out);
    hb_json_object(&js, NULL);
    hb_json_str(&js, "gang", j->gang.source);
    hb_json_str(&js, "family", hb_pm_family_name(j->family.family));
    hb_json_str(&js, "family_why", j->family.why);
    hb_json_bool(&js, "family_certain", j->family.certain);
    if (j->map != NULL) {
        hb_json_int(&js, "ranks", j->map->n_ranks);
    } else {
        hb_json_null(&js, "ranks");
    }
    hb_json_array(&js, "apps");
    for (uint32_t i = 0; i < j->opt->n_apps; i++) {
        const struct hb_app_options *app = &j->opt->apps[i];

        hb_json_object(&js, NULL);
        hb_json_int(&js, "np", j->map != NULL ? j->map->apps[i].n_ranks
                                              : app->np);
        hb_json_array(&js, "argv");
        for (size_t k = 0; k < app->argv.n; k++) {
            hb_json_str(&js, NULL, app->argv.v[k]);
        }
        hb_json_end_array(&js);
        hb_json_end_object(&js);
    }
    hb_json_end_array(&js);
    hb_json_array(&js, "hosts");
    for (uint32_t i = 0; i < j->gang.n; i++) {
        plan_host_json(&js, j, &j->hosts[i]);
    }
    hb_json_end_array(&js);
    hb_json_end_object(&js);
    hb_str_putc(out, '\n');
}

/* How many ranks a program will have, as far as that can be told. */
static void put_rank_count(struct hb_str *out, const struct job *j, uint32_t i)
{
    uint32_t np = j->map != NULL ? j->map->apps[i].n_ranks : j->opt->apps[i].np;

    if (np > 0) {
        hb_str_putf(out, "%u rank%s", np, np == 1 ? "" : "s");
    } else if (j->opt->per_node > 0) {
        hb_str_putf(out, "%u on each host", j->opt->per_node);
    } else if (hb_starts_with(j->opt->map_by != NULL ? j->opt->map_by : "",
                              "ppr:")) {
        hb_str_put(out, "as many as --map-by gives places to");
    } else {
        hb_str_put(out, "one rank per slot");
    }
}

/* What the host would do, where it is known what it looks like. */
static void put_bindings(const struct job *j, const struct job_host *h,
                         struct hb_str *out)
{
    struct hb_bind_policy policy = j->bind;
    struct hb_bind_plan plan = {0};
    struct hpcboot_error err = {0};
    uint32_t *ranks = NULL, n = j->map->local_size[h->node];
    const char **slots;

    hb_jobmap_ranks_of_node(j->map, h->node, &ranks);
    slots = hb_xcalloc(n + 1, sizeof *slots);
    for (uint32_t i = 0; i < n && j->rankfile.n > 0; i++) {
        slots[i] = j->rankfile.v[ranks[i]].slots;
        policy.slots = slots;
    }
    if (hb_bind_plan(&policy, h->topo, h->quota_milli, n, &plan, &err) < 0) {
        hb_str_putf(out, "  cannot be bound: %s\n", err.text);
    } else {
        for (uint32_t i = 0; i < n && plan.bound; i++) {
            hb_str_putf(out, "  rank %u %s\n", ranks[i], plan.report[i]);
        }
        hb_str_putf(out, "  %s: %s\n", plan.bound ? "binding" : "not bound",
                    plan.why);
    }
    hb_bind_plan_destroy(&plan);
    free(slots);
    free(ranks);
}

static void plan_text(const struct job *j, struct hb_str *out)
{
    struct hb_strv lines = HB_STRV_INIT;

    put_decisions(j, &lines);
    for (size_t i = 0; i < lines.n; i++) {
        hb_str_putf(out, "%s\n", lines.v[i]);
    }
    hb_strv_destroy(&lines);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        hb_str_putf(out, "host %s: slots ", h->spec->name);
        put_slots(out, h);
        if (j->map != NULL && h->node != HB_NODE_UNSET) {
            hb_str_putf(out, ", node %u, ranks ", h->node);
            put_ranks(out, j, h->node);
        } else if (j->map != NULL) {
            hb_str_put(out, ", no ranks");
        }
        hb_str_putc(out, '\n');
        if (j->map != NULL && h->node != HB_NODE_UNSET && h->topo != NULL) {
            put_bindings(j, h, out);
        }
    }
    for (uint32_t i = 0; i < j->opt->n_apps; i++) {
        const struct hb_app_options *app = &j->opt->apps[i];

        hb_str_putf(out, "program %u:", i);
        for (size_t k = 0; k < app->argv.n; k++) {
            hb_str_putf(out, " %s", app->argv.v[k]);
        }
        hb_str_put(out, ", ");
        put_rank_count(out, j, i);
        hb_str_putc(out, '\n');
    }
}

void job_report_plan(struct job *j)
{
    struct hb_str out = HB_STR_INIT;

    if (j->opt->json) {
        plan_json(j, &out);
    } else {
        plan_text(j, &out);
    }
    fputs(hb_str_text(&out), stdout);
    hb_str_destroy(&out);
}
