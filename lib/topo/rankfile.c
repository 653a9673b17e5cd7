/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Reads rank files.
 *
 *   line := [ "rank" N "=" HOST [ "slot" "=" SLOTS ] ] [ "#" comment ]
 *   HOST := a name, or "+n" and the number of a host in the job's order
 *   SLOTS := PART { ";" PART },   PART := PACKAGE ":" CORES | CORES
 *   CORES := a list as 0-3,7
 *
 * SLOTS is checked for its characters only; what it means is known on the
 * host. Blanks may stand around every word. A rank may have one line. */

#include "config.h"

#include "lib/topo/rankfile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/fd.h"
#include "lib/base/jobmap.h"
#include "lib/base/str.h"

#define FILE_MAX_BYTES (64u << 20) /* some 40 bytes a rank */

struct scan {
    const char *file, *line, *p;
    uint32_t number;
    uint32_t max_ranks; /* more than the file has room for lines */
};

#define LINE_BYTES_MIN 7 /* rank0=a */

static int expected(const struct scan *s, const char *what,
                    struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_PARSE, "%s:%u:%zu: expected %s", s->file,
                   s->number, (size_t)(s->p - s->line) + 1, what);
}

static void skip_blanks(struct scan *s)
{
    s->p += strspn(s->p, " \t\r");
}

static int at_end(const struct scan *s)
{
    return *s->p == '\0' || *s->p == '\n' || *s->p == '#';
}

static int take_word(struct scan *s, const char *word, char end)
{
    size_t n = strlen(word);

    if (strncasecmp(s->p, word, n) != 0) {
        return 0;
    }
    s->p += n;
    skip_blanks(s);
    if (end != '\0' && *s->p == end) {
        s->p++;
        skip_blanks(s);
        return 1;
    }
    return end == '\0';
}

static int take_number(struct scan *s, uint32_t limit, uint32_t *out)
{
    uint64_t n = 0;

    if (!isdigit((unsigned char)*s->p)) {
        return 0;
    }
    for (; isdigit((unsigned char)*s->p); s->p++) {
        n = n * 10 + (uint64_t)(*s->p - '0');
        if (n >= limit) {
            return 0;
        }
    }
    *out = (uint32_t)n;
    skip_blanks(s);
    return 1;
}

static char *take_text(struct scan *s)
{
    size_t n = strcspn(s->p, " \t\r\n#");
    char *text = n > 0 ? hb_xstrndup(s->p, n) : NULL;

    s->p += n;
    skip_blanks(s);
    return text;
}

static struct hb_rankfile_entry *entry_of(struct hb_rankfile *f, uint32_t rank,
                                          uint32_t *cap)
{
    if (rank >= *cap) {
        uint32_t want = rank + 1 > 2 * *cap ? rank + 1 : 2 * *cap;
        f->v = hb_xrealloc(f->v, want * sizeof(*f->v));
        memset(f->v + *cap, 0, (want - *cap) * sizeof(*f->v));
        *cap = want;
    }
    f->n = rank + 1 > f->n ? rank + 1 : f->n;
    return &f->v[rank];
}

/* "+n2" */
static int relative_of(const char *host)
{
    uint64_t n;

    return strncasecmp(host, "+n", 2) == 0 &&
                   hb_parse_u64(host + 2, 0, HB_MAX_NODES, &n) == 0
               ? (int)n : -1;
}

/* The first of the parts that has nothing in it; NULL: all have. */
static const char *empty_part(const char *slots)
{
    const char *at = slots;

    while (*at != '\0' && *at != ';') {
        at += strcspn(at, ";");
        at += *at == ';';
        if (*at == '\0' && at[-1] != ';') {
            return NULL;
        }
    }
    return at;
}

static int take_slots(struct scan *s, struct hb_rankfile_entry *e,
                      struct hpcboot_error *err)
{
    const char *from, *empty;

