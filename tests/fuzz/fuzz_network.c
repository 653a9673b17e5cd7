/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Files that say how hosts are connected: whatever they hold, the order names
 * each host once. */

#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "bin/job/network.h"
#include "lib/base/str.h"

#define HOSTS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[HOSTS] = {"a", "n01", "n02.x", "10.0.0.1"};
    char *text = hb_xstrndup((const char *)data, size);
    uint32_t order[HOSTS] = {0}, leaf[HOSTS], unknown, seen = 0;
    struct hpcboot_error err;

    if (hb_network_order("f", text, names, HOSTS, order, leaf, &unknown,
                         &err) >= 0) {
        for (int i = 0; i < HOSTS; i++) {
            seen |= 1u << order[i];
        }
        if (seen != (1u << HOSTS) - 1) {
            abort();
        }
    }
    free(text);
    return 0;
}
