/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* An inventory as an agent sends it, and the text of --fabric. What was
 * understood is chosen from, and encodes to the same bytes again. */

#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/fabric/choose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void choose(const struct hb_fabric *f)
{
    const struct hb_fabric_host hosts[] = {{"a", f}, {"b", f}};
    const struct hb_fabric_wish wish = {.kind = HB_FABRIC_AUTO};
    struct hb_fabric_plan plan;

    if (hb_fabric_agree(&wish, hosts, 2, &plan, NULL) >= 0) {
        hb_fabric_plan_destroy(&plan);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = hb_xstrndup((const char *)data, size);
    struct hb_fabric_wish wish;
    struct hb_fabric f;
    struct hb_buf view, again;
    struct hpcboot_error err;

    (void)hb_fabric_wish_parse(text, &wish, &err);
    hb_buf_view(&view, data, size);
    if (hb_fabric_decode(&f, &view, &err) >= 0) {
        hb_buf_init(&again, HB_FABRIC_BYTES_MAX);
        hb_fabric_encode(&f, &again);
        if (again.len != size || memcmp(again.data, data, size) != 0) {
            abort();
        }
        hb_buf_destroy(&again);
        choose(&f);
        hb_fabric_clear(&f);
    }
    free(text);
    return 0;
}
