/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Vectors of owned strings: argv and environments.
 *
 * The vector is NULL-terminated after every call, so `v` can go to execve as
 * it stands. Environments are such vectors in which a name occurs once; the
 * name is what stands before the first '='. Lookups are linear: the largest
 * environments met have some hundred entries.
 */
#include "config.h"

#include "lib/base/strv.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

void hb_strv_take(struct hb_strv *s, char *text)
{
    if (s->n + 2 > s->cap) {
        s->cap = s->cap > 0 ? s->cap * 2 : 8;
        s->v = hb_xrealloc(s->v, s->cap * sizeof(*s->v));
    }
    s->v[s->n++] = text;
    s->v[s->n] = NULL;
}

void hb_strv_push(struct hb_strv *s, const char *text)
{
    hb_strv_take(s, hb_xstrdup(text));
}

static char *format(const char *fmt, va_list ap)
{
    struct hb_str o = HB_STR_INIT;

    hb_str_vputf(&o, fmt, ap);
    return hb_str_steal(&o);
}

void hb_strv_pushf(struct hb_strv *s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    hb_strv_take(s, format(fmt, ap));
    va_end(ap);
}

void hb_strv_extend(struct hb_strv *s, char *const *v)
{
    for (; v != NULL && *v != NULL; v++) {
        hb_strv_push(s, *v);
    }
}

void hb_strv_remove(struct hb_strv *s, size_t i)
{
    if (i >= s->n) {
        return;
    }
    free(s->v[i]);
    memmove(&s->v[i], &s->v[i + 1], (s->n - i) * sizeof(*s->v));
    s->n--;
}

void hb_strv_destroy(struct hb_strv *s)
{
    size_t i;

    for (i = 0; i < s->n; i++) {
        free(s->v[i]);
    }
    free(s->v);
    memset(s, 0, sizeof(*s));
}

char *const *hb_strv_view(const struct hb_strv *s)
{
    static char *const nothing[] = {NULL};

    return s->v != NULL ? s->v : nothing;
}

/* Index of the entry with that name, or s->n. */
static size_t find(const struct hb_strv *s, const char *name, size_t len)
{
    size_t i;

    for (i = 0; i < s->n; i++) {
        if (strncmp(s->v[i], name, len) == 0
            && (s->v[i][len] == '=' || s->v[i][len] == '\0')) {
            break;
        }
    }
    return i;
}

/* Puts an owned entry in the place of one with its name, or at the end. */
static void take_entry(struct hb_strv *s, char *entry)
{
    size_t i = find(s, entry, strcspn(entry, "="));

    if (i == s->n) {
        hb_strv_take(s, entry);
        return;
    }
    free(s->v[i]);
    s->v[i] = entry;
}

const char *hb_env_get(const struct hb_strv *s, const char *name)
{
    size_t len = strlen(name);
    size_t i = find(s, name, len);

    if (i == s->n || s->v[i][len] != '=') {
        return NULL;
    }
    return s->v[i] + len + 1;
}

void hb_env_set(struct hb_strv *s, const char *name, const char *value)
{
    take_entry(s, hb_xasprintf("%s=%s", name, value));
}

void hb_env_setf(struct hb_strv *s, const char *name, const char *fmt, ...)
{
    va_list ap;
    char *value;

    va_start(ap, fmt);
    value = format(fmt, ap);
    va_end(ap);
    hb_env_set(s, name, value);
    free(value);
}

void hb_env_put(struct hb_strv *s, const char *entry)
{
    take_entry(s, hb_xstrdup(entry));
}

void hb_env_unset(struct hb_strv *s, const char *name)
{
    hb_strv_remove(s, find(s, name, strlen(name)));
}
