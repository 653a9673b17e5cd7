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

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_first_labels_select),
        T(a_longer_name_in_the_pods_own_domain_selects),
        T(an_address_has_no_labels),
    };

    use_built_modules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
