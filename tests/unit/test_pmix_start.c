/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Why libpmix does not start: what is told to be in the way is. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

/* Of bin/pm/pmix_impl.h, which is for who has the headers of PMIx. */
const char *hb_pmix_no_start(void);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static void nothing_that_is_known_is_in_the_way(void **state)
{
    const char *why = hb_pmix_no_start();

    if (strstr(why, "loopback") != NULL) {
        skip();
    }
    assert_string_equal(why, "libpmix does not start");
}

/* The C library has one error for both. */
static void no_memory_for_a_thread_is_no_limit_on_processes(void **state)
{
    struct rlimit before, none;
    const char *why;

    if (IS_SANITIZED) {
        skip();
    }
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    none = before;
    none.rlim_cur = 1;
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    why = hb_pmix_no_start();
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    if (strstr(why, "loopback") != NULL) {
        skip();
    }
    assert_non_null(strstr(why, "no memory for its stack"));
    assert_null(strstr(why, "ulimit -u"));
}

int main(void)
{
    /* The C library keeps the stack of a thread that was, for the next. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_memory_for_a_thread_is_no_limit_on_processes),
        cmocka_unit_test(nothing_that_is_known_is_in_the_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
