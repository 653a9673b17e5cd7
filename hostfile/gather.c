/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Asks the sources, strongest first; the first that has hosts wins.
 *
 * One rule joins two of them: -H selects from the hosts that another source
 * knows, as in Open MPI, so that user, port, slots and key of that source
 * hold. Where the user has named a file, a script or pods, too, every name must
 * be one of theirs. A gang that was only found (an operator's, a default
 * hostfile, a script or pods of a site's file or variable) is left aside when
 * -H names something else: the user then means other hosts.
 *
 * Who names hosts of an operator's gang, be it by the operator's own file or
 * script, gets them as that gang's: with its key, its trust and its patience.
 *
 * Why a source was passed over is kept for the user who expected it. */

#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hostfile/hostfile.h"
#include "hostfile/indexed.h"
#include "hostfile/source.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

static const struct hb_source *const sources[] = {
    &hb_source_list,
    &hb_source_file,
    &hb_source_script,
    &hb_source_pods,
    &hb_source_volcano,
    &hb_source_mpi_operator,
    &hb_source_mpijob_v1,
    &hb_source_trainer,
    &hb_source_trainer_torch,
    &hb_source_trainer_jax,
    &hb_source_jobset,
    &hb_source_indexed_job,
    &hb_source_lws,
    &hb_source_pytorchjob,
    &hb_source_tfjob,
    &hb_source_paddlejob,
    &hb_source_xgboostjob,
    &hb_source_jaxjob,
    &hb_source_kuberay,
    &hb_source_kubernetes,
    &hb_source_slurm,
    &hb_source_pbs,
    &hb_source_lsf,
    &hb_source_sge,
    &hb_source_flux,
    &hb_source_cobalt,
    &hb_source_default,
    &hb_source_local,
};
#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))
/* The first of them are the command line's. */
#define N_NAMED 4

static void drop_notes(struct hb_gang *gang)
{
    for (size_t i = 0; i < gang->n_notes; i++) {
        free(gang->notes[i]);
    }
    free(gang->notes);
    gang->notes = NULL;
    gang->n_notes = 0;
}

/* A file that cannot be read is named; who wanted it is not. The user's own
 * file is the user's to mend. */
static int unreadable(const struct hb_gang_request *req,
                      const struct hb_source *s, int rc,
                      struct hpcboot_error *err)
{
    if (rc != HPCBOOT_ERR_NOT_FOUND && rc != HPCBOOT_ERR_SYSTEM) {
        return rc;
    }
    if (s == &hb_source_file ||
        (s == &hb_source_default && req->default_hostfile != NULL)) {
        rc = HPCBOOT_ERR_USAGE;
    }
    if (err != NULL) {
        hb_error_prefix(err, rc, "%s", s->name);
        err->code = rc;
    }
    return rc;
}

/* A source that knows the gang more closely has named it itself. */
static void name_source(struct hb_gang *gang, const struct hb_source *s)
{
    if (gang->source == NULL) {
        gang->source = hb_xstrdup(s->name);
    }
}

/* Asks those sources that `own_hosts` (or all) until one answers. Notes of
 * those that could name no hosts stay when nobody else can. */
static int ask_all(const struct hb_gang_request *req, int own_hosts,
                   struct hb_gang *out, struct hb_strv *passed,
                   const struct hb_source *const **winner_out,
                   struct hpcboot_error *err)
{
    struct hb_gang notes = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < N_SOURCES; i++) {
        const struct hb_source *s = sources[i];
        char *reason = NULL;
        if (own_hosts && !s->own_hosts) {
            continue;
        }
        rc = s->ask(req, out, &reason, err);
        if (rc > 0) {
            name_source(out, s);
            *winner_out = &sources[i];
        } else if (rc == 0) {
            hb_strv_pushf(passed, "%s: %s", s->name, reason);
            for (size_t k = 0; k < out->n_notes; k++) {
                hb_gang_note(&notes, "%s", out->notes[k]);
            }
            drop_notes(out);
        } else {
            rc = unreadable(req, s, rc, err);
        }
        free(reason);
    }
    for (size_t k = 0; rc > 0 && *winner_out == &sources[N_SOURCES - 1] &&
                       k < notes.n_notes; k++) {
        hb_gang_note(out, "%s", notes.notes[k]);
    }
    drop_notes(&notes);
    return rc;
}

static int same_hosts(const struct hb_gang *a, const struct hb_gang *b)
{
    size_t i = 0;

    while (i < a->n && i < b->n &&
           strcasecmp(a->hosts[i].name, b->hosts[i].name) == 0) {
        i++;
    }
    return i == a->n && i == b->n;
}

