/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Cgroup layouts as they are met: trees in tests/data/cgroup, each with the
 * files of /proc/self and /sys/fs/cgroup that matter. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bin/proc/cgroup.h"
#include "lib/base/str.h"

#define MIB (UINT64_C(1) << 20)

static struct hb_cgroup_marks read_tree(const char *name)
{
    char *root = hb_xasprintf("%s/tests/data/cgroup/%s", HB_TESTS_TOP, name);
    struct hb_cgroup_marks m;

    hb_cgroup_read_marks_at(root, &m);
    free(root);
    return m;
}

static void v2_in_a_pod_is_read(void **state)
{
    struct hb_cgroup_marks m = read_tree("v2-pod");

    assert_true(m.known);
    assert_int_equal(m.oom_kills, 2);
    assert_int_equal(m.memory_limit, 512 * MIB);
    assert_int_equal(m.periods, 400);
    assert_int_equal(m.throttled_periods, 120);
    assert_int_equal(m.throttled_us, 7500000);
}

static void the_least_limit_on_the_way_up_counts(void **state)
{
    struct hb_cgroup_marks m = read_tree("v2-host");

    assert_int_equal(m.oom_kills, 1);
    assert_int_equal(m.memory_limit, 1024 * MIB);
}

static void v1_below_a_mounts_root_is_read(void **state)
{
    struct hb_cgroup_marks m = read_tree("v1-docker");

    assert_int_equal(m.oom_kills, 5);
    assert_int_equal(m.memory_limit, 256 * MIB);
    assert_int_equal(m.throttled_us, 2500000);
}

static void on_a_hybrid_host_v1_holds_the_controllers(void **state)
{
    struct hb_cgroup_marks m = read_tree("hybrid");

    assert_int_equal(m.oom_kills, 1);
    assert_int_equal(m.memory_limit, 0);
}

static void no_cgroup_is_not_known(void **state)
{
    struct hb_cgroup_marks m = read_tree("none");
    char text[64] = "x";

    assert_false(m.known);
    hb_cgroup_evidence(&m, &m, text, sizeof(text));
    assert_string_equal(text, "");
    assert_false(read_tree("no-such-tree").known);
}

static void mount_points_may_have_blanks(void **state)
{
    struct hb_cgroup_place p = {0};

    assert_int_equal(hb_cgroup_find("2:memory:/a b\n",
                                    "1 2 0:3 / /my\\040cg rw shared:1 x:2 - "
                                    "cgroup cgroup rw,memory\n",
                                    "memory", &p), 0);
    assert_string_equal(p.mount, "/my cg");
    assert_string_equal(p.path, "/a b");
    assert_int_equal(p.version, 1);
    free(p.mount);
    free(p.path);
}

static void a_group_outside_the_mount_is_read_at_its_top(void **state)
{
    struct hb_cgroup_place p = {0};

    assert_int_equal(hb_cgroup_find("0::/../../other\n",
                                    "1 2 0:3 /mine /cg rw - cgroup2 none rw\n",
                                    "memory", &p), 0);
    assert_string_equal(p.path, "");
    free(p.mount);
    free(p.path);
}

static void assert_evidence(const struct hb_cgroup_marks *before,
                            const struct hb_cgroup_marks *after,
                            const char *want)
{
    char text[256];

    hb_cgroup_evidence(before, after, text, sizeof(text));
    assert_string_equal(text, want);
}

static void a_kill_since_the_start_is_evidence(void **state)
{
    struct hb_cgroup_marks before = {.known = 1, .oom_kills = 1};
    struct hb_cgroup_marks after = {
        .known = 1, .oom_kills = 2, .memory_limit = 512 * MIB,
    };

    assert_evidence(&before, &after, "out of memory: the cgroup killed 1 "
                    "process (limit 512 MiB)");
    after.oom_kills = 4;
    after.memory_limit = 0;
    assert_evidence(&before, &after,
                    "out of memory: the cgroup killed 3 processes");
    assert_evidence(&after, &after, "");
    assert_evidence(&after, &before, "");
}

static void heavy_throttling_is_evidence_and_light_is_not(void **state)
{
    struct hb_cgroup_marks before = {.known = 1};
    struct hb_cgroup_marks after = {
        .known = 1, .periods = 100, .throttled_periods = 40,
        .throttled_us = 3200000,
    };

    assert_evidence(&before, &after, "the CPU quota held this container back "
                    "in 40 % of its periods, 3.2 s in all");
    after.throttled_periods = 24;
    assert_evidence(&before, &after, "");
}

static void evidence_is_cut_to_its_room(void **state)
{
    struct hb_cgroup_marks before = {.known = 1};
    struct hb_cgroup_marks after = {.known = 1, .oom_kills = 1};
    char text[8];

    hb_cgroup_evidence(&before, &after, text, sizeof(text));
    assert_string_equal(text, "out of ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v2_in_a_pod_is_read),
        cmocka_unit_test(the_least_limit_on_the_way_up_counts),
        cmocka_unit_test(v1_below_a_mounts_root_is_read),
        cmocka_unit_test(on_a_hybrid_host_v1_holds_the_controllers),
        cmocka_unit_test(no_cgroup_is_not_known),
        cmocka_unit_test(mount_points_may_have_blanks),
        cmocka_unit_test(a_group_outside_the_mount_is_read_at_its_top),
        cmocka_unit_test(a_kill_since_the_start_is_evidence),
        cmocka_unit_test(heavy_throttling_is_evidence_and_light_is_not),
        cmocka_unit_test(evidence_is_cut_to_its_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
