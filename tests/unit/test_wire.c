/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Frames and messages. For every row of messages.def: what is written comes
 * back, and every cut or lengthened payload is refused.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "lib/wire/wire.h"

#define ROOM (1u << 20)
#define ROUNDS 50 /* of random content, for each message */

/* --- random content of every kind of field --- */

struct gen {
    uint32_t seed;
    char strings[64][24]; /* what str and strv fields point to */
    unsigned n_strings;
    unsigned char bytes[4][64];
    unsigned n_blobs;
    char *lists[4][8];
    unsigned n_lists;
    uint32_t numbers[8];
};

static uint32_t next_random(struct gen *g)
{
    g->seed = g->seed * 1664525u + 1013904223u;
    return g->seed >> 8;
}

static uint8_t gen_u8(struct gen *g)
{
    return (uint8_t)next_random(g);
}

static uint32_t gen_u32(struct gen *g)
{
    return next_random(g) << 16 ^ next_random(g);
}

static int32_t gen_i32(struct gen *g)
{
    return (int32_t)gen_u32(g);
}

static uint64_t gen_u64(struct gen *g)
{
    return (uint64_t)gen_u32(g) << 32 | gen_u32(g);
}

static char *gen_string(struct gen *g)
{
    char *s = g->strings[g->n_strings++ % 64];
    size_t len = next_random(g) % 24, i;

    for (i = 0; i < len; i++) {
        s[i] = (char)(1 + next_random(g) % 255);
    }
    s[len] = '\0';
    return s;
}

static const char *gen_str(struct gen *g)
{
    return gen_string(g);
}

static struct hb_bytes gen_blob(struct gen *g)
{
    unsigned char *bytes = g->bytes[g->n_blobs++ % 4];
    struct hb_bytes blob = {bytes, next_random(g) % 64};
    size_t i;

    for (i = 0; i < blob.len; i++) {
        bytes[i] = gen_u8(g);
    }
    return blob;
}

static struct hb_wire_strv gen_strv(struct gen *g)
{
    char **list = g->lists[g->n_lists++ % 4];
    uint32_t n = next_random(g) % 8, i;

    for (i = 0; i < n; i++) {
        list[i] = gen_string(g);
    }
    list[n] = NULL;
    return hb_wire_strv_of(list);
}

static struct hb_wire_u32s gen_u32s(struct gen *g)
{
    struct hb_wire_u32s list = {g->numbers, next_random(g) % 8, {"", 0}};
    uint32_t i;

    for (i = 0; i < list.n; i++) {
        g->numbers[i] = gen_u32(g);
    }
    return list;
}

/* --- and comparing it with what has been read --- */

#define same_u8(a, b) assert_int_equal(a, b)
#define same_u32(a, b) assert_int_equal(a, b)
#define same_i32(a, b) assert_int_equal(a, b)
#define same_u64(a, b) assert_true((a) == (b))
#define same_str(a, b) assert_string_equal(a, b)

static void same_blob(struct hb_bytes a, struct hb_bytes b)
{
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
}

static void same_strv(struct hb_wire_strv read, struct hb_wire_strv written)
{
    size_t pos = 0;
    uint32_t i;

    assert_int_equal(read.n, written.n);
    for (i = 0; i < written.n; i++) {
        const char *text = hb_wire_strv_next(&read, &pos);

        assert_non_null(text);
        assert_string_equal(text, written.v[i]);
    }
    assert_null(hb_wire_strv_next(&read, &pos));
}

static void same_u32s(struct hb_wire_u32s read, struct hb_wire_u32s written)
{
    uint32_t i;

    assert_int_equal(read.n, written.n);
    for (i = 0; i < read.n; i++) {
        assert_int_equal(hb_wire_u32s_at(&read, i),
                         hb_wire_u32s_at(&written, i));
    }
}

/* Takes the one frame that b holds. */
static struct hb_frame only_frame(struct hb_buf *b)
{
    struct hb_frame frame;

    assert_int_equal(hb_wire_next(b, &frame, NULL), 1);
    assert_int_equal(hb_buf_left(b), 0);
    return frame;
}

