/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The ELF reader on any bytes. */
#include "config.h"

#include <string.h>

#include "bin/pm/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t size;
};

static ssize_t read_input(void *arg, uint64_t offset, void *out, size_t len)
{
    const struct input *in = arg;

    if (offset >= in->size) {
        return 0;
    }
    if (len > in->size - offset) {
        len = in->size - (size_t)offset;
    }
    memcpy(out, in->data + offset, len);
    return (ssize_t)len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct hb_elf elf;

    if (hb_elf_parse(&elf, read_input, &in, NULL) == 0) {
        hb_elf_destroy(&elf);
    }
    return 0;
}
