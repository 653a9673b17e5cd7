/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_FLUX_H
#define HB_HOSTFILE_FLUX_H

#include "hostfile/source.h"

/* The gang in a resource set of Flux, version 1. */
int hb_flux_gang(const struct hb_gang_request *req, const char *text,
                 size_t len, struct hb_gang *out, struct hpcboot_error *err);

#endif
