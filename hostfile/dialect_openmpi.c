/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hostfile of Open MPI 4 and 5.
 *
 *   line := [host { key "=" value }] [comment]
 *   key  := "slots" | "max_slots" | "username" | "port" and their synonyms
 *
 * Blanks may stand around "=", a value may be quoted. Comments begin with
 * "#" or "//", or stand between slash-star and star-slash, also over several
 * lines; they are overwritten with blanks before a line is read, so columns
 * stay those of the file. A host without slots gets as many as it has cores;
 * mentions of one host add up.
 *
 * The relative forms (+n2, +e) and exclusions (^host) refer to an allocation
 * that another source made. They are refused in words. */

#include "config.h"

#include "hostfile/dialect.h"

#include <string.h>
#include <strings.h>

#include "hostfile/hostname.h"

#define BLANKS " \t"

struct reader {
    const struct hb_lines *lines;
    struct hb_mentioned *m;
    struct hpcboot_error *err;
};

static void blank(char *from, char *to)
{
    memset(from, ' ', (size_t)(to - from));
}

/* Overwrites comments; *open tells whether one goes on in the next line. */
static void blank_comments(char *line, size_t len, int *open)
{
    char *end = line + len;

    for (char *p = line; p < end; p++) {
        if (*open || strncmp(p, "/*", 2) == 0) {
            char *close = strstr(*open ? p : p + 2, "*/");
            *open = close == NULL;
            blank(p, close != NULL ? close + 2 : end);
            p = close != NULL ? close + 1 : end;
        } else if (*p == '#' || strncmp(p, "//", 2) == 0) {
            blank(p, end);
            return;
        }
    }
}

/* A line says each thing once, or the same again. */
static int once(struct reader *r, const char *value, int same)
{
    return same ? HPCBOOT_OK
                : hb_lines_fail(r->lines, value, r->err,
                                "expected the same value as earlier in this "
                                "line, found \"%.40s\"", value);
}

static int take_number(struct reader *r, const char *value, int n, int *field)
{
    int rc = once(r, value, *field == 0 || *field == n);

    *field = n;
    return rc;
}

static int read_slots(struct reader *r, char *value)
{
    int slots = 0, rc = hb_slots_parse(r->lines, value, &slots, r->err);

    return rc < 0 ? rc : take_number(r, value, slots, &r->m->slots);
}

static int read_max_slots(struct reader *r, char *value)
{
    uint64_t n;

    if (hb_parse_u64(value, 1, HB_MAX_SLOTS, &n) < 0) {
        return hb_lines_fail(r->lines, value, r->err,
                             "expected a number of slots from 1 to %u",
                             HB_MAX_SLOTS);
    }
    return take_number(r, value, (int)n, &r->m->max_slots);
}

static int read_user(struct reader *r, char *value)
{
    size_t at;
    const char *wrong = hb_username_wrong(value, &at);

    if (wrong != NULL) {
        return hb_lines_fail(r->lines, value + at, r->err, "expected %s",
                             wrong);
    }
    if (r->m->user == NULL) {
        r->m->user = value;
    }
    return once(r, value, strcmp(r->m->user, value) == 0);
}

static int read_port(struct reader *r, char *value)
{
    uint64_t n;

    if (hb_parse_u64(value, 1, 65535, &n) < 0) {
        return hb_lines_fail(r->lines, value, r->err,
                             "expected a port from 1 to 65535");
    }
    return take_number(r, value, (int)n, &r->m->port);
}

struct key {
    const char *name;
    int (*read)(struct reader *r, char *value);
};

