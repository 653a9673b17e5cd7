/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What the cards of three ranks say of the network between them, and which
 * devices of a host they speak of. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "hpcboot/status.h"
#include "lib/xport/address.h"
#include "lib/xport/impl.h"
#include "lib/xport/xport.h"
#include "tests/unit/fabric_tree.h"

#define RANKS 3
#define CARD_MOST 255 /* HB_SEGMENT_ADDRESS_MAX, less its length */
#define IB(mbps) {.may = 6, .ucx_kind = HB_UCX_IB, .ucx_mbps = (mbps)}

static const void *address_of(void *ctx, uint32_t rank, size_t *len_out)
{
    const struct hb_buf *cards = ctx;

    *len_out = cards[rank].len;
    return cards[rank].data;
}

static void put_card(struct hb_buf *card, const struct hb_caps *caps)
{
    static const unsigned char token[HB_ADDRESS_TOKEN];
    struct hb_interfaces one = {.n = 1};
    struct sockaddr_in *at = (struct sockaddr_in *)&one.list[0].at;

    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    hb_buf_init(card, HB_ADDRESS_MOST * sizeof one);
    hb_endpoint_put(card, &one, 1, token);
    if (caps != NULL) {
        hb_endpoint_put_caps(card, caps);
    }
}

/* What ranks with these cards, which are destroyed, make of them. */
static struct hb_xport_net net_of_cards(struct hb_buf *cards)
{
    static const int ranks[RANKS] = {0, 1, 2};
    struct hb_xport x = {.job = {.ctx = cards, .address = address_of}};
    struct hb_xport_net net;

    hb_xport_net(&x, ranks, RANKS, &net);
    for (int i = 0; i < RANKS; i++) {
        hb_buf_destroy(&cards[i]);
    }
    return net;
}

/* The last of the ranks says nothing where n is less than all. */
static struct hb_xport_net net_of(const struct hb_caps *caps, int n)
{
    struct hb_buf cards[RANKS];

    for (int i = 0; i < RANKS; i++) {
        put_card(&cards[i], i < n ? &caps[i] : NULL);
    }
    return net_of_cards(cards);
}

static void devices_of_all_are_used_at_the_slowest_rate(void **state)
{
    const struct hb_caps caps[RANKS] = {IB(200000), IB(100000), IB(400000)};
    struct hb_xport_net net = net_of(caps, RANKS);

    assert_true(net.by_ucx && net.is_device);
    assert_int_equal(net.mbps, 100000);
}

static void devices_that_do_not_speak_to_each_other_leave_tcp(void **state)
{
    struct hb_caps caps[RANKS] = {IB(200000), IB(100000), IB(400000)};
    struct hb_xport_net net;

    caps[2].ucx_kind = HB_UCX_ROCE;
    caps[1].tcp_mbps = 1000;
    net = net_of(caps, RANKS);
    assert_true(!net.by_ucx && !net.is_device);
    assert_int_equal(net.mbps, 1000);
}

static void versions_of_ucx_that_differ_leave_tcp(void **state)
{
    struct hb_caps caps[RANKS] = {IB(200000), IB(200000), IB(200000)};
    struct hb_xport_net net;

    for (int i = 0; i < RANKS; i++) {
        caps[i].ucx_version = HB_UCX_VERSION(1, i < RANKS - 1 ? 13 : 22);
        caps[i].tcp_mbps = 1000;
    }
    net = net_of(caps, RANKS);
    assert_true(!net.by_ucx && !net.is_device);
    assert_int_equal(net.mbps, 1000);
}

static void ucx_over_tcp_is_no_device(void **state)
{
    const struct hb_caps over_tcp = {.may = 4, .ucx_kind = HB_UCX_TCP};
    const struct hb_caps caps[RANKS] = {over_tcp, over_tcp, over_tcp};
    struct hb_xport_net net = net_of(caps, RANKS);

    assert_true(net.by_ucx && !net.is_device);
}

static void a_card_that_says_nothing_leaves_tcp(void **state)
{
    const struct hb_caps caps[RANKS] = {IB(200000), IB(100000)};
    struct hb_xport_net net = net_of(caps, RANKS - 1);

    assert_true(!net.by_ucx && !net.is_device);
}

static struct hb_caps caps_of(const char *tree, const char *const *instead)
{
    struct hb_caps caps = {0};
    char root[256];

    fabric_tree_create(tree, instead, root, sizeof root);
    (void)hb_caps_rdma(root, NULL, 0, &caps, NULL);
    tree_remove(root);
    return caps;
}

