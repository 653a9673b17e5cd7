/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_XPORT_UCXLOAD_H
#define HB_XPORT_UCXLOAD_H

#include "lib/base/error.h"

/* Loads the module hb_ucx.so, and UCX with it, for one of its symbols;
 * *shared: libucs was there before. ERR_UNSUPPORTED: it cannot be had. */
int hb_ucx_load(const char *symbol, const void **out, int *shared,
                struct hpcboot_error *err);

#endif
