/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Messages byte for byte, as the protocol's document gives them. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "lib/wire/wire.h"
#include "tests/unit/seed.h"

#define ROOM (1u << 20)

/* Compares with a text of hexadecimal digits and blanks, and with the seed of
 * the fuzzer. */
static void expect_hex(const struct hb_buf *b, const char *seed,
                       const char *hex)
{
    struct hb_str got = HB_STR_INIT, want = HB_STR_INIT;
    size_t i;

    for (i = 0; i < b->len; i++) {
        hb_str_putf(&got, "%02x", b->data[i]);
    }
    for (; *hex != '\0'; hex++) {
        if (*hex != ' ') {
            hb_str_putc(&want, *hex);
        }
    }
    assert_string_equal(hb_str_text(&got), hb_str_text(&want));
    hb_str_destroy(&got);
    hb_str_destroy(&want);
    expect_seed(seed, b);
}

static void bytes_of_hello(void **state)
{
    const struct hb_msg_hello msg = {
        .protocol = HB_WIRE_PROTOCOL, .version = "0.1.0", .token = "t7",
        .host_name = "pod-0", .pid = 4711, .uid = 1000, .cores = 2, .pus = 4,
        .quota_milli = 1500, .slots = 2, .slots_origin = "quota", .gpus = 8,
        .gpus_origin = "dev",
        .time_ns = 0x0102030405060708u, .has_key = 1, .place = "b 1 2 3",
    };
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_hello(&b, 0, HB_NODE_UNSET,
                                       HB_NODE_LAUNCHER, &msg, NULL), 0);
    expect_hex(&b, "wire/hello",
               "00000072 0001 0000 00000000 fffffffd ffffffff"
               "00000001 00000005 302e312e3000 00000002 743700"
               "00000005 706f642d3000 00001267 000003e8 00000002 00000004"
               "000005dc 00000002 00000005 71756f746100 00000008"
               "00000003 64657600 0102030405060708 01"
               "00000007 6220312032203300");
    hb_buf_destroy(&b);
}

static void bytes_of_proving(void **state)
{
    const struct hb_msg_prove ask = {
        .nonce = {"\1\2\3\4", 4}, .host_key = {"\xaa\xbb", 2},
        .key_file = "/k",
    };
    const struct hb_msg_proof answer = {.proofs = {"\xcc\xdd\xee", 3}};
    const struct hb_msg_session session = {.key = {"\x11\x22", 2}};
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_prove(&b, 0, HB_NODE_LAUNCHER, HB_NODE_UNSET,
                                       &ask, NULL), 0);
    assert_int_equal(hb_wire_put_proof(&b, 0, HB_NODE_UNSET, HB_NODE_LAUNCHER,
                                       &answer, NULL), 0);
    assert_int_equal(hb_wire_put_session(&b, 0, HB_NODE_LAUNCHER, 1, &session,
                                         NULL), 0);
    expect_hex(&b, "wire/proving",
               "00000025 0022 0000 00000000 ffffffff fffffffd"
               "00000004 01020304 00000002 aabb 00000002 2f6b00"
               "0000001c 0023 0000 00000000 fffffffd ffffffff"
               "00000003 ccddee 00000000 00"
               "00000016 0024 0000 00000000 ffffffff 00000001"
               "00000002 1122");
    hb_buf_destroy(&b);
}

static void bytes_of_job(void **state)
{
    static char *const env[] = {(char *)"A=1", (char *)"B=", NULL};
    static char *const limits[] = {(char *)"core=0:0", NULL};
    static const uint32_t nodes[] = {0, HB_NODE_UNSET};
    const struct hb_msg_job msg = {
        .map = {"\1\2", 2}, .family = "pmix", .env = hb_wire_strv_of(env),
        .env_rules = hb_wire_strv_of(NULL),
        .limits = hb_wire_strv_of(limits), .umask = 022,
        .flags = HB_JOB_MERGE_STDERR | HB_JOB_KEEP_GOING, .grace_ms = 20000,
        .flavour = 1, .stdin_mode = HB_STDIN_NONE, .stdin_rank = 0,
        .credit_bytes = 1u << 20, .bind_to = "core",
        .nodes = {.v = nodes, .n = 2},
        .rank_slots = hb_wire_strv_of(NULL), .restart = 2,
        .checkpoint_signal = 10, .world = 3,
    };
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(
        hb_wire_put_job(&b, 3, HB_NODE_LAUNCHER, 5, &msg, NULL), 0);
    expect_hex(&b, "wire/job",
               "0000008c 0005 0000 00000003 ffffffff 00000005"
               "00000002 0102 00000004 706d697800"
               "00000002 00000007 413d3100 423d00"
               "00000000 00000000"
               "00000001 00000009 636f72653d303a3000"
               "00000012 00000009 00004e20 00000001 00000002 00000000"
               "00100000 00000004 636f726500 00000002 00000000 fffffffd"
               "00000000 00000000 00000002 0000000a 00000003");
    hb_buf_destroy(&b);
}

