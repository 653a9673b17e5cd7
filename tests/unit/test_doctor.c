/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Findings on hosts that are directories, and between hosts that are not
 * alike. What is tried out on the real host is tested over pods. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bin/doctor/doctor.h"
#include "tests/unit/fabric_tree.h"

#define LIMITS(soft, hard)                                                   \
    "Limit                     Soft Limit           Hard Limit  Units\n"     \
    "Max open files            65536                1048576  files\n"        \
    "Max locked memory         " soft "             " hard "    bytes\n"

struct lab {
    char root[256];
    struct hb_fabric fabric;
    struct hb_findings found;
    struct hb_strv facts;
};

static void begin(struct lab *l, const char *tree, const char *const *instead)
{
    memset(l, 0, sizeof *l);
    fabric_tree_create(tree, instead, l->root, sizeof l->root);
    tree_write(l->root, "proc/self/limits", LIMITS("unlimited", "unlimited"));
    tree_write(l->root, "dev/shm/file", "");
}

static void examine(struct lab *l)
{
    struct hb_exam e = {.root = l->root, .fabric = &l->fabric};

    hb_fabric_read(l->root, 0, &l->fabric, NULL);
    hb_exam_host(&e, &l->found, &l->facts);
}

static void end(struct lab *l)
{
    tree_remove(l->root);
    hb_fabric_clear(&l->fabric);
    hb_findings_destroy(&l->found);
    hb_strv_destroy(&l->facts);
}

static const struct hb_finding *finding(const struct hb_findings *f,
                                        const char *check)
{
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->v[i].check, check) == 0) {
            return &f->v[i];
        }
    }
    return NULL;
}

static void little_locked_memory_is_bad_where_there_is_rdma(void **state)
{
    struct lab l;

    (void)state;
    begin(&l, "roce-vlan", NULL);
    tree_write(l.root, "proc/self/limits", LIMITS("65536", "65536"));
    examine(&l);
    assert_non_null(finding(&l.found, "memlock"));
    assert_int_equal(finding(&l.found, "memlock")->grade, HB_GRADE_BAD);
    assert_string_equal(finding(&l.found, "memlock")->what,
                        "ranks may lock 64 KiB of memory");
    end(&l);
}

/* Ranks are started with the hard limit. */
static void a_soft_limit_that_is_raised_is_none(void **state)
{
    struct lab l;

    (void)state;
    begin(&l, "roce-vlan", NULL);
    tree_write(l.root, "proc/self/limits", LIMITS("65536", "unlimited"));
    examine(&l);
    assert_null(finding(&l.found, "memlock"));
    end(&l);
}

static int memlock_is_found(const char *capabilities, const char *uid_map)
{
    struct lab l;
    int found;

    begin(&l, "roce-vlan", NULL);
    tree_write(l.root, "proc/self/limits", LIMITS("65536", "65536"));
    tree_write(l.root, "proc/self/status", capabilities);
    tree_write(l.root, "proc/self/uid_map", uid_map);
    examine(&l);
    found = finding(&l.found, "memlock") != NULL;
    end(&l);
    return found;
}

static void who_may_lock_what_he_likes_has_no_limit(void **state)
{
    static const char host[] = "         0          0 4294967295\n";

    (void)state;
    assert_false(memlock_is_found("Name:\tx\nCapEff:\t0000000000004000\n",
                                  host));
    assert_true(memlock_is_found("Name:\tx\nCapEff:\t0000000000002000\n",
                                 host));
    assert_true(memlock_is_found("Name:\tx\nCapEff:\t000001ffffffffff\n",
                                 "         0     100000      65536\n"));
}

static void unlimited_locked_memory_is_fine(void **state)
{
    struct lab l;

    (void)state;
    begin(&l, "roce-vlan", NULL);
    examine(&l);
    assert_null(finding(&l.found, "memlock"));
    assert_null(finding(&l.found, "limits"));
    assert_null(finding(&l.found, "port"));
    end(&l);
}

