/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Any text as an address. What is accepted must come back from its own
 * format, and must not look like an option.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/net/addr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = hb_xstrndup((const char *)data, size);
    struct hb_addr addr, again;
    struct hpcboot_error err;
    char *formatted;

    if (hb_addr_parse(text, &addr, &err) == HPCBOOT_OK) {
        formatted = hb_addr_format(&addr);
        if (addr.host[0] == '-' || hb_addr_parse(formatted, &again, &err) < 0
            || strcmp(addr.host, again.host) != 0 || addr.port != again.port
            || addr.is_ipv6 != again.is_ipv6) {
            abort();
        }
        free(formatted);
    }
    free(text);
    return 0;
}
