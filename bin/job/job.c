/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A job from the gang to the exit status: plan, connect, run, end. The steps
 * are in the files named by job_impl.h; this one holds them together. */
#include "config.h"

#include "bin/job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "bin/cli/logsink.h"
#include "bin/job/ancestry.h"
#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "bin/job/signals.h"
#include "bin/job/traffic.h"
#include "bin/job/wiring.h"
#include "bin/proc/guard.h"
#include "bin/proc/stale.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* Outside an operator's gang hosts are expected to be up. */
#define WAIT_PLAIN_MS 0
#define WAIT_LOST_MS 60000 /* for one that was lost and must come back */
/* A pod that has moved leaves an address behind that nobody answers at; its
 * name must be looked up again soon. */
#define DIAL_MS 5000
#define LIVES_AGAIN (-1) /* no exit status: the job is started once more */
#define ID_BYTES 4 /* of chance in a job's id */
#define COOKIE_BYTES 16
#define SWEEP_MS 2000 /* for the ranks of a local agent that was lost */

static void put_hex(char *out, const unsigned char *raw, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) {
        snprintf(out + 2 * i, 3, "%02x", raw[i]);
    }
}

/* The id names the job in the process-management servers; the cookie is what
 * strays are known by and is not to be guessed.
 * Open MPI 5 knows a job by 16 bits made of its id as far as a last '@', and by
 * 16 of the number behind it, and takes two jobs with the same for one. So that
 * no two jobs of a family have it, as some of a hundred ids by chance have,
 * those of spawned jobs begin with the first one's, and have their number
 * there. */
static int make_names(struct job *j, struct hpcboot_error *err)
{
    const char *above = job_ancestry_above(j);
    unsigned char raw[ID_BYTES + COOKIE_BYTES];
    char unique[2 * ID_BYTES + 1];

    if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw) {
        return hb_fail_errno(err, HPCBOOT_ERR_INTERNAL,
                             "no random numbers can be had (getrandom)");
    }
    put_hex(unique, raw, ID_BYTES);
    if (above == NULL) {
        snprintf(j->id, sizeof j->id, "hpcboot-%ld-%s", (long)getpid(),
                 unique);
    } else {
        snprintf(j->id, sizeof j->id, "%.*s@%u-%s",
                 (int)strcspn(above, "@"), above, job_ancestry_number(j),
                 unique);
    }
    put_hex(j->cookie, raw + ID_BYTES, COOKIE_BYTES);
    return HPCBOOT_OK;
}

/* The agent of this very installation: beside hbrun in a build tree, else
 * where the installation put it. */
static int find_agent(struct job *j, struct hpcboot_error *err)
{
    static const char *const places[] = {"/hpcbootd", "/../sbin/hpcbootd"};
    char *self = hb_self_exe(), *slash;
    char *path = NULL;

    slash = self != NULL ? strrchr(self, '/') : NULL;
    for (size_t i = 0; slash != NULL && i < 2 && path == NULL; i++) {
        *slash = '\0';
        path = hb_xasprintf("%s%s", self, places[i]);
        if (access(path, X_OK) != 0) {
            free(path);
            path = NULL;
        }
    }
    free(self);
    if (path == NULL) {
        path = hb_xstrdup(HB_SBINDIR "/hpcbootd");
    }
    j->agent_path = realpath(path, NULL);
    free(path);
    if (j->agent_path == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "hpcbootd is neither "
                       "beside hbrun nor in %s: the installation is incomplete",
                       HB_SBINDIR);
    }
    return 0;
}

static int host_keys_of(const struct job *j, enum hb_host_keys *out,
                        struct hpcboot_error *err)
{
    const char *text = j->opt->host_keys;

    /* In a gang that has a key its hosts can prove themselves. */
    *out = j->gang.operator_made && j->gang.gang_key == NULL
        ? HB_HOST_KEYS_PIN : HB_HOST_KEYS_STRICT;
    if (text == NULL) {
        return 0;
    }
    if (!hb_streq(text, "strict") && !hb_streq(text, "pin")) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--host-keys %s: expected strict or pin", text);
    }
    *out = hb_streq(text, "pin") ? HB_HOST_KEYS_PIN : HB_HOST_KEYS_STRICT;
    return 0;
}

/* Files that options name: every host would fail by them in the same way. */
static int check_files(const struct hb_options *o, struct hpcboot_error *err)
{
    const struct {
        const char *option, *path;
    } files[] = {
        {"--identity", o->identity},
        {"--ssh-config",
         hb_streq(o->ssh_config, "none") ? NULL : o->ssh_config},
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i].path != NULL && access(files[i].path, R_OK) != 0) {
            return hb_fail_errno(err, HPCBOOT_ERR_USAGE, "%s %s: cannot be "
                                 "read", files[i].option, files[i].path);
        }
    }
    return 0;
}

