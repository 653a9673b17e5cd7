/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Environments and rules from any bytes: NUL-separated entries, of which the
 * first byte says what they are (launcher, host, PID 1, rule of the job, rule
 * of the app). The result holds each name once, and nothing without one.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/proc/env.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KINDS 5
#define MAX_ENTRIES 512 /* checking for names met twice is quadratic */

static void check(const struct hb_strv *env)
{
    for (size_t i = 0; i < env->n; i++) {
        size_t len = strcspn(env->v[i], "=");

        if (len == 0 || env->v[i][len] != '=') {
            abort();
        }
        for (size_t k = 0; k < i; k++) {
            if (strncmp(env->v[k], env->v[i], len + 1) == 0) {
                abort();
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_strv sets[KINDS] = {{0}}, out = HB_STRV_INIT;
    char *copy = hb_xmalloc(size + 1);
    size_t n = 0;

    memcpy(copy, data, size);
    copy[size] = '\0';
    for (size_t at = 0; at < size && n < MAX_ENTRIES; n++) {
        if (copy[at] != '\0') {
            hb_strv_push(&sets[(uint8_t)copy[at] % KINDS], copy + at + 1);
        }
        at += strlen(copy + at) + 1;
    }
    const struct hb_env_policy policy = {
        hb_strv_view(&sets[0]), hb_strv_view(&sets[1]), hb_strv_view(&sets[2]),
        hb_strv_view(&sets[3]), hb_strv_view(&sets[4]),
    };
    char *const *const rules[] = {policy.job_rules, policy.app_rules};

    if (hb_env_compose(&policy, &out, NULL) == HPCBOOT_OK) {
        check(&out);
    }
    hb_strv_destroy(&out);
    hb_env_outgoing(policy.launcher, rules, 2, &out);
    hb_strv_destroy(&out);
    for (size_t i = 0; i < KINDS; i++) {
        hb_strv_destroy(&sets[i]);
    }
    free(copy);
    return 0;
}
