/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Bindings as a table of cases on made-up machines: hwloc's description of
 * one, what a container may use of it, the options, and the picture of each
 * rank. Then properties over random ones, and this host itself. */

#include "config.h"

#include "lib/topo/bind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/str.h"

/* Two packages of four cores; of two cores with two threads; ... */
#define XEON "synthetic:pack:2 numa:1 l3:1 core:4 pu:2"
#define FLAT "synthetic:pack:1 core:4 pu:1"
#define SMT "synthetic:pack:2 core:2 pu:2"
#define EPYC "synthetic:pack:1 numa:2 l3:2 l2:2 core:1 pu:1"

static int no_hwloc;

static int load(const char *source, const struct hb_cpus *allowed,
                struct hb_topo **out, struct hpcboot_error *err)
{
    struct hb_topo_request req = {.source = source, .allowed = allowed};

    return hb_topo_load(&req, out, err);
}

static int setup(void **state)
{
    const char *build = getenv("HB_BUILDDIR");
    struct hb_topo *topo = NULL;
    struct hpcboot_error err;
    char *dir;

    dir = hb_xasprintf("%s/.libs", build != NULL ? build : ".");
    setenv("HPCBOOT_MODULE_DIR", dir, 0);
    setenv("HPCBOOT_TOPO_CACHE", "off", 1);
    free(dir);
    if (load("synthetic:pu:1", NULL, &topo, &err) < 0) {
        no_hwloc = err.code == HPCBOOT_ERR_UNSUPPORTED;
        if (!no_hwloc) {
            fail_msg("%s", err.text);
        }
    }
    hb_topo_destroy(topo);
    return 0;
}

static struct hb_topo *machine(const char *source, const char *allowed)
{
    struct hb_topo *topo = NULL;
    struct hb_cpus cpus;
    struct hpcboot_error err;

    if (allowed != NULL) {
        assert_int_equal(hb_cpus_parse(allowed, &cpus, NULL), HPCBOOT_OK);
    }
    if (load(source, allowed != NULL ? &cpus : NULL, &topo, &err) < 0) {
        fail_msg("%s: %s", source, err.text);
    }
    return topo;
}

static struct hb_bind_policy policy_of(const char *bind_to, const char *map_by,
                                       const char *rank_by)
{
    struct hb_map_policy map = {0};
    struct hb_bind_policy policy = {0};
    struct hpcboot_error err;

    if ((map_by != NULL && hb_map_by_parse(map_by, &map, &err) < 0) ||
        (rank_by != NULL && hb_rank_by_parse(rank_by, &map, &err) < 0) ||
        hb_bind_to_parse(bind_to, &policy, &err) < 0) {
        fail_msg("%s", err.text);
    }
    hb_bind_policy_map(&policy, &map);
    return policy;
}

struct binding {
    const char *machine, *allowed, *bind_to, *map_by, *rank_by;
    uint32_t quota_milli, n;
    const char *pictures; /* of each rank, or why none is bound */
};

