/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What output becomes on its way: every test feeds bytes and looks at the
 * pieces. The property test cuts random texts at random places. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bin/proc/lines.h"
#include "lib/base/str.h"

#define MAX_PIECES 4096

struct piece {
    size_t at, len;
    unsigned flags;
};

/* All pieces that came, and their bytes one after the other. */
struct log {
    struct hb_str bytes;
    struct piece v[MAX_PIECES];
    size_t n;
    const void *last_data;
};

static void take(void *arg, const void *data, size_t len, unsigned flags)
{
    struct log *log = arg;

    assert_true(log->n < MAX_PIECES);
    assert_true(len > 0 && len <= HB_PIECE_MAX);
    log->v[log->n++] = (struct piece){log->bytes.len, len, flags};
    log->last_data = data;
    hb_str_putn(&log->bytes, data, len);
}

static struct log *new_log(void)
{
    return hb_xcalloc(1, sizeof(struct log));
}

static void free_log(struct log *log)
{
    hb_str_destroy(&log->bytes);
    free(log);
}

static void several_whole_lines_are_one_piece_without_a_copy(void **state)
{
    static const char text[] = "one\ntwo\nthree\n";
    struct hb_lines l = HB_LINES_INIT;
    struct log *log = new_log();

    hb_lines_feed(&l, text, sizeof(text) - 1, take, log);
    assert_int_equal(log->n, 1);
    assert_ptr_equal(log->last_data, text);
    assert_null(l.data);
    hb_lines_destroy(&l);
    free_log(log);
}

static void a_line_in_parts_comes_out_whole(void **state)
{
    struct hb_lines l = HB_LINES_INIT;
    struct log *log = new_log();

    hb_lines_feed(&l, "he", 2, take, log);
    hb_lines_feed(&l, "ll", 2, take, log);
    assert_int_equal(log->n, 0);
    hb_lines_feed(&l, "o\nx", 3, take, log);
    assert_int_equal(log->n, 1);
    assert_int_equal(log->v[0].flags, 0);
    assert_string_equal(log->bytes.s, "hello\n");
    hb_lines_destroy(&l);
    free_log(log);
}

static void a_last_line_without_an_end_passes_unchanged(void **state)
{
    struct hb_lines l = HB_LINES_INIT;
    struct log *log = new_log();

    hb_lines_feed(&l, "a\nno end", 8, take, log);
    hb_lines_finish(&l, take, log);
    hb_lines_finish(&l, take, log);
    assert_int_equal(log->n, 2);
    assert_int_equal(log->v[1].flags, HB_PIECE_PARTIAL);
    assert_string_equal(log->bytes.s, "a\nno end");
    hb_lines_destroy(&l);
    free_log(log);
}

static void what_follows_a_pause_is_marked_as_going_on(void **state)
{
    struct hb_lines l = HB_LINES_INIT;
    struct log *log = new_log();

    hb_lines_feed(&l, "name? ", 6, take, log);
    hb_lines_finish(&l, take, log);
    hb_lines_feed(&l, "bob\nnext\n", 9, take, log);
    assert_int_equal(log->n, 2);
    assert_int_equal(log->v[1].flags, HB_PIECE_CONTINUED);
    hb_lines_feed(&l, "more\n", 5, take, log);
    assert_int_equal(log->v[2].flags, 0);
    hb_lines_destroy(&l);
    free_log(log);
}

static void check_longest(size_t step)
{
    char *text = hb_xmalloc(HB_PIECE_MAX);
    struct hb_lines l = HB_LINES_INIT;
    struct log *log = new_log();

    memset(text, 'x', HB_LINE_MAX);
    text[HB_LINE_MAX] = '\n';
    for (size_t at = 0; at < HB_PIECE_MAX; at += step) {
        size_t len = HB_PIECE_MAX - at < step ? HB_PIECE_MAX - at : step;

        hb_lines_feed(&l, text + at, len, take, log);
    }
    assert_int_equal(log->n, 1);
    assert_int_equal(log->v[0].flags, 0);
    assert_int_equal(log->v[0].len, HB_PIECE_MAX);
    hb_lines_destroy(&l);
    free_log(log);
    free(text);
}

static void a_line_of_64_kib_stays_whole_however_it_comes(void **state)
{
    check_longest(HB_PIECE_MAX);
    check_longest(HB_LINE_MAX);
    check_longest(4096);
    check_longest(1000);
}

