/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Placement as a table of cases (policy, hosts, ranks -> host of each rank),
 * the texts of refusals, and properties over random jobs. */

#include "config.h"

#include "lib/topo/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"

#define MAX_HOSTS 8

/* "a4 b2+ c1!3 d*": host, slots; + means counted, not stated; !n is
 * max_slots; * is the launcher's own. */
static uint32_t make_hosts(const char *text, struct hb_map_host *h,
                           char names[][2])
{
    uint32_t n = 0;

    for (const char *p = text; *p != '\0'; n++) {
        char *end;
        memset(&h[n], 0, sizeof(h[n]));
        names[n][0] = *p++;
        names[n][1] = '\0';
        h[n].name = names[n];
        h[n].stated = 1;
        h[n].origin = "hosts:1";
        h[n].slots = (uint32_t)strtoul(p, &end, 10);
        for (p = end; *p != '\0' && *p != ' '; p++) {
            h[n].stated = *p == '+' ? 0 : h[n].stated;
            h[n].is_local = *p == '*' ? 1 : h[n].is_local;
            if (*p == '!') {
                h[n].max_slots = (uint32_t)(p[1] - '0');
            } else if (*p == '/') {
                h[n].objects = (uint32_t)(p[1] - '0');
            }
        }
        p += *p == ' ';
    }
    return n;
}

/* "4" or "2:3": ranks of each app, "-" for not given. */
static uint32_t make_apps(const char *text, struct hb_map_app *apps)
{
    uint32_t n = 0;

    for (const char *p = text; *p != '\0'; n++) {
        char *end = (char *)p + 1;
        apps[n].np = *p == '-' ? 0 : (uint32_t)strtoul(p, &end, 10);
        apps[n].program = "./prog";
        p = *end == ':' ? end + 1 : end;
    }
    return n;
}

struct outcome {
    int rc;
    char ranks[256]; /* host letter of each rank */
    uint32_t universe;
    struct hpcboot_error err;
};

static void check_map(const struct hb_jobmap *map, const uint32_t *hosts,
                      const struct hb_map_host *h, struct outcome *o)
{
    for (uint32_t r = 0; r < map->n_ranks && r < sizeof(o->ranks) - 1; r++) {
        o->ranks[r] = h[hosts[map->node_of_rank[r]]].name[0];
    }
    for (uint32_t i = 0; i < map->n_nodes; i++) {
        assert_string_equal(map->node_names[i], h[hosts[i]].name);
        assert_true(map->local_size[i] > 0);
    }
    o->universe = map->universe_slots;
}

static void place(const struct hb_map_policy *policy, const char *host_text,
                  const char *app_text, struct outcome *o)
{
    struct hb_map_host hosts[MAX_HOSTS];
    struct hb_map_app apps[MAX_HOSTS];
    char names[MAX_HOSTS][2];
    struct hb_jobmap *map = NULL;
    uint32_t *host_of_node = NULL;
    uint32_t n_hosts = make_hosts(host_text, hosts, names);
    uint32_t n_apps = make_apps(app_text, apps);

    memset(o, 0, sizeof(*o));
    o->rc = hb_map_ranks(policy, hosts, n_hosts, apps, n_apps, &map,
                         &host_of_node, &o->err);
    if (o->rc >= 0) {
        check_map(map, host_of_node, hosts, o);
    } else {
        assert_null(map);
        assert_null(host_of_node);
    }
    hb_jobmap_destroy(map);
    free(host_of_node);
}

static struct hb_map_policy policy_of(const char *map_by, const char *rank_by)
{
    struct hb_map_policy p = {0};
    struct hpcboot_error err;

    if (map_by != NULL && hb_map_by_parse(map_by, &p, &err) < 0) {
        fail_msg("%s", err.text);
    }
    if (rank_by != NULL && hb_rank_by_parse(rank_by, &p, &err) < 0) {
        fail_msg("%s", err.text);
    }
    return p;
}

struct placing {
    const char *map_by, *rank_by, *hosts, *apps, *ranks;
};

