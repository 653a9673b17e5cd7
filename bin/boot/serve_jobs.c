/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Jobs whose launchers `hpcbootd serve` lets in again: each has a session key
 * of its own, which needs none of the mounted ones. A job that runs keeps its
 * place; of those that have ended the oldest gives way to a new one. */
#include "config.h"

#include "bin/boot/serve_jobs.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/trust/base64.h"
#include "lib/trust/derive.h"

/* Places that are not given back: as many as there are agents, as a rule. More
 * are made where all these run, since logins that were under way when the last
 * place of an agent was taken become agents, too. */
#define PLACES HB_SERVE_AGENTS_MAX
/* A launcher that lost an agent comes back within this time, or never. */
#define KEPT_MS (10 * 60 * 1000)

struct job {
    char *key; /* the public one, in base64 */
    unsigned number;
    int64_t until_ns; /* HB_NEVER: it runs */
};

struct hb_serve_jobs {
    struct job *v;
    size_t n;
    unsigned n_ever;
};

struct hb_serve_jobs *hb_serve_jobs_create(void)
{
    return hb_xcalloc(1, sizeof(struct hb_serve_jobs));
}

void hb_serve_jobs_destroy(struct hb_serve_jobs *jobs)
{
    if (!jobs) {
        return;
    }
    for (size_t i = 0; i < jobs->n; i++) {
        free(jobs->v[i].key);
    }
    free(jobs->v);
    free(jobs);
}

static struct job *new_place(struct hb_serve_jobs *jobs)
{
    jobs->v = hb_xrealloc(jobs->v, (jobs->n + 1) * sizeof *jobs->v);
    jobs->v[jobs->n] = (struct job){.key = NULL};
    return &jobs->v[jobs->n++];
}

/* That of the job which has ended longest, unless there are few yet. */
static struct job *place_of(struct hb_serve_jobs *jobs)
{
    struct job *place = NULL;

    for (size_t i = 0; jobs->n >= PLACES && i < jobs->n; i++) {
        struct job *j = &jobs->v[i];

        if (j->until_ns != HB_NEVER
            && (!place || j->until_ns < place->until_ns)) {
            place = j;
        }
    }
    return place ? place : new_place(jobs);
}

static char *public_of(const struct hb_ed25519 *login)
{
    unsigned char blob[HB_ED25519_BLOB_BYTES];
    struct hb_str text = HB_STR_INIT;

    hb_ed25519_blob(login, blob);
    hb_base64_encode(&text, blob, sizeof blob, 0);
    return text.s;
}

unsigned hb_serve_jobs_add(struct hb_serve_jobs *jobs,
                           const unsigned char *session, size_t len)
{
    struct hb_secret secret = {0};
    struct hb_ed25519 login;
    struct job *j = NULL;

    hb_secret_copy(&secret, session, len);
    if (hb_derive_session_login(&secret, &login)) {
        j = place_of(jobs);
        free(j->key);
        *j = (struct job){public_of(&login), ++jobs->n_ever, HB_NEVER};
    }
    explicit_bzero(&login, sizeof login);
    hb_secret_free(&secret);
    return j ? j->number : 0;
}

void hb_serve_jobs_end(struct hb_serve_jobs *jobs, unsigned number)
{
    for (size_t i = 0; i < jobs->n; i++) {
        if (number > 0 && jobs->v[i].number == number) {
            jobs->v[i].until_ns = hb_deadline_in_ms(KEPT_MS);
        }
    }
}

int hb_serve_jobs_accept(const struct hb_serve_jobs *jobs, const char *key)
{
    for (size_t i = 0; i < jobs->n; i++) {
        const struct job *j = &jobs->v[i];

        if (hb_streq(j->key, key) && hb_deadline_left_ms(j->until_ns) > 0) {
            return 1;
        }
    }
    return 0;
}
