/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The order of hosts in a network, for every form of file. */

#include "config.h"

#include "bin/job/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"

#define HOSTS 6

static const char *const names[HOSTS] = {"a", "b", "c", "d", "e.x.org", "f"};

static void orders_follow_the_network(void **state)
{
    static const struct {
        const char *text, *order;
        uint32_t unknown;
    } cases[] = {
        {"", "abcdef", 6},
        /* two switches of one, and one apart */
        {"SwitchName=s0 Nodes=a,d # rack 1\nSwitchName=s1 Nodes=b,f\n"
         "SwitchName=s2 Nodes=c,e\nSwitchName=t0 Switches=s0,s2\n"
         "SwitchName=t1 Switches=s1\nSwitchName=r Switches=t[0-1]\n",
         "adcebf", 0},
        {"SwitchName=s0 Nodes=a,f\n", "afbcde", 4},
        {"a z1/r1\nb z2/r1\nc z1/r2\nd z2/r1\ne.x.org z1/r1\nf z1/r2\n",
         "aecfbd", 0},
        {"a 0 9 1 8 2 3\nb 9 0 9 9 1 9\nc 1 9 0 9 9 2\nd 8 9 9 0 9 9\n"
         "e.x.org 2 1 9 9 0 9\nf 3 9 2 9 9 0\n", "acfbed", 0},
        {"b 0 5\nd 5 0\n", "bdacef", 4},
        /* blocks, and lines that go on */
        {"BlockName=b1 Nodes=a,d\nblockname=b2 \\\n  Nodes=b,f \\\n\\\n\n"
         "BlockName=b3 Nodes=c,e\nBlockSizes=2,4\n", "adbfce", 0},
        /* a circle ends */
        {"SwitchName=x Switches=y\nSwitchName=y Switches=x\n"
         "SwitchName=x Nodes=c\n", "cabdef", 5},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t order[HOSTS], unknown;
        char got[HOSTS + 1] = "";
        struct hpcboot_error err;
        if (hb_network_order("net", cases[i].text, names, HOSTS, order, NULL,
                             &unknown, &err) < 0) {
            fail_msg("case %zu: %s", i, err.text);
        }
        for (int k = 0; k < HOSTS; k++) {
            got[k] = names[order[k]][0];
        }
        if (strcmp(got, cases[i].order) != 0 ||
            unknown != cases[i].unknown) {
            fail_msg("case %zu: %s, %u unknown; expected %s, %u", i, got,
                     unknown, cases[i].order, cases[i].unknown);
        }
    }
}

static void hosts_behind_one_switch_have_one_leaf(void **state)
{
    static const struct {
        const char *text, *leaves; /* in the order of the network */
    } cases[] = {
        {"", "000000"},
        {"SwitchName=s0 Nodes=a,d\nSwitchName=s1 Nodes=b,f\n"
         "SwitchName=s2 Nodes=c,e\nSwitchName=t0 Switches=s0,s2\n"
         "SwitchName=t1 Switches=s1\nSwitchName=r Switches=t[0-1]\n",
         "112233"},
        {"SwitchName=s0 Nodes=a,f\n", "110000"},
        {"a z1/r1\nb z2/r1\nc z1/r2\nd z2/r1\ne.x.org z1/r1\nf z1/r2\n",
         "112233"},
        /* what names each host is no switch */
        {"a z1/h1\nb z2/h2\nc z1/h3\nd z2/h4\ne.x.org z1/h5\nf z2/h6\n",
         "111222"},
        {"a 0 9 1 8 2 3\nb 9 0 9 9 1 9\nc 1 9 0 9 9 2\nd 8 9 9 0 9 9\n"
         "e.x.org 2 1 9 9 0 9\nf 3 9 2 9 9 0\n", "000000"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t order[HOSTS], leaf[HOSTS], unknown;
        char got[HOSTS + 1] = "";
        assert_int_equal(hb_network_order("net", cases[i].text, names, HOSTS,
                                          order, leaf, &unknown, NULL), 0);
        for (int k = 0; k < HOSTS; k++) {
            got[k] = (char)('0' + leaf[k]);
        }
        assert_string_equal(got, cases[i].leaves);
    }
}

static void wrong_files_name_the_place(void **state)
{
    static const char *const cases[][2] = {
        {"SwitchName=s0\n", "net:1:1: expected SwitchName=NAME with"},
        {"\nSwitchName=s0 Nodes=n[1-\n", "net:2:"},
        {"a\n", "net:1:2: expected labels"},
        {"a 0 x\n", "net:1:5: expected a distance"},
        {"a 0 1\nb 1\n", "host b has 1 distances, expected 2"},
        {"a 0 -1\nb 1 0\n", "expected a distance"},
        {"a 0 nan\nb 1 0\n", "net:1:5: expected a distance"},
        {"SwitchName=s0 \\\n Nodes=a\n\na\n", "net:4:2: expected labels"},
        {"\nSwitchName=s0 \\\n x\n", "net:2:1: expected SwitchName=NAME with"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t order[HOSTS], unknown;
        struct hpcboot_error err = {0};
        assert_int_equal(hb_network_order("net", cases[i][0], names, HOSTS,
                                          order, NULL, &unknown, &err),
                         HPCBOOT_ERR_PARSE);
        if (strstr(err.text, cases[i][1]) == NULL) {
            fail_msg("%s: %s", cases[i][0], err.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_follow_the_network),
        cmocka_unit_test(hosts_behind_one_switch_have_one_leaf),
        cmocka_unit_test(wrong_files_name_the_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
