/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hosts of -H, when they stand for themselves; gather.c lets them select
 * from another source before it comes to this. */

#include "config.h"

#include "hostfile/build.h"
#include "hostfile/source.h"
#include "lib/base/str.h"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    int rc;

    if (req->host_list == NULL) {
        *reason_out = hb_xstrdup("not given");
        return 0;
    }
    rc = hb_hostfile_parse_list(req->host_list, out, err);
    if (rc < 0) {
        return rc;
    }
    if (hb_source_root(req)[0] != '\0') {
        hb_gang_mark_local(out, hb_source_root(req));
    }
    out->detail = hb_xasprintf("%zu host%s named on the command line", out->n,
                               out->n == 1 ? "" : "s");
    return 1;
}

const struct hb_source hb_source_list = {.name = "-H", .ask = ask};