static const struct placing placings[] = {
    /* by slot: host after host, in ranks too */
    {NULL, NULL, "a2 b2", "3", "aab"},
    {"slot", NULL, "a2 b2", "-", "aabb"},
    {"slot", "node", "a3 b2", "5", "ababa"},
    {NULL, NULL, "a2+ b3+", "-", "aabbb"},
    /* counted slots are a default, what exceeds them is spread evenly */
    {NULL, NULL, "a2+ b2+", "7", "aaaabbb"},
    {NULL, NULL, "a1+", "4", "aaaa"},
    /* stated slots are not exceeded, so the counted host takes the rest */
    {NULL, NULL, "a2 b1+", "5", "aabbb"},
    {":OVERSUBSCRIBE", NULL, "a2 b2", "7", "aaaabbb"},
    {":OVERSUBSCRIBE", NULL, "a2!3 b2", "7", "aaabbbb"},
    /* max_slots below slots */
    {NULL, NULL, "a4!2 b4", "-", "aabbbb"},
    /* by node: in turn, full hosts are passed over */
    {"node", NULL, "a2 b2 c2", "5", "abcab"},
    {"node", NULL, "a1 b3", "4", "abbb"},
    {"node", "slot", "a2 b2", "4", "aabb"},
    /* by objects finer than the places: place after place */
    {"node", "core", "a2 b2", "4", "aabb"},
    {"ppr:2:node", "core", "a4 b4", "-", "aabb"},
    {"numa:SPAN", "core", "a4/2 b4/2", "6", "aaaabb"},
    {"slot:SPAN", NULL, "a4 b4", "5", "aaaab"},
    {":SPAN", NULL, "a2 b2", "3", "aab"},
    {"core", "core", "a2 b2", "3", "aab"},
    {"node", NULL, "a1+ b1+", "5", "ababa"},
    {"NODE", NULL, "a2 b2", "1", "a"},
    /* ppr */
    {"ppr:2:node", NULL, "a4 b4", "-", "aabb"},
    {"ppr:2:node", NULL, "a4 b4", "3", "aab"},
    {"ppr:2:node", "node", "a4 b4", "-", "abab"},
    {"ppr:3:node:oversubscribe", NULL, "a1 b1", "-", "aaabbb"},
    {"ppr:2:node", NULL, "a1+ b1+", "-", "aabb"},
    {"ppr:2:package", NULL, "a8/2 b8/1", "-", "aaaabb"},
    /* seq: the n-th rank on the n-th mention */
    {"seq", NULL, "a1 b1 c1", "-", "abc"},
    {"seq", NULL, "a1 b1 c1", "2", "ab"},
    /* objects inside the node: as by slot; span: balanced, object by object */
    {"core", NULL, "a2 b2", "3", "aab"},
    {"numa:PE=2", NULL, "a2 b2", "3", "aab"},
    {"numa:SPAN", NULL, "a4/2 b4/2", "6", "aabbaa"},
    {"package:span", "fill", "a4/1 b4/1", "4", "aabb"},
    /* PE=n: counted cores make fewer places */
    {"core:PE=2", NULL, "a4+ b4+", "-", "aabb"},
    /* the launcher's own host is left out */
    {":NOLOCAL", NULL, "a4* b2", "-", "bb"},
    {"seq:NOLOCAL", NULL, "a4* b2 c1", "-", "bc"},
    /* several programs, one after the other */
    {NULL, NULL, "a2 b2", "1:2", "aab"},
    {"node", NULL, "a2 b2", "1:2", "aba"},
    {"ppr:1:node", NULL, "a2 b2", "-:-", "abab"},
    {"ppr:2:node", NULL, "a2 b2", "2:2", "aabb"},
    {"ppr:1:package", NULL, "a2/2 b2/1 c1/1", "2:2", "aabc"},
    {"seq", NULL, "a1 b1 c1", "1:2", "abc"},
};

