/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Asks the sources, strongest first; the first that has hosts wins.
 *
 * One rule joins two of them: -H selects from the hosts that another source
 * knows, as in Open MPI, so that user, port, slots and key of that source
 * hold. With --hostfile every name must be in the file. A gang that was only
 * found (an operator's, a default hostfile) is left aside when -H names
 * something else: the user then means other hosts.
 *
 * Why a source was passed over is kept for the user who expected it. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/hostfile.h"
#include "hostfile/source.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

static const struct hb_source *const sources[] = {
    &hb_source_list,    &hb_source_file,    &hb_source_mpi_operator,
    &hb_source_trainer, &hb_source_default, &hb_source_local,
};
#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))

/* Asks those sources that `own_hosts` (or all) until one answers. */
static int ask_all(const struct hb_gang_request *req, int own_hosts,
                   struct hb_gang *out, struct hb_strv *passed,
                   struct hpcboot_error *err)
{
    for (size_t i = 0; i < N_SOURCES; i++) {
        const struct hb_source *s = sources[i];
        char *reason = NULL;
        int rc;
        if (own_hosts && !s->own_hosts) {
            continue;
        }
        rc = s->ask(req, out, &reason, err);
        if (rc < 0) {
            return rc;
        }
        if (rc > 0) {
            out->source = hb_xstrdup(s->name);
            return 1;
        }
        hb_strv_pushf(passed, "%s: %s", s->name, reason);
        free(reason);
    }
    return 0;
}

/* 1: *out holds the part of another source's hosts that -H selects. 0: there
 * is none. */
static int select_hosts(const struct hb_gang_request *req, struct hb_gang *out,
                        struct hb_strv *passed, struct hpcboot_error *err)
{
    struct hb_gang list = {0};
    struct hpcboot_error why;
    char *detail;
    int rc;

    rc = hb_hostfile_parse_list(req->host_list, &list, err);
    if (rc < 0) {
        return rc;
    }
    rc = ask_all(req, 1, out, passed, &why);
    if (rc > 0) {
        rc = hb_gang_filter(out, &list, &why);
        rc = rc < 0 ? rc : 1;
    }
    hb_gang_destroy(&list);
    if (rc < 0 && req->hostfile != NULL) {
        return hb_fail(err, rc, "%s", why.text);
    }
    if (rc < 0) {
        hb_strv_pushf(passed, "%s: %s",
                      out->source != NULL ? out->source : "a weaker source",
                      why.text);
        hb_gang_destroy(out);
        return 0;
    }
    if (rc > 0) {
        detail = hb_xasprintf("%s; -H selects %zu of them", out->detail,
                              out->n);
        free(out->detail);
        out->detail = detail;
    }
    return rc;
}

int hb_gang_gather(const struct hb_gang_request *req, struct hb_gang *out,
                   struct hpcboot_error *err)
{
    struct hb_strv passed = HB_STRV_INIT;
    int rc = 0;

    memset(out, 0, sizeof(*out));
    if (req->host_list != NULL && req->filter) {
        rc = select_hosts(req, out, &passed, err);
    }
    if (rc == 0) {
        rc = ask_all(req, 0, out, &passed, err);
    }
    if (rc < 0) {
        hb_gang_destroy(out);
    }
    out->n_passed = passed.n;
    out->passed_over = passed.v;
    return rc < 0 ? rc : HPCBOOT_OK;
}
