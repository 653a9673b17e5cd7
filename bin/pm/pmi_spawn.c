/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Ranks of PMI that start others. PMI-1 says it in blocks, one for each
 * program, which are kept until the last has come; PMI-2 in one message, whose
 * repeated keys belong to the `subcmd` before them. Either way it becomes one
 * question to the job, and the rank waits for the answer. What nobody can
 * start, as too many ranks or a program without a name, is an MPI program's
 * mistake, which it hears of as of any spawn that fails; messages without sense
 * end the talk. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/pm/pmi.h"
#include "lib/base/str.h"

struct hb_pmi_spawning {
    struct hb_pmi_spawning *next;
    uint64_t id;
    uint32_t n_ranks;
    struct hb_pmi_waiter who;
};

static void forget(struct hb_pmi_spawning *s)
{
    free(s->who.thrid);
    free(s->who.group);
    free(s);
}

void hb_pmi_spawns_destroy(struct hb_pm *pm)
{
    while (pm->spawning != NULL) {
        struct hb_pmi_spawning *s = pm->spawning;

        pm->spawning = s->next;
        forget(s);
    }
}

static void ask(struct hb_pm *pm, struct hb_pmi_rank *rank, const char *thrid)
{
    static const struct hb_pm_spawned refused = {.status = HPCBOOT_ERR_SPAWN};
    struct hb_pmi_spawning *s = hb_xcalloc(1, sizeof(*s));

    s->id = ++pm->last_spawn;
    s->n_ranks = hb_pm_spawn_ranks(&rank->spawn);
    s->who.rank = rank;
    s->who.thrid = thrid != NULL ? hb_xstrdup(thrid) : NULL;
    s->next = pm->spawning;
    pm->spawning = s;
    if (rank->no_spawn) {
        hb_pmi_spawn_done(pm, s->id, &refused);
    } else {
        pm->host.spawn(pm->arg, s->id, rank->rank, &rank->spawn);
    }
    hb_pm_spawn_clear(&rank->spawn);
    rank->no_spawn = 0;
}

/* As if it had been good, until all of it has come. */
static int note_refusal(struct hb_pmi_rank *rank, int rc)
{
    rank->no_spawn |= rc == HPCBOOT_ERR_SPAWN;
    return rc == HPCBOOT_ERR_SPAWN ? HPCBOOT_OK : rc;
}

void hb_pmi_spawn_done(struct hb_pm *pm, uint64_t id,
                       const struct hb_pm_spawned *answer)
{
    struct hb_pmi_spawning **at = &pm->spawning, *s;

    while (*at != NULL && (*at)->id != id) {
        at = &(*at)->next;
    }
    s = *at;
    if (s == NULL) {
        return;
    }
    *at = s->next;
    if (!s->who.rank->gone) {
        s->who.rank->dialect->spawn_reply(pm, &s->who, answer, s->n_ranks);
    }
    forget(s);
}

/* ---- what the messages say ----------------------------------------------- */

static int number_of(const char *text, const char *what, uint32_t *out,
                     struct hpcboot_error *err)
{
    int value;

    if (text == NULL || hb_parse_int(text, 0, INT32_MAX, &value) < 0) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "PMI: spawn without a good "
                       "%s", what);
    }
    *out = (uint32_t)value;
    return HPCBOOT_OK;
}

static int take_program(struct hb_pmi_rank *rank, const char *program,
                        uint32_t n, struct hpcboot_error *err)
{
    if (program == NULL) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "PMI: spawn of %u processes without a program", n);
    }
    return hb_pm_spawn_app(&rank->spawn, program, n, err);
}

/* The value of "NAMEi" in one block. */
static const char *numbered(const struct hb_pmi_msg *msg, const char *name,
                            uint32_t i)
{
    char key[64];

    snprintf(key, sizeof key, "%s%u", name, i);
    return hb_pmi_value(msg, key);
}

static int take_args1(struct hb_pmi_rank *rank, const struct hb_pmi_msg *msg,
                      struct hpcboot_error *err)
{
    const char *count = hb_pmi_value(msg, "argcnt");
    uint32_t n = 0;
    int rc = count != NULL ? number_of(count, "argcnt", &n, err) : 0;

    for (uint32_t i = 1; rc == 0 && i <= n; i++) {
        const char *word = numbered(msg, "arg", i);

        rc = word != NULL
                 ? hb_pm_spawn_arg(&rank->spawn, word, err)
                 : hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                           "PMI: spawn without argument %u of %u", i, n);
    }
    return rc;
}

typedef int (*pair_taker)(struct hb_pm_spawn *s, const char *key,
                          const char *value, struct hpcboot_error *err);

static int take_pairs1(struct hb_pmi_rank *rank, const struct hb_pmi_msg *msg,
                       const char *what, pair_taker take,
                       struct hpcboot_error *err)
{
    char name[32];
    uint32_t n = 0;
    int rc = 0;

    snprintf(name, sizeof name, "%s_num", what);
    if (hb_pmi_value(msg, name) != NULL) {
        rc = number_of(hb_pmi_value(msg, name), name, &n, err);
    }
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        const char *key, *value;

        snprintf(name, sizeof name, "%s_key_", what);
        key = numbered(msg, name, i);
        snprintf(name, sizeof name, "%s_val_", what);
        value = numbered(msg, name, i);
        rc = key != NULL && value != NULL
                 ? take(&rank->spawn, key, value, err)
                 : hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                           "PMI: spawn without %s %u of %u", what, i, n);
    }
    return rc;
}