static void placements_are_as_stated(void **state)
{
    for (size_t i = 0; i < sizeof(placings) / sizeof(placings[0]); i++) {
        const struct placing *c = &placings[i];
        struct hb_map_policy p = policy_of(c->map_by, c->rank_by);
        struct outcome o;
        place(&p, c->hosts, c->apps, &o);
        if (o.rc < 0 || strcmp(o.ranks, c->ranks) != 0) {
            fail_msg("map-by %s rank-by %s on %s, -n %s: got %s %s, not %s",
                     c->map_by, c->rank_by, c->hosts, c->apps, o.ranks,
                     o.rc < 0 ? o.err.text : "", c->ranks);
        }
    }
}

struct refusal {
    const char *map_by, *hosts, *apps;
    int rc;
    const char *text;
};

static const struct refusal refusals[] = {
    {NULL, "a2 b2", "5", HPCBOOT_ERR_LIMIT,
     "not enough slots available: 5 ranks of ./prog asked for, 4 slots there"},
    {NULL, "a2 b2", "5", HPCBOOT_ERR_LIMIT, "\n  a  2  hosts:1\n  b  2"},
    {NULL, "a2 b3!4", "6", HPCBOOT_ERR_LIMIT,
     "\n  a  2  hosts:1\n  b  3  hosts:1 (at most 4)"},
    {NULL, "a2!2 b2!2 c2!2 d2!2", "9", HPCBOOT_ERR_LIMIT,
     "\n  c  2  hosts:1 (at most 2)\n  and 1 more host"},
    {NULL, "a2 b2", "5", HPCBOOT_ERR_LIMIT, "--map-by :OVERSUBSCRIBE"},
    {":NOOVERSUBSCRIBE", "a2+", "3", HPCBOOT_ERR_LIMIT, "2 slots there"},
    {":OVERSUBSCRIBE", "a2!3", "4", HPCBOOT_ERR_LIMIT, "at most 3"},
    {":OVERSUBSCRIBE", "a2!3", "4", HPCBOOT_ERR_LIMIT,
     "4 ranks of ./prog asked for, and max_slots of a allows 3, however"},
    {NULL, "a2!2 b2!2 c4!2", "9", HPCBOOT_ERR_LIMIT,
     "and max_slots of a and 2 more hosts allows 6, "},
    {"ppr:3:node:OVERSUBSCRIBE", "a2 b2!2", "-", HPCBOOT_ERR_LIMIT,
     ", 3 on a host, asked for, and max_slots of b allows 2, "},
    {NULL, "a2 b3!3", "6", HPCBOOT_ERR_LIMIT, "--map-by :OVERSUBSCRIBE"},
    {"node", "a2 b2", "5", HPCBOOT_ERR_LIMIT, "not enough slots"},
    {"ppr:3:node", "a2 b9", "-", HPCBOOT_ERR_LIMIT, "not enough slots"},
    {"ppr:1:node", "a1 b4", "2:2", HPCBOOT_ERR_LIMIT, "not enough slots"},
    {"ppr:1:node", "a2 b2", "3", HPCBOOT_ERR_LIMIT,
     "3 ranks asked for, and the 2 hosts take only 2"},
    {"ppr:1:numa", "a2 b2", "3", HPCBOOT_ERR_UNSUPPORTED, "no such object"},
    {"seq", "a2 b2", "3", HPCBOOT_ERR_LIMIT, "the host list has 2 entries"},
    {":NOLOCAL", "a2*", "1", HPCBOOT_ERR_LIMIT, "--nolocal leaves no host"},
    {NULL, "a2 b2", "-:1", HPCBOOT_ERR_USAGE, "say -n for each"},
    {NULL, "", "1", HPCBOOT_ERR_LIMIT, "0 hosts"},
    {NULL, "a2", "", HPCBOOT_ERR_LIMIT, "0 programs"},
    {NULL, "a2+", "16777217", HPCBOOT_ERR_LIMIT, "a job has 1 to 16777216"},
};