/* Group /a/b, whose own limits are none. */
static void in_a_group(struct lab *l, const char *file, const char *above)
{
    char path[64];

    begin(l, "roce-vlan", NULL);
    tree_write(l->root, "proc/self/cgroup", "0::/a/b\n");
    tree_write(l->root, "proc/self/mountinfo",
               "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree_write(l->root, "sys/fs/cgroup/a/b/pids.max", "max\n");
    tree_write(l->root, "sys/fs/cgroup/a/b/cpu.stat", "usage_usec 7\n");
    tree_write(l->root, "sys/fs/cgroup/a/pids.current", "30\n");
    snprintf(path, sizeof path, "sys/fs/cgroup/a/%s", file);
    tree_write(l->root, path, above);
    examine(l);
}

static void limits_of_the_groups_above_count(void **state)
{
    struct lab l;

    (void)state;
    in_a_group(&l, "pids.max", "40\n");
    assert_string_equal(finding(&l.found, "limits")->what,
                        "30 of 40 processes are in use");
    end(&l);
    in_a_group(&l, "cpu.stat", "nr_periods 100\nnr_throttled 50\n");
    assert_non_null(finding(&l.found, "cpu"));
    end(&l);
    in_a_group(&l, "rdma.max", "mlx5_0 hca_handle=0 hca_object=0\n");
    assert_non_null(finding(&l.found, "rdma-cgroup"));
    end(&l);
    in_a_group(&l, "pids.max", "4000\n");
    assert_null(finding(&l.found, "limits"));
    assert_null(finding(&l.found, "cpu"));
    end(&l);
}

static int processes_are_few(const char *uid)
{
    struct lab l;
    int found;

    begin(&l, "roce-vlan", NULL);
    tree_write(l.root, "proc/self/limits",
               "Max processes             100                  100\n");
    tree_write(l.root, "proc/self/status", uid);
    examine(&l);
    found = finding(&l.found, "limits") != NULL &&
            strstr(finding(&l.found, "limits")->what, "100 processes") != NULL;
    end(&l);
    return found;
}

static void few_processes_are_a_fault_but_for_root(void **state)
{
    (void)state;
    assert_true(processes_are_few("Name:\tx\nUid:\t1000\t1000\n"));
    assert_false(processes_are_few("Name:\tx\nUid:\t0\t0\n"));
}

static void a_port_that_is_down_is_found(void **state)
{
    struct lab l;

    (void)state;
    begin(&l, "port-down", NULL);
    examine(&l);
    assert_string_equal(finding(&l.found, "port")->what,
                        "mlx5_0 port 1: its link is down");
    assert_int_equal(hb_findings_grade(&l.found), HB_GRADE_DEGRADED);
    end(&l);
}

static void another_pods_device_is_none_of_ours(void **state)
{
    struct lab l;

    (void)state;
    begin(&l, "vf-pod", NULL);
    examine(&l);
    assert_null(finding(&l.found, "device-file"));
    end(&l);
}

static void a_device_without_its_file_is_bad_when_it_is_the_only_one(
    void **state)
{
    static const char *const no_file[] = {"dev/infiniband/uverbs0", "dev/no",
                                          NULL};
    struct lab l;

    (void)state;
    begin(&l, "roce-vlan", no_file);
    examine(&l);
    assert_int_equal(finding(&l.found, "device-file")->grade, HB_GRADE_BAD);
    end(&l);
}

static void gids_of_another_namespace_are_found(void **state)
{
    struct lab l;

    (void)state;
    begin(&l, "no-ndev", NULL);
    examine(&l);
    assert_string_equal(finding(&l.found, "gid")->what,
                        "mlx5_0 port 1 has no usable GID");
    end(&l);
}

static int sidecar_is_found(const char *sockets)
{
    struct lab l;
    int found;

    begin(&l, "roce-vlan", NULL);
    tree_write(l.root, "proc/net/tcp", sockets);
    tree_write(l.root, "proc/net/tcp6",
               "  sl  local_address remote_address st\n"
               "   0: 00000000000000000000000000000000:3A99 "
               "00000000000000000000000000000000:0000 0A\n");
    examine(&l);
    found = finding(&l.found, "sidecar") != NULL &&
            strstr(finding(&l.found, "sidecar")->what, "istio") != NULL;
    end(&l);
    return found;
}

static void a_proxy_of_a_mesh_is_found_by_its_ports(void **state)
{
    (void)state;
    assert_true(sidecar_is_found("  sl  local_address rem_address   st\n"
                                 "   0: 00000000:3A9E 00000000:0000 0A\n"));
}

/* As a host that is connected to the server of PBS, and runs that. */
static void who_has_such_a_connection_has_no_proxy(void **state)
{
    (void)state;
    assert_false(sidecar_is_found("  sl  local_address rem_address   st\n"
                                  "   0: 0100007F:3A9E 0100007F:3A99 01\n"
                                  "   1: 0100007F:9C40 0100007F:3A9E 01\n"
                                  "   2: 00000000:3A9A 00000000:0000 0A\n"));
}

static void examine_sshd(const char *config, struct lab *l)
{
    begin(l, "roce-vlan", NULL);
    tree_write(l->root, "etc/ssh/sshd_config", config);
    examine(l);
}

static void an_sshd_that_drops_or_delays_logins_is_found(void **state)
{
    struct lab l;

    (void)state;
    examine_sshd("# MaxStartups 1\nPort 22\n maxstartups 3:30:60\n"
                 "MaxStartups 100\n", &l);
    assert_non_null(strstr(finding(&l.found, "sshd")->what,
                           "MaxStartups is 3:30:60 in /etc/ssh/sshd_config"));
    end(&l);
    examine_sshd("UseDNS=yes\n", &l);
    assert_non_null(strstr(finding(&l.found, "sshd")->what, "UseDNS is yes"));
    end(&l);
    examine_sshd("PerSourceMaxStartups 2", &l);
    assert_non_null(finding(&l.found, "sshd"));
    end(&l);
}

static void an_sshd_as_it_should_be_is_not(void **state)
{
    static const char *const configs[] = {
        "", "MaxStartups 10:30:100\nUseDNS no\nPerSourceMaxStartups none\n",
        "MaxStartup 1\nMaxStartupsX 1\nUseDNS\n",
        "Match User other\n UseDNS yes\n MaxStartups 1\n",
        "MaxStartups", "MaxStartups \"", "\n\n\t",
    };
    struct lab l;

    (void)state;
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        examine_sshd(configs[i], &l);
        for (size_t k = 0; k < l.found.n; k++) {
            assert_string_not_equal(l.found.v[k].check, "sshd");
        }
        end(&l);
    }
}

