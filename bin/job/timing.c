/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Where the time went. Each host notes when its try that worked came to each
 * stage, and when its last rank ran, its first fence was over and its first
 * output was there. What an agent has seen is told in its own clock and turned
 * into the launcher's where it comes in, so that a host deep in the tree is not
 * charged with the way of the message.
 *
 * A phase lasts from one note to the next; spawn, first fence and first output
 * all begin when the job is handed out. A host that skips a phase, as a local
 * one skips the login, is not counted there. */
#include "config.h"

#include "bin/job/timing.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/job_impl.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define NOT_COUNTED (-1)

const char *hb_phase_name(enum hb_phase phase)
{
    static const char *const names[HB_PHASES] = {
        "gather", "resolve", "connect", "authenticate", "agent", "spawn",
        "first fence", "first output",
    };

    return names[phase];
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Keeps the list of the slowest in order; of equals the first. */
static void offer_slowest(struct hb_phase_stats *s, uint32_t who, int64_t ns)
{
    uint32_t have = s->n < HB_SLOWEST ? s->n : HB_SLOWEST;
    uint32_t at = have;

    while (at > 0 && s->slowest_ns[at - 1] < ns) {
        at--;
    }
    for (uint32_t i = have < HB_SLOWEST ? have : HB_SLOWEST - 1; i > at; i--) {
        s->slowest[i] = s->slowest[i - 1];
        s->slowest_ns[i] = s->slowest_ns[i - 1];
    }
    if (at < HB_SLOWEST) {
        s->slowest[at] = who;
        s->slowest_ns[at] = ns;
    }
}

void hb_phase_stats(const int64_t *values, uint32_t n,
                    struct hb_phase_stats *out)
{
    int64_t *sorted = hb_xcalloc((size_t)n + 1, sizeof *sorted);

    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        if (values[i] >= 0) {
            offer_slowest(out, i, values[i]);
            sorted[out->n++] = values[i];
            out->sum_ns += values[i];
        }
    }
    if (out->n > 0) {
        qsort(sorted, out->n, sizeof *sorted, compare);
        out->min_ns = sorted[0];
        out->median_ns = out->n % 2 == 1
            ? sorted[out->n / 2]
            : (sorted[out->n / 2 - 1] + sorted[out->n / 2]) / 2;
        out->p99_ns = sorted[((uint64_t)out->n * 99 + 99) / 100 - 1];
        out->max_ns = sorted[out->n - 1];
    }
    free(sorted);
}

/* Clocks that were compared over a network are not equal to the last
 * microsecond. */
static int64_t span(int64_t from_ns, int64_t to_ns)
{
    if (from_ns == 0 || to_ns == 0) {
        return NOT_COUNTED;
    }
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

static int64_t phase_of(const struct job_host *h, enum hb_phase phase)
{
    const struct job_times *t = &h->times;

    switch (phase) {
    case HB_PHASE_RESOLVE:
        return span(t->stage_ns[HB_STAGE_RESOLVE],
                    t->stage_ns[HB_STAGE_CONNECT]);
    case HB_PHASE_CONNECT:
        return span(t->stage_ns[HB_STAGE_CONNECT],
                    t->stage_ns[HB_STAGE_BANNER]);
    case HB_PHASE_AUTHENTICATE:
        return span(t->stage_ns[HB_STAGE_BANNER],
                    t->stage_ns[HB_STAGE_AGENT]);
    case HB_PHASE_AGENT:
        return span(t->stage_ns[HB_STAGE_AGENT], t->stage_ns[HB_STAGE_READY]);
    case HB_PHASE_SPAWN:
        return span(h->job->ordered_ns, t->spawned_ns);
    case HB_PHASE_FENCE:
        return span(h->job->ordered_ns, t->fence_ns);
    case HB_PHASE_OUTPUT:
        return span(h->job->ordered_ns, t->output_ns);
    default:
        return NOT_COUNTED;
    }
}

void job_phase(const struct job *j, enum hb_phase phase,
               struct hb_phase_stats *out)
{
    int64_t *values;

    if (phase == HB_PHASE_GATHER) {
        const int64_t gather = span(j->begun_ns, j->gathered_ns);

        hb_phase_stats(&gather, 1, out);
        return;
    }
    values = hb_xcalloc(j->gang.n + 1, sizeof *values);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        values[i] = j->hosts != NULL && j->hosts[i].job != NULL
                        ? phase_of(&j->hosts[i], phase) : NOT_COUNTED;
    }
    hb_phase_stats(values, (uint32_t)j->gang.n, out);
    free(values);
}

