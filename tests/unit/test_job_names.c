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

static void told(void *who, uint32_t src, const struct hb_msg_name_reply *reply)
{
    *(int *)who = reply->status;
}

/* readers: of a removal; 0: it has no value. */
static int say(struct kept_names *j, int op, const char *name,
               unsigned char readers)
{
    unsigned char value[4] = {0, 0, 0, readers};
    const struct hb_msg_name m = {
        .op = (uint8_t)op, .name = name,
        .value = {value, readers > 0 ? sizeof value : 0},
    };

    int status = 1;

    kept_names_ask(j, &m, told, &status, 0);
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
        assert_int_equal(say(&j, HB_NAME_PUBLISH, "port:accept", 0),
                         HPCBOOT_ERR_USAGE);
        assert_true(is_there(&j, "port:accept"));
    }
    assert_false(is_there(&j, "port:accept"));
    kept_names_clear(&j);
}

/* What somebody who waits is told: `value` stays 0 where nothing is found. */
struct heard {
    int n, value;
};

static void hear(void *who, uint32_t src, const struct hb_msg_name_reply *reply)
{
    struct heard *all = who;

    all[src].n++;
    all[src].value = reply->status == 0 && reply->value.len > 0
                         ? ((const unsigned char *)reply->value.data)[3] : 0;
}

static void ask(struct kept_names *j, int op, struct heard *all, uint32_t src)
{
    const struct hb_msg_name m = {.op = (uint8_t)op, .name = "port:accept",
                                  .id = src};

    kept_names_ask(j, &m, hear, all, src);
}