static int take_block(struct hb_pmi_rank *rank, const struct hb_pmi_msg *msg,
                      struct hpcboot_error *err)
{
    const char *program = hb_pmi_value(msg, "execname");
    uint32_t n = 0;
    int rc = number_of(hb_pmi_value(msg, "nprocs"), "nprocs", &n, err);

    if (rc == 0) {
        rc = take_program(rank, program, n, err);
    }
    if (rc == 0) {
        rc = take_args1(rank, msg, err);
    }
    if (rc == 0) {
        rc = take_pairs1(rank, msg, "info", hb_pm_spawn_hint, err);
    }
    /* Each block repeats them. */
    if (rc == 0 && rank->spawn.n_apps == 1) {
        rc = take_pairs1(rank, msg, "preput", hb_pm_spawn_preput, err);
    }
    return rc;
}

int hb_pmi_on_spawn1(struct hb_pm *pm, struct hb_pmi_rank *rank,
                     const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    const char *so_far = hb_pmi_value(msg, "spawnssofar");
    const char *total = hb_pmi_value(msg, "totspawns");
    uint32_t which = 1, of = 1;
    int rc = total != NULL ? number_of(total, "totspawns", &of, err) : 0;

    if (rc == 0 && so_far != NULL) {
        rc = number_of(so_far, "spawnssofar", &which, err);
    }
    if (rc == 0 && which == 1) {
        hb_pm_spawn_clear(&rank->spawn);
        rank->no_spawn = 0;
    }
    if (rc == 0 && !rank->no_spawn) {
        rc = note_refusal(rank, take_block(rank, msg, err));
    }
    if (rc < 0) {
        hb_pm_spawn_clear(&rank->spawn);
        return rc;
    }
    if (which >= of) {
        ask(pm, rank, NULL);
    }
    return HPCBOOT_OK;
}

/* ---- PMI-2 --------------------------------------------------------------- */

/* A key of a row that counts up, "argv0", "infokey1": pairs come in order, so
 * that the number is not needed. */
static int is_row(const char *key, const char *name)
{
    size_t len = strlen(name);

    return strncmp(key, name, len) == 0 &&
           key[len] >= '0' && key[len] <= '9';
}

static int take_preput2(struct hb_pmi_rank *rank, const struct hb_pmi_pair *at,
                        const struct hb_pmi_pair *end,
                        struct hpcboot_error *err)
{
    if (at + 1 == end || !is_row(at[1].key, "ppval") || at[1].value == NULL ||
        at->value == NULL) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "PMI: spawn with a %s without its value", at->key);
    }
    return hb_pm_spawn_preput(&rank->spawn, at->value, at[1].value, err);
}

static int take_hint2(struct hb_pmi_rank *rank, const struct hb_pmi_pair *at,
                      const struct hb_pmi_pair *end, struct hpcboot_error *err)
{
    if (rank->spawn.n_apps == 0 || at + 1 == end ||
        !is_row(at[1].key, "infoval") || at[1].value == NULL ||
        at->value == NULL) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "PMI: spawn with an %s without its value", at->key);
    }
    return hb_pm_spawn_hint(&rank->spawn, at->value, at[1].value, err);
}

/* The program's own number of ranks follows its name. */
static int take_program2(struct hb_pmi_rank *rank,
                         const struct hb_pmi_pair *at,
                         const struct hb_pmi_pair *end,
                         struct hpcboot_error *err)
{
    uint32_t n = 0;
    int rc = at + 1 < end && strcmp(at[1].key, "maxprocs") == 0
                 ? number_of(at[1].value, "maxprocs", &n, err)
                 : hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                           "PMI: spawn without maxprocs");

    return rc < 0 ? rc : take_program(rank, at->value, n, err);
}

static int take_pair2(struct hb_pmi_rank *rank, const struct hb_pmi_pair *at,
                      const struct hb_pmi_pair *end, struct hpcboot_error *err)
{
    if (strcmp(at->key, "subcmd") == 0) {
        return take_program2(rank, at, end, err);
    }
    if (is_row(at->key, "ppkey")) {
        return take_preput2(rank, at, end, err);
    }
    if (is_row(at->key, "infokey")) {
        return take_hint2(rank, at, end, err);
    }
    if (is_row(at->key, "argv")) {
        return rank->spawn.n_apps > 0
                   ? hb_pm_spawn_arg(&rank->spawn,
                                     at->value != NULL ? at->value : "", err)
                   : hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                             "PMI: spawn with an argument of no program");
    }
    return HPCBOOT_OK;
}

int hb_pmi_on_spawn2(struct hb_pm *pm, struct hb_pmi_rank *rank,
                     const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    const struct hb_pmi_pair *end = msg->pairs + msg->n_pairs;
    int rc = 0;

    hb_pm_spawn_clear(&rank->spawn);
    rank->no_spawn = 0;
    for (const struct hb_pmi_pair *p = msg->pairs;
         rc == 0 && !rank->no_spawn && p < end; p++) {
        rc = note_refusal(rank, take_pair2(rank, p, end, err));
    }
    if (rc == 0 && !rank->no_spawn && rank->spawn.n_apps == 0) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL, "PMI: spawn of no program");
    }
    if (rc < 0) {
        hb_pm_spawn_clear(&rank->spawn);
        return rc;
    }
    ask(pm, rank, hb_pmi_value(msg, "thrid"));
    return HPCBOOT_OK;
}