/* Says which weaker sources name other hosts than the one that was believed,
 * for the user who meant them. On the command line hosts are named on
 * purpose, so nothing else is asked then; and the default hostfile is there to
 * be overruled, so of that only the list of reasons tells. */
static void ask_weaker(const struct hb_gang_request *req, struct hb_gang *gang,
                       struct hb_strv *passed,
                       const struct hb_source *const *winner)
{
    for (; winner < &sources[N_SOURCES - 2]; winner++) {
        const struct hb_source *s = winner[1];
        struct hb_gang other = {0};
        char *reason = NULL;
        if (!s->is_slow && s->ask(req, &other, &reason, NULL) > 0 &&
            !same_hosts(gang, &other)) {
            hb_strv_pushf(passed, "%s: %s, which %s is believed over", s->name,
                          other.detail, gang->source);
            if (s != &hb_source_default) {
                hb_gang_note(gang, "%s names other hosts (%s), but %s is "
                             "believed (%s); -H or --hostfile decides",
                             s->name, other.detail, gang->source,
                             gang->detail);
            }
        }
        free(reason);
        hb_gang_destroy(&other);
    }
}

/* A list that is right but for a host or two was meant to select. */
static char *not_selected(const struct hb_gang *gang,
                          const struct hb_gang *list, const char *root,
                          const char *why)
{
    return !hb_gang_has_some(gang, list, root) ? NULL
        : hb_xasprintf("%s, so the list stands for itself, and what the gang "
                       "says of its other hosts (key, port, slots) is not used",
                       why);
}

#define N_SAID 3

/* The options by which somebody has said where the hosts are from, beside -H,
 * strongest first; NULL where he has not. */
static void said_sources(const struct hb_gang_request *req,
                         const char *said[N_SAID])
{
    int selects = req->pod_selector != NULL &&
                  !hb_streq(req->pod_selector, "none");

    said[0] = req->hostfile != NULL ? "--hostfile" : NULL;
    said[1] = req->discover != NULL ? "--discover-hosts" : NULL;
    said[2] = selects ? "--pod-selector"
                      : req->pod_group != NULL ? "--pod-group" : NULL;
}

/* Of whose hosts -H is to select, and of no others. */
static int is_source_named(const struct hb_gang_request *req)
{
    const char *said[N_SAID];

    said_sources(req, said);
    return said[0] != NULL ||
           (!req->filters_found && (said[1] != NULL || said[2] != NULL));
}

/* Of several the strongest is believed, and the others are not even asked. */
static void note_no_effect(const struct hb_gang_request *req,
                           struct hb_gang *gang)
{
    const char *said[N_SAID], *believed = NULL;

    said_sources(req, said);
    for (size_t i = 0; i < N_SAID; i++) {
        if (said[i] != NULL && believed != NULL) {
            hb_gang_note(gang, "%s has no effect beside %s, which is believed",
                         said[i], believed);
        }
        believed = believed != NULL ? believed : said[i];
    }
}

/* 1: *out holds the part of another source's hosts that -H selects. 0: there
 * is none; *note_out, to be freed, is NULL or what to tell of that. */
static int select_hosts(const struct hb_gang_request *req, struct hb_gang *out,
                        struct hb_strv *passed, char **note_out,
                        struct hpcboot_error *err)
{
    const struct hb_source *const *winner = NULL;
    struct hb_gang list = {0};
    struct hpcboot_error why;
    char *detail;
    int rc;

    rc = hb_hostfile_parse_list(req->host_list, &list, err);
    if (rc < 0) {
        return rc;
    }
    rc = ask_all(req, 1, out, passed, &winner, &why);
    if (rc > 0) {
        rc = hb_gang_filter(out, &list, hb_source_root(req),
                            winner >= &sources[N_NAMED] && !req->count_list,
                            &why);
        rc = rc < 0 ? rc : 1;
    }
    if (rc < 0 && winner != NULL && winner >= &sources[N_NAMED] &&
        *winner != &hb_source_default) {
        *note_out = not_selected(out, &list, hb_source_root(req), why.text);
    }
    hb_gang_destroy(&list);
    if (rc < 0 && is_source_named(req)) {
        return hb_fail(err, rc, "%s%s%s%s", why.text,
                       out->detail != NULL ? " (" : "",
                       out->detail != NULL ? out->detail : "",
                       out->detail != NULL ? ")" : "");
    }
    if (rc < 0) {
        hb_strv_pushf(passed, "%s: %s",
                      out->source != NULL ? out->source : "a weaker source",
                      why.text);
        hb_gang_destroy(out);
        return 0;
    }
    if (rc > 0) {
        detail = hb_xasprintf("%s; -H selects %zu of them", out->detail,
                              out->n);
        free(out->detail);
        out->detail = detail;
    }
    return rc;
}

