/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The command line: options, a program and its arguments, ':' and the next.
 *
 * An option is a word that begins with '-'; one dash or two, --name=VALUE or
 * the words after it. The first word that is no option is the program, and
 * from there to a lone ':' everything is the program's, byte for byte. "--"
 * ends the options. In a file of programs each line is one segment and ':'
 * is an ordinary word.
 *
 * Which dialect the words are in must be known before they are read, because
 * -N, -c and others mean different things: hb_scan_ahead walks the options
 * once, looking for --dialect, --profile and the options only Hydra has. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/jobmap.h"
#include "lib/base/str.h"

struct words {
    char *const *v;
    size_t n, at;
};

/* One option as it stands on a command line. */
struct option_word {
    const struct hb_optdef *opt; /* NULL: no such option */
    const char *name; /* after the dashes */
    size_t name_len;
    const char *value; /* after '=' or attached, or NULL */
    size_t times; /* how often it is meant: 2 for -vv */
    const char *letters; /* further options of the word, a letter each, or
                          * NULL: "uK" of srun's -luK */
};

static int is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* -n4 and, for srun, -wHOST and -K0: one letter with its argument attached. */
static void split_attached(struct option_word *w, enum hb_dialect dialect)
{
    const struct hb_optdef *opt;

    if (w->name_len < 1 || !w->name[1]) {
        return;
    }
    opt = hb_opt_find(w->name, 1, dialect);
    if (!opt || (hb_opt_n_args(opt) != 1 &&
                 !(dialect == HB_DIALECT_SRUN && hb_opt_has_optional(opt)))) {
        return;
    }
    if (dialect != HB_DIALECT_SRUN
        && strspn(w->name + 1, "0123456789") != strlen(w->name + 1)) {
        return;
    }
    w->opt = opt;
    w->value = w->name + 1;
    w->name_len = 1;
}

/* -vv: a letter that counts, written several times. */
static void split_repeated(struct option_word *w, enum hb_dialect dialect)
{
    const char letter[2] = {w->name[0], '\0'};
    const struct hb_optdef *opt = hb_opt_find(w->name, 1, dialect);

    if (opt != NULL && (opt->flags & HB_O_MANY) && hb_opt_n_args(opt) == 0 &&
        w->value == NULL && strspn(w->name, letter) == w->name_len) {
        w->opt = opt;
        w->times = w->name_len;
        w->name_len = 1;
    }
}

/* -luK, -uln4: the first of these letters is an option of srun's, what follows
 * it is its argument or the next ones. */
static struct option_word read_letter(const char *letters)
{
    struct option_word w = {.times = 1, .name = letters, .name_len = 1};
    const char *rest = letters[1] ? letters + 1 : NULL;

    w.opt = hb_opt_find(letters, 1, HB_DIALECT_SRUN);
    if (w.opt && (hb_opt_n_args(w.opt) || hb_opt_has_optional(w.opt))) {
        w.value = rest;
    } else {
        w.letters = rest;
    }
    return w;
}

/* Nothing is split where a letter is not known: it may be a name mistyped. */
static void split_letters(struct option_word *w)
{
    struct option_word first = read_letter(w->name), next = first;

    while (next.opt && next.letters) {
        next = read_letter(next.letters);
    }
    if (next.opt) {
        *w = first;
    }
}

static struct option_word read_option(const char *word,
                                      enum hb_dialect dialect)
{
    struct option_word w = {.times = 1};
    int one_dash = word[1] != '-';

    w.name = word + (one_dash ? 1 : 2);
    w.name_len = strcspn(w.name, "=");
    w.opt = hb_opt_find(w.name, w.name_len, dialect);
    if (w.name[w.name_len] == '=') {
        w.value = w.name + w.name_len + 1;
    }
    if (!w.opt && one_dash) {
        split_attached(&w, dialect);
    }
    if (!w.opt && one_dash && w.name_len > 1) {
        split_repeated(&w, dialect);
    }
    if (!w.opt && one_dash && w.name_len > 1 && dialect == HB_DIALECT_SRUN) {
        split_letters(&w);
    }
    return w;
}

/* The first dialect that knows an option which some dialect knows. */
static const char *dialect_that_has(const char *name, size_t len)
{
    int d = HB_DIALECT_OPENMPI;

    while (d < HB_DIALECT_SRUN &&
           hb_opt_find(name, len, (enum hb_dialect)d) == NULL) {
        d++;
    }
    return hb_dialect_name((enum hb_dialect)d);
}

/* What this dialect calls the option that has an effect under another name in
 * another one; 0: it has none. */
