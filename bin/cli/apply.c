/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Setting one option, wherever its value comes from.
 *
 * hb_opt_apply is the one door: a row that stands for others is followed, an
 * ignored one warns once, a refused one fails in the table's own words, any
 * other calls its setter. settings.c remembers what was set. `spelling` is the
 * option as the user wrote it and begins every error text. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"

int hb_opt_bad(struct hb_scan *s, struct hpcboot_error *err, const char *fmt,
               ...)
{
    struct hb_str text = HB_STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    hb_str_vputf(&text, fmt, ap);
    va_end(ap);
    hb_fail(err, HPCBOOT_ERR_USAGE, "%s: %s", s->spelling,
            hb_str_text(&text));
    hb_str_destroy(&text);
    return HPCBOOT_ERR_USAGE;
}

void hb_opt_warn(struct hb_scan *s, const char *fmt, ...)
{
    struct hb_str text = HB_STR_INIT;
    struct hb_strv *all = &s->o->warnings;
    va_list ap;

    va_start(ap, fmt);
    hb_str_vputf(&text, fmt, ap);
    va_end(ap);
    if (s->origin[0] && strcmp(s->origin, HB_COMMAND_LINE) != 0 &&
        strcmp(s->origin, s->spelling) != 0) {
        hb_str_putf(&text, " (%s)", s->origin); /* a configuration file */
    }
    for (size_t i = 0; i < all->n; i++) {
        if (!strcmp(all->v[i], hb_str_text(&text))) {
            hb_str_destroy(&text);
            return;
        }
    }
    hb_strv_take(all, hb_str_steal(&text));
}

void hb_opt_replace(char **field, const char *text)
{
    char *copy = text ? hb_xstrdup(text) : NULL;

    free(*field);
    *field = copy;
}

int hb_opt_bool(const char *text)
{
    static const char *const words[] = {"no",  "false", "0", "off",
                                        "yes", "true",  "1", "on"};
    const size_t n = sizeof words / sizeof words[0];

    for (size_t i = 0; i < n; i++) {
        if (!strcasecmp(text, words[i])) {
            return i >= n / 2;
        }
    }
    return -1;
}

struct hb_strv *hb_opt_rules(struct hb_scan *s)
{
    return s->in_segment ? &s->app->env_rules : &s->o->env_rules;
}

const char *hb_scan_getenv(const struct hb_scan *s, const char *name)
{
    size_t len = strlen(name);

    if (!s->src || !s->src->env) {
        return NULL;
    }
    for (char *const *e = s->src->env; *e; e++) {
        if (!strncmp(*e, name, len) && (*e)[len] == '=') {
            return *e + len + 1;
        }
    }
    return NULL;
}

/* --- setting ----------------------------------------------------- */

static int check_choice(struct hb_scan *s, const struct hb_optdef *opt,
                        const char *value, struct hpcboot_error *err)
{
    const char *p = opt->args;
    size_t len = strlen(value);

    while (*p) {
        size_t n = strcspn(p, "|");

        if (n == len && !memcmp(p, value, n)) {
            return 0;
        }
        p += n + (p[n] == '|');
    }
    return hb_opt_bad(s, err, "\"%s\" is not one of %s", value, opt->args);
}

/* Writes `text` with each '%' replaced by the argument. */
static char *expand(const char *text, size_t len, const char *value)
{
    struct hb_str out = HB_STR_INIT;

    hb_str_put(&out, "");
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%') {
            hb_str_put(&out, value);
        } else {
            hb_str_putc(&out, text[i]);
        }
    }
    return hb_str_steal(&out);
}

static int apply_as(struct hb_scan *s, const struct hb_optdef *opt,
                    const char *value, struct hpcboot_error *err)
{
    const char *p = opt->text;
    int rc = 0;

    while (*p && rc == 0) {
        size_t key_len = strcspn(p, "=");
        size_t len = strcspn(p, " ");
        char *text = expand(p + key_len + 1, len - key_len - 1,
                            value ? value : "");
        const char *one[HB_OPT_ARGS] = {text, NULL};
        const struct hb_optdef *real = hb_opt_find(p, key_len,
                                                   HB_DIALECT_OPENMPI);

        rc = real ? hb_opt_apply(s, real, one, err)
                  : hb_fail(err, HPCBOOT_ERR_INTERNAL,
                            "the option table names no %.*s", (int)key_len, p);
        free(text);
        p += len + strspn(p + len, " ");
    }
    return rc;
}

static int is_left_out(const struct hb_scan *s, const struct hb_optdef *opt)
{
    return (opt->flags & s->left_out) != 0 &&
           strcmp(s->origin, HB_COMMAND_LINE) != 0;
}

int hb_opt_apply(struct hb_scan *s, const struct hb_optdef *opt,
                 const char *const *values, struct hpcboot_error *err)
{
    int rc;

    switch (opt->kind) {
    case HB_OPT_AS:
        if (hb_opt_is_switch(opt) && values[0]
            && hb_opt_bool(values[0]) != 1) {
            return hb_opt_bad(s, err, "takes no value");
        }
        return apply_as(s, opt, values[0], err);
    case HB_OPT_SKIP:
        if (opt->text[0]) {
            hb_opt_warn(s, "%s is ignored: %s", s->spelling, opt->text);
        }
        return 0;
    case HB_OPT_NO:
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "%s is not supported: %s", s->spelling, opt->text);
    default:
        break;
    }
    if (is_left_out(s, opt)) {
        return 0;
    }
    if (hb_opt_is_choice(opt->args) && !hb_opt_is_switch(opt)
        && (rc = check_choice(s, opt, values[0], err)) < 0) {
        return rc;
    }
    rc = opt->set(s, opt, values, err);
    if (rc >= 0) {
        hb_setting_note(s, opt, values);
    }
    return rc;
}

int hb_opt_apply_text(struct hb_scan *s, const struct hb_optdef *opt,
                      const char *text, struct hpcboot_error *err)
{
    const char *values[HB_OPT_ARGS] = {text, NULL};
    char *first = NULL;
    int rc;

    if (hb_opt_n_args(opt) == 2) {
        size_t len = strcspn(text, " \t=");
        size_t gap = strspn(text + len, " \t=");

        if (len == 0 || gap == 0) {
            return hb_opt_bad(s, err, "needs two words: %s", opt->args);
        }
        first = hb_xstrndup(text, len);
        values[0] = first;
        values[1] = text + len + gap;
    }
    rc = hb_opt_apply(s, opt, values, err);
    free(first);
    return rc;
}

int hb_opt_apply_key(struct hb_scan *s, const char *key, const char *text,
                     struct hpcboot_error *err)
{
    const struct hb_optdef *opt = hb_opt_find(key, strlen(key),
                                              HB_DIALECT_OPENMPI);

    if (!opt) {
        return hb_fail(err, HPCBOOT_ERR_INTERNAL,
                       "the option table names no %s", key);
    }
    return hb_opt_apply_text(s, opt, text, err);
}
