/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Resource limits: what goes out, and what a host that is given here makes of
 * what comes in. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "bin/proc/limits.h"

#define LIST(...) ((char **)(const char *[]){__VA_ARGS__, NULL})

/* A host where every limit is the same, and raising works or not. */
struct host {
    struct rlimit all;
    int raises;
};

static int host_get(void *arg, int resource, struct rlimit *out)
{
    *out = ((struct host *)arg)->all;
    return 0;
}

static int host_may_raise(void *arg, int resource, const struct rlimit *value)
{
    return ((struct host *)arg)->raises;
}

struct outcome {
    struct hb_proc_limit *v;
    size_t n;
    struct hb_strv refused;
};

static struct outcome parse_on(rlim_t soft, rlim_t hard, int raises,
                               char **texts)
{
    struct host h = {{soft, hard}, raises};
    const struct hb_limits_host host = {host_get, host_may_raise, &h};
    struct outcome o = {.refused = HB_STRV_INIT};

    assert_int_equal(hb_limits_parse_on(&host, texts, &o.v, &o.n, &o.refused,
                                        NULL), HPCBOOT_OK);
    return o;
}

static void done(struct outcome *o)
{
    free(o->v);
    hb_strv_destroy(&o->refused);
}

static void what_goes_out_can_come_in_again(void **state)
{
    struct hb_strv out = HB_STRV_INIT, refused = HB_STRV_INIT;
    struct hb_proc_limit *limits = NULL;
    size_t n = 0;

    hb_limits_outgoing(&out);
    assert_true(out.n >= 5);
    assert_int_equal(hb_limits_parse(hb_strv_view(&out), &limits, &n, &refused,
                                     NULL), HPCBOOT_OK);
    assert_int_equal(n, out.n);
    assert_int_equal(refused.n, 0);
    free(limits);
    hb_strv_destroy(&out);
}

static void one_soft_limit_is_read_by_itself(void **state)
{
    char as[] = "as=4096:unlimited", core[] = "core=0:0", bad[] = "as";
    char *const texts[] = {bad, core, as, NULL};

    assert_int_equal(hb_limits_soft(texts, RLIMIT_AS), 4096);
    assert_int_equal(hb_limits_soft(texts, RLIMIT_DATA), RLIM_INFINITY);
}

static void nofile_goes_out_raised_to_its_hard_limit(void **state)
{
    struct hb_strv out = HB_STRV_INIT;
    struct rlimit before, low;
    const char *text = NULL;
    char want[64];

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){64, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    hb_limits_outgoing(&out);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    text = hb_env_get(&out, "nofile");
    assert_non_null(text);
    if (before.rlim_max == RLIM_INFINITY) {
        snprintf(want, sizeof(want), "unlimited:unlimited");
    } else {
        snprintf(want, sizeof(want), "%llu:%llu",
                 (unsigned long long)before.rlim_max,
                 (unsigned long long)before.rlim_max);
    }
    assert_string_equal(text, want);
    hb_strv_destroy(&out);
}

static void what_fits_is_set_as_it_is(void **state)
{
    struct outcome o = parse_on(100, 1000, 0, LIST("stack=10:20"));

    assert_int_equal(o.n, 1);
    assert_int_equal(o.v[0].resource, RLIMIT_STACK);
    assert_int_equal(o.v[0].value.rlim_cur, 10);
    assert_int_equal(o.v[0].value.rlim_max, 20);
    assert_true(o.v[0].optional);
    assert_int_equal(o.refused.n, 0);
    done(&o);
}

static void what_is_refused_is_cut_down_and_said(void **state)
{
    struct outcome o = parse_on(100, 1000, 0,
                                LIST("memlock=unlimited:unlimited"));

    assert_int_equal(o.v[0].value.rlim_cur, 1000);
    assert_int_equal(o.v[0].value.rlim_max, 1000);
    assert_int_equal(o.refused.n, 1);
    assert_non_null(strstr(o.refused.v[0], "memlock"));
    assert_non_null(strstr(o.refused.v[0], "1000"));
    assert_non_null(strstr(o.refused.v[0], "unlimited"));
    done(&o);
}

static void a_privileged_host_raises_its_hard_limit(void **state)
{
    struct outcome o = parse_on(100, 1000, 1, LIST("nofile=5000:5000"));

    assert_int_equal(o.v[0].value.rlim_cur, 5000);
    assert_int_equal(o.refused.n, 0);
    done(&o);
}

static void a_hard_limit_alone_is_lowered_without_a_word(void **state)
{
    struct outcome o = parse_on(100, 1000, 0, LIST("stack=800:unlimited"));

    assert_int_equal(o.v[0].value.rlim_cur, 800);
    assert_int_equal(o.v[0].value.rlim_max, 1000);
    assert_int_equal(o.refused.n, 0);
    done(&o);
}

static void locked_memory_is_never_lowered(void **state)
{
    struct outcome o = parse_on(64, RLIM_INFINITY, 0,
                                LIST("memlock=65536:65536", "core=0:0"));

    assert_int_equal(o.n, 2);
    assert_true(o.v[0].value.rlim_cur == RLIM_INFINITY);
    assert_int_equal(o.v[1].value.rlim_cur, 0);
    assert_int_equal(o.refused.n, 0);
    done(&o);
}

static void names_of_a_newer_launcher_are_skipped(void **state)
{
    struct outcome o = parse_on(1, 1, 0, LIST("future=1:2", "core=0:1"));

    assert_int_equal(o.n, 1);
    done(&o);
}

static void malformed_texts_are_refused(void **state)
{
    static const char *const bad[] = {
        "", "core", "core=", "core=1", "core=1:", "core=:1", "core=2:1",
        "core=-1:1", "core=1:2:3", "core= 1:2", "core=1:99999999999999999999",
        "=1:2", "core=unlimited:1",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct hb_strv refused = HB_STRV_INIT;
        struct hb_proc_limit *limits = NULL;
        struct hpcboot_error err = {0};
        size_t n = 0;

        assert_int_equal(hb_limits_parse(LIST(bad[i]), &limits, &n, &refused,
                                         &err), HPCBOOT_ERR_PARSE);
        assert_non_null(strstr(err.text, bad[i]));
        assert_null(limits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_out_can_come_in_again),
        cmocka_unit_test(one_soft_limit_is_read_by_itself),
        cmocka_unit_test(nofile_goes_out_raised_to_its_hard_limit),
        cmocka_unit_test(what_fits_is_set_as_it_is),
        cmocka_unit_test(what_is_refused_is_cut_down_and_said),
        cmocka_unit_test(a_privileged_host_raises_its_hard_limit),
        cmocka_unit_test(a_hard_limit_alone_is_lowered_without_a_word),
        cmocka_unit_test(locked_memory_is_never_lowered),
        cmocka_unit_test(names_of_a_newer_launcher_are_skipped),
        cmocka_unit_test(malformed_texts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
