/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Placement by name and by number: rank files, grids, devices; and a topology
 * as bytes. The machines are made up by hwloc or come from tests/data/topo. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "lib/topo/bind.h"
#include "lib/topo/gpu_share.h"
#include "lib/topo/map.h"
#include "lib/topo/rankfile.h"

static int no_hwloc;

static struct hb_topo *machine(const char *source)
{
    const char *src = getenv("HB_SRCDIR");
    char *path = strchr(source, ':') != NULL
                     ? hb_xstrdup(source)
                     : hb_xasprintf("%s/tests/data/topo/%s",
                                    src != NULL ? src : ".", source);
    struct hb_topo_request req = {.source = path, .devices = 1};
    struct hb_topo *topo = NULL;
    struct hpcboot_error err;

    if (hb_topo_load(&req, &topo, &err) < 0) {
        no_hwloc = err.code == HPCBOOT_ERR_UNSUPPORTED;
        if (!no_hwloc) {
            fail_msg("%s: %s", source, err.text);
        }
    }
    free(path);
    return topo;
}

static int setup(void **state)
{
    const char *build = getenv("HB_BUILDDIR");
    char *dir = hb_xasprintf("%s/.libs", build != NULL ? build : ".");

    setenv("HPCBOOT_MODULE_DIR", dir, 0);
    free(dir);
    hb_topo_destroy(machine("synthetic:pu:1"));
    return 0;
}

/* ---- rank files ---- */

static void rankfiles_are_read(void **state)
{
    struct hb_rankfile f = {0};
    struct hpcboot_error err;

    assert_int_equal(hb_rankfile_parse("rf", "# by hand\n"
                     "rank 1 = b slot = 1:0-3;0:* # second\n\n"
                     "RANK 0=a.x.y slots=0,2\n"
                     "rank 2=+n1\n", &f, &err), HPCBOOT_OK);
    assert_int_equal(f.n, 3);
    assert_string_equal(f.v[0].host, "a.x.y");
    assert_string_equal(f.v[0].slots, "0,2");
    assert_string_equal(f.v[1].slots, "1:0-3;0:*");
    assert_int_equal(f.v[1].line, 2);
    assert_null(f.v[2].slots);
    assert_int_equal(f.v[2].relative, 1);
    hb_rankfile_clear(&f);
}

static void wrong_rankfiles_name_the_place(void **state)
{
    static const char *const cases[][2] = {
        {"", "no rank in it"},
        {"node 0=a\n", "rf:1:1: expected \"rank\""},
        {"rank x=a\n", "rf:1:6: expected the number of a rank"},
        {"rank 99999999999=a\n", "rf:1:6: expected the number of a rank"},
        {"rank 0\n", "rf:1:7: expected = and a host"},
        {"rank 0=\n", "rf:1:8: expected a host"},
        {"rank 0=a core=1\n", "rf:1:10: expected slot=CORES"},
        {"rank 0=a slot=\n", "rf:1:15: expected a list of cores"},
        {"rank 0=a slot=x\n", "rf:1:15: expected a list of cores"},
        {"rank 0=a slot=1 2\n", "rf:1:17: expected the end"},
        {"rank 0=a slot=;0\n", "rf:1:15: expected cores here"},
        {"rank 0=a\nrank 1=a slot=0:0; # two\n",
         "rf:2:19: expected cores here"},
        {"rank 0=a slot = 0;;1\n", "rf:1:19: expected cores here"},
        {"rank 0=a\nrank 1=b\nrank 0=c\n",
         "rf:3:6: rank 0 is here again; it had its host in line 1"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hb_rankfile f = {0};
        struct hpcboot_error err = {0};
        assert_int_equal(hb_rankfile_parse("rf", cases[i][0], &f, &err),
                         HPCBOOT_ERR_PARSE);
        if (strstr(err.text, cases[i][1]) == NULL) {
            fail_msg("%s: %s", cases[i][0], err.text);
        }
    }
}

/* Host letters of all ranks, or the error's text; free() it. */
static char *place(const struct hb_map_policy *policy, const char *letters,
                   uint32_t slots, uint32_t np)
{
    struct hb_map_host hosts[16] = {{0}};
    char names[16][16];
    const struct hb_map_app app = {.np = np, .program = "x"};
    struct hb_jobmap *map = NULL;
    uint32_t *host_of_node = NULL, n = 0;
    struct hb_str o = HB_STR_INIT;
    struct hpcboot_error err;

    for (; letters[n] != '\0'; n++) {
        snprintf(names[n], sizeof(names[n]), "%c.example", letters[n]);
        hosts[n].name = names[n];
        hosts[n].slots = slots;
        hosts[n].stated = 1;
    }
    if (hb_map_ranks(policy, hosts, n, &app, 1, &map, &host_of_node, &err) <
        0) {
        return hb_xstrdup(err.text);
    }
    for (uint32_t r = 0; r < map->n_ranks; r++) {
        hb_str_putc(&o, map->node_names[map->node_of_rank[r]][0]);
    }
    hb_jobmap_destroy(map);
    free(host_of_node);
    return hb_str_steal(&o);
}

static void expect_in(char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, text);
    }
    free(text);
}

