/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Every wanted host is ready: places the ranks if that had to wait for the
 * hosts' own counts, asks one host about a program that this one does not
 * have, and hands out the job. The large part is encoded once and copied into
 * each link, behind the files that travel with the job. */
#include "config.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/job/ancestry.h"
#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/framework.h"
#include "bin/job/job_impl.h"
#include "bin/job/traffic.h"
#include "bin/job/wiring.h"
#include "bin/proc/env.h"
#include "bin/proc/limits.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* Output under way per host; a full terminal holds so much per host back. */
#define WINDOW_TOTAL (64u << 20)
#define WINDOW_MAX (4u << 20)
#define WINDOW_MIN (256u << 10)

/* Programs may hide what they run, or load an MPI by themselves; and a Python
 * that has an mpi4py may run a script that starts a program of another MPI. */
static int is_guessed(const struct job *j)
{
    int is_plain = j->opt->pmi == NULL && j->framework == NULL &&
                   (j->family.family == HB_PM_NONE ||
                    j->family.flavour > HB_MPI_NONE);

    return j->map->n_ranks > 1 && !j->family.links_mpi &&
           (!j->family.certain || is_plain);
}

/* --explain says who sees which GPU, too, which the hosts alone know. */
static int tells_places(const struct hb_options *o)
{
    return o->report_bindings || (o->explain && o->gpus_per_rank > 0);
}

/* Progress bars as they grow, where no line of another rank is torn by that, or
 * where that is how they look: with labels each piece is on a line of its own;
 * what goes to a file or a program may be looked through for whole lines. */
static int shows_bars(const struct hb_options *o)
{
    return o->tag_output != HB_TAG_NONE || isatty(STDOUT_FILENO) ||
           isatty(STDERR_FILENO);
}

static uint32_t job_flags(const struct job *j)
{
    const struct hb_options *o = j->opt;

    return (o->merge_stderr ? HB_JOB_MERGE_STDERR : 0) |
           (o->unbuffered ? HB_JOB_UNBUFFERED : 0) |
           (j->oversubscribed ? HB_JOB_OVERSUBSCRIBED : 0) |
           (j->on_failure == HB_FAIL_CONTINUE ? HB_JOB_KEEP_GOING : 0) |
           (j->on_failure == HB_FAIL_RESPAWN ? HB_JOB_RESPAWN : 0) |
           (job_is_live(j) ? HB_JOB_ELASTIC : 0) |
           (is_guessed(j) ? HB_JOB_GUESSED : 0) |
           (tells_places(o) ? HB_JOB_REPORT_BINDINGS : 0) |
           (shows_bars(o) ? HB_JOB_SHOW_BARS : 0) |
           (job_carry_answers(j) ? HB_JOB_ANSWERS : 0) |
           (j->only_looks ? HB_JOB_LOOKS : 0) |
           HB_JOB_USE_PID1_ENV;
}

static mode_t current_umask(void)
{
    mode_t mask = umask(022);

    umask(mask);
    return mask;
}

/* Rules of a framework's own files come before those of --env-file, and these
 * before those of the command line: the last one counts. */
int job_read_rules(struct job *j, struct hpcboot_error *err)
{
    if (j->framework != NULL) {
        hb_strv_extend(&j->rules, hb_strv_view(&j->framework->rules));
    }
    for (size_t i = 0; i < j->opt->env_files.n; i++) {
        int rc = hb_env_file_rules(j->opt->env_files.v[i], &j->rules, err);

        if (rc < 0) {
            /* Whatever is wrong with it: nothing has been started. */
            hb_error_prefix(err, rc, "--env-file");
            err->code = HPCBOOT_ERR_USAGE;
            return HPCBOOT_ERR_USAGE;
        }
    }
    hb_strv_extend(&j->rules, hb_strv_view(&j->opt->env_rules));
    return 0;
}

/* The environment that travels: what any app's rules may ask for. */
static void outgoing_env(const struct job *j, struct hb_strv *out)
{
    char *const **sets = hb_xcalloc(j->opt->n_apps + 1, sizeof *sets);

    sets[0] = hb_strv_view(&j->rules);
    for (uint32_t i = 0; i < j->opt->n_apps; i++) {
        sets[i + 1] = hb_strv_view(&j->opt->apps[i].env_rules);
    }
    hb_env_outgoing(j->env, (char *const *const *)sets, j->opt->n_apps + 1,
                    out);
    free(sets);
}

/* What the ranks of a program find, as far as it can be told before an agent
 * adds what is its own. `host` is the environment of the host that is looked
 * at; NULL: it is not known here. */
