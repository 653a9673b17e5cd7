/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_MODULE_LOAD_H
#define HB_BASE_MODULE_LOAD_H

#include "lib/base/error.h"

/* Loads a module (hb_ssh, hb_pmix, ...: the parts that need a heavy outside
 * library) and finds the one symbol it exports. Loading twice gives the same
 * module; it stays until the process ends.
 *
 * Looked for as MODULE.so in $HPCBOOT_MODULE_DIR (not in a program with raised
 * privileges), then beside libhpcboot.so and in hpcboot/ there (a rank's own
 * library), beside the running program in .libs (a build tree), in
 * ../lib/hpcboot and ../lib/MULTIARCH/hpcboot (a tree that was moved), and in
 * the directory the installation was configured with.
 *
 * ERR_UNSUPPORTED: no such module, or a library it needs is missing; the text
 * says which. ERR_SYSTEM: there is no memory for them. */
int hb_module_open(const char *module, const char *symbol,
                   const void **symbol_out, struct hpcboot_error *err);

#endif