static void ranks_go_where_the_rankfile_says(void **state)
{
    static const struct {
        const char *file;
        uint32_t np, slots;
        const char *result;
    } cases[] = {
        {"rank 0=b\nrank 1=a\nrank 2=b.example\n", 0, 2, "bab"},
        {"rank 0=b\nrank 1=a\nrank 2=b\n", 2, 2, "ba"},
        {"rank 0=+n1\nrank 1=+n0\n", 0, 1, "ba"},
        {"rank 0=+n2\n", 0, 1, "rf:1: rank 0: there is no host +n2"},
        {"rank 0=nowhere\n", 0, 1, "rf:1: rank 0: nowhere is no host"},
        {"rank 0=a\nrank 2=b\n", 0, 2, "rf: rank 1 has no line"},
        {"rank 0=a\n", 2, 2, "rf: rank 1 has no line"},
        {"rank 0=a\nrank 1=a\n", 0, 1, "not enough slots"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hb_rankfile f = {0};
        struct hb_map_policy p = {.by = HB_MAP_RANKFILE, .rankfile = &f};
        assert_int_equal(hb_rankfile_parse("rf", cases[i].file, &f, NULL),
                         HPCBOOT_OK);
        expect_in(place(&p, "ab", cases[i].slots, cases[i].np),
                  cases[i].result);
        hb_rankfile_clear(&f);
    }
}

/* ---- grids ---- */

static void a_grid_keeps_inner_groups_together(void **state)
{
    static const struct {
        const char *grid;
        uint32_t slots, np;
        const char *result;
    } cases[] = {
        {"tp=2,dp=3", 3, 0, "aabbcc"},
        {"tp=2,dp=3", 4, 0, "aaaabb"},
        {"tp=4,dp=2", 3, 0, "aaabbbcc"}, /* no host holds one whole */
        {"tp=2,dp=4", 3, 8, "aabbccab"}, /* the last one on what is left */
        {"tp=2,dp=3", 4, 5, "the numbers must be the same"},
        {"tp=4,dp=4", 4, 0, "not enough slots"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hb_map_policy p = {0};
        assert_int_equal(hb_grid_parse(cases[i].grid, &p, NULL), HPCBOOT_OK);
        expect_in(place(&p, "abc", cases[i].slots, cases[i].np),
                  cases[i].result);
    }
}

static void wrong_grids_are_refused(void **state)
{
    static const char *const cases[] = {
        "", "tp", "tp=", "tp=0", "=4", "tp=4,", "tp=x", "tp=4,,dp=2",
        "a=16777216,b=2", "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1",
        "tp=99999999999999999999",
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hb_map_policy p = {0};
        struct hpcboot_error err = {0};
        assert_int_equal(hb_grid_parse(cases[i], &p, &err),
                         HPCBOOT_ERR_USAGE);
        assert_non_null(strstr(err.text, "expected NAME=SIZE"));
        assert_int_equal(p.n_grid, 0);
    }
}

/* ---- inside a host ---- */

/* The CPU lists of n ranks, blanks between, or why not; free() it. */
static char *bind(const struct hb_topo *topo, const char *bind_to,
                  const char *map_by, const char *const *slots, uint32_t n)
{
    struct hb_map_policy map = {0};
    struct hb_bind_policy policy = {.slots = slots};
    struct hb_bind_plan plan = {0};
    struct hpcboot_error err;
    struct hb_str o = HB_STR_INIT;

    if (hb_map_by_parse(map_by, &map, &err) < 0 ||
        hb_bind_to_parse(bind_to, &policy, &err) < 0) {
        fail_msg("%s", err.text);
    }
    hb_bind_policy_map(&policy, &map);
    if (hb_bind_plan(&policy, topo, 0, n, &plan, &err) < 0) {
        return hb_xstrdup(err.text);
    }
    for (uint32_t i = 0; plan.bound && i < n; i++) {
        char *list = hb_cpus_text(&plan.cpus[i]);
        hb_str_putf(&o, "%s%s", i > 0 ? " " : "", list);
        free(list);
    }
    hb_str_put(&o, plan.unmet ? "unmet: " : "");
    hb_str_put(&o, plan.bound ? "" : plan.why);
    hb_bind_plan_destroy(&plan);
    return hb_str_steal(&o);
}

static void rankfile_slots_are_logical_cores(void **state)
{
    static const char *const lines[] = {"1:0-1", "0,1", NULL};
    static const char *const shared[] = {"1:0-1", "0,2"};
    static const char *const wrong[][2] = {
        {"4", "there is no core 4 among those that the job may use"},
        {"1:2", "there is no core 2"}, {"2:0", "this host has 2 packages"},
        {"x", "expected a list of cores"}, {"0-", "expected a list of cores"},
        {"1:", "expected a list of cores"},
        {"0:0;", "rankfile slot 0:0;: expected a list of cores"},
        {";0", "rankfile slot ;0: expected a list of cores"},
        {"0:0;;1:0", "rankfile slot 0:0;;1:0: expected a list of cores"},
        {"0:0;2:0", "slot 2:0: this host has 2 packages"},
        {"0:0;1:2", "slot 2: there is no core 2"},
    };
    static const char *const two[] = {"0:0;1:1", "1:0;1"};
    struct hb_topo *topo = machine("synthetic:pack:2 core:2 pu:2");

    if (no_hwloc) {
        skip();
    }
    expect_in(bind(topo, NULL, "rankfile:FILE=x", lines, 3), "4-7 0-3 0-7");
    expect_in(bind(topo, NULL, "rankfile:FILE=x", two, 2), "0-1,6-7 2-5");
    expect_in(bind(topo, NULL, "rankfile:FILE=x", shared, 2),
              "another rank of this host has CPU 4-5 already");
    expect_in(bind(topo, "core:overload-allowed", "rankfile:FILE=x", shared, 2),
              "4-7 0-1,4-5");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        expect_in(bind(topo, NULL, "rankfile:FILE=x", &wrong[i][0], 1),
                  wrong[i][1]);
    }
    hb_topo_destroy(topo);
}

static void a_rank_for_each_device_gets_the_cores_beside_it(void **state)
{
    struct hb_topo *topo = machine("gpu-8nic.xml");

    if (no_hwloc) {
        skip();
    }
    expect_in(bind(topo, NULL, "gpu", NULL, 8),
              "0-3 4-7 8-11 12-15 16-19 20-23 24-27 28-31");
    expect_in(bind(topo, NULL, "nic", NULL, 2), "0-3 4-7");
    expect_in(bind(topo, NULL, "ppr:2:gpu", NULL, 16), "0-1 2-3 4-5 6-7 8-9");
    expect_in(bind(topo, "core", "nic", NULL, 3), "0 4 8");
    expect_in(bind(topo, "numa", "nic", NULL, 5), "0-15 0-15 0-15 0-15 16-31");
    hb_topo_destroy(topo);
    topo = machine("synthetic:pack:2 core:2 pu:2");
    expect_in(bind(topo, NULL, "gpu", NULL, 2), "this host has none");
    expect_in(bind(topo, NULL, "l3cache", NULL, 2),
              "unmet: ranks cannot be placed by l3cache: this host has none");
    hb_topo_destroy(topo);
}

/* Of the CPUs 0 to 15 of this machine four GPUs are the neighbours, of those
 * above the other four; without these all eight share what there is. */
static void devices_share_few_cores_evenly(void **state)
{
    static const char *const beyond[] = {"", ",16-31"};

    for (uint32_t k = 0; !no_hwloc && k < 16; k++) {
        struct hb_topo *topo = machine("gpu-8nic.xml"), *part = NULL;
        struct hb_bind_policy policy = {.by = HB_MAP_GPU};
        const uint32_t n = 1 + k / 2, ranks = k % 2 == 0 ? 8 : 4;
        struct hb_bind_plan plan = {0};
        char *list = hb_xasprintf("0-%u%s", n - 1, beyond[k % 2]);
        uint32_t least = UINT32_MAX, most = 0;
        struct hb_cpus cpus;

        assert_int_equal(hb_cpus_parse(list, &cpus, NULL), HPCBOOT_OK);
        assert_int_equal(hb_topo_restrict(topo, &cpus, &part, NULL), 0);
        assert_int_equal(hb_bind_plan(&policy, part, 0, ranks, &plan, NULL), 0);
        for (uint32_t cpu = 0; cpu < n; cpu++) {
            uint32_t here = 0;
            for (uint32_t i = 0; i < ranks; i++) {
                here += (uint32_t)hb_cpus_has(&plan.cpus[i], cpu);
            }
            least = here < least ? here : least;
            most = here > most ? here : most;
        }
        if (most - least > 1) {
            fail_msg("CPUs %s: one has %u ranks, one %u", list, least, most);
        }
        hb_bind_plan_destroy(&plan);
        hb_topo_destroy(part);
        hb_topo_destroy(topo);
        free(list);
    }
}

static void what_may_be_done_without_is_not_unmet(void **state)
{
    struct hb_topo *topo = no_hwloc ? NULL : machine("synthetic:core:4 pu:1");
    char *got;

    if (no_hwloc) {
        skip();
    }
    got = bind(topo, "l3cache:if-supported", "slot", NULL, 2);
    assert_string_equal(got, "--bind-to l3cache: this host has no such object "
                             "around CPU 0");
    assert_null(strstr(got, "unmet"));
    free(got);
    got = bind(topo, NULL, "core", NULL, 5);
    assert_null(strstr(got, "unmet"));
    free(got);
    hb_topo_destroy(topo);
}

static void a_rank_sees_the_nearest_gpus(void **state)
{
    struct hb_topo *topo = machine("gpu-8nic.xml");
    struct hb_cpus cpus[3];
    uint32_t gpus[6];

    if (no_hwloc) {
        skip();
    }
    assert_int_equal(hb_cpus_parse("16-17", &cpus[0], NULL), HPCBOOT_OK);
    assert_int_equal(hb_cpus_parse("0-3", &cpus[1], NULL), HPCBOOT_OK);
    assert_int_equal(hb_cpus_parse("18-31", &cpus[2], NULL), HPCBOOT_OK);
    assert_int_equal(hb_gpus_assign(topo, cpus, 3, 2, gpus, NULL), HPCBOOT_OK);
    assert_int_equal(gpus[0], 4);
    assert_int_equal(gpus[1], 5);
    assert_int_equal(gpus[2], 0);
    assert_int_equal(gpus[3], 1);
    assert_int_equal(gpus[4], 6);
    assert_int_equal(gpus[5], 7);
    /* without bindings: in turn; more than there are are shared */
    assert_int_equal(hb_gpus_assign(topo, NULL, 3, 1, gpus, NULL), HPCBOOT_OK);
    assert_int_equal(gpus[2], 2);
    assert_true(hb_gpus_assign(topo, NULL, 1, 9, gpus, NULL) < 0);
    hb_topo_destroy(topo);
}

/* GPUs 0 to 3 of this machine are next to CPUs 0 to 15, the others next to
 * those above. */
static void ranks_share_the_gpus_near_to_them(void **state)
{
    static const struct {
        const char *cpus; /* a digit is a package */
        const char *gpus;
    } cases[] = {
        {"0000000011111111", "0123012345674567"},
        {"0101010101010101", "0415263704152637"},
        {"000001111", "012304567"},
        /* a free one far away comes before an uneven share */
        {"000000000", "012304567"},
        {"0000000000000000", "0123012345674567"},
    };
    struct hb_topo *topo = machine("gpu-8nic.xml");

    if (no_hwloc) {
        skip();
    }
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct hb_cpus cpus[16];
        uint32_t gpus[16], n = (uint32_t)strlen(cases[k].cpus);
        char got[17] = "";

        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(hb_cpus_parse(cases[k].cpus[i] == '0' ? "0" : "16",
                                           &cpus[i], NULL), HPCBOOT_OK);
        }
        assert_int_equal(hb_gpus_assign(topo, cpus, n, 1, gpus, NULL),
                         HPCBOOT_OK);
        for (uint32_t i = 0; i < n; i++) {
            got[i] = (char)('0' + gpus[i]);
        }
        assert_string_equal(got, cases[k].gpus);
    }
    hb_topo_destroy(topo);
}

