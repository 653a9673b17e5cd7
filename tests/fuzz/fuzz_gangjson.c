/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Any bytes as TF_CONFIG, as a resource set of Flux, as a token's claims. */

#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "hostfile/json.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct hb_gang_json hb_gang_json;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_tf_config config = {.members = HB_STRV_INIT};
    struct hb_flux_set set = {.nodelist = HB_STRV_INIT};
    struct hpcboot_error err = {0};
    char *text = hb_xstrndup((const char *)data, size);
    char *pod = NULL, *space = NULL;

    if (hb_gang_json.tf_config(text, &config, &err) < 0 &&
        (config.members.n != 0 || err.text[0] == '\0')) {
        abort();
    }
    if (hb_gang_json.flux_set((const char *)data, size, &set, &err) < 0 &&
        (set.nodelist.n != 0 || set.ranks.n != 0)) {
        abort();
    }
    if (set.ranks.n != set.cores.n) {
        abort();
    }
    hb_gang_json.token_pod((const char *)data, size, &pod, &space);
    free(pod);
    free(space);
    hb_tf_config_destroy(&config);
    hb_flux_set_destroy(&set);
    free(text);
    return 0;
}
