/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What libpmix is told of the job, so that its clients can ask: sizes, the
 * maps of nodes and ranks, one array per node, app and rank, and the local
 * ranks as clients. It must be complete before the first rank is forked.
 *
 * Nodes without ranks are left out, because the map of nodes must go with the
 * map of ranks entry by entry; NODEID counts what remains.
 *
 * No personality is named: with one, libpmix's plug-in for Open MPI insists on
 * keys that only its own launcher has. What that plug-in would put into the
 * environment is made in personality.c. No place for shared-memory files is
 * named either: Open MPI puts a number made of the namespace into their names,
 * and a namespace is unique to its job. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/pm/family.h"
#include "bin/pm/pmix_impl.h"
#include "lib/base/str.h"

/* Arrays of foreign ranks are left out above this: libpmix derives their node
 * and local rank from the maps, and an array takes 5 KB. */
#define ALL_RANKS_MAX 4096u

/* Every client gets the topology with the job's keys up to this size; a larger
 * one it finds by HWLOC_XMLFILE alone. */
#define TOPOLOGY_BYTES_MAX (256u << 10)

/* A growing list of infos; the first failure sticks. */
struct bag {
    void *list;
    pmix_status_t rc;
};

#define ELSEWHERE UINT32_MAX /* no node of this job: another job's */

struct maker {
    struct hb_pm *pm;
    const char *nspace;
    const struct hb_jobmap *map;
    uint32_t here; /* which of its nodes this is, or ELSEWHERE */
    uint32_t *node_id; /* [n_nodes], of those with ranks */
    uint32_t n_used;
    uint32_t **ranks; /* [n_nodes], NULL without ranks; owned */
};

static void bag_open(struct bag *b)
{
    b->list = PMIx_Info_list_start();
    b->rc = PMIX_SUCCESS;
}

static void add(struct bag *b, const char *key, const void *value,
                pmix_data_type_t type)
{
    if (b->rc == PMIX_SUCCESS) {
        b->rc = PMIx_Info_list_add(b->list, key, value, type);
    }
}

static void add_text(struct bag *b, const char *key, const char *value)
{
    add(b, key, value, PMIX_STRING);
}

static void add_u32(struct bag *b, const char *key, uint32_t value)
{
    add(b, key, &value, PMIX_UINT32);
}

static void add_u16(struct bag *b, const char *key, uint32_t value)
{
    uint16_t v = (uint16_t)value;

    add(b, key, &v, PMIX_UINT16);
}

static void add_rank(struct bag *b, const char *key, pmix_rank_t value)
{
    add(b, key, &value, PMIX_PROC_RANK);
}

static void add_true(struct bag *b, const char *key)
{
    bool yes = true;

    add(b, key, &yes, PMIX_BOOL);
}

/* Closes `inner` and puts it into `b` as an array. */
static void add_bag(struct bag *b, const char *key, struct bag *inner)
{
    pmix_data_array_t array;

    memset(&array, 0, sizeof(array));
    if (inner->rc == PMIX_SUCCESS) {
        inner->rc = PMIx_Info_list_convert(inner->list, &array);
    }
    PMIx_Info_list_release(inner->list);
    if (inner->rc == PMIX_SUCCESS) {
        add(b, key, &array, PMIX_DATA_ARRAY);
        PMIX_DATA_ARRAY_DESTRUCT(&array);
    } else if (b->rc == PMIX_SUCCESS) {
        b->rc = inner->rc;
    }
}

/* ---- texts --------------------------------------------------------------- */

static char *rank_list(const struct maker *m, uint32_t node)
{
    struct hb_str out = HB_STR_INIT;

    for (uint32_t i = 0; i < m->map->local_size[node]; i++) {
        hb_str_putf(&out, i > 0 ? ",%u" : "%u", m->ranks[node][i]);
    }
    return hb_str_steal(&out);
}