static void gpus_that_are_shared_are_told_of(void **state)
{
    struct hb_topo *topo = machine("gpu-8nic.xml");
    char *text;

    if (no_hwloc) {
        skip();
    }
    assert_null(hb_gpus_shared(topo, 8, 1));
    assert_null(hb_gpus_shared(topo, 4, 2));
    text = hb_gpus_shared(topo, 5, 2);
    assert_string_equal(text, "5 ranks that see 2 GPUs each share the 8 GPUs "
                        "here; for each its own, start fewer, or take more "
                        "hosts, with --map-by ppr:4:node");
    free(text);
    hb_topo_destroy(topo);
}

/* Numbers of the GPUs that a list leaves, and how many it hides; twice the
 * same. Even ones of this machine are made NVIDIA's, odd ones AMD's. */
static void a_list_of_gpus_leaves_those_it_has(void **state)
{
    static const char *const cases[][3] = {
        {NULL, NULL, "01234567 0"},
        {"0,1,2,3", "3,2,1,0", "01234567 0"},
        {"2,0", NULL, "012320 0"}, /* after those of AMD, as counted */
        {"2,0,2", "3", "203 0"},
        {"1,-1,2", NULL, "01231 0"},
        {"4", NULL, "01234567 3"},
        {"0,", "0,GPU-a", "01230 2"},
        {"MIG-a,MIG-b,MIG-c,MIG-d,MIG-e", "", "01234567 0"},
        {"-1", "x", "01234567 3"},
        {"0x,1", NULL, "01234567 2"},
    };

    for (size_t k = 0; !no_hwloc && k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct hb_topo *topo = machine("gpu-8nic.xml");
        struct hb_topo_devices *d = &topo->device[HB_TOPO_GPU];
        struct hb_strv env = HB_STRV_INIT;

        for (uint32_t i = 0; i < d->n; i++) {
            d->v[i].vendor = i % 2 == 0 ? HB_PCI_NVIDIA : HB_PCI_AMD;
        }
        if (cases[k][0] != NULL) {
            hb_env_set(&env, "CUDA_VISIBLE_DEVICES", cases[k][0]);
        }
        if (cases[k][1] != NULL) {
            hb_env_set(&env, "ROCR_VISIBLE_DEVICES", cases[k][1]);
        }
        for (int again = 0; again < 2; again++) {
            struct hb_str got = HB_STR_INIT;
            hb_gpus_keep_listed(topo, &env);
            for (uint32_t i = 0; i < d->n; i++) {
                hb_str_putf(&got, "%u", hb_gpus_number(topo, i));
            }
            hb_str_putf(&got, " %u", d->hidden);
            assert_string_equal(got.s, cases[k][2]);
            hb_str_destroy(&got);
        }
        hb_strv_destroy(&env);
        hb_topo_destroy(topo);
    }
}

