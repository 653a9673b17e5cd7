/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Who meets whom, and what probes report.
 *
 * The schedule is the one of a tournament: with m hosts, m even, host i meets
 * host (r - i) mod (m - 1) in round r, the last host whoever would meet
 * itself. All m - 1 rounds are all pairs. In a large gang the rounds 0, 1, 3,
 * 7, ... are played: the gaps between them double, so that every host has
 * log2(m) partners and any two are a few partners apart.
 *
 * A report is lines of words; numbers are whole nanoseconds and thousands of
 * bytes:
 *
 *     pair HOST CONNECT MIN MAX KBPS    fail HOST short|large TEXT
 *     verb NAME HOST NS                 noverb NAME HOST TEXT
 *     by HOST TRANSPORT DETAIL          count NAME N
 *     error TEXT
 *
 * They come from another host, so each is checked as it is taken. */
#include "config.h"

#include "bin/doctor/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define WORDS_MAX 6
#define REPORT_LINES_MAX 65536u

/* --- schedule -------------------------------------------------------- */

static uint32_t even(uint32_t n)
{
    return n + n % 2;
}

uint32_t hb_traffic_rounds(uint32_t n, int all)
{
    uint32_t last = even(n) - 1, rounds = 0;

    if (n < 2) {
        return 0;
    }
    if (all) {
        return last;
    }
    while ((UINT32_C(1) << rounds) <= last) {
        rounds++;
    }
    return rounds;
}

uint32_t hb_traffic_partner(uint32_t n, int all, uint32_t round, uint32_t host)
{
    uint32_t m = even(n), last = m - 1, to;
    uint32_t r = all ? round : (UINT32_C(1) << round) - 1;

    if (n < 2) {
        return HB_TRAFFIC_NOBODY;
    }
    r %= last;
    if (host == last) { /* whoever would meet itself: 2 i = r */
        to = (uint32_t)((uint64_t)r * (m / 2) % last);
    } else {
        to = (r + last - host) % last;
        to = to == host ? last : to;
    }
    return to < n ? to : HB_TRAFFIC_NOBODY;
}

/* --- reports --------------------------------------------------------- */

static const char *const verb_names[HB_VERBS] = {"ah", "ud", "rc"};

const char *hb_traffic_verb_name(enum hb_traffic_verb verb)
{
    return verb_names[verb];
}

void hb_traffic_init(struct hb_traffic *t, uint32_t n,
                     const char *const *names)
{
    memset(t, 0, sizeof *t);
    t->n = n;
    t->hosts = hb_xcalloc(n + 1, sizeof *t->hosts);
    for (uint32_t i = 0; i < n; i++) {
        t->hosts[i].name = names[i];
    }
}

void hb_traffic_destroy(struct hb_traffic *t)
{
    for (size_t i = 0; i < t->n_cells; i++) {
        free(t->cells[i].failed);
        free(t->cells[i].transport);
        free(t->cells[i].detail);
        for (int v = 0; v < HB_VERBS; v++) {
            free(t->cells[i].verb_failed[v]);
        }
    }
    for (uint32_t i = 0; i < t->n; i++) {
        free(t->hosts[i].error);
    }
    free(t->cells);
    free(t->hosts);
    memset(t, 0, sizeof *t);
}

static struct hb_traffic_cell *cell(struct hb_traffic *t, uint32_t from,
                                    uint32_t to)
{
    /* A host reports pair after pair. */
    for (size_t i = t->n_cells; i > 0; i--) {
        if (t->cells[i - 1].from != from) {
            break;
        }
        if (t->cells[i - 1].to == to) {
            return &t->cells[i - 1];
        }
    }
    t->cells = hb_xrealloc(t->cells, (t->n_cells + 1) * sizeof *t->cells);
    t->cells[t->n_cells] = (struct hb_traffic_cell){.from = from, .to = to};
    return &t->cells[t->n_cells++];
}

void hb_traffic_missing(struct hb_traffic *t, uint32_t host, const char *why)
{
    if (t->hosts[host].error == NULL) {
        t->hosts[host].error = hb_xstrdup(why);
    }
}

/* One line, cut into words; the last one is the rest. */
struct line {
    struct hb_traffic *t;
    uint32_t host;
    char *words[WORDS_MAX];
};

static struct hb_traffic_cell *peer_cell(const struct line *l, int word)
{
    uint64_t peer;

    if (hb_parse_u64(l->words[word], 0, l->t->n - 1, &peer) < 0 ||
        peer == l->host) {
        return NULL;
    }
    return cell(l->t, l->host, (uint32_t)peer);
}

