/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What hosts have to say, in words. What is wrong with one host is often wrong
 * with all that are of its kind: a warning is written for the first host that
 * gives it, a second host is named, and what further hosts say of it is seen
 * with --verbose alone. */
#include "config.h"

#include "bin/job/job_impl.h"

#include <stdlib.h>

#include "lib/base/str.h"

#define WARNINGS_KEPT 32 /* to compare with; any further one is written */

struct job_warning {
    char *text;
    const struct job_host *by; /* who gave it first */
    unsigned others;           /* times that others gave it */
};

struct job_notes {
    struct job_warning v[WARNINGS_KEPT];
    unsigned n;
};

/* The warning that this is; NULL: it is new. */
static struct job_warning *known(struct job_host *h, const char *text)
{
    struct job *j = h->job;
    struct job_notes *k;

    if (j->notes == NULL) {
        j->notes = hb_xcalloc(1, sizeof *j->notes);
    }
    k = j->notes;
    for (unsigned i = 0; i < k->n; i++) {
        if (hb_streq(k->v[i].text, text)) {
            return &k->v[i];
        }
    }
    if (k->n < WARNINGS_KEPT) {
        k->v[k->n++] = (struct job_warning){hb_xstrdup(text), h, 0};
    }
    return NULL;
}

void job_note(struct job_host *h, enum hb_log_level level, const char *text)
{
    struct job_warning *w = level == HB_WARN ? known(h, text) : NULL;

    if (w == NULL || w->by == h) {
        hb_log(level, "host %s: %s", h->spec->name, text);
    } else if (w->others++ == 0) {
        hb_log(level, "host %s says that too, and others may; -v writes what "
               "each says", h->spec->name);
    } else {
        hb_log(HB_DEBUG, "host %s: %s", h->spec->name, text);
    }
}

void job_notes_destroy(struct job_notes *k)
{
    for (unsigned i = 0; k != NULL && i < k->n; i++) {
        free(k->v[i].text);
    }
    free(k);
}
