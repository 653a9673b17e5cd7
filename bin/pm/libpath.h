/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_LIBPATH_H
#define HB_PM_LIBPATH_H

#include "bin/pm/elf.h"

/* Where programs and shared libraries are found, by the rules of execvp and
 * of the dynamic linker, for a process with environment `env` that starts in
 * `wdir`. Nothing of this process's own environment is used. */
struct hb_place {
    const char *wdir;  /* borrowed; NULL: the current directory */
    char *const *env;  /* borrowed, NULL-terminated; may be NULL */
    struct hb_strv *system_dirs; /* of /etc/ld.so.conf and built in; empty
                                    until a library is looked for in them */
    int *looks; /* programs of shell texts that may still be looked at */
};

void hb_place_init(struct hb_place *p, const char *wdir, char *const *env);
void hb_place_destroy(struct hb_place *p);
const char *hb_place_env(const struct hb_place *p, const char *name);

/* A path as the process would understand it. free() it. */
char *hb_place_path(const struct hb_place *p, const char *path);

/* The file that execvp would start, or NULL. free() it. */
char *hb_place_program(const struct hb_place *p, const char *name);

/* The file the linker would load for `needed` of `user`, which lies at
 * user_path; `inherited` are the RPATHs of those that loaded it. NULL: it is
 * not found. free() it. */
char *hb_place_library(const struct hb_place *p, const char *needed,
                       const struct hb_elf *user, const char *user_path,
                       const struct hb_strv *inherited);
/* The directories of one RPATH or RUNPATH, with $ORIGIN replaced. */
void hb_place_rpath(const char *list, const char *path, struct hb_strv *out);

/* What stands in a regular file, at most max_bytes, or NULL; free() it. Another
 * may be this process's own standard input, and what is read of that is gone
 * for the one it is meant for. */
char *hb_place_text(const char *path, size_t max_bytes);

/* Like hb_place_library with no user: LD_LIBRARY_PATH and system. */
char *hb_place_system_library(const struct hb_place *p, const char *name);

#endif