static void bytes_of_a_meeting_place(void **state)
{
    static const uint32_t wanted[] = {29500 | HB_PORT_MUST, 0};
    const struct hb_msg_ports ask = {
        .wanted = {.v = wanted, .n = 2}, .towards = "b",
        .known = "c"};
    const struct hb_msg_ports_found found = {
        .ports = {.v = wanted, .n = 1}, .address = "::1", .text = ""};
    const struct hb_msg_met met = {
        .seen = HB_MET_FAR, .nodes = {.v = wanted + 1, .n = 1}};
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_ports(&b, 0, HB_NODE_LAUNCHER, 1, &ask,
                                       NULL), 0);
    assert_int_equal(hb_wire_put_ports_found(&b, 0, 1, HB_NODE_LAUNCHER,
                                             &found, NULL), 0);
    assert_int_equal(hb_wire_put_met(&b, 0, 1, HB_NODE_LAUNCHER, &met, NULL),
                     0);
    expect_hex(&b, "wire/meeting",
               "00000028 003c 0000 00000000 ffffffff 00000001"
               "00000002 0001733c 00000000 00000001 6200 00000001 6300"
               "00000025 003d 0000 00000000 00000001 ffffffff"
               "00000001 0001733c 00000003 3a3a3100 00000000 00"
               "0000001c 003f 0000 00000000 00000001 ffffffff 00000002"
               "00000001 00000000");
    hb_buf_destroy(&b);
}

static void bytes_of_a_spawn(void **state)
{
    static char *const words[] = {(char *)"a", (char *)"b c", NULL};
    static char *const hints[] = {(char *)"wdir=/", NULL};
    static char *const preput[] = {(char *)"k=v", NULL};
    static char *const hosts[] = {(char *)"n0", NULL};
    static const uint32_t counts[] = {3, 2, 1}, ranks[] = {2};
    const struct hb_msg_spawn spawn = {
        .id = 1, .rank = 2, .counts = {.v = counts, .n = 3},
        .words = hb_wire_strv_of(words), .hints = hb_wire_strv_of(hints),
        .preput = hb_wire_strv_of(preput),
    };
    const struct hb_msg_spawned spawned = {.id = 1, .job_id = "j", .ranks = 3};
    const struct hb_msg_ancestry ancestry = {
        .job_id = "i", .rank = 2, .number = 2, .family = "pmix",
        .preput = hb_wire_strv_of(preput),
    };
    const struct hb_msg_room room = {
        .hosts = hb_wire_strv_of(hosts), .ranks = {.v = ranks, .n = 1},
    };
    const struct hb_msg_job_failed failed = {
        .status = 7, .text = "x", .time_ns = 9,
    };
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_spawn(&b, 0, 1, HB_NODE_LAUNCHER, &spawn,
                                       NULL), 0);
    assert_int_equal(hb_wire_put_spawned(&b, 0, HB_NODE_LAUNCHER, 1, &spawned,
                                         NULL), 0);
    assert_int_equal(hb_wire_put_ancestry(&b, 0, HB_NODE_LAUNCHER, 1,
                                          &ancestry, NULL), 0);
    assert_int_equal(hb_wire_put_room(&b, 0, HB_NODE_LAUNCHER, 1, &room, NULL),
                     0);
    assert_int_equal(hb_wire_put_job_failed(&b, 0, 1, HB_NODE_LAUNCHER,
                                              &failed, NULL), 0);
    expect_hex(&b, "wire/spawn",
               "00000055 0048 0000 00000000 00000001 ffffffff"
               "0000000000000001 00000002"
               "00000003 00000003 00000002 00000001"
               "00000002 00000006 6100 62206300"
               "00000001 00000007 776469723d2f00"
               "00000001 00000004 6b3d7600"
               "0000002b 0049 0000 00000000 ffffffff 00000001"
               "0000000000000001 00000000 00000001 6a00 00000003"
               "00000000 00"
               "00000033 004a 0000 00000000 ffffffff 00000001"
               "00000001 6900 00000002 00000002 00000004 706d697800"
               "00000001 00000004 6b3d7600"
               "00000023 004b 0000 00000000 ffffffff 00000001"
               "00000001 00000003 6e3000 00000001 00000002"
               "00000022 004c 0000 00000000 00000001 ffffffff"
               "00000007 00000001 7800 0000000000000009");
    hb_buf_destroy(&b);
}

