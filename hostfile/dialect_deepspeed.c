/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hostfile of DeepSpeed: "HOST slots=N", each host once. DeepSpeed
 * refuses a second line for a host and a line without slots, and so does
 * this reader: what it takes, DeepSpeed takes. */

#include "config.h"

#include "hostfile/dialect.h"

#include <string.h>

static int read_line(struct hb_build *b, const struct hb_lines *lines,
                     char *word, struct hpcboot_error *err)
{
    char *rest = word + strcspn(word, " \t");
    size_t before = hb_build_count(b);
    struct hb_mentioned m;
    int rc;

    if (*rest != '\0') {
        *rest++ = '\0';
    }
    rest += strspn(rest, " \t");
    rc = hb_word_parse(lines, word, &m, err);
    if (rc < 0) {
        return rc;
    }
    if (m.slots != HB_SLOTS_NOT_STATED || !hb_starts_with(rest, "slots=")) {
        return hb_lines_fail(lines, rest, err,
                             "expected slots=N after the host");
    }
    rc = hb_slots_parse(lines, rest + strlen("slots="), &m.slots, err);
    if (rc >= 0) {
        rc = hb_build_add(b, lines, &m, err);
    }
    if (rc >= 0 && hb_build_count(b) == before) {
        return hb_lines_fail(lines, word, err,
                             "expected each host once: %.60s is there already",
                             m.name);
    }
    return rc;
}

static int deepspeed_read(struct hb_build *b, struct hb_lines *lines,
                          struct hpcboot_error *err)
{
    return hb_form_each_line(b, lines, read_line, err);
}

static void deepspeed_write(const struct hb_gang *gang, struct hb_str *out,
                            struct hb_strv *dropped)
{
    for (size_t i = 0; i < gang->n; i++) {
        const struct hb_host *h = &gang->hosts[i];
        hb_str_putf(out, "%s slots=%d\n", h->name,
                    h->slots > 0 ? h->slots : 1);
    }
    hb_form_dropped(gang, HB_DROP_USER | HB_DROP_PORT | HB_DROP_MAX_SLOTS |
                              HB_DROP_COUNTED, dropped);
}

const struct hb_form hb_form_deepspeed = {
    .name = "deepspeed",
    .title = "DeepSpeed hostfile",
    .tally = HB_TALLY_REPEATED,
    .needs_slots = 1,
    .read = deepspeed_read,
    .write = deepspeed_write,
};
