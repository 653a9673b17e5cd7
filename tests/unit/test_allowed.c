/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a host offers, read from made-up /proc and /sys trees. */

#include "config.h"

#include "lib/topo/allowed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "tests/unit/tree.h"

static char root[256];

static int setup(void **state)
{
    tree_create(root, sizeof(root));
    return 0;
}

static int teardown(void **state)
{
    tree_remove(root);
    return 0;
}

static void cpus(const char *list)
{
    tree_write(root, "etc/cpus", list);
}

/* n cores of two threads each, numbered i and i + n. */
static void smt(unsigned n)
{
    for (unsigned i = 0; i < 2 * n; i++) {
        char path[128], text[32];
        snprintf(path, sizeof(path),
                 "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
                 i);
        snprintf(text, sizeof(text), "%u,%u\n", i % n, i % n + n);
        tree_write(root, path, text);
    }
}

static void v2(const char *group, const char *mount_root)
{
    char text[512];

    snprintf(text, sizeof(text), "0::%s\n", group);
    tree_write(root, "proc/self/cgroup", text);
    snprintf(text, sizeof(text),
             "22 1 0:5 / /proc rw - proc proc rw\n"
             "31 23 0:28 %s /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 none "
             "rw\n", mount_root);
    tree_write(root, "proc/self/mountinfo", text);
}

static struct hb_allowed allowed(void)
{
    struct hb_allowed a;
    struct hpcboot_error err;

    assert_int_equal(hb_topo_allowed(root, &a, &err), HPCBOOT_OK);
    return a;
}

static void without_quota_every_core_is_a_slot(void **state)
{
    struct hb_allowed a;

    cpus("0-3\n");
    a = allowed();
    assert_int_equal(a.pus, 4);
    assert_int_equal(a.cores, 4);
    assert_int_equal(a.quota_milli, 0);
    assert_int_equal(a.slots, 4);
    assert_string_equal(a.origin, "4 cores in the CPU set");
}

static void two_threads_of_a_core_are_one_slot(void **state)
{
    smt(4);
    cpus("0-7");
    assert_int_equal(allowed().cores, 4);
    assert_int_equal(allowed().pus, 8);
}

static void a_core_with_one_allowed_thread_counts(void **state)
{
    smt(4);
    cpus("0,5,6");
    assert_int_equal(allowed().cores, 3);
    assert_int_equal(allowed().slots, 3);
}

static void a_quota_is_rounded_up(void **state)
{
    struct hb_allowed a;

    cpus("0-7");
    v2("/", "/");
    tree_write(root, "sys/fs/cgroup/cpu.max", "350000 100000\n");
    a = allowed();
    assert_int_equal(a.quota_milli, 3500);
    assert_int_equal(a.slots, 4);
    assert_string_equal(a.origin, "8 cores in the CPU set, quota 3.5 CPUs");
}

static void the_cpu_set_limits_a_larger_quota(void **state)
{
    cpus("0-3");
    v2("/", "/");
    tree_write(root, "sys/fs/cgroup/cpu.max", "800000 100000\n");
    assert_int_equal(allowed().slots, 4);
}

static void a_quota_below_one_cpu_leaves_one_slot(void **state)
{
    cpus("0-3");
    v2("/", "/");
    tree_write(root, "sys/fs/cgroup/cpu.max", "10000 100000\n");
    assert_int_equal(allowed().quota_milli, 100);
    assert_int_equal(allowed().slots, 1);
}

static void a_quota_limits_threads_as_it_does_cores(void **state)
{
    assert_int_equal(hb_allowed_within(8, 0), 8);
    assert_int_equal(hb_allowed_within(8, 8000), 8);
    assert_int_equal(hb_allowed_within(8, 6500), 7);
    assert_int_equal(hb_allowed_within(8, 9000), 8);
    assert_int_equal(hb_allowed_within(0, 100), 1);
}

static void the_least_quota_along_the_path_holds(void **state)
{
    cpus("0-15");
    v2("/kubepods/pod1/c1", "/");
    tree_write(root, "sys/fs/cgroup/kubepods/pod1/c1/cpu.max", "max 100000\n");
    tree_write(root, "sys/fs/cgroup/kubepods/pod1/cpu.max", "200000 100000\n");
    tree_write(root, "sys/fs/cgroup/kubepods/cpu.max", "900000 100000\n");
    assert_int_equal(allowed().quota_milli, 2000);
}

/* Without a group namespace the container sees the host's path, while only
 * its own group is mounted. */
static void a_bind_mounted_group_is_found(void **state)
{
    cpus("0-15");
    v2("/docker/abc/sub", "/docker/abc");
    tree_write(root, "sys/fs/cgroup/cpu.max", "300000 100000\n");
    tree_write(root, "sys/fs/cgroup/sub/cpu.max", "200000 100000\n");
    assert_int_equal(allowed().quota_milli, 2000);
}

static void a_path_outside_the_mount_falls_back_to_the_mount(void **state)
{
    cpus("0-15");
    v2("/../../other", "/");
    tree_write(root, "sys/fs/cgroup/cpu.max", "300000 100000\n");
    assert_int_equal(allowed().quota_milli, 3000);
}

static void a_volume_of_the_hosts_groups_does_not_hide_the_own(void **state)
{
    static const char own[] = "31 23 0:28 / /sys/fs/cgroup ro - cgroup2 none "
                              "rw\n";
    static const char hosts[] = "40 23 0:28 /../../.. /host/cgroup ro - "
                                "cgroup2 none rw\n";
    char *orders[] = {hb_xasprintf("%s%s", own, hosts),
                      hb_xasprintf("%s%s", hosts, own)};

    cpus("0-15");
    tree_write(root, "proc/self/cgroup", "0::/\n");
    tree_write(root, "sys/fs/cgroup/cpu.max", "300000 100000\n");
    tree_write(root, "host/cgroup/cgroup.procs", "1\n");
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        tree_write(root, "proc/self/mountinfo", orders[i]);
        assert_int_equal(allowed().quota_milli, 3000);
        free(orders[i]);
    }
}