static int name_here(const char *name, enum hb_dialect dialect,
                     char out[HB_OPT_NAME_MAX])
{
    const struct hb_optdef *opt = hb_opt_find_any(name, strlen(name));

    return opt && hb_opt_has_effect(opt) &&
           hb_opt_name_in(opt, dialect, out);
}

static int unknown_option(struct hb_scan *s, const char *word,
                          const struct option_word *w,
                          struct hpcboot_error *err)
{
    const char *dashes = word[1] == '-' ? "--" : "-";
    int len = (int)(w->name - word + (ptrdiff_t)w->name_len);
    char *name = hb_xstrndup(w->name, w->name_len);
    char near[HB_OPT_NAME_MAX];
    int here = name_here(name, s->o->dialect, near);
    int found = !here && hb_opt_nearest(name, s->o->dialect, 0, near);

    if (hb_opt_find_any(name, w->name_len)) {
        hb_fail(err, HPCBOOT_ERR_USAGE,
                "%.*s is no option of --dialect=%s; it is one of "
                "--dialect=%s%s%s", len, word, hb_dialect_name(s->o->dialect),
                dialect_that_has(name, w->name_len),
                here ? (near[1] ? ", here --" : ", here -") : "",
                here ? near : "");
    } else if (found) {
        hb_fail(err, HPCBOOT_ERR_USAGE,
                "unknown option %.*s; did you mean %s%s?", len, word,
                near[1] ? dashes : "-", near);
    } else {
        hb_fail(err, HPCBOOT_ERR_USAGE,
                "unknown option %.*s; --help lists all", len, word);
    }
    free(name);
    return HPCBOOT_ERR_USAGE;
}

/* Whether the first of two values already is NAME=VALUE. */
static int one_word_pair(const struct hb_optdef *opt, const char *value)
{
    return (opt->flags & HB_O_PAIR) && value && strchr(value, '=');
}

static int split_pair(struct hb_scan *s, const struct hb_optdef *opt,
                      const char *pair, struct hpcboot_error *err)
{
    char *name = hb_xstrndup(pair, strcspn(pair, "="));
    const char *values[HB_OPT_ARGS] = {name, strchr(pair, '=') + 1};
    int rc = hb_opt_apply(s, opt, values, err);

    free(name);
    return rc;
}

/* Collects the words an option takes; 1 when all are there. */
static int take_values(struct words *in, const struct option_word *w,
                       const char *values[HB_OPT_ARGS])
{
    int wanted = hb_opt_n_args(w->opt), have = 0;

    values[0] = values[1] = NULL;
    if (w->value) {
        values[have++] = w->value;
    }
    while (have < wanted && !one_word_pair(w->opt, values[0])) {
        if (in->at >= in->n) {
            return 0;
        }
        values[have++] = in->v[in->at++];
    }
    return 1;
}

/* Whether what stands for the value is an option, and the value was forgotten.
 * Numbers, times and variables are told by who reads them; words of ssh begin
 * with a dash themselves. */
static int is_forgotten(const struct hb_scan *s, const struct option_word *w,
                        const char *value)
{
    static const char *const texts[] = {"FILE", "DIR", "LIST", "NAME",
                                        "LABELS", "COMMAND"};
    size_t dashes = value && value[0] == '-' ? 1 + (value[1] == '-') : 0;
    int may_be_any = 0;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t n = strlen(texts[i]);

        may_be_any |= !strncmp(w->opt->args, texts[i], n) &&
                      w->opt->args[n] != '=' && w->opt->args[n] != '[';
    }
    return may_be_any && dashes > 0 && !w->value &&
           hb_opt_n_args(w->opt) == 1 && w->opt->kind != HB_OPT_SKIP &&
           hb_opt_find(value + dashes, strcspn(value + dashes, "="),
                       s->o->dialect) != NULL;
}

/* --help [TOPIC]: the next word, where it is one; the last word in any case,
 * so that a topic that there is not is told. */
static void take_topic(struct words *in, const struct option_word *w,
                       const char *values[HB_OPT_ARGS])
{
    if (w->opt->set == hb_set_help && !values[0] && in->at < in->n
        && (in->at + 1 == in->n || hb_options_help_knows(in->v[in->at]))) {
        values[0] = in->v[in->at++];
    }
}

