/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* PMIx_Spawn: what a client asks for becomes plain data on libpmix's thread,
 * goes to the job on the loop thread, and the callback of libpmix is kept until
 * the spawned job runs. Its job id is its namespace.
 *
 * Of the many attributes those are passed on that say where a program is, with
 * which variables, and on which hosts; the others concern launchers that place
 * and bind by them, or say what is so anyway (output is forwarded). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/pm/pmix_impl.h"
#include "lib/base/str.h"

/* "Spawned processes will not call PMIx_Init"; deprecated, and what Open MPI
 * makes of ompi_non_mpi. */
#define NON_PMI "pmix.nonpmi"

struct hb_pmix_spawning {
    struct hb_pmix_spawning *next;
    uint64_t id;
    pmix_status_t mistake; /* of who asks; or PMIX_SUCCESS */
    pmix_spawn_cbfunc_t cb;
    void *cbdata;
};

void hb_pmix_spawns_destroy(struct hb_pm *pm)
{
    while (pm->spawning != NULL) {
        struct hb_pmix_spawning *s = pm->spawning;

        pm->spawning = s->next;
        free(s);
    }
    hb_strv_destroy(&pm->nspaces);
}

/* ---- on libpmix's thread ------------------------------------------------- */

/* What is put before or behind a value is so with a colon alone. */
static int take_variable(struct hb_pm_spawn *s, const char *hint,
                         const pmix_envar_t *v)
{
    char *text;
    int rc;

    if (v->envar == NULL || (strcmp(hint, "env") != 0 &&
                             v->separator != ':' && v->separator != '\0')) {
        return HPCBOOT_OK;
    }
    text = hb_xasprintf("%s=%s", v->envar, v->value != NULL ? v->value : "");
    rc = hb_pm_spawn_hint(s, hint, text, NULL);
    free(text);
    return rc;
}

/* NULL: it is none about a variable. */
static const char *variable_hint(const pmix_info_t *info)
{
    return info->value.type != PMIX_ENVAR              ? NULL
           : PMIX_CHECK_KEY(info, PMIX_SET_ENVAR)      ? "env"
           : PMIX_CHECK_KEY(info, PMIX_PREPEND_ENVAR)  ? "prepend-env"
           : PMIX_CHECK_KEY(info, PMIX_APPEND_ENVAR)   ? "append-env"
                                                       : NULL;
}

static int take_info(struct hb_pm_spawn *s, const pmix_info_t *info)
{
    const char *text = info->value.type == PMIX_STRING
                           ? info->value.data.string : NULL;

    if (variable_hint(info) != NULL) {
        return take_variable(s, variable_hint(info), &info->value.data.envar);
    }
    if (text != NULL && PMIX_CHECK_KEY(info, PMIX_UNSET_ENVAR)) {
        return hb_pm_spawn_hint(s, "unset-env", text, NULL);
    }
    if (text != NULL && PMIX_CHECK_KEY(info, PMIX_HOST)) {
        return hb_pm_spawn_hint(s, "host", text, NULL);
    }
    if (text != NULL && PMIX_CHECK_KEY(info, PMIX_WDIR)) {
        return hb_pm_spawn_hint(s, "wdir", text, NULL);
    }
    if (PMIX_CHECK_KEY(info, NON_PMI) && PMIX_INFO_TRUE(info)) {
        return hb_pm_spawn_hint(s, HB_SPAWN_ALONE_KEY, "yes", NULL);
    }
    return HPCBOOT_OK;
}

static int take_infos(struct hb_pm_spawn *s, const pmix_info_t *infos,
                      size_t n)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && infos != NULL && i < n; i++) {
        rc = take_info(s, &infos[i]);
    }
    return rc;
}

/* argv[0] is the program as its user called it. */
static int take_app(struct hb_pm_spawn *s, const pmix_app_t *app,
                    const pmix_info_t *infos, size_t n_infos)
{
    int rc = hb_pm_spawn_app(s, app->cmd != NULL ? app->cmd : "",
                             app->maxprocs > 0 ? (uint32_t)app->maxprocs : 0,
                             NULL);

    for (char **a = app->argv; rc == 0 && a != NULL && *a != NULL; a++) {
        rc = a != app->argv ? hb_pm_spawn_arg(s, *a, NULL) : 0;
    }
    for (char **e = app->env; rc == 0 && e != NULL && *e != NULL; e++) {
        rc = hb_pm_spawn_hint(s, "env", *e, NULL);
    }
    if (rc == 0 && app->cwd != NULL) {
        rc = hb_pm_spawn_hint(s, "wdir", app->cwd, NULL);
    }
    if (rc == 0) {
        rc = take_infos(s, infos, n_infos);
    }
    return rc < 0 ? rc : take_infos(s, app->info, app->ninfo);
}

int hb_pmix_take_apps(struct hb_pmix_event *ev, const pmix_info_t *infos,
                      size_t n_infos, const pmix_app_t *apps, size_t n_apps)
{
    int rc = n_apps > 0 ? 0 : HPCBOOT_ERR_USAGE;

    for (size_t i = 0; rc == 0 && i < n_apps; i++) {
        rc = take_app(&ev->spawn, &apps[i], infos, n_infos);
    }
    return rc;
}

/* ---- on the loop thread -------------------------------------------------- */

/* What nobody can start is asked for as nothing: the job is to know of each
 * call that fails, as others may wait in it. */
void hb_pmix_run_spawn(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    struct hb_pmix_spawning *s;

    if (!hb_pmix_is_local(pm, &ev->proc)) {
        ev->spawned(PMIX_ERR_NOT_SUPPORTED, NULL, ev->cbdata);
        return;
    }
    s = hb_xcalloc(1, sizeof(*s));
    s->id = ++pm->last_id;
    s->mistake = ev->status;
    s->cb = ev->spawned;
    s->cbdata = ev->cbdata;
    s->next = pm->spawning;
    pm->spawning = s;
    pm->host.spawn(pm->arg, s->id, ev->proc.rank, &ev->spawn);
}

/* libpmix copies the namespace on its own thread, later. */
static char *kept_nspace(struct hb_pm *pm, const char *job_id)
{
    hb_strv_push(&pm->nspaces, job_id);
    return pm->nspaces.v[pm->nspaces.n - 1];
}

void hb_pmix_spawn_done(struct hb_pm *pm, uint64_t id,
                        const struct hb_pm_spawned *answer)
{
    struct hb_pmix_spawning **at = &pm->spawning, *s;

    while (*at != NULL && (*at)->id != id) {
        at = &(*at)->next;
    }
    s = *at;
    if (s == NULL) {
        return;
    }
    *at = s->next;
    if (answer->status < 0) {
        s->cb(s->mistake != PMIX_SUCCESS ? s->mistake
                                         : PMIX_ERR_JOB_FAILED_TO_LAUNCH,
              NULL, s->cbdata);
    } else {
        s->cb(PMIX_SUCCESS, kept_nspace(pm, answer->job_id), s->cbdata);
    }
    free(s);
}
