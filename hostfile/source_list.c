/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hosts of -H, when they stand for themselves; gather.c lets them select
 * from another source before it comes to this. */

#include "config.h"

#include "hostfile/build.h"
#include "hostfile/source.h"
#include "lib/base/str.h"

/* Only counts that were written stay: the other hosts are counted there. */
static void count_hosts(struct hb_gang *list)
{
    for (size_t i = 0; i < list->n; i++) {
        list->hosts[i].slots = 0;
    }
    for (size_t i = 0; i < list->n_mentions; i++) {
        struct hb_host *h = &list->hosts[list->mentions[i].host];

        if (list->mentions[i].stated) {
            h->slots += (int)list->mentions[i].slots;
        } else {
            list->mentions[i].slots = 0;
        }
    }
}

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
    if (req->count_list) {
        count_hosts(out);
    }
    if (hb_source_root(req)[0] != '\0') {
        hb_gang_mark_local(out, hb_source_root(req));
    }
    out->detail = hb_xasprintf("%zu host%s named on the command line", out->n,
                               out->n == 1 ? "" : "s");
    return 1;
}

const struct hb_source hb_source_list = {.name = "-H", .ask = ask};
