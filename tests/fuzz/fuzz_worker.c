/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What a rank of Horovod puts at the key-value server, out of base64: what is
 * taken names a port, and one that is cut short anywhere is not taken. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "bin/recipe/worker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_worker w = {.port = 0};
    size_t n = 0;

    if (hb_worker_read(&w, data, size) < 0) {
        return 0;
    }
    while (n <= size && hb_worker_read(&w, data, n) < 0) {
        n++;
    }
    if (w.port == 0 || n == 0 || n > size || data[n - 1] != '.') {
        abort();
    }
    return 0;
}
