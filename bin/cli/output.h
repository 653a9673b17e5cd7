/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_OUTPUT_H
#define HB_CLI_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "bin/cli/options.h"
#include "lib/base/error.h"

/* What the launcher does with the ranks' output: labels, timestamps, the
 * terminal, files. No call blocks on a terminal, pipe or socket: what does
 * not go at once is kept and goes by hb_output_flush, when the descriptor
 * that hb_output_wait_fd names is writable. The memory this takes is what the
 * caller has given credit for. SIGPIPE must be ignored.
 *
 * Labels stand once per line: a line that comes in pieces is labelled again
 * only where another rank's output came between. Without labels and
 * timestamps every byte passes as it is. */
struct hb_output;

struct hb_output_config {
    uint32_t n_ranks;
    uint32_t n_first;       /* of them, which begin: their files are made */
    uint32_t job;           /* its number in labels and folders: of those that
                             * it has spawned 2 and up; 0: 1 */
    enum hb_tag tag;
    int timestamps;
    int out_fd, err_fd;     /* borrowed, must stay open; 1 and 2 */
    const char *dir;        /* DIR/JOB/rank.R/stdout and stderr; or NULL */
    int dir_only;           /* not on the terminal too (":nocopy") */
    int dir_no_job;         /* DIR/rank.R/... (":nojobid") */
    int append;             /* to files of an earlier life of the job */
    const char *own_files[2]; /* that hbrun writes itself, borrowed; or NULL */
    const char *out_pattern, *err_pattern; /* instead of the terminal; names
                             * as rankfiles.h has them; or NULL */
    const char *(*host_of)(void *arg, uint32_t rank, uint32_t *number_out);
                             /* the same */
    int patterns_copied;    /* on the terminal too */
    /* Bytes of a piece's data that need no memory any more: written, or lost
     * to an error that was reported. May be called from inside the calls
     * below. May be NULL. */
    void (*done)(void *arg, uint32_t rank, size_t bytes);
    void *arg;
};

/* As message OUTPUT carries it; whether a line goes on is seen from the
 * bytes. `data` is borrowed. */
struct hb_output_piece {
    uint32_t rank;
    int stream;        /* 1, 2 */
    uint64_t wall_ns;  /* when its host read it */
    const void *data;
    size_t len;
};

int hb_output_create(struct hb_output **out,
                     const struct hb_output_config *config,
                     struct hpcboot_error *err);
/* What is still kept is lost: flush first. NULL-safe. */
void hb_output_destroy(struct hb_output *o);

/* Takes a piece whole, also when it fails. A place that cannot be written is
 * an error once (ERR_CLOSED for a reader that is gone, else ERR_SYSTEM with
 * errno and the file's name); later output for it is dropped. */
int hb_output_write(struct hb_output *o, const struct hb_output_piece *piece,
                    struct hpcboot_error *err);
/* A line of the launcher's own, on standard error, in order with the ranks'
 * output there and on a line of its own. `text` ends with a line end. That it
 * cannot be written is an error of the other calls, as soon as something of a
 * rank's is lost as well. */
void hb_output_say(struct hb_output *o, const char *text, size_t len);
/* Writes what can be written now: 1 when something is left, 0 when not, or
 * an error as above. */
int hb_output_flush(struct hb_output *o, struct hpcboot_error *err);
/* Blocks until all is written or timeout_ms has passed (-1: no limit). As
 * hb_output_flush. For the end of a job. */
int hb_output_drain(struct hb_output *o, int timeout_ms,
                    struct hpcboot_error *err);
size_t hb_output_pending(const struct hb_output *o); /* bytes kept */
/* The descriptor whose writability is waited for, for stream 1 or 2; -1:
 * nothing waits there. The number is the same each time. */
int hb_output_wait_fd(const struct hb_output *o, int stream);

#endif
