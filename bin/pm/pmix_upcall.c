/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Upcalls of libpmix. Each one copies what it was given (libpmix owns it and
 * may free it after the return), queues an event and returns PMIX_SUCCESS,
 * which is the promise that its callback will be called. Nothing but events is
 * answered on the spot: MPICH's group fence takes PMIX_OPERATION_SUCCEEDED for
 * an error, and versions of libpmix differ in where they accept it.
 *
 * What is not offered is left NULL, or refused by its return value; libpmix
 * then tells the client. Groups are offered by pmix_group.c. Log must
 * be served: Open MPI 5 gives all its error texts to it, and where it is
 * refused they are lost. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/pm/pmix_impl.h"
#include "lib/base/str.h"

#define CONTACT_CONNECTED 1u
#define CONTACT_INITIALISED 2u
#define CONTACT_FINALISED 4u
#define NO_TEXT "N/A" /* what Open MPI says where it has nothing to say */

/* ---- making events ------------------------------------------------------- */

static struct hb_pmix_event *event(hb_pmix_run run, const pmix_proc_t *proc)
{
    struct hb_pmix_event *ev = hb_xcalloc(1, sizeof(*ev));

    ev->run = run;
    if (proc != NULL) {
        ev->proc = *proc;
    }
    return ev;
}

void hb_pmix_take_procs(struct hb_pmix_event *ev, const pmix_proc_t *procs,
                        size_t n)
{
    ev->procs = hb_xcalloc(n + 1, sizeof(*procs));
    if (n > 0) {
        memcpy(ev->procs, procs, n * sizeof(*procs));
    }
    ev->n_procs = n;
}

void hb_pmix_take_infos(struct hb_pmix_event *ev, const pmix_info_t *infos,
                        size_t n)
{
    if (n == 0) {
        return;
    }
    PMIX_INFO_CREATE(ev->infos, n);
    for (size_t i = 0; i < n; i++) {
        PMIX_INFO_XFER(&ev->infos[i], (pmix_info_t *)&infos[i]);
    }
    ev->n_infos = n;
}

static void take_keys(struct hb_pmix_event *ev, char **keys)
{
    size_t n = 0;

    while (keys != NULL && keys[n] != NULL) {
        n++;
    }
    if (keys == NULL) {
        return;
    }
    ev->keys = hb_xcalloc(n + 1, sizeof(*ev->keys));
    for (size_t i = 0; i < n; i++) {
        ev->keys[i] = hb_xstrdup(keys[i]);
    }
}

static void take_data(struct hb_pmix_event *ev, const void *data, size_t len)
{
    ev->data = hb_xmalloc(len + 1);
    if (len > 0) {
        memcpy(ev->data, data, len);
    }
    ev->data[len] = '\0';
    ev->len = len;
}

static pmix_status_t post_op(struct hb_pmix_event *ev, pmix_op_cbfunc_t cb,
                             void *cbdata)
{
    ev->op = cb;
    ev->cbdata = cbdata;
    hb_pmix_post(ev);
    return PMIX_SUCCESS;
}

static void answer_op(const struct hb_pmix_event *ev, pmix_status_t rc)
{
    /* Before 5.0.8 libpmix passes none where it does not wait. */
    hb_pmix_answer(ev->op, rc, ev->cbdata);
}

static void run_success(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    answer_op(ev, PMIX_SUCCESS);
}

/* ---- life of a rank ------------------------------------------------------ */

static void run_connected(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    if (hb_pmix_is_local(pm, &ev->proc)) {
        pm->host.contact(pm->arg, ev->proc.rank,
                         CONTACT_CONNECTED | CONTACT_INITIALISED);
    }
    answer_op(ev, PMIX_SUCCESS);
}

static pmix_status_t client_connected2(const pmix_proc_t *proc, void *object,
                                       pmix_info_t info[], size_t n,
                                       pmix_op_cbfunc_t cb, void *cbdata)
{
    return post_op(event(run_connected, proc), cb, cbdata);
}

static void run_finalized(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    if (hb_pmix_is_local(pm, &ev->proc)) {
        pm->host.contact(pm->arg, ev->proc.rank,
                         CONTACT_CONNECTED | CONTACT_INITIALISED |
                             CONTACT_FINALISED);
    }
    answer_op(ev, PMIX_SUCCESS);
}

