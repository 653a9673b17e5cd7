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

static void texts_of_several_lines(void **state)
{
    shows(*state, 0, TRACE("E: a") "b\n", TRACE("E: a") "b\n");
    shows(*state, 1, "[rank1]: Traceback (most recent call last):\n"
          "[rank1]:   File \"x\"\n[rank1]: DistBackendError: NCCL error in\n"
          "[rank1]: Last error:\n[rank1]: socket closed\n"
          "[rank1]:[W1130] said\nsaid\n", "[rank1]:[W1130] said\nsaid\n");
    shows(*state, 2, TRACE("RuntimeError: loading") "\tMissing key(s)\n"
          "\tUnexpected\nsaid\n\tsaid\n", "said\n\tsaid\n");
    shows(*state, 3, TRACE("E: c") "Exception raised from f at x.cpp:1 (most "
          "recent call first):\nframe #0: c10::E + 0x3e\nframe #1: g\n\n"
          "said\n", "said\n");
    summary_is(*state, "rank 1: DistBackendError: NCCL error in\n"
                       "rank 2: RuntimeError: loading\nrank 3: E: c\n");
}

static void marked_lines_are_those_of_a_marked_traceback(void **state)
{
    shows(*state, 0, TRACE("E: a"), TRACE("E: a"));
    shows(*state, 1, TRACE("E: again") "[rank1]: step 1\n[rank1]: step 2\n",
          "[rank1]: step 1\n[rank1]: step 2\n");
}

#define MISTAKE                                     \
    "  File \"t.py\", line 12\n    x = = 1\n        ^\n" \
    "SyntaxError: invalid syntax\n"

static void mistakes_in_a_script_have_no_first_line(void **state)
{
    static const char stack[] = "  File \"t.py\", line 3, in f\n    g()\n"
                                "said\n  File \", line \n";

    shows(*state, 0, MISTAKE "said\n", MISTAKE "said\n");
    shows(*state, 1, MISTAKE "said\n", "said\n");
    shows(*state, 2, TRACE("E: a") MISTAKE, "");
    shows(*state, 3, "Traceback (most recent call last):\n"
          "  File \"t.py\", line 1, in <module>\n    import x\n" MISTAKE, "");
    shows(*state, 4, stack, stack); /* traceback.print_stack() */
    assert_string_equal(hb_fold_text(*state, 1), MISTAKE);
    summary_is(*state, "ranks 1, 2, 3: SyntaxError: invalid syntax\n");
}

#define FAULT                                                    \
    "Fatal Python error: Segmentation fault\n\n"                 \
    "Thread 0x00007f0a (most recent call first):\n"              \
    "  <no Python frame>\n\n"                                    \
    "Current thread 0x00007f0b (most recent call first):\n"      \
    "  File \"t.py\", line 3 in f\n  File \"t.py\", line 9\n\n" \
    "Extension modules: numpy.core, torch._C (total: 2)\n"

static void what_the_fault_handler_says_is_a_traceback(void **state)
{
    shows(*state, 5, FAULT "said\n", FAULT "said\n");
    shows(*state, 6, "a\n" FAULT "said\n  said\n", "a\nsaid\n  said\n");
    shows(*state, 7, TRACE("E: a") FAULT, "");
    assert_string_equal(hb_fold_text(*state, 6), FAULT);
    summary_is(*state, "ranks 6, 7: Fatal Python error: Segmentation fault\n");
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

static void ends_that_differ_in_numbers_are_one_line(void **state)
{
    static const char *const ends[] = {
        "E: rank 1: closed by 10.77.0.1:41",
        "E: rank 2: closed by 10.77.0.1:5",
        "E: rank 10: closed by 10.77.0.12:41", "E: rank x: closed by 10",
        "E: 1", "E: rank 1: closed by 10.77.0.1:41 there"};

    assert_int_equal(hb_fold_first(*state), UINT32_MAX);
    shows(*state, 11, TRACE("E"), TRACE("E"));
    assert_int_equal(hb_fold_first(*state), 11);
    for (uint32_t i = 0; i < 6; i++) {
        struct hb_str text = HB_STR_INIT;

        hb_str_putf(&text, TRACE("%s"), ends[i]);
        shows(*state, i, hb_str_text(&text), "");
        hb_str_destroy(&text);
    }
    summary_is(*state, "ranks 0, 1, 2: E: rank 1: closed by 10.77.0.1:41 (the "
               "numbers in it differ)\nrank 3: E: rank x: closed by 10\n"
               "rank 4: E: 1\nrank 5: E: rank 1: closed by 10.77.0.1:41 "
               "there\n");
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
        TEST(texts_of_several_lines),
        TEST(marked_lines_are_those_of_a_marked_traceback),
        TEST(mistakes_in_a_script_have_no_first_line),
        TEST(what_the_fault_handler_says_is_a_traceback),
        TEST(equal_ends_are_one_line),
        TEST(ends_that_differ_in_numbers_are_one_line),
        TEST(what_is_kept_is_bounded),
        TEST(the_last_one_is_kept_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
