/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot doctor: goes to the gang's hosts as hbrun would, asks each what is
 * wrong with it, compares them, lets them send messages to each other, and
 * starts no rank. What it finds comes with where, why it matters, and how to
 * mend it. */

#include "config.h"

#include <signal.h>

#include "bin/cli/options.h"
#include "bin/hpcboot/command.h"
#include "bin/hpcboot/gang_args.h"
#include "bin/hpcboot/heatmap.h"
#include "bin/hpcboot/result.h"
#include "bin/job/job.h"
#include "bin/job/verdict.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

extern char **environ;

#define EXIT_DEGRADED 1
#define EXIT_BAD 3

struct wanted {
    struct hb_gang_wanted gang;
    const char *format, *output, *program, *traffic, *fabric;
};
#define AT(f) offsetof(struct wanted, f)

static const char *format_name(size_t i)
{
    static const char *const names[] = {"text", "json", "svg", "png"};

    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const char *traffic_name(size_t i)
{
    static const char *const names[] = {
        [HB_TRAFFIC_AUTO] = "auto", [HB_TRAFFIC_ALL] = "all",
        [HB_TRAFFIC_NONE] = "none"};

    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

/* Or a device. */
static const char *fabric_name(size_t i)
{
    static const char *const names[] = {"auto", "ib", "roce", "tcp"};

    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const struct hb_arg args[] = {
    HB_GANG_ARGS(struct wanted),
    {"format f", "FORM", "text, json, or a map of the traffic: svg, png",
     AT(format), format_name},
    {"output o", "FILE", "write to FILE, in one step", AT(output), NULL},
    {"program", "FILE", "compare this program and its libraries, too",
     AT(program), NULL},
    {"traffic", "HOW", "messages between hosts: auto, all pairs, or none",
     AT(traffic), traffic_name},
    {"fabric", "HOW", "what they go by: auto, ib, roce, tcp, or a device",
     AT(fabric), fabric_name, 0, hb_gang_any},
    {NULL, NULL, NULL, 0, NULL},
};

static const char *more(void)
{
    return "Exit status: 0 good, 1 degraded, 3 bad; 75 hosts are missing;\n"
           "2 the line is wrong.\n";
}

static int exit_status(enum hb_grade grade)
{
    return grade == HB_GRADE_BAD ? EXIT_BAD
           : grade == HB_GRADE_DEGRADED ? EXIT_DEGRADED : 0;
}

static void put_text(const struct hb_doctor_report *r, struct hb_str *out)
{
    enum hb_grade grade = hb_findings_grade(&r->found);

    hb_traffic_text(&r->traffic, out);
    hb_findings_text(&r->found, r->hosts.n + r->n_missing, out);
    for (size_t i = 0; i < r->notes.n; i++) {
        hb_str_putf(out, "%s\n", r->notes.v[i]);
    }
    hb_str_putf(out, "%s: %zu", hb_grade_name(grade), r->hosts.n);
    if (r->n_missing > 0) {
        hb_str_putf(out, " of %zu", r->hosts.n + r->n_missing);
    }
    hb_str_putf(out, " host%s, %zu finding%s\n",
                r->hosts.n + r->n_missing == 1 ? "" : "s", r->found.n,
                r->found.n == 1 ? "" : "s");
}

static void put_list(struct hb_json *j, const char *key,
                     const struct hb_strv *list)
{
    hb_json_array(j, key);
    for (size_t i = 0; i < list->n; i++) {
        hb_json_str(j, NULL, list->v[i]);
    }
    hb_json_end_array(j);
}

static void put_json(const struct hb_doctor_report *r, struct hb_str *out)
{
    struct hb_json j;

    hb_json_begin(&j, out);
    hb_json_object(&j, NULL);
    hb_json_str(&j, "grade", hb_grade_name(hb_findings_grade(&r->found)));
    put_list(&j, "hosts", &r->hosts);
    hb_findings_json(&r->found, &j);
    put_list(&j, "notes", &r->notes);
    hb_traffic_json(&r->traffic, &j);
    hb_json_end_object(&j);
    hb_str_putc(out, '\n');
}

/* -1, and *err: the picture cannot be made. */
static int put_map(const struct hb_doctor_report *r, int is_png,
                   struct hb_str *out, struct hpcboot_error *err)
{
    struct hb_drawing d = {0};
    struct hb_buf bytes;
    int rc = 0;

    hb_heatmap_draw(&r->traffic, &d);
    if (is_png) {
        hb_buf_init(&bytes, HB_DRAWING_BYTES_MAX);
        rc = hb_drawing_png(&d, &bytes, err);
        hb_str_putn(out, (const char *)bytes.data, rc < 0 ? 0 : bytes.len);
        hb_buf_destroy(&bytes);
    } else {
        hb_drawing_svg(&d, out);
    }
    hb_drawing_destroy(&d);
    return rc;
}

static int show(const struct wanted *w, const struct hb_doctor_report *r)
{
    struct hb_str out = HB_STR_INIT;
    struct hpcboot_error err = {0};
    int is_png = hb_streq(w->format, "png"), rc = 0;

    if (hb_streq(w->format, "json")) {
        put_json(r, &out);
    } else if (is_png || hb_streq(w->format, "svg")) {
        rc = put_map(r, is_png, &out, &err);
    } else {
        put_text(r, &out);
    }
    if (rc == 0) {
        rc = hb_result_write(w->output, hb_str_text(&out), out.len, &err);
    }
    if (rc < 0) {
        hb_log(HB_ERROR, "doctor: %s", err.text);
    }
    hb_str_destroy(&out);
    return rc < 0 ? HB_EXIT_OUTPUT : exit_status(hb_findings_grade(&r->found));
}

/* A job ignores SIGPIPE; a command does so where its caller does. */
static int examine(struct hb_options *opt, struct hb_doctor_report *report)
{
    struct sigaction before;
    int status;

    sigaction(SIGPIPE, NULL, &before);
    status = hb_job_doctor(opt, environ, report);
    sigaction(SIGPIPE, &before, NULL);
    return status;
}

/* The index of a name that was checked when it was scanned. */
static size_t index_of(const char *(*names)(size_t i), const char *name)
{
    size_t i = 0;

    while (name != NULL && !hb_streq(names(i), name)) {
        i++;
    }
    return i;
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    struct wanted w = {0};
    struct hb_doctor_report report = {0};
    struct hb_strv line = HB_STRV_INIT;
    struct hb_options *opt = NULL;
    struct hpcboot_error err = {0};
    int rc = hb_command_scan(self, &w, argc, argv), status = HB_EXIT_USAGE;

    if (rc <= 0) {
        return rc < 0 ? HB_EXIT_USAGE : 0;
    }
    if (hb_streq(w.traffic, "none") &&
        (hb_streq(w.format, "svg") || hb_streq(w.format, "png"))) {
        hb_log(HB_ERROR, "doctor: --format %s draws the traffic, and "
               "--traffic none leaves it out", w.format);
        return HB_EXIT_USAGE;
    }
    hb_gang_words(args, &w, &line);
    if (w.fabric != NULL) {
        hb_strv_pushf(&line, "--fabric=%s", w.fabric);
    }
    hb_strv_push(&line, w.program != NULL ? w.program : "true");
    report.with_program = w.program != NULL;
    report.traffic_how =
        (enum hb_traffic_how)index_of(traffic_name, w.traffic);
    if (hb_result_check(w.output, &err) < 0) {
        hb_log(HB_ERROR, "doctor: --output %s", err.text);
        status = HB_EXIT_OUTPUT;
    } else if (hb_gang_options(&opt, &line, "doctor") >= 0) {
        status = examine(opt, &report);
        status = status == 0 ? show(&w, &report) : status;
    }
    hb_doctor_report_destroy(&report);
    hb_options_destroy(opt);
    hb_strv_destroy(&line);
    return status;
}

const struct hb_command hb_command_doctor = {
    .name = "doctor",
    .summary = "look for what is wrong with the gang's hosts",
    .args = args,
    .more = more,
    .run = run,
};
