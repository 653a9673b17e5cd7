/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A PMIx client without an MPI that asks for what an MPI may ask for, on two
 * ranks and more: job keys, direct modex, a collecting fence of all and one
 * of the first and last rank, publish, a lookup that waits for it, unpublish,
 * connect and disconnect, groups where libpmix has them, events, limits of
 * time. Prints one line per rank when
 * all of it was right, else what was wrong, and exits 1. */
#include "config.h"

#include <pmix.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;
static uint32_t size;

static void check(pmix_status_t rc, const char *what)
{
    if (rc != PMIX_SUCCESS) {
        printf("rank %u: %s: %s\n", me.rank, what, PMIx_Error_string(rc));
        exit(1);
    }
}

static uint32_t job_u32(const char *key)
{
    pmix_proc_t job;
    pmix_value_t *v;
    uint32_t value;

    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    check(PMIx_Get(&job, key, NULL, 0, &v), key);
    value = v->data.uint32;
    PMIX_VALUE_RELEASE(v);
    return value;
}

static void put(const char *key)
{
    pmix_value_t v;
    char text[64];

    snprintf(text, sizeof(text), "%s of %u", key, me.rank);
    PMIX_VALUE_LOAD(&v, text, PMIX_STRING);
    check(PMIx_Put(PMIX_GLOBAL, key, &v), "put");
    PMIX_VALUE_DESTRUCT(&v);
    check(PMIx_Commit(), "commit");
}

static void expect(pmix_rank_t rank, const char *key)
{
    pmix_proc_t proc;
    pmix_value_t *v;
    char text[64];

    PMIX_LOAD_PROCID(&proc, me.nspace, rank);
    snprintf(text, sizeof(text), "%s of %u", key, rank);
    check(PMIx_Get(&proc, key, NULL, 0, &v), key);
    if (v->type != PMIX_STRING || strcmp(v->data.string, text) != 0) {
        printf("rank %u: %s of rank %u is wrong\n", me.rank, key, rank);
        exit(1);
    }
    PMIX_VALUE_RELEASE(v);
}

static void fence(const pmix_proc_t *procs, size_t n, bool collect)
{
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    check(PMIx_Fence(procs, n, &info, 1), "fence");
    PMIX_INFO_DESTRUCT(&info);
}

static void modex(void)
{
    put("direct");
    fence(NULL, 0, false);
    expect((me.rank + 1) % size, "direct");
    put("collected");
    fence(NULL, 0, true);
    for (uint32_t r = 0; r < size; r++) {
        expect(r, "collected");
    }
}

static void fence_of_two(void)
{
    pmix_proc_t procs[2];

    PMIX_LOAD_PROCID(&procs[0], me.nspace, 0);
    PMIX_LOAD_PROCID(&procs[1], me.nspace, size - 1);
    if (me.rank == 0 || me.rank == size - 1) {
        for (int i = 0; i < 3; i++) {
            fence(procs, 2, i == 1);
        }
    }
    fence(NULL, 0, false);
}

/* The last rank looks before the first has published. */
static void names(void)
{
    pmix_info_t info;
    pmix_pdata_t found;
    int all = 0;

    if (me.rank == 0) {
        usleep(300000);
        PMIX_INFO_LOAD(&info, "probe.port", "17", PMIX_STRING);
        check(PMIx_Publish(&info, 1), "publish");
        if (PMIx_Publish(&info, 1) != PMIX_ERR_DUPLICATE_KEY) {
            printf("rank 0: a name that is there is not told of\n");
            exit(1);
        }
        PMIX_INFO_DESTRUCT(&info);
    } else if (me.rank == size - 1) {
        PMIX_INFO_LOAD(&info, PMIX_WAIT, &all, PMIX_INT);
        PMIX_PDATA_CONSTRUCT(&found);
        PMIX_LOAD_KEY(found.key, "probe.port");
        check(PMIx_Lookup(&found, 1, &info, 1), "lookup");
        if (found.value.type != PMIX_STRING ||
            strcmp(found.value.data.string, "17") != 0 ||
            found.proc.rank != 0) {
            printf("rank %u: looked up something else\n", me.rank);
            exit(1);
        }
        PMIX_PDATA_DESTRUCT(&found);
        PMIX_INFO_DESTRUCT(&info);
        PMIX_PDATA_CONSTRUCT(&found);
        PMIX_LOAD_KEY(found.key, "probe.absent");
        if (PMIx_Lookup(&found, 1, NULL, 0) == PMIX_SUCCESS) {
            printf("rank %u: found what nobody has published\n", me.rank);
            exit(1);
        }
    }
    fence(NULL, 0, false);
}

