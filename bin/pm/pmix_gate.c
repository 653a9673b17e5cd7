/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Waiting on the loop thread for callbacks that come on libpmix's, where what
 * follows needs them: when a job is registered. libpmix never waits for the
 * loop thread meanwhile. */
#include "config.h"

#include "bin/pm/pmix_impl.h"

void hb_pmix_gate_add(struct hb_pmix_gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open++;
    pthread_mutex_unlock(&g->lock);
}

void hb_pmix_gate_done(pmix_status_t rc, void *gate)
{
    struct hb_pmix_gate *g = gate;

    pthread_mutex_lock(&g->lock);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED &&
        g->rc == PMIX_SUCCESS) {
        g->rc = rc;
    }
    g->open--;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

void hb_pmix_gate_called(struct hb_pmix_gate *g, pmix_status_t rc)
{
    /* Only after PMIX_SUCCESS the callback comes by itself. */
    if (rc != PMIX_SUCCESS) {
        hb_pmix_gate_done(rc, g);
    }
}

pmix_status_t hb_pmix_gate_wait(struct hb_pmix_gate *g)
{
    pmix_status_t rc;

    pthread_mutex_lock(&g->lock);
    while (g->open > 0) {
        pthread_cond_wait(&g->changed, &g->lock);
    }
    rc = g->rc;
    pthread_mutex_unlock(&g->lock);
    return rc;
}