static void v1_quota_is_read(void **state)
{
    cpus("0-15");
    tree_write(root, "proc/self/cgroup",
               "5:cpuset:/\n4:cpu,cpuacct:/kubepods/p\n1:name=systemd:/\n");
    tree_write(root, "proc/self/mountinfo",
               "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
               "rw,cpu,cpuacct\n");
    tree_write(root, "sys/fs/cgroup/cpu,cpuacct/kubepods/p/cpu.cfs_quota_us",
               "-1\n");
    tree_write(root, "sys/fs/cgroup/cpu,cpuacct/kubepods/cpu.cfs_quota_us",
               "250000\n");
    tree_write(root, "sys/fs/cgroup/cpu,cpuacct/kubepods/cpu.cfs_period_us",
               "100000\n");
    assert_int_equal(allowed().quota_milli, 2500);
    assert_int_equal(allowed().slots, 3);
}

static void the_cpuset_controller_is_not_taken_for_cpu(void **state)
{
    cpus("0-15");
    tree_write(root, "proc/self/cgroup", "5:cpuset:/\n");
    tree_write(root, "proc/self/mountinfo",
               "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup "
               "rw,cpuset\n");
    tree_write(root, "sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "100000\n");
    tree_write(root, "sys/fs/cgroup/cpuset/cpu.cfs_period_us", "100000\n");
    assert_int_equal(allowed().quota_milli, 0);
}

static void a_mount_point_with_blanks_is_found(void **state)
{
    cpus("0-15");
    tree_write(root, "proc/self/cgroup", "0::/\n");
    tree_write(root, "proc/self/mountinfo",
               "32 31 0:29 / /mnt/c\\040g rw - cgroup2 none rw\n");
    tree_write(root, "mnt/c g/cpu.max", "100000 100000\n");
    assert_int_equal(allowed().quota_milli, 1000);
    assert_string_equal(allowed().origin,
                        "16 cores in the CPU set, quota 1 CPU");
}

static void garbage_in_a_quota_file_is_said_and_ignored(void **state)
{
    static const char *const garbage[] = {
        "abc\n", "", "100000", "-5 100000", "100000 0", "0 100000",
        "99999999999999999999 100000", "100000 x"};

    cpus("0-3");
    v2("/", "/");
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        tree_write(root, "sys/fs/cgroup/cpu.max", garbage[i]);
        assert_int_equal(allowed().slots, 4);
        assert_non_null(strstr(allowed().origin, "not understood"));
    }
}

static void huge_quota_numbers_limit_nothing(void **state)
{
    cpus("0-3");
    v2("/", "/");
    tree_write(root, "sys/fs/cgroup/cpu.max",
               "18446744073709551615 18446744073709551615\n");
    assert_int_equal(allowed().quota_milli, 1000);
    tree_write(root, "sys/fs/cgroup/cpu.max", "18446744073709551615 1\n");
    assert_int_equal(allowed().quota_milli, 0);
}

static void a_bad_cpu_list_names_file_and_column(void **state)
{
    struct hb_allowed a;
    struct hpcboot_error err;

    cpus("0-3,x");
    assert_int_equal(hb_topo_allowed(root, &a, &err), HPCBOOT_ERR_PARSE);
    assert_non_null(strstr(err.text, "/etc/cpus: "));
    assert_non_null(strstr(err.text, "column 5: expected a CPU number"));
}

static void this_host_has_at_least_one_slot(void **state)
{
    struct hb_allowed a;

    assert_int_equal(hb_topo_allowed("", &a, NULL), HPCBOOT_OK);
    assert_true(a.slots >= 1 && a.slots <= a.cores && a.cores <= a.pus);
}

static void lists_round_trip(void **state)
{
    static const char *const lists[] = {"", "0", "0-3", "0,2,4-7,16383",
                                        "63-64,127,130"};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct hb_cpus c;
        char *text;
        assert_int_equal(hb_cpus_parse(lists[i], &c, NULL), HPCBOOT_OK);
        text = hb_cpus_text(&c);
        assert_string_equal(text, lists[i]);
        free(text);
    }
}

static void bad_lists_are_refused(void **state)
{
    static const char *const lists[] = {"3-1", "1,", ",1",    "1-",  "-1",
                                        "1 2", "a",  "16384", "1--2"};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct hb_cpus c;
        assert_int_equal(hb_cpus_parse(lists[i], &c, NULL), HPCBOOT_ERR_PARSE);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(without_quota_every_core_is_a_slot),
        T(two_threads_of_a_core_are_one_slot),
        T(a_core_with_one_allowed_thread_counts),
        T(a_quota_is_rounded_up),
        T(the_cpu_set_limits_a_larger_quota),
        T(a_quota_below_one_cpu_leaves_one_slot),
        T(a_quota_limits_threads_as_it_does_cores),
        T(the_least_quota_along_the_path_holds),
        T(a_bind_mounted_group_is_found),
        T(a_path_outside_the_mount_falls_back_to_the_mount),
        T(a_volume_of_the_hosts_groups_does_not_hide_the_own),
        T(v1_quota_is_read),
        T(the_cpuset_controller_is_not_taken_for_cpu),
        T(a_mount_point_with_blanks_is_found),
        T(garbage_in_a_quota_file_is_said_and_ignored),
        T(huge_quota_numbers_limit_nothing),
        T(a_bad_cpu_list_names_file_and_column),
        T(this_host_has_at_least_one_slot),
        T(lists_round_trip),
        T(bad_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