/* A NUMA node around others, of which one may not be used: each CPU has the
 * nearest that is left. */
static void a_node_around_others_has_the_cpus_without_a_nearer_one(void **state)
{
    struct hb_topo *topo = machine("far-memory.xml");
    const struct hb_topo_level *numa;

    if (no_hwloc) {
        skip();
    }
    numa = &topo->level[HB_TOPO_NUMA];
    assert_int_equal(numa->n, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(numa->v[i].first, 2 * i);
        assert_int_equal(numa->v[i].n, 2);
        assert_int_equal(numa->v[i].os_index, i == 1 ? 1 : 2);
    }
    hb_topo_destroy(topo);
}

/* ---- as bytes ---- */

static void a_topology_comes_back_from_its_bytes(void **state)
{
    static const char *const sources[] = {
        "gpu-8nic.xml", "hybrid.xml", "synthetic:pack:2 numa:2 core:4 pu:2",
    };

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        struct hb_topo *topo = machine(sources[i]), *again = NULL;
        struct hb_buf a, b, view;
        if (no_hwloc) {
            skip();
        }
        hb_buf_init(&a, HB_TOPO_BYTES_MAX);
        hb_buf_init(&b, HB_TOPO_BYTES_MAX);
        hb_topo_encode(topo, &a);
        hb_buf_view(&view, a.data, a.len);
        assert_int_equal(hb_topo_decode(&again, &view, NULL), HPCBOOT_OK);
        hb_topo_encode(again, &b);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.data, b.data, a.len);
        for (size_t cut = 0; cut < a.len; cut += 7) {
            struct hb_topo *none = NULL;
            hb_buf_view(&view, a.data, cut);
            assert_int_equal(hb_topo_decode(&none, &view, NULL),
                             HPCBOOT_ERR_PARSE);
            assert_null(none);
        }
        hb_buf_destroy(&a);
        hb_buf_destroy(&b);
        hb_topo_destroy(topo);
        hb_topo_destroy(again);
    }
}

