/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_PMIXLIB_H
#define HB_RDZV_PMIXLIB_H

#include <stddef.h>
#include <stdint.h>

/* What the module hb_pmixc.so makes of libpmix, in plain types: the module
 * calls nothing of ours, and a program that no PMIx launcher has started loads
 * neither. Functions return 0, or PMIx's own status, which text explains. */
struct hb_pmixlib {
    int (*init)(uint32_t *rank_out, uint32_t *size_out);
    int (*put)(const char *key, const void *data, size_t len);
    /* timeout_s 0: no deadline. work (may be NULL) is called meanwhile, as in
     * struct hb_rdzv. */
    int (*fence)(int collect, int timeout_s, int (*work)(void));
    /* *data_out: free() it. */
    int (*get)(uint32_t rank, const char *key, void **data_out,
               size_t *len_out);
    int (*finalize)(void);
    const char *(*text)(int status);
    int timed_out, not_found; /* two of those statuses */
};
extern const struct hb_pmixlib hb_pmixlib;

#endif
