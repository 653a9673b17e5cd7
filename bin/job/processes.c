/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How many processes a framework has on a host. A recipe may want one on each
 * host in any job. Others say what is usual in the gangs of operators whose
 * pods are a process each, however many cores they have: TF_CONFIG names pods,
 * JAX_NUM_PROCESSES counts them. That is a default: whatever the user says of
 * ranks, and slots that anybody states, go before it. */
#include "config.h"

#include "bin/job/framework.h"
#include "bin/proc/search.h"
#include "lib/base/str.h"

static int is_here(void *arg, const char *name)
{
    const struct job *j = arg;

    return hb_streq(j->gang.source, name) ||
           hb_search_env(j->env, name) != NULL ||
           hb_streq(hb_launch_module(
               job_wrapped_program(j->opt->apps[0].argv.v)), name);
}

/* Does anybody say how many ranks there are, or what each of them gets? */
static int is_said(const struct job *j)
{
    const struct hb_options *o = j->opt;
    struct hb_map_policy map;

    for (size_t i = 0; i < j->gang.n; i++) {
        if (j->gang.hosts[i].slots > 0 ||
            j->gang.hosts[i].count != HB_COUNT_UNSAID) {
            return 1;
        }
    }
    job_map_by(o, &map);
    return o->n_apps > 1 || o->apps[0].np > 0 || o->per_node > 0 ||
           !job_map_orders(&map) || map.pe > 0 || o->grid != NULL ||
           o->role != NULL || o->cpus_per_rank > 0 || o->gpus_per_rank > 0;
}

void job_processes_read(struct job *j)
{
    struct job_framework *f = j->framework;
    int per_host = hb_recipe_per_host(f->recipe);
    struct hb_options *o = j->own;

    if (o == NULL) {
        return;
    }
    if (!per_host && j->gang.operator_made && !is_said(j)) {
        f->usual = hb_recipe_usual(f->recipe, is_here, j, &f->usual_in);
    }
    per_host |= f->usual == HB_RECIPE_PER_HOST;
    if (per_host && o->per_node == 0 && !job_map_counts(o)) {
        job_map_per_node(o, 1);
    }
    /* One process has all of its host; and GPUs are not shared out here. */
    if ((per_host || f->usual == HB_RECIPE_PER_GPU) && o->bind_to == NULL) {
        o->bind_to = hb_xstrdup("none");
    }
}

void job_processes_explain(const struct job *j, struct hb_strv *lines)
{
    static const char *const places[] = {
        [HB_RECIPE_PER_SLOT] = "for each slot",
        [HB_RECIPE_PER_HOST] = "on each host",
        [HB_RECIPE_PER_GPU] = "for each GPU, and on a host without any"};
    const struct job_framework *f = j->framework;

    if (f->usual_in != NULL) {
        hb_strv_pushf(lines, "processes: one %s, as is usual with %s; -n, "
                      "-npernode, --map-by or --default-slots say otherwise",
                      places[f->usual], f->usual_in);
    }
}