int job_app_env(const struct job *j, uint32_t at, char *const *host,
                struct hb_strv *out, struct hpcboot_error *err)
{
    const struct hb_app_options *app = &j->opt->apps[at];
    struct hb_strv sent = HB_STRV_INIT;
    int rc;

    outgoing_env(j, &sent);
    const struct hb_env_policy policy = {
        .launcher = hb_strv_view(&sent), .host = host,
        .job_rules = hb_strv_view(&j->rules),
        .app_rules = hb_strv_view(&app->env_rules), .path = app->path,
    };
    rc = hb_env_compose(&policy, out, err);
    hb_strv_destroy(&sent);
    return rc;
}

/* What the job itself sets comes before what its user says. */
static void all_rules(struct job *j, struct hb_strv *out)
{
    const char *leaves = job_leaves(j);

    if (*leaves != '\0') {
        hb_strv_pushf(out, "+HPCBOOT_LEAVES=%s", leaves);
    }
    hb_strv_extend(out, hb_strv_view(&j->rules));
}

static int put_job(struct job *j, struct hb_buf *out, uint32_t restart,
                   struct hpcboot_error *err)
{
    struct hb_strv env = HB_STRV_INIT, limits = HB_STRV_INIT;
    struct hb_strv rules = HB_STRV_INIT;
    uint32_t *nodes = hb_xcalloc(j->gang.n, sizeof *nodes);
    struct hb_strv slots = HB_STRV_INIT;
    struct hb_buf map;
    int rc;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        nodes[i] = j->hosts[i].node;
    }

    hb_buf_init(&map, HB_WIRE_BLOB);
    outgoing_env(j, &env);
    all_rules(j, &rules);
    hb_limits_outgoing(&limits);
    hb_jobmap_encode(j->map, &map);
    job_policy_slots(j, &slots);
    const struct hb_msg_job m = {
        .map = {map.data, map.len},
        .family = hb_pm_family_name(j->family.family),
        .env = hb_wire_strv_of(hb_strv_view(&env)),
        .env_rules = hb_wire_strv_of(hb_strv_view(&rules)),
        .limits = hb_wire_strv_of(hb_strv_view(&limits)),
        .umask = (uint32_t)current_umask(), .flags = job_flags(j),
        .grace_ms = (uint32_t)j->opt->grace_ms,
        .flavour = (uint32_t)j->family.flavour,
        .stdin_mode = j->stdin_mode, .stdin_rank = j->stdin_rank,
        .credit_bytes = j->window, .bind_to = j->bind_text,
        .nodes = {.v = nodes, .n = (uint32_t)j->gang.n},
        .rank_slots = hb_wire_strv_of(hb_strv_view(&slots)),
        .restart = restart,
        .checkpoint_signal = j->opt->checkpoint_signal,
        .world = j->world,
    };
    rc = hb_wire_put_job(out, j->lives->epoch, HB_NODE_LAUNCHER,
                         HB_NODE_ALL, &m, err);
    hb_buf_destroy(&map);
    free(nodes);
    hb_strv_destroy(&env);
    hb_strv_destroy(&rules);
    hb_strv_destroy(&limits);
    hb_strv_destroy(&slots);
    return rc;
}

static int put_apps(struct job *j, struct hb_buf *out,
                    struct hpcboot_error *err)
{
    const struct hb_msg_start start = {.n_apps = j->opt->n_apps};
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < j->opt->n_apps; i++) {
        const struct hb_app_options *app = &j->opt->apps[i];
        const struct hb_msg_app m = {
            .index = i, .argv = hb_wire_strv_of(hb_strv_view(&app->argv)),
            .wdir = app->wdir != NULL ? app->wdir : j->wdir,
            .wdir_given = app->wdir != NULL,
            .env_rules = hb_wire_strv_of(hb_strv_view(&app->env_rules)),
            .path = app->path,
            .program = job_file_program(j, i),
            .session_wdir = app->wdir == NULL && app->session_wdir > 0,
        };

        rc = hb_wire_put_app(out, j->lives->epoch, HB_NODE_LAUNCHER,
                             HB_NODE_ALL, &m, err);
    }
    return rc < 0 ? rc : hb_wire_put_start(out, j->lives->epoch,
                                           HB_NODE_LAUNCHER, HB_NODE_ALL,
                                           &start, err);
}

void host_let_go(struct job_host *h)
{
    HOST_SEND(h, bye, .status = h->job->only_looks ? HB_BYE_NO_JOB : 0);
    h->bye_sent = 1;
    h->state = HOST_DONE;
}

