/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Tracebacks of many ranks: the first is shown, the others are kept back, and
 * nothing else is. */
#include "config.h"

#include "bin/cli/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define TRACE(what)                             \
    "Traceback (most recent call last):\n"      \
    "  File \"t.py\", line 1, in <module>\n"    \
    "    f()\n" what "\n"

static int make(void **state)
{
    struct hb_fold *f;

    hb_fold_create(&f, 12);
    *state = f;
    return 0;
}

static int unmake(void **state)
{
    hb_fold_destroy(*state);
    return 0;
}

static void shows(struct hb_fold *f, uint32_t rank, const char *text,
                  const char *want)
{
    struct hb_str shown = HB_STR_INIT;

    hb_fold_take(f, rank, text, strlen(text), &shown);
    assert_string_equal(hb_str_text(&shown), want);
    hb_str_destroy(&shown);
}

static void summary_is(const struct hb_fold *f, const char *want)
{
    struct hb_strv lines = HB_STRV_INIT;
    struct hb_str all = HB_STR_INIT;

    hb_fold_summary(f, &lines);
    for (size_t i = 0; i < lines.n; i++) {
        hb_str_putf(&all, "%s\n", lines.v[i]);
    }
    assert_string_equal(hb_str_text(&all), want);
    hb_str_destroy(&all);
    hb_strv_destroy(&lines);
}

#define MEMBERS(what)                                       \
    "  + Exception Group Traceback (most recent call last):\n" \
    "  |   File \"t.py\", line 1, in <module>\n"              \
    "  |     f()\n  | " what "\n"                             \
    "  +-+---------------- 1 ----------------\n"             \
    "    | Traceback (most recent call last):\n"             \
    "    |   File \"t.py\", line 2, in g\n    | V: 1\n"       \
    "    +------------------------------------\n"

static void groups_of_exceptions_are_tracebacks(void **state)
{
    shows(*state, 0, MEMBERS("G: x (1)") "said\n", MEMBERS("G: x (1)")
                                                    "said\n");
    shows(*state, 1, "a\n" MEMBERS("G: x (1)") "  | said\nb\n",
          "a\n  | said\nb\n");
    shows(*state, 3, "  + Exception Group Traceback (most recent call last):\n"
          "said\n", "said\n");
    shows(*state, 2, TRACE("E: y") "\nDuring handling of the above exception, "
          "another exception occurred:\n\n" MEMBERS("G: z") "\nDuring handling "
          "of the above\n\n" TRACE("E: last") "  + said\n", "  + said\n");
    summary_is(*state, "rank 1: G: x (1)\nrank 2: E: last\n"
                       "rank 3: a traceback\n");
}

static void the_first_rank_is_shown_whole(void **state)
{
    shows(*state, 3, "a\n" TRACE("E: x") "b\n", "a\n" TRACE("E: x") "b\n");
    shows(*state, 1, "a\n" TRACE("E: y") "b\n", "a\nb\n");
    shows(*state, 3, TRACE("E: z"), TRACE("E: z"));
    assert_string_equal(hb_fold_text(*state, 1), TRACE("E: y"));
    assert_string_equal(hb_fold_text(*state, 3), "");
}

static void pieces_may_end_anywhere_in_a_line(void **state)
{
    shows(*state, 0, TRACE("E"), TRACE("E"));
    shows(*state, 1, "Traceback (most recent call last):\n  File", "");
    shows(*state, 1, " more\n", "");
    shows(*state, 1, "E: end", "");
    shows(*state, 1, "ing\n", "");
    shows(*state, 1, "words\n", "words\n");
}

static void chained_and_prefixed_tracebacks(void **state)
{
    shows(*state, 0, TRACE("E"), TRACE("E"));
    shows(*state, 1, TRACE("KeyError: 1") "\nDuring handling of the above "
          "exception, another exception occurred:\n\n" TRACE("E: 2") "w\n",
          "w\n");
    shows(*state, 2, "[rank2]: Traceback (most recent call last):\n"
          "[rank2]:   File \"x\"\n[rank2]: E: 2\n", "");
    summary_is(*state, "ranks 1, 2: E: 2\n");
}

static void equal_ends_are_one_line(void **state)
{
    shows(*state, 0, TRACE("E"), TRACE("E"));
    for (uint32_t i = 1; i < 12; i++) {
        shows(*state, i, i == 5 ? TRACE("other") : TRACE("gone"), "");
    }
    summary_is(*state, "ranks 1, 2, 3, 4, 6, 7, 8, 9 and others: gone\n"
                       "rank 5: other\n");
}

static void what_is_kept_is_bounded(void **state)
{
    struct hb_str piece = HB_STR_INIT, shown = HB_STR_INIT;

    shows(*state, 0, TRACE("E"), TRACE("E"));
    shows(*state, 1, "Traceback (most recent call last):\n", "");
    for (int i = 0; i < 100; i++) {
        hb_str_put(&piece, "   indented\n");
    }
    for (int i = 0; i < 1000; i++) {
        hb_fold_take(*state, 1, piece.s, piece.len, &shown);
    }
    assert_int_equal(shown.len, 0);
    assert_true(strlen(hb_fold_text(*state, 1)) <= 32u << 10);
    hb_str_destroy(&piece);
    hb_str_destroy(&shown);
}

static void logs_handled(struct hb_fold *f, uint32_t rank)
{
    struct hb_str one = HB_STR_INIT;

    hb_str_put(&one, "Traceback (most recent call last):\n");
    while (one.len < 2048) {
        hb_str_put(&one, "  File \"t.py\", line 1, in <module>\n");
    }
    hb_str_put(&one, "KeyError: handled\n");
    shows(f, rank, one.s, "");
    hb_str_destroy(&one);
}

static void has_kept(const struct hb_fold *f, uint32_t rank, const char *end)
{
    const char *text = hb_fold_text(f, rank);
    size_t len = strlen(text);

    assert_true(len <= 32u << 10);
    assert_true(len >= strlen(end));
    assert_string_equal(text + len - strlen(end), end);
}

static void the_last_one_is_kept_whole(void **state)
{
    static const char chain[] = TRACE("KeyError: 1") "\nThe above exception "
        "was the direct cause of the following exception:\n\n" TRACE("E: 2");

    shows(*state, 0, TRACE("E"), TRACE("E"));
    for (int n = 1; n < 40; n++) {
        logs_handled(*state, 1);
        shows(*state, 1, "words\n" TRACE("ValueError: the end"), "words\n");
        has_kept(*state, 1, TRACE("ValueError: the end"));
    }
    for (int n = 1; n < 40; n++) {
        logs_handled(*state, 2);
        shows(*state, 2, chain, "");
        has_kept(*state, 2, chain);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, unmake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(groups_of_exceptions_are_tracebacks),
        TEST(the_first_rank_is_shown_whole),
        TEST(pieces_may_end_anywhere_in_a_line),
        TEST(chained_and_prefixed_tracebacks),
        TEST(equal_ends_are_one_line),
        TEST(what_is_kept_is_bounded),
        TEST(the_last_one_is_kept_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
