/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The table of dialects, and what they share: a text goes in, a gang comes
 * out or nothing does. */

#include "config.h"

#include "hostfile/dialect.h"

#include <string.h>

#include "hostfile/hostname.h"

static const struct hb_form *const dialects[] = {
    &hb_form_openmpi,
    &hb_form_hydra,
    &hb_form_intel,
    &hb_form_mvapich,
    &hb_form_list,
    &hb_form_horovod,
    &hb_form_plain,
    &hb_form_pbs,
    &hb_form_deepspeed,
    &hb_form_slurm,
    NULL,
};

const struct hb_form *const *hb_forms(void)
{
    return dialects;
}

/* 1 when `name` is one of the words of `list` (NULL: none). */
static int is_alias(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = list; p != NULL && *p != '\0'; p += strspn(p, " ")) {
        size_t word = strcspn(p, " ");
        if (word == n && strncmp(p, name, n) == 0) {
            return 1;
        }
        p += word;
    }
    return 0;
}

const struct hb_form *hb_form_find(const char *name)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        if (strcmp(dialects[i]->name, name) == 0 ||
            is_alias(dialects[i]->aliases, name)) {
            return dialects[i];
        }
    }
    return NULL;
}

/* 1 when the line's first word is HOST:N. */
static int has_count(char *line)
{
    struct hb_host_word word;
    size_t at;

    line += strspn(line, " \t");
    line[strcspn(line, " \t#")] = '\0';
    return hb_host_word_cut(line, &word, &at) == NULL && word.slots != NULL;
}

/* 1 when one of the first `most` entries is HOST:N. */
static int any_has_count(const char *text, size_t len, size_t most)
{
    struct hb_lines lines;
    int found = 0;

    hb_lines_begin(&lines, "", text, len);
    while (!found && most > 0 && hb_lines_next(&lines, NULL) > 0) {
        const char *first = lines.line + strspn(lines.line, " \t");
        if (*first != '\0' && *first != '#') {
            found = has_count(lines.line);
            most--;
        }
    }
    hb_lines_end(&lines);
    return found;
}

const struct hb_form *hb_form_guess(const char *text, size_t len)
{
    return any_has_count(text, len, 1) ? &hb_form_hydra : &hb_form_openmpi;
}

int hb_form_any_count(const char *text, size_t len)
{
    return any_has_count(text, len, SIZE_MAX);
}

static int has(const struct hb_host *h, int what)
{
    return (what == HB_DROP_USER && h->user != NULL) ||
           (what == HB_DROP_PORT && h->port > 0) ||
           (what == HB_DROP_SLOTS && h->slots > 0) ||
           (what == HB_DROP_MAX_SLOTS && h->max_slots > 0) ||
           (what == HB_DROP_COUNTED && h->slots == 0) ||
           (what == HB_DROP_GPUS && h->slots == 0 &&
            h->count == HB_COUNT_GPUS);
}

void hb_form_dropped(const struct hb_gang *gang, int what,
                     struct hb_strv *dropped)
{
    static const struct {
        int what;
        const char *text;
    } facts[] = {
        {HB_DROP_USER, "user"},
        {HB_DROP_PORT, "port"},
        {HB_DROP_SLOTS, "slots"},
        {HB_DROP_MAX_SLOTS, "max_slots"},
        {HB_DROP_COUNTED, "slots to be counted on the host (written as 1)"},
        {HB_DROP_GPUS, "slots=gpu, the GPUs of the host as its slots"},
    };

    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        size_t n = 0;
        while ((what & facts[i].what) != 0 && n < gang->n &&
               !has(&gang->hosts[n], facts[i].what)) {
            n++;
        }
        if ((what & facts[i].what) != 0 && n < gang->n) {
            hb_strv_push(dropped, facts[i].text);
        }
    }
}

void hb_form_write_counts(const struct hb_gang *gang, const char *separator,
                          struct hb_str *out, struct hb_strv *dropped)
{
    int ends = strcmp(separator, "\n") == 0, literal = 0;

    for (size_t i = 0; i < gang->n; i++) {
        const struct hb_host *h = &gang->hosts[i];
        int v6 = strchr(h->name, ':') != NULL;
        hb_str_putf(out, "%s%s%s%s:%d%s", i > 0 && !ends ? separator : "",
                    v6 ? "[" : "", h->name, v6 ? "]" : "",
                    h->slots > 0 ? h->slots : 1, ends ? separator : "");
        literal = literal || v6;
    }
    if (literal) {
        hb_strv_push(dropped, "IPv6 addresses");
    }
}

int hb_form_each_line(struct hb_build *b, struct hb_lines *lines,
                      hb_form_line read_line, struct hpcboot_error *err)
{
    int rc;

    while ((rc = hb_lines_next(lines, err)) > 0) {
        char *line = hb_lines_trim(lines);

        if (*line != '\0') {
            rc = read_line(b, lines, line, err);
        }
        if (rc < 0) {
            return rc;
        }
    }
    return rc;
}

int hb_form_read_word(struct hb_build *b, const struct hb_lines *lines,
                      char *word, struct hpcboot_error *err)
{
    struct hb_mentioned m;
    int rc = hb_word_parse(lines, word, &m, err);

    return rc < 0 ? rc : hb_build_add(b, lines, &m, err);
}

int hb_form_read_words(struct hb_build *b, struct hb_lines *lines,
                       struct hpcboot_error *err)
{
    return hb_form_each_line(b, lines, hb_form_read_word, err);
}

int hb_form_parse(const struct hb_form *d, const char *path,
                     const char *text, size_t len, struct hb_gang *out,
                     struct hpcboot_error *err)
{
    struct hb_build *b = hb_build_create(d->tally);
    struct hb_lines lines;
    int rc;

    hb_lines_begin(&lines, path, text, len);
    rc = d->read(b, &lines, err);
    if (rc >= 0 && hb_build_count(b) == 0) {
        rc = hb_fail(err, HPCBOOT_ERR_PARSE, "%s:%u:1: expected a host",
                     path, lines.number + 1);
    }
    if (rc >= 0) {
        hb_build_finish(b, out);
        hb_gang_mark_local(out, "");
    }
    hb_lines_end(&lines);
    hb_build_destroy(b);
    return rc < 0 ? rc : HPCBOOT_OK;
}

int hb_hostfile_parse(const char *dialect, const char *path, const char *text,
                      size_t len, struct hb_gang *out,
                      struct hpcboot_error *err)
{
    const struct hb_form *d = dialect != NULL ? hb_form_find(dialect)
                                                 : hb_form_guess(text, len);

    if (d == NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: there is no hostfile form \"%s\"", path, dialect);
    }
    return hb_form_parse(d, path, text, len, out, err);
}

int hb_hostfile_parse_openmpi(const char *path, const char *text, size_t len,
                              struct hb_gang *out, struct hpcboot_error *err)
{
    return hb_form_parse(&hb_form_openmpi, path, text, len, out, err);
}
