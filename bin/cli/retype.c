/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What the launcher of a spawned job (ranks that ranks have started) takes over
 * of the command line. The words are typed once more, but for the programs;
 * configuration and variables it reads by itself. Then all is forgotten that
 * belongs to one job alone: its size, its files, its limits, its policies. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

static void put_setting(const struct hb_setting *s, enum hb_dialect dialect,
                        struct hb_strv *words)
{
    char name[HB_OPT_NAME_MAX];
    size_t first = strcspn(s->value, " ");

    if (!hb_opt_name_in(s->opt, dialect, name)) {
        return; /* set by another one, as it is again */
    }
    if (hb_opt_n_args(s->opt) < 2) {
        hb_strv_pushf(words, "--%s=%s", name, s->value);
        return;
    }
    hb_strv_pushf(words, "--%s", name);
    hb_strv_pushf(words, "%.*s", (int)first, s->value);
    hb_strv_push(words, s->value + first + (s->value[first] == ' '));
}

/* Hosts may be each program's own: all of them are said as one list. */
static int is_kept(const struct hb_setting *s)
{
    char key[HB_OPT_NAME_MAX];

    hb_opt_key(s->opt, key);
    return hb_streq(s->origin, HB_COMMAND_LINE) &&
           s->opt->section != HB_SEC_PROGRAMS && !hb_streq(key, "host") &&
           !hb_streq(key, "machine") && !hb_streq(key, "dialect");
}

void hb_options_retype(const struct hb_options *o, struct hb_strv *words)
{
    const struct hb_parsed *p = (const void *)o;

    hb_strv_pushf(words, "--dialect=%s", hb_dialect_name(o->dialect));
    for (size_t i = 0; i < p->n_settings; i++) {
        if (is_kept(&p->settings[i])) {
            put_setting(&p->settings[i], o->dialect, words);
        }
    }
    if (o->host_list != NULL) {
        hb_strv_pushf(words, "--host=%s", o->host_list);
    }
}

static void forget(char **text)
{
    free(*text);
    *text = NULL;
}

static void forget_files(struct hb_options *o)
{
    char **texts[] = {&o->out_pattern, &o->err_pattern, &o->events,
                      &o->metrics, &o->stdin_target};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        forget(texts[i]);
    }
    if (o->output_dir_no_job) { /* the ranks of both would share files */
        forget(&o->output_dir);
    }
    o->stdin_target = hb_xstrdup("none");
}

/* Its ranks go where there is room, on cores that others may be bound to. */
static void forget_places(struct hb_options *o)
{
    char **texts[] = {&o->map_by, &o->map_inside, &o->rank_by, &o->bind_to,
                      &o->grid, &o->mem_bind};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        forget(texts[i]);
    }
    o->bind_to = hb_xstrdup("none");
    o->per_node = o->nodes = o->nodes_least = o->min_hosts = 0;
    o->gpus_per_rank = 0;
    o->report_bindings = 0;
}

static void forget_life(struct hb_options *o)
{
    forget(&o->on_failure);
    forget(&o->framework);
    forget(&o->recipe);
    forget(&o->role);
    hb_strv_destroy(&o->recipe_set);
    o->keep_going = 0;
    o->timeout_ms = 0;
    o->spares = 0;
    o->preflight = o->dry_run = o->json = o->explain = 0;
    o->show_progress = o->report_timing = o->print_exit_codes = 0;
}

static int is_filter(const char *rule)
{
    return rule[0] == '!';
}

/* What was said of the first program's environment counts for all that are
 * spawned; which variables alone it inherits, instead of what was said of all
 * (bin/proc/env.h). */
static void take_rules(struct hb_strv *all, const struct hb_strv *own)
{
    int filters = 0;

    for (size_t i = 0; i < own->n; i++) {
        filters |= is_filter(own->v[i]);
    }
    for (size_t i = all->n; filters && i-- > 0;) {
        if (is_filter(all->v[i])) {
            hb_strv_remove(all, i);
        }
    }
    hb_strv_extend(all, hb_strv_view(own));
}

void hb_options_make_spawned(struct hb_options *o, uint32_t n_apps)
{
    take_rules(&o->env_rules, &o->apps[0].env_rules);
    hb_options_drop_apps(o);
    o->apps = hb_xcalloc(n_apps, sizeof *o->apps);
    o->n_apps = n_apps;
    forget_files(o);
    forget_places(o);
    forget_life(o);
    hb_strv_destroy(&o->warnings); /* the job's own launcher has said them */
}