static int set_up_boot(struct job *j, struct hpcboot_error *err)
{
    const struct hb_options *o = j->opt;
    struct hb_boot_config *b = &j->boot;
    int64_t wait_ms = o->wait_hosts_ms;
    int rc;

    if ((j->need_lost && wait_ms <= 0 && !j->gang.operator_made) ||
        (j->hopes && wait_ms < 0)) {
        wait_ms = WAIT_LOST_MS;
    }
    if (wait_ms < 0) { /* to a doctor, a host that is not there is a finding */
        int waits = j->gang.operator_made ||
                    (j->only_wait && j->report == NULL);

        wait_ms = waits ? WAIT_GANG_MS : WAIT_PLAIN_MS;
    }
    j->wait_ms = wait_ms;
    b->dial_timeout_ms = wait_ms > 0 ? DIAL_MS : 0;
    b->prefix = o->prefix;
    b->kex = o->kex;
    b->identity = o->identity;
    b->ssh_config = o->ssh_config;
    b->gang_key = j->gang.gang_key;
    j->members = hb_xcalloc(j->host_entries + 1, sizeof *j->members);
    for (size_t i = 0; i < j->gang.n; i++) {
        j->members[i] = j->gang.hosts[i].name;
    }
    b->members = j->members;
    b->user = o->user;
    b->port = o->port;
    b->inside_gang = j->gang.operator_made;
    b->connect_timeout_ms = (int)o->connect_timeout_ms;
    rc = job_choose_way(j, err);
    return rc < 0 ? rc : host_keys_of(j, &b->host_keys, err);
}

static int plan(struct job *j, struct hpcboot_error *err)
{
    int rc = job_wdir_make(j, err);

    if (rc == 0) {
        rc = check_files(j->opt, err);
    }
    if (rc == 0 && !j->only_wait) {
        rc = job_framework_command(j, err);
    }
    if (rc == 0 && !j->only_wait) {
        rc = job_failure_read(j, err);
    }
    if (rc == 0) {
        rc = job_plan_gang(j, err);
    }
    if (rc == 0) {
        rc = job_wiring_read(j, err);
    }
    if (rc == 0) {
        rc = job_read_rules(j, err);
    }
    if (rc == 0 && !j->only_wait) {
        rc = job_framework_choose(j, err);
    }
    if (rc == 0) {
        rc = job_plan_count(j, err);
    }
    if (rc < 0 || j->only_wait) {
        return rc;
    }
    rc = job_plan_files(j, err);
    if (rc == 0) {
        rc = job_policy_read(j, err);
    }
    if (rc == 0) {
        rc = job_topo_known(j, err);
    }
    if (rc == 0) {
        rc = job_plan_family(j, err);
    }
    if (rc == 0) {
        rc = job_plan_ranks(j, err);
    }
    if (rc == 0) {
        job_wrapped_tell(j);
    }
    return rc;
}

/* Hosts that got no ranks are not contacted. */
static void drop_unused(struct job *j)
{
    for (uint32_t i = 0; i < j->gang.n && j->map != NULL; i++) {
        if (j->hosts[i].node == HB_NODE_UNSET && !j->hosts[i].left_out) {
            j->hosts[i].state = HOST_DONE;
            j->n_wanted--;
        }
    }
}

/* libevent complains on stderr of its own accord. What matters to the user is
 * told by whom it happened to; but after an error it ends the program, as when
 * there is no descriptor left for its signal pipe. */
static void log_of_loop(int severity, const char *text)
{
    hb_log(severity == EVENT_LOG_ERR ? HB_ERROR : HB_DEBUG,
           "libevent: %s%s", text, hb_errno_remedy(errno));
}

static void loop_cannot_go_on(int code)
{
    exit(HB_EXIT_INTERNAL);
}

/* What was asked for in words, beside hosts and programs; a dry run tells of
 * mistakes there, too. */
static int read_requests(struct job *j, struct hpcboot_error *err)
{
    int rc = set_up_boot(j, err);

    if (rc == 0) {
        rc = job_carry_parse(j, err);
    }
    if (rc == 0 && j->map != NULL) {
        rc = job_carry_check(j, err);
    }
    return rc;
}

