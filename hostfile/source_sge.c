/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hosts of a Grid Engine job (SGE, UGE, OGE): PE_HOSTFILE names a file
 *
 *   line := host slots queue processors
 *
 * with a line per queue instance, so that a host may stand there more than
 * once; its slots add up. Processors are UNDEFINED, <NULL> or a range, and
 * are not used: what a host may use is seen there. JOB_ID and NSLOTS stand
 * beside it. */

#include "config.h"

#include "hostfile/source.h"

#include <string.h>

#include "hostfile/dialect.h"
#include "hostfile/sge.h"
#include "lib/base/str.h"

#define BLANKS " \t"

static int read_line(struct hb_build *b, const struct hb_lines *lines, char *p,
                     struct hpcboot_error *err)
{
    struct hb_mentioned m = {.name = p};
    char *save = NULL, *slots;
    uint64_t n;

    strtok_r(p, BLANKS, &save);
    slots = strtok_r(NULL, BLANKS, &save);
    if (slots == NULL || hb_parse_u64(slots, 1, HB_MAX_SLOTS, &n) < 0) {
        return hb_lines_fail(lines, slots != NULL ? slots : p + strlen(p), err,
                             "expected a number of slots after the host");
    }
    m.slots = (int)n;
    return hb_build_add(b, lines, &m, err);
}

static int sge_read(struct hb_build *b, struct hb_lines *lines,
                    struct hpcboot_error *err)
{
    return hb_form_each_line(b, lines, read_line, err);
}

const struct hb_form hb_form_sge = {
    .name = "sge",
    .title = "Grid Engine PE_HOSTFILE",
    .tally = HB_TALLY_EACH,
    .read = sge_read,
};

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    if (hb_source_env(req, "JOB_ID") == NULL ||
        hb_source_env(req, "NSLOTS") == NULL) {
        *reason_out = hb_xstrdup("JOB_ID and NSLOTS are not both set");
        return 0;
    }
    return hb_source_read_named(req, "Grid Engine", "PE_HOSTFILE", &hb_form_sge,
                                out, reason_out, err);
}

const struct hb_source hb_source_sge = {
    .name = "Grid Engine", .own_hosts = 1, .ask = ask};
