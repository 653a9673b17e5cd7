/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The file of --hostfile. It was named, so whatever is wrong with it is an
 * error; an empty one as well. */

#include "config.h"

#include "hostfile/source.h"
#include "lib/base/str.h"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    int rc;

    if (req->hostfile == NULL) {
        *reason_out = hb_xstrdup("not given");
        return 0;
    }
    rc = hb_source_read("", req->hostfile_form, req->hostfile, out, err);
    if (rc < 0) {
        return rc;
    }
    if (out->n == 0) {
        return hb_fail(err, HPCBOOT_ERR_PARSE, "%s:1:1: expected a host",
                       req->hostfile);
    }
    out->detail = hb_xasprintf("%zu host%s in %s", out->n,
                               out->n == 1 ? "" : "s", req->hostfile);
    return 1;
}

const struct hb_source hb_source_file = {
    .name = "--hostfile", .own_hosts = 1, .ask = ask};
