/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a rank puts is ({interface: [(address, port), ...], ...}, key), pickled.
 * The operations that such a value is made of are known here with their
 * lengths, and nothing is executed: of what they carry the first number is the
 * port (the service has one), and the string of bytes is the key. What holds
 * any other operation is refused.
 *
 * What the rank is told is a pickle of the oldest protocol, which every
 * version reads: text. */
#include "config.h"

#include "bin/recipe/worker.h"

#include <string.h>

#define MODULE "horovod.runner.elastic.worker"
#define ADDED "2" /* of HostUpdateResult; 1 is removed */

enum carries { SHAPE, NUMBER, BYTES, END };

/* Operations of protocols 2 to 5. */
static const struct operation {
    unsigned char code;
    enum carries carries;
    unsigned char fixed;  /* bytes that follow */
    unsigned char length; /* of them, bytes that count how many more do */
} operations[] = {
    {0x80, SHAPE, 1, 0},  /* PROTO */
    {0x95, SHAPE, 8, 0},  /* FRAME */
    {0x94, SHAPE, 0, 0},  /* MEMOIZE */
    {'q', SHAPE, 1, 0},   /* BINPUT */
    {'r', SHAPE, 4, 0},   /* LONG_BINPUT */
    {'h', SHAPE, 1, 0},   /* BINGET */
    {'j', SHAPE, 4, 0},   /* LONG_BINGET */
    {'}', SHAPE, 0, 0},   /* EMPTY_DICT */
    {']', SHAPE, 0, 0},   /* EMPTY_LIST */
    {'(', SHAPE, 0, 0},   /* MARK */
    {'t', SHAPE, 0, 0},   /* TUPLE */
    {0x86, SHAPE, 0, 0},  /* TUPLE2 */
    {'a', SHAPE, 0, 0},   /* APPEND */
    {'e', SHAPE, 0, 0},   /* APPENDS */
    {'s', SHAPE, 0, 0},   /* SETITEM */
    {'u', SHAPE, 0, 0},   /* SETITEMS */
    {0x8c, SHAPE, 1, 1},  /* SHORT_BINUNICODE */
    {'X', SHAPE, 4, 4},   /* BINUNICODE */
    {'K', NUMBER, 1, 0},  /* BININT1 */
    {'M', NUMBER, 2, 0},  /* BININT2 */
    {'J', NUMBER, 4, 0},  /* BININT */
    {'C', BYTES, 1, 1},   /* SHORT_BINBYTES */
    {'B', BYTES, 4, 4},   /* BINBYTES */
    {'.', END, 0, 0},     /* STOP */
};

static const struct operation *operation_of(unsigned char code)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (operations[i].code == code) {
            return &operations[i];
        }
    }
    return NULL;
}

static uint64_t little_endian(const unsigned char *data, size_t n)
{
    uint64_t value = 0;

    while (n-- > 0) {
        value = value << 8 | data[n];
    }
    return value;
}

int hb_worker_read(struct hb_worker *out, const unsigned char *data,
                   size_t len)
{
    struct hb_worker w = {.port = 0};
    int has_key = 0;

    for (size_t at = 0; at < len;) {
        const struct operation *o = operation_of(data[at++]);
        uint64_t n;

        if (o == NULL || o->fixed > len - at) {
            return -1;
        }
        n = little_endian(data + at, o->carries == NUMBER ? o->fixed
                                                          : o->length);
        at += o->fixed;
        if (o->carries == END) {
            *out = w;
            return has_key && w.port > 0 ? 0 : -1;
        }
        if (o->carries == NUMBER) {
            w.port = w.port > 0 || n > UINT16_MAX ? w.port : (uint16_t)n;
            continue;
        }
        n = o->length > 0 ? n : 0;
        if (n > len - at) {
            return -1;
        }
        if (o->carries == BYTES && n == sizeof w.key) {
            memcpy(w.key, data + at, sizeof w.key);
            has_key = 1;
        }
        at += (size_t)n;
    }
    return -1;
}

void hb_worker_hosts_added(struct hb_str *out, int64_t when_s)
{
    hb_str_putf(out, "c" MODULE "\nHostsUpdatedRequest\n(I%lld\n"
                "c" MODULE "\nHostUpdateResult\n(I" ADDED "\ntRtR.",
                (long long)when_s);
}