/* What is found of MaxStartups where one file includes others; free() it. */
static char *startups_with(const char *config, const char *a, const char *b)
{
    const struct hb_finding *f;
    struct lab l;
    char *what;

    begin(&l, "roce-vlan", NULL);
    tree_write(l.root, "etc/ssh/sshd_config", config);
    tree_write(l.root, "etc/ssh/sshd_config.d/a.conf", a);
    tree_write(l.root, "etc/ssh/sshd_config.d/b.conf", b);
    examine(&l);
    f = finding(&l.found, "sshd");
    what = hb_xstrdup(f != NULL ? f->what : "");
    end(&l);
    return what;
}

static void files_that_an_sshd_includes_count_where_they_stand(void **state)
{
    static const char all[] = "Include /etc/ssh/sshd_config.d/*.conf\n"
                              "MaxStartups 100\n";
    char *what = startups_with(all, "Port 22\n", "MaxStartups 2\n");

    (void)state;
    assert_string_equal(what,
                        "MaxStartups is 2 in /etc/ssh/sshd_config.d/b.conf");
    free(what);
    what = startups_with(all, "Match User x\nMaxStartups 3\n", "Port 22\n");
    assert_string_equal(what, "");
    free(what);
    what = startups_with("MaxStartups 4\nInclude sshd_config.d/*\n",
                         "MaxStartups 100\n", "");
    assert_string_equal(what, "MaxStartups is 4 in /etc/ssh/sshd_config");
    free(what);
    what = startups_with("Include nothing sshd_config.d/b.conf\n"
                         "MaxStartups 5\n", "MaxStartups 6\n",
                         "Include /etc/ssh/sshd_config\nMaxStartups 50\n");
    assert_string_equal(what, "");
    free(what);
}

