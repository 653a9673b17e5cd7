/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_ENV_NAMES_H
#define HB_PROC_ENV_NAMES_H

#include <stddef.h>

/* The tables behind hb_env_is_denied and hb_env_scrubbed_family, for the
 * policy (env.c); tests/lint/environ.sh compares them with the man page.
 * Patterns know '*' (any bytes) and '?' (one byte). */
struct hb_env_row {
    const char *label;   /* "login session", "slurm" */
    const char *names;   /* patterns, blank-separated */
    const char *but;     /* patterns that are not meant, or NULL */
};

/* 1 when `name` (len bytes) is matched by `pattern` (pattern_len bytes). */
int hb_env_match(const char *pattern, size_t pattern_len, const char *name,
                 size_t len);
/* The row that means `name` (len bytes), or NULL: of what stays on its host, by
 * reason, and of what schedulers and launchers leave behind, by family. */
const struct hb_env_row *hb_env_denied_row(const char *name, size_t len);
const struct hb_env_row *hb_env_family_row(const char *name, size_t len);
/* 1 for a name that ranks are given a path in their job's own folder by, unless
 * the user chose another. */
int hb_env_is_told_path(const char *name, size_t len);
/* 1 for a denied name that describes one login or process, and so must not be
 * taken from another process of the host either (PWD, SSH_TTY, ...). */
int hb_env_is_session(const char *name, size_t len);

#endif
