/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What of srun's options has another form here: each is turned into the
 * option of our own that means it. hbrun allocates nothing, so options that
 * ask a resource manager for something are only accepted by the table. */
#include "config.h"

#include "bin/cli/optdef.h"
#include "bin/cli/rankfiles.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/jobmap.h"
#include "lib/base/str.h"

struct word_pair {
    const char *theirs, *ours;
};

static const char *look_up(const struct word_pair *table, size_t n,
                           const char *word)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(table[i].theirs, word)) {
            return table[i].ours;
        }
    }
    return NULL;
}

#define LOOK_UP(table, word) \
    look_up(table, sizeof(table) / sizeof((table)[0]), word)

HB_SETTER(srun_mpi)
{
    static const struct word_pair types[] = {
        {"pmix", "pmix"},    {"pmix_v3", "pmix"}, {"pmix_v4", "pmix"},
        {"pmix_v5", "pmix"}, {"pmi2", "pmi2"},    {"pmi1", "pmi1"},
        {"none", "none"},
    };
    const char *ours = LOOK_UP(types, values[0]);

    return ours ? hb_opt_apply_key(s, "pmi", ours, err)
                : hb_opt_bad(s, err, "\"%s\" is not one of pmix, pmi2, none",
                             values[0]);
}

HB_SETTER(srun_export)
{
    const char *p = values[0];
    struct hb_strv *rules = hb_opt_rules(s);
    int all = 0;
    int rc = 0;

    if (!strcasecmp(p, "NONE") || !strcasecmp(p, "NIL")) {
        hb_strv_push(rules, "!");
        return 0;
    }
    for (const char *q = p; *q; q += q[0] == ',') {
        size_t n = strcspn(q, ",");

        all = all || (n == 3 && !strncasecmp(q, "ALL", n));
        q += n;
    }
    if (!all) {
        hb_strv_push(rules, "!");
    }
    while (rc == 0 && *p) {
        size_t n = strcspn(p, ",");
        char *one = hb_xstrndup(p, n);
        const char *v[HB_OPT_ARGS] = {one, NULL};

        if (n && strcasecmp(one, "ALL")) {
            rc = hb_set_export(s, opt, v, err);
        }
        free(one);
        p += n + (p[n] == ',');
    }
    return rc;
}

HB_SETTER(srun_cpu_bind)
{
    static const struct word_pair ways[] = {
        {"none", "none"},    {"no", "none"},         {"cores", "core"},
        {"rank", "core"},    {"threads", "hwthread"}, {"ldoms", "numa"},
        {"sockets", "package"}, {"rank_ldom", "numa"},
        /* of PALS' mpiexec */
        {"depth", "core"},   {"core", "core"},       {"thread", "hwthread"},
        {"numa", "numa"},    {"socket", "package"},
    };
    const char *how = values[0], *ours;

    for (;;) { /* "verbose,cores" */
        size_t n = strcspn(how, ",");

        if (n > 0 && !strncmp(how, "verbose", n)) {
            s->o->report_bindings = 1;
        } else if (n == 0 || strncmp(how, "quiet", n)) {
            break;
        }
        if (!how[n]) {
            return 0;
        }
        how += n + 1;
    }
    ours = LOOK_UP(ways, how);
    return ours ? hb_opt_apply_key(s, "bind-to", ours, err)
                : hb_opt_bad(s, err,
                             "\"%s\" is not served; none, cores, threads, "
                             "sockets, ldoms are", how);
}

/* What is behind a colon is about the sockets and cores of a host. */
static void note_inner_order(struct hb_scan *s, const char *how)
{
    const char *inner = strchr(how, ':');

    if (inner != NULL && strstr(inner, "cyclic") != NULL) {
        hb_opt_warn(s, "%s %s: its part %.*s is ignored: cores of a host are "
                    "taken in order; --map-by package takes its packages in "
                    "turn", s->spelling, how, (int)strcspn(inner, ","), inner);
    }
}

/* "block", "cyclic:block", "*:*,Pack": over hosts, which all get ranks unless
 * they are packed; inside of a host; and how full hosts are to be. */