static void refusals_say_why(void **state)
{
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const struct refusal *c = &refusals[i];
        struct hb_map_policy p = policy_of(c->map_by, NULL);
        struct outcome o;
        place(&p, c->hosts, c->apps, &o);
        if (o.rc != c->rc || strstr(o.err.text, c->text) == NULL) {
            fail_msg("map-by %s on %s, -n %s: %d %s, expected %d %s", c->map_by,
                     c->hosts, c->apps, o.rc, o.err.text, c->rc, c->text);
        }
    }
}

static void the_universe_is_all_slots(void **state)
{
    struct hb_map_policy p = {0};
    struct outcome o;

    place(&p, "a2 b5", "1", &o);
    assert_int_equal(o.universe, 7);
}

static void hydra_wraps_around_the_list(void **state)
{
    static const struct hb_map_turn turns[] = {{0, 2}, {1, 1}, {0, 1}};
    struct hb_map_policy p = {.wrap = 1};
    struct outcome o;

    place(&p, "a2 b1", "8", &o);
    assert_string_equal(o.ranks, "aabaabaa");
    place(&p, "a2 b1", "1:3", &o);
    assert_string_equal(o.ranks, "aaba");
    p.turns = turns;
    p.n_turns = 3;
    place(&p, "a3 b1", "6", &o);
    assert_string_equal(o.ranks, "aabaaa");
}

static void hydra_wraps_with_so_many_ranks_on_each_host(void **state)
{
    static const struct hb_map_turn turns[] = {{0, 2}, {1, 1}, {0, 1}};
    struct hb_map_policy p = policy_of("ppr:2:node", NULL);
    struct outcome o;

    p.wrap = 1;
    place(&p, "a1 b1", "3", &o);
    assert_string_equal(o.ranks, "aab");
    place(&p, "a1 b1", "7", &o);
    assert_string_equal(o.ranks, "aabbaab");
    place(&p, "a1 b1", "3:3", &o);
    assert_string_equal(o.ranks, "aabbaa");
    place(&p, "a1 b1", "-", &o);
    assert_string_equal(o.ranks, "aabb");
    place(&p, "a1!1 b1", "5", &o);
    assert_string_equal(o.ranks, "abbbb");
    p.turns = turns;
    p.n_turns = 3;
    place(&p, "a3 b1", "6", &o);
    assert_string_equal(o.ranks, "aabbaa");
}

static void seq_follows_repeated_mentions(void **state)
{
    static const struct hb_map_turn turns[] = {{0, 0}, {1, 0}, {0, 0}};
    struct hb_map_policy p = policy_of("seq", NULL);
    struct outcome o;

    p.turns = turns;
    p.n_turns = 3;
    place(&p, "a2 b1", "-", &o);
    assert_string_equal(o.ranks, "aba");
}

struct text_case {
    const char *text, *error;
};

