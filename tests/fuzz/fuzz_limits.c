/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Resource limits as a launcher sends them: one on each line.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/proc/limits.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int get(void *arg, int resource, struct rlimit *out)
{
    out->rlim_cur = 100;
    out->rlim_max = 1000;
    return 0;
}

static int may_raise(void *arg, int resource, const struct rlimit *value)
{
    return value->rlim_max % 2 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct hb_limits_host host = {get, may_raise, NULL};
    struct hb_strv texts = HB_STRV_INIT, refused = HB_STRV_INIT;
    struct hb_proc_limit *limits = NULL;
    char *copy = hb_xstrndup((const char *)data, size);
    char *save = NULL;
    size_t n = 0, i;

    for (char *t = strtok_r(copy, "\n", &save); t != NULL;
         t = strtok_r(NULL, "\n", &save)) {
        hb_strv_push(&texts, t);
    }
    if (hb_limits_parse_on(&host, hb_strv_view(&texts), &limits, &n, &refused,
                           NULL) == HPCBOOT_OK) {
        for (i = 0; i < n; i++) {
            if (limits[i].value.rlim_cur > limits[i].value.rlim_max) {
                abort();
            }
        }
    }
    free(limits);
    free(copy);
    hb_strv_destroy(&texts);
    hb_strv_destroy(&refused);
    return 0;
}
