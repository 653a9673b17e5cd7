/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* --metrics: what a job is doing, in the text format of Prometheus, for its
 * node exporter's collector of text files or any other reader. The file is
 * written anew when the job begins, every ten seconds, when a life of it ends,
 * and at its end; a reader sees the old one or the new one, never a part. A job
 * that ends between two lives leaves what the last one had. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/cli/own_output.h"
#include "bin/job/job_impl.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define PERIOD_MS 10000 /* more often than anybody collects them */

struct job_metrics {
    struct event *timer; /* of the present life's loop; or NULL */
    char *path, *fresh; /* the file, and the next one beside it */
    struct hb_str life; /* what was written last of its hosts and ranks */
    uint64_t tries, output_bytes[2]; /* as of struct job, of former lives */
    int ill;            /* it cannot be written, which was said */
};

static void family(struct hb_str *o, const char *name, const char *type,
                   const char *help)
{
    hb_str_putf(o, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* As the format wants it in a label: backslash, quote and line end. */
static void put_label(struct hb_str *o, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            hb_str_put(o, "\\n");
        } else if (*text == '\\' || *text == '"') {
            hb_str_putf(o, "\\%c", *text);
        } else {
            hb_str_putc(o, *text);
        }
    }
}

static void put_info(const struct job *j, struct hb_str *o)
{
    family(o, "hpcboot_job_info", "gauge", "The job; always 1.");
    hb_str_put(o, "hpcboot_job_info{id=\"");
    put_label(o, j->id);
    hb_str_put(o, "\",version=\"" PACKAGE_VERSION "\",source=\"");
    put_label(o, j->gang.source != NULL ? j->gang.source : "");
    hb_str_putf(o, "\",pmi=\"%s\"} 1\n",
                hb_pm_family_name(j->family.family));
}

static void put_times(const struct job *j, enum job_phase phase,
                      struct hb_str *o)
{
    static const char *const phases[] = {
        [JOB_CONNECTING] = "connecting", [JOB_RUNNING] = "running",
        [JOB_ENDING] = "ending", [JOB_OVER] = "over",
    };

    family(o, "hpcboot_job_start_time_seconds", "gauge",
           "When hbrun was started, in seconds since 1970.");
    hb_str_putf(o, "hpcboot_job_start_time_seconds %.3f\n",
                (double)j->lives->hbrun_wall_ns / 1e9);
    family(o, "hpcboot_job_duration_seconds", "gauge",
           "How long the job has been there.");
    hb_str_putf(o, "hpcboot_job_duration_seconds %.3f\n",
                (double)(hb_now_ns() - j->lives->hbrun_ns) / 1e9);
    family(o, "hpcboot_job_phase", "gauge",
           "1 for what the job is at, 0 for all else.");
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        hb_str_putf(o, "hpcboot_job_phase{phase=\"%s\"} %d\n", phases[i],
                    (size_t)phase == i);
    }
    family(o, "hpcboot_job_exit_status", "gauge",
           "Exit status of the job as far as it is known.");
    hb_str_putf(o, "hpcboot_job_exit_status %d\n", j->verdict.status);
}

static void put_hosts(const struct job *j, struct hb_str *o)
{
    static const char *const states[] = {
        [HOST_IDLE] = "waiting", [HOST_BOOTING] = "connecting",
        [HOST_LINKED] = "connecting", [HOST_READY] = "ready",
        [HOST_RUNNING] = "running", [HOST_RELAY] = "relay",
        [HOST_DONE] = "done", [HOST_LOST] = "lost",
    };
    unsigned n[sizeof states / sizeof *states] = {0};
    unsigned depth = j->grow != NULL ? hb_grow_depth(j->grow) : 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        enum host_state s = j->hosts[i].state;

        n[s == HOST_LINKED ? HOST_BOOTING : s]++;
    }
    family(o, "hpcboot_hosts", "gauge", "Hosts of the job by state.");
    for (int s = 0; s <= HOST_LOST; s++) {
        if (s != HOST_LINKED) {
            hb_str_putf(o, "hpcboot_hosts{state=\"%s\"} %u\n", states[s],
                        n[s]);
        }
    }
    family(o, "hpcboot_host_start_attempts_total", "counter",
           "How often an agent was to be started, on all hosts.");
    hb_str_putf(o, "hpcboot_host_start_attempts_total %" PRIu64 "\n",
                j->metrics->tries + j->tries);
    family(o, "hpcboot_tree_depth", "gauge",
           "Logins from hbrun to the farthest host.");
    /* Hosts that have left, as all have in the end, are none of it. */
    hb_str_putf(o, "hpcboot_tree_depth %u\n",
                depth > j->depth_at_start ? depth : j->depth_at_start);
}

