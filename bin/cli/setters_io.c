/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Setters about input and output, and Open MPI 5's options that hold a list
 * of directives (--output, --display, --runtime-options): each directive is
 * a row of a small table that stands for an option of our own. */
#include "config.h"

#include "bin/cli/optdef.h"
#include "bin/cli/rankfiles.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/jobmap.h"
#include "lib/base/str.h"

static int set_tag(struct hb_scan *s, const char *text, enum hb_tag tag,
                   struct hpcboot_error *err)
{
    int on = text ? hb_opt_bool(text) : 1;

    if (on < 0) {
        return hb_opt_bad(s, err, "\"%s\" is neither yes nor no", text);
    }
    s->o->tag_output = on ? (int)tag : HB_TAG_NONE;
    return 0;
}

HB_SETTER(tag_openmpi)
{
    return set_tag(s, values[0], HB_TAG_OPENMPI, err);
}

HB_SETTER(tag_hydra)
{
    return set_tag(s, values[0], HB_TAG_HYDRA, err);
}

HB_SETTER(tag_short)
{
    return set_tag(s, values[0],
                   s->o->dialect == HB_DIALECT_SRUN ? HB_TAG_SRUN
                                                    : HB_TAG_HYDRA, err);
}

/* Open MPI's words after "DIR:". */
static int dir_word(struct hb_scan *s, const char *word)
{
    if (!strcasecmp(word, "nocopy")) {
        if (!s->o->output_dir_only) {
            s->o->output_dir_only = s->nocopy_of_dir = 1;
        }
    } else if (!strcasecmp(word, "nojobid")) {
        s->o->output_dir_no_job = 1;
    } else if (strcasecmp(word, "copy") && strcasecmp(word, "pattern")) {
        return -1;
    }
    return 0;
}

/* Of "DIR:WORD,WORD": are these words of Open MPI's? -1: some are, or are
 * nearly, and some are not: a mistake, and no name. */
static int dir_words(struct hb_scan *s, const char *list)
{
    static const char *const names[] = {"nocopy", "nojobid"};
    char *words = hb_xstrdup(list), *p = words, *word;
    int n = 0, known = 0, near = 0;

    while ((word = strsep(&p, ","))) {
        int is = dir_word(s, word) == 0;

        n++;
        known += is;
        near += !is && hb_nearest(word, names, 2) != NULL;
    }
    free(words);
    return known == n ? 1 : known + near > 0 ? -1 : 0;
}

/* What was said behind an earlier name goes with it. */
static void forget_dir_words(struct hb_scan *s)
{
    if (s->nocopy_of_dir) {
        s->o->output_dir_only = s->nocopy_of_dir = 0;
    }
    s->o->output_dir_no_job = 0;
}

/* "DIR" or "DIR:nocopy,nojobid"; a name may hold ':' otherwise. */
HB_SETTER(output_dir)
{
    char *dir = hb_xstrdup(values[0]), *colon = strrchr(dir, ':');
    int words;

    forget_dir_words(s);
    words = colon != NULL ? dir_words(s, colon + 1) : 0;
    if (words > 0) {
        *colon = '\0';
    }
    if (!dir[0] || words < 0) {
        free(dir);
        return hb_opt_bad(s, err, words < 0
                          ? "needs DIR, DIR:nocopy, DIR:nojobid or "
                            "DIR:nocopy,nojobid"
                          : "needs a directory");
    }
    free(s->o->output_dir);
    s->o->output_dir = dir;
    return 0;
}

HB_SETTER(output_copy)
{
    int on = values[0] ? hb_opt_bool(values[0]) : 1;

    if (on < 0) {
        return hb_opt_bad(s, err, "\"%s\" is neither yes nor no", values[0]);
    }
    s->o->output_dir_only = !on;
    s->nocopy_of_dir = 0;
    return 0;
}

/* A file name with %r (rank), %h and %p (its host) and %%; other letters cannot
 * be told here. */
static int check_pattern(struct hb_scan *s, const char *name,
                         struct hpcboot_error *err)
{
    int width;

    if (!name[0]) {
        return hb_opt_bad(s, err, "needs a file's name");
    }
    for (const char *p = strchr(name, '%'); p; p = strchr(p, '%')) {
        char letter = hb_pattern_place(p, &width, &p);

        if (letter == '\0' || !strchr(HB_PATTERN_LETTERS, letter)) {
            return hb_opt_bad(s, err, "\"%s\": only %%r (the rank), %%h and "
                              "%%p (its host, by name or number), %%g (0) and "
                              "%%%% are known", name);
        }
    }
    return 0;
}