static void add_maps(const struct maker *m, struct bag *b)
{
    struct hb_str names = HB_STR_INIT, ranks = HB_STR_INIT;
    char *regex = NULL, *ppn = NULL, *mapping;

    for (uint32_t i = 0; i < m->map->n_nodes; i++) {
        char *list;

        if (m->ranks[i] == NULL) {
            continue;
        }
        list = rank_list(m, i);
        hb_str_putf(&names, "%s%s", names.len > 0 ? "," : "",
                    m->map->node_names[i]);
        hb_str_putf(&ranks, "%s%s", ranks.len > 0 ? ";" : "", list);
        free(list);
    }
    if (b->rc == PMIX_SUCCESS) {
        b->rc = PMIx_generate_regex(hb_str_text(&names), &regex);
    }
    if (b->rc == PMIX_SUCCESS) {
        b->rc = PMIx_generate_ppn(hb_str_text(&ranks), &ppn);
    }
    add(b, PMIX_NODE_MAP, regex, PMIX_REGEX);
    add(b, PMIX_PROC_MAP, ppn, PMIX_REGEX);
    mapping = hb_jobmap_process_mapping(m->map);
    add_text(b, PMIX_ANL_MAP, mapping);
    free(mapping);
    free(regex);
    free(ppn);
    hb_str_destroy(&names);
    hb_str_destroy(&ranks);
}

/* Open MPI 5 asks for these two by its own names when there are several. */
static void add_app_lists(const struct maker *m, struct bag *b)
{
    struct hb_str first = HB_STR_INIT, sizes = HB_STR_INIT;

    for (uint32_t i = 0; i < m->map->n_apps; i++) {
        const char *gap = i > 0 ? " " : "";

        hb_str_putf(&first, "%s%u", gap, m->map->apps[i].first_rank);
        hb_str_putf(&sizes, "%s%u", gap, m->map->apps[i].n_ranks);
    }
    add_text(b, "OMPI_FIRST_RANKS", hb_str_text(&first));
    add_text(b, "OMPI_APP_SIZES", hb_str_text(&sizes));
    hb_str_destroy(&first);
    hb_str_destroy(&sizes);
}

/* ---- levels -------------------------------------------------------------- */

/* Whoever was started by a rank of another job. */
static void add_parent(const struct maker *m, struct bag *b)
{
    const struct hb_pm_job *job = m->pm->job;
    pmix_proc_t parent;

    if (job->parent_id != NULL) {
        PMIX_LOAD_PROCID(&parent, job->parent_id, job->parent_rank);
        add_true(b, PMIX_SPAWNED);
        add(b, PMIX_PARENT_ID, &parent, PMIX_PROC);
    }
}

/* What those on this host need of their own job. */
static void add_here(const struct maker *m, struct bag *b)
{
    const struct hb_pm_job *job = m->pm->job;

    add_text(b, PMIX_TMPDIR, job->session_dir);
    add_text(b, PMIX_NSDIR, job->session_dir);
    add_true(b, PMIX_TDIR_RMCLEAN);
    add_text(b, PMIX_RM_NAME, PACKAGE_NAME);
    add_text(b, PMIX_RM_VERSION, PACKAGE_VERSION);
    add_parent(m, b);
    if (job->topology_xml != NULL &&
        strlen(job->topology_xml) <= TOPOLOGY_BYTES_MAX) {
        add_text(b, PMIX_HWLOC_XML_V2, job->topology_xml);
    }
}

static void add_job(const struct maker *m, struct bag *b)
{
    const struct hb_jobmap *map = m->map;
    uint32_t slots = map->universe_slots > map->n_ranks ? map->universe_slots
                                                        : map->n_ranks;

    add_text(b, PMIX_JOBID, m->nspace);
    add_u32(b, PMIX_JOB_SIZE, map->n_ranks);
    add_u32(b, PMIX_UNIV_SIZE, slots); /* MPI_UNIVERSE_SIZE */
    add_u32(b, PMIX_MAX_PROCS, slots);
    add_u32(b, PMIX_JOB_NUM_APPS, map->n_apps);
    add_u32(b, PMIX_NUM_NODES, m->n_used);
    add_maps(m, b);
    add_app_lists(m, b);
    if (m->here != ELSEWHERE) {
        add_here(m, b);
    }
}

static void add_node_facts(const struct maker *m, uint32_t node,
                           struct bag *b)
{
    char *peers = rank_list(m, node);

    add_u32(b, PMIX_LOCAL_SIZE, m->map->local_size[node]);
    add_u32(b, PMIX_NODE_SIZE, m->map->local_size[node]);
    add_text(b, PMIX_LOCAL_PEERS, peers);
    add_rank(b, PMIX_LOCALLDR, m->ranks[node][0]);
    free(peers);
}

