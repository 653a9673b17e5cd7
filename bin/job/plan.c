/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Decides before anything is started: which hosts, how many slots, which rank
 * where, which process-management family. Where every host's slots are known
 * beforehand the ranks are placed before the first login, and only hosts that
 * get ranks are contacted; else every host of the gang is asked first. */
#include "config.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "bin/job/ancestry.h"
#include "bin/job/change.h"
#include "bin/job/framework.h"
#include "bin/job/signals.h"
#include "hostfile/k8s.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/topo/allowed.h"
#include "lib/topo/gpus.h"

#define ASK_AGAIN_MS 1000 /* files and scripts, before the job */

/* Cores, or hardware threads where those were asked for; never more than the
 * quota is worth. */
static uint32_t counted_slots(const struct job *j, const struct job_counts *c)
{
    return j->opt->use_hwthreads ? hb_allowed_within(c->pus, c->quota_milli)
                                 : c->slots;
}

static char *counted_origin(const struct job *j, const struct job_counts *c)
{
    return j->opt->use_hwthreads
               ? hb_xasprintf("%u hardware thread%s, %s", c->pus,
                              c->pus == 1 ? "" : "s", c->origin)
               : hb_xstrdup(c->origin);
}

int job_counts_gpus(const struct job_host *h)
{
    return h->spec->slots == 0 && h->spec->count >= HB_COUNT_GPUS;
}

int job_host_counted(struct job_host *h, const struct job_counts *counts,
                     struct hpcboot_error *err)
{
    h->quota_milli = counts->quota_milli;
    h->counted_slots = counted_slots(h->job, counts);
    h->counted_threads = hb_allowed_within(counts->pus, counts->quota_milli);
    free(h->slots_origin);
    h->slots_origin = counted_origin(h->job, counts);
    if (!job_counts_gpus(h)) {
        return HPCBOOT_OK;
    }
    if (counts->gpus == 0 && h->spec->count == HB_COUNT_GPUS) {
        return hb_fail(err, HPCBOOT_ERR_HOST, "its slots are to be its GPUs "
                       "(%s), and it has none: %s", h->spec->origin,
                       counts->gpus_origin);
    }
    h->gpus = counts->gpus;
    free(h->gpus_origin);
    h->gpus_origin = hb_xstrdup(counts->gpus_origin);
    return HPCBOOT_OK;
}

/* What this very host may use needs no agent to be known. */
int job_plan_count(struct job *j, struct hpcboot_error *err)
{
    struct hb_allowed allowed;
    struct hb_gpus gpus;

    if (j->framework != NULL && j->framework->usual == HB_RECIPE_PER_GPU) {
        hb_gang_default_slots(&j->gang, 0, HB_COUNT_GPUS_ELSE_ONE);
    }
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];
        int rc;

        if (!h->spec->is_local || h->counted_slots > 0) {
            continue;
        }
        rc = hb_topo_allowed("", &allowed, err);
        if (rc < 0) {
            return rc;
        }
        memset(&gpus, 0, sizeof gpus);
        if (job_counts_gpus(h)) {
            hb_gpus_count("", j->env, &gpus);
        }
        rc = job_host_counted(h, &(struct job_counts){
            allowed.slots, allowed.pus, allowed.quota_milli, allowed.origin,
            gpus.n, gpus.origin}, err);
        if (rc < 0) {
            return hb_error_prefix(err, rc, "host %s", h->spec->name);
        }
    }
    return 0;
}

/* The events begin early then, and want an end; a file that cannot be opened is
 * told later, by whoever opens it in any case. */
static void say_waiting(struct job *j, const char *whom, const char *text)
{
    int had_events = j->lives->events != NULL;
    struct hpcboot_error unused;
    struct hb_json *js = NULL;

    hb_log(HB_WARN, "waiting for %s: %s", whom, text);
    if (!j->opt->dry_run && job_events_open(j, &unused) == 0) {
        js = job_event(j, "gathering");
    }
    if (js != NULL && !had_events) {
        job_signals_note();
    }
    if (js != NULL) {
        hb_json_str(js, "detail", text);
        job_event_end(j);
    }
}

