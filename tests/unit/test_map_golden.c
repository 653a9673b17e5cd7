/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Mapping, ranking and binding together, on machines that are files, beside
 * what another launcher said for the same (tests/data/topo/openmpi5.map, see
 * record.py there). Lines that differ on purpose are listed, each with its
 * reason, in openmpi5.differences; a line there that does not differ any more
 * is a failure too. Lines that the other one refused are not looked at: what
 * is possible here and not there is in the man page. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"
#include "lib/topo/bind.h"
#include "lib/topo/map.h"

#define MAX_HOSTS 4
#define MAX_MACHINES 16
#define MAX_TEXT (4u << 20)

enum column { MACHINE, ALLOWED, HOSTS, NP, MAP_BY, RANK_BY, BIND_TO, OUTCOME,
              COLUMNS };

static char *data_dir;
static int no_hwloc;
static struct {
    char *key;
    struct hb_topo *topo;
} machines[MAX_MACHINES];

static int setup(void **state)
{
    const char *build = getenv("HB_BUILDDIR"), *src = getenv("HB_SRCDIR");
    struct hb_topo_request req = {.source = "synthetic:pu:1"};
    struct hb_topo *topo = NULL;
    struct hpcboot_error err;
    char *dir;

    dir = hb_xasprintf("%s/.libs", build != NULL ? build : ".");
    setenv("HPCBOOT_MODULE_DIR", dir, 0);
    free(dir);
    data_dir = hb_xasprintf("%s/tests/data/topo", src != NULL ? src : ".");
    no_hwloc = hb_topo_load(&req, &topo, &err) < 0;
    hb_topo_destroy(topo);
    return 0;
}

static int teardown(void **state)
{
    for (size_t i = 0; i < MAX_MACHINES; i++) {
        free(machines[i].key);
        hb_topo_destroy(machines[i].topo);
    }
    free(data_dir);
    return 0;
}

static struct hb_topo *load(const char *source, const char *allowed)
{
    char *path = strchr(source, ':') != NULL
                     ? hb_xstrdup(source)
                     : hb_xasprintf("%s/%s", data_dir, source);
    struct hb_cpus cpus;
    struct hb_topo_request req = {.source = path, .devices = 1};
    struct hb_topo *topo = NULL;
    struct hpcboot_error err;

    if (strcmp(allowed, "-") != 0) {
        assert_int_equal(hb_cpus_parse(allowed, &cpus, NULL), HPCBOOT_OK);
        req.allowed = &cpus;
    }
    if (hb_topo_load(&req, &topo, &err) < 0) {
        fail_msg("%s: %s", source, err.text);
    }
    free(path);
    return topo;
}

static struct hb_topo *machine(const char *source, const char *allowed)
{
    char *key = hb_xasprintf("%s %s", source, allowed);

    for (size_t i = 0; i < MAX_MACHINES; i++) {
        if (machines[i].key != NULL && strcmp(machines[i].key, key) == 0) {
            free(key);
            return machines[i].topo;
        }
        if (machines[i].key == NULL) {
            machines[i].key = key;
            machines[i].topo = load(source, allowed);
            return machines[i].topo;
        }
    }
    fail_msg("more than %d machines", MAX_MACHINES);
    return NULL;
}

struct job {
    struct hb_map_policy map;
    struct hb_bind_policy bind;
    struct hb_topo *topo;
    struct hb_map_host hosts[MAX_HOSTS];
    char names[MAX_HOSTS][2];
    uint32_t n_hosts, np;
};

static void make_hosts(struct job *j, const char *text)
{
    for (const char *p = text; *p != '\0'; p += *p == ',') {
        struct hb_map_host *h = &j->hosts[j->n_hosts];
        char *end;

        assert_true(j->n_hosts < MAX_HOSTS);
        j->names[j->n_hosts][0] = p[0];
        h->name = j->names[j->n_hosts++];
        h->slots = (uint32_t)strtoul(p + 2, &end, 10);
        h->stated = 1;
        h->objects = hb_bind_objects(&j->bind, j->topo);
        h->room = hb_bind_room(&j->bind, j->topo);
        p = end;
    }
}

static const char *given(const char *text)
{
    return strcmp(text, "-") == 0 ? NULL : text;
}

static int make_job(char *const *column, struct job *j)
{
    struct hpcboot_error err;

    memset(j, 0, sizeof(*j));
    j->topo = machine(column[MACHINE], column[ALLOWED]);
    j->np = (uint32_t)strtoul(column[NP], NULL, 10);
    if ((given(column[MAP_BY]) &&
         hb_map_by_parse(column[MAP_BY], &j->map, &err) < 0) ||
        (given(column[RANK_BY]) &&
         hb_rank_by_parse(column[RANK_BY], &j->map, &err) < 0) ||
        hb_bind_to_parse(given(column[BIND_TO]), &j->bind, &err) < 0) {
        fail_msg("%s: %s", column[MAP_BY], err.text);
    }
    hb_bind_policy_map(&j->bind, &j->map);
    make_hosts(j, column[HOSTS]);
    return 0;
}

