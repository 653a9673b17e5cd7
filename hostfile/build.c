/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Collects mentions of hosts into a gang.
 *
 * A host is one entry however often it is mentioned; its slots add up and
 * the order of the mentions is kept beside it, for the placements that
 * follow it. Names are compared as DNS does, without regard to case and to a
 * dot at their end, through a hash table: lists of 100,000 hosts are normal.
 * Ranges are expanded here, so every dialect understands them.
 *
 * What mentions without a count amount to depends on the dialect, so stated
 * and unstated ones are tallied apart until the end. */

#include "config.h"

#include "hostfile/build.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hostfile/hostname.h"
#include "hostfile/range.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

struct tally {
    uint32_t mentions;
    uint32_t unstated; /* mentions without a count */
    uint32_t autos;    /* mentions that ask for counting cores */
    uint32_t gpus;     /* mentions that ask for counting GPUs */
};

struct hb_build {
    enum hb_tally tally;
    struct hb_host *hosts;
    struct tally *tallies;
    size_t n, cap;
    uint32_t last; /* the host of the last mention, when n > 0 */
    struct hb_mention *mentions;
    size_t n_mentions, cap_mentions;
    uint32_t *index; /* [n_index] host + 1, or 0; open addressing */
    size_t n_index;  /* a power of two, more than half of it empty */
};

struct hb_build *hb_build_create(enum hb_tally tally)
{
    struct hb_build *b = hb_xcalloc(1, sizeof(*b));

    b->tally = tally;
    b->n_index = 64;
    b->index = hb_xcalloc(b->n_index, sizeof(*b->index));
    return b;
}

static void host_destroy(struct hb_host *h)
{
    free(h->name);
    free(h->user);
    free(h->origin);
}

void hb_build_destroy(struct hb_build *b)
{
    if (b == NULL) {
        return;
    }
    for (size_t i = 0; i < b->n; i++) {
        host_destroy(&b->hosts[i]);
    }
    free(b->hosts);
    free(b->tallies);
    free(b->mentions);
    free(b->index);
    free(b);
}

size_t hb_build_count(const struct hb_build *b)
{
    return b->n;
}

/* FNV-1a over the lower-case name. */
static size_t hash_of(const char *name)
{
    uint64_t h = 14695981039346656037u;

    for (size_t n = hb_hostname_len(name); n > 0; n--, name++) {
        h = (h ^ (uint64_t)tolower((unsigned char)*name)) * 1099511628211u;
    }
    return (size_t)(h ^ (h >> 32));
}

static int same_name(const char *a, const char *b)
{
    size_t n = hb_hostname_len(a);

    return n == hb_hostname_len(b) && strncasecmp(a, b, n) == 0;
}

/* The index cell of `name`, or the empty one where it belongs. */
static uint32_t *cell_of(struct hb_build *b, const char *name)
{
    size_t i = hash_of(name) & (b->n_index - 1);

    while (b->index[i] != 0 &&
           !same_name(b->hosts[b->index[i] - 1].name, name)) {
        i = (i + 1) & (b->n_index - 1);
    }
    return &b->index[i];
}

static void grow(struct hb_build *b)
{
    if (b->n == b->cap) {
        b->cap = b->cap > 0 ? b->cap * 2 : 16;
        b->hosts = hb_xrealloc(b->hosts, b->cap * sizeof(*b->hosts));
        b->tallies = hb_xrealloc(b->tallies, b->cap * sizeof(*b->tallies));
    }
    if (2 * (b->n + 1) > b->n_index) {
        free(b->index);
        b->n_index *= 2;
        b->index = hb_xcalloc(b->n_index, sizeof(*b->index));
        for (size_t i = 0; i < b->n; i++) {
            *cell_of(b, b->hosts[i].name) = (uint32_t)i + 1;
        }
    }
}