static void say_waiting_for_pods(void *arg, const char *text)
{
    say_waiting(arg, "pods", text);
}

/* Of a struct job_reasons; `arg` is the job. */
static void ask_pods(void *arg, const char *const *hosts, size_t n,
                     int limit_ms, char **words)
{
    const struct job *j = arg;
    const struct hb_gang_request req = {.env = j->env, .root = ""};
    struct hpcboot_error why = {0};
    int rc = hb_k8s_reasons(&req, hosts, n, limit_ms, words, &why);

    if (rc < 0 && rc != HPCBOOT_ERR_UNSUPPORTED) {
        hb_log(j->begun ? HB_DEBUG : HB_WARN, "the pods' own reasons are not "
               "known: %s", why.text);
    }
}

/* Somebody has said that he waits, or for how many, or there were pods before.
 * Where a selector alone was said it may be mistyped. */
static int awaits_first_pod(const struct job *j)
{
    return j->opt->wait_hosts_ms > 0 || j->opt->min_hosts > 0 ||
           j->lives->epoch > 0 ||
           (j->only_wait && j->report == NULL);
}

static struct hb_gang_request request_of(const struct job *j)
{
    return (struct hb_gang_request){
        .host_list = j->opt->host_list,
        .count_list = j->opt->dialect == HB_DIALECT_SRUN,
        .hostfile = j->opt->hostfile,
        .discover = j->opt->discover_hosts,
        .default_hostfile = j->opt->default_hostfile, .env = j->env,
        .root = "", .filter = 1,
        .filters_found = !hb_options_is_typed(j->opt, "discover-hosts") &&
                         !hb_options_is_typed(j->opt, "pod-selector") &&
                         !hb_options_is_typed(j->opt, "pod-group"),
        .pod_selector = j->opt->pod_selector, .pod_group = j->opt->pod_group,
        .min_hosts = j->opt->min_hosts > 0 ? j->opt->min_hosts
                                           : (uint32_t)job_is_elastic(j),
        .before = j->lives->source, .expected_before = j->lives->expected,
        .needed_hosts = j->lives->needed_hosts,
        .wished_hosts = j->lives->hopeless ? 0 : j->lives->wished_hosts,
        .awaits_first = awaits_first_pod(j),
        .enough_hosts = job_elastic_hosts(j), .stop = job_signals_noted,
    };
}

int job_gather(struct job *j, int64_t wait_ms,
               void (*progress)(void *arg, const char *text),
               struct hb_gang *out, struct hpcboot_error *err)
{
    struct hb_gang_request req = request_of(j);

    req.progress = progress;
    req.progress_arg = j;
    req.wait_ms = wait_ms;
    return hb_gang_gather(&req, out, err);
}

int job_follow(struct job *j, hb_gang_changed changed, void *arg,
               struct hpcboot_error *err)
{
    const struct hb_gang_request req = request_of(j);

    return hb_gang_follow(&req, j->gang.source, changed, arg, err);
}

/* What the hosts of an elastic job have room for is known, and too little. */
static int lacks_room(const struct job *j)
{
    uint64_t room = 0;

    for (size_t i = 0; i < j->gang.n; i++) {
        int slots = j->opt->per_node > 0 ? (int)j->opt->per_node
                                         : j->gang.hosts[i].slots;

        if (slots == 0) {
            return 0; /* it is counted when the host is there */
        }
        room += (uint64_t)slots;
    }
    return room < j->opt->apps[0].np_min;
}

/* What the user has named was read in the life before: it is being written, or
 * its script has failed this once. */
static int is_read_again(const struct job *j)
{
    return j->lives->epoch > 0 &&
           (j->opt->hostfile != NULL || j->opt->discover_hosts != NULL);
}

/* Files and scripts are asked again, unlike the API, which waits itself. How
 * long, where nobody says so: a file says what there is, a script what has
 * come by now. Of a job that has lived both may say more soon. */