static pmix_status_t client_finalized(const pmix_proc_t *proc, void *object,
                                      pmix_op_cbfunc_t cb, void *cbdata)
{
    return post_op(event(run_finalized, proc), cb, cbdata);
}

/* The client waits for the answer and then exits by itself, so it is told
 * after the job has been. */
static void run_abort(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    if (hb_pmix_is_local(pm, &ev->proc)) {
        int no_text = strcmp(ev->data, NO_TEXT) == 0;

        pm->host.abort(pm->arg, ev->proc.rank, ev->status,
                       no_text ? "" : ev->data);
    }
    answer_op(ev, PMIX_SUCCESS);
}

static pmix_status_t client_abort(const pmix_proc_t *proc, void *object,
                                  int status, const char msg[],
                                  pmix_proc_t procs[], size_t n_procs,
                                  pmix_op_cbfunc_t cb, void *cbdata)
{
    struct hb_pmix_event *ev = event(run_abort, proc);

    ev->status = status;
    take_data(ev, msg, msg != NULL ? strlen(msg) : 0);
    return post_op(ev, cb, cbdata);
}

/* ---- collectives and data ------------------------------------------------ */

static pmix_status_t fence_nb(const pmix_proc_t procs[], size_t n_procs,
                              const pmix_info_t info[], size_t n_info,
                              char *data, size_t n_data,
                              pmix_modex_cbfunc_t cb, void *cbdata)
{
    struct hb_pmix_event *ev = event(hb_pmix_run_collective, NULL);

    ev->word = "fence";
    hb_pmix_take_procs(ev, procs, n_procs);
    hb_pmix_take_infos(ev, info, n_info);
    take_data(ev, data, data != NULL ? n_data : 0);
    ev->modex = cb;
    ev->cbdata = cbdata;
    hb_pmix_post(ev);
    return PMIX_SUCCESS;
}

static pmix_status_t connect_procs(const pmix_proc_t procs[], size_t n_procs,
                                   const pmix_info_t info[], size_t n_info,
                                   pmix_op_cbfunc_t cb, void *cbdata)
{
    struct hb_pmix_event *ev = event(hb_pmix_run_collective, NULL);

    ev->word = HB_PMIX_CONNECT;
    hb_pmix_take_procs(ev, procs, n_procs);
    hb_pmix_take_infos(ev, info, n_info);
    return post_op(ev, cb, cbdata);
}

static pmix_status_t disconnect_procs(const pmix_proc_t procs[],
                                      size_t n_procs, const pmix_info_t info[],
                                      size_t n_info, pmix_op_cbfunc_t cb,
                                      void *cbdata)
{
    struct hb_pmix_event *ev = event(hb_pmix_run_collective, NULL);

    ev->word = HB_PMIX_DISCONNECT;
    hb_pmix_take_procs(ev, procs, n_procs);
    hb_pmix_take_infos(ev, info, n_info);
    return post_op(ev, cb, cbdata);
}

static pmix_status_t direct_modex(const pmix_proc_t *proc,
                                  const pmix_info_t info[], size_t n_info,
                                  pmix_modex_cbfunc_t cb, void *cbdata)
{
    struct hb_pmix_event *ev = event(hb_pmix_run_modex, proc);

    hb_pmix_take_infos(ev, info, n_info);
    ev->modex = cb;
    ev->cbdata = cbdata;
    hb_pmix_post(ev);
    return PMIX_SUCCESS;
}

/* ---- names --------------------------------------------------------------- */

static pmix_status_t publish(const pmix_proc_t *proc, const pmix_info_t info[],
                             size_t n_info, pmix_op_cbfunc_t cb, void *cbdata)
{
    struct hb_pmix_event *ev = event(hb_pmix_run_publish, proc);

    hb_pmix_take_infos(ev, info, n_info);
    return post_op(ev, cb, cbdata);
}

static pmix_status_t lookup(const pmix_proc_t *proc, char **keys,
                            const pmix_info_t info[], size_t n_info,
                            pmix_lookup_cbfunc_t cb, void *cbdata)
{
    struct hb_pmix_event *ev = event(hb_pmix_run_lookup, proc);

    take_keys(ev, keys);
    hb_pmix_take_infos(ev, info, n_info);
    ev->lookup = cb;
    ev->cbdata = cbdata;
    hb_pmix_post(ev);
    return PMIX_SUCCESS;
}

