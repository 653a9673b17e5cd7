/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* An inventory of fabrics as bytes. */
#include "config.h"

#include "lib/fabric/fabric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/base/json.h"
#include "tests/unit/fabric_tree.h"
#include "tests/unit/seed.h"

static void an_inventory_survives_the_way_to_the_launcher(void **state)
{
    struct hb_fabric f, again;
    struct hb_str a = HB_STR_INIT, b = HB_STR_INIT;
    struct hb_json json;
    struct hb_buf bytes, view;
    struct hpcboot_error err;
    char root[256];

    (void)state;
    fabric_tree_create("gpu8", NULL, root, sizeof root);
    hb_fabric_read(root, 0, &f, NULL);
    tree_remove(root);
    hb_buf_init(&bytes, HB_FABRIC_BYTES_MAX);
    hb_fabric_encode(&f, &bytes);
    assert_false(hb_buf_failed(&bytes));
    hb_buf_view(&view, bytes.data, bytes.len);
    assert_int_equal(hb_fabric_decode(&again, &view, &err), 0);
    hb_json_begin(&json, &a);
    hb_json_object(&json, NULL);
    hb_fabric_json(&f, &json);
    hb_json_begin(&json, &b);
    hb_json_object(&json, NULL);
    hb_fabric_json(&again, &json);
    assert_string_equal(a.s, b.s);
    hb_buf_view(&view, bytes.data, bytes.len - 1);
    assert_true(hb_fabric_decode(&f, &view, &err) < 0);
    hb_str_destroy(&a);
    hb_str_destroy(&b);
    hb_buf_destroy(&bytes);
    hb_fabric_clear(&f);
    hb_fabric_clear(&again);
}

/* As kube-ipvs0 has an address for each service, and a host a device for each
 * pod. */
static void an_inventory_is_cut_to_what_the_launcher_reads(void **state)
{
    const uint32_t many = 1100;
    struct hb_fabric f = {0}, again;
    struct hb_buf bytes, view;

    (void)state;
    f.n_net = many;
    f.net = hb_xcalloc(many, sizeof *f.net);
    f.net[0].n_addrs = many;
    f.net[0].addrs = hb_xcalloc(many, sizeof *f.net[0].addrs);
    for (uint32_t i = 0; i < many; i++) {
        snprintf(f.net[i].name, sizeof f.net[i].name, "net%u", i);
        f.net[0].addrs[i].family = 4;
        f.net[0].addrs[i].raw[3] = (uint8_t)i;
    }
    hb_buf_init(&bytes, HB_FABRIC_BYTES_MAX);
    hb_fabric_encode(&f, &bytes);
    hb_buf_view(&view, bytes.data, bytes.len);
    assert_int_equal(hb_fabric_decode(&again, &view, NULL), 0);
    assert_int_equal(again.n_net, 1024);
    assert_int_equal(again.net[0].n_addrs, 1024);
    assert_int_equal(again.net[0].addrs[255].raw[3], 255);
    assert_string_equal(again.net[1].name, "net1");
    hb_buf_destroy(&bytes);
    hb_fabric_clear(&f);
    hb_fabric_clear(&again);
}

static void seeds_of_the_fuzzer_are_inventories(void **state)
{
    static const char *const names[] = {"dual-ib", "roce-vlan", "vf-pod"};
    struct hb_fabric f;
    struct hb_buf bytes;
    char root[256];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *seed = hb_xasprintf("fabric/%s", names[i]);

        fabric_tree_create(names[i], NULL, root, sizeof root);
        hb_fabric_read(root, 0, &f, NULL);
        tree_remove(root);
        f.us = 0;
        hb_buf_init(&bytes, HB_FABRIC_BYTES_MAX);
        hb_fabric_encode(&f, &bytes);
        expect_seed(seed, &bytes);
        hb_buf_destroy(&bytes);
        hb_fabric_clear(&f);
        free(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inventory_survives_the_way_to_the_launcher),
        cmocka_unit_test(an_inventory_is_cut_to_what_the_launcher_reads),
        cmocka_unit_test(seeds_of_the_fuzzer_are_inventories),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
