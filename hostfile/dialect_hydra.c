/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The host file of Hydra, MPICH's launcher.
 *
 *   line := [host [":" slots] { key "=" value }] [comment]
 *   key  := "user" | "binding" | "ifhn"
 *
 * Comments begin with "#". A host without a count has one slot per mention,
 * and the order of mentions is the order in which Hydra deals out ranks;
 * that is kept in the gang's mentions. `binding` and `ifhn` say how a host
 * binds and which address it takes, which are decided elsewhere here: they
 * are read and not used. Hydra knows no IPv6 literals; they are understood
 * in brackets or without a count, because a user's file may have them. */

#include "config.h"

#include "hostfile/dialect.h"

#include <string.h>

#include "hostfile/hostname.h"

#define BLANKS " \t"

static int read_pair(const struct hb_lines *lines, char *word,
                     struct hb_mentioned *m, struct hpcboot_error *err)
{
    char *value = strchr(word, '=');
    const char *wrong;
    size_t at;

    if (value == NULL) {
        return hb_lines_fail(lines, word, err,
                             "expected KEY=VALUE after the host, as in "
                             "user=NAME");
    }
    *value++ = '\0';
    if (strcmp(word, "binding") == 0 || strcmp(word, "ifhn") == 0) {
        return HPCBOOT_OK;
    }
    if (strcmp(word, "user") != 0) {
        return hb_lines_fail(lines, word, err,
                             "expected user=, binding= or ifhn=, found "
                             "\"%.40s\"", word);
    }
    wrong = hb_username_wrong(value, &at);
    if (wrong != NULL) {
        return hb_lines_fail(lines, value + at, err, "expected %s", wrong);
    }
    if (m->user != NULL && strcmp(m->user, value) != 0) {
        return hb_lines_fail(lines, value, err, "expected the same value as "
                             "earlier in this line, found \"%.40s\"", value);
    }
    m->user = value;
    return HPCBOOT_OK;
}

static int read_line(struct hb_build *b, const struct hb_lines *lines, char *p,
                     struct hpcboot_error *err)
{
    struct hb_mentioned m;
    char *save = NULL, *word = strtok_r(p, BLANKS, &save);
    int rc = hb_word_parse(lines, word, &m, err);

    while (rc >= 0 && (word = strtok_r(NULL, BLANKS, &save)) != NULL) {
        rc = read_pair(lines, word, &m, err);
    }
    return rc < 0 ? rc : hb_build_add(b, lines, &m, err);
}

static int hydra_read(struct hb_build *b, struct hb_lines *lines,
                      struct hpcboot_error *err)
{
    return hb_form_each_line(b, lines, read_line, err);
}

static void hydra_write(const struct hb_gang *gang, struct hb_str *out,
                        struct hb_strv *dropped)
{
    int literal = 0;

    for (size_t i = 0; i < gang->n; i++) {
        const struct hb_host *h = &gang->hosts[i];
        int v6 = strchr(h->name, ':') != NULL;
        hb_str_putf(out, "%s%s%s:%d", v6 ? "[" : "", h->name, v6 ? "]" : "",
                    h->slots > 0 ? h->slots : 1);
        if (h->user != NULL) {
            hb_str_putf(out, " user=%s", h->user);
        }
        hb_str_putc(out, '\n');
        literal = literal || v6;
    }
    if (literal) {
        hb_strv_push(dropped, "IPv6 addresses");
    }
    hb_form_dropped(gang, HB_DROP_COUNTED | HB_DROP_MAX_SLOTS | HB_DROP_PORT,
                    dropped);
}

const struct hb_form hb_form_hydra = {
    .name = "hydra",
    .aliases = "mpich",
    .title = "MPICH (Hydra) host file",
    .tally = HB_TALLY_EACH,
    .needs_slots = 1,
    .read = hydra_read,
    .write = hydra_write,
};