static void devices_that_can_be_used_are_seen(void **state)
{
    assert_int_equal(caps_of("dual-ib", NULL).ucx_kind, HB_UCX_IB);
    assert_int_equal(caps_of("dual-ib", NULL).ucx_mbps, 200000);
    assert_int_equal(caps_of("roce-vlan", NULL).ucx_kind, HB_UCX_ROCE);
}

/* A better device of another kind is not in the way of one that is wished. */
static void of_two_kinds_the_wished_one_is_seen(void **state)
{
    static const char *const instead[] = {
        "mlx5_1/ports/1/link_layer = InfiniBand",
        "mlx5_1/ports/1/link_layer = Ethernet",
        "mlx5_1/ports/1/rate = 200", "mlx5_1/ports/1/rate = 100", NULL};
    struct hb_caps caps = {0};
    char root[256], *ports = NULL;

    (void)state;
    fabric_tree_create("dual-ib", instead, root, sizeof root);
    assert_int_equal(hb_caps_rdma(root, NULL, HB_UCX_ROCE, &caps, &ports), 1);
    assert_int_equal(caps.ucx_kind, HB_UCX_ROCE);
    assert_int_equal(caps.ucx_mbps, 100000);
    assert_string_equal(ports, "mlx5_1:1");
    free(ports);
    ports = NULL;
    assert_int_equal(hb_caps_rdma(root, NULL, HB_UCX_IB, &caps, &ports), 1);
    assert_int_equal(caps.ucx_mbps, 200000);
    assert_string_equal(ports, "mlx5_0:1");
    free(ports);
    ports = NULL;
    assert_int_equal(hb_caps_rdma(root, "mlx5_0:1", HB_UCX_ROCE, &caps, &ports),
                     0);
    assert_int_equal(caps.ucx_kind, HB_UCX_NONE);
    assert_null(ports);
    tree_remove(root);
}

static void a_device_without_its_file_is_none(void **state)
{
    static const char *const instead[] = {"dev/infiniband/uverbs",
                                          "dev/infiniband/another", NULL};

    assert_int_equal(caps_of("dual-ib", instead).ucx_kind, HB_UCX_NONE);
}

static void a_device_that_is_neither_infiniband_nor_roce_is_none(void **state)
{
    static const char *const types[] = {"node_type = 1: CA",
                                        "node_type = 4: RNIC", NULL};
    static const char *const layers[] = {"link_layer = InfiniBand",
                                         "link_layer = Unspecified", NULL};

    assert_int_equal(caps_of("dual-ib", types).ucx_kind, HB_UCX_NONE);
    assert_int_equal(caps_of("dual-ib", layers).ucx_kind, HB_UCX_NONE);
    assert_int_equal(caps_of("cloud-nic", NULL).ucx_kind, HB_UCX_NONE);
}

/* Card i has costs[i], unless that is all 0. */
static struct hb_costs costs_of(const struct hb_costs *costs)
{
    struct hb_buf cards[RANKS];

    for (int i = 0; i < RANKS; i++) {
        put_card(&cards[i], NULL);
        if (costs[i].send_ns != 0) {
            hb_endpoint_put_costs(&cards[i], &costs[i]);
        }
    }
    return net_of_cards(cards).costs;
}

static void the_dearest_messages_of_all_count(void **state)
{
    struct hb_costs of[RANKS] = {
        {5, 9, 4, 1}, {7, 3, 2, 1}, {6, 4, 8, 1}};
    struct hb_costs all = costs_of(of);

    assert_int_equal(all.send_ns, 7);
    assert_int_equal(all.recv_ns, 9);
    assert_int_equal(all.cpus, 2);
    assert_true(all.machine == 1);
    of[1].machine = 2;
    assert_true(costs_of(of).machine == 0);
}

static void costs_that_one_does_not_know_nobody_knows(void **state)
{
    const struct hb_costs of[RANKS] = {
        {5, 9, 2, 1}, {0, 0, 0, 0}, {6, 4, 2, 1}};
    struct hb_costs all = costs_of(of);

    assert_true(all.send_ns == 0 && all.recv_ns == 0 && all.machine == 0);
}

static void ranks_of_one_machine_know_that_they_are(void **state)
{
    struct hb_buf cards[RANKS];
    struct hb_xport_net net;

    for (int i = 0; i < RANKS; i++) {
        put_card(&cards[i], NULL);
        hb_xport_put_costs(&cards[i], 5, 6);
    }
    net = net_of_cards(cards);
    assert_true(net.costs.machine != 0);
    assert_int_equal(net.costs.send_ns, 5);
    assert_true(net.costs.cpus > 0);
}

