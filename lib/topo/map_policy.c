/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Reads --map-by and --rank-by.
 *
 *   map-by  := [place] { (":" | ",") modifier }
 *   place   := "slot" | "node" | ... | "ppr:N:object" | "pe-list=0-3,7"
 *   modifier:= "PE=N" | "FILE=NAME" | "SPAN" | "OVERSUBSCRIBE" | ...
 *
 * Words are compared without regard to case, as Open MPI does, and may be cut
 * short where one word alone begins so; "socket" is its older name for
 * "package". A text is read into a policy of its own
 * first and then laid over the caller's, so that a failed text changes
 * nothing and modifiers add to what other options have set. What is known
 * but not done here is refused with the reason, not as unknown. */

#include "config.h"

#include "lib/topo/map.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"
#include "lib/base/strv.h"
#include "lib/topo/cpus.h"

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_PPR HB_MAX_RANKS
#define FILE_IS "FILE="
#define LIST_IS "pe-list="

struct word {
    const char *name;
    int value;
};

static const struct word places[] = {
    {"slot", HB_MAP_SLOT},       {"node", HB_MAP_NODE},
    {"seq", HB_MAP_SEQ},         {"hwthread", HB_MAP_HWTHREAD},
    {"core", HB_MAP_CORE},       {"l1cache", HB_MAP_L1CACHE},
    {"l2cache", HB_MAP_L2CACHE}, {"l3cache", HB_MAP_L3CACHE},
    {"numa", HB_MAP_NUMA},       {"package", HB_MAP_PACKAGE},
    {"socket", HB_MAP_PACKAGE}, {"gpu", HB_MAP_GPU},
    {"nic", HB_MAP_NIC},         {"rankfile", HB_MAP_RANKFILE},
    {"pe-list", HB_MAP_PE_LIST},
};

/* Behind an object that ranks are numbered over. */
static const struct word ways[] = {
    {"span", HB_RANK_SPAN},
    {"fill", HB_RANK_FILL},
};

static const struct word rankings[] = {
    {"slot", HB_RANK_SLOT},
    {"node", HB_RANK_NODE},
    {"fill", HB_RANK_FILL},
    {"span", HB_RANK_SPAN},
};

struct modifier {
    const char *name;
    size_t offset; /* of an int in struct hb_map_policy */
    int value;
};

#define FIELD(f) offsetof(struct hb_map_policy, f)
static const struct modifier modifiers[] = {
    {"OVERSUBSCRIBE", FIELD(oversubscribe), 1},
    {"NOOVERSUBSCRIBE", FIELD(oversubscribe), -1},
    {"NOLOCAL", FIELD(nolocal), 1},
    {"SPAN", FIELD(span), 1},
    {"HWTCPUS", FIELD(cpu_kind), 1},
    {"CORECPUS", FIELD(cpu_kind), -1},
    {"INHERIT", FIELD(inherit), 1},
    {"NOINHERIT", FIELD(inherit), -1},
    {"ORDERED", FIELD(ordered), 1},
};

/* Words of Open MPI that mean something else here. */
struct refused {
    const char *word;
    const char *reason;
};
static const struct refused refusals[] = {
    {"dist", "placement by distance is not done; use numa"},
    {"board", "boards are not told apart; use package"},
    {"DISPLAY", "not a placement; use --dry-run or --explain"},
    {"DONOTLAUNCH", "not a placement; use --dry-run"},
};

/* What `text` means in a table whose entries begin with a name: that entry, or
 * the only one that it is the beginning of; NULL: none, or several. */
static const void *find_name(const void *table, size_t n, size_t size,
                             const char *text)
{
    const void *found = NULL;
    size_t len = strlen(text), count = 0;

    for (size_t i = 0; i < n; i++) {
        const void *entry = (const char *)table + i * size;
        const char *name;
        memcpy(&name, entry, sizeof(name));
        if (strcasecmp(name, text) == 0) {
            return entry;
        }
        if (len > 0 && strncasecmp(name, text, len) == 0) {
            found = entry;
            count++;
        }
    }
    return count == 1 ? found : NULL;
}

static const struct word *find_word(const struct word *table, size_t n,
                                    const char *text)
{
    return find_name(table, n, sizeof(*table), text);
}

static const char *refusal_of(const char *word)
{
    for (size_t i = 0; i < N_OF(refusals); i++) {
        if (strcasecmp(refusals[i].word, word) == 0) {
            return refusals[i].reason;
        }
    }
    return NULL;
}

static int refuse(const char *option, const char *word,
                  const char *const *names, size_t n,
                  struct hpcboot_error *err)
{
    const char *near = hb_nearest(word, names, n);
    struct hb_str list = HB_STR_INIT;
    char *several;
    int rc;

