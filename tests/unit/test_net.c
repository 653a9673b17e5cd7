/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Addresses as they are written, and the arithmetic of the tree.
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
#include "lib/net/tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define N_MAX 300u /* nodes, and widths, that are all tried */
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

/* Every node but the root is the child of exactly one node: its parent. */
static void check_tree(uint32_t n, uint32_t width)
{
    uint32_t node, first = 0, count, i, next = 1;

    for (node = 0; node < n; node++) {
        count = hb_tree_children(node, n, width, &first);
        assert_true(count <= width);
        if (count > 0) {
            assert_int_equal(first, next);
        }
        for (i = 0; i < count; i++, next++) {
            assert_int_equal(hb_tree_parent(next, width), node);
            assert_int_equal(hb_tree_depth(next, width),
                             hb_tree_depth(node, width) + 1);
        }
    }
    assert_int_equal(next, n);
}

static void children_and_parents_agree(void **state)
{
    uint32_t n, width;

    for (n = 1; n <= N_MAX; n++) {
        for (width = 2; width <= WIDTH_MAX; width++) {
            check_tree(n, width);
        }
        check_tree(n, 1);
    }
    assert_int_equal(hb_tree_parent(0, 2), HB_TREE_NONE);
    assert_int_equal(hb_tree_depth(0, 2), 0);
}

static void every_hop_leads_nearer(void **state)
{
    static const uint32_t widths[] = {1, 2, 3, 16, 64};
    uint32_t from, to, at, hops;
    size_t i;

    for (i = 0; i < COUNT(widths); i++) {
        for (from = 0; from < 64; from++) {
            for (to = 0; to < 64; to++) {
                hops = hb_tree_depth(from, widths[i])
                       + hb_tree_depth(to, widths[i]);
                for (at = from; at != to && hops > 0; hops--) {
                    at = hb_tree_next_hop(at, to, widths[i]);
                }
                assert_int_equal(at, to);
            }
        }
    }
    assert_int_equal(hb_tree_next_hop(5, 5, 2), 5);
}

static void a_tree_as_wide_as_a_number_does_not_overflow(void **state)
{
    uint32_t first = 0;

    assert_int_equal(hb_tree_children(0, UINT32_MAX, UINT32_MAX, &first),
                     UINT32_MAX - 1);
    assert_int_equal(first, 1);
    assert_int_equal(hb_tree_children(4000000000u, UINT32_MAX, 64, &first), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_split),
        cmocka_unit_test(malformed_addresses_are_refused),
        cmocka_unit_test(a_name_has_a_longest_length),
        cmocka_unit_test(an_address_is_written_as_it_is_read),
        cmocka_unit_test(children_and_parents_agree),
        cmocka_unit_test(every_hop_leads_nearer),
        cmocka_unit_test(a_tree_as_wide_as_a_number_does_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