static void wrong_map_by_texts_name_the_nearest(void **state)
{
    static const struct text_case cases[] = {
        {"corr", "did you mean \"core\""},
        {"s", "\"s\" may be slot, seq or socket"},
        {"core:NO", "may be NOOVERSUBSCRIBE, NOLOCAL or NOINHERIT"},
        {"core:X", "is not known; expected one of PE=N"},
        {"sockett", "did you mean \"socket\""},
        {"node:OVERSUBSRIBE", "did you mean \"OVERSUBSCRIBE\""},
        {"", "expected one of ppr:N:node, slot, node"},
        {"ppr", "expected ppr:N:OBJECT"},
        {"ppr:0:node", "expected ranks per object"},
        {"ppr:x:node", "expected ranks per object"},
        {"ppr:2:slot", "ppr:N:OBJECT: \"slot\" is not known"},
        {"ppr:2:seq", "is not known; expected one of node, hwthread, core"},
        {"ppr:2:nodd", "did you mean \"node\""},
        {"core:PE=0", "expected CPUs per rank"},
        {"core:PE=", "expected CPUs per rank"},
        {":OVERSUBSCRIBE,NOOVERSUBSCRIBE", "contradicts"},
        {"rankfile", "expected rankfile:FILE=NAME"},
        {"rankfile:FILE=", "expected the name of a file"},
        {"core:FILE=x", "only rankfile and seq read"},
        {"seq:FILE=x:DISPLAY", "not a placement; use --dry-run"},
        {"seq:FILE=x:O", "may be OVERSUBSCRIBE or ORDERED"},
        {"pe-list=a", "expected a list of cores"},
        {"pe-list:0", "is not known"},
        {"ppr:1:rankfile", "is not known"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hb_map_policy p = {.by = HB_MAP_NODE, .pe = 7};
        struct hpcboot_error err = {0};
        int rc = hb_map_by_parse(cases[i].text, &p, &err);
        if (rc >= 0 || strstr(err.text, cases[i].error) == NULL) {
            fail_msg("%s: %s", cases[i].text, err.text);
        }
        assert_int_equal(p.by, HB_MAP_NODE);
        assert_int_equal(p.pe, 7);
        assert_int_equal(p.oversubscribe, 0);
    }
}

static void words_may_be_cut_short(void **state)
{
    static const struct {
        const char *text;
        enum hb_map_by by, object;
    } cases[] = {
        {"L3", HB_MAP_L3CACHE, HB_MAP_DEFAULT},
        {"pack:over:sp", HB_MAP_PACKAGE, HB_MAP_DEFAULT},
        {"hwt:OVERSUB:S", HB_MAP_HWTHREAD, HB_MAP_DEFAULT},
        {"ppr:2:num:oversubscribe,SPAN", HB_MAP_PPR_OBJECT, HB_MAP_NUMA},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hb_map_policy p = {0};
        assert_int_equal(hb_map_by_parse(cases[i].text, &p, NULL), HPCBOOT_OK);
        assert_int_equal(p.by, cases[i].by);
        assert_int_equal(p.ppr_object, cases[i].object);
        assert_int_equal(p.oversubscribe + p.span, i > 0 ? 2 : 0);
        assert_int_equal(hb_rank_by_parse("fi", &p, NULL), HPCBOOT_OK);
        assert_int_equal(p.rank_by, HB_RANK_FILL);
    }
}

static void modifiers_add_to_what_is_set(void **state)
{
    struct hb_map_policy p = {.nolocal = 1};

    assert_int_equal(hb_map_by_parse("Socket:pe=4,span:HWTCPUS", &p, NULL), 0);
    assert_int_equal(hb_map_by_parse(":oversubscribe", &p, NULL), 0);
    assert_int_equal(p.by, HB_MAP_PACKAGE);
    assert_int_equal(p.pe, 4);
    assert_int_equal(p.span, 1);
    assert_int_equal(p.cpu_kind, 1);
    assert_int_equal(p.nolocal, 1);
    assert_int_equal(p.oversubscribe, 1);
}

static void wrong_rank_by_texts_are_refused(void **state)
{
    struct hb_map_policy p = {0};
    struct hpcboot_error err;

    assert_int_equal(hb_rank_by_parse("slots", &p, &err), HPCBOOT_ERR_USAGE);
    assert_non_null(strstr(err.text, "did you mean \"slot\""));
    assert_int_equal(hb_rank_by_parse("s", &p, &err), HPCBOOT_ERR_USAGE);
    assert_non_null(strstr(err.text, "\"s\" may be slot, span or socket"));
    assert_int_equal(hb_rank_by_parse("l:span", &p, &err), HPCBOOT_ERR_USAGE);
    assert_non_null(strstr(err.text, "may be l1cache, l2cache or l3cache"));
    p.by = HB_MAP_CORE;
    assert_int_equal(hb_rank_by_parse("package", &p, &err),
                     HPCBOOT_ERR_UNSUPPORTED);
    assert_int_equal(hb_rank_by_parse("seq", &p, &err),
                     HPCBOOT_ERR_UNSUPPORTED);
    assert_int_equal(hb_rank_by_parse("Fill", &p, &err), HPCBOOT_OK);
    assert_int_equal(p.rank_by, HB_RANK_FILL);
}

static void rank_by_an_object_may_say_how(void **state)
{
    static const struct {
        enum hb_map_by by;
        const char *text;
        enum hb_rank_by expected;
    } cases[] = {
        {HB_MAP_PACKAGE, "socket", HB_RANK_TURN},
        {HB_MAP_PACKAGE, "socket:span", HB_RANK_SPAN},
        {HB_MAP_PACKAGE, "sock:sp", HB_RANK_SPAN},
        {HB_MAP_PACKAGE, "pack:F", HB_RANK_FILL},
        {HB_MAP_PACKAGE, "package:FILL", HB_RANK_FILL},
        {HB_MAP_PACKAGE, "core:span", HB_RANK_FILL},
        {HB_MAP_NUMA, "slot:fill", HB_RANK_SLOT},
        {HB_MAP_NUMA, "node:span", HB_RANK_NODE},
        {HB_MAP_NODE, "core:span", HB_RANK_SLOT},
    };
    struct hb_map_policy p = {0};
    struct hpcboot_error err;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        p = (struct hb_map_policy){.by = cases[i].by};
        assert_int_equal(hb_rank_by_parse(cases[i].text, &p, &err), HPCBOOT_OK);
        assert_int_equal(p.rank_by, cases[i].expected);
        p = (struct hb_map_policy){
            .by = HB_MAP_PPR_OBJECT, .ppr = 2, .ppr_object = cases[i].by};
        if (cases[i].by != HB_MAP_NODE) {
            assert_int_equal(hb_rank_by_parse(cases[i].text, &p, &err),
                             HPCBOOT_OK);
            assert_int_equal(p.rank_by, cases[i].expected);
        }
    }
    assert_int_equal(hb_rank_by_parse("core:all", &p, &err), HPCBOOT_ERR_USAGE);
    assert_non_null(strstr(err.text, "expected span or fill"));
    assert_int_equal(hb_rank_by_parse("core:", &p, &err), HPCBOOT_ERR_USAGE);
    assert_int_equal(hb_rank_by_parse("cores:span", &p, &err),
                     HPCBOOT_ERR_USAGE);
}