static void put_ranks(const struct job *j, struct hb_str *o)
{
    unsigned pending = 0, running = 0, ended = 0;

    for (uint32_t r = 0; j->map != NULL && j->ranks != NULL &&
                         r < j->map->n_ranks; r++) {
        ended += j->ranks[r].ended;
        running += j->ranks[r].started && !j->ranks[r].ended;
        pending += !j->ranks[r].started && !j->ranks[r].ended;
    }
    family(o, "hpcboot_ranks", "gauge", "Ranks of the job by state.");
    hb_str_putf(o, "hpcboot_ranks{state=\"pending\"} %u\n"
                "hpcboot_ranks{state=\"running\"} %u\n"
                "hpcboot_ranks{state=\"ended\"} %u\n", pending, running,
                ended);
    family(o, "hpcboot_output_bytes_total", "counter",
           "Output of ranks that has come to hbrun.");
    hb_str_putf(o, "hpcboot_output_bytes_total{stream=\"stdout\"} %" PRIu64
                "\nhpcboot_output_bytes_total{stream=\"stderr\"} %" PRIu64
                "\n", j->metrics->output_bytes[0] + j->output_bytes[0],
                j->metrics->output_bytes[1] + j->output_bytes[1]);
}

static void put_label_of_phase(struct hb_str *o, enum hb_phase phase)
{
    for (const char *c = hb_phase_name(phase); *c != '\0'; c++) {
        hb_str_putc(o, *c == ' ' ? '_' : *c);
    }
}

static void put_phase(const struct job *j, enum hb_phase phase,
                      struct hb_str *o)
{
    struct hb_str name = HB_STR_INIT;
    struct hb_phase_stats s;

    job_phase(j, phase, &s);
    put_label_of_phase(&name, phase);
    const struct {
        const char *quantile;
        int64_t ns;
    } quantiles[] = {
        {"0", s.min_ns}, {"0.5", s.median_ns}, {"0.99", s.p99_ns},
        {"1", s.max_ns},
    };

    for (size_t i = 0; i < 4 && s.n > 0; i++) {
        hb_str_putf(o, "hpcboot_host_phase_seconds{phase=\"%s\","
                    "quantile=\"%s\"} %.6f\n", hb_str_text(&name),
                    quantiles[i].quantile, (double)quantiles[i].ns / 1e9);
    }
    hb_str_putf(o, "hpcboot_host_phase_seconds_sum{phase=\"%s\"} %.6f\n"
                "hpcboot_host_phase_seconds_count{phase=\"%s\"} %u\n",
                hb_str_text(&name), (double)s.sum_ns / 1e9,
                hb_str_text(&name), s.n);
    hb_str_destroy(&name);
}

static void put_life(const struct job *j, struct hb_str *o)
{
    put_info(j, o);
    put_hosts(j, o);
    put_ranks(j, o);
    family(o, "hpcboot_host_phase_seconds", "summary",
           "How long hosts took for each phase of the start.");
    for (int phase = 0; phase < HB_PHASES; phase++) {
        put_phase(j, (enum hb_phase)phase, o);
    }
}

/* The old file is replaced by a whole new one. ERR_USAGE: there can be no file
 * at that place; ERR_SYSTEM: the disk has no room for it now. */
static int write_file(struct job_metrics *m, const struct hb_str *text,
                      struct hpcboot_error *err)
{
    int fd = open(m->fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
                  O_NOFOLLOW, 0644);
    struct hpcboot_error why = {0};
    int rc;

    if (fd < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_USAGE, "--metrics %s", m->path);
    }
    rc = hb_fd_write_all(fd, text->s, text->len, &why);
    if (rc < 0) {
        hb_fail(err, rc, "--metrics %s: %s", m->path, strerror(why.sys_errno));
    } else if (rename(m->fresh, m->path) < 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_USAGE, "--metrics %s", m->path);
    }
    hb_fd_close(&fd);
    if (rc < 0) {
        (void)unlink(m->fresh);
    }
    return rc;
}

static int write_all(const struct job *j, enum job_phase phase,
                     struct hpcboot_error *err)
{
    struct job_metrics *m = j->lives->metrics;
    struct hb_str text = HB_STR_INIT;
    int rc;

    put_times(j, phase, &text);
    hb_str_putn(&text, m->life.s, m->life.len);
    rc = write_file(m, &text, err);
    hb_str_destroy(&text);
    return rc;
}

