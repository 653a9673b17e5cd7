/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * The bounded buffer: byte order, limits, and failures that stick.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/buf.h"

#define ROOM 4096u

static void numbers_are_big_endian(void **state)
{
    static const unsigned char expected[] = {
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
        0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0xff, 0xff, 0xff, 0xfe,
    };
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    hb_buf_put_u8(&b, 0x01);
    hb_buf_put_u16(&b, 0x0203);
    hb_buf_put_u32(&b, 0x04050607);
    hb_buf_put_u64(&b, 0x08090a0b0c0d0e0fu);
    hb_buf_put_i32(&b, -2);
    assert_false(hb_buf_failed(&b));
    assert_int_equal(b.len, sizeof(expected));
    assert_memory_equal(b.data, expected, sizeof(expected));
    assert_int_equal(hb_buf_get_u8(&b), 0x01);
    assert_int_equal(hb_buf_get_u16(&b), 0x0203);
    assert_int_equal(hb_buf_get_u32(&b), 0x04050607);
    assert_true(hb_buf_get_u64(&b) == 0x08090a0b0c0d0e0fu);
    assert_int_equal(hb_buf_get_i32(&b), -2);
    assert_int_equal(hb_buf_left(&b), 0);
    assert_false(hb_buf_failed(&b));
    hb_buf_destroy(&b);
}

static void strings_and_blobs_come_back(void **state)
{
    struct hb_buf b;
    struct hb_bytes blob;

    hb_buf_init(&b, ROOM);
    hb_buf_put_str(&b, "pod-0");
    hb_buf_put_str(&b, NULL);
    hb_buf_put_blob(&b, "a\0b", 3);
    hb_buf_put_blob(&b, NULL, 0);
    assert_string_equal(hb_buf_get_str(&b, 5), "pod-0");
    assert_string_equal(hb_buf_get_str(&b, 5), "");
    blob = hb_buf_get_blob(&b, 3);
    assert_int_equal(blob.len, 3);
    assert_memory_equal(blob.data, "a\0b", 3);
    assert_int_equal(hb_buf_get_blob(&b, 3).len, 0);
    assert_false(hb_buf_failed(&b));
    hb_buf_destroy(&b);
}

static void writing_past_the_limit_fails_and_sticks(void **state)
{
    struct hb_buf b;

    hb_buf_init(&b, 5);
    hb_buf_put_u32(&b, 1);
    hb_buf_put_u32(&b, 2);
    assert_true(hb_buf_failed(&b));
    hb_buf_put_u8(&b, 3);
    assert_int_equal(b.len, 4);
    assert_int_equal(hb_buf_left(&b), 0);
    hb_buf_clear(&b);
    hb_buf_put_u8(&b, 3);
    assert_false(hb_buf_failed(&b));
    hb_buf_destroy(&b);
}

static void reading_past_the_end_fails_and_sticks(void **state)
{
    struct hb_buf b;

    hb_buf_view(&b, "\1\2\3", 3);
    assert_int_equal(hb_buf_get_u16(&b), 0x0102);
    assert_int_equal(hb_buf_get_u32(&b), 0);
    assert_true(hb_buf_failed(&b));
    assert_int_equal(hb_buf_get_u8(&b), 0);
    hb_buf_destroy(&b);
}

static void skipping_past_the_end_fails(void **state)
{
    struct hb_buf b;

    hb_buf_view(&b, "abc", 3);
    hb_buf_skip(&b, 3);
    assert_false(hb_buf_failed(&b));
    hb_buf_skip(&b, 1);
    assert_true(hb_buf_failed(&b));
}

/* One reason each why a string must be refused. */
static void malformed_strings_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"\0\0\0\2ab", 6},              /* no NUL */
        {"\0\0\0\2abc", 7},             /* something else in its place */
        {"\0\0\0\2a\0\0", 7},           /* a NUL inside */
        {"\0\0\0\7abcdefg\0", 12},      /* longer than asked for */
        {"\xff\xff\xff\xff" "ab\0", 7}, /* longer than there is */
        {"\0\0\0", 3},                  /* half a length */
    };
    struct hb_buf b;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hb_buf_view(&b, cases[i].bytes, cases[i].len);
        assert_string_equal(hb_buf_get_str(&b, 6), "");
        assert_true(hb_buf_failed(&b));
    }
}

static void a_blob_longer_than_asked_for_is_refused(void **state)
{
    struct hb_buf b;

    hb_buf_view(&b, "\0\0\0\3abc", 7);
    assert_int_equal(hb_buf_get_blob(&b, 2).len, 0);
    assert_true(hb_buf_failed(&b));
}

