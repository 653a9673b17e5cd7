/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_ENV_NAMES_H
#define HB_PROC_ENV_NAMES_H

#include <stddef.h>

/* The tables behind hb_env_is_denied and hb_env_scrubbed_family, for the
 * policy (env.c), `--explain`, and a check against the man page. Patterns
 * know '*' (any bytes) and '?' (one byte). */
struct hb_env_row {
    const char *label;   /* "login session", "slurm" */
    const char *names;   /* patterns, blank-separated */
    const char *but;     /* patterns that are not meant, or NULL */
};

/* What stays on its host, by reason; *n_out rows. */
const struct hb_env_row *hb_env_denied_rows(size_t *n_out);
/* What schedulers and launchers leave behind, by family; *n_out rows. */
const struct hb_env_row *hb_env_family_rows(size_t *n_out);
/* 1 when `name` (len bytes) is matched by `pattern` (pattern_len bytes). */
int hb_env_match(const char *pattern, size_t pattern_len, const char *name,
                 size_t len);
/* The row that means `name` (len bytes), or NULL. */
const struct hb_env_row *hb_env_denied_row(const char *name, size_t len);
const struct hb_env_row *hb_env_family_row(const char *name, size_t len);
/* 1 for a denied name that describes one login or process, and so must not be
 * taken from another process of the host either (PWD, SSH_TTY, ...). */
int hb_env_is_session(const char *name, size_t len);

#endif
