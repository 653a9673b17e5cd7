/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_SOURCE_H
#define HB_HOSTFILE_SOURCE_H

#include "hostfile/hostfile.h"

/* One place where a gang can be found; each has a file of its own,
 * source_NAME.c, and a row in the table of gather.c. */
struct hb_source {
    const char *name; /* as hb_gang.source shows it */
    int own_hosts; /* knows hosts that -H can select from */
    /* 1: *out (empty before) has hosts and a detail. 0: nothing there, and
     * *reason_out says why in a few words (free() it). Negative: this source
     * was meant and cannot be used. */
    int (*ask)(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err);
};

extern const struct hb_source hb_source_list, hb_source_file,
    hb_source_mpi_operator, hb_source_trainer, hb_source_default,
    hb_source_local;

/* For the sources. */
const char *hb_source_env(const struct hb_gang_request *req, const char *name);
/* "", or the directory that stands for /. */
const char *hb_source_root(const struct hb_gang_request *req);
int hb_source_exists(const struct hb_gang_request *req, const char *path);
/* Reads the file at ROOT/PATH in the form it looks like; messages say PATH.
 * ERR_NOT_FOUND when it is not there. An empty file gives no hosts. */
int hb_source_read(const char *root, const char *path, struct hb_gang *out,
                   struct hpcboot_error *err);
/* The key an operator mounted for its gang, or NULL; free() it. */
char *hb_source_gang_key(const struct hb_gang_request *req);

void hb_gang_add_local_at(struct hb_gang *out, const char *root);
/* Keeps the hosts of `from` that `list` names, in the list's order, each
 * matched by its name or by its first label. ERR_NOT_FOUND names a host that
 * is not there. */
int hb_gang_filter(struct hb_gang *from, const struct hb_gang *list,
                   struct hpcboot_error *err);

#endif
