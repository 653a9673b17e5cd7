/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* This host alone: what is left when no other source has hosts. */

#include "config.h"

#include "hostfile/source.h"

#include "lib/base/str.h"

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    hb_gang_add_local_at(out, hb_source_root(req));
    out->detail = hb_xstrdup("no source names hosts, so this host runs "
                             "everything");
    return 1;
}

const struct hb_source hb_source_local = {.name = "this host", .ask = ask};