/* What servers tell each other of jobs. */
static void leave_to_servers(void)
{
    char name[] = "hpcboot/over/probe", *keys[] = {name, NULL};
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, name, "1", PMIX_STRING);
    if (PMIx_Publish(&info, 1) == PMIX_SUCCESS ||
        PMIx_Unpublish(keys, NULL, 0) == PMIX_SUCCESS) {
        printf("rank %u: published what is for servers\n", me.rank);
        exit(1);
    }
    PMIX_INFO_DESTRUCT(&info);
}

/* What a rank has taken back is none of all that it takes back later. */
static void take_back(void)
{
    char text[64], *keys[] = {text, NULL};
    pmix_info_t info;

    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), "probe.%u.%d", me.rank, i);
        PMIX_INFO_LOAD(&info, text, "1", PMIX_STRING);
        check(PMIx_Publish(&info, 1), "publish");
        PMIX_INFO_DESTRUCT(&info);
        check(PMIx_Unpublish(i == 0 ? keys : NULL, NULL, 0), "unpublish");
    }
}

/* Who is refused a name, and takes back all of its own, or that name, leaves it
 * to the other that has it. */
static void leave_to_others(void)
{
    char name[] = "probe.port", *port[] = {name, NULL};
    pmix_pdata_t found;
    pmix_info_t info;

    if (me.rank == size - 1 && size > 1) {
        PMIX_INFO_LOAD(&info, "probe.port", "18", PMIX_STRING);
        if (PMIx_Publish(&info, 1) != PMIX_ERR_DUPLICATE_KEY) {
            printf("rank %u: took the name of another\n", me.rank);
            exit(1);
        }
        PMIX_INFO_DESTRUCT(&info);
        check(PMIx_Unpublish(NULL, NULL, 0), "unpublish");
        if (PMIx_Unpublish(port, NULL, 0) != PMIX_ERR_NOT_FOUND) {
            printf("rank %u: took back the name of another\n", me.rank);
            exit(1);
        }
    }
    fence(NULL, 0, false);
    if (me.rank == 0) {
        PMIX_PDATA_CONSTRUCT(&found);
        PMIX_LOAD_KEY(found.key, "probe.port");
        check(PMIx_Lookup(&found, 1, NULL, 0), "lookup");
        PMIX_PDATA_DESTRUCT(&found);
    }
}

static void expect_rc(pmix_status_t rc, pmix_status_t want, const char *what)
{
    if (rc != want) {
        printf("rank %u: %s: %s\n", me.rank, what, PMIx_Error_string(rc));
        exit(1);
    }
}

/* Of two names one is there: that one is told. */
static int in_part(void)
{
    pmix_pdata_t *found;
    pmix_info_t info;

    check(PMIx_Init(&me, NULL, 0), "init");
    PMIX_INFO_LOAD(&info, "probe.there", "17", PMIX_STRING);
    check(PMIx_Publish(&info, 1), "publish");
    PMIX_INFO_DESTRUCT(&info);
    PMIX_PDATA_CREATE(found, 2);
    PMIX_LOAD_KEY(found[0].key, "probe.absent");
    PMIX_LOAD_KEY(found[1].key, "probe.there");
    expect_rc(PMIx_Lookup(found, 2, NULL, 0), PMIX_SUCCESS, "a lookup");
    if (found[0].value.type != PMIX_UNDEF ||
        found[1].value.type != PMIX_STRING) {
        printf("rank %u: of two names the wrong one was found\n", me.rank);
        return 1;
    }
    PMIX_PDATA_FREE(found, 2);
    check(PMIx_Finalize(NULL, 0), "finalize");
    printf("rank %u has found what there is\n", me.rank);
    return 0;
}