/* Several that connect to one port at once. */
static void test_names_for_one_go_to_who_waits_in_their_order(void **state)
{
    struct heard all[3] = {{0}};
    struct kept_names j = {0};

    say(&j, HB_NAME_PUBLISH, "other", 9);
    ask(&j, HB_NAME_WAIT, all, 2);
    ask(&j, HB_NAME_WAIT, all, 0);
    assert_int_equal(say(&j, HB_NAME_PUBLISH_ONCE, "port:accept", 1), 0);
    assert_int_equal(all[2].value, 1);
    for (unsigned char i = 2; i <= 3; i++) {
        assert_int_equal(say(&j, HB_NAME_PUBLISH_ONCE, "port:accept", i), 0);
    }
    assert_int_equal(all[0].value, 2);
    say(&j, HB_NAME_UNPUBLISH, "other", 0); /* what is kept changes places */
    say(&j, HB_NAME_PUBLISH_ONCE, "port:accept", 4);
    ask(&j, HB_NAME_WAIT, all, 1);
    assert_int_equal(all[1].value, 3);
    assert_true(is_there(&j, "port:accept"));
    assert_false(is_there(&j, "port:accept"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(all[i].n, 1);
    }
    kept_names_clear(&j);
}

/* As rank `by` of Open MPI does, with `op` HB_NAME_PUBLISH_ONCE or _WAIT. */
static void meet(struct kept_names *j, int op, const char *name,
                 struct heard *all, unsigned char by)
{
    const unsigned char value[4] = {0, 0, 0, by};
    const struct hb_msg_name m = {.op = (uint8_t)op, .name = name, .id = by,
                                  .value = {value, sizeof value}};

    kept_names_ask(j, &m, hear, all, by);
}

/* Two have published where they are, and the second is the first to wait. Rank
 * 3 takes the word of the one and goes by that of the other unless they wait
 * for each other. */
static void test_who_comes_to_a_port_is_served_as_it_has_published(void **state)
{
    struct heard all[4] = {{0}};
    struct kept_names j = {0};

    meet(&j, HB_NAME_PUBLISH_ONCE, "port:connect", all, 1);
    meet(&j, HB_NAME_PUBLISH_ONCE, "port:connect", all, 2);
    meet(&j, HB_NAME_WAIT, "port:accept", all, 2);
    for (int round = 1; round <= 2; round++) {
        meet(&j, HB_NAME_PUBLISH_ONCE, "port:accept", all, 3);
        meet(&j, HB_NAME_WAIT, "port:connect", all, 3);
        assert_int_equal(all[3].value, round);
        if (round == 1) {
            assert_int_equal(all[2].n, 1); /* its publication was answered */
            meet(&j, HB_NAME_WAIT, "port:accept", all, 1);
        }
        assert_int_equal(all[round].value, 3);
        assert_int_equal(all[round].n, 2);
    }
    kept_names_clear(&j);
}

/* Rank 3 accepts at two ports at once. Who comes to the second, after somebody
 * has come to the first, is still the one that it has met. */
static void test_who_waits_at_two_ports_meets_at_both(void **state)
{
    struct heard all[4] = {{0}};
    struct kept_names j = {0};

    meet(&j, HB_NAME_PUBLISH_ONCE, "one:accept", all, 3);
    meet(&j, HB_NAME_PUBLISH_ONCE, "two:accept", all, 3);
    meet(&j, HB_NAME_WAIT, "one:connect", all, 3);
    meet(&j, HB_NAME_WAIT, "two:connect", all, 3);
    meet(&j, HB_NAME_PUBLISH_ONCE, "one:connect", all, 0);
    meet(&j, HB_NAME_PUBLISH_ONCE, "two:connect", all, 1);
    meet(&j, HB_NAME_PUBLISH_ONCE, "two:connect", all, 2);
    assert_int_equal(all[3].n, 4); /* both publications and both questions */
    assert_int_equal(all[3].value, 1);
    meet(&j, HB_NAME_WAIT, "two:accept", all, 2);
    assert_int_equal(all[2].n, 1); /* its publication was answered */
    meet(&j, HB_NAME_WAIT, "two:accept", all, 1);
    assert_int_equal(all[1].value, 3);
    kept_names_clear(&j);
}

/* Else nobody would be served after it. */
static void test_the_turn_of_who_is_gone_is_over(void **state)
{
    struct heard here[4] = {{0}}, there[4] = {{0}};
    struct kept_names j = {0};

    meet(&j, HB_NAME_PUBLISH_ONCE, "port:connect", there, 1);
    meet(&j, HB_NAME_PUBLISH_ONCE, "port:connect", here, 2);
    meet(&j, HB_NAME_WAIT, "port:accept", here, 2);
    meet(&j, HB_NAME_PUBLISH_ONCE, "port:accept", here, 3);
    assert_int_equal(here[2].n, 1);
    kept_names_forget(&j, there);
    assert_int_equal(here[2].n, 2);
    assert_int_equal(here[2].value, 3);
    kept_names_clear(&j);
}

/* Rank 1 has published the same as 2, and holds 2 back until it asks. */
static void two_at_a_port(struct kept_names *j, struct heard *all)
{
    meet(j, HB_NAME_PUBLISH_ONCE, "port:connect", all, 1);
    meet(j, HB_NAME_PUBLISH_ONCE, "port:connect", all, 2);
    meet(j, HB_NAME_WAIT, "port:accept", all, 2);
    meet(j, HB_NAME_PUBLISH_ONCE, "port:accept", all, 3);
    assert_int_equal(all[2].n, 1);
}

static void test_who_will_not_wait_holds_nobody_back(void **state)
{
    struct heard all[5] = {{0}};
    struct kept_names j = {0};

    two_at_a_port(&j, all);
    meet(&j, HB_NAME_LOOKUP, "ocean", all, 1);
    assert_int_equal(all[2].value, 3);
    kept_names_clear(&j);
    memset(all, 0, sizeof all);
    two_at_a_port(&j, all);
    meet(&j, HB_NAME_GONE, "", all, 1);
    assert_int_equal(all[2].value, 3);
    assert_int_equal(all[1].n, 1);
    kept_names_clear(&j);
    memset(all, 0, sizeof all);
    two_at_a_port(&j, all);
    ask(&j, HB_NAME_WAIT, all, 4);
    assert_int_equal(all[4].value, 3);
    meet(&j, HB_NAME_PUBLISH_ONCE, "port:accept", all, 3);
    assert_int_equal(all[2].n, 1); /* rank 1 may be about to wait */
    assert_true(is_there(&j, "port:connect")); /* who reads it meets nobody */
    assert_int_equal(all[2].value, 3);
    kept_names_clear(&j);
}

/* Workers who say that they are there, each with a name of its own for its
 * work. */
static void test_who_waits_for_something_else_holds_nobody_back(void **state)
{
    struct heard all[4] = {{0}};
    struct kept_names j = {0};

    meet(&j, HB_NAME_PUBLISH_ONCE, "ready", all, 1);
    meet(&j, HB_NAME_PUBLISH_ONCE, "ready", all, 2);
    meet(&j, HB_NAME_WAIT, "for-2", all, 2);
    meet(&j, HB_NAME_PUBLISH_ONCE, "for-2", all, 3);
    assert_int_equal(all[2].n, 1);
    meet(&j, HB_NAME_WAIT, "for-1", all, 1);
    assert_int_equal(all[2].value, 3);
    kept_names_clear(&j);
}

static void test_what_all_may_read_has_no_turn(void **state)
{
    struct heard all[4] = {{0}};
    struct kept_names j = {0};

    meet(&j, HB_NAME_PUBLISH_ONCE, "port:connect", all, 1);
    meet(&j, HB_NAME_PUBLISH_ONCE, "port:connect", all, 2);
    meet(&j, HB_NAME_PUBLISH, "ocean", all, 2);
    meet(&j, HB_NAME_WAIT, "ocean", all, 2);
    assert_int_equal(all[2].value, 2);
    meet(&j, HB_NAME_PUBLISH_ONCE, "port:connect", all, 2);
    meet(&j, HB_NAME_WAIT, "lake", all, 2);
    meet(&j, HB_NAME_PUBLISH, "lake", all, 3);
    assert_int_equal(all[2].value, 3);
    kept_names_clear(&j);
}

/* It is not behind itself, and does not stay before others. */
static void test_who_publishes_twice_has_one_turn(void **state)
{
    struct heard all[4] = {{0}};
    struct kept_names j = {0};

    meet(&j, HB_NAME_PUBLISH_ONCE, "port:connect", all, 1);
    meet(&j, HB_NAME_PUBLISH_ONCE, "port:connect", all, 1);
    meet(&j, HB_NAME_PUBLISH_ONCE, "port:connect", all, 2);
    meet(&j, HB_NAME_WAIT, "port:accept", all, 2);
    meet(&j, HB_NAME_WAIT, "port:accept", all, 1);
    meet(&j, HB_NAME_PUBLISH_ONCE, "port:accept", all, 3);
    assert_int_equal(all[1].value, 3);
    assert_int_equal(all[2].value, 0);
    meet(&j, HB_NAME_PUBLISH_ONCE, "port:accept", all, 3);
    assert_int_equal(all[2].value, 3);
    kept_names_clear(&j);
}

static void test_a_name_for_all_goes_to_all_who_wait(void **state)
{
    struct heard all[2] = {{0}};
    struct kept_names j = {0};

    ask(&j, HB_NAME_WAIT, all, 0);
    ask(&j, HB_NAME_WAIT, all, 1);
    say(&j, HB_NAME_PUBLISH, "port:accept", 7);
    assert_int_equal(all[0].value, 7);
    assert_int_equal(all[1].value, 7);
    assert_true(is_there(&j, "port:accept"));
    kept_names_clear(&j);
}

static void test_who_has_given_up_or_is_gone_takes_no_name(void **state)
{
    struct heard all[2] = {{0}}, gone[1] = {{0}};
    struct kept_names j = {0};

    ask(&j, HB_NAME_WAIT, all, 0);
    ask(&j, HB_NAME_WAIT, gone, 0);
    ask(&j, HB_NAME_WAIT, all, 1);
    ask(&j, HB_NAME_GIVE_UP, all, 0);
    ask(&j, HB_NAME_GIVE_UP, all, 0);
    kept_names_forget(&j, gone);
    say(&j, HB_NAME_PUBLISH_ONCE, "port:accept", 7);
    assert_int_equal(all[0].n, 1);
    assert_int_equal(all[0].value, 0);
    assert_int_equal(gone[0].n, 0);
    assert_int_equal(all[1].value, 7);
    ask(&j, HB_NAME_WAIT, all, 0);
    kept_names_clear(&j);
    assert_int_equal(all[0].n, 1);
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

/* Whatever ranks and agents publish, the launcher's memory is not theirs. */
static void test_what_is_published_has_a_size_that_it_may_have(void **state)
{
    static char large[16 << 20];
    struct kept_names j = {0};
    struct hb_msg_name m = {.op = HB_NAME_PUBLISH,
                            .value = {large, sizeof large}};
    char name[16];
    int n = 0, status = 0;

    while (status == 0 && n < 64) {
        snprintf(name, sizeof name, "large-%d", n++);
        m.name = name;
        kept_names_ask(&j, &m, told, &status, 0);
    }
    assert_int_equal(status, HPCBOOT_ERR_LIMIT);
    assert_int_equal(say(&j, HB_NAME_PUBLISH, "small", 0), 0);
    assert_int_equal(say(&j, HB_NAME_UNPUBLISH, "large-0", 0), 0);
    kept_names_ask(&j, &m, told, &status, 0);
    assert_int_equal(status, 0);
    kept_names_clear(&j);
}

static void test_only_so_many_questions_wait(void **state)
{
    struct heard all[1] = {{0}};
    struct kept_names j = {0};
    int n = 0;

    for (; all[0].n == 0 && n < 1000000; n++) {
        ask(&j, HB_NAME_WAIT, all, 0);
    }
    assert_true(n < 1000000);
    ask(&j, HB_NAME_GIVE_UP, all, 0);
    ask(&j, HB_NAME_WAIT, all, 0);
    assert_int_equal(all[0].n, 2); /* that which has given up */
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
        cmocka_unit_test(test_names_for_one_go_to_who_waits_in_their_order),
        cmocka_unit_test(
            test_who_comes_to_a_port_is_served_as_it_has_published),
        cmocka_unit_test(test_who_waits_at_two_ports_meets_at_both),
        cmocka_unit_test(test_the_turn_of_who_is_gone_is_over),
        cmocka_unit_test(test_who_will_not_wait_holds_nobody_back),
        cmocka_unit_test(test_who_waits_for_something_else_holds_nobody_back),
        cmocka_unit_test(test_what_all_may_read_has_no_turn),
        cmocka_unit_test(test_who_publishes_twice_has_one_turn),
        cmocka_unit_test(test_a_name_for_all_goes_to_all_who_wait),
        cmocka_unit_test(test_who_has_given_up_or_is_gone_takes_no_name),
        cmocka_unit_test(test_a_name_goes_with_its_owner_alone),
        cmocka_unit_test(
            test_what_is_published_has_a_size_that_it_may_have),
        cmocka_unit_test(test_only_so_many_questions_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