static void let_all_go(struct job *j)
{
    hb_progress_done(j->progress);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].state == HOST_READY) {
            host_let_go(&j->hosts[i]);
        }
    }
    j->phase = JOB_ENDING;
    job_maybe_over(j);
}

static void host_ordered(struct job_host *h)
{
    if (h->state == HOST_READY) {
        h->state = h->node != HB_NODE_UNSET ? HOST_RUNNING : HOST_RELAY;
        job_carry_stdin_ordered(h);
    }
}

/* The orders go down the same way as the files, and behind them. */
static void all_below_ordered(struct job_host *top)
{
    struct job *j = top->job;

    for (uint32_t i = 0; i < j->gang.n && j->n_files > 0; i++) {
        if (j->hosts[i].via != NULL && host_link(&j->hosts[i]) == top->link) {
            host_ordered(&j->hosts[i]);
        }
    }
    host_ordered(top);
}

/* Others may have begun while its files were under way. */
static int settle_orders(struct job_host *h, struct hpcboot_error *err)
{
    struct job *j = h->job;

    return h->restart == j->orders_restart
               ? 0 : job_orders_anew(j, h->restart, err);
}

/* The files, as fast as they are taken, and then the orders. */
static void host_feed(struct job_host *h)
{
    struct hpcboot_error err = {0};
    const struct hb_buf *orders = &h->job->orders;
    int rc = job_files_send(h, &err);

    if (rc == 1 && settle_orders(h, &err) < 0) {
        rc = -1;
    }
    if (rc < 0) {
        job_fail(h->job, HB_CAUSE_INTERNAL, 0, "%s", err.text);
    } else if (rc == 1) {
        hb_buf_put_raw(hb_link_out(h->link), orders->data, orders->len);
        all_below_ordered(h);
        hb_link_flush(h->link);
    }
}

void host_go_on(struct job_host *h)
{
    if (h->job->phase == JOB_RUNNING && h->state == HOST_READY) {
        host_feed(h);
    }
}

static int write_orders(struct job *j, uint32_t restart,
                        struct hpcboot_error *err)
{
    int rc = put_job(j, &j->orders, restart, err);

    if (rc == 0) {
        rc = job_ancestry_put(j, &j->orders, err);
    }
    if (rc == 0) {
        rc = job_meeting_put(j, &j->orders, err);
    }
    return rc < 0 ? rc : put_apps(j, &j->orders, err);
}

int job_orders_anew(struct job *j, uint32_t restart,
                    struct hpcboot_error *err)
{
    hb_buf_clear(&j->orders);
    j->orders_restart = restart;
    return write_orders(j, j->lives->restarts + restart, err);
}

/* The orders go down each link of the launcher and from there to all below. */
static void hand_out(struct job *j)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (h->state != HOST_READY) {
            continue;
        }
        if (h->via != NULL) {
            if (j->n_files == 0 || h->node == HB_NODE_UNSET) {
                host_ordered(h);
            }
        } else if (h->node != HB_NODE_UNSET ||
                   hb_grow_children(j->grow, i) > 0) {
            host_go_on(h);
        } else {
            host_let_go(h);
        }
    }
    for (uint32_t i = 0; i < j->gang.n; i++) {
        host_release(&j->hosts[i]);
    }
}

static void choose_window(struct job *j)
{
    uint32_t share = WINDOW_TOTAL / j->map->n_nodes;

    j->window = share > WINDOW_MAX ? WINDOW_MAX
                : share < WINDOW_MIN ? WINDOW_MIN : share;
}

/* What an MPI does with more ranks than CPUs. Open MPI and libhpcboot yield;
 * MPICH and its kin have no such mode, and each waiting rank burns its turn. */
static const char *what_they_do(const struct job *j)
{
    switch (j->family.flavour) {
    case HB_MPI_MPICH:
    case HB_MPI_MVAPICH:
        return "MPICH cannot be told to yield: ranks that wait will hold up "
               "the others; start as many as there are CPUs";
    default:
        return "they are told to yield";
    }
}

static void tell_oversubscription(struct job *j)
{
    j->oversubscribed = job_oversubscribed(j);
    if (j->ancestry != NULL) {
        return; /* those who spawn many need not hear it each time */
    }
    for (uint32_t n = 0; n < j->map->n_nodes; n++) {
        const struct job_host *h = j->node_host[n];
        uint32_t room = job_room_of(h);

        if (room > 0 && j->map->local_size[n] > room) {
            hb_log(HB_INFO, "%u ranks share room for %u on %s (%s): %s",
                   j->map->local_size[n], room, h->spec->name,
                   h->slots_origin, what_they_do(j));
            return;
        }
    }
}