static void a_longer_line_comes_in_large_marked_pieces(void **state)
{
    const size_t n = 10 * HB_LINE_MAX;
    char *text = hb_xmalloc(n);
    struct hb_lines l = HB_LINES_INIT;
    struct log *log = new_log();

    memset(text, 0xff, n);
    for (size_t at = 0; at < n; at += 4096) {
        hb_lines_feed(&l, text + at, 4096, take, log);
    }
    hb_lines_feed(&l, "\n", 1, take, log);
    assert_in_range(log->n, 10, 12);
    assert_int_equal(log->v[0].flags, HB_PIECE_PARTIAL);
    assert_int_equal(log->v[1].flags, HB_PIECE_PARTIAL | HB_PIECE_CONTINUED);
    assert_int_equal(log->v[log->n - 1].flags, HB_PIECE_CONTINUED);
    assert_int_equal(log->bytes.len, n + 1);
    hb_lines_destroy(&l);
    free_log(log);
    free(text);
}

static void bytes_that_are_not_text_pass(void **state)
{
    static const char text[] = "\0\r\xff\0\n\0";
    struct hb_lines l = HB_LINES_INIT;
    struct log *log = new_log();

    hb_lines_feed(&l, text, 6, take, log);
    hb_lines_finish(&l, take, log);
    assert_memory_equal(log->bytes.s, text, 6);
    hb_lines_destroy(&l);
    free_log(log);
}

/* ---- property */

static uint32_t seed = 12345;

static uint32_t rnd(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* Lines of all lengths, most short, some around the limit. */
static void make_text(struct hb_str *o)
{
    size_t lines = 1 + rnd(40);

    for (size_t i = 0; i < lines; i++) {
        uint32_t kind = rnd(20);
        size_t len = kind < 16 ? rnd(200)
                     : kind < 19 ? HB_LINE_MAX - 3 + rnd(6)
                                 : rnd(3 * HB_LINE_MAX);

        for (size_t k = 0; k < len; k++) {
            char c = (char)rnd(256);

            hb_str_putc(o, c == '\n' ? 'n' : c);
        }
        if (i + 1 < lines || rnd(2)) {
            hb_str_putc(o, '\n');
        }
    }
}

static void feed_at_random(const struct hb_str *text, struct log *log)
{
    struct hb_lines l = HB_LINES_INIT;
    uint32_t step = rnd(3) == 0 ? 100 : rnd(2) ? 5000 : 200000;

    for (size_t at = 0; at < text->len;) {
        size_t len = 1 + rnd(step);

        len = len < text->len - at ? len : text->len - at;
        hb_lines_feed(&l, text->s + at, len, take, log);
        assert_true(l.len <= HB_LINE_MAX);
        at += len;
    }
    hb_lines_finish(&l, take, log);
    hb_lines_destroy(&l);
}

/* Length of the line, without its end, that the byte before `at` is in. */
static size_t line_length(const struct hb_str *text, size_t at)
{
    size_t from = at, to = at;

    while (from > 0 && text->s[from - 1] != '\n') {
        from--;
    }
    while (to < text->len && text->s[to] != '\n') {
        to++;
    }
    return to - from;
}

static void check_pieces(const struct hb_str *text, const struct log *log)
{
    for (size_t i = 0; i < log->n; i++) {
        const struct piece *p = &log->v[i];
        size_t end = p->at + p->len;
        int at_end = text->s[end - 1] == '\n';
        int begins_line = p->at == 0 || text->s[p->at - 1] == '\n';

        assert_int_equal(at_end, !(p->flags & HB_PIECE_PARTIAL));
        assert_int_equal(begins_line, !(p->flags & HB_PIECE_CONTINUED));
        if (!at_end && end < text->len) {
            assert_true(line_length(text, end) > HB_LINE_MAX);
        }
    }
}

static void random_cuts_keep_bytes_and_lines(void **state)
{
    for (int round = 0; round < 60; round++) {
        struct hb_str text = HB_STR_INIT;
        struct log *log = new_log();

        make_text(&text);
        feed_at_random(&text, log);
        assert_int_equal(log->bytes.len, text.len);
        if (text.len > 0) {
            assert_memory_equal(log->bytes.s, text.s, text.len);
        }
        check_pieces(&text, log);
        hb_str_destroy(&text);
        free_log(log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_whole_lines_are_one_piece_without_a_copy),
        cmocka_unit_test(a_line_in_parts_comes_out_whole),
        cmocka_unit_test(a_last_line_without_an_end_passes_unchanged),
        cmocka_unit_test(what_follows_a_pause_is_marked_as_going_on),
        cmocka_unit_test(a_line_of_64_kib_stays_whole_however_it_comes),
        cmocka_unit_test(a_longer_line_comes_in_large_marked_pieces),
        cmocka_unit_test(bytes_that_are_not_text_pass),
        cmocka_unit_test(random_cuts_keep_bytes_and_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