/* A second. The standard says int, and clients give what they have. */
static void load_limit(pmix_info_t *info)
{
    uint32_t one = 1;

    PMIX_INFO_LOAD(info, PMIX_TIMEOUT, &one, PMIX_UINT32);
}

static void expect_timeout(pmix_status_t rc, const char *what)
{
    if (rc != PMIX_ERR_TIMEOUT) {
        printf("rank %u: %s that nobody answers: %s\n", me.rank, what,
               PMIx_Error_string(rc));
        exit(1);
    }
}

static void look_up_in_time(void)
{
    pmix_info_t infos[2];
    pmix_pdata_t found;
    int all = 0;

    PMIX_INFO_LOAD(&infos[0], PMIX_WAIT, &all, PMIX_INT);
    load_limit(&infos[1]);
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, "probe.absent");
    expect_timeout(PMIx_Lookup(&found, 1, infos, 2), "a lookup");
    PMIX_PDATA_DESTRUCT(&found);
}

/* Of a rank that has put nothing yet. */
static void get_in_time(void)
{
    pmix_info_t limit;
    pmix_proc_t last;
    pmix_value_t *v;
    int one = 1;

    if (me.rank == 0) {
        PMIX_LOAD_PROCID(&last, me.nspace, size - 1);
        PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &one, PMIX_INT);
        expect_timeout(PMIx_Get(&last, "direct", &limit, 1, &v), "a get");
        load_limit(&limit);
        expect_timeout(PMIx_Get(&last, "again", &limit, 1, &v), "one more get");
        look_up_in_time();
    }
    fence(NULL, 0, false);
}

/* That the others do not join, who wait for a name meanwhile. */
static void fence_in_time(void)
{
    int one = 1, all = 0;
    pmix_pdata_t found;
    pmix_info_t info;

    if (me.rank == 0) {
        PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &one, PMIX_INT);
        expect_timeout(PMIx_Fence(NULL, 0, &info, 1), "a fence");
        PMIX_INFO_LOAD(&info, "probe.over", "1", PMIX_STRING);
        check(PMIx_Publish(&info, 1), "publish");
    } else {
        PMIX_INFO_LOAD(&info, PMIX_WAIT, &all, PMIX_INT);
        PMIX_PDATA_CONSTRUCT(&found);
        PMIX_LOAD_KEY(found.key, "probe.over");
        check(PMIx_Lookup(&found, 1, &info, 1), "lookup");
        PMIX_PDATA_DESTRUCT(&found);
    }
    PMIX_INFO_DESTRUCT(&info);
}

static void connect_all(void)
{
    pmix_proc_t job;

    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    check(PMIx_Connect(&job, 1, NULL, 0), "connect");
    check(PMIx_Disconnect(&job, 1, NULL, 0), "disconnect");
}

/* Constructs a group, destructs it, and returns its number. */
static size_t number_of_group(const char *name, const pmix_proc_t *procs,
                              size_t n)
{
    size_t number = 0, n_results = 0;
    pmix_info_t *results = NULL, ask;

    PMIX_INFO_LOAD(&ask, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
    check(PMIx_Group_construct(name, procs, n, &ask, 1, &results,
                               &n_results), "construct");
    for (size_t i = 0; i < n_results; i++) {
        if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID)) {
            number = results[i].value.data.size;
        }
    }
    PMIX_INFO_FREE(results, n_results);
    check(PMIx_Group_destruct(name, NULL, 0), "destruct");
    return number;
}