static void one_finding_of_many_hosts_is_one_line(void **state)
{
    char check[] = "cma", what[] = "what", why[] = "why", mend[] = "mend";
    const struct hb_finding one = {HB_GRADE_DEGRADED, check, what, why, mend,
                                   HB_STRV_INIT};
    struct hb_findings f = {0};
    struct hb_str text = HB_STR_INIT;

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        char host[8];
        snprintf(host, sizeof host, "n%u", i);
        hb_finding_add(&f, &one, host);
    }
    assert_int_equal(f.n, 1);
    hb_findings_text(&f, 6, &text);
    assert_non_null(strstr(text.s, "degraded  cma: all 6 hosts: what\n"));
    hb_str_destroy(&text);
    hb_findings_destroy(&f);
}

static void the_host_that_is_not_like_the_others_is_named(void **state)
{
    struct hb_exam_facts hosts[3] = {{.name = "a"}, {.name = "b"},
                                     {.name = "c"}};
    struct hb_findings f = {0};
    struct hb_strv notes = HB_STRV_INIT;
    struct hb_fabric fabric;
    struct lab l;

    (void)state;
    begin(&l, "bond", NULL);
    hb_fabric_read(l.root, 0, &fabric, NULL);
    for (size_t i = 0; i < 3; i++) {
        hosts[i].fabric = &fabric;
        hb_strv_push(&hosts[i].facts, i == 1 ? "UCX=1.13" : "UCX=1.18");
    }
    hosts[2].clock_ns = -INT64_C(5000000000);
    hb_exam_across(hosts, 3, &f, &notes);
    assert_int_equal(f.n, 2);
    assert_string_equal(finding(&f, "alike")->where.v[0], "b");
    assert_string_equal(finding(&f, "alike")->what,
                        "UCX is 1.13, on a and 1 more 1.18");
    assert_string_equal(finding(&f, "clock")->what,
                        "its clock is 5.0 s behind the launcher's");
    for (size_t i = 0; i < 3; i++) {
        hb_strv_destroy(&hosts[i].facts);
    }
    hb_strv_destroy(&notes);
    hb_findings_destroy(&f);
    hb_fabric_clear(&fabric);
    end(&l);
}

/* What is found of hosts without a fabric. */
static struct hb_findings across(struct hb_exam_facts *hosts, size_t n)
{
    static const struct hb_fabric none;
    struct hb_findings f = {0};
    struct hb_strv notes = HB_STRV_INIT;

    for (size_t i = 0; i < n; i++) {
        hosts[i].fabric = &none;
    }
    hb_exam_across(hosts, n, &f, &notes);
    hb_strv_destroy(&notes);
    return f;
}

static void names_of_one_host_are_told(void **state)
{
    struct hb_exam_facts hosts[4] = {
        {.name = "a", .place = "boot 1"}, {.name = "b"}, {.name = "c"},
        {.name = "d", .place = "boot 1"}};
    struct hb_findings f = across(hosts, 4);

    assert_string_equal(finding(&f, "same")->what,
                        "it is the same host as a");
    assert_int_equal(finding(&f, "same")->where.n, 1);
    assert_string_equal(finding(&f, "same")->where.v[0], "d");
    hb_findings_destroy(&f);
}

static void of_two_hosts_both_values_are_told(void **state)
{
    struct hb_exam_facts hosts[2] = {{.name = "a"}, {.name = "b"}};
    struct hb_findings f;

    for (size_t i = 0; i < 2; i++) {
        hb_strv_push(&hosts[i].facts, i == 1 ? "kernel=6.1" : "kernel=5.14");
    }
    f = across(hosts, 2);
    assert_string_equal(finding(&f, "alike")->what,
                        "kernel is 6.1, on a 5.14");
    for (size_t i = 0; i < 2; i++) {
        hb_strv_destroy(&hosts[i].facts);
    }
    hb_findings_destroy(&f);
}