/* The gang of the operator whose pod this is; 0: of none. */
static int operators_gang(const struct hb_gang_request *req,
                          struct hb_gang *out)
{
    for (size_t i = N_NAMED; sources[i] != &hb_source_kubernetes; i++) {
        char *reason = NULL;
        int rc = sources[i]->ask(req, out, &reason, NULL);

        free(reason);
        if (rc > 0) {
            name_source(out, sources[i]);
            return out->operator_made;
        }
        hb_gang_destroy(out);
    }
    return 0;
}

/* 1: the hosts that the command line names are an operator's. */
static int join_operator(const struct hb_gang_request *req,
                         struct hb_gang *gang)
{
    struct hb_gang of = {0};
    int joined = operators_gang(req, &of) &&
                 hb_gang_join(gang, &of, hb_source_root(req));
    char *detail;

    if (!joined) { /* a JobSet's other Jobs are known to the user alone */
        hb_gang_destroy(&of);
        joined = hb_indexed_among(req, gang, &of) &&
                 hb_gang_join(gang, &of, hb_source_root(req));
    }
    if (joined) {
        detail = hb_xasprintf("%s; they are hosts of %s%s%s", gang->detail,
                              of.source, gang->gang_key != NULL
                              ? ", the job's key is " : "",
                              gang->gang_key != NULL ? gang->gang_key : "");
        free(gang->detail);
        gang->detail = detail;
    }
    hb_gang_destroy(&of);
    return joined;
}

/* Nobody names hosts, and who wrote the pod's template thought otherwise. */
static void tell_of_nothing(const struct hb_gang_request *req,
                            struct hb_gang *gang)
{
    static const char *const wishes[] = {HB_GANG_SIZE_VARIABLE,
                                         "HPCBOOT_TASKS"};

    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        const char *value = hb_source_env(req, wishes[i]);

        if (value != NULL && *value != '\0' && !hb_streq(value, "1")) {
            hb_gang_note(gang, "%s is set, but nothing here belongs to a gang "
                         "that it could apply to, so this host is alone; "
                         "hpcboot hostfile --why says what was looked for",
                         wishes[i]);
        }
    }
}

int hb_gang_gather(const struct hb_gang_request *req, struct hb_gang *out,
                   struct hpcboot_error *err)
{
    const struct hb_source *const *winner = NULL;
    struct hb_strv passed = HB_STRV_INIT;
    char *note = NULL;
    int rc = 0;

    memset(out, 0, sizeof(*out));
    if (req->host_list != NULL && req->filter) {
        rc = select_hosts(req, out, &passed, &note, err);
    }
    if (rc == 0) {
        rc = ask_all(req, 0, out, &passed, &winner, err);
    }
    if (rc > 0 && !out->operator_made && winner < &sources[N_NAMED] &&
        join_operator(req, out)) {
        free(note);
        note = NULL;
    }
    if (rc > 0 && note != NULL) {
        hb_gang_note(out, "%s", note);
    }
    free(note);
    if (rc > 0) {
        note_no_effect(req, out);
    }
    if (rc > 0 && winner >= &sources[N_NAMED]) {
        ask_weaker(req, out, &passed, winner);
    }
    if (rc > 0 && winner == &sources[N_SOURCES - 1] && out->n_notes == 0) {
        tell_of_nothing(req, out);
    }
    if (rc < 0) {
        hb_gang_destroy(out);
    }
    out->n_passed = passed.n;
    out->passed_over = passed.v;
    return rc < 0 ? rc : HPCBOOT_OK;
}

int hb_gang_follow(const struct hb_gang_request *req, const char *source,
                   hb_gang_changed changed, void *arg,
                   struct hpcboot_error *err)
{
    int selects = req->host_list != NULL && req->filter;

    for (size_t i = 0; !selects && i < N_SOURCES; i++) {
        if (hb_streq(sources[i]->name, source) && sources[i]->follow != NULL) {
            return sources[i]->follow(req, changed, arg, err);
        }
    }
    return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "%s tells of no changes by "
                   "itself", source);
}
