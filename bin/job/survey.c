/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What hosts look like inside, where ranks are placed by that.
 *
 * Before anybody is contacted it is known of hosts that --topo-of describes
 * and, for a dry run, of this very host. Of the others the agents are asked
 * once all are ready: each for a signature, and the first of every signature
 * for the whole, so that a thousand equal hosts send one description. Hosts
 * that differ from the first are told of, because a job is as fast as its
 * smallest part. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bin/job/job_impl.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/topo/allowed.h"
#include "lib/topo/gpu_share.h"
#include "lib/topo/here.h"

struct job_topo {
    uint64_t signature; /* 0: described by the user */
    struct hb_topo *topo;
};

/* As agents do it. */
static void keep_listed_gpus(const struct job *j, struct hb_topo *topo)
{
    uint32_t n = j->opt->n_apps;
    struct hb_strv *env = hb_xcalloc(n + 1, sizeof *env);
    const struct hb_strv **made = hb_xcalloc(n + 1, sizeof *made);

    for (uint32_t i = 0; i < n; i++) {
        made[i] = job_app_env(j, i, NULL, &env[i], NULL) >= 0 ? &env[i] : NULL;
    }
    hb_gpus_keep_common(topo, made, n);
    for (uint32_t i = 0; i < n; i++) {
        hb_strv_destroy(&env[i]);
    }
    free(made);
    free(env);
}

static const struct hb_topo *keep(struct job *j, uint64_t signature,
                                  struct hb_topo *topo)
{
    keep_listed_gpus(j, topo);
    j->topos = hb_xrealloc(j->topos, (j->n_topos + 1) * sizeof *j->topos);
    j->topos[j->n_topos++] = (struct job_topo){signature, topo};
    return topo;
}

void job_survey_destroy(struct job *j)
{
    for (uint32_t i = 0; i < j->n_topos; i++) {
        hb_topo_destroy(j->topos[i].topo);
    }
    free(j->topos);
}

/* --- from files --------------------------------------------------- */

/* A directory is a captured system: topology.xml, and what says which CPUs
 * and what quota there are (etc/cpus, proc, sys). */
static int load_captured(const char *dir, struct hb_allowed *allowed,
                         struct hb_topo **out, struct hpcboot_error *err)
{
    char *xml = hb_xasprintf("%s/topology.xml", dir);
    struct hb_topo_request req = {.source = xml, .devices = 1};
    struct hb_cpus cpus;
    int rc = hb_allowed_cpus(dir, &cpus, err);

    req.allowed = &cpus;
    if (rc >= 0) {
        rc = hb_topo_allowed(dir, allowed, err);
    }
    if (rc >= 0) {
        rc = hb_topo_load(&req, out, err);
    }
    free(xml);
    return rc;
}

static int load_file(const char *file, struct hb_allowed *allowed,
                     struct hb_topo **out, struct hpcboot_error *err)
{
    struct hb_topo_request req = {.source = file, .devices = 1};
    struct stat st;
    int rc;

    if (stat(file, &st) == 0 && S_ISDIR(st.st_mode)) {
        return load_captured(file, allowed, out, err);
    }
    rc = hb_topo_load(&req, out, err);
    if (rc >= 0) {
        allowed->slots = allowed->cores = (*out)->level[HB_TOPO_CORE].n;
        allowed->pus = (*out)->n_pus;
    }
    return rc;
}

/* A host counts what is described as its agent would count it. */
static int count_described(struct job_host *h, const struct hb_allowed *allowed,
                           const char *file, struct hpcboot_error *err)
{
    const struct hb_topo_devices *gpu = &h->topo->device[HB_TOPO_GPU];
    uint32_t n = gpu->n - gpu->hidden, cores = allowed->cores;
    char *gpus = hb_xasprintf("%u GPU%s in %s", n, n == 1 ? "" : "s", file);
    char *cpus = allowed->origin[0] != '\0'
                     ? hb_xstrdup(allowed->origin)
                     : hb_xasprintf("%u core%s in %s", cores,
                                    cores == 1 ? "" : "s", file);
    int rc = job_host_counted(h, &(struct job_counts){
        allowed->slots, allowed->pus, allowed->quota_milli, cpus, n, gpus},
        err);

    free(cpus);
    free(gpus);
    return rc;
}

/* HOST=FILE, "*" for every host. */
static int topo_of(struct job *j, const char *text, struct hpcboot_error *err)
{
    const char *equals = strchr(text, '=');
    size_t n = equals != NULL ? (size_t)(equals - text) : 0;
    struct hb_allowed allowed = {0};
    const struct hb_topo *topo = NULL;

    if (n == 0 || equals[1] == '\0') {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--topo-of %s: expected HOST=FILE", text);
    }
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];
        struct hb_topo *read = NULL;
        int rc = 0;

        if (strncmp(text, "*=", 2) != 0 &&
            (strncmp(text, h->spec->name, n) != 0 ||
             h->spec->name[n] != '\0')) {
            continue;
        }
        if (topo == NULL) {
            rc = load_file(equals + 1, &allowed, &read, err);
            topo = rc >= 0 ? keep(j, 0, read) : NULL;
        }
        h->topo = topo;
        if (rc >= 0) {
            rc = count_described(h, &allowed, equals + 1, err);
        }
        if (rc < 0) {
            hb_error_prefix(err, rc, "--topo-of %s", text);
            err->code = HPCBOOT_ERR_USAGE;
            return HPCBOOT_ERR_USAGE;
        }
    }
    return topo != NULL ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE, "--topo-of %s: "
                                       "no host of this job has that name",
                                       text);
}

