/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hosts of an LSF job, beside LSB_JOBID, from the best of
 *
 *   LSB_DJOB_HOSTFILE  a file with a line per slot
 *   LSB_MCPU_HOSTS     "h1 4 h2 2"
 *   LSB_HOSTS          "h1 h1 h2", which LSF leaves out when it gets long
 *
 * Where the site has a launch node, the job's first host is that one, with
 * one slot, and nothing tells it from a host to compute on. It is kept, and
 * --nolocal leaves it out. Variables that name other hosts, where there is no
 * blaunch, are left over from elsewhere. */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/dialect.h"
#include "hostfile/pod.h"
#include "lib/base/str.h"

#define BLANKS " \t\n"

/* The slots behind a host of LSB_MCPU_HOSTS, or -1. */
static int slots_of(const char *word)
{
    uint64_t n;

    return word != NULL && hb_parse_u64(word, 1, HB_MAX_SLOTS, &n) >= 0
               ? (int)n : -1;
}

/* Adds the hosts of "h1 4 h2 2". */
static int mcpu_hosts(const char *text, struct hb_members *m,
                      struct hpcboot_error *err)
{
    char *list = hb_xstrdup(text), *save = NULL, *count;
    int rc = HPCBOOT_OK;

    for (char *host = strtok_r(list, BLANKS, &save); host != NULL;
         host = strtok_r(NULL, BLANKS, &save)) {
        count = strtok_r(NULL, BLANKS, &save);
        m->slots = slots_of(count);
        if (m->slots < 0) {
            rc = hb_fail(err, HPCBOOT_ERR_PARSE, "LSB_MCPU_HOSTS=\"%.200s\": "
                         "behind the host %.100s %s%.100s instead of its "
                         "number of slots", text, host,
                         count != NULL ? "stands " : "the text ends",
                         count != NULL ? count : "");
            break;
        }
        hb_members_add(m, err, "%s", host);
    }
    free(list);
    return rc < 0 ? rc : m->failed;
}

static void each_word(const char *text, struct hb_members *m,
                      struct hpcboot_error *err)
{
    char *list = hb_xstrdup(text), *save = NULL;

    for (char *host = strtok_r(list, BLANKS, &save); host != NULL;
         host = strtok_r(NULL, BLANKS, &save)) {
        hb_members_add(m, err, "%s", host);
    }
    free(list);
}

static int from_variable(const struct hb_gang_request *req, const char *name,
                         const char *text, struct hb_gang *out,
                         struct hpcboot_error *err)
{
    struct hb_members m;
    int rc = HPCBOOT_OK;

    hb_members_begin(&m, name, 1);
    if (strcmp(name, "LSB_MCPU_HOSTS") == 0) {
        rc = mcpu_hosts(text, &m, err);
        m.failed = rc;
    } else {
        each_word(text, &m, err);
    }
    rc = hb_members_end(&m, req, out);
    if (rc < 0) {
        return rc;
    }
    out->detail = hb_xasprintf("%zu host%s in %s", out->n,
                               out->n == 1 ? "" : "s", name);
    return 1;
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    static const char *const names[] = {"LSB_MCPU_HOSTS", "LSB_HOSTS"};
    int rc;

    if (hb_source_env(req, "LSB_JOBID") == NULL) {
        *reason_out = hb_xstrdup("LSB_JOBID is not set");
        return 0;
    }
    rc = hb_source_read_named(req, NULL, "LSB_DJOB_HOSTFILE", &hb_form_pbs,
                              out, reason_out, err);
    for (size_t i = 0; rc == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = hb_source_env(req, names[i]);
        struct hpcboot_error why = {0};
        if (text == NULL || text[strspn(text, BLANKS)] == '\0') {
            continue;
        }
        free(*reason_out);
        *reason_out = NULL;
        rc = from_variable(req, names[i], text, out, &why);
        if (!hb_source_is_here(req, "LSF", "blaunch", rc, out, reason_out,
                               &why)) {
            return 0;
        }
        return rc < 0 ? hb_fail(err, rc, "%s", why.text) : rc;
    }
    if (rc == 0 && hb_source_env(req, "LSB_DJOB_HOSTFILE") != NULL) {
        hb_source_note_unused(out, "LSF", *reason_out);
    }
    return rc;
}

const struct hb_source hb_source_lsf = {
    .name = "LSF", .own_hosts = 1, .ask = ask};
