/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_RANKFILES_H
#define HB_CLI_RANKFILES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* Output files, one for each rank and stream. Only a few are open at a time.
 * Private to bin/cli. */
struct hb_rankfiles;

/* In a pattern: %r the rank, %h its host, %p that host's number, %g 0, which is
 * the number that Hydra has for a job, %% a '%'; a number before r or p, of at
 * most two digits, is how many digits there are at least. */
#define HB_PATTERN_LETTERS "rhpg%"
/* The letter of the place that begins at `at`, a '%', and the end of it; '\0':
 * there is none. */
char hb_pattern_place(const char *at, int *width_out, const char **end_out);

struct hb_line { /* the end of what a place holds */
    int open; /* a line has begun there and not ended */
    uint32_t rank; /* whose it is */
    int stream;
};

struct hb_rankfiles_config {
    uint32_t n_ranks;
    uint32_t job;     /* its number */
    const char *dir;  /* DIR/JOB/rank.R/stdout, stderr; or NULL */
    int dir_no_job;   /* without "JOB/" */
    int append;       /* to what is there */
    const char *pattern[2]; /* by stream - 1, letters above; or NULL */
    /* The host of a rank by its name, and as a number below n_ranks. NULL: all
     * are on one, without a name. */
    const char *(*host_of)(void *arg, uint32_t rank, uint32_t *number_out);
    void *arg;
    const char *own[2]; /* names of files that hbrun writes itself; or NULL */
};

/* Texts are borrowed and must outlive it. */
struct hb_rankfiles *hb_rankfiles_create(const struct hb_rankfiles_config *c);
void hb_rankfiles_destroy(struct hb_rankfiles *f); /* NULL-safe */
/* Makes the files of the first ranks, empty: what an earlier job has left there
 * is not taken for this one's, and a place where no file can be is known before
 * ranks run. Those of others, and where it takes long, are made when they
 * write. */
int hb_rankfiles_prepare(struct hb_rankfiles *f, uint32_t n_ranks,
                         struct hpcboot_error *err);
/* Is there a file for this stream? */
int hb_rankfiles_has(const struct hb_rankfiles *f, int stream);
/* The end of this file, which is the caller's to note: several ranks may share
 * it. Lives as long as `f`. */
struct hb_line *hb_rankfiles_line(struct hb_rankfiles *f, uint32_t rank,
                                  int stream);
/* Appends; an error (once for each file) names it. */
int hb_rankfiles_write(struct hb_rankfiles *f, uint32_t rank, int stream,
                       const void *data, size_t len,
                       struct hpcboot_error *err);

#endif