static const struct binding bindings[] = {
    /* the default shares cores out */
    {FLAT, NULL, NULL, NULL, NULL, 0, 4,
     "[B/././.] [./B/./.] [././B/.] [./././B]"},
    {FLAT, NULL, NULL, NULL, NULL, 0, 2, "[B/B/./.] [././B/B]"},
    {FLAT, NULL, NULL, NULL, NULL, 0, 3, "[B/././.] [./B/./.] [././B/B]"},
    {SMT, NULL, NULL, NULL, NULL, 0, 2, "[BB/BB][../..] [../..][BB/BB]"},
    {XEON, NULL, NULL, NULL, NULL, 0, 4,
     "[BB/BB/../..][../../../..] [../../BB/BB][../../../..] "
     "[../../../..][BB/BB/../..] [../../../..][../../BB/BB]"},
    /* parts that would lie across packages: the whole node instead */
    {SMT, NULL, NULL, NULL, NULL, 0, 3, "[BB/..][../..] [../BB][../..] "
     "[../..][BB/BB]"},
    {XEON, NULL, NULL, NULL, NULL, 0, 3,
     "[BB/BB/BB/BB][../../../..] [BB/BB/BB/BB][../../../..] "
     "[../../../..][BB/BB/BB/BB]"},
    /* and never when it would be worse than nothing */
    {FLAT, NULL, NULL, NULL, NULL, 0, 1, "one rank has the host's 4 cores"},
    {FLAT, NULL, NULL, NULL, NULL, 0, 5, "5 ranks share 4 cores"},
    {FLAT, NULL, NULL, NULL, NULL, 2000, 3, "3 ranks share a quota of 2 CPUs"},
    {FLAT, NULL, NULL, NULL, NULL, 2000, 2, "[B/B/./.] [././B/B]"},
    {FLAT, "0-2", NULL, NULL, NULL, 2500, 2,
     "2 ranks on 3 cores would be bound tighter than the quota of 2.5"},
    /* only what is allowed; a core with one thread counts */
    {XEON, "0-3", NULL, NULL, NULL, 0, 2, "[BB/..] [../BB]"},
    {XEON, "0,3,8-9", NULL, NULL, NULL, 0, 3, "[B/.][..] [./B][..] [./.][BB]"},
    /* core: side by side */
    {XEON, NULL, "core", NULL, NULL, 0, 2,
     "[BB/../../..][../../../..] [../BB/../..][../../../..]"},
    {SMT, NULL, "core", NULL, NULL, 0, 3,
     "[BB/..][../..] [../BB][../..] [../..][BB/..]"},
    {SMT, NULL, "core", "slot", NULL, 0, 3,
     "[BB/..][../..] [../BB][../..] [../..][BB/..]"},
    {SMT, NULL, "core", "package", "span", 0, 4,
     "[BB/..][../..] [../..][BB/..] [../BB][../..] [../..][../BB]"},
    {SMT, NULL, "core", "package", "fill", 0, 4,
     "[BB/..][../..] [../BB][../..] [../..][BB/..] [../..][../BB]"},
    {FLAT, NULL, "core:overload-allowed", NULL, NULL, 0, 5,
     "[B/././.] [./B/./.] [././B/.] [./././B] [B/././.]"},
    {FLAT, NULL, "core:if-supported", NULL, NULL, 0, 5, "5 ranks of 1 core"},
    /* threads */
    {SMT, NULL, "hwthread", "slot", NULL, 0, 3,
     "[B./..][../..] [.B/..][../..] [../B.][../..]"},
    {SMT, NULL, NULL, "hwthread", NULL, 0, 2, "[B./..][../..] [.B/..][../..]"},
    {SMT, NULL, "core", "slot:HWTCPUS", NULL, 0, 3,
     "[BB/..][../..] [BB/..][../..] [../BB][../..]"},
    {SMT, NULL, "hwthread", "slot:PE=2", NULL, 0, 2,
     "[BB/..][../..] [../BB][../..]"},
    /* PE=n binds to n cores */
    {XEON, NULL, NULL, "core:PE=2", NULL, 0, 3,
     "[BB/BB/../..][../../../..] [../../BB/BB][../../../..] "
     "[../../../..][BB/BB/../..]"},
    {XEON, NULL, NULL, "core:PE=2", NULL, 0, 5, "2 cores each"},
    /* three cores and two: no rank of two over the edge, but when it must */
    {XEON, "0-5,8-11", NULL, "slot:PE=2", NULL, 0, 2,
     "[BB/BB/..][../..] [../../..][BB/BB]"},
    {XEON, "0-5,8-13", NULL, "slot:PE=2", NULL, 0, 3,
     "[BB/BB/..][../../..] [../../BB][BB/../..] [../../..][../BB/BB]"},
    /* by number */
    {XEON, NULL, NULL, "pe-list=5,2,1", NULL, 0, 2,
     "[../BB/BB/..][../BB/../..] [../BB/BB/..][../BB/../..]"},
    {XEON, NULL, NULL, "pe-list=5,2,1:ORDERED", NULL, 0, 2,
     "[../../../..][../BB/../..] [../../BB/..][../../../..]"},
    {XEON, NULL, NULL, "pe-list=5,2:HWTCPUS,ORDERED", NULL, 0, 2,
     "[../../.B/..][../../../..] [../B./../..][../../../..]"},
    {FLAT, NULL, NULL, "pe-list=1-1", NULL, 0, 2, "[./B/./.] [./B/./.]"},
    {XEON, NULL, NULL, "slot:PE=2", NULL, 0, 3,
     "[BB/BB/../..][../../../..] [../../BB/BB][../../../..] "
     "[../../../..][BB/BB/../..]"},
    {XEON, NULL, NULL, "package:PE=3", NULL, 0, 2,
     "[BB/BB/BB/..][../../../..] [../../../..][BB/BB/BB/..]"},
    /* wide objects */
    {XEON, NULL, "package", NULL, NULL, 0, 2,
     "[BB/BB/BB/BB][../../../..] [../../../..][BB/BB/BB/BB]"},
    {EPYC, NULL, NULL, "numa", NULL, 0, 2, "[B/B/B/B/./././.] "
     "[././././B/B/B/B]"},
    {EPYC, NULL, "l3cache", "slot", NULL, 0, 3,
     "[B/B/./././././.] [B/B/./././././.] [././B/B/./././.]"},
    {EPYC, NULL, "l2cache", NULL, NULL, 0, 3,
     "[B/././././././.] [./B/./././././.] [././B/././././.]"},
    {EPYC, NULL, NULL, "ppr:2:numa", NULL, 0, 4,
     "[B/B/B/B/./././.] [B/B/B/B/./././.] [././././B/B/B/B] "
     "[././././B/B/B/B]"},
    {EPYC, NULL, "core", "ppr:2:numa", NULL, 0, 4,
     "[B/././././././.] [./B/./././././.] [././././B/././.] "
     "[./././././B/./.]"},
    {FLAT, NULL, "none", NULL, NULL, 0, 2, "--bind-to none"},
    {FLAT, NULL, "l3cache:if-supported", NULL, NULL, 0, 2,
     "this host has none"},
    {FLAT, NULL, "core", NULL, NULL, 0, 0, "no ranks here"},
};