static void replace(char **text, const char *with)
{
    free(*text);
    *text = hb_xstrdup(with);
}

static int take_pair(const struct line *l)
{
    struct hb_traffic_cell *c = peer_cell(l, 1);
    uint64_t values[4];

    for (int i = 0; i < 4; i++) {
        if (c == NULL ||
            hb_parse_u64(l->words[i + 2], 0, INT64_MAX, &values[i]) < 0) {
            return -1;
        }
    }
    c->connect_ns = values[0];
    c->min_ns = values[1];
    c->max_ns = values[2];
    c->kbps = values[3];
    return 0;
}

static int take_fail(const struct line *l)
{
    struct hb_traffic_cell *c = peer_cell(l, 1);

    if (c == NULL) {
        return -1;
    }
    c->large_only = strcmp(l->words[2], "large") == 0;
    replace(&c->failed, l->words[3]);
    return 0;
}

static int verb_of(const char *name)
{
    int v = 0;

    while (v < HB_VERBS && strcmp(name, verb_names[v]) != 0) {
        v++;
    }
    return v;
}

static int take_verb(const struct line *l)
{
    struct hb_traffic_cell *c = peer_cell(l, 2);
    int v = verb_of(l->words[1]);

    return c == NULL || v == HB_VERBS ||
                   hb_parse_u64(l->words[3], 0, INT64_MAX, &c->verb_ns[v]) < 0
               ? -1 : 0;
}

static int take_no_verb(const struct line *l)
{
    struct hb_traffic_cell *c = peer_cell(l, 2);
    int v = verb_of(l->words[1]);

    if (c == NULL || v == HB_VERBS) {
        return -1;
    }
    replace(&c->verb_failed[v], l->words[3]);
    return 0;
}

static int take_count(const struct line *l)
{
    struct hb_traffic_host *h = &l->t->hosts[l->host];
    const struct {
        const char *name;
        uint64_t *to;
    } known[] = {{"segments", &h->segments}, {"repeated", &h->repeated},
                 {"packets", &h->packets}, {"lost", &h->lost}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(l->words[1], known[i].name) == 0) {
            return hb_parse_u64(l->words[2], 0, INT64_MAX, known[i].to);
        }
    }
    return -1;
}

static int take_by(const struct line *l)
{
    struct hb_traffic_cell *c = peer_cell(l, 1);

    if (c == NULL || l->words[2][0] == '\0') {
        return -1;
    }
    replace(&c->transport, l->words[2]);
    replace(&c->detail, l->words[3]);
    return 0;
}

static int take_error(const struct line *l)
{
    hb_traffic_missing(l->t, l->host, l->words[1]);
    return 0;
}

static const struct {
    const char *name;
    int n_words; /* the last one takes the rest of the line */
    int (*take)(const struct line *l);
} kinds[] = {
    {"pair", 6, take_pair}, {"fail", 4, take_fail},
    {"verb", 4, take_verb}, {"noverb", 4, take_no_verb},
    {"count", 3, take_count}, {"by", 4, take_by}, {"error", 2, take_error},
};

static int take_line(struct hb_traffic *t, uint32_t host, char *text)
{
    struct line l = {.t = t, .host = host};
    size_t k = 0;
    int n = 0;

    l.words[0] = strsep(&text, " ");
    while (k < sizeof kinds / sizeof *kinds &&
           strcmp(l.words[0], kinds[k].name) != 0) {
        k++;
    }
    if (k == sizeof kinds / sizeof *kinds) {
        return -1;
    }
    for (n = 1; n + 1 < kinds[k].n_words && text != NULL; n++) {
        l.words[n] = strsep(&text, " ");
    }
    if (text == NULL) {
        return -1;
    }
    l.words[n] = text;
    return kinds[k].take(&l);
}

int hb_traffic_take(struct hb_traffic *t, uint32_t host, const char *text,
                    size_t len, struct hpcboot_error *err)
{
    char *copy = hb_xstrndup(text, len), *rest = copy, *line;
    uint32_t lines = 0;
    int rc = 0;

    while (rc == 0 && (line = strsep(&rest, "\n")) != NULL) {
        if (lines++ == REPORT_LINES_MAX ||
            (line[0] != '\0' && take_line(t, host, line) < 0)) {
            rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL, "%s reported a line that "
                         "is none: %.100s", t->hosts[host].name, line);
        }
    }
    free(copy);
    return rc;
}