static uint32_t find_or_add(struct hb_build *b, const struct hb_lines *lines,
                            const char *name)
{
    uint32_t *cell;

    grow(b);
    cell = cell_of(b, name);
    if (*cell == 0) {
        memset(&b->hosts[b->n], 0, sizeof(*b->hosts));
        memset(&b->tallies[b->n], 0, sizeof(*b->tallies));
        b->hosts[b->n].name = hb_xstrdup(name);
        b->hosts[b->n].origin = hb_lines_where(lines);
        *cell = (uint32_t)++b->n;
    }
    return *cell - 1;
}

/* Stated slots and unstated mentions together stay within HB_MAX_SLOTS, so
 * that no sum of them overflows. */
static int add_slots(struct hb_host *h, struct tally *t,
                     const struct hb_lines *lines, const struct hb_mentioned *m,
                     struct hpcboot_error *err)
{
    int stated = m->slots > 0 ? m->slots : 0;

    if (t->unstated + (uint32_t)(h->slots + stated) > HB_MAX_SLOTS ||
        (uint32_t)(h->max_slots + m->max_slots) > HB_MAX_SLOTS) {
        return hb_lines_fail(lines, m->name, err,
                             "expected the slots of one host to add up to at "
                             "most %u", HB_MAX_SLOTS);
    }
    h->slots += stated;
    h->max_slots += m->max_slots;
    return HPCBOOT_OK;
}

static int merge(struct hb_host *h, struct tally *t,
                 const struct hb_lines *lines, const struct hb_mentioned *m,
                 struct hpcboot_error *err)
{
    if (t->mentions > 0 && !hb_streq(h->user, m->user)) {
        return hb_lines_fail(lines, m->name, err,
                             "expected the same user for %.60s as in %.60s",
                             h->name, h->origin);
    }
    if (t->mentions > 0 && h->port != m->port) {
        return hb_lines_fail(lines, m->name, err,
                             "expected the same port for %.60s as in %.60s",
                             h->name, h->origin);
    }
    if (t->mentions == 0) {
        h->user = m->user != NULL ? hb_xstrdup(m->user) : NULL;
        h->port = m->port;
    }
    t->mentions++;
    t->unstated += m->slots == HB_SLOTS_NOT_STATED;
    t->autos += m->slots == HB_SLOTS_AUTO;
    t->gpus += m->slots == HB_SLOTS_GPUS;
    if (t->autos > 0 && t->gpus > 0) {
        return hb_lines_fail(lines, m->name, err,
                             "expected the same to be counted on %.60s as in "
                             "%.60s: cores or GPUs", h->name, h->origin);
    }
    if (t->autos + t->gpus > 0 && (h->slots > 0 || m->slots > 0)) {
        return hb_lines_fail(lines, m->name, err,
                             "expected slots for %.60s in the way of %.60s: a "
                             "number, or what to count there", h->name,
                             h->origin);
    }
    return add_slots(h, t, lines, m, err);
}

static void note_mention(struct hb_build *b, uint32_t host, int slots)
{
    struct hb_mention *m;

    if (b->n_mentions == b->cap_mentions) {
        b->cap_mentions = b->cap_mentions > 0 ? b->cap_mentions * 2 : 16;
        b->mentions = hb_xrealloc(b->mentions,
                                  b->cap_mentions * sizeof(*b->mentions));
    }
    m = &b->mentions[b->n_mentions++];
    m->host = host;
    m->stated = slots > 0;
    m->slots = slots > 0 ? (uint32_t)slots
                         : slots == HB_SLOTS_NOT_STATED &&
                               b->tally == HB_TALLY_EACH;
}

/* The host that `name` is, in *host_out; an error when it is no name. */
static int name_host(struct hb_build *b, const struct hb_lines *lines,
                     const struct hb_mentioned *m, const char *name,
                     uint32_t *host_out, struct hpcboot_error *err)
{
    size_t at;
    const char *wrong = hb_hostname_wrong(name, &at);

    if (wrong == NULL && m->literal && strchr(name, ':') == NULL) {
        wrong = "an IPv6 address in brackets";
        at = 0;
    }
    if (wrong != NULL) {
        return hb_lines_fail(lines, m->name + (name == m->name ? at : 0), err,
                             "expected %s", wrong);
    }
    *host_out = find_or_add(b, lines, name);
    return HPCBOOT_OK;
}