/* The drawings of all ranks, or why none is bound; free() it. */
static char *outcome(const struct hb_bind_plan *plan)
{
    struct hb_str o = HB_STR_INIT;

    for (uint32_t i = 0; plan->bound && i < plan->n_ranks; i++) {
        const char *drawing = strstr(plan->report[i], ": [") + 2;
        hb_str_put(&o, i > 0 ? " " : "");
        hb_str_putn(&o, drawing, strcspn(drawing, " "));
    }
    if (!plan->bound) {
        hb_str_put(&o, plan->why);
    }
    return hb_str_steal(&o);
}

static void bindings_are_as_drawn(void **state)
{
    if (no_hwloc) {
        skip();
    }
    for (size_t i = 0; i < sizeof(bindings) / sizeof(bindings[0]); i++) {
        const struct binding *c = &bindings[i];
        struct hb_bind_policy policy = policy_of(c->bind_to, c->map_by,
                                                 c->rank_by);
        struct hb_topo *topo = machine(c->machine, c->allowed);
        struct hb_bind_plan plan;
        struct hpcboot_error err = {0};
        char *got;
        if (hb_bind_plan(&policy, topo, c->quota_milli, c->n, &plan,
                         &err) < 0) {
            fail_msg("case %zu: %s", i, err.text);
        }
        got = outcome(&plan);
        if (plan.bound ? strcmp(got, c->pictures) != 0
                       : strstr(got, c->pictures) == NULL) {
            fail_msg("case %zu, %s bind %s map %s n %u:\ngot      %s\nexpected "
                     "%s", i, c->machine, c->bind_to, c->map_by, c->n, got,
                     c->pictures);
        }
        free(got);
        hb_bind_plan_destroy(&plan);
        hb_topo_destroy(topo);
    }
}