static pmix_status_t unpublish(const pmix_proc_t *proc, char **keys,
                               const pmix_info_t info[], size_t n_info,
                               pmix_op_cbfunc_t cb, void *cbdata)
{
    struct hb_pmix_event *ev = event(hb_pmix_run_unpublish, proc);

    take_keys(ev, keys);
    return post_op(ev, cb, cbdata);
}

/* ---- spawn and log ------------------------------------------------------- */

static pmix_status_t spawn(const pmix_proc_t *proc, const pmix_info_t info[],
                           size_t n_info, const pmix_app_t apps[],
                           size_t n_apps, pmix_spawn_cbfunc_t cb,
                           void *cbdata)
{
    struct hb_pmix_event *ev = event(hb_pmix_run_spawn, proc);

    if (hb_pmix_take_apps(ev, info, n_info, apps, n_apps) < 0) {
        hb_pm_spawn_clear(&ev->spawn);
        ev->status = PMIX_ERR_BAD_PARAM;
    }
    ev->spawned = cb;
    ev->cbdata = cbdata;
    hb_pmix_post(ev);
    return PMIX_SUCCESS;
}

/* Other targets (a mail, a system log) have nobody here who would write. */
static void log_text(const pmix_proc_t *proc, const pmix_info_t data[],
                     size_t n_data, const pmix_info_t directives[], size_t n,
                     pmix_op_cbfunc_t cb, void *cbdata)
{
    struct hb_pmix_event *ev = event(hb_pmix_run_log, proc);

    hb_pmix_take_infos(ev, data, n_data);
    (void)post_op(ev, cb, cbdata);
}

/* ---- events and control -------------------------------------------------- */

/* libpmix itself tells the clients of this node, and events of other nodes come
 * here in any case, so there is nothing to subscribe to. */
static pmix_status_t register_events(pmix_status_t *codes, size_t n_codes,
                                     const pmix_info_t info[], size_t n_info,
                                     pmix_op_cbfunc_t cb, void *cbdata)
{
    return post_op(event(run_success, NULL), cb, cbdata);
}

static pmix_status_t deregister_events(pmix_status_t *codes, size_t n_codes,
                                       pmix_op_cbfunc_t cb, void *cbdata)
{
    return post_op(event(run_success, NULL), cb, cbdata);
}

/* Answered on the spot: libpmix 4.2 goes on with what it has handed over, and
 * only then tells the clients. A callback that comes meanwhile, from another
 * thread, frees that under it. */
static pmix_status_t notify_event(pmix_status_t code,
                                  const pmix_proc_t *source,
                                  pmix_data_range_t range, pmix_info_t info[],
                                  size_t n_info, pmix_op_cbfunc_t cb,
                                  void *cbdata)
{
    if (hb_pmix_event_travels(range)) {
        struct hb_pmix_event *ev = event(hb_pmix_run_event, source);

        ev->status = code;
        ev->range = range;
        hb_pmix_take_infos(ev, info, n_info);
        hb_pmix_post(ev);
    }
    return PMIX_OPERATION_SUCCEEDED;
}

/* What libpmix can answer of a query it has answered before it asks here. */
static pmix_status_t query(pmix_proc_t *proc, pmix_query_t *queries, size_t n,
                           pmix_info_cbfunc_t cb, void *cbdata)
{
    return PMIX_ERR_NOT_SUPPORTED;
}

/* Directories to clean up are libpmix's own business; the rest is refused. */
static pmix_status_t job_control(const pmix_proc_t *requestor,
                                 const pmix_proc_t targets[],
                                 size_t n_targets,
                                 const pmix_info_t directives[], size_t n,
                                 pmix_info_cbfunc_t cb, void *cbdata)
{
    return PMIX_ERR_NOT_SUPPORTED;
}

pmix_server_module_t hb_pmix_module = {
    .client_connected2 = client_connected2,
    .client_finalized = client_finalized,
    .abort = client_abort,
    .fence_nb = fence_nb,
    .direct_modex = direct_modex,
    .publish = publish,
    .lookup = lookup,
    .unpublish = unpublish,
    .spawn = spawn,
    .log = log_text,
    .connect = connect_procs,
    .disconnect = disconnect_procs,
    .register_events = register_events,
    .deregister_events = deregister_events,
    .notify_event = notify_event,
    .query = query,
    .job_control = job_control,
};
