/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a person sees while hosts come up: on a terminal a line that is drawn
 * over itself, elsewhere a line when the counts have changed, now and then.
 * A host counts at the stage where its last try failed until a new try has
 * come further: else everybody would be at "resolve" half of the time. */
#include "config.h"

#include <string.h>

#include "bin/job/bringup.h"
#include "bin/job/job_impl.h"
#include "bin/job/missing.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define TICK_MS 200 /* of the live line */
#define SAY_MS 5000 /* between two lines where there is none */
#define NAMED 3u    /* hosts named in such a line */
#define WHY_MAX_BYTES 80

static enum hb_boot_stage shown_stage(const struct job_host *h)
{
    int failed = h->failed_in_row > 0;

    if (failed && (h->state == HOST_IDLE || h->stage < h->failed_stage)) {
        return h->failed_stage;
    }
    return h->stage;
}

/* What the host is waited for, in a few words where that can be. */
static const char *shown_why(const struct job_host *h, char *text,
                             size_t size)
{
    const char *words;

    if (h->failed_in_row == 0 || shown_stage(h) != h->failed_stage) {
        return hb_boot_stage_name(h->stage);
    }
    words = hb_missing_words(&h->reason, text, size);
    return words != NULL ? words : host_why(h);
}

void job_tally(const struct job *j, struct job_tally *t)
{
    memset(t, 0, sizeof *t);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        if (h->state == HOST_LOST) {
            t->lost++;
        } else if (h->state >= HOST_READY) {
            t->ready += h->state != HOST_DONE;
        } else {
            enum hb_boot_stage at = shown_stage(h);

            t->open++;
            t->at[at]++;
            if (t->slowest == NULL || at < shown_stage(t->slowest)) {
                t->slowest = h;
            }
        }
    }
}

/* "2 at connect, 1 at resolve, 1 given up" */
static void put_stages(const struct job_tally *t, struct hb_str *out)
{
    const char *comma = "";

    for (int s = HB_STAGE_READY - 1; s >= 0; s--) {
        if (t->at[s] > 0) {
            hb_str_putf(out, "%s%u at %s", comma, t->at[s],
                        hb_boot_stage_name((enum hb_boot_stage)s));
            comma = ", ";
        }
    }
    if (t->lost > 0) {
        hb_str_putf(out, "%s%u given up", comma, t->lost);
    }
}

static void show_progress(struct job *j, const struct job_tally *t)
{
    struct hb_str stages = HB_STR_INIT;
    char why[WHY_MAX_BYTES];
    struct hb_progress_view view = {
        .n_ready = t->ready, .n_wanted = j->n_wanted,
        .begun_ns = j->wait_begun_ns,
        .deadline_ns = j->wait_ms > 0 ? j->wait_until_ns : HB_NEVER,
    };

    put_stages(t, &stages);
    view.stages = hb_str_text(&stages);
    if (t->slowest != NULL) {
        view.slowest = t->slowest->spec->name;
        view.why = shown_why(t->slowest, why, sizeof why);
    }
    hb_progress_update(j->progress, &view);
    hb_str_destroy(&stages);
}

void job_wait_say(struct job *j)
{
    struct hb_str text = HB_STR_INIT;
    char why[WHY_MAX_BYTES];
    struct job_tally t;
    unsigned n = 0;

    job_tally(j, &t);
    hb_str_putf(&text, "%u of %u ready", t.ready, j->n_wanted);
    if (t.open + t.lost > 0) {
        hb_str_put(&text, ", ");
        put_stages(&t, &text);
    }
    hb_str_putf(&text, ", %lld s",
                (long long)(hb_now_ns() - j->wait_begun_ns) / 1000000000);
    if (j->wait_ms > 0) {
        hb_str_putf(&text, " of %lld s", (long long)j->wait_ms / 1000);
    }
    for (uint32_t i = 0; i < j->gang.n && n <= NAMED; i++) {
        const struct job_host *h = &j->hosts[i];

        if (h->state >= HOST_READY) {
            continue;
        }
        if (n++ < NAMED) {
            hb_str_putf(&text, "; %s: %s", h->spec->name,
                        shown_why(h, why, sizeof why));
        }
    }
    hb_log(HB_INFO, "waiting for hosts: %s%s", hb_str_text(&text),
           n > NAMED ? "; ..." : "");
    j->waiting_said = 1;
    hb_str_destroy(&text);
}

static void event_tally(struct job *j, const struct job_tally *t)
{
    struct hb_json *js = job_event(j, "waiting");

    if (js == NULL) {
        return;
    }
    hb_json_int(js, "ready", t->ready);
    hb_json_int(js, "hosts", j->n_wanted);
    hb_json_object(js, "stages");
    for (int s = 0; s < HB_STAGE_READY; s++) {
        if (t->at[s] > 0) {
            hb_json_int(js, hb_boot_stage_name((enum hb_boot_stage)s),
                        t->at[s]);
        }
    }
    hb_json_end_object(js);
    if (t->slowest != NULL) {
        hb_json_str(js, "slowest", t->slowest->spec->name);
    }
    job_event_end(j);
}

static int counts_differ(const struct job_tally *a, const struct job_tally *b)
{
    return a->ready != b->ready || a->lost != b->lost ||
           memcmp(a->at, b->at, sizeof a->at) != 0;
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    struct job_tally t;

    if (j->phase != JOB_CONNECTING) {
        return;
    }
    job_tally(j, &t);
    if (j->progress != NULL) {
        show_progress(j, &t);
    }
    if (counts_differ(&t, &j->shown) && hb_now_ns() >= j->say_from_ns) {
        j->say_from_ns = hb_deadline_in_ms(SAY_MS);
        j->shown = t;
        event_tally(j, &t);
        if (j->progress == NULL) {
            job_wait_say(j);
        }
    }
    arm_ms(j->tick_timer, TICK_MS);
}

int job_wait_view_open(struct job *j, struct hpcboot_error *err)
{
    j->tick_timer = evtimer_new(j->base, on_tick, j);
    if (j->tick_timer == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
    }
    j->say_from_ns = hb_deadline_in_ms(SAY_MS);
    arm_ms(j->tick_timer, TICK_MS);
    return 0;
}
