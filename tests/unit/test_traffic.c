/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bin/doctor/traffic.h"
#include "lib/base/str.h"

static const char *const names[] = {"a", "b", "c", "d", "e", "f"};

static void takes(struct hb_traffic *t, uint32_t host, const char *text)
{
    struct hpcboot_error err = {0};

    if (hb_traffic_take(t, host, text, strlen(text), &err) < 0) {
        fail_msg("%s", err.text);
    }
}

/* All pairs of n hosts; of_odd: of those with host `odd`. */
static void fill(struct hb_traffic *t, uint32_t n, uint32_t odd,
                 const char *usual, const char *of_odd)
{
    hb_traffic_init(t, n, names);
    for (uint32_t from = 0; from < n; from++) {
        for (uint32_t to = 0; to < n; to++) {
            char *line = hb_xasprintf(
                "pair %u %s\n", to, from == odd || to == odd ? of_odd : usual);
            if (from != to) {
                takes(t, from, line);
            }
            free(line);
        }
    }
}

/* What was found, as "CHECK HOST: WHAT" lines. */
static char *judged(struct hb_traffic *t)
{
    struct hb_findings found = {0};
    struct hb_str o = HB_STR_INIT;

    hb_traffic_judge(t, &found);
    for (size_t i = 0; i < found.n; i++) {
        hb_str_putf(&o, "%s %s: %s\n", found.v[i].check,
                    found.v[i].where.v[0], found.v[i].what);
    }
    hb_findings_destroy(&found);
    hb_traffic_destroy(t);
    return o.s != NULL ? o.s : hb_xstrdup("");
}

static void expect(struct hb_traffic *t, const char *wanted)
{
    char *got = judged(t);

    assert_string_equal(got, wanted);
    free(got);
}

static void every_pair_meets_once_when_all_do(void **state)
{
    for (uint32_t n = 2; n < 20; n++) {
        uint8_t met[20][20] = {{0}};

        for (uint32_t r = 0; r < hb_traffic_rounds(n, 1); r++) {
            for (uint32_t i = 0; i < n; i++) {
                uint32_t to = hb_traffic_partner(n, 1, r, i);
                if (to != HB_TRAFFIC_NOBODY) {
                    assert_int_equal(hb_traffic_partner(n, 1, r, to), i);
                    met[i][to]++;
                }
            }
        }
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t to = 0; to < n; to++) {
                assert_int_equal(met[i][to], i != to);
            }
        }
    }
}

static void in_large_gangs_each_host_has_log_n_partners(void **state)
{
    for (uint32_t n = 17; n < 3000; n = n * 3 / 2) {
        uint32_t rounds = hb_traffic_rounds(n, 0), idle = 0;

        assert_true(rounds <= 12);
        for (uint32_t r = 0; r < rounds; r++) {
            for (uint32_t i = 0; i < n; i++) {
                uint32_t to = hb_traffic_partner(n, 0, r, i);
                idle += to == HB_TRAFFIC_NOBODY;
                assert_true(to != i);
                assert_true(to == HB_TRAFFIC_NOBODY ||
                            hb_traffic_partner(n, 0, r, to) == i);
            }
        }
        assert_true(idle <= rounds); /* one in each round of an odd gang */
    }
}

static void equal_pairs_are_good(void **state)
{
    struct hb_traffic t;

    fill(&t, 4, 9, "90000 20000 50000 1000000", "");
    expect(&t, "");
}

static void a_far_host_is_named_and_not_its_pairs(void **state)
{
    struct hb_traffic t;

    fill(&t, 4, 2, "90000 20000 50000 1000000",
         "9000000 5000000 9000000 1000000");
    expect(&t, "latency c: short messages to and from it take longer than "
               "elsewhere\n");
}

static void a_thin_host_is_named(void **state)
{
    struct hb_traffic t;

    fill(&t, 5, 0, "90000 20000 50000 1000000", "90000 20000 50000 9000");
    expect(&t, "bandwidth a: its transfers are slower than elsewhere\n");
}

static void one_bad_pair_is_named_once(void **state)
{
    struct hb_traffic t;

    fill(&t, 5, 9, "90000 20000 50000 1000000", "");
    takes(&t, 1, "fail 3 short no answer within 2 s\n");
    /* A host reports itself, pair after pair; the other end, too. */
    for (size_t i = 0; i < t.n_cells; i++) {
        if (t.cells[i].from == 3 && t.cells[i].to == 1) {
            t.cells[i].failed = hb_xstrdup("no answer within 2 s");
        }
    }
    expect(&t, "traffic b: with d: no answer within 2 s\n");
}