/* What is found of three hosts; host i is on subnet 10.`nets[i]`. */
static void on_subnets(struct hb_findings *f, const int *nets, int routers)
{
    struct hb_exam_facts hosts[3] = {{.name = "a"}, {.name = "b"},
                                     {.name = "c"}};
    struct hb_fabric fabric[3];
    struct hb_strv notes = HB_STRV_INIT;
    char address[16], gid[16];
    const char *const instead[] = {
        "10.1.0.4", address, "0a01:0004", gid,
        "net1\t00000000", routers ? "net1\t00000000" : "lo\t00000000", NULL};

    for (int i = 0; i < 3; i++) {
        struct lab l;

        snprintf(address, sizeof address, "10.%d.0.%d", nets[i], 4 + i);
        snprintf(gid, sizeof gid, "0a%02x:%04x", (unsigned)nets[i],
                 4 + (unsigned)i);
        begin(&l, "holes", instead);
        hb_fabric_read(l.root, 0, &fabric[i], NULL);
        tree_remove(l.root);
        hosts[i].fabric = &fabric[i];
    }
    hb_exam_across(hosts, 3, f, &notes);
    for (int i = 0; i < 3; i++) {
        hb_fabric_clear(&fabric[i]);
    }
    hb_strv_destroy(&notes);
}

static void the_host_on_another_subnet_is_named(void **state)
{
    static const int nets[] = {1, 1, 72};
    struct hb_findings f = {0};

    (void)state;
    on_subnets(&f, nets, 0);
    assert_non_null(finding(&f, "subnet"));
    assert_int_equal(finding(&f, "subnet")->where.n, 1);
    assert_string_equal(finding(&f, "subnet")->where.v[0], "c");
    assert_string_equal(finding(&f, "subnet")->what,
                        "mlx5_0 port 1 is on 10.72.0.0/24, on 2 other hosts "
                        "the rail is on 10.1.0.0/24, and net1 has no route "
                        "there");
    hb_findings_destroy(&f);
}

static void subnets_that_differ_need_a_router(void **state)
{
    static const int nets[] = {1, 71, 72};
    struct hb_findings f = {0};

    (void)state;
    on_subnets(&f, nets, 1);
    assert_null(finding(&f, "subnet"));
    on_subnets(&f, nets, 0);
    assert_int_equal(finding(&f, "subnet")->where.n, 3);
    hb_findings_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_locked_memory_is_bad_where_there_is_rdma),
        cmocka_unit_test(a_soft_limit_that_is_raised_is_none),
        cmocka_unit_test(who_may_lock_what_he_likes_has_no_limit),
        cmocka_unit_test(unlimited_locked_memory_is_fine),
        cmocka_unit_test(limits_of_the_groups_above_count),
        cmocka_unit_test(few_processes_are_a_fault_but_for_root),
        cmocka_unit_test(a_port_that_is_down_is_found),
        cmocka_unit_test(another_pods_device_is_none_of_ours),
        cmocka_unit_test(
            a_device_without_its_file_is_bad_when_it_is_the_only_one),
        cmocka_unit_test(gids_of_another_namespace_are_found),
        cmocka_unit_test(a_proxy_of_a_mesh_is_found_by_its_ports),
        cmocka_unit_test(who_has_such_a_connection_has_no_proxy),
        cmocka_unit_test(an_sshd_that_drops_or_delays_logins_is_found),
        cmocka_unit_test(an_sshd_as_it_should_be_is_not),
        cmocka_unit_test(files_that_an_sshd_includes_count_where_they_stand),
        cmocka_unit_test(one_finding_of_many_hosts_is_one_line),
        cmocka_unit_test(the_host_that_is_not_like_the_others_is_named),
        cmocka_unit_test(names_of_one_host_are_told),
        cmocka_unit_test(of_two_hosts_both_values_are_told),
        cmocka_unit_test(the_host_on_another_subnet_is_named),
        cmocka_unit_test(subnets_that_differ_need_a_router),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