static int apply_option(struct hb_scan *s, struct words *in,
                        const struct option_word *w, struct hpcboot_error *err)
{
    const char *values[HB_OPT_ARGS];
    int rc = 0;

    if (!take_values(in, w, values)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s needs %s: %s", s->spelling,
                       hb_opt_n_args(w->opt) == 2 ? "two arguments"
                                                  : "an argument",
                       w->opt->args);
    }
    if (is_forgotten(s, w, values[0])) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s needs %s, and what follows, "
                       "%s, is an option; if it is meant, say %s=%s",
                       s->spelling, w->opt->args, values[0], s->spelling,
                       values[0]);
    }
    if (one_word_pair(w->opt, values[0])) {
        return split_pair(s, w->opt, values[0], err);
    }
    take_topic(in, w, values);
    for (size_t i = 0; rc >= 0 && i < w->times; i++) {
        rc = hb_opt_apply(s, w->opt, values, err);
    }
    return rc;
}

static int scan_option(struct hb_scan *s, struct words *in,
                       struct hpcboot_error *err)
{
    const char *word = in->v[in->at++];
    struct option_word w = read_option(word, s->o->dialect);
    const char *dashes = word[1] == '-' ? "--" : "-";
    int rc = 0;

    if (!w.opt) {
        return unknown_option(s, word, &w, err);
    }
    while (rc >= 0 && w.opt) {
        char *spelling = hb_xasprintf("%s%.*s", dashes, (int)w.name_len,
                                      w.name);

        s->spelling = spelling;
        rc = apply_option(s, in, &w, err);
        s->spelling = "";
        free(spelling);
        w = w.letters ? read_letter(w.letters) : (struct option_word){0};
    }
    return rc;
}

/* --- segments ---------------------------------------------------- */

static void segment_begin(struct hb_scan *s, struct hb_app_options *app)
{
    memset(app, 0, sizeof *app);
    free(s->ranks_as);
    s->ranks_as = NULL;
    s->app = app;
    s->in_segment = 1;
}

static void segment_drop(struct hb_app_options *app)
{
    hb_strv_destroy(&app->argv);
    hb_strv_destroy(&app->env_rules);
    hb_strv_destroy(&app->preload_files);
    free(app->wdir);
    free(app->path);
    free(app->host_list);
    memset(app, 0, sizeof *app);
}

static int segment_keep(struct hb_scan *s, struct hb_app_options *app,
                        struct hpcboot_error *err)
{
    struct hb_options *o = s->o;

    if (o->n_apps == HB_MAX_APPS) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT, "more than %u programs",
                       HB_MAX_APPS);
    }
    o->apps = hb_xrealloc(o->apps, (o->n_apps + 1) * sizeof o->apps[0]);
    o->apps[o->n_apps++] = *app;
    memset(app, 0, sizeof *app);
    return 0;
}

/* What stands before --app FILE holds for all programs of the file. */
static void segment_to_common(struct hb_scan *s, struct hb_app_options *app)
{
    struct hb_app_options *all = &s->common;

    hb_settings_to_all(s->p);
    if (app->np) {
        all->np = app->np;
        all->np_min = app->np_min;
    }
    if (app->wdir) {
        hb_opt_replace(&all->wdir, app->wdir);
    }
    if (app->path) {
        hb_opt_replace(&all->path, app->path);
    }
    if (app->preload_binary) {
        all->preload_binary = app->preload_binary;
    }
    if (app->session_wdir) {
        all->session_wdir = app->session_wdir;
    }
    hb_strv_extend(&all->preload_files, hb_strv_view(&app->preload_files));
    if (app->host_list) {
        hb_opt_replace(&s->o->host_list, app->host_list);
    }
    hb_strv_extend(&s->o->env_rules, hb_strv_view(&app->env_rules));
}

static int scan_options(struct hb_scan *s, struct words *in,
                        struct hpcboot_error *err)
{
    int rc = 0;

    while (rc >= 0 && in->at < in->n && is_option(in->v[in->at])) {
        if (!strcmp(in->v[in->at], "--")) {
            in->at++;
            return 0;
        }
        rc = scan_option(s, in, err);
        if (s->o->help || s->o->version || s->o->completion) {
            return rc < 0 ? rc : 0;
        }
    }
    return rc < 0 ? rc : 0;
}

/* The segment that `in` holds. `number` is for messages; `only`: there is no
 * other, and a program may be missing (--help, --app). */
