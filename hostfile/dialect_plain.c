/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* One name per line and nothing else: what Volcano mounts, pdsh reads, and
 * people write. Slots are not stated, however often a name stands there; a
 * count is refused, because a reader that drops it would be believed. The last
 * line may lack its end. */

#include "config.h"

#include "hostfile/dialect.h"

static int read_line(struct hb_build *b, const struct hb_lines *lines,
                     char *word, struct hpcboot_error *err)
{
    struct hb_mentioned m;
    int rc = hb_word_parse(lines, word, &m, err);

    if (rc >= 0 && m.slots != HB_SLOTS_NOT_STATED) {
        return hb_lines_fail(lines, word, err,
                             "expected a host name without a count");
    }
    return rc < 0 ? rc : hb_build_add(b, lines, &m, err);
}

static int plain_read(struct hb_build *b, struct hb_lines *lines,
                      struct hpcboot_error *err)
{
    return hb_form_each_line(b, lines, read_line, err);
}

static void plain_write(const struct hb_gang *gang, struct hb_str *out,
                        struct hb_strv *dropped)
{
    for (size_t i = 0; i < gang->n; i++) {
        hb_str_putf(out, "%s\n", gang->hosts[i].name);
    }
    hb_form_dropped(gang, HB_DROP_USER | HB_DROP_PORT | HB_DROP_SLOTS |
                              HB_DROP_MAX_SLOTS, dropped);
}

const struct hb_form hb_form_plain = {
    .name = "plain",
    .aliases = "volcano",
    .title = "list of one name per line",
    .tally = HB_TALLY_NONE,
    .read = plain_read,
    .write = plain_write,
};
