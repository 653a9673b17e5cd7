/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_WRAPPER_H
#define HB_PM_WRAPPER_H

#include <stddef.h>

/* Programs whose purpose is to start another one. */
enum hb_wrapper_kind {
    HB_WRAPPER_NO,     /* a program like any other */
    HB_WRAPPER_OPENED, /* *next_out is where the started program begins */
    HB_WRAPPER_OPAQUE  /* it starts something, what cannot be told */
};

/* Looks at argv[0]'s last path component and the options behind it. */
enum hb_wrapper_kind hb_wrapper_open(char *const *argv, size_t *next_out);
/* 1: the word is a NAME=VALUE with which env(1) starts it. */
int hb_wrapper_sets(char *const *argv, const char *word);
/* Where env(1) goes before it starts argv[next], borrowed; NULL: nowhere. */
const char *hb_wrapper_dir(char *const *argv, size_t next);
/* A container runtime: what it starts is not this host's. */
int hb_is_container(const char *path);
/* "python3.11", "pypy3" ... */
int hb_is_python(const char *path);

#endif
