/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_OUTPUT_H
#define HB_CLI_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* What the launcher does with the output of ranks: labels, time stamps, files
 * per rank, and its own stdout and stderr, which are never waited for: a pipe
 * or terminal that is full keeps its bytes queued here, and the caller gives
 * ranks no more credit until they have left. The open file descriptions of
 * the launcher's stdout and stderr are shared with other programs and are not
 * switched to non-blocking. */
struct hb_output;

struct hb_output_config {
    int out_fd, err_fd;      /* borrowed */
    int tag;                 /* enum hb_tag of options.h */
    int timestamp;
    uint32_t n_ranks;        /* for the width of srun's labels */
    const char *dir;         /* --output-filename DIR; NULL */
    const char *out_pattern, *err_pattern; /* Hydra's, %r; NULL */
};

int hb_output_create(struct hb_output **out,
                     const struct hb_output_config *config,
                     struct hpcboot_error *err);
void hb_output_destroy(struct hb_output *o); /* NULL-safe; closes its files */

/* Takes one piece (stream 1 or 2; flags HB_OUT_* of lib/wire; wall_ns when
 * the agent read it) and writes what can be written now. A failure (no reader
 * left, disk full) is returned once and names the target; later pieces for
 * that target are dropped. */
int hb_output_write(struct hb_output *o, uint32_t rank, int stream,
                    unsigned flags, uint64_t wall_ns, const void *data,
                    size_t len, struct hpcboot_error *err);
/* Bytes that wait for stdout or stderr (which: 1, 2, or 0 for both). */
size_t hb_output_pending(const struct hb_output *o, int which);
/* The descriptor to watch for writability while bytes are pending; -1: none
 * can be watched (it is then written without waiting). */
int hb_output_watch_fd(const struct hb_output *o, int which);
/* Writes what can be written now. */
int hb_output_flush(struct hb_output *o, struct hpcboot_error *err);

#endif
