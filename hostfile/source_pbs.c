/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hosts of a PBS or Torque job: PBS_NODEFILE names a file with a line per
 * slot, beside PBS_JOBID. A variable without the other, or a file that is not
 * there, is left over from elsewhere. */

#include "config.h"

#include "hostfile/source.h"

#include "hostfile/dialect.h"
#include "lib/base/str.h"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    if (hb_source_env(req, "PBS_JOBID") == NULL) {
        *reason_out = hb_xstrdup("PBS_JOBID is not set");
        return 0;
    }
    return hb_source_read_named(req, "PBS", "PBS_NODEFILE", &hb_form_pbs,
                                out, reason_out, err);
}

const struct hb_source hb_source_pbs = {
    .name = "PBS", .own_hosts = 1, .ask = ask};
