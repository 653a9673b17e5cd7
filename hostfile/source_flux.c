/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hosts of a Flux job or instance. No variable holds them: Flux is asked
 * for the resource set R, of the job in FLUX_JOB_ID, else of the instance at
 * FLUX_URI (a shell of flux alloc or flux batch). R has a node list in the
 * order of ranks, and sets of ranks with equal children; slots are cores.
 *
 * Kubeflow Trainer's flux runtime starts programs by Flux and ends here. */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/command.h"
#include "hostfile/flux.h"
#include "hostfile/json.h"
#include "hostfile/range.h"
#include "lib/base/str.h"

/* R of some thousand hosts is far below a megabyte. */
#define MAX_BYTES (16u << 20)
/* No host has more cores. */
#define MAX_CORES 65536u

/* "0-3,7" as numbers; negative when it is no id set. */
static int id_set(const char *text, size_t max, struct hb_strv *out)
{
    char *range = hb_xasprintf("[%s]", text);
    const char *expected;
    size_t at;
    int rc = strpbrk(text, "[]") != NULL
                 ? HPCBOOT_ERR_PARSE
                 : hb_range_expand(range, max, out, &at, &expected);

    free(range);
    return rc;
}

struct rank {
    uint64_t id;
    int slots;
};

struct ranks {
    struct rank *v;
    size_t n, cap;
};

static int by_id(const void *va, const void *vb)
{
    const struct rank *a = va, *b = vb;

    return (a->id > b->id) - (a->id < b->id);
}

static void add_rank(struct ranks *all, const char *id, size_t cores)
{
    if (all->n == all->cap) {
        all->cap = all->cap > 0 ? all->cap * 2 : 64;
        all->v = hb_xrealloc(all->v, all->cap * sizeof(*all->v));
    }
    all->v[all->n++] = (struct rank){strtoull(id, NULL, 10), (int)cores};
}

static int read_ranks(const struct hb_flux_set *set, size_t max,
                      struct ranks *all, struct hpcboot_error *err)
{
    int rc = HPCBOOT_OK;

    for (size_t i = 0; rc >= 0 && i < set->ranks.n; i++) {
        struct hb_strv ranks = HB_STRV_INIT, cores = HB_STRV_INIT;
        rc = id_set(set->ranks.v[i], max, &ranks);
        if (rc >= 0) {
            rc = id_set(set->cores.v[i], MAX_CORES, &cores);
        }
        if (rc < 0) {
            hb_fail(err, rc, "Flux resource set: expected sets of numbers, "
                    "found \"%.60s\" and \"%.60s\"", set->ranks.v[i],
                    set->cores.v[i]);
        }
        for (size_t k = 0; rc >= 0 && k < ranks.n && all->n <= max; k++) {
            add_rank(all, ranks.v[k], cores.n);
        }
        hb_strv_destroy(&ranks);
        hb_strv_destroy(&cores);
    }
    return rc;
}

/* A job's ranks are those of its brokers, so they need not begin at 0: the
 * lowest belongs to the first host, and so on. */
static int add_slots(const struct hb_flux_set *set, struct hb_gang *out,
                     struct hpcboot_error *err)
{
    struct ranks all = {0};
    int rc = read_ranks(set, out->n, &all, err);

    if (rc >= 0 && (all.n != out->n || out->n_mentions != out->n)) {
        rc = hb_fail(err, HPCBOOT_ERR_PARSE, "Flux resource set: expected a "
                     "rank for each of the %zu hosts, found %zu", out->n,
                     all.n);
    }
    if (rc >= 0) {
        qsort(all.v, all.n, sizeof(*all.v), by_id);
    }
    for (size_t i = 0; rc >= 0 && i < all.n; i++) {
        out->hosts[i].slots = all.v[i].slots;
        out->mentions[i].slots = (uint32_t)all.v[i].slots;
        out->mentions[i].stated = 1;
    }
    free(all.v);
    return rc;
}

int hb_flux_gang(const struct hb_gang_request *req, const char *text,
                 size_t len, struct hb_gang *out, struct hpcboot_error *err)
{
    struct hb_flux_set set = {0};
    const struct hb_gang_json *json;
    struct hb_str list = HB_STR_INIT;
    int rc = hb_gang_json_open(&json, err);

    if (rc >= 0) {
        rc = json->flux_set(text, len, &set, err);
    }
    if (rc < 0) {
        return rc;
    }
    for (size_t i = 0; i < set.nodelist.n; i++) {
        hb_str_putf(&list, "%s%s", i > 0 ? "," : "", set.nodelist.v[i]);
    }
    rc = hb_source_read_value(req, "Flux node list", hb_str_text(&list),
                              HB_TALLY_NONE, out, err);
    if (rc >= 0) {
        rc = add_slots(&set, out, err);
    }
    hb_str_destroy(&list);
    hb_flux_set_destroy(&set);
    return rc;
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    const char *job = hb_source_env(req, "FLUX_JOB_ID");
    char *of_job[] = {(char *)"flux", (char *)"job", (char *)"info",
                      (char *)job, (char *)"R", NULL};
    char *of_instance[] = {(char *)"flux", (char *)"resource", (char *)"R",
                           NULL};
    struct hpcboot_error why;
    char *text;
    size_t len;
    int rc;

    if (hb_source_env(req, "FLUX_URI") == NULL) {
        *reason_out = hb_xstrdup("FLUX_URI is not set");
        return 0;
    }
    /* A job's id is "f" and letters, or digits; never an option. */
    rc = hb_command_output(job != NULL && job[0] != '-' ? of_job : of_instance,
                           req->env, MAX_BYTES, &text, &len, &why);
    if (rc < 0) {
        *reason_out = hb_xasprintf("FLUX_URI is set, but %s", why.text);
        hb_source_note_unused(out, "Flux", why.text);
        return 0;
    }
    rc = hb_flux_gang(req, text, len, out, err);
    free(text);
    if (rc < 0) {
        return rc;
    }
    out->detail = hb_xasprintf("%zu host%s of Flux %s%.64s", out->n,
                               out->n == 1 ? "" : "s",
                               job != NULL ? "job " : "instance",
                               job != NULL ? job : "");
    return 1;
}

const struct hb_source hb_source_flux = {
    .name = "Flux", .own_hosts = 1, .ask = ask};
