/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hosts of a Cobalt job: COBALT_NODEFILE, in the form of PBS or with
 * HOST:N, beside COBALT_JOBID. */

#include "config.h"

#include "hostfile/source.h"

#include "hostfile/dialect.h"
#include "lib/base/str.h"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    if (hb_source_env(req, "COBALT_JOBID") == NULL) {
        *reason_out = hb_xstrdup("COBALT_JOBID is not set");
        return 0;
    }
    return hb_source_read_named(req, "Cobalt", "COBALT_NODEFILE", &hb_form_pbs,
                                out, reason_out, err);
}

const struct hb_source hb_source_cobalt = {
    .name = "Cobalt", .own_hosts = 1, .ask = ask};