/* A frame that is not complete is waited for, whatever is missing. */
static void expect_waiting(const struct hb_buf *whole)
{
    struct hb_frame frame;
    struct hb_buf part;
    size_t n;

    for (n = 0; n < whole->len; n++) {
        hb_buf_view(&part, whole->data, n);
        assert_int_equal(hb_wire_next(&part, &frame, NULL), 0);
        assert_int_equal(part.pos, 0);
    }
}

#define F(kind, field) msg.field = gen_##kind(g);
#define HB_MESSAGE(ID, name, number, fields)               \
    static struct hb_msg_##name random_##name(struct gen *g) \
    {                                                      \
        struct hb_msg_##name msg;                          \
                                                           \
        fields                                             \
        return msg;                                        \
    }
#include "lib/wire/messages.def"
#undef HB_MESSAGE
#undef F

/* What is written is what is read. */
#define F(kind, field) same_##kind(got.field, msg.field);
#define HB_MESSAGE(ID, name, number, fields)                                \
    static void round_trip_of_##name(void **state)                          \
    {                                                                       \
        struct gen g = {.seed = HB_MSG_##ID};                               \
        struct hb_msg_##name msg, got;                                      \
        struct hb_frame frame;                                              \
        struct hb_buf b;                                                    \
        int i;                                                              \
                                                                            \
        hb_buf_init(&b, ROOM);                                              \
        for (i = 0; i < ROUNDS; i++) {                                      \
            hb_buf_clear(&b);                                               \
            msg = random_##name(&g);                                        \
            assert_int_equal(hb_wire_put_##name(&b, 7, 8, 9, &msg, NULL),   \
                             0);                                            \
            expect_waiting(&b);                                             \
            frame = only_frame(&b);                                         \
            assert_int_equal(frame.type, HB_MSG_##ID);                      \
            assert_int_equal(frame.epoch, 7);                               \
            assert_int_equal(frame.src, 8);                                 \
            assert_int_equal(frame.dst, 9);                                 \
            assert_int_equal(hb_wire_get_##name(&frame, &got, NULL), 0);    \
            fields                                                          \
        }                                                                   \
        hb_buf_destroy(&b);                                                 \
    }
#include "lib/wire/messages.def"
#undef HB_MESSAGE
#undef F

/* A payload that ends early, or late, is malformed, and nothing of it comes
 * out. */
#define HB_MESSAGE(ID, name, number, fields)                                 \
    static void wrong_length_of_##name(void **state)                         \
    {                                                                        \
        struct gen g = {.seed = 100 + HB_MSG_##ID};                          \
        struct hb_msg_##name msg = random_##name(&g), got, untouched;        \
        struct hpcboot_error err;                                            \
        struct hb_frame frame;                                               \
        struct hb_buf b;                                                     \
        size_t whole, n;                                                     \
                                                                             \
        hb_buf_init(&b, ROOM);                                               \
        memset(&got, 0x5a, sizeof(got));                                     \
        memset(&untouched, 0x5a, sizeof(untouched));                         \
        assert_int_equal(hb_wire_put_##name(&b, 0, 0, 0, &msg, &err), 0);    \
        frame = only_frame(&b);                                              \
        whole = frame.payload.len;                                           \
        hb_buf_put_u8(&b, 0);                                                \
        frame.payload.data = b.data + HB_WIRE_HEADER;                        \
        for (n = 0; n <= whole + 1; n++) {                                   \
            frame.payload.len = n;                                           \
            if (n != whole) {                                                \
                assert_int_equal(hb_wire_get_##name(&frame, &got, &err),     \
                                 HPCBOOT_ERR_PROTOCOL);                      \
            }                                                                \
        }                                                                    \
        assert_memory_equal(&got, &untouched, sizeof(got));                  \
        hb_buf_destroy(&b);                                                  \
    }
#include "lib/wire/messages.def"
#undef HB_MESSAGE

/* --- what peers may do wrong --- */

static void impossible_headers_are_refused_at_once(void **state)
{
    static const struct {
        uint32_t length;
        uint16_t type, flags;
    } cases[] = {
        {HB_WIRE_HEADER - 5, HB_MSG_PING, 0}, /* shorter than a header */
        {HB_WIRE_FRAME, HB_MSG_PING, 0},      /* four bytes too long */
        {UINT32_MAX, HB_MSG_PING, 0},
        {0, HB_MSG_PING, 0},
        {16, 0, 0}, /* types begin at 1 */
        {16, HB_MSG_TYPES, 0},
        {16, HB_MSG_PING, 1},
    };
    struct hpcboot_error err;
    struct hb_frame frame;
    struct hb_buf b;
    size_t i, pad;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hb_buf_init(&b, ROOM);
        hb_buf_put_u32(&b, cases[i].length);
        hb_buf_put_u16(&b, cases[i].type);
        hb_buf_put_u16(&b, cases[i].flags);
        for (pad = 0; pad < 3; pad++) {
            hb_buf_put_u32(&b, 0);
        }
        assert_int_equal(hb_wire_next(&b, &frame, &err),
                         HPCBOOT_ERR_PROTOCOL);
        assert_int_equal(b.pos, 0);
        hb_buf_destroy(&b);
    }
}

static void a_message_is_not_read_from_another_frame(void **state)
{
    const struct hb_msg_ping ping = {1, 2};
    struct hb_msg_pong pong;
    struct hpcboot_error err;
    struct hb_frame frame;
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_ping(&b, 0, 0, 0, &ping, NULL), 0);
    frame = only_frame(&b);
    assert_int_equal(hb_wire_get_pong(&frame, &pong, &err),
                     HPCBOOT_ERR_PROTOCOL);
    hb_buf_destroy(&b);
}

/* An INSPECT whose argv is given as raw bytes; wdir "" and env empty. */
static int read_argv(uint32_t count, const char *raw, size_t len)
{
    struct hb_frame frame = {.type = HB_MSG_INSPECT};
    struct hb_msg_inspect msg;
    struct hb_buf b;
    int rc;

    hb_buf_init(&b, ROOM);
    hb_buf_put_u32(&b, count);
    hb_buf_put_blob(&b, raw, len);
    hb_buf_put_str(&b, "");
    hb_buf_put_u32(&b, 0);
    hb_buf_put_u32(&b, 0);
    frame.payload.data = b.data;
    frame.payload.len = b.len;
    rc = hb_wire_get_inspect(&frame, &msg, NULL);
    hb_buf_destroy(&b);
    return rc;
}

static void lists_are_counted(void **state)
{
    assert_int_equal(read_argv(2, "a\0\0", 3), HPCBOOT_OK);
    assert_int_equal(read_argv(0, "", 0), HPCBOOT_OK);
    assert_int_equal(read_argv(1, "a\0\0", 3), HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(read_argv(3, "a\0\0", 3), HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(read_argv(2, "a\0b", 3), HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(read_argv(UINT32_MAX, "a\0b\0", 4),
                     HPCBOOT_ERR_PROTOCOL);
}

/* A NOTE, or an INSPECT, whose one string has so many bytes. */
static int put_long(int in_list, size_t len)
{
    char *text = hb_xmalloc(len + 1);
    char *const argv[] = {text, NULL};
    struct hb_msg_inspect inspect = {hb_wire_strv_of(argv), "",
                                     hb_wire_strv_of(NULL)};
    struct hb_msg_note note = {1, text};
    struct hb_buf b;
    int rc;

    memset(text, 'x', len);
    text[len] = '\0';
    hb_buf_init(&b, 8u << 20);
    rc = in_list ? hb_wire_put_inspect(&b, 0, 0, 0, &inspect, NULL)
                 : hb_wire_put_note(&b, 0, 0, 0, &note, NULL);
    assert_int_equal(hb_buf_failed(&b), rc < 0);
    hb_buf_destroy(&b);
    free(text);
    return rc;
}

static void a_string_too_long_to_be_read_is_not_written(void **state)
{
    assert_int_equal(put_long(0, HB_WIRE_STR), HPCBOOT_OK);
    assert_int_equal(put_long(1, HB_WIRE_STR), HPCBOOT_OK);
    assert_int_equal(put_long(0, HB_WIRE_STR + 1), HPCBOOT_ERR_LIMIT);
    assert_int_equal(put_long(1, HB_WIRE_STR + 1), HPCBOOT_ERR_LIMIT);
}

static void a_full_buffer_keeps_whole_frames_and_has_failed(void **state)
{
    const struct hb_msg_ping ping = {1, 2};
    struct hpcboot_error err;
    struct hb_buf b;

    hb_buf_init(&b, 40);
    assert_int_equal(hb_wire_put_ping(&b, 0, 0, 0, &ping, &err), 0);
    assert_int_equal(hb_wire_put_ping(&b, 0, 0, 0, &ping, &err),
                     HPCBOOT_ERR_LIMIT);
    assert_int_equal(b.len, HB_WIRE_HEADER + 12);
    assert_true(hb_buf_failed(&b));
    hb_buf_destroy(&b);
}

static void a_frame_is_forwarded_byte_for_byte(void **state)
{
    struct gen g = {.seed = 5};
    struct hb_msg_app app = random_app(&g);
    struct hb_frame frame;
    struct hb_buf a, b;

    hb_buf_init(&a, ROOM);
    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_app(&a, 1, 2, 3, &app, NULL), 0);
    frame = only_frame(&a);
    assert_int_equal(hb_wire_put_frame(&b, &frame, NULL), 0);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    hb_buf_destroy(&a);
    hb_buf_destroy(&b);
}

static void a_list_that_was_read_can_be_sent_on(void **state)
{
    struct gen g = {.seed = 6};
    struct hb_msg_app app = random_app(&g), read;
    struct hb_frame frame;
    struct hb_buf a, b;

    hb_buf_init(&a, ROOM);
    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_app(&a, 1, 2, 3, &app, NULL), 0);
    frame = only_frame(&a);
    assert_int_equal(hb_wire_get_app(&frame, &read, NULL), 0);
    assert_int_equal(hb_wire_put_app(&b, 1, 2, 3, &read, NULL), 0);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    hb_buf_destroy(&a);
    hb_buf_destroy(&b);
}

static void a_null_string_is_sent_as_empty(void **state)
{
    const struct hb_msg_note note = {2, NULL};
    struct hb_msg_note got;
    struct hb_frame frame;
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_note(&b, 0, 0, 0, &note, NULL), 0);
    frame = only_frame(&b);
    assert_int_equal(hb_wire_get_note(&frame, &got, NULL), 0);
    assert_string_equal(got.text, "");
    hb_buf_destroy(&b);
}

static void every_type_has_a_name(void **state)
{
    assert_string_equal(hb_wire_type_name(HB_MSG_HELLO), "HELLO");
    assert_string_equal(hb_wire_type_name(HB_MSG_STDIN), "STDIN");
    assert_string_equal(hb_wire_type_name(0), "unknown");
    assert_string_equal(hb_wire_type_name(HB_MSG_TYPES), "unknown");
    assert_string_equal(hb_wire_type_name(65535), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define HB_MESSAGE(ID, name, number, fields)      \
    cmocka_unit_test(round_trip_of_##name),       \
        cmocka_unit_test(wrong_length_of_##name),
#include "lib/wire/messages.def"
#undef HB_MESSAGE
        cmocka_unit_test(impossible_headers_are_refused_at_once),
        cmocka_unit_test(a_message_is_not_read_from_another_frame),
        cmocka_unit_test(lists_are_counted),
        cmocka_unit_test(a_string_too_long_to_be_read_is_not_written),
        cmocka_unit_test(a_full_buffer_keeps_whole_frames_and_has_failed),
        cmocka_unit_test(a_frame_is_forwarded_byte_for_byte),
        cmocka_unit_test(a_list_that_was_read_can_be_sent_on),
        cmocka_unit_test(a_null_string_is_sent_as_empty),
        cmocka_unit_test(every_type_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