/* A small generator, so that a seed names a case on every machine. */
static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void random_host(struct hb_map_host *h, uint32_t *seed, char *name)
{
    memset(h, 0, sizeof(*h));
    h->name = name;
    h->slots = 1 + next_random(seed) % 5;
    h->stated = (int)(next_random(seed) % 2);
    h->max_slots = next_random(seed) % 4 == 0 ? 1 + next_random(seed) % 6 : 0;
    h->objects = 1 + next_random(seed) % 3;
    h->is_local = next_random(seed) % 4 == 0;
}

static void check_properties(const struct hb_map_policy *p,
                             const struct hb_map_host *hosts,
                             const struct hb_jobmap *map,
                             const uint32_t *host_of_node, uint32_t seed)
{
    for (uint32_t i = 0; i < map->n_nodes; i++) {
        const struct hb_map_host *h = &hosts[host_of_node[i]];
        int strict = p->oversubscribe < 0 || (h->stated && !p->oversubscribe);
        int ok = map->local_size[i] > 0 &&
                 (i == 0 || host_of_node[i] > host_of_node[i - 1]) &&
                 (h->max_slots == 0 || map->local_size[i] <= h->max_slots) &&
                 (!strict || map->local_size[i] <= h->slots) &&
                 !(p->nolocal && h->is_local) &&
                 (p->by != HB_MAP_PPR_NODE ||
                  map->local_size[i] <= p->ppr * map->n_apps);
        if (!ok) {
            fail_msg("seed %u breaks a property on node %u", seed, i);
        }
    }
}

