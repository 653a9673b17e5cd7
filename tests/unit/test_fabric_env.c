/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What is asked for with --fabric, and what libraries are told of the choice,
 * each in its own variables. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/fabric/choose.h"

static void libraries_are_told_in_their_own_words(void **state)
{
    struct hb_rail rails[] = {{"mlx5_0", 1, 3, 0, 0}, {"mlx5_1", 1, 5, 0, 0}};
    const struct hb_wiring w = {.kind = HB_FABRIC_ROCE, .rails = rails,
                                .n_rails = 2, .tcp = "eth0"};
    const struct hb_rails_of mine = {.n = 1, .v = {1}};
    struct hb_strv env = HB_STRV_INIT, kept = HB_STRV_INIT;

    (void)state;
    hb_env_set(&env, "GLOO_SOCKET_IFNAME", "mine");
    hb_fabric_env(&w, &mine, &env, &kept);
    assert_string_equal(hb_env_get(&env, "UCX_NET_DEVICES"), "mlx5_1:1");
    assert_string_equal(hb_env_get(&env, "UCX_IB_GID_INDEX"), "5");
    assert_string_equal(hb_env_get(&env, "OMPI_MCA_pml"), "ucx");
    assert_string_equal(hb_env_get(&env, "MPIR_CVAR_CH3_NETWORK_IFACE"),
                        "eth0");
    assert_string_equal(hb_env_get(&env, "FI_PROVIDER"), "verbs");
    assert_string_equal(hb_env_get(&env, "FI_VERBS_DEVICE_NAME"), "mlx5_1");
    assert_string_equal(hb_env_get(&env, "NCCL_IB_HCA"), "=mlx5_0:1,mlx5_1:1");
    /* No one index fits both. */
    assert_null(hb_env_get(&env, "NCCL_IB_GID_INDEX"));
    assert_string_equal(hb_env_get(&env, "NCCL_SOCKET_IFNAME"), "=eth0");
    assert_null(hb_env_get(&env, "UCX_UD_VERBS_ETH_DGID_CHECK"));
    assert_string_equal(hb_env_get(&env, "GLOO_SOCKET_IFNAME"), "mine");
    assert_int_equal(kept.n, 1);
    assert_string_equal(kept.v[0], "GLOO_SOCKET_IFNAME");
    hb_strv_destroy(&env);
    hb_strv_destroy(&kept);
}

static void a_partition_that_is_not_the_first_is_told(void **state)
{
    struct hb_rail rails[] = {{"mlx5_0", 1, 0, 0, 0},
                              {"mlx5_1", 1, 0, 0, 0x12}};
    const struct hb_wiring w = {.kind = HB_FABRIC_IB, .rails = rails,
                                .n_rails = 2};
    const struct hb_rails_of first = {.n = 1, .v = {0}};
    const struct hb_rails_of both = {.n = 2, .v = {0, 1}};
    struct hb_strv env = HB_STRV_INIT;

    (void)state;
    hb_fabric_env(&w, &first, &env, NULL);
    assert_null(hb_env_get(&env, "UCX_IB_PKEY"));
    hb_strv_destroy(&env);
    hb_fabric_env(&w, &both, &env, NULL);
    assert_string_equal(hb_env_get(&env, "UCX_IB_PKEY"), "0x12");
    assert_string_equal(hb_env_get(&env, "HPCBOOT_FABRIC_PKEY"), "0x12");
    assert_string_equal(hb_env_get(&env, "NCCL_IB_DISABLE"), "1");
    hb_strv_destroy(&env);
    hb_env_set(&env, "NCCL_IB_PKEY", "1");
    hb_fabric_env(&w, &both, &env, NULL);
    assert_null(hb_env_get(&env, "NCCL_IB_DISABLE"));
    hb_strv_destroy(&env);
    rails[1].partition = 0;
    hb_fabric_env(&w, &both, &env, NULL);
    assert_null(hb_env_get(&env, "NCCL_IB_DISABLE"));
    hb_strv_destroy(&env);
}

