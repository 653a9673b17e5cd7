/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a probe of another host reports. Whatever was taken is judged and
 * shown. */

#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "bin/doctor/traffic.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct hb_findings found = {0};
    struct hb_str out = HB_STR_INIT;
    struct hb_traffic t;
    struct hb_json j;

    hb_traffic_init(&t, 4, names);
    for (uint32_t host = 0; host < 4; host++) {
        (void)hb_traffic_take(&t, host, (const char *)data, size, NULL);
    }
    hb_traffic_judge(&t, &found);
    hb_traffic_text(&t, &out);
    hb_json_begin(&j, &out);
    hb_json_object(&j, NULL);
    hb_traffic_json(&t, &j);
    hb_json_end_object(&j);
    hb_str_destroy(&out);
    hb_findings_destroy(&found);
    hb_traffic_destroy(&t);
    return 0;
}