HB_SETTER(srun_distribution)
{
    static const struct word_pair ways[] = {
        {"block", "fill"}, {"cyclic", "node"}, {"*", "fill"},
    };
    const char *pack = strchr(values[0], ',');
    char *first = hb_xstrndup(values[0], strcspn(values[0], ":,"));
    const char *order = LOOK_UP(ways, first);
    int packed = pack != NULL && !strcasecmp(pack + 1, "Pack"), rc;

    free(first);
    if (order == NULL || (pack != NULL && !packed &&
                          strcasecmp(pack + 1, "NoPack") != 0)) {
        return hb_opt_bad(s, err, "\"%s\" is not served; block, cyclic, "
                          "block,Pack are", values[0]);
    }
    note_inner_order(s, values[0]);
    rc = hb_opt_apply_key(s, "map-by", packed ? "slot" : "node", err);
    return rc < 0 ? rc : hb_opt_apply_key(s, "rank-by", order, err);
}

/* minutes, minutes:seconds, hours:minutes:seconds, days-hours[:min[:sec]] */
static int parse_time(const char *text, int64_t *seconds_out)
{
    static const int no_days[4][3] = {
        {0}, {60, 0, 0}, {60, 1, 0}, {3600, 60, 1}};
    static const int with_days[4][3] = {
        {0}, {3600, 0, 0}, {3600, 60, 0}, {3600, 60, 1}};
    const int(*unit)[3] = no_days;
    char *copy = hb_xstrdup(text), *p = copy, *dash = strchr(copy, '-');
    uint64_t days = 0, field[3] = {0};
    size_t n = 0;
    int ok = 1;

    if (dash) {
        *dash = '\0';
        ok = hb_parse_u64(p, 0, 36500, &days) >= 0;
        p = dash + 1;
        unit = with_days;
    }
    while (ok && p) {
        char *word = strsep(&p, ":");

        ok = n < 3 && hb_parse_u64(word, 0, 100000000, &field[n++]) >= 0;
    }
    free(copy);
    if (!ok) {
        return -1;
    }
    *seconds_out = (int64_t)days * 86400;
    for (size_t i = 0; i < n; i++) {
        *seconds_out += (int64_t)field[i] * unit[n][i];
    }
    return 0;
}

HB_SETTER(srun_time)
{
    int64_t seconds = 0;
    int is_limit = strcasecmp(values[0], "UNLIMITED") != 0 &&
                   strcasecmp(values[0], "INFINITE") != 0;

    if (is_limit && parse_time(values[0], &seconds) < 0) {
        return hb_opt_bad(s, err,
                          "needs minutes, [days-]hours:minutes:seconds, "
                          "UNLIMITED or INFINITE, not \"%s\"", values[0]);
    }
    s->o->timeout_ms = seconds * 1000;
    return 0;
}

/* N, or MIN-MAX. */
HB_SETTER(nodes)
{
    const char *text = values[0];
    const char *most = strchr(text, '-');
    char *least = hb_xstrndup(text, strcspn(text, "-"));
    int rc = hb_opt_count(s, least, HB_MAX_NODES, &s->o->nodes_least, err);

    free(least);
    if (rc == 0) {
        rc = hb_opt_count(s, most ? most + 1 : text, HB_MAX_NODES,
                          &s->o->nodes, err);
    }
    if (rc == 0 && s->o->nodes < s->o->nodes_least) {
        rc = hb_opt_bad(s, err, "needs MIN-MAX, the smaller one first, not "
                        "\"%s\"", text);
    }
    return rc;
}

HB_SETTER(srun_kill)
{
    int on = values[0] ? hb_opt_bool(values[0]) : 1;

    if (on < 0) {
        return hb_opt_bad(s, err, "needs 0 or 1, not \"%s\"", values[0]);
    }
    hb_opt_keep_going(s, !on);
    return 0;
}

/* What letters of Slurm's stand for where this is a job of Slurm; of several
 * variables the first that is set counts. */
static const struct {
    char letter;
    const char *variable;
} slurm_letters[] = {
    {'j', "SLURM_JOB_ID"},        {'J', "SLURM_JOB_ID"},
    {'A', "SLURM_ARRAY_JOB_ID"},  {'A', "SLURM_JOB_ID"},
    {'a', "SLURM_ARRAY_TASK_ID"}, {'u', "USER"},
    {'x', "SLURM_JOB_NAME"},
};