/* As many addresses as there may be, each the longest and of a network. */
static void the_fullest_card_is_no_longer_than_one_may_be(void **state)
{
    static const unsigned char token[HB_ADDRESS_TOKEN];
    struct hb_interfaces all = {.n = HB_ADDRESS_MOST};
    const struct hb_caps caps = IB(400000);
    struct hb_buf card;

    for (unsigned i = 0; i < all.n; i++) {
        all.list[i].at.ss_family = AF_INET6;
        all.list[i].net.device = 1;
    }
    hb_buf_init(&card, CARD_MOST);
    hb_endpoint_put(&card, &all, 1, token);
    hb_endpoint_put_caps(&card, &caps);
    hb_xport_put_costs(&card, 5, 6);
    assert_false(hb_buf_failed(&card));
    hb_buf_destroy(&card);
}

static void only_the_device_that_is_asked_for_is_read(void **state)
{
    struct hb_interfaces all, one;
    struct sockaddr_storage local = {.ss_family = AF_INET};

    (void)state;
    hb_interfaces_read(NULL, &all);
    ((struct sockaddr_in *)&local)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!hb_interfaces_have(&all, &local)) {
        skip();
    }
    hb_interfaces_read("lo", &one);
    assert_true(hb_interfaces_have(&one, &local));
    for (unsigned i = 0; i < one.n; i++) {
        assert_int_equal(one.list[i].net.device, 0);
    }
    hb_interfaces_read("l", &one);
    assert_int_equal(one.n, 0);
}

static void a_device_that_is_named_and_is_not_there_is_an_error(void **state)
{
    struct hb_xport *x = NULL;
    struct hpcboot_error err;
    struct hb_buf address;
    int rc;

    (void)state;
    hb_buf_init(&address, 255);
    setenv("HPCBOOT_FABRIC", "tcp", 1);
    setenv("HPCBOOT_FABRIC_WISH", "device", 1);
    setenv("HPCBOOT_FABRIC_TCP", "nosuch9", 1);
    rc = hb_xport_open(&x, &address, &err);
    unsetenv("HPCBOOT_FABRIC");
    unsetenv("HPCBOOT_FABRIC_WISH");
    unsetenv("HPCBOOT_FABRIC_TCP");
    assert_int_equal(rc, HPCBOOT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "--fabric nosuch9: this host has no such "
                           "net device"));
    hb_buf_destroy(&address);
}

/* It is no want of ports. */
static void who_has_no_descriptor_left_is_told_so(void **state)
{
    int lowest = dup(STDIN_FILENO), rc;
    struct hb_xport *x = NULL;
    struct hpcboot_error err;
    struct rlimit was, none;
    struct hb_buf address;

    (void)state;
    hb_buf_init(&address, 255);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = (struct rlimit){(rlim_t)lowest, was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rc = hb_xport_open(&x, &address, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(rc, HPCBOOT_ERR_SYSTEM);
    assert_non_null(strstr(err.text, "ulimit -n"));
    assert_null(strstr(err.text, "port"));
    hb_buf_destroy(&address);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_of_all_are_used_at_the_slowest_rate),
        cmocka_unit_test(devices_that_do_not_speak_to_each_other_leave_tcp),
        cmocka_unit_test(versions_of_ucx_that_differ_leave_tcp),
        cmocka_unit_test(ucx_over_tcp_is_no_device),
        cmocka_unit_test(devices_that_can_be_used_are_seen),
        cmocka_unit_test(of_two_kinds_the_wished_one_is_seen),
        cmocka_unit_test(a_device_without_its_file_is_none),
        cmocka_unit_test(a_device_that_is_neither_infiniband_nor_roce_is_none),
        cmocka_unit_test(a_card_that_says_nothing_leaves_tcp),
        cmocka_unit_test(the_dearest_messages_of_all_count),
        cmocka_unit_test(costs_that_one_does_not_know_nobody_knows),
        cmocka_unit_test(ranks_of_one_machine_know_that_they_are),
        cmocka_unit_test(the_fullest_card_is_no_longer_than_one_may_be),
        cmocka_unit_test(only_the_device_that_is_asked_for_is_read),
        cmocka_unit_test(a_device_that_is_named_and_is_not_there_is_an_error),
        cmocka_unit_test(who_has_no_descriptor_left_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
