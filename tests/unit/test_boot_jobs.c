/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Whose session keys `hpcbootd serve` has. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "bin/boot/serve_jobs.h"
#include "lib/trust/derive.h"

/* Logins that were under way, as many as there may be by default, when the
 * last place of an agent was taken. */
#define RUNNING (HB_SERVE_AGENTS_MAX - 1 + 64)

struct session_key {
    unsigned char bytes[HB_SESSION_KEY_BYTES];
};

static struct session_key session_key(unsigned number)
{
    struct session_key k = {{(unsigned char)number,
                             (unsigned char)(number >> 8)}};

    return k;
}

static unsigned add(struct hb_serve_jobs *jobs, unsigned number)
{
    struct session_key k = session_key(number);

    return hb_serve_jobs_add(jobs, k.bytes, sizeof k.bytes);
}

static int lets_in(const struct hb_serve_jobs *jobs, unsigned number)
{
    struct session_key k = session_key(number);
    struct hb_secret secret = {0};
    struct hb_ed25519 login;
    char *text;
    int is;

    hb_secret_copy(&secret, k.bytes, sizeof k.bytes);
    assert_true(hb_derive_session_login(&secret, &login));
    text = hb_ed25519_public_text(&login);
    is = hb_serve_jobs_accept(jobs, strchr(text, ' ') + 1);
    free(text);
    hb_secret_free(&secret);
    return is;
}

static void jobs_that_run_keep_their_keys(void **state)
{
    struct hb_serve_jobs *jobs = hb_serve_jobs_create();

    for (unsigned i = 0; i < RUNNING; i++) {
        assert_int_not_equal(add(jobs, i), 0);
    }
    for (unsigned i = 0; i < RUNNING; i++) {
        assert_true(lets_in(jobs, i));
    }
    assert_false(lets_in(jobs, RUNNING));
    hb_serve_jobs_destroy(jobs);
}

static void the_job_that_ended_first_gives_way(void **state)
{
    struct hb_serve_jobs *jobs = hb_serve_jobs_create();
    unsigned numbers[HB_SERVE_AGENTS_MAX];

    for (unsigned i = 0; i < HB_SERVE_AGENTS_MAX; i++) {
        numbers[i] = add(jobs, i);
    }
    hb_serve_jobs_end(jobs, numbers[7]);
    hb_serve_jobs_end(jobs, numbers[3]);
    assert_true(lets_in(jobs, 7));
    add(jobs, 1000);
    assert_false(lets_in(jobs, 7));
    assert_true(lets_in(jobs, 3));
    add(jobs, 1001);
    assert_false(lets_in(jobs, 3));
    assert_true(lets_in(jobs, 0));
    assert_true(lets_in(jobs, 1000));
    hb_serve_jobs_destroy(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_that_run_keep_their_keys),
        cmocka_unit_test(the_job_that_ended_first_gives_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