static int prepare(struct job *j, struct hpcboot_error *err)
{
    int rc;

    event_set_log_callback(log_of_loop);
    event_set_fatal_callback(loop_cannot_go_on);
    j->base = event_base_new();
    if (j->base == NULL) {
        return hb_fail(err, HPCBOOT_ERR_SYSTEM, "no event loop");
    }
    rc = job_ancestry_begin(j, err);
    if (rc == 0) {
        rc = find_agent(j, err);
    }
    j->boot.base = j->base;
    j->boot.agent_path = j->agent_path;
    if (rc == 0) {
        rc = job_session_make(j, err);
    }
    if (rc == 0) {
        rc = job_events_open(j, err);
    }
    if (rc == 0) {
        job_event_begin(j);
        rc = job_metrics_open(j, err);
    }
    if (rc == 0) {
        rc = job_signals_open(j, err);
    }
    if (rc == 0 && j->lives->begun_ns > 0) {
        job_timeout_start(j); /* it runs while hosts come up again */
    }
    if (rc == 0 && j->opt->show_progress && !j->opt->quiet) {
        j->progress = hb_progress_create(STDERR_FILENO);
        hb_logsink_progress(j->progress);
    }
    return rc;
}

static void destroy(struct job *j)
{
    hb_logsink_progress(NULL);
    hb_progress_destroy(j->progress);
    if (j->hosts != NULL) {
        job_connect_stop(j);
    }
    job_carry_close(j);
    job_respawn_close(j);
    job_cuts_close(j);
    job_elastic_close(j);
    job_live_close(j);
    job_latecomers_close(j);
    job_signals_close(j);
    job_timers_close(j);
    job_route_close(j);
    job_spawns_close(j);
    job_ancestry_end(j);
    job_metrics_leave(j);
    hb_boot_settle();
    job_events_leave(j);
    if (j->base != NULL) {
        event_base_free(j->base);
    }
    job_files_close(j);
    job_framework_end_life(j);
    hb_buf_destroy(&j->orders);
    hb_jobmap_destroy(j->map);
    job_policy_destroy(j);
    job_survey_destroy(j);
    job_traffic_destroy(j);
    job_wiring_destroy(j);
    job_notes_destroy(j->notes);
    free(j->node_host);
    free(j->ranks);
    free(j->hosts);
    hb_gang_destroy(&j->gang);
    free(j->agent_path);
    free(j->members);
    free(j->command);
    hb_secret_free(&j->session);
    free(j->wdir);
    free(j->leaves);
    hb_strv_destroy(&j->rules);
}

/* An agent that was lost on this machine may have been killed together with
 * its guard, and then nobody else is left to look for its ranks, nor for the
 * directories: its own, and those of jobs that its ranks have begun. A guard
 * that is late finds nobody any more to look for directories of. */
static void sweep_up(const struct job *j)
{
    struct hb_stale_report stale;
    int lost = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        if (h->state == HOST_LOST && h->spec->is_local) {
            char *cookie = hb_guard_cookie_of(j->cookie, h->token);
            int killed = hb_reap_strays(cookie, SWEEP_MS);

            hb_log(HB_DEBUG, "host %s: %d processes of a lost agent were "
                   "killed", h->spec->name, killed);
            free(cookie);
            lost = 1;
        }
    }
    if (lost) {
        hb_stale_clear(NULL, 0, SWEEP_MS, &stale);
    }
}

static enum hb_cause_kind cause_of(int code)
{
    switch (hb_status_damage(code)) {
    case HB_DAMAGE_USAGE:
    case HB_DAMAGE_RANK:
        return HB_CAUSE_USAGE;
    case HB_DAMAGE_INTERNAL:
        return HB_CAUSE_INTERNAL;
    default:
        return HB_CAUSE_HOST;
    }
}

/* It cannot begin, or not once more. A plan is no job, and leaves no word. */
static int not_begun(struct job *j, int rc, const struct hpcboot_error *err)
{
    const struct hb_cause cause = {.kind = cause_of(rc)};
    struct hb_verdict v = {0};

    if (!j->opt->dry_run) {
        return job_lives_no_more(j, cause.kind, 0, err->text);
    }
    hb_verdict_add(&v, &cause);
    hb_log(HB_ERROR, "%s", err->text);
    return v.status;
}

/* After a life, of whose hosts and ranks nothing is left, or before the loop of
 * the next one hears it, or that of the first one whose events have begun. */
static int told_to_end(struct job *j, int signo)
{
    char name[64], text[160];

    hb_signal_text(signo, name, sizeof name);
    snprintf(text, sizeof text, "%s was told to end by %s%s",
             job_program(j->only_wait), name, j->lives->epoch > 0
             ? ", before it had started the ranks again" : "");
    return job_lives_no_more(j, HB_CAUSE_USER, signo, text);
}

