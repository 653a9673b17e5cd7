/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Hosts that were captured, or made to be awkward: what is seen of them, which
 * ways out they have and why the rest is none, and what is chosen. The answers
 * are tests/data/fabric/NAME.golden; HB_UPDATE_GOLDEN=1 writes them anew. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fabric/choose.h"
#include "lib/fabric/fabric.h"
#include "lib/fabric/sysread.h"
#include "tests/unit/fabric_hosts.h"

#define GOLDEN_MAX (1u << 20)

/* --- one host ---------------------------------------------------------- */

/* "mlx5_0 port 1 by GID 3 (10.9.0.1, RoCE v2, eth0)"; free() it. */
static char *path_text(const struct hb_path *p)
{
    struct hb_str o = HB_STR_INIT;
    char *addr;

    if (p->rdma == NULL) {
        addr = p->addr != NULL ? hb_netaddr_text(p->addr) : NULL;
        hb_str_putf(&o, "%s (%s)", p->net != NULL ? p->net->name : "none",
                    addr != NULL ? addr : "no address");
        free(addr);
        return hb_str_steal(&o);
    }
    hb_str_putf(&o, "%s port %u", p->rdma->name, p->port->number);
    if (p->kind == HB_FABRIC_ROCE) {
        hb_str_putf(&o, " by GID %u (", p->gid->index);
        hb_gid_text(p->gid, &o);
        hb_str_putf(&o, ", %s, %s)", hb_gid_type_name(p->gid->type),
                    p->gid->netdev);
    } else if (p->is_told) {
        hb_str_putf(&o, " in partition 0x%04x", p->partition);
    }
    return hb_str_steal(&o);
}

static void put_plan(const char *wish_text, const struct hb_fabric *f,
                     struct hb_str *out)
{
    const struct hb_fabric_host host = {"host", f};
    struct hb_fabric_wish wish;
    struct hb_fabric_plan plan;
    struct hpcboot_error err = {0};

    assert_int_equal(hb_fabric_wish_parse(wish_text, &wish, &err), 0);
    hb_str_putf(out, "--fabric %s: ", wish_text);
    if (hb_fabric_agree(&wish, &host, 1, &plan, &err) < 0) {
        hb_str_putf(out, "refused: %s\n", err.text);
        return;
    }
    hb_str_putf(out, "%s\n", hb_fabric_kind_name(plan.kind));
    for (uint32_t i = 0; i < plan.n_rails; i++) {
        char *text = path_text(&plan.rails[i]);
        hb_str_putf(out, "  rail %u: %s\n", i, text);
        free(text);
    }
    for (size_t i = 0; i < plan.why.n; i++) {
        hb_str_putf(out, "  %s\n", plan.why.v[i]);
    }
    hb_fabric_plan_destroy(&plan);
}

/* All that is to be said of a host, but for how long it took. */
static void describe(const char *root, struct hb_str *out)
{
    static const char *const wishes[] = {"auto", "ib", "roce", "tcp"};
    struct hb_fabric f;
    struct hb_paths paths;
    struct hb_strv refused = HB_STRV_INIT;

    hb_fabric_read(root, 0, &f, NULL);
    f.us = 0;
    hb_fabric_text(&f, out);
    hb_fabric_paths(&f, &paths, &refused);
    for (uint32_t i = 0; i < paths.n; i++) {
        char *text = path_text(&paths.v[i]);
        hb_str_putf(out, "way out: %s on %s\n", text, paths.v[i].network);
        free(text);
    }
    for (size_t i = 0; i < refused.n; i++) {
        hb_str_putf(out, "no way: %s\n", refused.v[i]);
    }
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        put_plan(wishes[i], &f, out);
    }
    hb_paths_destroy(&paths);
    hb_strv_destroy(&refused);
    hb_fabric_clear(&f);
}