static int scan_one(struct hb_scan *s, struct words *in, unsigned number,
                    int only, struct hpcboot_error *err)
{
    struct hb_app_options app;
    int rc;

    segment_begin(s, &app);
    rc = scan_options(s, in, err);
    while (rc == 0 && in->at < in->n) {
        hb_strv_push(&app.argv, in->v[in->at++]);
    }
    if (rc == 0 && app.argv.n == 0 && !only) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE,
                     "part %u of the command line (between ':') names no "
                     "program", number);
    }
    if (rc == 0 && app.argv.n && s->app_file_used && !s->in_file) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE,
                     "a file of programs was given, and the program %s too",
                     app.argv.v[0]);
    }
    if (rc == 0 && !app.argv.n && s->app_file_used) {
        segment_to_common(s, &app);
    } else if (rc == 0) {
        rc = segment_keep(s, &app, err);
    }
    segment_drop(&app);
    s->app = &s->common;
    s->in_segment = 0;
    return rc;
}

int hb_scan_segment(struct hb_scan *s, size_t n, char *const *words,
                    struct hpcboot_error *err)
{
    struct hb_app_options *outer = s->app;
    int outer_segment = s->in_segment;
    const char *spelling = s->spelling;
    struct words in = {words, n, 0};
    int rc = scan_one(s, &in, s->o->n_apps + 1, 0, err);

    s->app = outer;
    s->in_segment = outer_segment;
    s->spelling = spelling;
    return rc;
}

static size_t colon_after(size_t n, char *const *words, size_t at)
{
    while (at < n && strcmp(words[at], ":")) {
        at++;
    }
    return at;
}

int hb_scan_words(struct hb_scan *s, size_t n, char *const *words,
                  struct hpcboot_error *err)
{
    int only = colon_after(n, words, 0) == n;
    unsigned number = 1;
    size_t at = 0;
    int rc;

    for (;; number++) {
        size_t end = colon_after(n, words, at);
        struct words in = {words, end, at};

        rc = scan_one(s, &in, number, only, err);
        if (rc < 0 || end == n || s->o->help || s->o->version
            || s->o->completion) {
            return rc;
        }
        at = end + 1;
    }
}

/* --- looking ahead ----------------------------------------------- */

struct ahead {
    const char *dialect, *profile;
    int hydra; /* an option only Hydra has */
    int asking; /* --help and the like */
};

static void look_at_option(struct words *in, enum hb_dialect dialect,
                           struct ahead *a)
{
    struct option_word w = read_option(in->v[in->at++], dialect);
    const char *values[HB_OPT_ARGS];

    while (w.letters) { /* the last one alone takes words */
        w = read_letter(w.letters);
    }
    if (!w.opt || !take_values(in, &w, values)) {
        return;
    }
    if (w.opt->set == hb_set_dialect && w.opt->kind == HB_OPT_SET) {
        a->dialect = values[0];
    } else if (w.opt->set == hb_set_profile) {
        a->profile = values[0];
    }
    a->hydra = a->hydra || (w.opt->flags & HB_O_HYDRA);
    a->asking = a->asking || w.opt->set == hb_set_help
                || w.opt->set == hb_set_completion
                || w.opt->field == offsetof(struct hb_options, version);
}

static void look_ahead(size_t n, char *const *words, enum hb_dialect dialect,
                       struct ahead *a)
{
    size_t at = 0;

    for (;;) {
        size_t end = colon_after(n, words, at);
        struct words in = {words, end, at};

        while (in.at < end && is_option(words[in.at])
               && strcmp(words[in.at], "--")) {
            look_at_option(&in, dialect, a);
        }
        if (end == n) {
            return;
        }
        at = end + 1;
    }
}

void hb_scan_ahead(struct hb_scan *s, const char *program, size_t n,
                   char *const *words)
{
    const char *called = hb_base_name(program);
    enum hb_dialect dialect = s->o->dialect;
    struct ahead a = {0};

    if (!strcmp(called, "srun")) {
        dialect = HB_DIALECT_SRUN;
        s->dialect_given = HB_DIALECT_SAID;
    } else if (!strcmp(called, "mpiexec.hydra")
               || !strcmp(called, "mpirun.hydra")) {
        dialect = HB_DIALECT_HYDRA;
        s->dialect_given = HB_DIALECT_SAID;
    }
    look_ahead(n, words, dialect, &a);
    if (a.dialect && hb_opt_dialect_parse(a.dialect, &dialect) == 0) {
        s->dialect_given = HB_DIALECT_SAID;
    } else if (!s->dialect_given && a.hydra) {
        dialect = HB_DIALECT_HYDRA;
        s->dialect_given = HB_DIALECT_HINTED;
    }
    look_ahead(n, words, dialect, &a);
    s->o->dialect = dialect;
    s->asking = a.asking;
    if (a.profile) {
        hb_opt_replace(&s->profile, a.profile);
    }
}