static const struct key keys[] = {
    {"slots", read_slots},         {"cpu", read_slots},
    {"count", read_slots},         {"max_slots", read_max_slots},
    {"max-slots", read_max_slots}, {"slots_max", read_max_slots},
    {"slots-max", read_max_slots}, {"cpu_max", read_max_slots},
    {"cpu-max", read_max_slots},   {"count_max", read_max_slots},
    {"count-max", read_max_slots}, {"username", read_user},
    {"user_name", read_user},      {"user-name", read_user},
    {"user", read_user},           {"port", read_port},
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static int unknown_key(struct reader *r, const char *at, const char *word)
{
    const char *names[N_KEYS], *near;

    for (size_t i = 0; i < N_KEYS; i++) {
        names[i] = keys[i].name;
    }
    near = hb_nearest(word, names, N_KEYS);
    return near != NULL
               ? hb_lines_fail(r->lines, at, r->err,
                               "expected \"%s=\", found \"%.40s\"", near, word)
               : hb_lines_fail(r->lines, at, r->err,
                               "expected slots=, max_slots=, username= or "
                               "port=, found \"%.40s\"", word);
}

/* Cuts the value at *p, quoted or not, and moves *p behind it. */
static int cut_value(struct reader *r, char **p, char **value_out)
{
    char *value = *p, *end;

    if (*value == '"') {
        end = strchr(++value, '"');
        if (end == NULL) {
            return hb_lines_fail(r->lines, *p, r->err,
                                 "expected a closing quote");
        }
    } else {
        end = value + strcspn(value, BLANKS "=");
    }
    *p = end;
    if (*end == '=') {
        return hb_lines_fail(r->lines, end, r->err,
                             "expected a blank before the next key");
    }
    if (*end != '\0') {
        *end = '\0';
        (*p)++;
    }
    *value_out = value;
    return HPCBOOT_OK;
}

/* One KEY = VALUE at *p. */
static int read_pair(struct reader *r, char **p)
{
    char *word = *p, *equal = word + strcspn(word, BLANKS "="), *end = equal;
    char *value = NULL;
    int rc;

    equal += strspn(equal, BLANKS);
    if (*equal != '=') {
        return hb_lines_fail(r->lines, word, r->err,
                             "expected KEY=VALUE after the host, as in "
                             "slots=4");
    }
    *end = '\0';
    *p = equal + 1 + strspn(equal + 1, BLANKS);
    rc = cut_value(r, p, &value);
    for (size_t i = 0; rc >= 0 && i < N_KEYS; i++) {
        if (strcasecmp(keys[i].name, word) == 0) {
            return keys[i].read(r, value);
        }
    }
    return rc < 0 ? rc : unknown_key(r, word, word);
}

static int refuse_relative(const struct hb_lines *lines, const char *word,
                           struct hpcboot_error *err)
{
    if (*word == '+') {
        return hb_lines_fail(lines, word, err,
                             "expected a host name; relative hosts (+n, +e) "
                             "are not understood");
    }
    if (*word == '^') {
        return hb_lines_fail(lines, word, err,
                             "expected a host name; leaving hosts out (^host) "
                             "is not understood, remove the line");
    }
    return HPCBOOT_OK;
}

static int read_host(struct reader *r, char *word)
{
    struct hb_host_word w;
    size_t at = 0;
    const char *wrong;
    int rc = refuse_relative(r->lines, word, r->err);

    if (rc < 0) {
        return rc;
    }
    wrong = hb_host_word_cut(word, &w, &at);
    if (wrong == NULL && w.slots != NULL) {
        wrong = "a blank and slots=N after the host";
        at = (size_t)(w.slots - 1 - word);
    }
    if (wrong != NULL) {
        return hb_lines_fail(r->lines, word + at, r->err, "expected %s", wrong);
    }
    r->m->user = w.user;
    r->m->name = w.name;
    r->m->literal = w.literal;
    return HPCBOOT_OK;
}

static int read_line(struct hb_build *b, const struct hb_lines *lines, char *p,
                     struct hpcboot_error *err)
{
    struct hb_mentioned m = {0};
    struct reader r = {lines, &m, err};
    char *word = p;
    int rc;

    p += strcspn(p, BLANKS);
    if (*p != '\0') {
        *p++ = '\0';
    }
    rc = read_host(&r, word);
    for (p += strspn(p, BLANKS); rc >= 0 && *p != '\0';
         p += strspn(p, BLANKS)) {
        rc = read_pair(&r, &p);
    }
    if (rc >= 0 && m.max_slots > 0 && m.slots > m.max_slots) {
        rc = hb_lines_fail(lines, word, err,
                           "expected max_slots of at least slots (%d)",
                           m.slots);
    }
    m.slots = m.slots == 0 ? m.max_slots : m.slots; /* as mpirun(1) has it */
    return rc < 0 ? rc : hb_build_add(b, lines, &m, err);
}

static int openmpi_read(struct hb_build *b, struct hb_lines *lines,
                        struct hpcboot_error *err)
{
    unsigned opened = 0;
    int open = 0, rc;

    while ((rc = hb_lines_next(lines, err)) > 0) {
        char *p;
        opened = open ? opened : lines->number;
        blank_comments(lines->line, lines->len, &open);
        p = lines->line + strspn(lines->line, BLANKS);
        if (*p != '\0') {
            rc = read_line(b, lines, p, err);
        }
        if (rc < 0) {
            return rc;
        }
    }
    if (rc >= 0 && open) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "%s:%u:1: expected */ for the comment that begins in "
                       "line %u", lines->file, lines->number, opened);
    }
    return rc;
}

static void openmpi_write(const struct hb_gang *gang, struct hb_str *out,
                          struct hb_strv *dropped)
{
    for (size_t i = 0; i < gang->n; i++) {
        const struct hb_host *h = &gang->hosts[i];
        if (h->user != NULL) {
            hb_str_putf(out, "%s@", h->user);
        }
        hb_str_put(out, h->name);
        if (h->slots > 0) {
            hb_str_putf(out, " slots=%d", h->slots);
        } else if (h->max_slots > 0) {
            hb_str_put(out, " slots=auto");
        }
        if (h->max_slots > 0) {
            hb_str_putf(out, " max_slots=%d", h->max_slots);
        }
        if (h->port > 0) {
            hb_str_putf(out, " port=%d", h->port);
        }
        hb_str_putc(out, '\n');
    }
    hb_form_dropped(gang, HB_DROP_GPUS, dropped);
}

const struct hb_form hb_form_openmpi = {
    .name = "openmpi",
    .title = "Open MPI hostfile",
    .tally = HB_TALLY_REPEATED,
    .read = openmpi_read,
    .write = openmpi_write,
};