static void random_case(uint32_t seed)
{
    static const enum hb_map_by ways[] = {
        HB_MAP_DEFAULT, HB_MAP_SLOT, HB_MAP_NODE,    HB_MAP_PPR_NODE,
        HB_MAP_SEQ,     HB_MAP_CORE, HB_MAP_PACKAGE, HB_MAP_PPR_OBJECT};
    uint32_t s = seed;
    char names[MAX_HOSTS][2];
    struct hb_map_host hosts[MAX_HOSTS];
    struct hb_map_app apps[3] = {{0}};
    uint32_t n = 1 + next_random(&s) % MAX_HOSTS;
    uint32_t n_apps = 1 + next_random(&s) % 3, total = 0;
    struct hb_map_policy p = {
        .by = ways[next_random(&s) % 8],
        .ppr = 1 + next_random(&s) % 3,
        .rank_by = (enum hb_rank_by)(next_random(&s) % 5),
        .oversubscribe = (int)(next_random(&s) % 3) - 1,
        .nolocal = next_random(&s) % 3 == 0,
        .span = next_random(&s) % 3 == 0,
    };
    struct hb_jobmap *map[2] = {NULL, NULL};
    uint32_t *of[2] = {NULL, NULL};
    int rc[2];

    for (uint32_t i = 0; i < n; i++) {
        names[i][0] = (char)('a' + i);
        names[i][1] = '\0';
        random_host(&hosts[i], &s, names[i]);
    }
    for (uint32_t i = 0; i < n_apps; i++) {
        apps[i].np = 1 + next_random(&s) % 8;
        total += apps[i].np;
    }
    for (int i = 0; i < 2; i++) {
        rc[i] = hb_map_ranks(&p, hosts, n, apps, n_apps, &map[i], &of[i], NULL);
    }
    assert_int_equal(rc[0], rc[1]);
    if (rc[0] >= 0) {
        assert_int_equal(map[0]->n_ranks, total);
        assert_memory_equal(map[0]->node_of_rank, map[1]->node_of_rank,
                            total * sizeof(uint32_t));
        check_properties(&p, hosts, map[0], of[0], seed);
    }
    for (int i = 0; i < 2; i++) {
        hb_jobmap_destroy(map[i]);
        free(of[i]);
    }
}

static void random_jobs_keep_every_limit_and_are_pure(void **state)
{
    for (uint32_t seed = 1; seed <= 20000; seed++) {
        random_case(seed);
    }
}

/* Full hosts leave the ring: a mapping that scanned all of them for each rank
 * would not end within the life of a test. */
static void a_million_ranks_are_placed_at_once(void **state)
{
    enum { HOSTS = 16384, RANKS = 1 << 20 };
    struct hb_map_host *hosts = hb_xcalloc(HOSTS, sizeof(*hosts));
    char(*names)[8] = hb_xcalloc(HOSTS, sizeof(*names));
    struct hb_map_app app = {RANKS, "x"};
    struct hb_map_policy p = {.by = HB_MAP_NODE};
    struct hb_jobmap *map = NULL;
    uint32_t *of = NULL;

    for (uint32_t i = 0; i < HOSTS; i++) {
        snprintf(names[i], sizeof(names[i]), "n%u", i);
        hosts[i].name = names[i];
        hosts[i].stated = 1;
        hosts[i].slots = i == 0 ? RANKS : 1;
    }
    assert_int_equal(hb_map_ranks(&p, hosts, HOSTS, &app, 1, &map, &of, NULL),
                     HPCBOOT_OK);
    assert_int_equal(map->local_size[0], RANKS - HOSTS + 1);
    hb_jobmap_destroy(map);
    free(of);
    free(names);
    free(hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placements_are_as_stated),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(the_universe_is_all_slots),
        cmocka_unit_test(hydra_wraps_around_the_list),
        cmocka_unit_test(hydra_wraps_with_so_many_ranks_on_each_host),
        cmocka_unit_test(seq_follows_repeated_mentions),
        cmocka_unit_test(wrong_map_by_texts_name_the_nearest),
        cmocka_unit_test(words_may_be_cut_short),
        cmocka_unit_test(modifiers_add_to_what_is_set),
        cmocka_unit_test(wrong_rank_by_texts_are_refused),
        cmocka_unit_test(rank_by_an_object_may_say_how),
        cmocka_unit_test(random_jobs_keep_every_limit_and_are_pure),
        cmocka_unit_test(a_million_ranks_are_placed_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