static void a_wish_that_cannot_be_kept_is_refused(void **state)
{
    static const struct binding cases[] = {
        {FLAT, NULL, "core", NULL, NULL, 0, 5,
         "5 ranks of 1 core each on 4 cores: there is room for 4"},
        {FLAT, NULL, "core", "slot:PE=3", NULL, 0, 2, "there is room for 1"},
        {FLAT, NULL, NULL, "slot:PE=5", NULL, 0, 1,
         "PE=5: this host has 4 cores"},
        {FLAT, NULL, "l3cache", NULL, NULL, 0, 2, "l3cache"},
        {FLAT, NULL, "core", "l2cache", NULL, 0, 2, "this host has none"},
    };

    if (no_hwloc) {
        skip();
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct binding *c = &cases[i];
        struct hb_bind_policy policy = policy_of(c->bind_to, c->map_by, NULL);
        struct hb_topo *topo = machine(c->machine, NULL);
        struct hb_bind_plan plan;
        struct hpcboot_error err = {0};
        assert_true(hb_bind_plan(&policy, topo, 0, c->n, &plan, &err) < 0);
        if (strstr(err.text, c->pictures) == NULL) {
            fail_msg("%s: %s", c->pictures, err.text);
        }
        hb_topo_destroy(topo);
    }
}

static void a_report_names_cores_and_cpus(void **state)
{
    struct hb_bind_policy policy = policy_of("core", "package", NULL);
    struct hb_topo *topo;
    struct hb_bind_plan plan;

    if (no_hwloc) {
        skip();
    }
    topo = machine(SMT, NULL);
    assert_int_equal(hb_bind_plan(&policy, topo, 0, 2, &plan, NULL),
                     HPCBOOT_OK);
    assert_string_equal(plan.report[1], "bound to package 1[core 2[hwt 0-1]]: "
                        "[../..][BB/..] (CPUs 4-5)");
    hb_bind_plan_destroy(&plan);
    hb_topo_destroy(topo);
}

static void policies_travel_as_text(void **state)
{
    static const char *const maps[] = {NULL, "core:PE=2", "numa:SPAN",
                                       "ppr:3:package:HWTCPUS"};
    static const char *const binds[] = {NULL, "none", "core:overload-allowed",
                                        "package:if-supported"};

    for (size_t i = 0; i < 16; i++) {
        struct hb_bind_policy p = policy_of(binds[i / 4], maps[i % 4], NULL);
        struct hb_bind_policy again = {0};
        char *text = hb_bind_policy_text(&p);
        assert_int_equal(hb_bind_policy_parse(text, &again, NULL), HPCBOOT_OK);
        assert_memory_equal(&p, &again, sizeof(p));
        free(text);
    }
}