static void a_view_takes_no_bytes(void **state)
{
    struct hb_buf b;

    hb_buf_view(&b, "abc", 3);
    hb_buf_put_u8(&b, 1);
    assert_true(hb_buf_failed(&b));
    assert_memory_equal(b.data, "abc", 3);
    hb_buf_destroy(&b);
    assert_null(b.data);
}

static void an_empty_buffer_can_be_read(void **state)
{
    struct hb_buf b;

    hb_buf_init(&b, 0);
    assert_int_equal(hb_buf_get_raw(&b, 0).len, 0);
    assert_non_null(hb_buf_next(&b));
    hb_buf_put_raw(&b, NULL, 0);
    assert_false(hb_buf_failed(&b));
    assert_null(hb_buf_reserve(&b, 1));
    hb_buf_destroy(&b);
}

static void compacting_keeps_what_is_unread(void **state)
{
    struct hb_buf b;

    hb_buf_init(&b, 8);
    hb_buf_put_raw(&b, "abcdefgh", 8);
    hb_buf_skip(&b, 5);
    hb_buf_compact(&b);
    hb_buf_put_raw(&b, "ijklm", 5);
    assert_false(hb_buf_failed(&b));
    assert_int_equal(hb_buf_left(&b), 8);
    assert_memory_equal(hb_buf_next(&b), "fghijklm", 8);
    hb_buf_destroy(&b);
}

static void tidying_bounds_a_queue_that_is_never_empty(void **state)
{
    static unsigned char piece[1 << 16];
    struct hb_buf b;

    hb_buf_init(&b, (size_t)1 << 30);
    hb_buf_put_raw(&b, piece, sizeof piece);
    for (int i = 0; i < 1000; i++) {
        piece[0] = (unsigned char)i;
        hb_buf_put_raw(&b, piece, sizeof piece);
        hb_buf_skip(&b, sizeof piece);
        hb_buf_tidy(&b, SIZE_MAX);
        assert_int_equal(hb_buf_left(&b), sizeof piece);
        assert_int_equal(*hb_buf_next(&b), (unsigned char)i);
    }
    assert_true(b.cap <= (size_t)1 << 22);
    hb_buf_skip(&b, sizeof piece);
    hb_buf_tidy(&b, b.cap);
    assert_true(b.cap > 0);
    hb_buf_tidy(&b, b.cap - 1);
    assert_int_equal(b.cap, 0);
    hb_buf_put_raw(&b, piece, sizeof piece);
    assert_int_equal(hb_buf_left(&b), sizeof piece);
    hb_buf_destroy(&b);
}

static void reserved_room_is_not_data_until_added(void **state)
{
    const size_t size = 1u << 20;
    struct hb_buf b;
    void *room;

    hb_buf_init(&b, size);
    room = hb_buf_reserve(&b, size);
    assert_non_null(room);
    memset(room, 'x', size);
    assert_int_equal(hb_buf_left(&b), 0);
    hb_buf_added(&b, 3);
    assert_int_equal(hb_buf_left(&b), 3);
    hb_buf_added(&b, size);
    assert_true(hb_buf_failed(&b));
    hb_buf_destroy(&b);
}

static void a_length_can_be_patched_in(void **state)
{
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    hb_buf_put_u16(&b, 7);
    hb_buf_put_u32(&b, 0);
    hb_buf_patch_u32(&b, 2, 0x01020304);
    assert_memory_equal(b.data, "\0\7\1\2\3\4", 6);
    hb_buf_patch_u32(&b, 3, 0);
    assert_true(hb_buf_failed(&b));
    hb_buf_destroy(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_big_endian),
        cmocka_unit_test(strings_and_blobs_come_back),
        cmocka_unit_test(writing_past_the_limit_fails_and_sticks),
        cmocka_unit_test(reading_past_the_end_fails_and_sticks),
        cmocka_unit_test(skipping_past_the_end_fails),
        cmocka_unit_test(malformed_strings_are_refused),
        cmocka_unit_test(a_blob_longer_than_asked_for_is_refused),
        cmocka_unit_test(a_view_takes_no_bytes),
        cmocka_unit_test(an_empty_buffer_can_be_read),
        cmocka_unit_test(compacting_keeps_what_is_unread),
        cmocka_unit_test(tidying_bounds_a_queue_that_is_never_empty),
        cmocka_unit_test(reserved_room_is_not_data_until_added),
        cmocka_unit_test(a_length_can_be_patched_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
