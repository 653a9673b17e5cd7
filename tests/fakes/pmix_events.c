/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A PMIx client that gives events and says which it heard: rank 0 gives one
 * that is for its node, one for the last rank alone, and then each rank `count`
 * for all, with a text. Each rank says how many of each kind it has heard when
 * it has heard all those that are for it; extra ones end it with 5. A victim
 * ends by SIGKILL among those for all, and the others wait for its events no
 * longer than until they hear that it is lost.
 *
 * pmix_events COUNT [VICTIM] */
#define _GNU_SOURCE
#include <pmix.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_S 100
#define RANKS_MAX 64
#define HERE PMIX_ERR_PROC_REQUESTED_ABORT
#define FOR_ONE PMIX_ERR_PROC_ABORTING
#define FOR_ALL PMIX_ERR_PROC_MIGRATE

static pmix_proc_t me;
static uint32_t size;
static int count, victim = -1;
static atomic_int here, for_one, for_all[RANKS_MAX], odd, lost, registered;

static void on_event(size_t id, pmix_status_t status,
                     const pmix_proc_t *source, pmix_info_t info[], size_t n,
                     pmix_info_t *results, size_t n_results,
                     pmix_event_notification_cbfunc_fn_t done, void *arg)
{
    char text[32];
    int right = 0;

    snprintf(text, sizeof text, "of rank %u", source->rank);
    for (size_t i = 0; i < n; i++) {
        right |= PMIX_CHECK_KEY(&info[i], "test.text") &&
                 info[i].value.type == PMIX_STRING &&
                 strcmp(info[i].value.data.string, text) == 0;
    }
    if (status == PMIX_ERR_PROC_ABORTED) {
        atomic_store(&lost, 1);
    } else if (!right || source->rank >= RANKS_MAX) {
        atomic_fetch_add(&odd, 1);
    } else if (status == HERE) {
        atomic_fetch_add(&here, 1);
    } else if (status == FOR_ONE) {
        atomic_fetch_add(&for_one, 1);
    } else {
        atomic_fetch_add(&for_all[source->rank], 1);
    }
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}

static void on_registered(pmix_status_t status, size_t id, void *arg)
{
    atomic_store(&registered, 1);
}

static void check(pmix_status_t rc, const char *what)
{
    if (rc != PMIX_SUCCESS) {
        printf("rank %u: %s: %s\n", me.rank, what, PMIx_Error_string(rc));
        exit(3);
    }
}

static void begin(void)
{
    pmix_status_t codes[] = {HERE, FOR_ONE, FOR_ALL, PMIX_ERR_PROC_ABORTED};
    pmix_proc_t job;
    pmix_value_t *v;

    check(PMIx_Init(&me, NULL, 0), "init");
    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    check(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &v), "size");
    size = v->data.uint32;
    PMIX_VALUE_RELEASE(v);
    PMIx_Register_event_handler(codes, sizeof codes / sizeof codes[0], NULL, 0,
                                on_event, on_registered, NULL);
    while (!atomic_load(&registered)) {
        usleep(1000);
    }
    check(PMIx_Fence(NULL, 0, NULL, 0), "fence");
}

static void give(pmix_status_t code, pmix_data_range_t range,
                 pmix_proc_t *to)
{
    pmix_info_t infos[2];
    char text[32];

    snprintf(text, sizeof text, "of rank %u", me.rank);
    PMIX_INFO_LOAD(&infos[0], "test.text", text, PMIX_STRING);
    if (to != NULL) {
        PMIX_INFO_LOAD(&infos[1], PMIX_EVENT_CUSTOM_RANGE, to, PMIX_PROC);
    }
    check(PMIx_Notify_event(code, &me, range, infos, to != NULL ? 2 : 1, NULL,
                            NULL), "notify");
}

static int heard_all_of(uint32_t rank)
{
    return atomic_load(&for_all[rank]) >= count ||
           ((int)rank == victim && atomic_load(&lost));
}

static void hear(void)
{
    for (uint32_t r = 0; r < size && r < RANKS_MAX; r++) {
        while (!heard_all_of(r)) {
            usleep(1000);
        }
    }
    while (me.rank == size - 1 && atomic_load(&for_one) == 0) {
        usleep(1000);
    }
}

int main(int argc, char **argv)
{
    alarm(LIMIT_S);
    count = atoi(argv[1]);
    victim = argc > 2 ? atoi(argv[2]) : -1;
    begin();
    if (me.rank == 0) {
        pmix_proc_t last;

        PMIX_LOAD_PROCID(&last, me.nspace, size - 1);
        give(HERE, PMIX_RANGE_LOCAL, NULL);
        give(FOR_ONE, PMIX_RANGE_CUSTOM, &last);
    }
    for (int i = 0; i < count; i++) {
        if ((int)me.rank == victim && i == count / 2) {
            kill(getpid(), SIGKILL);
        }
        give(FOR_ALL, i % 2 ? PMIX_RANGE_GLOBAL : PMIX_RANGE_SESSION, NULL);
    }
    hear();
    if (victim < 0) {
        check(PMIx_Fence(NULL, 0, NULL, 0), "fence");
    }
    for (uint32_t r = 0; r < size; r++) {
        odd += atomic_load(&for_all[r]) > count;
    }
    printf("rank %u: here %d, for one %d, odd %d\n", me.rank, here, for_one,
           odd);
    fflush(stdout);
    if (victim >= 0) {
        _exit(0); /* without the one that is gone there is no common end */
    }
    check(PMIx_Finalize(NULL, 0), "finalize");
    return odd > 0 ? 5 : 0;
}
