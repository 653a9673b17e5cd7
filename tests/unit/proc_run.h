/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_PROC_RUN_H
#define HB_TESTS_PROC_RUN_H

#include <stddef.h>

#include "bin/proc/proc.h"

/* What tests of hb_proc_spawn share: a program is started, its output read to
 * the end, and its end awaited. Failures are failures of the test. */
#define LIST(...) ((char **)(const char *[]){__VA_ARGS__, NULL})

extern char *dir; /* private, per test: set-up and tear-down are these */
int make_dir(void **state);
int drop_dir(void **state);

/* What became of a start. */
struct result {
    int started; /* as hb_proc_started */
    enum hb_proc_stage stage;
    int sys_errno;
    int status;
    char *output; /* free() it */
};

/* A program with a plain PATH, no streams, and nothing else asked for. */
struct hb_proc_spec spec_of(char **argv);
/* A file in `dir`; its path, free() it. */
char *put_file(const char *name, const void *data, size_t len, int mode);
/* As hb_proc_started, but waits. */
int wait_started(int error_fd, enum hb_proc_stage *stage, int *no);
char *read_all(int fd); /* free() it */
/* Starts it with its stdout (unless chosen by the test) read to the end. */
struct result run(struct hb_proc_spec *spec);
void expect_output(struct hb_proc_spec *spec, const char *output);
/* The start fails at that stage with that errno, and the explanation has
 * `hint` in it. */
void expect_failure(struct hb_proc_spec *spec, enum hb_proc_stage stage,
                    int sys_errno, const char *hint);

#endif
