/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Any bytes as a file of parameters (--tune) and as a file of programs
 * (--app). */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/cli/optdef.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef int (*reader)(struct hb_scan *s, const char *path, const char *text,
                      size_t len, struct hpcboot_error *err);

static void run(reader read, const uint8_t *data, size_t size)
{
    struct hb_parsed *p = hb_xcalloc(1, sizeof *p);
    struct hb_options_source src = {0};
    struct hb_scan s = {.p = p, .o = &p->o, .src = &src, .origin = "",
                        .spelling = ""};
    struct hpcboot_error err;

    s.app = &s.common;
    read(&s, "file", (const char *)data, size, &err);
    free(s.ranks_as);
    free(s.common.wdir);
    free(s.common.path);
    free(s.common.host_list);
    hb_strv_destroy(&s.common.env_rules);
    hb_options_destroy(&p->o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run(hb_tune_text, data, size);
    run(hb_app_text, data, size);
    return 0;
}
