/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Findings: collected, merged where several hosts have the same, carried, and
 * shown with the worst first. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/doctor/doctor.h"

#define HOSTS_SHOWN 4u

const char *hb_grade_name(enum hb_grade grade)
{
    static const char *const names[] = {"good", "degraded", "bad"};

    return names[grade];
}

static int is_same(const struct hb_finding *a, const struct hb_finding *b)
{
    return a->grade == b->grade && strcmp(a->check, b->check) == 0 &&
           strcmp(a->what, b->what) == 0;
}

void hb_finding_add(struct hb_findings *f, const struct hb_finding *what,
                    const char *where)
{
    struct hb_finding *to = NULL;

    for (size_t i = 0; i < f->n && to == NULL; i++) {
        to = is_same(&f->v[i], what) ? &f->v[i] : NULL;
    }
    if (to == NULL) {
        f->v = hb_xrealloc(f->v, (f->n + 1) * sizeof *f->v);
        to = &f->v[f->n++];
        *to = (struct hb_finding){
            .grade = what->grade, .check = hb_xstrdup(what->check),
            .what = hb_xstrdup(what->what), .why = hb_xstrdup(what->why),
            .mend = hb_xstrdup(what->mend)};
    }
    if (where != NULL) {
        hb_strv_push(&to->where, where);
    }
}

void hb_findings_destroy(struct hb_findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->v[i].check);
        free(f->v[i].what);
        free(f->v[i].why);
        free(f->v[i].mend);
        hb_strv_destroy(&f->v[i].where);
    }
    free(f->v);
    memset(f, 0, sizeof *f);
}

enum hb_grade hb_findings_grade(const struct hb_findings *f)
{
    enum hb_grade worst = HB_GRADE_GOOD;

    for (size_t i = 0; i < f->n; i++) {
        worst = f->v[i].grade > worst ? f->v[i].grade : worst;
    }
    return worst;
}

void hb_findings_put(const struct hb_findings *f, struct hb_strv *out)
{
    for (size_t i = 0; i < f->n; i++) {
        hb_strv_push(out, hb_grade_name(f->v[i].grade));
        hb_strv_push(out, f->v[i].check);
        hb_strv_push(out, f->v[i].what);
        hb_strv_push(out, f->v[i].why);
        hb_strv_push(out, f->v[i].mend);
    }
}

int hb_finding_take(struct hb_findings *f, const char *const *texts,
                    const char *where, struct hpcboot_error *err)
{
    struct hb_finding one = {
        .check = (char *)texts[1], .what = (char *)texts[2],
        .why = (char *)texts[3], .mend = (char *)texts[4]};

    for (int g = HB_GRADE_DEGRADED; g <= HB_GRADE_BAD; g++) {
        if (strcmp(texts[0], hb_grade_name((enum hb_grade)g)) == 0) {
            one.grade = (enum hb_grade)g;
            hb_finding_add(f, &one, where);
            return HPCBOOT_OK;
        }
    }
    return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a finding without a grade");
}

static void put_hosts(const struct hb_strv *hosts, size_t n_hosts,
                      struct hb_str *out)
{
    if (hosts->n > HOSTS_SHOWN && hosts->n == n_hosts) {
        hb_str_putf(out, "all %zu hosts", n_hosts);
        return;
    }
    for (size_t i = 0; i < hosts->n && i < HOSTS_SHOWN; i++) {
        hb_str_putf(out, "%s%s", i > 0 ? ", " : "", hosts->v[i]);
    }
    if (hosts->n > HOSTS_SHOWN) {
        hb_str_putf(out, " and %zu more", hosts->n - HOSTS_SHOWN);
    }
}

void hb_findings_text(const struct hb_findings *f, size_t n_hosts,
                      struct hb_str *out)
{
    for (int g = HB_GRADE_BAD; g >= HB_GRADE_DEGRADED; g--) {
        for (size_t i = 0; i < f->n; i++) {
            const struct hb_finding *one = &f->v[i];

            if (one->grade != (enum hb_grade)g) {
                continue;
            }
            hb_str_putf(out, "%-9s %s: ", hb_grade_name(one->grade),
                        one->check);
            put_hosts(&one->where, n_hosts, out);
            hb_str_putf(out, ": %s\n", one->what);
            hb_str_putf(out, "          why: %s\n", one->why);
            hb_str_putf(out, "          mend: %s\n", one->mend);
        }
    }
}

void hb_findings_json(const struct hb_findings *f, struct hb_json *j)
{
    hb_json_array(j, "findings");
    for (size_t i = 0; i < f->n; i++) {
        hb_json_object(j, NULL);
        hb_json_str(j, "grade", hb_grade_name(f->v[i].grade));
        hb_json_str(j, "check", f->v[i].check);
        hb_json_array(j, "hosts");
        for (size_t h = 0; h < f->v[i].where.n; h++) {
            hb_json_str(j, NULL, f->v[i].where.v[h]);
        }
        hb_json_end_array(j);
        hb_json_str(j, "what", f->v[i].what);
        hb_json_str(j, "why", f->v[i].why);
        hb_json_str(j, "mend", f->v[i].mend);
        hb_json_end_object(j);
    }
    hb_json_end_array(j);
}