static int add_name(struct hb_build *b, const struct hb_lines *lines,
                    const struct hb_mentioned *m, const char *name,
                    struct hpcboot_error *err)
{
    uint32_t host = b->last;
    int rc = HPCBOOT_OK;

    if (b->n >= HB_MAX_HOSTS || b->n_mentions >= HB_MAX_SLOTS) {
        return hb_lines_fail(lines, m->name, err, "expected at most %u hosts",
                             HB_MAX_HOSTS);
    }
    /* Node files have a line per slot: mostly it is the same host again. */
    if (b->n == 0 || strcmp(b->hosts[host].name, name) != 0) {
        rc = name_host(b, lines, m, name, &host, err);
    }
    if (rc >= 0) {
        b->last = host;
        rc = merge(&b->hosts[host], &b->tallies[host], lines, m, err);
    }
    if (rc >= 0) {
        note_mention(b, host, m->slots);
    }
    return rc;
}

int hb_build_add(struct hb_build *b, const struct hb_lines *lines,
                 const struct hb_mentioned *m, struct hpcboot_error *err)
{
    struct hb_strv names = HB_STRV_INIT;
    const char *expected;
    size_t at;
    int rc = HPCBOOT_OK;

    if (m->literal || strpbrk(m->name, "[]") == NULL) {
        return add_name(b, lines, m, m->name, err);
    }
    if (hb_range_expand(m->name, HB_MAX_HOSTS, &names, &at, &expected) < 0) {
        return hb_lines_fail(lines, m->name + at, err, "expected %s",
                             expected);
    }
    for (size_t i = 0; rc >= 0 && i < names.n; i++) {
        rc = add_name(b, lines, m, names.v[i], err);
    }
    hb_strv_destroy(&names);
    return rc;
}

static void settle(struct hb_host *h, const struct tally *t, enum hb_tally how)
{
    int each = how == HB_TALLY_EACH ||
               (how == HB_TALLY_REPEATED && t->mentions > 1);

    if (t->autos > 0 || t->gpus > 0) {
        h->slots = 0;
        h->count = t->gpus > 0 ? HB_COUNT_GPUS : HB_COUNT_CORES;
    } else if (each) {
        h->slots += (int)t->unstated;
    }
}

void hb_build_finish(struct hb_build *b, struct hb_gang *out)
{
    for (size_t i = 0; i < b->n; i++) {
        settle(&b->hosts[i], &b->tallies[i], b->tally);
    }
    out->hosts = b->hosts;
    out->n = b->n;
    out->mentions = b->mentions;
    out->n_mentions = b->n_mentions;
    b->hosts = NULL;
    b->n = 0;
    b->mentions = NULL;
    b->n_mentions = 0;
}

int hb_slots_parse(const struct hb_lines *lines, const char *text, int *out,
                   struct hpcboot_error *err)
{
    enum hb_count count;
    int slots;

    if (!hb_slots_word(text, &slots, &count)) {
        return hb_lines_fail(lines, text, err,
                             "expected a number of slots from 1 to %u, or "
                             "\"auto\", \"cpu\" or \"gpu\"", HB_MAX_SLOTS);
    }
    *out = slots > 0 ? slots
                     : count == HB_COUNT_GPUS ? HB_SLOTS_GPUS : HB_SLOTS_AUTO;
    return HPCBOOT_OK;
}

int hb_word_parse(const struct hb_lines *lines, char *text,
                  struct hb_mentioned *out, struct hpcboot_error *err)
{
    struct hb_host_word word;
    size_t at = 0;
    const char *wrong = hb_host_word_cut(text, &word, &at);

    memset(out, 0, sizeof(*out));
    if (wrong != NULL) {
        return hb_lines_fail(lines, text + at, err, "expected %s", wrong);
    }
    out->user = word.user;
    out->name = word.name;
    out->literal = word.literal;
    return word.slots == NULL ? HPCBOOT_OK
                              : hb_slots_parse(lines, word.slots, &out->slots,
                                               err);
}