    if (at_end(s)) {
        return HPCBOOT_OK;
    }
    if (!take_word(s, "slots", '=') && !take_word(s, "slot", '=')) {
        return expected(s, "slot=CORES, or the end of the line", err);
    }
    from = s->p;
    e->slots = take_text(s);
    if (e->slots == NULL ||
        e->slots[strspn(e->slots, "0123456789,-:;*")] != '\0') {
        s->p = from;
        return expected(s, "a list of cores, as 0-3,7 or 0:0-3;1:2", err);
    }
    empty = empty_part(e->slots);
    if (empty != NULL) {
        s->p = from + (empty - e->slots);
        return expected(s, "cores here: a part that ';' divides off is empty",
                        err);
    }
    return at_end(s) ? HPCBOOT_OK : expected(s, "the end of the line", err);
}

static int take_line(struct scan *s, struct hb_rankfile *f, uint32_t *cap,
                     struct hpcboot_error *err)
{
    struct hb_rankfile_entry *e;
    const char *from;
    uint32_t rank;

    skip_blanks(s);
    if (at_end(s)) {
        return HPCBOOT_OK;
    }
    if (!take_word(s, "rank", '\0')) {
        return expected(s, "\"rank\", as in: rank 0=host slot=0-3", err);
    }
    from = s->p;
    if (!take_number(s, s->max_ranks, &rank)) {
        s->p = from;
        return expected(s, "the number of a rank; all ranks from 0 on have a "
                           "line", err);
    }
    if (*s->p != '=') {
        return expected(s, "= and a host", err);
    }
    e = entry_of(f, rank, cap);
    if (e->host != NULL) {
        s->p = from;
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "%s:%u:%zu: rank %u is here again; it had its host in "
                       "line %u", s->file, s->number,
                       (size_t)(s->p - s->line) + 1, rank, e->line);
    }
    s->p++;
    skip_blanks(s);
    e->host = take_text(s);
    if (e->host == NULL) {
        return expected(s, "a host", err);
    }
    e->relative = relative_of(e->host);
    e->line = s->number;
    return take_slots(s, e, err);
}

void hb_rankfile_clear(struct hb_rankfile *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        free(f->v[i].host);
        free(f->v[i].slots);
    }
    free(f->v);
    free(f->name);
    memset(f, 0, sizeof(*f));
}

int hb_rankfile_parse(const char *name, const char *text,
                      struct hb_rankfile *out, struct hpcboot_error *err)
{
    struct hb_rankfile f = {.name = hb_xstrdup(name)};
    struct scan s = {.file = name, .line = text, .number = 1};
    size_t len = strlen(text), most = len / LINE_BYTES_MIN + 1;
    uint32_t cap = 0;
    int rc = HPCBOOT_OK;

    s.line += hb_bom_len(text, len);
    s.max_ranks = most < HB_MAX_RANKS ? (uint32_t)most : HB_MAX_RANKS;
    for (;;) {
        s.p = s.line;
        rc = take_line(&s, &f, &cap, err);
        s.line += strcspn(s.line, "\n");
        if (rc < 0 || *s.line == '\0') {
            break;
        }
        s.line++;
        s.number++;
    }
    if (rc >= 0 && f.n == 0) {
        rc = hb_fail(err, HPCBOOT_ERR_PARSE, "%s: no rank in it; expected "
                     "lines as: rank 0=host slot=0-3", name);
    }
    if (rc < 0) {
        hb_rankfile_clear(&f);
        return rc;
    }
    *out = f;
    return HPCBOOT_OK;
}

int hb_rankfile_read(const char *path, struct hb_rankfile *out,
                     struct hpcboot_error *err)
{
    char *text = NULL;
    size_t len;
    int rc = hb_file_read_lasting(path, FILE_MAX_BYTES, &text, &len, err);

    rc = rc >= 0 ? hb_rankfile_parse(path, text, out, err)
                 : hb_error_prefix(err, rc, "--map-by rankfile");
    free(text);
    return rc;
}

int hb_rankfile_same_host(const char *a, const char *b)
{
    size_t na = strcspn(a, "."), nb = strcspn(b, ".");

    if (strcasecmp(a, b) == 0) {
        return 1;
    }
    return na == nb && strncasecmp(a, b, na) == 0 &&
           (a[na] == '\0' || b[nb] == '\0') && strspn(a, "0123456789") != na;
}

int hb_rankfile_names(const char *name, const char *host, int is_local)
{
    return hb_rankfile_same_host(name, host) ||
           (is_local && (strcasecmp(name, "localhost") == 0 ||
                         (hb_is_loopback(name) && !hb_is_loopback(host))));
}
