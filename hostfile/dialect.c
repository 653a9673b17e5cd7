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
    &hb_form_list,
    NULL,
};

const struct hb_form *const *hb_forms(void)
{
    return dialects;
}

const struct hb_form *hb_form_find(const char *name)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        if (strcmp(dialects[i]->name, name) == 0) {
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

const struct hb_form *hb_form_guess(const char *text, size_t len)
{
    const struct hb_form *found = &hb_form_openmpi;
    struct hb_lines lines;

    hb_lines_begin(&lines, "", text, len);
    while (hb_lines_next(&lines, NULL) > 0) {
        const char *first = lines.line + strspn(lines.line, " \t");
        if (*first != '\0' && *first != '#') {
            found = has_count(lines.line) ? &hb_form_hydra : found;
            break;
        }
    }
    hb_lines_end(&lines);
    return found;
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