static int64_t may_wait_ms(const struct job *j)
{
    if (j->opt->dry_run || j->opt->host_list != NULL ||
        (!job_is_elastic(j) && !is_read_again(j))) {
        return 0;
    }
    return j->opt->wait_hosts_ms >= 0 ? j->opt->wait_hosts_ms
           : j->opt->discover_hosts != NULL ? WAIT_GANG_MS
           : j->lives->epoch > 0 ? WAIT_LACK_MS : 0;
}

/* Other than that a script names nobody yet. What is not there any more was
 * taken away, and does not come by itself. */
static int is_unread(int rc)
{
    return rc == HPCBOOT_ERR_PARSE || rc == HPCBOOT_ERR_SYSTEM;
}

/* why: nothing can be read; NULL: they are too few. */
static void say_missing(struct job *j, const char *why)
{
    size_t n = j->gang.n;
    char *text = why != NULL ? hb_xstrdup(why)
                 : hb_xasprintf("%zu %s named by now, and --np %u:%u needs "
                                "more", n, n == 1 ? "is" : "are",
                                j->opt->apps[0].np_min, j->opt->apps[0].np);

    say_waiting(j, "hosts", text);
    free(text);
}

/* Where nobody waited for a host, no name at all is a mistake in what was to
 * say them, and too few slots are judged with the rest of the command. */
static int too_few_came(const struct job *j, int rc, struct hpcboot_error *err)
{
    if (is_unread(rc)) {
        err->code = HPCBOOT_ERR_HOST; /* they were there once */
        return hb_error_prefix(err, HPCBOOT_ERR_HOST,
                               "the ranks are not started again");
    }
    if (may_wait_ms(j) == 0) {
        err->code = rc < 0 ? HPCBOOT_ERR_PARSE : HPCBOOT_OK;
        return err->code;
    }
    return hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "--np %u:%u: %zu host%s in "
                   "time, which is too few; wait longer (--wait-hosts), or ask "
                   "for fewer ranks", j->opt->apps[0].np_min,
                   j->opt->apps[0].np, j->gang.n,
                   j->gang.n == 1 ? " was named" : "s were named");
}

static int64_t at_most(int64_t ms, int64_t left_ms)
{
    return left_ms < ms ? left_ms : ms;
}

/* Where ranks have been started before --timeout runs. */
static int64_t within_limit(const struct job *j, int64_t ms)
{
    return at_most(ms, job_time_left_ms(j));
}

static int gather_room(struct job *j, int64_t wait_ms,
                       struct hpcboot_error *err)
{
    int64_t until_ns = hb_deadline_in_ms(within_limit(j, may_wait_ms(j)));
    size_t told = SIZE_MAX;
    int rc, is_short;

    for (;;) {
        rc = job_gather(j, within_limit(j, wait_ms), say_waiting_for_pods,
                        &j->gang, err);
        hb_gang_default_word(&j->gang, j->opt->default_slots);
        is_short = rc == HPCBOOT_ERR_AGAIN || (rc >= 0 && lacks_room(j)) ||
                   (is_unread(rc) && is_read_again(j));
        if (!is_short || hb_deadline_left_ms(until_ns) == 0 ||
            job_signals_noted() != 0) {
            break;
        }
        if (told != j->gang.n) {
            told = j->gang.n;
            say_missing(j, is_unread(rc) ? err->text : NULL);
        }
        hb_gang_destroy(&j->gang);
        poll(NULL, 0, (int)at_most(ASK_AGAIN_MS,
                                   hb_deadline_left_ms(until_ns)));
    }
    return is_short ? too_few_came(j, rc, err) : rc;
}

/* A plan is of the pods that are there, unless it is said that it waits. */
static int64_t pods_wait_ms(const struct job *j)
{
    if (j->opt->wait_hosts_ms >= 0) {
        return j->opt->wait_hosts_ms;
    }
    return j->opt->dry_run ? 0 : WAIT_GANG_MS;
}

