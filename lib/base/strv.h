/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_STRV_H
#define HB_BASE_STRV_H

#include <stddef.h>

#include "lib/base/error.h"

/* A vector of owned strings, always NULL-terminated: argv and environments.
 * Allocation failure ends the process by abort(): nothing here is large
 * enough to be worth another answer. Start from HB_STRV_INIT. */
struct hb_strv {
    char **v; /* NULL only before the first push */
    size_t n, cap;
};
#define HB_STRV_INIT {NULL, 0, 0}

void hb_strv_push(struct hb_strv *s, const char *text); /* copies */
void hb_strv_take(struct hb_strv *s, char *text);       /* takes ownership */
void hb_strv_pushf(struct hb_strv *s, const char *fmt, ...) HB_PRINTF(2, 3);
/* Copies a NULL-terminated vector; v may be NULL. */
void hb_strv_extend(struct hb_strv *s, char *const *v);
void hb_strv_remove(struct hb_strv *s, size_t i);
void hb_strv_destroy(struct hb_strv *s);
/* Never NULL: an empty vector gives a static {NULL}. */
char *const *hb_strv_view(const struct hb_strv *s);

/* Environments: NAME=value entries, unique by name. */
/* Borrowed, or NULL. */
const char *hb_env_get(const struct hb_strv *s, const char *name);
void hb_env_set(struct hb_strv *s, const char *name, const char *value);
void hb_env_setf(struct hb_strv *s, const char *name, const char *fmt, ...)
    HB_PRINTF(3, 4);
void hb_env_put(struct hb_strv *s, const char *entry); /* "NAME=value" */
void hb_env_unset(struct hb_strv *s, const char *name);

#endif
