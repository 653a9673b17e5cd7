/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Addresses as they are written.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/net/addr.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define WIDTH_MAX 64u

static void addresses_are_split(void **state)
{
    static const struct {
        const char *text, *host;
        unsigned port;
        int is_ipv6;
    } cases[] = {
        {"pod-0", "pod-0", 0, 0},
        {"pod-0.svc.", "pod-0.svc.", 0, 0},
        {"a_b:22", "a_b", 22, 0},
        {"10.0.0.1:65535", "10.0.0.1", 65535, 0},
        {"::1", "::1", 0, 1},
        {"[::1]", "::1", 0, 1},
        {"[::1]:2222", "::1", 2222, 1},
        {"fe80::1%eth0", "fe80::1%eth0", 0, 1},
        {"[fe80::1%eth0]:22", "fe80::1%eth0", 22, 1},
        {"::ffff:10.0.0.1", "::ffff:10.0.0.1", 0, 1},
    };
    struct hpcboot_error err;
    struct hb_addr addr;
    size_t i;

    for (i = 0; i < COUNT(cases); i++) {
        assert_int_equal(hb_addr_parse(cases[i].text, &addr, &err), 0);
        assert_string_equal(addr.host, cases[i].host);
        assert_int_equal(addr.port, cases[i].port);
        assert_int_equal(addr.is_ipv6, cases[i].is_ipv6);
    }
}

static void malformed_addresses_are_refused(void **state)
{
    static const char *const wrong[] = {
        "", ":22", "host:", "host:0", "host:65536", "host:x", "host:22 ",
        "-oProxyCommand=x", "a b", "a/b", "user@host", "[::1", "[::1]22",
        "[::1]:", "[host]:22", "[]", "1:2:3", "::1%", "::1%-x", "::1%a%b",
        "fe80::1%averyveryverylongname", "host:22:", "[10.0.0.1]",
    };
    struct hb_addr addr = {.port = 7};
    struct hpcboot_error err;
    size_t i;

    for (i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(hb_addr_parse(wrong[i], &addr, &err),
                         HPCBOOT_ERR_PARSE);
        assert_non_null(strstr(err.text, wrong[i]));
    }
    assert_int_equal(addr.port, 7);
}

static void a_name_has_a_longest_length(void **state)
{
    char text[HB_HOST_MAX + 2];
    struct hb_addr addr;

    memset(text, 'a', sizeof(text));
    text[HB_HOST_MAX + 1] = '\0';
    assert_int_equal(hb_addr_parse(text, &addr, NULL), HPCBOOT_ERR_PARSE);
    text[HB_HOST_MAX] = '\0';
    assert_int_equal(hb_addr_parse(text, &addr, NULL), HPCBOOT_OK);
    assert_string_equal(addr.host, text);
}

static void an_address_is_written_as_it_is_read(void **state)
{
    static const char *const texts[] = {
        "pod-0", "pod-0:22", "::1", "[::1]:22", "[fe80::1%eth0]:22",
    };
    struct hb_addr addr;
    char *text;
    size_t i;

    for (i = 0; i < COUNT(texts); i++) {
        assert_int_equal(hb_addr_parse(texts[i], &addr, NULL), 0);
        text = hb_addr_format(&addr);
        assert_string_equal(text, texts[i]);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_split),
        cmocka_unit_test(malformed_addresses_are_refused),
        cmocka_unit_test(a_name_has_a_longest_length),
        cmocka_unit_test(an_address_is_written_as_it_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
