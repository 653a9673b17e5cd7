/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Hosts that come when others have agreed upon a fabric, and keep it. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fabric/choose.h"
#include "lib/fabric/fabric.h"
#include "tests/unit/fabric_hosts.h"

/* The last host comes when the others have agreed, and are forgotten. */
static int join(struct job *j, const char *text, struct hb_fabric_plan *out)
{
    struct hb_fabric_terms terms = {0};
    struct hb_fabric_wish wish;
    int rc;

    j->n--;
    assert_int_equal(agree(j, text), 0);
    hb_fabric_terms_take(&j->plan, &terms);
    end(j);
    assert_int_equal(hb_fabric_wish_parse(text, &wish, NULL), 0);
    rc = hb_fabric_join(&terms, &wish, &j->fabric[j->n], out, &j->err);
    hb_fabric_terms_destroy(&terms);
    return rc;
}

static void end_join(struct job *j, struct hb_fabric_plan *plan)
{
    hb_fabric_plan_destroy(plan);
    hb_fabric_clear(&j->fabric[j->n]);
}

static void who_comes_later_takes_the_ways_of_the_others(void **state)
{
    struct hb_fabric_plan plan;
    struct job j = {0};

    (void)state;
    add_host(&j, "roce-vlan", NULL);
    add_host(&j, "roce-vlan", NULL);
    add_host(&j, "roce-vlan", other_roce);
    assert_int_equal(join(&j, "auto", &plan), 0);
    assert_int_equal(plan.kind, HB_FABRIC_ROCE);
    assert_int_equal(plan.n_hosts, 1);
    assert_string_equal(plan.rails[0].network, "10.1.0.0/24");
    assert_string_equal(plan.rails[0].gid->netdev, "eth1");
    assert_non_null(plan.tcp[0].net);
    end_join(&j, &plan);
}

static void who_comes_later_by_other_networks_alone_cannot_join(void **state)
{
    struct hb_fabric_plan plan;
    struct job j = {0};

    (void)state;
    add_host(&j, "roce-vlan", NULL);
    add_host(&j, "roce-vlan", other_roce);
    add_host(&j, "roce-vlan", far_roce);
    assert_int_equal(join(&j, "roce", &plan), HPCBOOT_ERR_UNSUPPORTED);
    assert_non_null(strstr(j.err.text, "10.1.0.0/24 (roce)"));
    end_join(&j, &plan);
}

static void one_host_alone_binds_nobody_to_its_subnet(void **state)
{
    struct hb_fabric_plan plan;
    struct job j = {0};

    (void)state;
    add_host(&j, "roce-vlan", NULL);
    add_host(&j, "roce-vlan", far_roce);
    assert_int_equal(join(&j, "roce", &plan), 0);
    assert_string_equal(plan.rails[0].network, "10.7.0.0/24");
    end_join(&j, &plan);
}

/* Of a partition that is not a port's first libraries are told, for all. */
static void who_would_be_in_two_partitions_cannot_join(void **state)
{
    static const char *const of_others[] = {
        "mlx5_0/ports/1/pkeys/1 = 0x8001", "mlx5_0/ports/1/pkeys/1 = 0x8011",
        "mlx5_1/ports/1/pkeys/1 = 0x8001", "mlx5_1/ports/1/pkeys/1 = 0x8012",
        NULL,
    };
    static const char *const mine[] = {
        "mlx5_0/ports/1/pkeys/1 = 0x8001", "mlx5_0/ports/1/pkeys/1 = 0x8012",
        "mlx5_0/ports/1/pkeys/2 = 0x0000", "mlx5_0/ports/1/pkeys/2 = 0x8011",
        "mlx5_1/ports/1/pkeys/1 = 0x8001", "mlx5_1/ports/1/pkeys/1 = 0x8012",
        NULL,
    };
    struct hb_fabric_plan plan;
    struct job j = {0};

    (void)state;
    add_host(&j, "dual-ib", of_others);
    add_host(&j, "dual-ib", of_others);
    add_host(&j, "dual-ib", mine);
    assert_int_equal(join(&j, "ib", &plan), HPCBOOT_ERR_UNSUPPORTED);
    assert_non_null(strstr(j.err.text, "two InfiniBand partitions, 0x0011 and "
                                       "0x0012"));
    end_join(&j, &plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_comes_later_takes_the_ways_of_the_others),
        cmocka_unit_test(who_comes_later_by_other_networks_alone_cannot_join),
        cmocka_unit_test(one_host_alone_binds_nobody_to_its_subnet),
        cmocka_unit_test(who_would_be_in_two_partitions_cannot_join),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
