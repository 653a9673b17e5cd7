/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What ranks of Horovod put and are told, as Python writes it. */
#include "config.h"

#include "bin/recipe/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* pickle.dumps(({"lo": [("127.0.0.1", 4242)], "eth0": [("10.77.0.1", 4242)]},
 * bytes(range(200, 232))), PROTOCOL) */
#define KEY                                                                  \
    "\xc8\xc9\xca\xcb\xcc\xcd\xce\xcf\xd0\xd1\xd2\xd3\xd4\xd5\xd6\xd7"       \
    "\xd8\xd9\xda\xdb\xdc\xdd\xde\xdf\xe0\xe1\xe2\xe3\xe4\xe5\xe6\xe7"
static const char protocol_5[] =
    "\x80\x05\x95\x62\0\0\0\0\0\0\0}\x94(\x8c\x02lo\x94]\x94"
    "\x8c\x09" "127.0.0.1\x94M\x92\x10\x86\x94" "a\x8c\x04" "eth0\x94]"
    "\x94\x8c\x09" "10.77.0.1\x94M\x92\x10\x86\x94" "auC " KEY
    "\x94\x86\x94.";
static const char protocol_3[] =
    "\x80\x03}q\0(X\x02\0\0\0loq\x01]q\x02X\x09\0\0\0" "127.0.0.1q\x03M"
    "\x92\x10\x86q\x04" "auC " KEY "q\x05\x86q\x06.";

static int reads(const char *text, size_t len, struct hb_worker *w)
{
    memset(w, 0, sizeof *w);
    return hb_worker_read(w, (const unsigned char *)text, len);
}

static void port_and_key_are_found(void **state)
{
    struct hb_worker w;

    assert_int_equal(reads(protocol_5, sizeof protocol_5 - 1, &w), 0);
    assert_int_equal(w.port, 4242);
    assert_memory_equal(w.key, KEY, sizeof w.key);
    assert_int_equal(reads(protocol_3, sizeof protocol_3 - 1, &w), 0);
    assert_int_equal(w.port, 4242);
    assert_memory_equal(w.key, KEY, sizeof w.key);
}

static void what_is_cut_short_is_refused(void **state)
{
    struct hb_worker w;

    for (size_t n = 0; n < sizeof protocol_5 - 1; n++) {
        assert_int_equal(reads(protocol_5, n, &w), -1);
        assert_int_equal(w.port, 0);
    }
}

static void what_calls_something_is_refused(void **state)
{
    static const char call[] = "cos\nsystem\n(S'true'\ntR.";
    struct hb_worker w;

    assert_int_equal(reads(call, sizeof call - 1, &w), -1);
}

static void a_value_without_port_or_key_is_refused(void **state)
{
    static const char no_port[] = "\x80\x05" "C " KEY ".";
    static const char no_key[] = "\x80\x05M\x92\x10.";
    struct hb_worker w;

    assert_int_equal(reads(no_port, sizeof no_port - 1, &w), -1);
    assert_int_equal(reads(no_key, sizeof no_key - 1, &w), -1);
}

static void hosts_added_is_said_in_protocol_0(void **state)
{
    struct hb_str text = HB_STR_INIT;

    hb_worker_hosts_added(&text, 1700000000);
    assert_string_equal(hb_str_text(&text),
                        "chorovod.runner.elastic.worker\n"
                        "HostsUpdatedRequest\n(I1700000000\n"
                        "chorovod.runner.elastic.worker\n"
                        "HostUpdateResult\n(I2\ntRtR.");
    hb_str_destroy(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_and_key_are_found),
        cmocka_unit_test(what_is_cut_short_is_refused),
        cmocka_unit_test(what_calls_something_is_refused),
        cmocka_unit_test(a_value_without_port_or_key_is_refused),
        cmocka_unit_test(hosts_added_is_said_in_protocol_0),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
