/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A PMIx client that goes on when another fails: rank 1 ends by SIGKILL when
 * all are there, the others wait to be told of it and say whom they lost. */
#define _GNU_SOURCE
#include <pmix.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LIMIT_S 60

static atomic_int lost = -1;

static void on_event(size_t id, pmix_status_t status,
                     const pmix_proc_t *source, pmix_info_t info[], size_t n,
                     pmix_info_t *results, size_t n_results,
                     pmix_event_notification_cbfunc_fn_t done, void *arg)
{
    for (size_t i = 0; i < n; i++) {
        int nobody = -1;

        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) {
            atomic_compare_exchange_strong(
                &lost, &nobody, (int)info[i].value.data.proc->rank);
        }
    }
    if (done != NULL) {
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
    }
}

static atomic_int registered;

static void on_registered(pmix_status_t status, size_t id, void *arg)
{
    atomic_store(&registered, 1);
}

int main(void)
{
    pmix_status_t code = PMIX_ERR_PROC_ABORTED;
    pmix_proc_t me;

    alarm(LIMIT_S);
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) {
        return 3;
    }
    PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, on_registered,
                                NULL);
    while (!atomic_load(&registered)) {
        usleep(1000);
    }
    if (PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS) {
        return 4;
    }
    if (me.rank == 1) {
        kill(getpid(), SIGKILL);
    }
    while (atomic_load(&lost) < 0) {
        usleep(1000);
    }
    printf("rank %u lost %d\n", me.rank, atomic_load(&lost));
    fflush(stdout);
    _exit(0); /* without those that are gone there is no common end */
}
