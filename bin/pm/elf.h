/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_ELF_H
#define HB_PM_ELF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/base/strv.h"

/* What an ELF file of either class and byte order asks of the dynamic
 * linker. Reads little, trusts nothing, runs nothing. */

/* Up to `len` bytes at `offset`; how many, 0 at the end, negative: error. */
typedef ssize_t (*hb_elf_read)(void *arg, uint64_t offset, void *out,
                               size_t len);

struct hb_elf {
    int bits;         /* 32 or 64 */
    uint16_t machine; /* EM_* */
    int is_dynamic;   /* has a dynamic section */
    struct hb_strv needed;
    char *soname, *rpath, *runpath; /* NULL: none */
};

/* HPCBOOT_ERR_PARSE: no ELF file, or a broken one. */
int hb_elf_parse(struct hb_elf *out, hb_elf_read read, void *arg,
                 struct hpcboot_error *err);
int hb_elf_open(struct hb_elf *out, const char *path,
                struct hpcboot_error *err);
void hb_elf_destroy(struct hb_elf *elf);

/* The first of `texts` (NULL-terminated) that stands anywhere in the file, as
 * index, or -1. Looks at no more than HB_ELF_SCAN_MAX bytes. */
#define HB_ELF_SCAN_MAX (256u << 20) /* Intel's libmpi.so has 70 MB */
int hb_file_scan(const char *path, const char *const *texts);

#endif