static void add_node(const struct maker *m, uint32_t node, struct bag *b)
{
    struct bag inner;

    bag_open(&inner);
    add_text(&inner, PMIX_HOSTNAME, m->map->node_names[node]);
    add_u32(&inner, PMIX_NODEID, m->node_id[node]);
    add_node_facts(m, node, &inner);
    if (node == m->here && m->pm->job->oversubscribed) {
        add_true(&inner, PMIX_NODE_OVERSUBSCRIBED);
    }
    add_bag(b, PMIX_NODE_INFO_ARRAY, &inner);
}

static void add_command(const struct hb_pm_app *a, struct bag *b)
{
    struct hb_str argv = HB_STR_INIT;

    for (size_t i = 0; a->argv != NULL && a->argv[i] != NULL; i++) {
        hb_str_putf(&argv, "%s%s", i > 0 ? " " : "", a->argv[i]);
    }
    if (a->wdir != NULL && a->wdir[0] != '\0') {
        add_text(b, PMIX_WDIR, a->wdir);
    }
    add_text(b, PMIX_APP_ARGV, hb_str_text(&argv));
    hb_str_destroy(&argv);
}

static void add_app(const struct maker *m, uint32_t app, struct bag *b)
{
    struct bag inner;

    bag_open(&inner);
    add_u32(&inner, PMIX_APPNUM, app); /* must be the first */
    add_u32(&inner, PMIX_APP_SIZE, m->map->apps[app].n_ranks);
    add_rank(&inner, PMIX_APPLDR, m->map->apps[app].first_rank);
    if (m->here != ELSEWHERE) {
        add_command(&m->pm->job->apps[app], &inner);
    }
    add_bag(b, PMIX_APP_INFO_ARRAY, &inner);
}

/* What a local rank is bound to, and near. Version 4 of Open MPI reads the
 * bare texts, PMIx's own functions want to see whose they are. */
static void add_place(const struct maker *m, uint32_t local, struct bag *b)
{
    const struct hb_pm_job *job = m->pm->job;
    const char *whose = job->flavour == HB_MPI_OPENMPI4 ? "" : "hwloc:";
    char *text;

    if (job->cpusets == NULL) {
        return;
    }
    text = hb_xasprintf("%s%s", whose, job->cpusets[local]);
    add_text(b, PMIX_CPUSET, text);
    free(text);
    text = hb_xasprintf("%s%s", whose, job->localities[local]);
    add_text(b, PMIX_LOCALITY_STRING, text);
    free(text);
}

static void add_proc(const struct maker *m, uint32_t rank, struct bag *b)
{
    uint32_t node = m->map->node_of_rank[rank];
    uint32_t app = hb_jobmap_app_of(m->map, rank);
    struct bag inner;

    bag_open(&inner);
    add_rank(&inner, PMIX_RANK, rank); /* must be the first */
    add_rank(&inner, PMIX_GLOBAL_RANK, rank);
    add_rank(&inner, PMIX_APP_RANK, rank - m->map->apps[app].first_rank);
    add_u32(&inner, PMIX_APPNUM, app);
    add_u16(&inner, PMIX_LOCAL_RANK, m->map->local_rank[rank]);
    add_u16(&inner, PMIX_NODE_RANK, m->map->local_rank[rank]);
    add_u32(&inner, PMIX_NODEID, m->node_id[node]);
    add_text(&inner, PMIX_HOSTNAME, m->map->node_names[node]);
    add_u32(&inner, PMIX_REINCARNATION, 0);
    if (node == m->here) {
        add_parent(m, &inner); /* some ask for their own, some for the job's */
        add_place(m, m->map->local_rank[rank], &inner);
    }
    add_bag(b, PMIX_PROC_INFO_ARRAY, &inner);
}

static void add_all(const struct maker *m, struct bag *b)
{
    add_job(m, b);
    if (m->here != ELSEWHERE) {
        add_node_facts(m, m->here, b);
    }
    for (uint32_t i = 0; i < m->map->n_nodes; i++) {
        if (m->ranks[i] != NULL) {
            add_node(m, i, b);
        }
    }
    for (uint32_t i = 0; i < m->map->n_apps; i++) {
        add_app(m, i, b);
    }
    for (uint32_t r = 0; r < m->map->n_ranks; r++) {
        if (m->map->n_ranks <= ALL_RANKS_MAX ||
            m->map->node_of_rank[r] == m->here) {
            add_proc(m, r, b);
        }
    }
}