int job_plan_gang(struct job *j, struct hpcboot_error *err)
{
    int rc;

    j->wait_begun_ns = hb_now_ns();
    rc = gather_room(j, pods_wait_ms(j), err);
    if (rc < 0) {
        return rc;
    }
    for (size_t i = 0; i < j->gang.n_notes; i++) {
        hb_log(HB_WARN, "%s", j->gang.notes[i]);
    }
    rc = job_order_hosts(j, err);
    if (rc < 0) {
        return rc;
    }
    if (j->opt->nodes > 0 && j->opt->nodes < j->gang.n) {
        hb_gang_cut(&j->gang, j->opt->nodes);
    }
    if (j->opt->nodes_least > j->gang.n) {
        hb_log(HB_WARN, "%u hosts are asked for, and the gang has %zu (%s)",
               j->opt->nodes_least, j->gang.n, j->gang.source);
    }
    if (j->opt->min_hosts > j->gang.n) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--min-hosts %u: the gang has "
                       "%zu (%s)", j->opt->min_hosts, j->gang.n,
                       j->gang.source);
    }
    rc = job_ancestry_room(j, err);
    if (rc < 0) {
        return rc;
    }
    j->host_entries = job_host_entries(j);
    j->gang.hosts = hb_xrealloc(j->gang.hosts,
                                j->host_entries * sizeof *j->gang.hosts);
    j->hosts = hb_xcalloc(j->host_entries, sizeof *j->hosts);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        h->job = j;
        h->index = i;
        h->spec = &j->gang.hosts[i];
        h->node = HB_NODE_UNSET;
        h->state = HOST_IDLE;
    }
    j->n_wanted = (uint32_t)j->gang.n;
    j->reasons = (struct job_reasons){.ask = hb_streq(j->opt->pod_selector,
                                                      "none") ? NULL
                                                              : ask_pods,
                                      .arg = j};
    return 0;
}

/* What one segment needs, found as its ranks will find it. A program that is
 * copied is looked at here, where it is copied from. */
static int detect_app(struct job *j, uint32_t i, struct hb_family_choice *out,
                      struct hpcboot_error *err)
{
    const struct hb_app_options *app = &j->opt->apps[i];
    const char *copied = j->programs[i];
    struct hb_strv argv = HB_STRV_INIT, env = HB_STRV_INIT;
    int rc = job_app_env(j, i, j->env, &env, err);

    hb_strv_push(&argv, copied != NULL ? copied : app->argv.v[0]);
    hb_strv_extend(&argv, app->argv.v + 1);
    if (rc == 0) {
        rc = hb_family_detect(argv.v, app->wdir != NULL && copied == NULL
                              ? app->wdir : j->wdir, hb_strv_view(&env), out,
                              err);
    }
    hb_strv_destroy(&argv);
    hb_strv_destroy(&env);
    return rc;
}

/* Several programs may need different families; the first that is sure of
 * one decides, as one job can speak but one. */
static int detect(struct job *j, struct hb_family_choice *best,
                  struct hpcboot_error *err)
{
    for (uint32_t i = 0; i < j->opt->n_apps; i++) {
        const struct hb_app_options *app = &j->opt->apps[i];
        struct hb_family_choice c = {0};
        int rc = detect_app(j, i, &c, err);

        if (rc < 0) {
            return rc;
        }
        if (i == 0 || (c.links_mpi && !best->links_mpi) ||
            (c.certain && !best->certain && !best->links_mpi)) {
            *best = c;
        } else if (c.links_mpi && c.certain && c.family != best->family) {
            hb_log(HB_WARN, "%s needs %s, but the job uses %s for %s: one job "
                   "speaks one family", app->argv.v[0],
                   hb_pm_family_name(c.family),
                   hb_pm_family_name(best->family),
                   j->opt->apps[0].argv.v[0]);
        }
    }
    return 0;
}

/* Nothing certain was found, or an interpreter's mpi4py, which the script does
 * not name: it tells whose MPI it would be, not that one is used. */
