/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_MANIFEST_H
#define HB_HPCBOOT_MANIFEST_H

#include "lib/base/str.h"
#include "lib/base/strv.h"

/* A gang as `hpcboot manifest` writes it for an operator. All texts have been
 * checked: names are names and quantities quantities. NULL: not asked for. */
struct hb_manifest {
    const char *name, *namespace, *image, *queue;
    int hosts, slots;         /* workers, and ranks on each */
    const char *cpus, *memory, *gpus, *rdma, *shm; /* of a worker */
    const char *user;         /* runs as that uid, not as root */
    int restricted;           /* what such a Pod Security Standard asks for */
    const struct hb_strv *words; /* hbrun's, from its options on */
};

struct hb_manifest_kind {
    const char *name;   /* as the command line has it */
    const char *suffix; /* the longest that a pod's name has after the job's,
                         * but for its number */
    void (*put)(const struct hb_manifest *m, struct hb_str *out);
};
/* Ended by one without a name. */
extern const struct hb_manifest_kind hb_manifest_kinds[];

#endif