static void large_messages_alone_that_fail_are_told_so(void **state)
{
    struct hb_traffic t;

    hb_traffic_init(&t, 2, names);
    takes(&t, 0, "pair 1 90000 20000 50000 0\nfail 1 large no answer\n");
    expect(&t, "traffic a: short messages to b arrive, large ones do not: no "
               "answer\n");
}

static void losses_are_told_from_counters(void **state)
{
    struct hb_traffic t;

    hb_traffic_init(&t, 2, names);
    takes(&t, 0, "count segments 1000\ncount repeated 40\n");
    takes(&t, 1, "count segments 1000\ncount repeated 3\ncount lost 9\n");
    expect(&t, "loss a: packets are lost: TCP sent 40 of 1000 segments "
               "again\nloss b: packets are lost: 9 RDMA packets were missing "
               "or sent again\n");
}

static void few_lost_packets_tell_if_few_were_sent(void **state)
{
    struct hb_traffic t;

    hb_traffic_init(&t, 2, names);
    takes(&t, 0, "count packets 59\ncount lost 2\n");
    takes(&t, 1, "count packets 900\ncount lost 4\n");
    expect(&t, "loss a: packets are lost: 2 RDMA packets were missing or sent "
               "again\n");
}

static void verbs_that_fail_are_bad(void **state)
{
    struct hb_traffic t;

    hb_traffic_init(&t, 2, names);
    takes(&t, 0, "verb ah 1 1\nnoverb ud 1 datagrams do not arrive\n");
    expect(&t, "rdma-traffic a: with b: datagrams do not arrive\n");
}

static void a_probe_that_could_not_run_is_bad(void **state)
{
    struct hb_traffic t;

    hb_traffic_init(&t, 2, names);
    takes(&t, 1, "error no socket\n");
    expect(&t, "traffic b: its probe: no socket\n");
}

static void transports_are_told_pair_by_pair_and_each_once(void **state)
{
    struct hb_traffic t;
    struct hb_str text = HB_STR_INIT, json = HB_STR_INIT;
    struct hb_json j;

    hb_traffic_init(&t, 3, names);
    takes(&t, 0, "by 1 ucx rc_verbs/mlx5_0:1\nby 2 tcp 10.0.0.3:4711; not by "
                 "UCX: no RDMA device\n");
    takes(&t, 1, "by 0 ucx rc_verbs/mlx5_0:1\nby 2 tcp \n");
    hb_traffic_text(&t, &text);
    assert_non_null(strstr(text.s, " rounds by ucx, tcp; median"));
    hb_json_begin(&j, &json);
    hb_json_object(&j, NULL);
    hb_traffic_json(&t, &j);
    hb_json_end_object(&j);
    assert_non_null(strstr(json.s, "\"ucx, tcp\""));
    assert_non_null(strstr(json.s, "\"rc_verbs/mlx5_0:1\""));
    hb_str_destroy(&text);
    hb_str_destroy(&json);
    hb_traffic_destroy(&t);
}

static void what_is_no_report_is_refused(void **state)
{
    static const char *const lines[] = {
        "pair", "pair 1", "pair 0 1 2 3 4", "pair 2 1 2 3 4", "pair 1 1 2 3",
        "pair 1 1 2 3 x", "pair 1 1 2 3 -4", "verb xx 1 5", "verb ah 1",
        "count apples 4", "count lost", "nonsense 1", "fail 9 short text",
        "by tcp", "by 0 tcp x", "by 1 tcp", "by 1  x",
    };
    struct hb_traffic t;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        hb_traffic_init(&t, 2, names);
        assert_int_equal(hb_traffic_take(&t, 0, lines[i], strlen(lines[i]),
                                         NULL), HPCBOOT_ERR_PROTOCOL);
        hb_traffic_destroy(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_meets_once_when_all_do),
        cmocka_unit_test(in_large_gangs_each_host_has_log_n_partners),
        cmocka_unit_test(equal_pairs_are_good),
        cmocka_unit_test(a_far_host_is_named_and_not_its_pairs),
        cmocka_unit_test(a_thin_host_is_named),
        cmocka_unit_test(one_bad_pair_is_named_once),
        cmocka_unit_test(large_messages_alone_that_fail_are_told_so),
        cmocka_unit_test(losses_are_told_from_counters),
        cmocka_unit_test(few_lost_packets_tell_if_few_were_sent),
        cmocka_unit_test(verbs_that_fail_are_bad),
        cmocka_unit_test(a_probe_that_could_not_run_is_bad),
        cmocka_unit_test(transports_are_told_pair_by_pair_and_each_once),
        cmocka_unit_test(what_is_no_report_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
