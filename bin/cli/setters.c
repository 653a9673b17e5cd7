/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Setters of the plain kinds (text, switch, number, time) and of the options
 * about programs, hosts, placement and looking. A setter checks what can be
 * checked without knowing hosts or files, stores a copy, and says in a
 * sentence what it wanted instead. The field to set comes from the table. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "lib/base/fd.h"
#include "lib/base/jobmap.h"
#include "lib/base/str.h"

#define FIELD(type, base, opt) ((type *)(void *)((char *)(base) + (opt)->field))

static int switch_value(struct hb_scan *s, const char *text,
                        struct hpcboot_error *err)
{
    int on = text ? hb_opt_bool(text) : 1;

    return on < 0 ? hb_opt_bad(s, err, "\"%s\" is neither yes nor no", text)
                  : on;
}

HB_SETTER(text)
{
    if (!values[0][0]) {
        return hb_opt_bad(s, err, "needs %s, not an empty text", opt->args);
    }
    hb_opt_replace(FIELD(char *, s->o, opt), values[0]);
    return 0;
}

static int is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return hb_streq(a, b) || (stat(a, &x) == 0 && stat(b, &y) == 0 &&
                              x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* A job has one. Of two that were typed, perhaps for two segments or in a file
 * of programs, none can be meant to be forgotten. */
HB_SETTER(hostfile)
{
    const char *before = s->hostfile_typed ? s->o->hostfile : NULL;

    if (before != NULL && values[0][0] && !is_same_file(before, values[0])) {
        return hb_opt_bad(s, err, "there are two hostfiles, %s and %s; put all "
                          "hosts into one, or give each program its own with "
                          "-H", before, values[0]);
    }
    s->hostfile_typed = s->in_segment;
    return hb_set_text(s, opt, values, err);
}

/* Names of one option by other launchers, --cpu-set and --rankfile among them,
 * and --map-by itself may stand on a command line together. Modifiers, as in
 * ":OVERSUBSCRIBE", are added to the place of the other; of two places under
 * different names none can be meant to be forgotten. */
HB_SETTER(map_by)
{
    char *before = s->map_by_as != NULL ? s->o->map_by : NULL;
    const char *now = values[0];
    int same = hb_streq(s->map_by_as, s->spelling), rc = 0;

    if (before == NULL || !hb_streq(s->origin, HB_COMMAND_LINE) ||
        !now[0] || hb_streq(before, now)) {
        rc = hb_set_text(s, opt, values, err);
    } else if (now[0] == ':' || before[0] == ':') {
        s->o->map_by = now[0] == ':' ? hb_xasprintf("%s%s", before, now)
                                     : hb_xasprintf("%s%s", now, before);
        free(before);
    } else if (same) {
        rc = hb_set_text(s, opt, values, err);
    } else {
        rc = hb_opt_bad(s, err, "%s says already where ranks go (--map-by %s); "
                        "give one of them", s->map_by_as, before);
    }
    if (rc >= 0 && hb_streq(s->origin, HB_COMMAND_LINE)) {
        hb_opt_replace(&s->map_by_as, s->spelling);
    }
    return rc;
}

HB_SETTER(list)
{
    if (!values[0][0]) {
        return hb_opt_bad(s, err, "needs %s, not an empty text", opt->args);
    }
    hb_strv_push(FIELD(struct hb_strv, s->o, opt), values[0]);
    return 0;
}

HB_SETTER(flag)
{
    int on = switch_value(s, values[0], err);

    if (on >= 0) {
        *FIELD(int, s->o, opt) = on;
    }
    return on < 0 ? on : 0;
}

int hb_opt_count(struct hb_scan *s, const char *text, uint64_t max,
                 uint32_t *out, struct hpcboot_error *err)
{
    uint64_t n;

    if (hb_parse_u64(text, 1, max, &n) < 0) {
        return hb_opt_bad(s, err, "needs a number from 1 to %llu, not \"%s\"",
                          (unsigned long long)max, text);
    }
    *out = (uint32_t)n;
    return 0;
}

HB_SETTER(count)
{
    return hb_opt_count(s, values[0], HB_MAX_RANKS,
                        FIELD(uint32_t, s->o, opt), err);
}

HB_SETTER(number)
{
    uint64_t n;

    if (hb_parse_u64(values[0], 0, HB_MAX_RANKS, &n) < 0) {
        return hb_opt_bad(s, err, "needs a number from 0 to %u, not \"%s\"",
                          HB_MAX_RANKS, values[0]);
    }
    *FIELD(uint32_t, s->o, opt) = (uint32_t)n;
    return 0;
}

/* Hydra's words for what the hosts have room for. */
HB_SETTER(universe)
{
    const char *text = values[0];

    if (strcasecmp(text, "SYSTEM") == 0 || strcasecmp(text, "INFINITE") == 0) {
        s->o->universe = 0;
        return 0;
    }
    return hb_opt_count(s, text, HB_MAX_RANKS, &s->o->universe, err);
}

HB_SETTER(default_slots)
{
    const char *text = values[0];
    uint64_t n;

    if (strcmp(text, "auto") != 0 && strcmp(text, "cpu") != 0 &&
        strcmp(text, "gpu") != 0 &&
        hb_parse_u64(text, 1, HB_MAX_RANKS, &n) < 0) {
        return hb_opt_bad(s, err, "needs a number from 1 to %u, auto, cpu or "
                          "gpu, not \"%s\"", HB_MAX_RANKS, text);
    }
    hb_opt_replace(&s->o->default_slots, text);
    return 0;
}

HB_SETTER(duration)
{
    int64_t ms;

    if (hb_parse_duration_ms(values[0], &ms) < 0) {
        return hb_opt_bad(s, err,
                          "needs a time (30, 30s, 250ms, 5m, 1h), not \"%s\"",
                          values[0]);
    }
    *FIELD(int64_t, s->o, opt) = ms;
    return 0;
}

#define HOUR_MS ((int64_t)3600 * 1000)
/* Kept as an int of milliseconds. */
#define LIMIT_MS_MAX (500 * HOUR_MS)

/* Within no time at all nothing would ever be done. */
HB_SETTER(limit)
{
    int64_t ms = 1;

    if (hb_parse_duration_ms(values[0], &ms) >= 0 &&
        (ms == 0 || ms > LIMIT_MS_MAX)) {
        return hb_opt_bad(s, err, "needs a time above 0, and of 500h or less, "
                          "not \"%s\"", values[0]);
    }
    return hb_set_duration(s, opt, values, err);
}

/* Agents are told these in 32 bits of milliseconds. */
#define TOLD_MS_MAX (1000 * HOUR_MS)

HB_SETTER(told_time)
{
    int64_t ms = 0;

    if (hb_parse_duration_ms(values[0], &ms) >= 0 && ms > TOLD_MS_MAX) {
        return hb_opt_bad(s, err, "needs a time of 1000h or less, not \"%s\"",
                          values[0]);
    }
    return hb_set_duration(s, opt, values, err);
}

/* A host is lost after five of these, which must be more than a busy one may
 * take to answer. */
#define BEAT_MS_MIN 20
#define BEAT_MS_MAX (100 * HOUR_MS)

HB_SETTER(heartbeat)
{
    int64_t ms = 0;

    if (hb_parse_duration_ms(values[0], &ms) >= 0 && ms != 0 &&
        (ms < BEAT_MS_MIN || ms > BEAT_MS_MAX)) {
        return hb_opt_bad(s, err, "needs a time from 20ms to 100h, or 0 for "
                          "none, not \"%s\"", values[0]);
    }
    return hb_set_duration(s, opt, values, err);
}

HB_SETTER(port)
{
    uint64_t port;

    if (hb_parse_u64(values[0], 1, 65535, &port) < 0) {
        return hb_opt_bad(s, err, "needs a port from 1 to 65535, not \"%s\"",
                          values[0]);
    }
    s->o->port = (int)port;
    return 0;
}

/* --- programs ---------------------------------------------------- */

static int is_c(const char *spelling)
{
    return hb_streq(spelling, "-c") || hb_streq(spelling, "--c");
}

/* -c is a name of --np with Open MPI, and the cores of a task with srun: beside
 * another name it is the latter that is meant. */
static int check_c(struct hb_scan *s, const char *text,
                   struct hpcboot_error *err)
{
    const char *before = s->ranks_as;

    if (before != NULL && is_c(before) != is_c(s->spelling)) {
        return hb_opt_bad(s, err, "%s says already how many ranks there are, "
                          "which -c is another name of; the cores of each are "
                          "--cpus-per-rank %s", before,
                          is_c(before) ? "N" : text);
    }
    if (s->in_segment) {
        hb_opt_replace(&s->ranks_as, s->spelling);
    }
    return 0;
}

HB_SETTER(app_ranks)
{
    const char *colon = strchr(values[0], ':');
    char *least;
    int rc = check_c(s, values[0], err);

    if (rc < 0) {
        return rc;
    }
    s->app->np_min = 0;
    if (colon == NULL) {
        return hb_opt_count(s, values[0], HB_MAX_RANKS, &s->app->np, err);
    }
    least = hb_xstrndup(values[0], (size_t)(colon - values[0]));
    rc = hb_opt_count(s, least, HB_MAX_RANKS, &s->app->np_min, err);
    free(least);
    if (rc == 0) {
        rc = hb_opt_count(s, colon + 1, HB_MAX_RANKS, &s->app->np, err);
    }
    if (rc == 0 && s->app->np < s->app->np_min) {
        return hb_opt_bad(s, err, "needs MIN:MAX, the smaller one first, not "
                          "\"%s\"", values[0]);
    }
    return rc;
}

HB_SETTER(app_text)
{
    if (!values[0][0]) {
        return hb_opt_bad(s, err, "needs %s, not an empty text", opt->args);
    }
    hb_opt_replace(FIELD(char *, s->app, opt), values[0]);
    return 0;
}

/* 1, or -1 where a segment says no to what a file or variable says. */
HB_SETTER(app_flag)
{
    int on = switch_value(s, values[0], err);

    if (on >= 0) {
        *FIELD(int, s->app, opt) = on ? 1 : -1;
    }
    return on < 0 ? on : 0;
}

HB_SETTER(app_names)
{
    struct hb_strv *names = FIELD(struct hb_strv, s->app, opt);
    char *copy = hb_xstrdup(values[0]), *p = copy, *word;
    size_t before = names->n;

    while ((word = strsep(&p, ","))) {
        if (word[0]) {
            hb_strv_push(names, word);
        }
    }
    free(copy);
    return names->n > before ? 0
           : hb_opt_bad(s, err, "needs %s, not an empty list", opt->args);
}

static int read_whole(struct hb_scan *s, const char *path, char **text_out,
                      size_t *len_out, struct hpcboot_error *err)
{
    int rc;

    if (s->in_file) {
        return hb_opt_bad(s, err, "a file of options cannot name another");
    }
    rc = hb_file_read(path, HB_CLI_FILE_MAX, text_out, len_out, err);
    return rc < 0 ? hb_error_prefix(err, rc, "%s", s->spelling) : 0;
}

HB_SETTER(app_file)
{
    char *text = NULL;
    size_t len = 0;
    int rc = read_whole(s, values[0], &text, &len, err);

    if (rc == 0) {
        s->app_file_used = 1;
        rc = hb_app_text(s, values[0], text, len, err);
    }
    free(text);
    return rc;
}

HB_SETTER(tune_file)
{
    const char *p = values[0] + strspn(values[0], ",");
    int rc = 0;

    if (!*p) {
        return hb_opt_bad(s, err, "needs %s, not an empty text", opt->args);
    }
    while (rc == 0 && *p) { /* a list of files */
        size_t n = strcspn(p, ",");
        char *path = hb_xstrndup(p, n), *text = NULL;
        size_t len = 0;

        rc = read_whole(s, path, &text, &len, err);
        if (rc == 0) {
            rc = hb_tune_text(s, path, text, len, err);
        }
        free(text);
        free(path);
        p += n;
        p += strspn(p, ",");
    }
    return rc;
}

/* --- hosts and placement ----------------------------------------- */

/* Lists add up: -H a -H b is -H a,b. */
HB_SETTER(host)
{
    char **field = s->in_segment ? &s->app->host_list : &s->o->host_list;
    char *joined;

    if (!values[0][0]) {
        return hb_opt_bad(s, err, "needs a list of hosts");
    }
    joined = *field ? hb_xasprintf("%s,%s", *field, values[0])
                    : hb_xstrdup(values[0]);
    free(*field);
    *field = joined;
    return 0;
}

HB_SETTER(oversubscribe)
{
    int on = switch_value(s, values[0], err);

    if (on >= 0) {
        s->o->oversubscribe = on ? 1 : -1;
    }
    return on < 0 ? on : 0;
}

/* --- life -------------------------------------------------------- */

/* --keep-going and --on-failure say the same thing: the later one counts, as
 * with any option. */
HB_SETTER(on_failure)
{
    s->o->keep_going = 0;
    hb_opt_withdraw(s, "keep-going");
    return hb_set_text(s, opt, values, err);
}

void hb_opt_keep_going(struct hb_scan *s, int on)
{
    if (on || hb_streq(s->o->on_failure, "continue")) {
        hb_opt_replace(&s->o->on_failure, NULL);
        hb_opt_withdraw(s, "on-failure");
    }
    s->o->keep_going = on;
}

HB_SETTER(keep_going)
{
    int on = switch_value(s, values[0], err);

    if (on >= 0) {
        hb_opt_keep_going(s, on);
    }
    return on < 0 ? on : 0;
}

/* The number of "USR1", "sigusr1", "RTMIN+2" or "10"; 0: there is none. */
static int signal_number(const char *text)
{
    const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
    int n = 0, is_max = strncasecmp(name, "RTMAX", 5) == 0;

    for (int i = 1; i < NSIG; i++) {
        const char *known = sigabbrev_np(i);

        if (known != NULL && strcasecmp(known, name) == 0) {
            return i;
        }
    }
    if (!is_max && strncasecmp(name, "RTMIN", 5) != 0) {
        return hb_parse_int(text, 1, NSIG - 1, &n) < 0 ? 0 : n;
    }
    if (name[5] != '\0' &&
        (name[5] != (is_max ? '-' : '+') ||
         hb_parse_int(name + 6, 0, SIGRTMAX - SIGRTMIN, &n) < 0)) {
        return 0;
    }
    return is_max ? SIGRTMAX - n : SIGRTMIN + n;
}

HB_SETTER(signals)
{
    int none = strcasecmp(values[0], "none") == 0;
    uint64_t all = 0;
    size_t len;

    for (const char *p = values[0]; !none && *p != '\0'; p += len) {
        char *name = hb_xstrndup(p, len = strcspn(p, ", "));
        int n = len == 0 ? 0 : signal_number(name), rc = 0;

        if (len > 0 && n == 0) {
            rc = hb_opt_bad(s, err, "\"%s\" is not a signal; name some as "
                            "USR1,HUP, or none", name);
        }
        free(name);
        if (rc < 0) {
            return rc;
        }
        all |= n == 0 ? 0 : HB_SIGNAL_BIT(n);
        len += p[len] != '\0';
    }
    if (all == 0 && !none) {
        return hb_opt_bad(s, err, "names no signal; name some as USR1,HUP, or "
                          "none");
    }
    s->o->forward_signals = all;
    s->o->no_forward_signals = none;
    return 0;
}

HB_SETTER(signal_name)
{
    int n = signal_number(values[0]);

    if (n == 0) {
        return hb_opt_bad(s, err, "needs the name of a signal, as USR1, not "
                          "\"%s\"", values[0]);
    }
    if (n == SIGKILL || n == SIGSTOP) {
        return hb_opt_bad(s, err, "no rank can catch SIG%s; name a signal that "
                          "ranks act on, as USR1", sigabbrev_np(n));
    }
    *FIELD(int, s->o, opt) = n;
    return 0;
}

/* --- looking ----------------------------------------------------- */

static int no_topic(struct hb_scan *s, const char *topic,
                    struct hpcboot_error *err)
{
    char near[HB_OPT_NAME_MAX];
    int found = hb_opt_nearest(topic + strspn(topic, "-"), s->o->dialect, 0,
                               near);

    return hb_opt_bad(s, err, "there is no topic or option \"%s\"%s%s%s; "
                      "--help alone lists them", topic,
                      found ? " (did you mean " : "", found ? near : "",
                      found ? "?)" : "");
}

HB_SETTER(help)
{
    s->o->help = 1;
    hb_opt_replace(&s->o->help_topic, values[0]);
    return values[0] && !hb_options_help_knows(values[0])
               ? no_topic(s, values[0], err) : 0;
}

HB_SETTER(completion)
{
    hb_opt_replace(&s->o->completion, values[0]);
    return 0;
}

/* --profile on the command line was found by hb_scan_ahead. */
HB_SETTER(profile)
{
    return values[0][0] ? 0 : hb_opt_bad(s, err, "needs a name");
}

/* The same; what files and variables say comes before the words are read. */
HB_SETTER(dialect)
{
    if (!s->in_segment && s->dialect_given != HB_DIALECT_SAID) {
        hb_opt_dialect_parse(values[0], &s->o->dialect);
    }
    return 0;
}

HB_SETTER(pmi)
{
    hb_opt_replace(&s->o->pmi, strcmp(values[0], "auto") ? values[0] : NULL);
    return 0;
}