/* And among the letters of --outfile-pattern. */
static const struct {
    char theirs, ours;
} our_letters[] = {{'t', 'r'}, {'N', 'h'}, {'n', 'p'}, {'%', '%'}};

static char letter_here(char letter)
{
    for (size_t i = 0; i < sizeof our_letters / sizeof our_letters[0]; i++) {
        if (our_letters[i].theirs == letter) {
            return our_letters[i].ours;
        }
    }
    return '\0';
}

/* A number is filled up to `width` digits. */
static void put_value(struct hb_str *ours, const char *value, int width)
{
    size_t len = strlen(value);
    size_t least = value[strspn(value, "0123456789")] == '\0' ? (size_t)width
                                                              : 0;

    for (; len < least; len++) {
        hb_str_putc(ours, '0');
    }
    for (; *value; value++) {
        hb_str_put(ours, *value == '%' ? "%%" : "");
        hb_str_putn(ours, value, *value != '%');
    }
}

static int put_variable(struct hb_scan *s, char letter, int width,
                        struct hb_str *ours, struct hpcboot_error *err)
{
    const char *name = NULL, *value = NULL;

    for (size_t i = 0; i < sizeof slurm_letters / sizeof slurm_letters[0] &&
         value == NULL; i++) {
        if (slurm_letters[i].letter == letter) {
            name = slurm_letters[i].variable;
            value = hb_scan_getenv(s, name);
        }
    }
    if (name == NULL) {
        return hb_opt_bad(s, err, "%%%c is not known; %%t (the rank), %%N and "
                          "%%n (its host), %%j, %%A, %%a, %%u, %%x and %%%% "
                          "are", letter ? letter : ' ');
    }
    if (value == NULL) {
        return hb_opt_bad(s, err, "%%%c stands for %s, which is not set here; "
                          "leave it out", letter, name);
    }
    put_value(ours, value, width);
    return 0;
}

static int put_letter(struct hb_scan *s, char letter, int width,
                      struct hb_str *ours, struct hpcboot_error *err)
{
    char here = letter_here(letter);

    if (here == '\0') {
        return put_variable(s, letter, width, ours, err);
    }
    hb_str_putc(ours, '%');
    if (width > 0 && here != '%') {
        hb_str_putf(ours, "%d", width);
    }
    hb_str_putc(ours, here);
    return 0;
}

static int set_pattern(struct hb_scan *s, const char *key, const char *text,
                       struct hpcboot_error *err)
{
    struct hb_str ours = HB_STR_INIT;
    int rc = 0, width;

    for (const char *p = text; rc == 0 && *p;) {
        if (*p != '%') {
            hb_str_putc(&ours, *p++);
        } else {
            char letter = hb_pattern_place(p, &width, &p);

            rc = put_letter(s, letter, width, &ours, err);
        }
    }
    if (rc == 0) {
        rc = hb_opt_apply_key(s, key, hb_str_text(&ours), err);
    }
    hb_str_destroy(&ours);
    return rc;
}

static int set_sink(struct hb_scan *s, const char *key, const char *text,
                    struct hpcboot_error *err)
{
    if (!strcmp(text, "all")) { /* the terminal, as always */
        return 0;
    }
    if (*text != '\0' && text[strspn(text, "0123456789")] == '\0') {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "-%c %s: srun would show what "
                       "task %s writes and nothing else, which hbrun does not; "
                       "./%s is a file of that name", key[0], text, text, text);
    }
    return set_pattern(s, key, strcmp(text, "none") ? text : "/dev/null", err);
}

HB_SETTER(srun_output)
{
    return set_sink(s, "outfile-pattern", values[0], err);
}

HB_SETTER(srun_error)
{
    return set_sink(s, "errfile-pattern", values[0], err);
}

HB_SETTER(srun_input)
{
    const char *mode = hb_streq(values[0], "/dev/null") ? "none" : values[0];

    if (mode[strspn(mode, "0123456789")] != '\0' && !hb_streq(mode, "all") &&
        !hb_streq(mode, "none")) {
        return hb_opt_bad(s, err, "no file is opened for the ranks; give it as "
                          "standard input: < %s", mode);
    }
    return hb_opt_apply_key(s, "stdin", mode, err);
}