/* ---- handing it over ----------------------------------------------------- */

static pmix_status_t register_nspace(const struct maker *m)
{
    struct hb_pmix_gate gate = HB_PMIX_GATE_INIT;
    pmix_data_array_t infos;
    struct bag b;

    memset(&infos, 0, sizeof(infos));
    bag_open(&b);
    add_all(m, &b);
    if (b.rc == PMIX_SUCCESS) {
        b.rc = PMIx_Info_list_convert(b.list, &infos);
    }
    PMIx_Info_list_release(b.list);
    if (b.rc != PMIX_SUCCESS) {
        return b.rc;
    }
    hb_pmix_gate_add(&gate);
    hb_pmix_gate_called(
        &gate, PMIx_server_register_nspace(
                   m->nspace,
                   m->here != ELSEWHERE ? (int)m->map->local_size[m->here] : 0,
                   infos.array, infos.size, hb_pmix_gate_done, &gate));
    b.rc = hb_pmix_gate_wait(&gate);
    PMIX_DATA_ARRAY_DESTRUCT(&infos);
    return b.rc;
}

/* All at once, then one wait: each takes a turn of libpmix's thread. */
static pmix_status_t register_clients(const struct maker *m)
{
    struct hb_pmix_gate gate = HB_PMIX_GATE_INIT;
    uint32_t node = m->here;

    for (uint32_t i = 0; i < m->map->local_size[node]; i++) {
        pmix_proc_t proc;

        PMIX_LOAD_PROCID(&proc, m->pm->nspace, m->ranks[node][i]);
        hb_pmix_gate_add(&gate);
        hb_pmix_gate_called(
            &gate, PMIx_server_register_client(&proc, m->pm->job->uid,
                                               m->pm->job->gid, NULL,
                                               hb_pmix_gate_done, &gate));
    }
    return hb_pmix_gate_wait(&gate);
}

static void maker_open(struct maker *m, struct hb_pm *pm, const char *nspace,
                       const struct hb_jobmap *map, uint32_t here)
{
    memset(m, 0, sizeof(*m));
    m->pm = pm;
    m->nspace = nspace;
    m->map = map;
    m->here = here;
    m->node_id = hb_xcalloc(map->n_nodes + 1, sizeof(*m->node_id));
    m->ranks = hb_xcalloc(map->n_nodes + 1, sizeof(*m->ranks));
    for (uint32_t i = 0; i < map->n_nodes; i++) {
        if (map->local_size[i] > 0) {
            m->node_id[i] = m->n_used++;
            m->ranks[i] = hb_xcalloc(map->local_size[i], sizeof(uint32_t));
        }
    }
    for (uint32_t r = 0; r < map->n_ranks; r++) {
        m->ranks[map->node_of_rank[r]][map->local_rank[r]] = r;
    }
}

static void maker_close(struct maker *m)
{
    for (uint32_t i = 0; i < m->map->n_nodes; i++) {
        free(m->ranks[i]);
    }
    free(m->ranks);
    free(m->node_id);
}

int hb_pmix_register_job(struct hb_pm *pm, struct hpcboot_error *err)
{
    struct maker m;
    pmix_status_t rc;

    if (pm->job->map->local_size[pm->job->node] == 0) {
        return HPCBOOT_OK; /* nobody here will ask */
    }
    maker_open(&m, pm, pm->nspace, pm->job->map, pm->job->node);
    rc = register_nspace(&m);
    if (rc == PMIX_SUCCESS) {
        rc = register_clients(&m);
    }
    maker_close(&m);
    return rc == PMIX_SUCCESS
               ? HPCBOOT_OK
               : hb_pmix_fail(err, "the job cannot be registered", rc);
}

int hb_pmix_register_other(struct hb_pm *pm, const char *nspace,
                           const struct hb_jobmap *map)
{
    struct maker m;
    pmix_status_t rc;

    maker_open(&m, pm, nspace, map, ELSEWHERE);
    rc = register_nspace(&m);
    maker_close(&m);
    return rc == PMIX_SUCCESS ? HPCBOOT_OK : HPCBOOT_ERR_SYSTEM;
}
