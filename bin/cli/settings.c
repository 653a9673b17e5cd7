/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What options were given, and where: for --explain, and for errors about a
 * value that was not typed. A later value takes the place of an earlier one;
 * where several programs stand on a command line, each has values of its own.
 * Options whose values add up have a setting for each. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

static const struct hb_parsed *parsed_of(const struct hb_options *o)
{
    return (const struct hb_parsed *)(const void *)o;
}

/* --- what was set ------------------------------------------------ */

static int is_typed(const char *origin)
{
    return strcmp(origin, HB_COMMAND_LINE) == 0;
}

/* What is typed before --app is for all programs of its file, and does not
 * count as what a line of the file says of the first one. */
static int takes_its_place(const struct hb_scan *s, int program,
                           const struct hb_setting *was)
{
    return was->program == program &&
           (program == HB_ALL_PROGRAMS ||
            is_typed(was->origin) == is_typed(s->origin));
}

static struct hb_setting *setting_slot(struct hb_scan *s,
                                       const struct hb_optdef *opt)
{
    struct hb_parsed *p = s->p;
    int program = (opt->flags & HB_O_PROGRAM) && s->in_segment
                      ? (int)s->o->n_apps : HB_ALL_PROGRAMS;
    struct hb_setting *slot;

    for (size_t i = 0; i < p->n_settings; i++) {
        if (p->settings[i].opt == opt && !(opt->flags & HB_O_MANY) &&
            takes_its_place(s, program, &p->settings[i])) {
            return &p->settings[i];
        }
    }
    p->settings = hb_xrealloc(p->settings, (p->n_settings + 1)
                                               * sizeof p->settings[0]);
    slot = &p->settings[p->n_settings++];
    memset(slot, 0, sizeof *slot);
    slot->opt = opt;
    slot->program = program;
    return slot;
}

static const char *joined(const struct hb_options *o,
                          const struct hb_optdef *opt)
{
    return *(char *const *)(const void *)((const char *)o + opt->field);
}

void hb_setting_note(struct hb_scan *s, const struct hb_optdef *opt,
                     const char *const *values)
{
    struct hb_setting *slot = setting_slot(s, opt);

    free(slot->value);
    if (opt->flags & HB_O_JOINS) {
        slot->value = hb_xstrdup(joined(s->o, opt));
    } else if (values[0] && values[1]) {
        slot->value = hb_xasprintf("%s %s", values[0], values[1]);
    } else {
        slot->value = hb_xstrdup(values[0] ? values[0] : "yes");
    }
    hb_opt_replace(&slot->origin, s->origin);
}

void hb_settings_drop(struct hb_parsed *p, const struct hb_optdef *opt,
                      int typed_too)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->n_settings; i++) {
        struct hb_setting *was = &p->settings[i];

        if (was->opt != opt ||
            (!typed_too && is_typed(was->origin))) {
            p->settings[kept++] = *was;
        } else {
            free(was->value);
            free(was->origin);
        }
    }
    p->n_settings = kept;
}

void hb_settings_to_all(struct hb_parsed *p)
{
    for (size_t i = 0; i < p->n_settings; i++) {
        if (is_typed(p->settings[i].origin)) {
            p->settings[i].program = HB_ALL_PROGRAMS;
        }
    }
}

void hb_opt_withdraw(struct hb_scan *s, const char *key)
{
    hb_settings_drop(s->p, hb_opt_find_key(key, strlen(key)), 1);
}

/* --- origins ----------------------------------------------------- */

const char *hb_options_origin_of(const struct hb_options *o, const char *name,
                                 const char *value)
{
    const struct hb_parsed *p = parsed_of(o);
    const struct hb_optdef *opt = hb_opt_find_any(name, strlen(name));
    const char *origin = "default";

    for (size_t i = 0; i < p->n_settings; i++) {
        const struct hb_setting *s = &p->settings[i];

        if (s->opt == opt && (value == NULL || hb_streq(s->value, value))) {
            origin = s->origin;
        }
    }
    return origin;
}

const char *hb_options_origin(const struct hb_options *o, const char *name)
{
    return hb_options_origin_of(o, name, NULL);
}

void hb_options_blame(const struct hb_options *o, struct hpcboot_error *err)
{
    const char *begin = err->text + strspn(err->text, "-");
    size_t used = strlen(err->text);
    char *name = hb_xstrndup(begin, strcspn(begin, " :,"));
    const char *origin = "default";

    if (begin > err->text && hb_opt_find_any(name, strlen(name))) {
        origin = hb_options_origin(o, name);
    } else if (hb_starts_with(err->text, "default hostfile:")) {
        origin = hb_options_origin(o, "default-hostfile");
    }
    if (!hb_streq(origin, "default") && !hb_streq(origin, HB_COMMAND_LINE)) {
        snprintf(err->text + used, sizeof err->text - used, " (%s)", origin);
    }
    free(name);
}

/* One of all programs that has no effect: each has a value of its own, or it
 * was said anew. */
static int is_overruled(const struct hb_parsed *p, size_t at)
{
    const struct hb_setting *s = &p->settings[at];
    uint32_t n = 0;

    if (!(s->opt->flags & HB_O_PROGRAM) || (s->opt->flags & HB_O_MANY) ||
        s->program != HB_ALL_PROGRAMS) {
        return 0;
    }
    for (size_t i = 0; i < p->n_settings; i++) {
        const struct hb_setting *other = &p->settings[i];

        if (other->opt == s->opt && other->program == s->program && i > at) {
            return 1;
        }
        n += other->opt == s->opt && other->program != HB_ALL_PROGRAMS;
    }
    return n > 0 && n == p->o.n_apps;
}

void hb_options_explain(const struct hb_options *o, struct hb_strv *lines_out)
{
    const struct hb_parsed *p = parsed_of(o);
    char key[HB_OPT_NAME_MAX];

    for (size_t i = 0; i < p->n_settings; i++) {
        const struct hb_setting *s = &p->settings[i];
        char of[32] = "";

        if (is_overruled(p, i)) {
            continue;
        }
        if (s->program != HB_ALL_PROGRAMS && p->o.n_apps > 1) {
            snprintf(of, sizeof of, ", program %d", s->program);
        }
        hb_opt_key(s->opt, key);
        hb_strv_pushf(lines_out, "%s = %s (%s%s)", key, s->value, s->origin,
                      of);
    }
}
