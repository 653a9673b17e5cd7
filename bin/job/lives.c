/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The policy on failures: names, back-off, whether there is another life, and
 * the memory that goes from one to the next. See lives.h. */
#include "config.h"

#include "bin/job/lives.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define BACKOFF_MAX_MS 60000

static const char *const names[] = {
    [HB_FAIL_ABORT] = "abort", [HB_FAIL_CONTINUE] = "continue",
    [HB_FAIL_RESPAWN] = "respawn", [HB_FAIL_RESTART] = "restart-job",
};

const char *hb_on_failure_name(enum hb_on_failure policy)
{
    return names[policy];
}

int hb_on_failure_parse(const char *text, enum hb_on_failure *out,
                        struct hpcboot_error *err)
{
    *out = HB_FAIL_ABORT;
    for (int i = HB_FAIL_ABORT; text != NULL && i <= HB_FAIL_RESTART; i++) {
        if (hb_streq(text, names[i])) {
            *out = (enum hb_on_failure)i;
            return HPCBOOT_OK;
        }
    }
    return text == NULL ? HPCBOOT_OK
                        : hb_fail(err, HPCBOOT_ERR_USAGE, "--on-failure %s: "
                                  "expected abort, continue, respawn or "
                                  "restart-job", text);
}

int64_t hb_backoff_ms(const struct hb_backoff *b, uint32_t tries)
{
    int64_t ms = b->first_ms;

    for (uint32_t i = 0; i < tries && ms < BACKOFF_MAX_MS; i++) {
        ms *= 2;
    }
    return ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS;
}

void hb_lives_clear(struct hb_lives *l)
{
    for (uint32_t i = 0; i < l->n_known; i++) {
        free(l->known[i].name);
    }
    free(l->known);
    for (uint32_t i = 0; i < l->n_formers; i++) {
        free(l->formers[i].host);
        free(l->formers[i].token);
    }
    free(l->formers);
    free(l->np);
    free(l->source);
    hb_strv_destroy(&l->lost);
    hb_strv_destroy(&l->tried);
    hb_fabric_terms_destroy(&l->fabric);
    memset(l, 0, sizeof *l);
}

int hb_lives_was_lost(const struct hb_lives *l, const char *host)
{
    for (size_t i = 0; i < l->lost.n; i++) {
        if (hb_streq(l->lost.v[i], host)) {
            return 1;
        }
    }
    return 0;
}

void hb_lives_note_lost(struct hb_lives *l, const char *host)
{
    if (!hb_lives_was_lost(l, host)) {
        hb_strv_push(&l->lost, host);
    }
}

static void forget(struct hb_strv *hosts, const char *host)
{
    for (size_t i = hosts->n; i > 0; i--) {
        if (hb_streq(hosts->v[i - 1], host)) {
            hb_strv_remove(hosts, i - 1);
        }
    }
}

void hb_lives_note_back(struct hb_lives *l, const char *host)
{
    forget(&l->lost, host);
}

void hb_lives_note_came_up(struct hb_lives *l, const char *host)
{
    forget(&l->tried, host);
}

const struct hb_life_host *hb_lives_find(const struct hb_lives *l,
                                         const char *host)
{
    for (uint32_t i = 0; i < l->n_known; i++) {
        if (hb_streq(l->known[i].name, host)) {
            return &l->known[i];
        }
    }
    return NULL;
}

void hb_lives_note_seen(struct hb_lives *l, const char *host, uint32_t slots,
                        uint32_t quota_milli)
{
    const struct hb_life_host *found = hb_lives_find(l, host);
    struct hb_life_host *h;

    hb_lives_note_back(l, host);
    if (found == NULL) {
        l->known = hb_xrealloc(l->known, (l->n_known + 1) * sizeof *l->known);
        l->known[l->n_known++].name = hb_xstrdup(host);
        found = &l->known[l->n_known - 1];
    }
    h = &l->known[found - l->known];
    h->slots = slots;
    h->quota_milli = quota_milli;
}

static struct hb_life_former *find_former(const struct hb_lives *l,
                                          const char *host)
{
    for (uint32_t i = 0; i < l->n_formers; i++) {
        if (hb_streq(l->formers[i].host, host)) {
            return &l->formers[i];
        }
    }
    return NULL;
}

void hb_lives_note_former(struct hb_lives *l, const char *host,
                          const char *token)
{
    struct hb_life_former *f = find_former(l, host);

    if (f == NULL) {
        l->formers = hb_xrealloc(l->formers,
                                 (l->n_formers + 1) * sizeof *l->formers);
        f = &l->formers[l->n_formers++];
        *f = (struct hb_life_former){.host = hb_xstrdup(host)};
    }
    free(f->token);
    f->token = hb_xstrdup(token);
}

const char *hb_lives_former(const struct hb_lives *l, const char *host)
{
    const struct hb_life_former *f = find_former(l, host);

    return f != NULL ? f->token : "";
}

int hb_lives_curable(const struct hb_verdict *v)
{
    switch (v->kind) {
    case HB_CAUSE_START:
        return v->status == HB_EXIT_RETRY;
    case HB_CAUSE_EXIT:
    case HB_CAUSE_SIGNAL:
    case HB_CAUSE_ABORT:
    case HB_CAUSE_NO_INIT:
    case HB_CAUSE_NO_FINALIZE:
    case HB_CAUSE_HOST:
    case HB_CAUSE_SPAWNED:
    case HB_CAUSE_RESIZE:
        return 1;
    default:
        return 0;
    }
}

void hb_lives_take_back(struct hb_lives *l)
{
    l->restarts -= l->told;
    l->told = 0;
}

int hb_lives_again(struct hb_lives *l, const struct hb_backoff *b,
                   const struct hb_verdict *v)
{
    if (v->kind == HB_CAUSE_RESIZE) {
        l->delay_ms = 0;
    } else if (!hb_lives_curable(v) || l->failures >= b->max) {
        return 0;
    } else {
        l->delay_ms = hb_backoff_ms(b, l->failures++);
    }
    l->restarts++;
    l->epoch++;
    return 1;
}
