/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* --dry-run: the whole plan on stdout, in words or with --json for programs.
 * Nobody is contacted; what only a host can know is printed as unknown. Where
 * it is known what a host is like inside (--topo-of, this very host), so are
 * the bindings of its ranks, made as its agent would make them. A plan that a
 * host could not keep is printed too, and is an error as it is in a job. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "bin/job/job_impl.h"
#include "lib/base/json.h"
#include "lib/base/str.h"
#include "lib/topo/bind.h"
#include "lib/topo/gpu_share.h"

/* What one host would do with its ranks. Equal hosts with equally many do the
 * same, and share a plan. */
struct outlook {
    const struct hb_bind_plan *plan; /* NULL: not known */
    struct hb_bind_plan own;
    const uint32_t *ranks; /* [n] */
    uint32_t n;
    uint32_t *gpus; /* [n * each] of --gpus-per-rank; or NULL; shared too */
    int owns_gpus;
    struct hpcboot_error trouble; /* code < 0: they cannot be bound so */
};

struct preview {
    const struct job *j;
    struct job_by_node by;
    struct outlook *hosts; /* [gang.n] */
};

static int has_ranks(const struct preview *p, uint32_t i)
{
    return p->j->map != NULL && p->j->hosts[i].node != HB_NODE_UNSET;
}

static int assign_gpus(struct outlook *o, const struct hb_topo *topo,
                       uint32_t each)
{
    if (each == 0) {
        return HPCBOOT_OK;
    }
    o->gpus = hb_xcalloc((size_t)o->n * each + 1, sizeof *o->gpus);
    o->owns_gpus = 1;
    return hb_gpus_assign(topo, o->own.bound ? o->own.cpus : NULL, o->n, each,
                          o->gpus, &o->trouble);
}

static void make_plan(const struct preview *p, uint32_t i)
{
    const struct job *j = p->j;
    struct hb_bind_policy policy = j->bind;
    struct outlook *o = &p->hosts[i];
    const struct job_host *h = &j->hosts[i];
    const char **slots;
    uint32_t *programs = hb_xcalloc(j->map->n_apps, sizeof *programs);
    int rc = HPCBOOT_OK;

    o->plan = &o->own;
    for (uint32_t k = 0; k < o->n; k++) {
        programs[hb_jobmap_app_of(j->map, o->ranks[k])]++;
    }
    policy.programs = programs;
    policy.n_programs = j->map->n_apps;
    slots = hb_xcalloc(o->n + 1, sizeof *slots);
    for (uint32_t k = 0; k < o->n && j->rankfile.n > 0; k++) {
        slots[k] = j->rankfile.v[o->ranks[k]].slots;
        policy.slots = slots[k] != NULL ? slots : policy.slots;
    }
    if (!hb_bind_leave_alone(&policy, j->family.family == HB_PM_PMIX, o->n,
                             &o->own)) {
        rc = hb_bind_plan(&policy, h->topo, h->quota_milli, o->n, &o->own,
                          &o->trouble);
    }
    if (rc >= 0) {
        rc = assign_gpus(o, h->topo, policy.gpus);
    }
    o->trouble.code = rc < 0 ? rc : HPCBOOT_OK;
    free(slots);
    free(programs);
}

static void look_at_host(const struct preview *p, uint32_t i)
{
    const struct job_host *h = &p->j->hosts[i];
    struct outlook *o = &p->hosts[i];

    o->ranks = p->by.ranks + p->by.first[h->node];
    o->n = p->by.first[h->node + 1] - p->by.first[h->node];
    if (h->topo == NULL) {
        return;
    }
    if (i > 0 && h[-1].topo == h->topo && o[-1].plan != NULL &&
        h[-1].quota_milli == h->quota_milli && o[-1].n == o->n &&
        p->j->rankfile.n == 0 && p->j->map->n_apps == 1) {
        o->plan = o[-1].plan;
        o->gpus = o[-1].gpus;
        o->trouble = o[-1].trouble;
        return;
    }
    make_plan(p, i);
}

/* --- for programs -------------------------------------------------- */

static void put_gpus(struct hb_json *js, const struct preview *p, uint32_t i)
{
    const struct outlook *o = &p->hosts[i];
    const struct hb_topo *topo = p->j->hosts[i].topo;
    uint32_t each = p->j->bind.gpus;

    hb_json_array(js, "gpus");
    for (uint32_t k = 0; k < o->n; k++) {
        hb_json_array(js, NULL);
        for (uint32_t g = 0; g < each; g++) {
            uint32_t gpu = o->gpus[(size_t)k * each + g];

            hb_json_int(js, NULL, hb_gpus_number(topo, gpu));
        }
        hb_json_end_array(js);
    }
    hb_json_end_array(js);
}

static void put_outlook(struct hb_json *js, const struct preview *p, uint32_t i)
{
    const struct outlook *o = &p->hosts[i];

    if (o->plan == NULL) {
        return;
    }
    if (o->trouble.code < 0) {
        hb_json_str(js, "binding_error", o->trouble.text);
        return;
    }
    hb_json_bool(js, "bound", o->plan->bound);
    hb_json_str(js, "binding_why", o->plan->why);
    hb_json_array(js, "bindings");
    for (uint32_t k = 0; k < o->n && o->plan->bound; k++) {
        char *cpus = hb_cpus_text(&o->plan->cpus[k]);

        hb_json_object(js, NULL);
        hb_json_int(js, "rank", o->ranks[k]);
        hb_json_str(js, "cpus", cpus);
        hb_json_str(js, "report", o->plan->report[k]);
        hb_json_end_object(js);
        free(cpus);
    }
    hb_json_end_array(js);
    if (o->gpus != NULL) {
        put_gpus(js, p, i);
    }
}