static void bytes_of_a_cut(void **state)
{
    const struct hb_msg_cut cut = {.rank = 258, .text = "not heard"};
    const struct hb_msg_alive alive = {.asked = 3};
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_cut(&b, 0, 1, HB_NODE_LAUNCHER, &cut, NULL),
                     0);
    assert_int_equal(hb_wire_put_alive(&b, 0, HB_NODE_LAUNCHER, 2, &alive,
                                       NULL), 0);
    expect_hex(&b, "wire/cut",
               "00000022 0045 0000 00000000 00000001 ffffffff"
               "00000102 00000009 6e6f7420686561726400"
               "00000014 0046 0000 00000000 ffffffff 00000002 00000003");
    hb_buf_destroy(&b);
}

static void bytes_of_nodes_that_moved(void **state)
{
    static const uint32_t nodes[] = {1, 258};
    const struct hb_msg_moved moved = {.nodes = {.v = nodes, .n = 2}};
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_moved(&b, 1, HB_NODE_LAUNCHER, 2, &moved,
                                       NULL), 0);
    expect_hex(&b, "wire/moved",
               "0000001c 0047 0000 00000001 ffffffff 00000002"
               "00000002 00000001 00000102");
    hb_buf_destroy(&b);
}

static void bytes_of_output(void **state)
{
    const struct hb_msg_output msg = {
        .rank = 3, .stream = 1, .flags = HB_OUT_PARTIAL, .wall_ns = 256,
        .data = {"hi\n", 3},
    };
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(
        hb_wire_put_output(&b, 1, 2, HB_NODE_LAUNCHER, &msg, NULL), 0);
    expect_hex(&b, "wire/output",
               "00000025 000c 0000 00000001 00000002 ffffffff"
               "00000003 01 01 0000000000000100 00000003 68690a");
    hb_buf_destroy(&b);
}

static void bytes_of_fence_up(void **state)
{
    static const uint32_t nodes[] = {0, 258};
    const struct hb_msg_fence_up msg = {
        .key = {"k", 1}, .nodes = {nodes, 2, {"", 0}}, .data = {"", 0},
    };
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(
        hb_wire_put_fence_up(&b, 0, 1, HB_NODE_LAUNCHER, &msg, NULL), 0);
    expect_hex(&b, "wire/fence_up",
               "00000025 0014 0000 00000000 00000001 ffffffff"
               "00000001 6b 00000002 00000000 00000102 00000000");
    hb_buf_destroy(&b);
}

static void bytes_of_event(void **state)
{
    const struct hb_msg_event event = {
        .rank = 1, .code = -3, .range = 3, .infos = {"ab", 2},
    };
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_event(&b, 0, 1, HB_NODE_LAUNCHER, &event,
                                       NULL), 0);
    expect_hex(&b, "wire/event",
               "0000001f 004d 0000 00000000 00000001 ffffffff"
               "00000001 fffffffd 03 00000002 6162");
    hb_buf_destroy(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_hello),
        cmocka_unit_test(bytes_of_proving),
        cmocka_unit_test(bytes_of_job),
        cmocka_unit_test(bytes_of_a_meeting_place),
        cmocka_unit_test(bytes_of_a_spawn),
        cmocka_unit_test(bytes_of_a_cut),
        cmocka_unit_test(bytes_of_nodes_that_moved),
        cmocka_unit_test(bytes_of_output),
        cmocka_unit_test(bytes_of_fence_up),
        cmocka_unit_test(bytes_of_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