    if (refusal_of(word) != NULL) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "%s %s: %s", option, word,
                       refusal_of(word));
    }
    several = hb_all_beginning(word, names, n);
    if (several != NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%s: \"%.40s\" may be %s", option,
                     word, several);
        free(several);
        return rc;
    }
    for (size_t i = 0; i < n; i++) {
        hb_str_putf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    rc = near != NULL
             ? hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: \"%.40s\" is not known; did you mean \"%s\"?",
                       option, word, near)
             : hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: \"%.40s\" is not known; expected one of %s",
                       option, word, hb_str_text(&list));
    hb_str_destroy(&list);
    return rc;
}

static int refuse_place(const char *word, struct hpcboot_error *err)
{
    const char *names[N_OF(places) + 1] = {"ppr:N:node"};

    for (size_t i = 0; i < N_OF(places); i++) {
        names[i + 1] = places[i].name;
    }
    return refuse("--map-by", word, names, N_OF(names), err);
}

/* Of what there are so many ranks for each with ppr. */
static int is_object(const struct word *place)
{
    return place->value != HB_MAP_SLOT && place->value != HB_MAP_SEQ &&
           place->value <= HB_MAP_NIC;
}

static int refuse_object(const char *word, struct hpcboot_error *err)
{
    const char *names[N_OF(places)];
    size_t n = 0;

    for (size_t i = 0; i < N_OF(places); i++) {
        if (is_object(&places[i])) {
            names[n++] = places[i].name;
        }
    }
    return refuse("--map-by ppr:N:OBJECT", word, names, n, err);
}

static int refuse_modifier(const char *word, struct hpcboot_error *err)
{
    const char *names[N_OF(modifiers) + 1] = {"PE=N"};

    for (size_t i = 0; i < N_OF(modifiers); i++) {
        names[i + 1] = modifiers[i].name;
    }
    return refuse("--map-by", word, names, N_OF(names), err);
}

static int parse_pe(const char *value, struct hb_map_policy *p,
                    struct hpcboot_error *err)
{
    uint64_t n;

    if (hb_parse_u64(value, 1, HB_MAX_CPUS, &n) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--map-by PE=%.40s: expected CPUs per rank, 1 to %u",
                       value, HB_MAX_CPUS);
    }
    p->pe = (uint32_t)n;
    return HPCBOOT_OK;
}

static int parse_file(const char *value, struct hb_map_policy *p,
                      struct hpcboot_error *err)
{
    if (value[0] == '\0' || strlen(value) >= sizeof(p->file)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--map-by FILE=%.40s: expected the name of a file",
                       value);
    }
    snprintf(p->file, sizeof(p->file), "%s", value);
    return HPCBOOT_OK;
}

static int parse_list(const char *value, struct hb_map_policy *p,
                      struct hpcboot_error *err)
{
    if (value[0] == '\0' || strlen(value) >= sizeof(p->list) ||
        value[strspn(value, "0123456789,-")] != '\0') {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--map-by pe-list=%.40s: expected a list of cores, as "
                       "0-3,7, of up to %u bytes", value, HB_MAP_LIST_MAX - 1);
    }
    snprintf(p->list, sizeof(p->list), "%s", value);
    p->by = HB_MAP_PE_LIST;
    return HPCBOOT_OK;
}

/* A way of placing must have what it needs. */
static int check_whole(const struct hb_map_policy *p,
                       struct hpcboot_error *err)
{
    if (p->by == HB_MAP_RANKFILE && p->file[0] == '\0') {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--map-by rankfile: expected rankfile:FILE=NAME");
    }
    if (p->by == HB_MAP_PE_LIST && p->list[0] == '\0') {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--map-by pe-list: expected pe-list=CORES, as in "
                       "pe-list=0-3,7");
    }
    if (p->file[0] != '\0' && p->by != HB_MAP_RANKFILE &&
        p->by != HB_MAP_SEQ) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--map-by FILE=%.40s: only rankfile and seq read a "
                       "file", p->file);
    }
    return HPCBOOT_OK;
}

static int parse_modifier(const char *word, struct hb_map_policy *p,
                          struct hpcboot_error *err)
{
    const struct modifier *m;
    int *field;

    if (strncasecmp(word, "PE=", 3) == 0) {
        return parse_pe(word + 3, p, err);
    }
    if (strncasecmp(word, FILE_IS, strlen(FILE_IS)) == 0) {
        return parse_file(word + strlen(FILE_IS), p, err);
    }
    m = find_name(modifiers, N_OF(modifiers), sizeof(*m), word);
    if (m == NULL) {
        return refuse_modifier(word, err);
    }
    field = (int *)((char *)p + m->offset);
    if (*field != 0 && *field != m->value) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--map-by %s contradicts another modifier before it",
                       word);
    }
    *field = m->value;
    return HPCBOOT_OK;
}

