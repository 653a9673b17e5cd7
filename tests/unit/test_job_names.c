/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Names that are published, and when they go. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bin/job/kept_names.h"

#define CONNECT "hpcboot/connect/job-1:0;job-2:0-3;/1/"

/* readers: of a removal; 0: it has no value. */
static int say(struct kept_names *j, int op, const char *name,
               unsigned char readers)
{
    unsigned char value[4] = {0, 0, 0, readers};
    const struct hb_msg_name m = {
        .op = (uint8_t)op, .name = name,
        .value = {value, readers > 0 ? sizeof value : 0},
    };

    struct hb_bytes found = {NULL, 0};
    int status = kept_names_say(j, &m, &found);

    kept_names_said(j, &m);
    return status;
}

static void end_job(struct kept_names *j, const char *job)
{
    char name[64];

    snprintf(name, sizeof name, KEPT_NAMES_OVER "%s", job);
    say(j, HB_NAME_UNPUBLISH, name, 0);
}

static int is_there(struct kept_names *j, const char *name)
{
    return say(j, HB_NAME_LOOKUP, name, 0) == 0;
}

static void test_the_last_who_has_read_removes(void **state)
{
    struct kept_names j = {0};

    assert_int_equal(say(&j, HB_NAME_PUBLISH, CONNECT "job-1", 1), 0);
    for (int i = 0; i < 3; i++) {
        assert_true(is_there(&j, CONNECT "job-1"));
        assert_int_equal(say(&j, HB_NAME_UNPUBLISH, CONNECT "job-1", 3), 0);
    }
    assert_false(is_there(&j, CONNECT "job-1"));
    kept_names_clear(&j);
}

static void test_what_ranks_have_put_goes_with_their_job(void **state)
{
    struct kept_names j = {0};

    say(&j, HB_NAME_PUBLISH, "hpcboot/modex/job-1/0", 0);
    say(&j, HB_NAME_PUBLISH, "hpcboot/modex/job-2/0", 0);
    say(&j, HB_NAME_PUBLISH, "hpcboot/modex/job-22/0", 0);
    say(&j, HB_NAME_PUBLISH, "mine/job-2/0", 0);
    end_job(&j, "job-2");
    assert_true(is_there(&j, "hpcboot/modex/job-1/0"));
    assert_false(is_there(&j, "hpcboot/modex/job-2/0"));
    assert_true(is_there(&j, "hpcboot/modex/job-22/0"));
    assert_true(is_there(&j, "mine/job-2/0"));
    kept_names_clear(&j);
}

/* Others may still be about to read what it took part in. */
static void test_unread_names_stay_for_a_while(void **state)
{
    struct kept_names j = {0};
    char name[96], job[16];

    for (int i = 0; i < 3000; i++) {
        snprintf(job, sizeof job, "job-%d", i + 2);
        snprintf(name, sizeof name, "hpcboot/connect/job-1:0;%s:0;/1/job-1",
                 job);
        assert_int_equal(say(&j, HB_NAME_PUBLISH, name, 0), 0);
        end_job(&j, job);
        assert_true(is_there(&j, name));
    }
    assert_false(is_there(&j, "hpcboot/connect/job-1:0;job-2:0;/1/job-1"));
    kept_names_clear(&j);
}

static void test_names_of_users_stay_until_they_are_removed(void **state)
{
    struct kept_names j = {0};

    assert_int_equal(say(&j, HB_NAME_PUBLISH, "ocean", 0), 0);
    assert_int_equal(say(&j, HB_NAME_PUBLISH, "ocean", 0),
                     HPCBOOT_ERR_USAGE);
    assert_int_equal(say(&j, HB_NAME_UNPUBLISH, "ocean", 0), 0);
    assert_int_equal(say(&j, HB_NAME_UNPUBLISH, "ocean", 0),
                     HPCBOOT_ERR_NOT_FOUND);
    kept_names_clear(&j);
}

/* Servers of PMIx have such names published by whoever uses a port. */
static void test_a_name_for_one_goes_with_the_first_who_reads(void **state)
{
    struct kept_names j = {0};

    for (int i = 0; i < 2; i++) {
        assert_false(is_there(&j, "port:accept"));
        assert_int_equal(say(&j, HB_NAME_PUBLISH_ONCE, "port:accept", 0), 0);
        assert_int_equal(say(&j, HB_NAME_PUBLISH_ONCE, "port:accept", 0),
                         HPCBOOT_ERR_USAGE);
        assert_true(is_there(&j, "port:accept"));
    }
    assert_false(is_there(&j, "port:accept"));
    kept_names_clear(&j);
}

/* Of servers of PMIx: it begins with the rank that has published it. */
static void test_a_name_goes_with_its_owner_alone(void **state)
{
    struct kept_names j = {0};

    say(&j, HB_NAME_PUBLISH, "ocean", 1);
    assert_int_equal(say(&j, HB_NAME_UNPUBLISH_OWN, "ocean", 2),
                     HPCBOOT_ERR_NOT_FOUND);
    assert_true(is_there(&j, "ocean"));
    assert_int_equal(say(&j, HB_NAME_UNPUBLISH_OWN, "ocean", 1), 0);
    assert_false(is_there(&j, "ocean"));
    assert_int_equal(say(&j, HB_NAME_UNPUBLISH_OWN, "ocean", 1),
                     HPCBOOT_ERR_NOT_FOUND);
    kept_names_clear(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_who_has_read_removes),
        cmocka_unit_test(test_what_ranks_have_put_goes_with_their_job),
        cmocka_unit_test(test_unread_names_stay_for_a_while),
        cmocka_unit_test(test_names_of_users_stay_until_they_are_removed),
        cmocka_unit_test(test_a_name_for_one_goes_with_the_first_who_reads),
        cmocka_unit_test(test_a_name_goes_with_its_owner_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