static void put_host(struct hb_json *js, const struct preview *p, uint32_t i)
{
    const struct job_host *h = &p->j->hosts[i];
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
    if (has_ranks(p, i)) {
        job_put_ranks(&ranks, &p->by, h->node);
        hb_json_int(js, "node", h->node);
        hb_json_str(js, "ranks", hb_str_text(&ranks));
        put_outlook(js, p, i);
    }
    hb_json_end_object(js);
    hb_str_destroy(&ranks);
}

static void put_app(struct hb_json *js, const struct job *j, uint32_t i)
{
    const struct hb_app_options *app = &j->opt->apps[i];

    hb_json_object(js, NULL);
    hb_json_int(js, "np", j->map != NULL ? j->map->apps[i].n_ranks : app->np);
    hb_json_array(js, "argv");
    for (size_t k = 0; k < app->argv.n; k++) {
        hb_json_str(js, NULL, app->argv.v[k]);
    }
    hb_json_end_array(js);
    hb_json_end_object(js);
}

static void put_json(const struct preview *p, struct hb_str *out)
{
    const struct job *j = p->j;
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
        put_app(&js, j, i);
    }
    hb_json_end_array(&js);
    hb_json_array(&js, "hosts");
    for (uint32_t i = 0; i < j->gang.n; i++) {
        put_host(&js, p, i);
    }
    hb_json_end_array(&js);
    hb_json_end_object(&js);
    hb_str_putc(out, '\n');
}

/* --- for people ---------------------------------------------------- */

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

static void put_gpu_lines(struct hb_str *out, const struct preview *p,
                          const struct job_host *h, const struct outlook *o)
{
    uint32_t each = p->j->bind.gpus;
    char *shared = hb_gpus_shared(h->topo, o->n, each);
    struct hb_strv env = HB_STRV_INIT;

    hb_strv_extend(&env, p->j->env);
    for (uint32_t k = 0; k < o->n; k++) {
        char *text = hb_gpus_text(h->topo, o->gpus + (size_t)k * each, each, k,
                                  &env);

        hb_str_putf(out, "  rank %u sees %s\n", o->ranks[k], text);
        free(text);
    }
    if (shared != NULL) {
        hb_str_putf(out, "  %s\n", shared);
    }
    free(shared);
    hb_strv_destroy(&env);
}

static void put_bindings(struct hb_str *out, const struct preview *p,
                         uint32_t i)
{
    const struct job_host *h = &p->j->hosts[i];
    const struct outlook *o = &p->hosts[i];

    if (o->plan == NULL) {
        return;
    }
    if (o->trouble.code < 0) {
        hb_str_putf(out, "  cannot be bound: %s\n", o->trouble.text);
        return;
    }
    for (uint32_t k = 0; k < o->n && o->plan->bound; k++) {
        hb_str_putf(out, "  rank %u %s\n", o->ranks[k], o->plan->report[k]);
    }
    if (o->gpus != NULL) {
        put_gpu_lines(out, p, h, o);
    }
    hb_str_putf(out, "  %s: %s\n", o->plan->bound ? "binding" : "not bound",
                o->plan->why);
}

static void put_text(const struct preview *p, struct hb_str *out)
{
    const struct job *j = p->j;
    struct hb_strv lines = HB_STRV_INIT;

    job_put_decisions(j, &lines);
    for (size_t i = 0; i < lines.n; i++) {
        hb_str_putf(out, "%s\n", lines.v[i]);
    }
    hb_strv_destroy(&lines);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        hb_str_putf(out, "host %s: slots ", j->hosts[i].spec->name);
        job_put_slots(out, &j->hosts[i]);
        if (has_ranks(p, i)) {
            hb_str_putf(out, ", node %u, ranks ", j->hosts[i].node);
            job_put_ranks(out, &p->by, j->hosts[i].node);
        } else if (j->map != NULL) {
            hb_str_put(out, ", no ranks");
        }
        hb_str_putc(out, '\n');
        put_bindings(out, p, i);
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

/* The first host that cannot do it speaks for all. */
static int verdict(const struct preview *p, struct hpcboot_error *err)
{
    for (uint32_t i = 0; i < p->j->gang.n; i++) {
        if (p->hosts[i].trouble.code < 0) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "host %s: %s",
                           p->j->hosts[i].spec->name,
                           p->hosts[i].trouble.text);
        }
    }
    return HPCBOOT_OK;
}

int job_preview(const struct job *j, struct hpcboot_error *err)
{
    struct preview p = {.j = j};
    struct hb_str out = HB_STR_INIT;
    int rc;

    p.hosts = hb_xcalloc(j->gang.n + 1, sizeof *p.hosts);
    if (j->map != NULL) {
        job_by_node(j, &p.by);
    }
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (has_ranks(&p, i)) {
            look_at_host(&p, i);
        }
    }
    if (j->opt->json) {
        put_json(&p, &out);
    } else {
        put_text(&p, &out);
    }
    fputs(hb_str_text(&out), stdout);
    rc = verdict(&p, err);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        hb_bind_plan_destroy(&p.hosts[i].own);
        if (p.hosts[i].owns_gpus) {
            free(p.hosts[i].gpus);
        }
    }
    job_by_node_clear(&p.by);
    free(p.hosts);
    hb_str_destroy(&out);
    return rc;
}
