/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What an allgather of the user's (hpcboot_init_with) brings of other ranks:
 * any bytes. The first byte says the rank, the size of the job, and whether
 * the others say what this rank does, changed by the input, or the input. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/rdzv/client.h"
#include "tests/fuzz/rdzv_use.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WAIT_MS 1
/* Beyond either the allgather fails: ranks may say that they have put much. */
#define CALLS_MAX 64
#define BYTES_MAX (64u << 10)
#define REGION_BYTES 64u
#define ALIKE 0x10u

struct others {
    const uint8_t *data;
    size_t left;
    unsigned how;
    int rank, size, calls;
};

static uint8_t next_byte(struct others *o)
{
    if (o->left == 0) {
        return 0;
    }
    o->left--;
    return *o->data++;
}

static int allgather(void *arg, const void *mine, void *all, size_t bytes)
{
    struct others *o = arg;

    if (o->calls++ == CALLS_MAX || bytes > BYTES_MAX) {
        return -1;
    }
    for (int r = 0; r < o->size; r++) {
        uint8_t *to = (uint8_t *)all + (size_t)r * bytes;

        memcpy(to, mine, bytes);
        for (size_t i = 0; r != o->rank && i < bytes; i++) {
            to[i] = (uint8_t)((o->how & ALIKE ? to[i] : 0) ^ next_byte(o));
        }
    }
    return 0;
}

static int address(void *arg, struct hb_buf *out, struct hpcboot_error *err)
{
    hb_buf_put_str(out, "an address");
    return 0;
}

static size_t region_bytes(int n_local)
{
    return REGION_BYTES;
}

static void prepare(void *arg, struct hb_segment *memory)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned how = size > 0 ? data[0] : 0;
    struct others o = {.data = data + (size > 0), .left = size - (size > 0),
                       .how = how, .size = (int)(how >> 2 & 3) + 1};
    struct hpcboot_bootstrap b = HPCBOOT_BOOTSTRAP_INIT;
    const struct hb_rdzv_spec spec = {
        .bootstrap = &b, .deadline_ns = hb_deadline_in_ms(WAIT_MS),
        .address = address, .region_bytes = region_bytes,
        .region_small = region_bytes, .prepare = prepare};
    struct hb_rdzv *r = NULL;

    o.rank = (int)(how & 3) % o.size;
    b.rank = o.rank;
    b.size = o.size;
    b.allgather = allgather;
    b.arg = &o;
    if (hb_rdzv_with_open(&r, &spec, NULL) == 0) {
        rdzv_use(r, WAIT_MS);
    }
    return 0;
}
