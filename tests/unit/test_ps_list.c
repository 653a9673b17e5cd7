/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What hpcboot ps shows of ranks: names begin their column, also those that
 * happen to be made of digits. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bin/hpcboot/ps.h"

static void show(uint32_t job, const char *host, char out[1024])
{
    struct hb_ps_rank r = {.job = job, .size = 1, .pid = 7, .state = 'S'};
    struct hb_ps_list l = {0};
    struct hb_str text = HB_STR_INIT;

    snprintf(r.host, sizeof r.host, "%s", host);
    snprintf(r.program, sizeof r.program, "prog");
    hb_ps_add(&l, &r);
    hb_ps_jobs(&l, &text);
    hb_ps_ranks(&l, &text);
    snprintf(out, 1024, "%s", hb_str_text(&text));
    hb_str_destroy(&text);
    hb_ps_destroy(&l);
}

static void names_begin_their_column(void **state)
{
    static const uint32_t jobs[] = {0x45411128, 0x4541112a, 1};
    char text[1024];

    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        show(jobs[i], "10001", text);
        assert_int_equal(strncmp(text, "job       since", 15), 0);
        assert_non_null(strstr(text, "\nrank  host   pid"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_begin_their_column),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