static void wrong_texts_are_refused(void **state)
{
    static const char *const cases[][3] = { /* the third: a launcher's text */
        {"cores", "did you mean \"core\""},
        {"core:overloads", "expected overload-allowed or if-supported"},
        {"core:2", "--cpus-per-rank 2 says how many CPUs"},
        {"core:PE=2", "is said by --map-by POLICY:PE=2"},
        {"core:pe=x", "expected a number", "travels"},
        {"zzzzzzzz", "expected none, hwthread, core"},
        {"cpu-list", "use --map-by pe-list=CORES"},
        {"core:list=x", "is no list of cores", "travels"},
        {":", "is not known"}, {"n", "none or numa"}, {"l", "or l3cache"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hb_bind_policy p = {.pe = 9};
        struct hpcboot_error err = {0};
        assert_true((cases[i][2] ? hb_bind_policy_parse : hb_bind_to_parse)(
                        cases[i][0], &p, &err) < 0);
        assert_non_null(strstr(err.text, cases[i][1]));
        assert_int_equal(p.pe + p.to, 9 + HB_BIND_DEFAULT);
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Every set within what is allowed and not empty; none shared by two ranks
 * when they are bound to single cores without overload; twice the same. */
static void check_properties(const struct hb_bind_plan *plan,
                             const struct hb_bind_plan *again,
                             const struct hb_cpus *allowed, int exclusive,
                             uint32_t seed)
{
    struct hb_cpus all;

    hb_cpus_zero(&all);
    for (uint32_t i = 0; plan->bound && i < plan->n_ranks; i++) {
        struct hb_cpus in = plan->cpus[i], shared = plan->cpus[i];
        hb_cpus_and(&in, allowed);
        hb_cpus_and(&shared, &all);
        hb_cpus_or(&all, &plan->cpus[i]);
        if (!hb_cpus_equal(&in, &plan->cpus[i]) || hb_cpus_count(&in) == 0 ||
            (exclusive && hb_cpus_count(&shared) > 0) ||
            !hb_cpus_equal(&plan->cpus[i], &again->cpus[i])) {
            fail_msg("seed %u breaks a property at rank %u", seed, i);
        }
    }
}

/* No object holds more ranks than ppr says. */
static void check_ppr(const struct hb_bind_policy *policy,
                      const struct hb_topo *topo,
                      const struct hb_bind_plan *plan, uint32_t seed)
{
    int kind = (int)policy->ppr_object - HB_MAP_HWTHREAD + HB_TOPO_PU;
    const struct hb_topo_level *level = &topo->level[kind > 0 ? kind : 0];
    int exact = policy->ppr > 0 && policy->to <= HB_BIND_CORE && plan->bound;

    for (uint32_t i = 0; exact && i < level->n; i++) {
        uint32_t ranks = 0;
        for (uint32_t r = 0; r < plan->n_ranks; r++) {
            uint32_t first = 0;
            while (!hb_cpus_has(&plan->cpus[r], topo->pu_os[first])) {
                first++;
            }
            ranks += first >= level->v[i].first &&
                     first - level->v[i].first < level->v[i].n;
        }
        if (ranks > policy->ppr) {
            fail_msg("seed %u: %u ranks in object %u, ppr is %u", seed, ranks,
                     i, policy->ppr);
        }
    }
}

static void random_case(uint32_t seed)
{
    static const char *const machines[] = {FLAT, SMT, XEON, EPYC};
    static const enum hb_map_by ways[] = {
        HB_MAP_DEFAULT, HB_MAP_SLOT, HB_MAP_CORE, HB_MAP_NUMA, HB_MAP_PACKAGE,
        HB_MAP_HWTHREAD, HB_MAP_PPR_OBJECT};
    static const enum hb_map_by objects[] = {HB_MAP_L2CACHE, HB_MAP_NUMA,
                                             HB_MAP_PACKAGE, HB_MAP_CORE};
    uint32_t s = seed;
    const char *source = machines[next_random(&s) % 4];
    struct hb_bind_policy policy = {
        .to = (enum hb_bind_to)(next_random(&s) % (HB_BIND_PACKAGE + 1)),
        .overload_allowed = next_random(&s) % 3 == 0,
        .by = ways[next_random(&s) % 7],
        .rank_by = next_random(&s) % 2 ? HB_RANK_SPAN : HB_RANK_FILL,
        .pe = next_random(&s) % 3,
    };
    uint32_t n = 1 + next_random(&s) % 10, quota = next_random(&s) % 9 * 700;
    struct hb_cpus allowed;
    struct hb_topo *topo;
    struct hb_bind_plan plan[2];
    char *list;
    int rc[2];

    hb_cpus_zero(&allowed);
    hb_cpus_add(&allowed, next_random(&s) % 4);
    for (unsigned cpu = 0; cpu < 16; cpu++) {
        if (next_random(&s) % 3 != 0) {
            hb_cpus_add(&allowed, cpu);
        }
    }
    list = hb_cpus_text(&allowed);
    topo = machine(source, list);
    if (policy.by == HB_MAP_PPR_OBJECT) {
        uint32_t places;
        policy.ppr = 1 + next_random(&s) % 3;
        policy.ppr_object = objects[next_random(&s) % 4];
        places = policy.ppr * hb_bind_objects(&policy, topo);
        n = n < places ? n : places; /* as the mapping gives them */
    }
    for (int i = 0; i < 2; i++) {
        rc[i] = hb_bind_plan(&policy, topo, quota, n, &plan[i], NULL);
    }
    assert_int_equal(rc[0], rc[1]);
    if (rc[0] >= 0) {
        check_properties(&plan[0], &plan[1], &allowed,
                         policy.to == HB_BIND_CORE &&
                             !policy.overload_allowed &&
                             policy.by != HB_MAP_HWTHREAD, seed);
        check_ppr(&policy, topo, &plan[0], seed);
        hb_bind_plan_destroy(&plan[0]);
        hb_bind_plan_destroy(&plan[1]);
    }
    free(list);
    hb_topo_destroy(topo);
}

static void random_bindings_stay_within_bounds(void **state)
{
    if (no_hwloc) {
        skip();
    }
    for (uint32_t seed = 1; seed <= 2000; seed++) {
        random_case(seed);
    }
}

static void bad_descriptions_are_refused(void **state)
{
    struct hb_topo *topo = NULL;
    struct hpcboot_error err;

    if (no_hwloc) {
        skip();
    }
    assert_int_equal(load("synthetic:nonsense", NULL, &topo, &err),
                     HPCBOOT_ERR_PARSE);
    assert_int_equal(load("/no/such.xml", NULL, &topo, &err),
                     HPCBOOT_ERR_PARSE);
    assert_non_null(strstr(err.text, "/no/such.xml"));
    assert_null(topo);
}

/* Files as lstopo writes them, of a real virtual machine and a made-up one. */
static void topologies_are_read_from_files(void **state)
{
    static const struct {
        const char *file;
        uint32_t pus, cores, l3, packages;
    } cases[] = {{"vm-2-cores", 2, 2, 1, 1}, {"epyc-like", 16, 8, 4, 2}};
    const char *src = getenv("HB_SRCDIR");

    if (no_hwloc) {
        skip();
    }
    for (size_t i = 0; i < 2; i++) {
        char *path = hb_xasprintf("%s/tests/data/topo/%s.xml",
                                  src != NULL ? src : ".", cases[i].file);
        struct hb_topo *topo = machine(path, NULL);
        assert_int_equal(topo->n_pus, cases[i].pus);
        assert_int_equal(topo->level[HB_TOPO_CORE].n, cases[i].cores);
        assert_int_equal(topo->level[HB_TOPO_L3CACHE].n, cases[i].l3);
        assert_int_equal(topo->level[HB_TOPO_PACKAGE].n, cases[i].packages);
        hb_topo_destroy(topo);
        free(path);
    }
}

static void a_file_that_is_cut_short_is_refused(void **state)
{
    char path[] = "/tmp/hb-test-XXXXXX";
    struct hb_topo *topo = NULL;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "<?xml version=\"1.0\"?>\n<topology>", 33), 33);
    close(fd);
    if (!no_hwloc) {
        assert_true(load(path, NULL, &topo, NULL) < 0);
    }
    unlink(path);
    assert_null(topo);
}

static void no_allowed_cpu_in_the_topology_is_an_error(void **state)
{
    struct hb_topo *topo = NULL;
    struct hb_cpus cpus;
    struct hpcboot_error err;

    if (no_hwloc) {
        skip();
    }
    hb_cpus_parse("100", &cpus, NULL);
    assert_int_equal(load(FLAT, &cpus, &topo, &err),
                     HPCBOOT_ERR_UNSUPPORTED);
    assert_null(topo);
}

static void levels_that_overlap_are_refused(void **state)
{
    struct hb_topo_span pus[2] = {{0, 1, 0}, {1, 1, 1}}, cores[2] = {{0, 2, 0},
                                                                     {1, 1, 1}};
    uint32_t os[2] = {0, 1};
    struct hb_topo topo = {.n_pus = 2, .pu_os = os};

    topo.level[HB_TOPO_PU] = (struct hb_topo_level){pus, 2};
    topo.level[HB_TOPO_CORE] = (struct hb_topo_level){cores, 2};
    assert_int_equal(hb_topo_check(&topo, NULL), HPCBOOT_ERR_PARSE);
    cores[0].n = 1;
    assert_int_equal(hb_topo_check(&topo, NULL), HPCBOOT_OK);
    cores[1].n = 5;
    assert_int_equal(hb_topo_check(&topo, NULL), HPCBOOT_ERR_PARSE);
}

static void this_host_is_bound_within_its_mask(void **state)
{
    struct hb_bind_policy policy = {.to = HB_BIND_CORE, .if_supported = 1};
    struct hb_here here = {0};
    struct hb_bind_plan plan;
    struct hb_cpus allowed, in;

    assert_int_equal(hb_bind_here(&policy, 1, &here, &plan, NULL),
                     HPCBOOT_OK);
    hb_here_clear(&here);
    assert_int_equal(hb_allowed_cpus("", &allowed, NULL), HPCBOOT_OK);
    assert_non_null(plan.why);
    if (plan.bound) {
        in = plan.cpus[0];
        hb_cpus_and(&in, &allowed);
        assert_true(hb_cpus_equal(&in, &plan.cpus[0]));
    }
    hb_bind_plan_destroy(&plan);
}

static void without_the_module_a_wish_is_an_error(void **state)
{
    struct hb_here here = {0};
    struct hb_bind_policy policy = {.by = HB_MAP_CORE};
    struct hb_bind_plan plan;
    struct hb_topo *topo = NULL;
    struct hpcboot_error err;
    char *before = hb_xstrdup(getenv("HPCBOOT_MODULE_DIR"));

    setenv("HPCBOOT_MODULE_DIR", "/no/such/directory", 1);
    if (load(NULL, NULL, &topo, NULL) >= 0) {
        /* An installed module is found all the same. */
        hb_topo_destroy(topo);
        setenv("HPCBOOT_MODULE_DIR", before, 1);
        free(before);
        skip();
    }
    assert_int_equal(hb_bind_here(&policy, 1, &here, &plan, &err),
                     HPCBOOT_OK);
    assert_int_equal(plan.bound, 0);
    hb_bind_plan_destroy(&plan);
    policy.to = HB_BIND_CORE;
    assert_int_equal(hb_bind_here(&policy, 1, &here, &plan, &err),
                     HPCBOOT_ERR_UNSUPPORTED);
    setenv("HPCBOOT_MODULE_DIR", before, 1);
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bindings_are_as_drawn),
        cmocka_unit_test(a_wish_that_cannot_be_kept_is_refused),
        cmocka_unit_test(a_report_names_cores_and_cpus),
        cmocka_unit_test(policies_travel_as_text),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(random_bindings_stay_within_bounds),
        cmocka_unit_test(bad_descriptions_are_refused),
        cmocka_unit_test(topologies_are_read_from_files),
        cmocka_unit_test(a_file_that_is_cut_short_is_refused),
        cmocka_unit_test(no_allowed_cpu_in_the_topology_is_an_error),
        cmocka_unit_test(levels_that_overlap_are_refused),
        cmocka_unit_test(this_host_is_bound_within_its_mask),
        cmocka_unit_test(without_the_module_a_wish_is_an_error),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