static int is_guess(const struct job *j)
{
    const struct hb_family_choice *c = &j->family;

    return j->opt->pmi == NULL &&
           (!c->certain || (!c->links_mpi && c->flavour > HB_MPI_NONE));
}

static void take_pmi1_instead(struct job *j, const char *because)
{
    char was[sizeof j->family.why];

    memcpy(was, j->family.why, sizeof was);
    snprintf(j->family.why, sizeof j->family.why, "%s, else: %.*s", because,
             (int)sizeof j->family.why - 64, was);
    j->family.family = HB_PM_PMI1;
    j->family.certain = 0;
}

/* Who types as for Hydra has an MPI of its family, or a script that looks for
 * the variables that it sets. */
static int is_for_hydra(const struct job *j)
{
    return j->opt->dialect == HB_DIALECT_HYDRA && j->opt->pmi == NULL &&
           !j->family.certain && j->family.flavour == HB_MPI_UNKNOWN &&
           j->family.family == HB_PM_PMIX;
}

/* A guess that cannot be served must not keep a program from running that may
 * need no server at all. */
void job_settle_family(struct job *j)
{
    const struct hb_pm_ops *ops;
    struct hpcboot_error err;

    if (is_for_hydra(j)) {
        take_pmi1_instead(j, "pmi1, as the dialect is Hydra's");
    }
    if (!is_guess(j) || hb_pm_ops_get(j->family.family, &ops, &err) == 0) {
        return;
    }
    hb_log(HB_WARN, "%s; the family is not certain: %s is used instead",
           err.text, hb_pm_family_name(HB_PM_PMI1));
    take_pmi1_instead(j, "pmix cannot be served");
}

/* Is the variable set where hbrun runs, or by a rule of any program? */
static int is_set(const struct job *j, const char *name)
{
    char *rule = hb_xasprintf("+%s=", name);
    int set = 0;

    for (char *const *e = j->env; *e != NULL; e++) {
        set |= hb_starts_with(*e, rule + 1);
    }
    for (uint32_t i = 0; i <= j->opt->n_apps; i++) {
        const struct hb_strv *rules = i < j->opt->n_apps
                                          ? &j->opt->apps[i].env_rules
                                          : &j->opt->env_rules;
        for (size_t k = 0; k < rules->n; k++) {
            set |= hb_starts_with(rules->v[k], rule);
        }
    }
    free(rule);
    return set;
}

/* Ranks of Intel MPI do not bind themselves: its own launcher does. */
static void warn_of_pins(const struct job *j)
{
    static const char *const pins[] = {"I_MPI_PIN_DOMAIN",
                                       "I_MPI_PIN_PROCESSOR_LIST",
                                       "I_MPI_PIN_CELL", "I_MPI_PIN_ORDER"};

    if (j->family.flavour != HB_MPI_INTEL || j->opt->bind_to != NULL ||
        j->policy.by >= HB_MAP_HWTHREAD) {
        return;
    }
    for (size_t i = 0; i < sizeof pins / sizeof *pins; i++) {
        if (is_set(j, pins[i])) {
            hb_log(HB_WARN, "%s has no effect: it is for Intel MPI's own "
                   "launcher; --bind-to, --cpus-per-rank and --map-by say what "
                   "ranks are bound to", pins[i]);
            return;
        }
    }
}

int job_plan_family(struct job *j, struct hpcboot_error *err)
{
    int rc = detect(j, &j->family, err);

    if (rc < 0) {
        return rc;
    }
    j->family_known = j->family.found;
    if (j->opt->pmi != NULL) {
        rc = hb_pm_family_parse(j->opt->pmi, &j->family.family, err);
        j->family.certain = 1;
        j->family_known = 1;
        snprintf(j->family.why, sizeof j->family.why, "--pmi %s (%s)",
                 j->opt->pmi, hb_options_origin(j->opt, "pmi"));
    }
    if (j->family_known) {
        job_settle_family(j);
    }
    warn_of_pins(j);
    return rc;
}