static void a_kind_that_was_found_is_no_demand(void **state)
{
    struct hb_wiring w = {.kind = HB_FABRIC_TCP, .tcp = "eth0"};
    const struct hb_rails_of none = {0};
    struct hb_strv env = HB_STRV_INIT;

    (void)state;
    hb_fabric_env(&w, &none, &env, NULL);
    assert_null(hb_env_get(&env, "HPCBOOT_FABRIC_WISH"));
    hb_strv_destroy(&env);
    w.is_found = 1;
    hb_fabric_env(&w, &none, &env, NULL);
    assert_string_equal(hb_env_get(&env, "HPCBOOT_FABRIC_WISH"), "auto");
    assert_string_equal(hb_env_get(&env, "HPCBOOT_FABRIC"), "tcp");
    hb_strv_destroy(&env);
    hb_env_set(&env, "HPCBOOT_FABRIC", "roce"); /* the user's own */
    hb_fabric_env(&w, &none, &env, NULL);
    assert_null(hb_env_get(&env, "HPCBOOT_FABRIC_WISH"));
    hb_strv_destroy(&env);
}

static void a_device_that_was_named_is_told_as_that(void **state)
{
    struct hb_wiring w = {.kind = HB_FABRIC_TCP, .tcp = "eth1", .is_named = 1};
    const struct hb_rails_of none = {0};
    struct hb_strv env = HB_STRV_INIT;

    (void)state;
    hb_fabric_env(&w, &none, &env, NULL);
    assert_string_equal(hb_env_get(&env, "HPCBOOT_FABRIC_WISH"), "device");
    assert_string_equal(hb_env_get(&env, "HPCBOOT_FABRIC_TCP"), "eth1");
    hb_strv_destroy(&env);
}

/* A cloud's NIC that speaks no verbs. */
static void a_device_of_libfabric_is_left_to_it_unless_tcp_is_demanded(
    void **state)
{
    struct hb_wiring w = {.kind = HB_FABRIC_TCP, .tcp = "eth0", .has_other = 1};
    const struct hb_rails_of none = {0};
    struct hb_strv env = HB_STRV_INIT;

    (void)state;
    hb_fabric_env(&w, &none, &env, NULL);
    assert_string_equal(hb_env_get(&env, "FI_PROVIDER"), "tcp");
    assert_string_equal(hb_env_get(&env, "OMPI_MCA_pml"), "ob1");
    assert_non_null(hb_env_get(&env, "OMPI_MCA_btl"));
    hb_strv_destroy(&env);
    w.is_found = 1;
    hb_fabric_env(&w, &none, &env, NULL);
    assert_null(hb_env_get(&env, "FI_PROVIDER"));
    assert_null(hb_env_get(&env, "OMPI_MCA_pml"));
    assert_null(hb_env_get(&env, "OMPI_MCA_btl"));
    hb_strv_destroy(&env);
}

static void a_wish_is_a_kind_or_a_device(void **state)
{
    struct hb_fabric_wish w;

    (void)state;
    assert_int_equal(hb_fabric_wish_parse("ib", &w, NULL), 0);
    assert_int_equal(w.kind, HB_FABRIC_IB);
    assert_int_equal(hb_fabric_wish_parse("mlx5_0:2", &w, NULL), 0);
    assert_int_equal(w.kind, HB_FABRIC_NAMED);
    assert_string_equal(w.name, "mlx5_0");
    assert_int_equal(w.port, 2);
    assert_true(hb_fabric_wish_parse("", &w, NULL) < 0);
    assert_true(hb_fabric_wish_parse("a/b", &w, NULL) < 0);
    assert_true(hb_fabric_wish_parse("mlx5_0:0", &w, NULL) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_are_told_in_their_own_words),
        cmocka_unit_test(a_partition_that_is_not_the_first_is_told),
        cmocka_unit_test(a_kind_that_was_found_is_no_demand),
        cmocka_unit_test(a_device_that_was_named_is_told_as_that),
        cmocka_unit_test(
            a_device_of_libfabric_is_left_to_it_unless_tcp_is_demanded),
        cmocka_unit_test(a_wish_is_a_kind_or_a_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