/* "0-3" in logical cores where each is whole, else "h" and the kernel's
 * numbers of the threads: as the other launcher prints. */
static void put_cpus(const struct job *j, const struct hb_cpus *cpus,
                     struct hb_str *o)
{
    const struct hb_topo_level *cores = &j->topo->level[HB_TOPO_CORE];
    int threads = j->bind.hwtcpus || j->bind.by == HB_MAP_HWTHREAD;
    struct hb_cpus set;
    char *list;

    hb_cpus_zero(&set);
    for (uint32_t c = 0; c < cores->n; c++) {
        for (uint32_t i = 0; i < cores->v[c].n; i++) {
            uint32_t cpu = j->topo->pu_os[cores->v[c].first + i];
            if (hb_cpus_has(cpus, cpu)) {
                hb_cpus_add(&set, threads ? cpu : c);
            }
        }
    }
    list = hb_cpus_text(&set);
    hb_str_putf(o, ":%s%s", threads ? "h" : "", list);
    free(list);
}

static char *outcome(struct job *j)
{
    const struct hb_map_app app = {.np = j->np, .program = "true"};
    struct hb_bind_plan plans[MAX_HOSTS] = {{0}};
    struct hb_jobmap *map = NULL;
    uint32_t *host_of_node = NULL;
    struct hb_str o = HB_STR_INIT;
    int rc = hb_map_ranks(&j->map, j->hosts, j->n_hosts, &app, 1, &map,
                          &host_of_node, NULL);

    for (uint32_t n = 0; rc >= 0 && n < map->n_nodes; n++) {
        rc = hb_bind_plan(&j->bind, j->topo, 0, map->local_size[n], &plans[n],
                          NULL);
    }
    for (uint32_t r = 0; rc >= 0 && r < map->n_ranks; r++) {
        uint32_t node = map->node_of_rank[r];
        hb_str_putf(&o, "%s%s", r > 0 ? " " : "", map->node_names[node]);
        if (plans[node].bound) {
            put_cpus(j, &plans[node].cpus[map->local_rank[r]], &o);
        }
    }
    for (uint32_t n = 0; n < MAX_HOSTS; n++) {
        hb_bind_plan_destroy(&plans[n]);
    }
    if (rc < 0) {
        hb_str_put(&o, "refused");
    }
    hb_jobmap_destroy(map);
    free(host_of_node);
    return hb_str_steal(&o);
}

static char *read_data(const char *name)
{
    char *path = hb_xasprintf("%s/%s", data_dir, name);
    struct hpcboot_error err;
    char *text = NULL;
    size_t len;

    if (hb_file_read(path, MAX_TEXT, &text, &len, &err) < 0) {
        fail_msg("%s", err.text);
    }
    free(path);
    return text;
}

/* Cuts a line at " | "; 1 when it has all columns. */
static int columns(char *line, char **column)
{
    size_t n = 0;

    while (line != NULL && n < COLUMNS) {
        char *bar = strstr(line, " | ");
        column[n++] = line;
        if (bar != NULL) {
            *bar = '\0';
            bar += 3;
        }
        line = bar;
    }
    return n == COLUMNS;
}

/* The first seven columns, as the list of differences names a line. */
static char *key_of(char *const *column)
{
    struct hb_str o = HB_STR_INIT;

    for (int i = 0; i < OUTCOME; i++) {
        hb_str_putf(&o, "%s%s", i > 0 ? " | " : "", column[i]);
    }
    return hb_str_steal(&o);
}

static int is_listed(const char *list, const char *key)
{
    size_t n = strlen(key), len;

    for (const char *line = list; *line != '\0'; line += len) {
        len = strcspn(line, "\n");
        if (len == n && memcmp(line, key, n) == 0) {
            return 1;
        }
        len += line[len] == '\n';
    }
    return 0;
}

static void as_another_launcher(void **state)
{
    char *text, *line, *save = NULL, *list;
    unsigned same = 0, differ = 0, wrong = 0;

    if (no_hwloc) {
        skip();
    }
    text = read_data("openmpi5.map");
    list = read_data("openmpi5.differences");
    for (line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char *column[COLUMNS], *got, *key;
        struct job j;
        int equal, listed;

        if (line[0] == '#' || !columns(line, column) ||
            strcmp(column[OUTCOME], "refused") == 0) {
            continue;
        }
        make_job(column, &j);
        got = outcome(&j);
        key = key_of(column);
        equal = strcmp(got, column[OUTCOME]) == 0;
        listed = is_listed(list, key);
        same += equal && !listed;
        differ += !equal && listed;
        if (equal == listed) {
            wrong++;
            print_error("%s%s\n    there %s\n    here  %s\n", key,
                        listed ? " (listed as different)" : "",
                        column[OUTCOME], got);
        }
        free(got);
        free(key);
    }
    free(text);
    free(list);
    print_message("%u lines the same, %u differ as listed\n", same, differ);
    assert_int_equal(wrong, 0);
    assert_true(same > 700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_another_launcher),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