void host_timed_stage(struct job_host *h, int stage, int64_t at_ns)
{
    h->times.stage_ns[stage] = at_ns;
}

void host_timed_anew(struct job_host *h)
{
    memset(&h->times, 0, sizeof h->times);
}

void job_timed_orders(struct job *j)
{
    j->ordered_ns = hb_now_ns();
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_times *t = &j->hosts[i].times;

        t->spawned_ns = t->fence_ns = t->output_ns = 0;
    }
    j->depth_at_start = hb_grow_depth(j->grow);
    job_event_run(j);
}

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

static const char *slow_name(const struct job *j, enum hb_phase phase,
                             const struct hb_phase_stats *s, uint32_t i)
{
    return phase == HB_PHASE_GATHER ? j->gang.source
                                    : j->hosts[s->slowest[i]].spec->name;
}

static void event_phase(struct job *j, enum hb_phase phase,
                        const struct hb_phase_stats *s)
{
    struct hb_json *js = job_event(j, "timing");

    if (js == NULL) {
        return;
    }
    hb_json_str(js, "phase", hb_phase_name(phase));
    hb_json_int(js, "hosts", s->n);
    hb_json_real(js, "min_ms", ms(s->min_ns));
    hb_json_real(js, "median_ms", ms(s->median_ns));
    hb_json_real(js, "p99_ms", ms(s->p99_ns));
    hb_json_real(js, "max_ms", ms(s->max_ns));
    hb_json_array(js, "slowest");
    for (uint32_t i = 0; i < HB_SLOWEST && i < s->n; i++) {
        hb_json_str(js, NULL, slow_name(j, phase, s, i));
    }
    hb_json_end_array(js);
    job_event_end(j);
}

static void row(struct job *j, enum hb_phase phase)
{
    struct hb_str slowest = HB_STR_INIT;
    struct hb_phase_stats s;

    job_phase(j, phase, &s);
    for (uint32_t i = 0; i < HB_SLOWEST && i < s.n; i++) {
        hb_str_putf(&slowest, "%s%s", i > 0 ? ", " : "",
                    slow_name(j, phase, &s, i));
        if (s.n > 1) {
            hb_str_putf(&slowest, " %.1f", ms(s.slowest_ns[i]));
        }
    }
    if (s.n == 0) {
        hb_log(HB_INFO, "%-13s %5s %9s %9s %9s %9s", hb_phase_name(phase),
               "0", "-", "-", "-", "-");
    } else {
        hb_log(HB_INFO, "%-13s %5u %9.1f %9.1f %9.1f %9.1f  %s",
               hb_phase_name(phase), s.n, ms(s.min_ns), ms(s.median_ns),
               ms(s.p99_ns), ms(s.max_ns), hb_str_text(&slowest));
    }
    event_phase(j, phase, &s);
    hb_str_destroy(&slowest);
}

void job_report_timing(struct job *j)
{
    if (!j->opt->report_timing) {
        return;
    }
    hb_log(HB_INFO, "%-13s %5s %9s %9s %9s %9s  %s", "phase, in ms", "hosts",
           "min", "median", "p99", "max", "slowest");
    for (int phase = 0; phase < HB_PHASES; phase++) {
        row(j, (enum hb_phase)phase);
    }
}
