/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Hosts of the gang that are one and the same: an alias that stands in the
 * list beside the name, a name that leads to another's pod. Who they are is
 * what their agents say of the place where they run. It is no fault for sure,
 * and everything works; but the ranks share what each host should have for
 * itself, and another host may have none.
 *
 * A command that starts agents may put several on one host on purpose, as
 * Slurm does where it plays many nodes; and of two that were forked here the
 * user has said himself that they are here. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/bringup.h"
#include "bin/job/job_impl.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define NAMES_MAX_BYTES 160u /* of one line */

static int by_place(const void *a, const void *b)
{
    const struct job_host *x = *(const struct job_host *const *)a;
    const struct job_host *y = *(const struct job_host *const *)b;
    int order = strcmp(x->place, y->place);

    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

const char *job_host_place(const struct job_host *h)
{
    int known = h->place != NULL && h->place[0] != '\0';

    return known && host_way(h) != HB_BOOT_COMMAND ? h->place : NULL;
}

static size_t collect(const struct job *j, const struct job_host **out)
{
    size_t n = 0;

    for (size_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        if (h->state == HOST_READY && job_host_place(h) != NULL) {
            out[n++] = h;
        }
    }
    qsort(out, n, sizeof *out, by_place);
    return n;
}

static int is_forked(const struct job_host *h)
{
    return host_way(h) == HB_BOOT_FORK;
}

static void warn(const struct job_host *const *same, size_t n)
{
    struct hb_str names = HB_STR_INIT;
    size_t i = 0, n_forked = 0;

    for (; i < n && names.len < NAMES_MAX_BYTES; i++) {
        hb_str_putf(&names, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ",
                    same[i]->spec->name);
    }
    if (i < n) {
        hb_str_putf(&names, " and %zu more", n - i);
    }
    for (i = 0; i < n; i++) {
        n_forked += (size_t)is_forked(same[i]);
    }
    if (n_forked < n) {
        hb_log(HB_WARN, "%s are one and the same host, which counts %zu times: "
               "it is in the list under several names, or a name leads to the "
               "wrong host (ask each: ssh NAME hostname)", hb_str_text(&names),
               n);
    }
    hb_str_destroy(&names);
}

void job_warn_same(const struct job *j)
{
    const struct job_host **v = hb_xcalloc(j->gang.n + 1, sizeof *v);
    size_t n = collect(j, v);

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && hb_streq(v[i]->place, v[end]->place);
             end++) {
        }
        if (end - i > 1) {
            warn(v + i, end - i);
        }
    }
    free(v);
}