HB_SETTER(pattern)
{
    char **field = (char **)(void *)((char *)s->o + opt->field);
    int rc = check_pattern(s, values[0], err);

    if (rc == 0) {
        hb_opt_replace(field, values[0]);
        s->o->patterns_copied = 0;
    }
    return rc;
}

HB_SETTER(stdin)
{
    uint64_t rank;

    if (strcmp(values[0], "all") && strcmp(values[0], "none")
        && hb_parse_u64(values[0], 0, HB_MAX_RANKS - 1, &rank) < 0) {
        return hb_opt_bad(s, err, "needs a rank, all or none, not \"%s\"",
                          values[0]);
    }
    hb_opt_replace(&s->o->stdin_target, values[0]);
    return 0;
}

HB_SETTER(verbose)
{
    int level = 0;

    if (!values[0]) {
        s->o->verbose++;
    } else if (hb_parse_int(values[0], 0, 9, &level) >= 0) {
        s->o->verbose = level;
    } else if (hb_opt_bool(values[0]) >= 0) {
        s->o->verbose = hb_opt_bool(values[0]);
    } else {
        return hb_opt_bad(s, err, "needs yes, no or a number, not \"%s\"",
                          values[0]);
    }
    if (s->o->verbose > 0) { /* the later one of the two counts */
        s->o->quiet = 0;
        hb_opt_withdraw(s, "quiet");
    }
    return 0;
}

HB_SETTER(progress)
{
    int on = values[0] ? hb_opt_bool(values[0]) : 1;

    if (on < 0) {
        return hb_opt_bad(s, err, "\"%s\" is neither yes nor no", values[0]);
    }
    s->o->show_progress = on;
    return 0;
}

/* --- lists of directives ----------------------------------------- */

struct directive {
    const char *name; /* in lower case */
    const char *key;  /* option it stands for; NULL: ignored */
    const char *text; /* its value; NULL: what follows '=' */
};

static const struct directive output_directives[] = {
    {"tag", "tag-output", "yes"},
    {"tag-detailed", "tag-output", "yes"},
    {"tag-fullname", "tag-output", "yes"},
    {"rank", "label", "yes"},
    {"timestamp", "timestamp-output", "yes"},
    {"merge", "merge-stderr-to-stdout", "yes"},
    {"merge-stderr-to-stdout", "merge-stderr-to-stdout", "yes"},
    {"dir", "output-filename", NULL},
    {"directory", "output-filename", NULL},
    {"file", "outfile-pattern", NULL},
    {"filename", "outfile-pattern", NULL},
    {"xml", NULL, NULL},
    {"copy", "output-copy", "yes"},
    {"nocopy", "output-copy", "no"},
    {"raw", NULL, NULL},
    {"pattern", NULL, NULL},
};

static const struct directive display_directives[] = {
    {"map", "explain", "yes"},
    {"map-devel", "explain", "yes"},
    {"alloc", "explain", "yes"},
    {"allocation", "explain", "yes"},
    {"topo", "explain", "yes"},
    {"cpus", "explain", "yes"},
    {"bind", "report-bindings", "yes"},
    {"bindings", "report-bindings", "yes"},
    {"parsable", NULL, NULL},
    {"parseable", NULL, NULL},
    {"physical", NULL, NULL},
    {"logical", NULL, NULL},
};

static const struct directive runtime_directives[] = {
    {"donotlaunch", "dry-run", "yes"},
    {"do-not-launch", "dry-run", "yes"},
    {"show-progress", "progress", "yes"},
    {"continuous", "keep-going", "yes"},
    {"recoverable", "keep-going", "yes"},
    {"recover", "keep-going", "yes"},
    {"timeout", "timeout", NULL},
    {"merge-stderr-stdout", "merge-stderr-to-stdout", "yes"},
    {"fwd-environment", NULL, NULL},
    {"forward-environment", NULL, NULL},
    {"error-nonzero-status", NULL, NULL},
    {"notifyerrors", NULL, NULL},
    {"autorestart", NULL, NULL},
    {"max-restarts", NULL, NULL},
    {"exec-agent", NULL, NULL},
    {"default-exec-agent", NULL, NULL},
    {"output-proctable", NULL, NULL},
    {"stop-on-exec", "stop-on-exec", "yes"},
    {"stop-in-init", "stop-in-init", "yes"},
    {"stop-in-app", "stop-in-app", "yes"},
    {"aggregate-help-messages", NULL, NULL},
    {"report-child-jobs-separately", NULL, NULL},
    {"report-state-on-timeout", NULL, NULL},
    {"get-stack-traces", NULL, NULL},
    {"abort-nonzero-status", NULL, NULL},
    {"spawn-timeout", NULL, NULL},
};