static void write_golden(const char *path, const struct hb_str *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text->s, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void compare(const char *name)
{
    const char *src = getenv("HB_SRCDIR");
    char root[256], *golden = NULL, *path;
    struct hb_str text = HB_STR_INIT;
    size_t len;

    fabric_tree_create(name, NULL, root, sizeof root);
    describe(root, &text);
    tree_remove(root);
    path = hb_xasprintf("%s/tests/data/fabric/%s.golden",
                        src != NULL ? src : ".", name);
    if (getenv("HB_UPDATE_GOLDEN") != NULL) {
        write_golden(path, &text);
    }
    assert_int_equal(hb_file_read(path, GOLDEN_MAX, &golden, &len, NULL), 0);
    assert_string_equal(text.s, golden);
    free(golden);
    free(path);
    hb_str_destroy(&text);
}

#define GOLDEN(test, name) \
    static void test(void **state) { (void)state; compare(name); }
GOLDEN(two_infiniband_ports_are_two_rails, "dual-ib")
GOLDEN(of_many_gids_the_untagged_ipv4_one_is_taken, "roce-vlan")
GOLDEN(a_pod_uses_its_virtual_function_and_its_own_gids, "vf-pod")
GOLDEN(a_nic_without_reliable_connections_leaves_tcp, "cloud-nic")
GOLDEN(eight_nics_are_eight_rails_without_the_slow_one, "gpu8")
GOLDEN(a_bond_is_one_way_out, "bond")
GOLDEN(a_port_without_a_cable_is_passed_over, "port-down")
GOLDEN(a_gid_of_another_namespace_is_none, "no-ndev")
GOLDEN(holes_in_a_gid_table_are_read_over, "holes")

static void most_of_a_long_gid_table_is_not_read(void **state)
{
    struct hb_fabric f;
    char root[256], path[128];

    (void)state;
    fabric_tree_create("holes", NULL, root, sizeof root);
    for (unsigned i = 64; i < 1024; i++) {
        snprintf(path, sizeof path,
                 "sys/class/infiniband/mlx5_0/ports/1/gids/%u", i);
        tree_write(root, path, "0000:0000:0000:0000:0000:0000:0000:0000\n");
    }
    hb_fabric_read(root, 0, &f, NULL);
    tree_remove(root);
    assert_int_equal(f.rdma[0].ports[0].n_gids, 4);
    assert_int_equal(f.rdma[0].ports[0].gids_read, 24 + HB_GID_GAP);
    hb_fabric_clear(&f);
}

/* A device of another one may have the name of the pod's own. */
static void a_link_local_gid_is_an_address_of_its_device(void **state)
{
    static const char *const instead[] = {
        "ports/1/gids/7 = fe80:0000:0000:0000:6c1f:47ff:fe1c:2a01",
        "ports/1/gids/7 = fe80:0000:0000:0000:ba59:9fff:fed4:c9a0", NULL};
    struct hb_strv refused = HB_STRV_INIT;
    struct hb_paths paths;
    struct hb_fabric f;
    char root[256];

    (void)state;
    fabric_tree_create("vf-pod", instead, root, sizeof root);
    hb_fabric_read(root, 0, &f, NULL);
    tree_remove(root);
    hb_fabric_paths(&f, &paths, &refused);
    assert_int_equal(paths.n, 3);
    assert_int_equal(paths.v[0].gid->index, 9);
    assert_string_equal(refused.v[2], "mlx5_4 port 1 GID 7 "
                        "(fe80::ba59:9fff:fed4:c9a0): its net device does not "
                        "have this address");
    hb_strv_destroy(&refused);
    hb_paths_destroy(&paths);
    hb_fabric_clear(&f);
}

static void add_gid(struct hb_port *p, uint32_t index, const char *netdev)
{
    struct hb_gid g = {.index = index, .type = HB_GID_ROCE_V2};

    snprintf(g.netdev, sizeof g.netdev, "%s", netdev);
    p->gids = hb_xrealloc(p->gids, (p->n_gids + 1) * sizeof *p->gids);
    p->gids[p->n_gids++] = g;
}

/* libibverbs tells the indices of devices, also of those of another network
 * namespace, and these are others here. */
static void what_sysfs_says_of_a_gid_stays(void **state)
{
    struct hb_port sys_port = {.number = 1, .gids_read = 34};
    struct hb_port verbs_port = {.number = 1, .gids_read = 256};
    struct hb_rdma sys_device = {.name = "mlx5_0", .ports = &sys_port,
                                 .n_ports = 1};
    struct hb_rdma verbs_device = {.name = "mlx5_0", .ports = &verbs_port,
                                   .n_ports = 1};
    struct hb_fabric sys = {.rdma = &sys_device, .n_rdma = 1};
    struct hb_fabric verbs = {.rdma = &verbs_device, .n_rdma = 1};

    (void)state;
    add_gid(&sys_port, 0, "ens1");
    add_gid(&verbs_port, 0, "net1");
    add_gid(&verbs_port, 1, "net1");
    add_gid(&verbs_port, 200, "net1");
    hb_fabric_merge(&sys, &verbs, NULL);
    assert_int_equal(sys_port.n_gids, 2);
    assert_string_equal(sys_port.gids[0].netdev, "ens1");
    assert_int_equal(sys_port.gids[1].index, 200);
    assert_int_equal(sys_port.gids_read, 256);
    free(sys_port.gids);
    free(verbs_port.gids);
}

/* --- several hosts ------------------------------------------------------- */

static const char *reason_with(const struct job *j, const char *word)
{
    for (size_t i = 0; i < j->plan.why.n; i++) {
        if (strstr(j->plan.why.v[i], word) != NULL) {
            return j->plan.why.v[i];
        }
    }
    return NULL;
}

static void gid_indices_may_differ_from_host_to_host(void **state)
{
    static const char *const moved[] = {
        "10.1.0.4", "10.1.0.6", "0a01:0004", "0a01:0006", "s/22 ", "s/41 ",
        "s/41 ", "s/22 ", "s/23 ", "s/42 ", "s/42 ", "s/23 ", NULL,
    };
    struct job j = {0};

    (void)state;
    add_host(&j, "holes", NULL);
    add_host(&j, "holes", moved);
    assert_int_equal(agree(&j, "roce"), 0);
    assert_int_equal(j.plan.n_rails, 1);
    assert_int_equal(j.plan.rails[0].gid->index, 23);
    assert_int_equal(j.plan.rails[1].gid->index, 42);
    end(&j);
}

static void a_host_without_rdma_brings_all_to_tcp(void **state)
{
    static const char *const beside[] = {
        "192.168.0.4/24", "192.168.1.9/24", "10.1.0.4", "10.9.0.4",
        "0a01:0004", "0a09:0004", NULL,
    };
    struct job j = {0};

    (void)state;
    add_host(&j, "roce-vlan", NULL);
    add_host(&j, "port-down", beside);
    assert_int_equal(agree(&j, "auto"), 0);
    /* Both have RoCE, on subnets that are not one: routers may help. */
    assert_int_equal(j.plan.kind, HB_FABRIC_ROCE);
    hb_fabric_plan_destroy(&j.plan);
    free(j.fabric[1].rdma[1].ports[0].gids);
    j.fabric[1].rdma[1].ports[0].gids = NULL;
    j.fabric[1].rdma[1].ports[0].n_gids = 0;
    assert_int_equal(agree(&j, "auto"), 0);
    assert_int_equal(j.plan.kind, HB_FABRIC_TCP);
    assert_string_equal(j.plan.tcp[0].net->name, "eth0");
    assert_string_equal(j.plan.tcp[1].net->name, "eth9");
    end(&j);
}

static void rdma_that_is_demanded_and_missing_is_an_error(void **state)
{
    struct job j = {0};

    (void)state;
    add_host(&j, "roce-vlan", NULL);
    add_host(&j, "cloud-nic", NULL);
    assert_int_equal(agree(&j, "roce"), HPCBOOT_ERR_UNSUPPORTED);
    assert_non_null(strstr(j.err.text, "n1"));
    assert_non_null(strstr(j.err.text, "no channel adapter"));
    end(&j);
}

static void a_shared_subnet_wins_over_a_routed_one(void **state)
{
    struct job j = {0};

    (void)state;
    add_host(&j, "roce-vlan", NULL);
    add_host(&j, "roce-vlan", other_roce);
    assert_int_equal(agree(&j, "auto"), 0);
    assert_int_equal(j.plan.kind, HB_FABRIC_ROCE);
    assert_string_equal(j.plan.rails[0].network, "10.1.0.0/24");
    assert_string_equal(j.plan.rails[1].gid->netdev, "eth1");
    assert_int_equal(j.plan.rails[0].gid->index, 9);
    end(&j);
}

static void subnets_that_differ_are_taken_as_routed(void **state)
{
    struct job j = {0};

    (void)state;
    add_host(&j, "roce-vlan", NULL);
    add_host(&j, "roce-vlan", far_roce);
    assert_int_equal(agree(&j, "roce"), 0);
    assert_string_equal(j.plan.rails[0].network, "10.1.0.0/24");
    assert_string_equal(j.plan.rails[1].network, "10.7.0.0/24");
    assert_non_null(reason_with(&j, "routers"));
    end(&j);
}

static const char *const with_bridge[] = {
    "docker0/operstate = down", "docker0/operstate = up",
    "172.31.20.9/20", "172.31.99.9/20", NULL,
};
static const char *const same_bridge[] = {
    "docker0/operstate = down", "docker0/operstate = up", NULL,
};

static void a_bridge_with_one_address_everywhere_connects_nobody(void **state)
{
    struct job j = {0};

    (void)state;
    add_host(&j, "cloud-nic", same_bridge);
    add_host(&j, "cloud-nic", with_bridge);
    assert_int_equal(agree(&j, "tcp"), 0);
    assert_string_equal(j.plan.tcp[0].net->name, "ens5"); /* routed */
    end(&j);
}

/* The first host is a container of an engine that the others have, too. */
static void a_bridge_within_the_hosts_behind_the_first_connects_nobody(
    void **state)
{
    static const char *const inside[] = {
        "docker0/operstate = down", "docker0/operstate = up",
        "172.31.20.9/20", "172.31.99.8/20", "172.17.0.1/16", "172.17.0.2/16",
        NULL,
    };
    struct job j = {0};

    (void)state;
    add_host(&j, "cloud-nic", inside);
    add_host(&j, "cloud-nic", with_bridge);
    add_host(&j, "cloud-nic", same_bridge);
    assert_int_equal(agree(&j, "tcp"), 0);
    assert_string_equal(j.plan.tcp[1].net->name, "ens5"); /* routed */
    assert_non_null(reason_with(&j, "n1 and n2 have the same address"));
    end(&j);
}

static void pods_with_an_address_of_32_bits_meet_by_their_route(void **state)
{
    static const char *const other[] = {
        "10.244.3.17", "10.244.5.20", "10.56.217.14", "10.56.217.15",
        "0a38:d90e", "0a38:d90f", NULL,
    };
    struct job j = {0};

    (void)state;
    add_host(&j, "vf-pod", NULL);
    add_host(&j, "vf-pod", other);
    assert_int_equal(agree(&j, "auto"), 0);
    assert_int_equal(j.plan.kind, HB_FABRIC_ROCE);
    assert_string_equal(j.plan.rails[1].rdma->name, "mlx5_4");
    hb_fabric_plan_destroy(&j.plan);
    assert_int_equal(agree(&j, "eth0"), 0);
    assert_int_equal(j.plan.kind, HB_FABRIC_TCP);
    assert_string_equal(j.plan.tcp[1].net->name, "eth0");
    end(&j);
}

static void an_mtu_that_differs_is_told(void **state)
{
    static const char *const small[] = {
        "10.1.0.4", "10.1.0.6", "0a01:0004", "0a01:0006",
        "net1/mtu = 4200", "net1/mtu = 1500", NULL,
    };
    struct job j = {0};

    (void)state;
    add_host(&j, "holes", NULL);
    add_host(&j, "holes", small);
    assert_int_equal(agree(&j, "roce"), 0);
    assert_int_equal(j.plan.warnings.n, 1);
    assert_non_null(strstr(j.plan.warnings.v[0], "4096 on n0"));
    assert_non_null(strstr(j.plan.warnings.v[0], "1024 on n1"));
    end(&j);
}

static void a_named_device_is_taken_alone(void **state)
{
    struct job j = {0};

    (void)state;
    add_host(&j, "gpu8", NULL);
    assert_int_equal(agree(&j, "mlx5_3:1"), 0);
    assert_int_equal(j.plan.n_rails, 1);
    assert_string_equal(j.plan.rails[0].rdma->name, "mlx5_3");
    hb_fabric_plan_destroy(&j.plan);
    assert_int_equal(agree(&j, "mlx9_9"), HPCBOOT_ERR_UNSUPPORTED);
    assert_non_null(strstr(j.err.text, "n0 has no device mlx9_9"));
    end(&j);
}

static void refused(struct job *j, const char *wish, const char *text)
{
    assert_int_equal(agree(j, wish), HPCBOOT_ERR_UNSUPPORTED);
    assert_string_equal(j->err.text, text);
}

static void what_is_wrong_with_a_named_device_is_told(void **state)
{
    struct job j = {0}, away = {0};

    (void)state;
    add_host(&j, "roce-vlan", NULL);
    add_host(&j, "port-down", NULL);
    refused(&j, "mlx5_0:2", "the hosts do not share mlx5_0 port 2: on n0: it "
                            "has no such port");
    refused(&j, "mlx5_0", "the hosts do not share mlx5_0: on n1: mlx5_0 port "
                          "1: its link is down");
    refused(&j, "lo", "the hosts do not share lo: lo of n0 leads to no other "
                      "host");
    refused(&j, "eth0:1", "the hosts do not share eth0 port 1: eth0 of n0 is a "
                          "net device, which has no ports");
    refused(&j, "eth9", "the hosts do not share eth9: n0 has no device eth9, "
                        "and it is none of auto, ib, roce, tcp");
    end(&j);
    add_host(&away, "no-ndev", NULL);
    assert_int_equal(agree(&away, "mlx5_0"), HPCBOOT_ERR_UNSUPPORTED);
    assert_non_null(strstr(away.err.text, "on n0: mlx5_0 port 1 GID "));
    end(&away);
}

static void hosts_without_an_address_are_named(void **state)
{
    struct job j = {0};

    (void)state;
    for (size_t i = 0; i < MAX_HOSTS; i++) {
        add_host(&j, "roce-vlan", NULL);
    }
    hb_fabric_clear(&j.fabric[1]);
    refused(&j, "tcp", "the hosts do not share TCP: n1 has no address to be "
                       "reached at");
    hb_fabric_clear(&j.fabric[3]);
    refused(&j, "tcp", "the hosts do not share TCP: n1, n3 have no address to "
                       "be reached at");
    hb_fabric_clear(&j.fabric[0]);
    hb_fabric_clear(&j.fabric[2]);
    refused(&j, "tcp", "the hosts do not share TCP: n0, n1, n2 and 1 more have "
                       "no address to be reached at");
    end(&j);
}

static void a_device_that_hosts_have_on_other_networks_is_no_infiniband(
    void **state)
{
    struct job j = {0};

    (void)state;
    add_host(&j, "roce-vlan", NULL);
    add_host(&j, "roce-vlan", far_roce);
    assert_int_equal(agree(&j, "mlx5_0"), 0); /* as routers may join them */
    assert_int_equal(j.plan.kind, HB_FABRIC_ROCE);
    for (size_t i = 0; i < j.plan.why.n; i++) {
        assert_null(strstr(j.plan.why.v[i], "InfiniBand"));
    }
    end(&j);
}

/* --- ranks --------------------------------------------------------------- */

static void ranks_take_the_nearest_rail_and_share_it_evenly(void **state)
{
    /* Four ranks on two NUMA nodes with two rails each. */
    static const uint32_t distance[] = {
        0, 0, 2, 2,  0, 0, 2, 2,  2, 2, 0, 0,  2, 2, 0, 0,
    };
    static const uint32_t rates[] = {100000, 100000, 100000, 100000};
    struct hb_rails_of got[4];

    (void)state;
    hb_fabric_assign(4, 4, distance, rates, got);
    for (uint32_t r = 0; r < 4; r++) {
        assert_int_equal(got[r].n, 1);
        assert_int_equal(got[r].v[0], r);
    }
}

static void a_lone_rank_gets_all_rails_that_are_as_near(void **state)
{
    static const uint32_t distance[] = {2, 0, 0};
    static const uint32_t rates[] = {100000, 100000, 100000};
    struct hb_rails_of got[1];

    (void)state;
    hb_fabric_assign(1, 3, distance, rates, got);
    assert_int_equal(got[0].n, 2);
    assert_int_equal(got[0].v[0], 1);
    assert_int_equal(got[0].v[1], 2);
}

static void a_faster_rail_takes_more_ranks(void **state)
{
    static const uint32_t distance[6 * 2] = {0};
    static const uint32_t rates[] = {200000, 100000};
    struct hb_rails_of got[6];
    uint32_t on_first = 0;

    (void)state;
    hb_fabric_assign(6, 2, distance, rates, got);
    for (uint32_t r = 0; r < 6; r++) {
        on_first += got[r].v[0] == 0;
    }
    assert_int_equal(on_first, 4);
}

static void a_gpu_is_nearest_to_the_nic_below_its_switch(void **state)
{
    struct hb_fabric f;
    char root[256];

    (void)state;
    fabric_tree_create("gpu8", NULL, root, sizeof root);
    hb_fabric_read(root, 0, &f, NULL);
    tree_remove(root);
    assert_int_equal(f.n_gpus, 8);
    for (uint32_t g = 0; g < 8; g++) {
        uint32_t near = 0;
        for (uint32_t i = 0; i < f.n_rdma; i++) {
            near += hb_place_distance(&f.gpus[g].at, &f.rdma[i].at) == 0;
        }
        assert_int_equal(near, 1);
    }
    hb_fabric_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_infiniband_ports_are_two_rails),
        cmocka_unit_test(of_many_gids_the_untagged_ipv4_one_is_taken),
        cmocka_unit_test(a_pod_uses_its_virtual_function_and_its_own_gids),
        cmocka_unit_test(a_nic_without_reliable_connections_leaves_tcp),
        cmocka_unit_test(eight_nics_are_eight_rails_without_the_slow_one),
        cmocka_unit_test(a_bond_is_one_way_out),
        cmocka_unit_test(a_port_without_a_cable_is_passed_over),
        cmocka_unit_test(a_gid_of_another_namespace_is_none),
        cmocka_unit_test(holes_in_a_gid_table_are_read_over),
        cmocka_unit_test(a_link_local_gid_is_an_address_of_its_device),
        cmocka_unit_test(what_sysfs_says_of_a_gid_stays),
        cmocka_unit_test(most_of_a_long_gid_table_is_not_read),
        cmocka_unit_test(gid_indices_may_differ_from_host_to_host),
        cmocka_unit_test(a_host_without_rdma_brings_all_to_tcp),
        cmocka_unit_test(rdma_that_is_demanded_and_missing_is_an_error),
        cmocka_unit_test(a_shared_subnet_wins_over_a_routed_one),
        cmocka_unit_test(subnets_that_differ_are_taken_as_routed),
        cmocka_unit_test(a_bridge_with_one_address_everywhere_connects_nobody),
        cmocka_unit_test(
            a_bridge_within_the_hosts_behind_the_first_connects_nobody),
        cmocka_unit_test(pods_with_an_address_of_32_bits_meet_by_their_route),
        cmocka_unit_test(an_mtu_that_differs_is_told),
        cmocka_unit_test(a_named_device_is_taken_alone),
        cmocka_unit_test(what_is_wrong_with_a_named_device_is_told),
        cmocka_unit_test(hosts_without_an_address_are_named),
        cmocka_unit_test(
            a_device_that_hosts_have_on_other_networks_is_no_infiniband),
        cmocka_unit_test(ranks_take_the_nearest_rail_and_share_it_evenly),
        cmocka_unit_test(a_lone_rank_gets_all_rails_that_are_as_near),
        cmocka_unit_test(a_faster_rail_takes_more_ranks),
        cmocka_unit_test(a_gpu_is_nearest_to_the_nic_below_its_switch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
