/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot doctor: goes to the gang's hosts as hbrun would, asks each what is
 * wrong with it, compares them, and starts no rank. What it finds comes with
 * where, why it matters, and how to mend it. */

#include "config.h"

#include "bin/cli/options.h"
#include "bin/hpcboot/command.h"
#include "bin/hpcboot/gang_args.h"
#include "bin/hpcboot/result.h"
#include "bin/job/job.h"
#include "bin/job/verdict.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

extern char **environ;

#define EXIT_DEGRADED 1
#define EXIT_BAD 3

struct wanted {
    struct hb_gang_wanted gang;
    const char *format, *output, *program;
};
#define AT(f) offsetof(struct wanted, f)

static const char *format_name(size_t i)
{
    static const char *const names[] = {"text", "json"};

    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const struct hb_arg args[] = {
    HB_GANG_ARGS(struct wanted),
    {"format f", "FORM", "text or json", AT(format), format_name},
    {"output o", "FILE", "write to FILE, in one step", AT(output), NULL},
    {"program", "FILE", "compare this program and its libraries, too",
     AT(program), NULL},
    {NULL, NULL, NULL, 0, NULL},
};

static const char *more(void)
{
    return "Exit status: 0 good, 1 degraded, 3 bad; 75 hosts are missing, 2 "
           "the line is wrong.\n";
}

static int exit_status(enum hb_grade grade)
{
    return grade == HB_GRADE_BAD ? EXIT_BAD
           : grade == HB_GRADE_DEGRADED ? EXIT_DEGRADED : 0;
}

static void put_text(const struct hb_doctor_report *r, struct hb_str *out)
{
    enum hb_grade grade = hb_findings_grade(&r->found);

    hb_findings_text(&r->found, r->hosts.n, out);
    for (size_t i = 0; i < r->notes.n; i++) {
        hb_str_putf(out, "%s\n", r->notes.v[i]);
    }
    hb_str_putf(out, "%s: %zu host%s, %zu finding%s\n", hb_grade_name(grade),
                r->hosts.n, r->hosts.n == 1 ? "" : "s", r->found.n,
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
    hb_json_end_object(&j);
    hb_str_putc(out, '\n');
}

static int show(const struct wanted *w, const struct hb_doctor_report *r)
{
    struct hb_str out = HB_STR_INIT;
    struct hpcboot_error err = {0};
    int rc;

    if (hb_streq(w->format, "json")) {
        put_json(r, &out);
    } else {
        put_text(r, &out);
    }
    rc = hb_result_write(w->output, hb_str_text(&out), out.len, &err);
    if (rc < 0) {
        hb_log(HB_ERROR, "doctor: %s", err.text);
    }
    hb_str_destroy(&out);
    return rc < 0 ? HB_EXIT_OUTPUT : exit_status(hb_findings_grade(&r->found));
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    struct wanted w = {0};
    struct hb_doctor_report report = {0};
    struct hb_strv line = HB_STRV_INIT;
    struct hb_options *opt = NULL;
    int rc = hb_command_scan(self, &w, argc, argv), status = HB_EXIT_USAGE;

    if (rc <= 0) {
        return rc < 0 ? HB_EXIT_USAGE : 0;
    }
    if (hb_fd_fill_standard(NULL) < 0) {
        return HB_EXIT_INTERNAL; /* there may be nowhere to say it */
    }
    hb_gang_words(args, &w, &line);
    hb_strv_push(&line, w.program != NULL ? w.program : "true");
    report.with_program = w.program != NULL;
    if (hb_gang_options(&opt, &line, "doctor") >= 0) {
        status = hb_job_doctor(opt, environ, &report);
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