/* "ppr", then the next two words. */
static int parse_ppr(const struct hb_strv *words, struct hb_map_policy *p,
                     struct hpcboot_error *err)
{
    const struct word *object;
    uint64_t n;

    if (words->n < 3) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--map-by ppr: expected ppr:N:OBJECT, as in ppr:2:node");
    }
    if (hb_parse_u64(words->v[1], 1, MAX_PPR, &n) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--map-by ppr:%.40s: expected ranks per object, 1 to %u",
                       words->v[1], MAX_PPR);
    }
    object = find_word(places, N_OF(places), words->v[2]);
    if (object == NULL || !is_object(object)) {
        return refuse_object(words->v[2], err);
    }
    p->ppr = (uint32_t)n;
    p->by = object->value == HB_MAP_NODE ? HB_MAP_PPR_NODE : HB_MAP_PPR_OBJECT;
    p->ppr_object = (enum hb_map_by)object->value;
    return HPCBOOT_OK;
}

/* Is this word, up to a ':' or ',', a modifier, or so nearly that it is one
 * mistyped? */
static int may_be_modifier(const char *text)
{
    const char *names[N_OF(modifiers)];
    char *word = hb_xstrndup(text, strcspn(text, ":,")), *several;
    int may_be = refusal_of(word) != NULL || strcasecmp(word, "PE") == 0 ||
                 strncasecmp(word, "PE=", 3) == 0 ||
                 strncasecmp(word, FILE_IS, strlen(FILE_IS)) == 0 ||
                 find_name(modifiers, N_OF(modifiers), sizeof(*modifiers),
                           word) != NULL;

    for (size_t i = 0; i < N_OF(modifiers); i++) {
        names[i] = modifiers[i].name;
    }
    several = hb_all_beginning(word, names, N_OF(names));
    may_be = may_be || several != NULL ||
             hb_nearest(word, names, N_OF(names)) != NULL;
    free(several);
    free(word);
    return may_be;
}

/* A file's name goes on over what is no modifier, as in /tmp/12:30. */
static size_t file_len(const char *text)
{
    size_t n = strcspn(text, ":");

    while (text[n] != '\0' && !may_be_modifier(text + n + 1)) {
        n += 1 + strcspn(text + n + 1, ":");
    }
    return n;
}

/* Cuts at ':' and ','; empty words stay, so that ":SPAN" has an empty place.
 * A list and a file's name go on over commas. */
static void split(const char *text, struct hb_strv *words)
{
    for (;;) {
        int is_list = strncasecmp(text, LIST_IS, strlen(LIST_IS)) == 0;
        int is_file = strncasecmp(text, FILE_IS, strlen(FILE_IS)) == 0;
        size_t n = is_file ? file_len(text)
                           : strcspn(text, is_list ? ":" : ":,");

        hb_strv_take(words, hb_xstrndup(text, n));
        if (text[n] == '\0') {
            return;
        }
        text += n + 1;
    }
}

static void lay_over(const struct hb_map_policy *p, struct hb_map_policy *io)
{
    if (p->by != HB_MAP_DEFAULT) {
        io->by = p->by;
        io->ppr = p->ppr;
        io->ppr_object = p->ppr_object;
        snprintf(io->list, sizeof(io->list), "%s", p->list);
        snprintf(io->file, sizeof(io->file), "%s", p->file);
    }
    for (size_t i = 0; i < N_OF(modifiers); i++) {
        const int *from = (const int *)((const char *)p + modifiers[i].offset);
        int *to = (int *)((char *)io + modifiers[i].offset);
        if (*from != 0) {
            *to = *from;
        }
    }
    if (p->pe != 0) {
        io->pe = p->pe;
    }
}

int hb_map_by_parse(const char *text, struct hb_map_policy *io,
                    struct hpcboot_error *err)
{
    struct hb_map_policy p = {0};
    struct hb_strv words = HB_STRV_INIT;
    const struct word *place;
    size_t next = 1;
    int rc = HPCBOOT_OK;