/* What is left of the plan, now that the hosts are known. 1: hosts are asked,
 * job_begin comes again; negative: the job has failed. */
static int plan_rest(struct job *j)
{
    struct hpcboot_error err = {0};
    struct job_tally t;
    int is_new = j->map == NULL;
    int rc = is_new ? job_plan_map(j, &err) : 0;

    if (rc == 0 && is_new) {
        job_wrapped_tell(j);
    }
    if (rc == 0) {
        rc = job_carry_check(j, &err);
    }
    if (rc == 0) {
        rc = job_wire(j, &err);
    }
    if (rc < 0) {
        /* What the hosts that are missing would have had room for, or what was
         * possible before, is no mistake of the request. */
        job_tally(j, &t);
        job_fail(j, t.lost > 0 || j->lives->epoch > 0 ? HB_CAUSE_HOST
                                                      : HB_CAUSE_USAGE, 0,
                 "%s", err.text);
        return rc;
    }
    rc = job_meeting_ask(j, &err);
    if (rc < 0) {
        job_fail(j, HB_CAUSE_USAGE, 0, "%s", err.text);
    }
    return rc;
}

static void go(struct job *j)
{
    struct hpcboot_error err = {0};
    int rc;

    hb_progress_done(j->progress);
    if (plan_rest(j) != 0) {
        return;
    }
    choose_window(j);
    tell_oversubscription(j);
    job_explain(j);
    if (job_carry_open(j, &err) < 0) {
        job_fail(j, err.code == HPCBOOT_ERR_USAGE ? HB_CAUSE_USAGE
                                                  : HB_CAUSE_OUTPUT,
                 err.sys_errno, "%s", err.text);
        return;
    }
    j->world = j->lives->epoch;
    rc = job_route_open(j, &err);
    if (rc == 0) {
        rc = write_orders(j, j->lives->restarts, &err);
    }
    if (rc < 0) {
        job_fail(j, HB_CAUSE_INTERNAL, 0, "%s", err.text);
        return;
    }
    j->phase = JOB_RUNNING;
    job_timed_orders(j);
    j->begun = 1;
    hand_out(j);
    job_timeout_start(j);
    job_elastic_watch(j);
    job_carry_stdin_begin(j);
}

int job_inspected(struct job_host *h, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct hb_msg_inspected m;
    enum hb_pm_family family;
    struct job_tally t;
    int rc = hb_wire_get_inspected(f, &m, err);

    job_tally(j, &t);
    if (rc < 0 || j->phase != JOB_CONNECTING || t.open > 0) {
        return rc; /* a host was lost meanwhile: it is asked again */
    }
    if (m.found && hb_pm_family_parse(m.family, &family, NULL) == 0) {
        j->family.family = family;
        j->family.flavour = (enum hb_mpi_flavour)m.flavour;
        j->family.certain = m.certain;
        j->family.links_mpi = m.links_mpi;
        snprintf(j->family.why, sizeof j->family.why, "%s", m.why);
    }
    job_settle_family(j);
    go(j);
    return 0;
}

/* Where the first ranks will be, as far as it is known. */
static struct job_host *first_host(const struct job *j)
{
    uint32_t i = 0;

    if (j->node_host != NULL) {
        return j->node_host[0];
    }
    while (i + 1 < j->gang.n && j->hosts[i].state != HOST_READY) {
        i++;
    }
    return &j->hosts[i];
}

void job_begin(struct job *j)
{
    struct job_host *h = first_host(j);
    struct hb_strv env = HB_STRV_INIT;
    const struct hb_app_options *app = &j->opt->apps[0];
    struct job_tally t;

    job_tally(j, &t);
    if (t.open > 0) {
        return; /* a host was lost while others were asked: it comes again */
    }
    if (job_examine(j) || job_traffic_under_way(j)) {
        return;
    }
    if (j->only_wait) {
        job_warn_pinned(j);
        job_warn_same(j);
        let_all_go(j);
        return;
    }
    if (job_survey(j)) {
        return;
    }
    job_warn_pinned(j);
    job_warn_same(j);
    if (j->family_known || h->spec->is_local) {
        job_settle_family(j);
        go(j);
        return;
    }
    (void)job_app_env(j, 0, NULL, &env, NULL); /* its rules have been read */
    HOST_SEND(h, inspect, .argv = hb_wire_strv_of(hb_strv_view(&app->argv)),
              .wdir = app->wdir != NULL ? app->wdir : j->wdir,
              .env = hb_wire_strv_of(hb_strv_view(&env)));
    hb_strv_destroy(&env);
}