static int run(struct job *j)
{
    struct hpcboot_error err = {0};
    int rc;

    j->begun_ns = hb_now_ns();
    hb_buf_init(&j->orders, HB_WIRE_FRAME);
    rc = make_names(j, &err);
    job_again_stdin(j->lives);
    if (rc == 0) {
        rc = plan(j, &err);
    }
    j->gathered_ns = hb_now_ns();
    if (rc == 0) {
        rc = read_requests(j, &err);
    }
    if (rc == 0 && j->opt->dry_run) {
        rc = job_preview(j, &err);
        if (rc == 0) {
            return 0;
        }
    }
    if (rc == 0) {
        rc = prepare(j, &err);
    }
    if (job_signals_noted() != 0) {
        return told_to_end(j, job_signals_noted());
    }
    if (rc == 0) {
        drop_unused(j);
        rc = job_connect(j, &err);
    }
    if (rc < 0) {
        hb_options_blame(j->opt, &err);
        return not_begun(j, rc, &err);
    }
    if (event_base_dispatch(j->base) < 0) {
        rc = hb_fail_errno(&err, HPCBOOT_ERR_INTERNAL,
                           "events cannot be waited for (epoll_wait)");
        return not_begun(j, rc, &err);
    }
    job_signals_hold(SIG_BLOCK); /* until the pause between two lives */
    /* For one that was caught before. NONBLOCK alone goes round as long as a
     * timer is due again in each turn. */
    (void)event_base_loop(j->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    hb_progress_done(j->progress);
    sweep_up(j);
    job_probe_last(j);
    job_tell_lost_pods(j);
    job_report_timing(j);
    if (job_again(j)) {
        job_metrics_write(j, JOB_CONNECTING);
        return LIVES_AGAIN;
    }
    job_signals_hold(SIG_UNBLOCK);
    job_final_words(j);
    job_metrics_write(j, JOB_OVER);
    return j->verdict.status;
}

static int live(struct hb_options *opt, char *const *env, int only_wait,
                struct job_ancestry *ancestry, struct hb_doctor_report *report)
{
    struct job_framework *framework = NULL; /* found in the first life */
    struct hb_lives lives = {
        .hbrun_ns = hb_now_ns(), .hbrun_wall_ns = hb_wall_ns(),
    };
    int status = LIVES_AGAIN;

    job_signals_begin(opt, only_wait);
    while (status == LIVES_AGAIN) {
        struct job j = {.opt = opt, .own = only_wait ? NULL : opt, .env = env,
                        .only_wait = only_wait, .lives = &lives,
                        .only_looks = only_wait || ancestry != NULL ||
                                      opt->only_looks,
                        .framework = framework, .ancestry = ancestry,
                        .report = report};

        status = run(&j);
        if (status != LIVES_AGAIN && !only_wait && !opt->dry_run) {
            job_signals_settle(status);
        }
        framework = j.framework;
        destroy(&j);
        if (status == LIVES_AGAIN) {
            int signo = job_again_pause(&lives);

            if (signo > 0) {
                status = told_to_end(&j, signo);
                job_signals_settle(status);
            }
        }
    }
    job_framework_destroy(framework);
    job_events_close(&lives);
    job_metrics_close(&lives);
    hb_lives_clear(&lives);
    return status;
}

int hb_job_run(struct hb_options *opt, char *const *env)
{
    struct job_ancestry *ancestry = NULL;
    struct hpcboot_error err = {0};
    int status;

    if (job_ancestry_open(&ancestry, opt, env, &err) < 0) {
        hb_log(HB_ERROR, "%s", err.text);
        return HB_EXIT_INTERNAL;
    }
    job_wdirs_complete(opt);
    status = live(opt, env, 0, ancestry, NULL);
    job_ancestry_close(ancestry, status);
    return status;
}

int hb_job_wait(struct hb_options *opt, char *const *env)
{
    return live(opt, env, 1, NULL, NULL);
}

int hb_job_doctor(struct hb_options *opt, char *const *env,
                  struct hb_doctor_report *out)
{
    return live(opt, env, 1, NULL, out);
}

void hb_doctor_report_destroy(struct hb_doctor_report *report)
{
    hb_findings_destroy(&report->found);
    hb_traffic_destroy(&report->traffic);
    hb_strv_destroy(&report->hosts);
    hb_strv_destroy(&report->notes);
}
