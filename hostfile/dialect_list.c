/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A host list as it stands on a command line: "a,b:2,node[01-04]:4,[::1]:2".
 *
 * Commas separate, except inside brackets. A host without a count has one
 * slot per mention, HOST:auto and HOST:gpu are counted on the host. Blanks
 * around a host are dropped, an empty place between two commas is an error. A
 * comma at the end is not: it is what scripts leave that join lines by commas.
 * A list that stands in a file may go over several lines. */

#include "config.h"

#include "hostfile/dialect.h"

#include <string.h>

#define BLANKS " \t\n"

/* The end of the item at p: a comma outside brackets, or the end. */
static char *item_end(char *p)
{
    int depth = 0;

    for (; *p != '\0'; p++) {
        depth += *p == '[';
        depth -= *p == ']' && depth > 0;
        if (*p == ',' && depth == 0) {
            break;
        }
    }
    return p;
}

static char *trim(char *from, char *end)
{
    from += strspn(from, BLANKS);
    while (end > from && strchr(BLANKS, end[-1]) != NULL) {
        end--;
    }
    *end = '\0';
    return from;
}

static int read_items(struct hb_build *b, const struct hb_lines *lines,
                      struct hpcboot_error *err)
{
    char *p = lines->line;

    for (;;) {
        struct hb_mentioned m;
        char *end = item_end(p), more = *end, *item = trim(p, end);
        int rc;
        if (*item == '+') {
            return hb_lines_fail(lines, item, err,
                                 "expected a host name; relative hosts (+n, "
                                 "+e) are not understood");
        }
        rc = hb_word_parse(lines, item, &m, err);
        if (rc >= 0) {
            rc = hb_build_add(b, lines, &m, err);
        }
        if (rc < 0 || more == '\0') {
            return rc;
        }
        p = end + 1;
        if (p[strspn(p, BLANKS)] == '\0') {
            return rc;
        }
    }
}

static int list_read(struct hb_build *b, struct hb_lines *lines,
                     struct hpcboot_error *err)
{
    int rc;

    while ((rc = hb_lines_next(lines, err)) > 0) {
        if (lines->line[strspn(lines->line, BLANKS)] != '\0') {
            rc = read_items(b, lines, err);
        }
        if (rc < 0) {
            return rc;
        }
    }
    return rc;
}

static void list_write(const struct hb_gang *gang, struct hb_str *out,
                       struct hb_strv *dropped)
{
    for (size_t i = 0; i < gang->n; i++) {
        const struct hb_host *h = &gang->hosts[i];
        int literal = strchr(h->name, ':') != NULL;
        hb_str_putf(out, "%s%s%s%s%s%s", i > 0 ? "," : "",
                    h->user != NULL ? h->user : "", h->user != NULL ? "@" : "",
                    literal ? "[" : "", h->name, literal ? "]" : "");
        if (h->slots > 0) {
            hb_str_putf(out, ":%d", h->slots);
        } else {
            hb_str_put(out, h->count == HB_COUNT_GPUS ? ":gpu" : ":auto");
        }
    }
    hb_str_putc(out, '\n');
    hb_form_dropped(gang, HB_DROP_MAX_SLOTS | HB_DROP_PORT, dropped);
}

const struct hb_form hb_form_list = {
    .name = "list",
    .title = "host list of -H",
    .tally = HB_TALLY_EACH,
    .read = list_read,
    .write = list_write,
};

int hb_form_parse_value(const char *what, const char *text, enum hb_tally tally,
                        struct hb_gang *out, struct hpcboot_error *err)
{
    struct hb_build *b = hb_build_create(tally);
    struct hb_lines lines = {.file = what, .line = hb_xstrdup(text)};
    int rc = read_items(b, &lines, err);

    if (rc >= 0) {
        hb_build_finish(b, out);
    }
    hb_lines_end(&lines);
    hb_build_destroy(b);
    return rc;
}

int hb_hostfile_parse_list(const char *list, struct hb_gang *out,
                           struct hpcboot_error *err)
{
    int rc = hb_form_parse_value("-H", list, HB_TALLY_EACH, out, err);

    if (rc >= 0) {
        hb_gang_mark_local(out, "");
    }
    return rc;
}