static void restricting_leaves_what_is_allowed(void **state)
{
    struct hb_topo *topo = machine("gpu-8nic.xml"), *part = NULL;
    struct hb_cpus cpus;
    struct hpcboot_error err;
    char *words;

    if (no_hwloc) {
        skip();
    }
    assert_int_equal(hb_cpus_parse("14-15,20", &cpus, NULL), HPCBOOT_OK);
    assert_int_equal(hb_topo_restrict(topo, &cpus, &part, &err), HPCBOOT_OK);
    words = hb_topo_words(part);
    assert_string_equal(words, "2 packages, 2 numas, 2 l3caches, 3 l2caches, "
                               "3 cores, 3 hwthreads, 8 GPUs, 8 NICs");
    free(words);
    assert_int_equal(part->device[HB_TOPO_GPU].v[7].near.first, 2);
    hb_topo_destroy(part);
    assert_int_equal(hb_cpus_parse("99", &cpus, NULL), HPCBOOT_OK);
    assert_true(hb_topo_restrict(topo, &cpus, &part, &err) < 0);
    hb_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rankfiles_are_read),
        cmocka_unit_test(wrong_rankfiles_name_the_place),
        cmocka_unit_test(ranks_go_where_the_rankfile_says),
        cmocka_unit_test(a_grid_keeps_inner_groups_together),
        cmocka_unit_test(wrong_grids_are_refused),
        cmocka_unit_test(rankfile_slots_are_logical_cores),
        cmocka_unit_test(a_rank_for_each_device_gets_the_cores_beside_it),
        cmocka_unit_test(devices_share_few_cores_evenly),
        cmocka_unit_test(what_may_be_done_without_is_not_unmet),
        cmocka_unit_test(a_rank_sees_the_nearest_gpus),
        cmocka_unit_test(ranks_share_the_gpus_near_to_them),
        cmocka_unit_test(gpus_that_are_shared_are_told_of),
        cmocka_unit_test(a_list_of_gpus_leaves_those_it_has),
        cmocka_unit_test(
            a_node_around_others_has_the_cpus_without_a_nearer_one),
        cmocka_unit_test(a_topology_comes_back_from_its_bytes),
        cmocka_unit_test(restricting_leaves_what_is_allowed),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
