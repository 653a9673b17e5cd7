/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_GPU_SHARE_H
#define HB_TOPO_GPU_SHARE_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/strv.h"
#include "lib/topo/cpus.h"
#include "lib/topo/topo.h"

/* Which GPUs each rank of one host shall see. */

/* Takes out the GPUs that this container was not given: those without a
 * device node of their vendor's driver. `root`: "" or a directory that stands
 * for / in tests. */
void hb_gpus_cut(struct hb_topo *topo, const char *root);

/* Leaves the GPUs that the makers' variables in `env` (see hb_gpus_env) list by
 * number, which each keeps, in the order of the list. Where one has names, or a
 * number that none has, it is only known how many there are at most. */
void hb_gpus_keep_listed(struct hb_topo *topo, const struct hb_strv *env);
/* The same by the environments of a job's n programs, where all of them have
 * the same lists; else each rank's is looked at by itself (hb_gpus_env). One
 * that is NULL could not be made. */
void hb_gpus_keep_common(struct hb_topo *topo, const struct hb_strv *const *env,
                         uint32_t n);
/* The number of a GPU of topo->device on its host. */
uint32_t hb_gpus_number(const struct hb_topo *topo, uint32_t gpu);

/* The nearest free GPUs, each_gets of them for every rank, in rank order; where
 * there are more ranks they are shared evenly, near ones first. cpus:
 * [n_ranks], or NULL when ranks are not bound. gpus_out: [n_ranks * each_gets]
 * numbers within topo->device.
 * ERR_LIMIT: the host has fewer than each_gets. */
int hb_gpus_assign(const struct hb_topo *topo, const struct hb_cpus *cpus,
                   uint32_t n_ranks, uint32_t each_gets, uint32_t *gpus_out,
                   struct hpcboot_error *err);

/* What one rank sees, the at-th of the host: "GPU 2 (0000:3b:00.0)", several
 * with commas between, or "ROCR_VISIBLE_DEVICES=5"; free() it. `env` is what
 * hb_gpus_env finds. */
char *hb_gpus_text(const struct hb_topo *topo, const uint32_t *gpus,
                   uint32_t n, uint32_t at, const struct hb_strv *env);
/* A sentence that there are not each_gets GPUs for every rank, so that some
 * are shared; free() it. NULL: none are. */
char *hb_gpus_shared(const struct hb_topo *topo, uint32_t n_ranks,
                     uint32_t each_gets);

/* Sets the variables by which the makers' libraries know what to show:
 * CUDA_VISIBLE_DEVICES (with CUDA_DEVICE_ORDER=PCI_BUS_ID),
 * ROCR_VISIBLE_DEVICES, ZE_AFFINITY_MASK. GPUs of a maker are counted from 0
 * in the order of their PCI addresses. Where one is set to less than all of
 * them, as batch systems do it, a rank gets numbers of that list; of one that
 * hb_gpus_keep_listed could not go by the at-th rank of the host gets its part,
 * whatever it names them by; one that shows none stays. */
void hb_gpus_env(const struct hb_topo *topo, const uint32_t *gpus, uint32_t n,
                 uint32_t at, struct hb_strv *env);

#endif