/* All have the same number of a group of all, and that of the first and the
 * last rank is another one, also where it has the same name. What a member has
 * put is known to the others. */
static void groups(void)
{
    pmix_proc_t ends[2], job;
    size_t of_all, of_ends = 0;
    char key[64];

    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&ends[0], me.nspace, 0);
    PMIX_LOAD_PROCID(&ends[1], me.nspace, size - 1);
    put("grouped");
    of_all = number_of_group("probe", &job, 1);
    expect((me.rank + 1) % size, "grouped");
    if (me.rank == 0 || me.rank == size - 1) {
        of_ends = number_of_group("probe", ends, 2);
    }
    if (of_all == 0 || of_all == of_ends) {
        printf("rank %u: groups %zu and %zu\n", me.rank, of_all, of_ends);
        exit(1);
    }
    /* Whose key has the number in it can be asked for by who knows it. */
    snprintf(key, sizeof(key), "group %zu", of_all);
    put(key);
    fence(NULL, 0, true);
    expect((me.rank + 1) % size, key);
}

static atomic_uint n_heard;

static void hear(size_t id, pmix_status_t code, const pmix_proc_t *source,
                 pmix_info_t info[], size_t n_info, pmix_info_t *results,
                 size_t n_results, pmix_event_notification_cbfunc_fn_t done,
                 void *cbdata)
{
    n_heard++;
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* Each rank tells all of the job, and hears of each event once. */
static void events(void)
{
    pmix_status_t code = PMIX_ERR_PROC_REQUESTED_ABORT;
    enum { ROUNDS = 8, PATIENCE_MS = 10000 };

    if (PMIx_Register_event_handler(&code, 1, NULL, 0, hear, NULL, NULL) < 0) {
        printf("rank %u: cannot hear of events\n", me.rank);
        exit(1);
    }
    fence(NULL, 0, false);
    for (int i = 0; i < ROUNDS; i++) {
        check(PMIx_Notify_event(code, &me, PMIX_RANGE_NAMESPACE, NULL, 0,
                                NULL, NULL), "notify");
    }
    for (int ms = 0; n_heard < ROUNDS * size && ms < PATIENCE_MS; ms++) {
        usleep(1000);
    }
    fence(NULL, 0, false);
    if (n_heard != ROUNDS * size) {
        printf("rank %u: heard %u of %u events\n", me.rank, n_heard,
               ROUNDS * size);
        exit(1);
    }
}

/* Far more than may wait for who reads hbrun's output. */
static int logs(void)
{
    enum { LINE = 60000, LINES = 4000 };
    static char line[LINE + 2];
    pmix_info_t info;

    check(PMIx_Init(&me, NULL, 0), "init");
    memset(line, 'x', LINE);
    line[LINE] = '\n';
    PMIX_INFO_LOAD(&info, PMIX_LOG_STDOUT, line, PMIX_STRING);
    for (int i = 0; i < LINES; i++) {
        check(PMIx_Log(&info, 1, NULL, 0), "log");
    }
    PMIX_INFO_DESTRUCT(&info);
    check(PMIx_Finalize(NULL, 0), "finalize");
    return 0;
}

/* What nobody writes is no success; what is written in part is one. */
static int mail(void)
{
    pmix_info_t info[2];
    pmix_status_t rc;

    check(PMIx_Init(&me, NULL, 0), "init");
    PMIX_INFO_LOAD(&info[0], PMIX_LOG_EMAIL, "mailed", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_LOG_STDERR, "written\n", PMIX_STRING);
    rc = PMIx_Log(info, 1, NULL, 0);
    printf("rank %u: mail: %s\n", me.rank, PMIx_Error_string(rc));
    check(PMIx_Log(info, 2, NULL, 0), "log");
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    check(PMIx_Finalize(NULL, 0), "finalize");
    return 0;
}

static void publish_for_one(const char *key)
{
    pmix_persistence_t first_read = PMIX_PERSIST_FIRST_READ;
    pmix_info_t info[2];

    PMIX_INFO_LOAD(&info[0], key, "1", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &first_read, PMIX_PERSIST);
    check(PMIx_Publish(info, 2), "publish");
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
}

/* Rank 0 publishes what rank 1 publishes, too, and ends: the word that rank 1
 * waits for then is not for rank 0. */
static int turns(void)
{
    pmix_pdata_t found;
    pmix_info_t info;
    int all = 0;

    check(PMIx_Init(&me, NULL, 0), "init");
    if (me.rank == 0) {
        publish_for_one("probe.ready");
    }
    fence(NULL, 0, false);
    if (me.rank == 1) {
        publish_for_one("probe.ready");
        PMIX_INFO_LOAD(&info, PMIX_WAIT, &all, PMIX_INT);
        PMIX_PDATA_CONSTRUCT(&found);
        PMIX_LOAD_KEY(found.key, "probe.word");
        check(PMIx_Lookup(&found, 1, &info, 1), "lookup");
        PMIX_PDATA_DESTRUCT(&found);
        PMIX_INFO_DESTRUCT(&info);
    } else if (me.rank > 1) {
        publish_for_one("probe.word");
    }
    check(PMIx_Finalize(NULL, 0), "finalize");
    printf("rank %u is done\n", me.rank);
    return 0;
}

static void *publish_often(void *arg)
{
    enum { TIMES = 600 };
    char name[64], *keys[] = {name, NULL};
    pmix_pdata_t found;
    pmix_info_t info;

    snprintf(name, sizeof name, "probe.%u.%zu", me.rank, *(size_t *)arg);
    for (int i = 0; i < TIMES; i++) {
        PMIX_INFO_LOAD(&info, name, "1", PMIX_STRING);
        check(PMIx_Publish(&info, 1), "publish");
        PMIX_INFO_DESTRUCT(&info);
        PMIX_PDATA_CONSTRUCT(&found);
        PMIX_LOAD_KEY(found.key, name);
        check(PMIx_Lookup(&found, 1, NULL, 0), "lookup");
        PMIX_PDATA_DESTRUCT(&found);
        check(PMIx_Unpublish(keys, NULL, 0), "unpublish");
    }
    return NULL;
}

/* Several threads that wait for answers: each gets its own. */
static int threads(void)
{
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    size_t number[THREADS];

    check(PMIx_Init(&me, NULL, 0), "init");
    for (size_t i = 0; i < THREADS; i++) {
        number[i] = i;
        if (pthread_create(&thread[i], NULL, publish_often, &number[i]) != 0) {
            return 1;
        }
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    check(PMIx_Finalize(NULL, 0), "finalize");
    printf("rank %u has its answers\n", me.rank);
    return 0;
}

int main(int argc, char **argv)
{
    uint32_t peers;

    if (argc > 1 && strcmp(argv[1], "logs") == 0) {
        return logs();
    }
    if (argc > 1 && strcmp(argv[1], "mail") == 0) {
        return mail();
    }
    if (argc > 1 && strcmp(argv[1], "turns") == 0) {
        return turns();
    }
    if (argc > 1 && strcmp(argv[1], "threads") == 0) {
        return threads();
    }
    if (argc > 1 && strcmp(argv[1], "in-part") == 0) {
        return in_part();
    }

    check(PMIx_Init(&me, NULL, 0), "init");
    size = job_u32(PMIX_JOB_SIZE);
    peers = job_u32(PMIX_LOCAL_SIZE);
    if (size > 1) {
        get_in_time();
    }
    modex();
    if (size > 1) {
        fence_of_two();
        names();
    }
    leave_to_others();
    leave_to_servers();
    take_back();
    connect_all();
    if (size > 1 && argc > 1 && strcmp(argv[1], "groups") == 0) {
        groups();
    }
    events();
    if (size > 1) {
        fence_in_time();
    }
    check(PMIx_Finalize(NULL, 0), "finalize");
    printf("rank %u of %u, %u here\n", me.rank, size, peers);
    return 0;
}
