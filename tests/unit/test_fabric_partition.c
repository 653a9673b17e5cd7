/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Ports of InfiniBand that are full members of several partitions. */

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

/* Of both ports, limited membership of the default partition apart. */
static const char *const in_18[] = {"/1 = 0x8001", "/1 = 0x8012", NULL};
static const char *const in_17_and_18[] = {
    "/1 = 0x8001", "/1 = 0x8011", "/2 = 0x0000", "/2 = 0x8012", NULL,
};
static const char *const in_18_and_17[] = {
    "/1 = 0x8001", "/1 = 0x8012", "/2 = 0x0000", "/2 = 0x8011", NULL,
};
static const char *const in_17[] = {"/1 = 0x8001", "/1 = 0x8011", NULL};
/* The second port is in the first partition of the other host alone. */
static const char *const in_18_or_17[] = {
    "mlx5_0/ports/1/pkeys/1 = 0x8001", "mlx5_0/ports/1/pkeys/1 = 0x8012",
    "mlx5_1/ports/1/pkeys/1 = 0x8001", "mlx5_1/ports/1/pkeys/1 = 0x8011", NULL,
};

/* The first port in the other one's, too. */
static const char *const in_17_and_in_18[] = {
    "mlx5_0/ports/1/pkeys/1 = 0x8001", "mlx5_0/ports/1/pkeys/1 = 0x8011",
    "mlx5_0/ports/1/pkeys/2 = 0x0000", "mlx5_0/ports/1/pkeys/2 = 0x8012",
    "mlx5_1/ports/1/pkeys/1 = 0x8001", "mlx5_1/ports/1/pkeys/1 = 0x8012", NULL,
};

static void the_partition_that_all_are_in_is_taken_and_told(void **state)
{
    struct job j = {0};

    (void)state;
    add_host(&j, "dual-ib", in_17_and_18);
    add_host(&j, "dual-ib", in_18);
    assert_int_equal(agree(&j, "ib"), 0);
    assert_int_equal(j.plan.n_rails, 2);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(j.plan.rails[i].partition, 18);
        assert_int_equal(j.plan.rails[i].is_told, i < 2);
    }
    end(&j);
}

static void one_that_is_the_first_everywhere_is_not_told(void **state)
{
    struct job j = {0};

    (void)state;
    add_host(&j, "dual-ib", in_18_and_17);
    add_host(&j, "dual-ib", in_18_and_17);
    assert_int_equal(agree(&j, "ib"), 0);
    assert_int_equal(j.plan.n_rails, 2);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(j.plan.rails[i].partition, 18);
        assert_int_equal(j.plan.rails[i].is_told, 0);
    }
    end(&j);
}

static void hosts_of_different_partitions_share_no_infiniband(void **state)
{
    struct job j = {0};

    (void)state;
    add_host(&j, "dual-ib", in_17);
    add_host(&j, "dual-ib", in_18);
    assert_int_equal(agree(&j, "ib"), HPCBOOT_ERR_UNSUPPORTED);
    assert_non_null(strstr(j.err.text, "partition 0x0011: n1 is not on it"));
    end(&j);
}

/* Libraries are told one for all of their ports. */
static void rails_are_of_one_partition_where_one_is_told(void **state)
{
    struct job j = {0};

    (void)state;
    add_host(&j, "dual-ib", in_17_and_18);
    add_host(&j, "dual-ib", in_18_or_17);
    assert_int_equal(agree(&j, "ib"), 0);
    assert_int_equal(j.plan.n_rails, 1);
    assert_int_equal(j.plan.rails[0].partition, j.plan.rails[1].partition);
    end(&j);
}

static void ports_whose_first_partitions_differ_are_rails(void **state)
{
    struct job j = {0};

    (void)state;
    add_host(&j, "dual-ib", in_17_and_in_18);
    add_host(&j, "dual-ib", in_17_and_in_18);
    assert_int_equal(agree(&j, "ib"), 0);
    assert_int_equal(j.plan.n_rails, 2);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(j.plan.rails[i].partition, i % 2 == 0 ? 17 : 18);
        assert_int_equal(j.plan.rails[i].is_told, 0);
    }
    end(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_partition_that_all_are_in_is_taken_and_told),
        cmocka_unit_test(one_that_is_the_first_everywhere_is_not_told),
        cmocka_unit_test(hosts_of_different_partitions_share_no_infiniband),
        cmocka_unit_test(rails_are_of_one_partition_where_one_is_told),
        cmocka_unit_test(ports_whose_first_partitions_differ_are_rails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
