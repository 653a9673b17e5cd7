/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* -H selects from an operator's gang by any name that one of its hosts has. */

#include "config.h"

#include "tests/unit/gang_pod.h"

#include "tests/unit/tree.h"

static char root[256];

static int setup(void **state)
{
    tree_create(root, sizeof(root));
    tree_write(root, "etc/hostname", "lm-m-0\n");
    tree_write(root, "etc/hosts", "10.1.0.7 lm-m-0.lm.hpc.svc.x.org lm-m-0\n");
    return 0;
}

static int teardown(void **state)
{
    tree_remove(root);
    return 0;
}

static void volcano(const char *workers)
{
    tree_write(root, "etc/volcano/m.host", "lm-m-0.lm\n");
    tree_write(root, "etc/volcano/w.host", workers);
}

static void assert_selects(const char *list, const char *source,
                           const char *hosts)
{
    struct hpcboot_error err = {0};
    struct hb_gang g;

    if (gather_at(root, "", list, &g, &err) < 0) {
        fail_msg("%s: %s", list, err.text);
    }
    assert_gang(&g, source, hosts);
    hb_gang_destroy(&g);
}

static void the_first_labels_select(void **state)
{
    volcano("lm-w-0.lm.hpc.svc\nlm-w-1.lm.hpc.svc\nlm-w-1.other.hpc.svc\n");
    assert_selects("lm-w-0", "Volcano Job", "lm-w-0.lm.hpc.svc:1");
    assert_selects("LM-w-0.lm.", "Volcano Job", "lm-w-0.lm.hpc.svc:1");
    assert_selects("lm-w-1.lm.hpc", "Volcano Job", "lm-w-1.lm.hpc.svc:1");
    assert_selects("lm-w-1.other,lm-w-0.lm", "Volcano Job",
                   "lm-w-1.other.hpc.svc:1 lm-w-0.lm.hpc.svc:1");
    assert_selects("lm-w-0.l", "-H", "lm-w-0.l:1");
    assert_selects("lm-w-0.ai", "-H", "lm-w-0.ai:1");
}

static void a_longer_name_in_the_pods_own_domain_selects(void **state)
{
    volcano("lm-w-0.lm\nlm-w-1.lm\n");
    assert_selects("lm-w-1.lm.hpc", "Volcano Job", "lm-w-1.lm:1");
    assert_selects("lm-w-0.lm.hpc.svc,lm-w-1.lm.hpc.svc.X.org.", "Volcano Job",
                   "lm-w-0.lm:1 lm-w-1.lm:1");
    assert_selects("lm-w-0.lm.ai.svc", "-H", "lm-w-0.lm.ai.svc:1");
    assert_selects("lm-w-0.lm.hpc.svc.x.org.y", "-H",
                   "lm-w-0.lm.hpc.svc.x.org.y:1");
}

static void an_address_has_no_labels(void **state)
{
    volcano("10.0.0.1\n192.0.2.1\n");
    assert_selects("10.0.0.1", "Volcano Job", "10.0.0.1:1");
    assert_selects("10", "-H", "10:1");
    assert_selects("10.0.0", "-H", "10.0.0:1");
}

#define INDEXED "HOME=/root JOB_COMPLETION_INDEX=2 "

/* Names hosts in pod js-w-1-2 of a JobSet. */
static struct hb_gang named_there(const char *env, const char *list)
{
    struct hpcboot_error err = {0};
    struct hb_gang g;

    tree_write(root, "etc/hostname", "js-w-1-2\n");
    tree_write(root, "etc/hosts", "10.1.0.7 js-w-1-2.js.hpc.svc.x js-w-1-2\n");
    tree_write(root, "root/.ssh/id_rsa", "-----BEGIN EC PRIVATE KEY-----\n");
    if (gather_at(root, env, list, &g, &err) < 0) {
        fail_msg("%s: %s", list, err.text);
    }
    return g;
}

static void pods_of_a_jobsets_other_jobs_are_of_its_gang(void **state)
{
    static const char *const envs[] = {INDEXED, INDEXED "HPCBOOT_GANG_SIZE=3"};

    for (size_t i = 0; i < 2; i++) {
        struct hb_gang g = named_there(envs[i], "js-a-0-0.js,"
                                       "js-w-0-2.js.hpc.svc,js-w-1-2");

        assert_gang(&g, "-H",
                    "js-a-0-0.js:1 js-w-0-2.js.hpc.svc:1 js-w-1-2:1*");
        assert_int_equal(g.operator_made, 1);
        assert_true(hb_ends_with(g.gang_key, "/root/.ssh/id_rsa"));
        assert_has(g.detail, "they are hosts of JobSet, the job's key is ");
        assert_int_equal(g.n_notes, 0);
        hb_gang_destroy(&g);
    }
}

static void hosts_beyond_an_indexed_pods_subdomain_are_no_gang(void **state)
{
    static const char *const lists[] = {
        "js-a-0-0.js,n1", "js-a-0-0", "js-a-0-0.", "js-a-0-0.j", "a.js",
        "js-a-0-0.js.ai", "js-a-0-0.js.hpc.svc.x.y", "js-w-1-2"};
    struct hb_gang g;

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        g = named_there(INDEXED, lists[i]);
        assert_int_equal(g.operator_made, 0);
        hb_gang_destroy(&g);
    }
    g = named_there("JOB_COMPLETION_INDEX=1", "js-a-0-0.js");
    assert_int_equal(g.operator_made, 0);
    hb_gang_destroy(&g);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_first_labels_select),
        T(a_longer_name_in_the_pods_own_domain_selects),
        T(an_address_has_no_labels),
        T(pods_of_a_jobsets_other_jobs_are_of_its_gang),
        T(hosts_beyond_an_indexed_pods_subdomain_are_no_gang),
    };

    use_built_modules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
