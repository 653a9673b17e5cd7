/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_SEARCH_H
#define HB_PROC_SEARCH_H

#include "lib/base/strv.h"

/* The paths an exec of `file` tries, in order: `file` itself when it has a
 * '/', else one for each entry of the PATH in `env` (or the system's own
 * where env has none). Relative results are relative to the program's
 * directory. Pure: no file is looked at. */
void hb_search_paths(const char *file, char *const *env, struct hb_strv *out);
/* The same for a rank's program. A bare name that PATH has not may be in its
 * working directory, as mpirun and srun have it. */
void hb_search_program(const char *file, char *const *env,
                       struct hb_strv *out);
/* Whether there is a file on this host that may be executed; a relative path
 * is one of `wdir`, or of the current directory if that is NULL. */
int hb_search_is_program(const char *path, const char *wdir);
/* Whether hb_search_paths has a file on this host that may be executed;
 * relative ones are of `wdir`, or of the current directory if that is NULL. */
int hb_search_finds(const char *file, char *const *env, const char *wdir);
/* The value of `name` in a NULL-terminated environment; borrowed, or NULL. */
const char *hb_search_env(char *const *env, const char *name);

#endif