/* This very host in a dry run, where no agent will tell. */
static void look_here(struct job *j)
{
    struct hb_here here = {0};

    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (h->spec->is_local && h->topo == NULL &&
            hb_here_load(&here, NULL) >= 0) {
            h->topo = keep(j, 0, here.topo);
            here.topo = NULL;
        }
        hb_here_clear(&here);
    }
}

int job_topo_known(struct job *j, struct hpcboot_error *err)
{
    for (size_t i = 0; i < j->opt->topo_of.n; i++) {
        int rc;

        if (!j->opt->dry_run) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "--topo-of goes with "
                           "--dry-run: a job asks its hosts themselves");
        }
        rc = topo_of(j, j->opt->topo_of.v[i], err);
        if (rc < 0) {
            return rc;
        }
    }
    if (j->opt->dry_run && (hb_map_needs_inside(&j->policy) ||
                            j->bind.to != HB_BIND_NONE)) {
        look_here(j);
    }
    return 0;
}

/* --- from agents -------------------------------------------------- */

static const struct hb_topo *known(const struct job *j, uint64_t signature)
{
    for (uint32_t i = 0; i < j->n_topos; i++) {
        if (j->topos[i].signature == signature) {
            return j->topos[i].topo;
        }
    }
    return NULL;
}

static int is_missing(const struct job_host *h)
{
    return h->state == HOST_READY && h->topo == NULL;
}

static void ask_for_whole(struct job_host *h)
{
    const struct job *j = h->job;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].surveying == 2 && is_missing(&j->hosts[i]) &&
            j->hosts[i].signature == h->signature) {
            return; /* that of another one of this kind is on its way */
        }
    }
    h->surveying = 2;
    HOST_SEND(h, survey, .devices = 1, .whole = 1);
}

int job_survey(struct job *j)
{
    int asked = 0;

    if (j->map != NULL || !hb_map_needs_inside(&j->policy)) {
        return 0;
    }
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (is_missing(h) && h->surveying == 0) {
            h->surveying = 1;
            HOST_SEND(h, survey, .devices = 1, .whole = 0);
        } else if (is_missing(h) && h->signature != 0) {
            ask_for_whole(h); /* who was asked for it may be gone */
        }
        asked |= is_missing(h);
    }
    return asked;
}

/* The hosts that are not as the first one, in one line. */
static void tell_differences(const struct job *j)
{
    const struct job_host *first = NULL, *odd = NULL;
    unsigned n = 0;
    char *a, *b;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        if (h->topo == NULL) {
            continue;
        }
        first = first == NULL ? h : first;
        if (h->topo != first->topo) {
            odd = odd == NULL ? h : odd;
            n++;
        }
    }
    if (odd == NULL) {
        return;
    }
    a = hb_topo_words(first->topo);
    b = hb_topo_words(odd->topo);
    hb_log(HB_WARN, "hosts differ inside: %s has %s; %s%s %s; each is placed "
           "by its own", first->spec->name, a, odd->spec->name,
           n > 1 ? " and others have" : " has", b);
    free(a);
    free(b);
}

static int take_whole(struct job_host *h, struct hb_bytes bytes,
                      struct hpcboot_error *err)
{
    struct hb_topo *topo = NULL;
    struct hb_buf view;
    int rc;

    hb_buf_view(&view, bytes.data, bytes.len);
    rc = hb_topo_decode(&topo, &view, err);
    if (rc < 0) {
        return rc;
    }
    keep(h->job, h->signature, topo);
    for (uint32_t i = 0; i < h->job->gang.n; i++) {
        struct job_host *other = &h->job->hosts[i];

        if (is_missing(other) && other->signature == h->signature) {
            other->topo = topo;
        }
    }
    return 0;
}

int job_surveyed(struct job_host *h, const struct hb_frame *f,
                 struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct hb_msg_surveyed m;
    int rc = hb_wire_get_surveyed(f, &m, err);

    if (rc < 0 || j->phase != JOB_CONNECTING || h->topo != NULL) {
        return rc;
    }
    if (m.text[0] != '\0') {
        job_fail(j, HB_CAUSE_USAGE, 0, "host %s does not know what it looks "
                 "like inside (%s); place by slot or node", h->spec->name,
                 m.text);
        return 0;
    }
    h->signature = m.signature;
    h->topo = known(j, m.signature);
    if (h->topo == NULL && m.topology.len > 0) {
        rc = take_whole(h, m.topology, err);
    } else if (h->topo == NULL) {
        ask_for_whole(h);
    }
    for (uint32_t i = 0; rc == 0 && i < j->gang.n; i++) {
        if (is_missing(&j->hosts[i])) {
            return 0;
        }
    }
    if (rc == 0) {
        tell_differences(j);
        job_begin(j);
    }
    return rc;
}