    split(text, &words);
    place = find_word(places, N_OF(places), words.v[0]);
    if (place != NULL) {
        p.by = (enum hb_map_by)place->value;
    } else if (strncasecmp(words.v[0], LIST_IS, strlen(LIST_IS)) == 0) {
        rc = parse_list(words.v[0] + strlen(LIST_IS), &p, err);
    } else if (strcasecmp(words.v[0], "ppr") == 0) {
        rc = parse_ppr(&words, &p, err);
        next = 3;
    } else if (words.v[0][0] != '\0' || words.n == 1) {
        rc = refuse_place(words.v[0], err);
    }
    for (size_t i = next; rc >= 0 && i < words.n; i++) {
        rc = parse_modifier(words.v[i], &p, err);
    }
    if (rc >= 0) {
        rc = check_whole(&p, err);
    }
    if (rc >= 0) {
        lay_over(&p, io);
    }
    hb_strv_destroy(&words);
    return rc;
}

/* The kind of object ranks are placed on; HB_MAP_NODE: on whole nodes. */
static enum hb_map_by placed_on(const struct hb_map_policy *p)
{
    enum hb_map_by by = p->by == HB_MAP_PPR_OBJECT ? p->ppr_object : p->by;

    return by >= HB_MAP_HWTHREAD ? by : HB_MAP_NODE;
}

/* Open MPI 4's numbering by object, as far as it is one of ours: finer than the
 * places, it fills place after place; by the places themselves, it takes those
 * of a host in turn. */
static int rank_by_object(const char *text, enum hb_map_by object,
                          struct hb_map_policy *io, struct hpcboot_error *err)
{
    enum hb_map_by place = placed_on(io);

    if (object < HB_MAP_HWTHREAD || (place != HB_MAP_NODE && object > place)) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "--rank-by %s: ranks are not numbered over objects "
                       "larger than those they are placed on; use fill "
                       "(object after object) or span (in turn)", text);
    }
    io->rank_by = place == HB_MAP_NODE ? HB_RANK_SLOT
                  : object < place     ? HB_RANK_FILL
                                       : HB_RANK_TURN;
    return HPCBOOT_OK;
}

static int rank_by_modified(const char *text, enum hb_map_by object,
                            const char *modifier, struct hb_map_policy *io,
                            struct hpcboot_error *err)
{
    const struct word *way = find_word(ways, N_OF(ways), modifier);

    if (way == NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--rank-by %.40s: expected span "
                       "or fill behind the colon", text);
    }
    if (object == HB_MAP_SLOT || object == HB_MAP_NODE) {
        io->rank_by = object == HB_MAP_SLOT ? HB_RANK_SLOT : HB_RANK_NODE;
        return HPCBOOT_OK;
    }
    if (object == placed_on(io)) {
        io->rank_by = (enum hb_rank_by)way->value;
        return HPCBOOT_OK;
    }
    return rank_by_object(text, object, io, err);
}

static int refuse_ranking(const char *word, struct hpcboot_error *err)
{
    const char *names[N_OF(rankings) + N_OF(places)];
    size_t n = 0;

    for (size_t i = 0; i < N_OF(rankings); i++) {
        names[n++] = rankings[i].name;
    }
    for (size_t i = 0; i < N_OF(places); i++) {
        if (is_object(&places[i]) && places[i].value != HB_MAP_NODE) {
            names[n++] = places[i].name;
        }
    }
    return refuse("--rank-by", word, names, n, err);
}

/* One word, or an object with a modifier, as Open MPI 4 has them: the objects
 * of all hosts in turn (span), or object after object (fill). Ranks on what is
 * larger than the object follow each other either way. */
int hb_rank_by_parse(const char *text, struct hb_map_policy *io,
                     struct hpcboot_error *err)
{
    const struct word *w = find_word(rankings, N_OF(rankings), text);
    const char *colon = strchr(text, ':');
    char *word;
    int rc;

    if (w != NULL) {
        io->rank_by = (enum hb_rank_by)w->value;
        return HPCBOOT_OK;
    }
    word = hb_xstrndup(text, strcspn(text, ":"));
    w = find_word(places, N_OF(places), word);
    if (w == NULL) {
        rc = refuse_ranking(word, err);
    } else if (colon == NULL) {
        rc = rank_by_object(text, (enum hb_map_by)w->value, io, err);
    } else {
        rc = rank_by_modified(text, (enum hb_map_by)w->value, colon + 1, io,
                              err);
    }
    free(word);
    return rc;
}

int hb_map_spans(const struct hb_map_policy *policy)
{
    return policy->span && policy->by != HB_MAP_DEFAULT &&
           policy->by != HB_MAP_SLOT;
}

int hb_map_needs_inside(const struct hb_map_policy *policy)
{
    int object = policy->by >= HB_MAP_HWTHREAD && policy->by <= HB_MAP_PACKAGE;

    return policy->by == HB_MAP_PPR_OBJECT || policy->by == HB_MAP_GPU ||
           policy->by == HB_MAP_NIC || policy->pe > 1 ||
           (object && (policy->span || policy->rank_by == HB_RANK_SPAN));
}
