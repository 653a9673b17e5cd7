/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_API_CUDA_H
#define HB_API_CUDA_H

#include <stddef.h>

#include "lib/base/error.h"

/* What device.c asks of CUDA's driver. */
/* 2: it has all that is needed; 1: only to tell whose memory it is; 0: no. */
int hb_cuda_open(void *lib);
int hb_cuda_is_its(const void *p);
/* On the default stream of the memory's own context, whatever is current:
 * after what was put there before, and whole on return. ERR_SYSTEM: the driver
 * says why. */
int hb_cuda_copy(void *to, const void *from, size_t size, int to_device,
                 struct hpcboot_error *err);
/* Copies between the memory at `there` and these whole pages of the host's go
 * several times as fast from now on. The device that they were pinned for, or
 * -1: they stay as they are. They may be freed once they are unpinned. */
int hb_cuda_pin(void *pages, size_t size, const void *there);
void hb_cuda_unpin(void *pages, int device);

#endif