/* 1: it stands for an option that is refused; told so. */
static int is_refused(struct hb_scan *s, const struct directive *d,
                      struct hpcboot_error *err)
{
    const struct hb_optdef *opt = hb_opt_find(d->key, strlen(d->key),
                                              HB_DIALECT_OPENMPI);

    if (!opt || opt->kind != HB_OPT_NO) {
        return 0;
    }
    hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "%s %s is not supported: %s",
            s->spelling, d->name, opt->text);
    return 1;
}

/* file=NAME of Open MPI 5 makes NAME.RANK. */
static char *directive_value(const struct directive *d, const char *value)
{
    if (d->text) {
        return hb_xstrdup(d->text);
    }
    if (!strcmp(d->key, "outfile-pattern") && !strchr(value, '%')) {
        return hb_xasprintf("%s.%%r", value);
    }
    return hb_xstrdup(value);
}

static int apply_directive(struct hb_scan *s, const struct directive *d,
                           char *value, struct hpcboot_error *err)
{
    char *text;
    int rc;

    if (!d->key) {
        hb_opt_warn(s, "%s %s is ignored: it has no meaning here",
                    s->spelling, d->name);
        return 0;
    }
    if (is_refused(s, d, err)) {
        return HPCBOOT_ERR_UNSUPPORTED;
    }
    if (!d->text && (!value || !value[0])) {
        return hb_opt_bad(s, err, "%s needs =VALUE", d->name);
    }
    if (d->text && value && hb_opt_bool(value) == 0) {
        return hb_opt_apply_key(s, d->key, "no", err);
    }
    text = directive_value(d, value);
    rc = hb_opt_apply_key(s, d->key, text, err);
    if (rc >= 0 && !strcmp(d->key, "outfile-pattern")) { /* of both streams */
        rc = hb_opt_apply_key(s, "errfile-pattern", text, err);
        s->o->patterns_copied = 1;
    }
    free(text);
    return rc;
}

static int unknown_directive(struct hb_scan *s, const struct directive *table,
                             size_t n, const char *word,
                             struct hpcboot_error *err)
{
    struct hb_str known = HB_STR_INIT;
    int rc;

    for (size_t i = 0; i < n; i++) {
        hb_str_putf(&known, "%s%s", i > 0 ? ", " : "", table[i].name);
    }
    rc = hb_opt_bad(s, err, "\"%s\" is not one of %s", word,
                    hb_str_text(&known));
    hb_str_destroy(&known);
    return rc;
}

static int mean_the_same(const struct directive *a, const struct directive *b)
{
    return hb_streq(a->key, b->key) && hb_streq(a->text, b->text);
}

/* By its name, or by a beginning of it that can mean nothing else; NULL. */
static const struct directive *find_directive(const struct directive *table,
                                              size_t n, const char *word)
{
    const struct directive *begun = NULL;
    int n_meanings = 0;

    for (size_t i = 0; i < n; i++) {
        const struct directive *d = &table[i];

        if (!strcasecmp(word, d->name)) {
            return d;
        }
        if (!strncasecmp(word, d->name, strlen(word)) &&
            (begun == NULL || !mean_the_same(begun, d))) {
            begun = d;
            n_meanings++;
        }
    }
    return n_meanings == 1 ? begun : NULL;
}

static int directives(struct hb_scan *s, const struct directive *table,
                      size_t n, const char *list, struct hpcboot_error *err)
{
    char *copy = hb_xstrdup(list), *p = copy, *word;
    int rc = 0;

    while (rc == 0 && (word = strsep(&p, ",:"))) {
        const struct directive *d;
        char *eq = strchr(word, '=');

        if (eq) {
            *eq++ = '\0';
        }
        d = find_directive(table, n, word);
        if (word[0] && !d) {
            rc = unknown_directive(s, table, n, word, err);
        } else if (word[0]) {
            rc = apply_directive(s, d, eq, err);
        }
    }
    free(copy);
    return rc;
}

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

HB_SETTER(output)
{
    return directives(s, output_directives, COUNT(output_directives),
                      values[0], err);
}

HB_SETTER(display)
{
    return directives(s, display_directives, COUNT(display_directives),
                      values[0], err);
}

/* Alone it is read in two ways: either would start a file, or no program. */
HB_SETTER(output_proctable)
{
    if (values[0] == NULL) {
        return hb_opt_bad(s, err, "hbrun writes no table of processes, and "
                          "whether the next word is its file depends on the "
                          "version of Open MPI (in 5 it is, in 4 it is not); "
                          "leave the option out");
    }
    hb_opt_warn(s, "%s is ignored: hbrun writes no such file", s->spelling);
    return 0;
}

HB_SETTER(runtime_options)
{
    return directives(s, runtime_directives, COUNT(runtime_directives),
                      values[0], err);
}
