/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The module that speaks to libpmix as a client; see pmixlib.h. */
#include "config.h"

#include "lib/rdzv/pmixlib.h"

#include <pmix.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000L
/* Between two looks at what else is under way: something, nothing. */
#define LEAST_NS 1000000L
#define MOST_NS 100000000L

static pmix_proc_t self;

static int lib_init(uint32_t *rank_out, uint32_t *size_out)
{
    pmix_proc_t job;
    pmix_value_t *value = NULL;
    pmix_status_t rc = PMIx_Init(&self, NULL, 0);

    if (rc != PMIX_SUCCESS) {
        return rc;
    }
    PMIX_LOAD_PROCID(&job, self.nspace, PMIX_RANK_WILDCARD);
    rc = PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value);
    if (rc != PMIX_SUCCESS || value->type != PMIX_UINT32) {
        (void)PMIx_Finalize(NULL, 0);
        return rc != PMIX_SUCCESS ? rc : PMIX_ERR_TYPE_MISMATCH;
    }
    *rank_out = self.rank;
    *size_out = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return 0;
}

static int lib_put(const char *key, const void *data, size_t len)
{
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    pmix_status_t rc;

    value.data.bo.bytes = (char *)(uintptr_t)data;
    value.data.bo.size = len;
    rc = PMIx_Put(PMIX_GLOBAL, key, &value);
    return rc == PMIX_SUCCESS ? PMIx_Commit() : rc;
}

struct fence {
    pthread_mutex_t lock;
    pthread_cond_t over;
    int done;
    pmix_status_t status;
};

/* On a thread of libpmix's. */
static void on_fence(pmix_status_t status, void *arg)
{
    struct fence *f = arg;

    pthread_mutex_lock(&f->lock);
    f->status = status;
    f->done = 1;
    pthread_cond_signal(&f->over);
    pthread_mutex_unlock(&f->lock);
}

/* 1: it is over. */
static int wait_once(struct fence *f, long most_ns)
{
    struct timespec until;
    int done;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += most_ns;
    until.tv_sec += until.tv_nsec / NS_PER_S;
    until.tv_nsec %= NS_PER_S;
    pthread_mutex_lock(&f->lock);
    if (!f->done) {
        (void)pthread_cond_clockwait(&f->over, &f->lock, CLOCK_MONOTONIC,
                                     &until);
    }
    done = f->done;
    pthread_mutex_unlock(&f->lock);
    return done;
}

static void wait_for(struct fence *f, int (*work)(void))
{
    int moved;

    do {
        moved = work != NULL ? work() : -1;
    } while (!wait_once(f, moved > 0 ? 0 : moved < 0 ? MOST_NS : LEAST_NS));
}

static int lib_fence(int collect, int timeout_s, int (*work)(void))
{
    struct fence f = {.lock = PTHREAD_MUTEX_INITIALIZER,
                      .over = PTHREAD_COND_INITIALIZER};
    pmix_proc_t all;
    pmix_info_t info[2];
    bool yes = collect != 0;
    pmix_status_t rc;

    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &timeout_s, PMIX_INT);
    rc = PMIx_Fence_nb(&all, 1, info, timeout_s > 0 ? 2 : 1, on_fence, &f);
    if (rc == PMIX_SUCCESS) {
        wait_for(&f, work);
        rc = f.status;
    } else if (rc == PMIX_OPERATION_SUCCEEDED) {
        rc = PMIX_SUCCESS;
    }
    pthread_cond_destroy(&f.over);
    pthread_mutex_destroy(&f.lock);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    return rc;
}

static int lib_get(uint32_t rank, const char *key, void **data_out,
                   size_t *len_out)
{
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    pmix_status_t rc;
    char *copy;

    PMIX_LOAD_PROCID(&proc, self.nspace, rank);
    rc = PMIx_Get(&proc, key, NULL, 0, &value);
    if (rc != PMIX_SUCCESS) {
        return rc;
    }
    if (value->type != PMIX_BYTE_OBJECT) {
        PMIX_VALUE_RELEASE(value);
        return PMIX_ERR_TYPE_MISMATCH;
    }
    copy = malloc(value->data.bo.size + 1);
    if (copy != NULL && value->data.bo.size > 0) {
        memcpy(copy, value->data.bo.bytes, value->data.bo.size);
    }
    *data_out = copy;
    *len_out = value->data.bo.size;
    PMIX_VALUE_RELEASE(value);
    return copy != NULL ? 0 : PMIX_ERR_NOMEM;
}

static int lib_finalize(void)
{
    return PMIx_Finalize(NULL, 0);
}

static const char *lib_text(int status)
{
    return PMIx_Error_string(status);
}

const struct hb_pmixlib hb_pmixlib = {
    .init = lib_init, .put = lib_put, .fence = lib_fence, .get = lib_get,
    .finalize = lib_finalize, .text = lib_text,
    .timed_out = PMIX_ERR_TIMEOUT, .not_found = PMIX_ERR_NOT_FOUND,
};