/* A disk that is full for a while is no reason to end a job. */
static void note_outcome(struct job_metrics *m, int rc,
                         const struct hpcboot_error *err)
{
    if (rc < 0 && !m->ill) {
        hb_log(HB_WARN, "%s; the metrics stay as they were", err->text);
    }
    m->ill = rc < 0;
}

static void take_life(struct job *j)
{
    hb_str_destroy(&j->metrics->life);
    put_life(j, &j->metrics->life);
}

void job_metrics_write(struct job *j, enum job_phase phase)
{
    struct hpcboot_error err = {0};

    if (j->metrics != NULL) {
        take_life(j);
        note_outcome(j->metrics, write_all(j, phase, &err), &err);
    }
}

void job_metrics_last(const struct job *j)
{
    struct hpcboot_error err = {0};

    if (j->lives->metrics != NULL) {
        note_outcome(j->lives->metrics, write_all(j, JOB_OVER, &err), &err);
    }
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;

    job_metrics_write(j, j->phase);
    arm_ms(j->metrics->timer, PERIOD_MS);
}

/* Links are followed, so that they stay; a device or a pipe would be replaced,
 * and whoever else uses it would miss it, and where hbrun's own output goes,
 * what ranks print would be lost. NULL: that is what is there. */
static char *regular_target(const char *path, struct hpcboot_error *err)
{
    struct stat st;
    char *target;

    if (stat(path, &st) == 0 &&
        (!S_ISREG(st.st_mode) || hb_own_output(&st) >= 0)) {
        hb_fail(err, HPCBOOT_ERR_USAGE, "--metrics %s: this is %s, and each "
                "writing replaces the file as a whole; give another name",
                path, S_ISREG(st.st_mode) ? "where hbrun's own output goes"
                                          : "no regular file");
        return NULL;
    }
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        hb_fd_close(&fd); /* there is something now that it leads to */
    }
    target = realpath(path, NULL);
    return target != NULL ? target : hb_xstrdup(path);
}

/* That of events is there by now. */
static int check_events(const struct job *j, const char *path,
                        struct hpcboot_error *err)
{
    struct stat events, st;

    return j->opt->events != NULL && stat(j->opt->events, &events) == 0 &&
           stat(path, &st) == 0 && events.st_dev == st.st_dev &&
           events.st_ino == st.st_ino
               ? hb_fail(err, HPCBOOT_ERR_USAGE, "--metrics %s: this is the "
                         "file of --events, too; give another name", path)
               : 0;
}

static int make(struct job *j, struct hpcboot_error *err)
{
    struct job_metrics *m;
    char *path = check_events(j, j->opt->metrics, err) == 0
                     ? regular_target(j->opt->metrics, err) : NULL;

    if (path == NULL) {
        return HPCBOOT_ERR_USAGE;
    }
    m = j->lives->metrics = hb_xcalloc(1, sizeof *m);
    m->path = path;
    /* A name that collectors of *.prom do not take for a file of theirs. */
    m->fresh = hb_xasprintf("%s.%ld", m->path, (long)getpid());
    return 0;
}

/* That there can be no file at that place is a mistake in the first life, and
 * has come about in another one. */
int job_metrics_open(struct job *j, struct hpcboot_error *err)
{
    int is_first = j->lives->metrics == NULL, rc = 0;

    if (j->opt->metrics == NULL) {
        return 0;
    }
    if (is_first) {
        rc = make(j, err);
    }
    if (rc < 0) {
        return rc;
    }
    j->metrics = j->lives->metrics;
    j->metrics->timer = evtimer_new(j->base, on_time, j);
    if (j->metrics->timer == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
    }
    arm_ms(j->metrics->timer, PERIOD_MS);
    take_life(j);
    rc = write_all(j, j->phase, err);
    if (is_first && rc == HPCBOOT_ERR_USAGE) {
        j->metrics->ill = 1; /* the caller says so */
        return rc;
    }
    note_outcome(j->metrics, rc, err);
    return 0;
}

/* Counters do not go back. */
void job_metrics_leave(struct job *j)
{
    struct job_metrics *m = j->metrics;

    if (m == NULL) {
        return;
    }
    m->tries += j->tries;
    for (int i = 0; i < 2; i++) {
        m->output_bytes[i] += j->output_bytes[i];
    }
    if (m->timer != NULL) {
        event_free(m->timer);
        m->timer = NULL;
    }
}

void job_metrics_close(struct hb_lives *l)
{
    struct job_metrics *m = l->metrics;

    if (m == NULL) {
        return;
    }
    hb_str_destroy(&m->life);
    free(m->path);
    free(m->fresh);
    free(m);
    l->metrics = NULL;
}
