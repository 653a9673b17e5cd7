/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Keeps the end of what a login printed. When the room is used up the older
 * half goes, so that a login that talks without end costs little. */
#include "config.h"

#include "bin/link/words.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define KEEP (HB_WORDS_MAX / 2)

void hb_words_add(struct hb_words *w, const char *text, size_t len)
{
    if (w->text == NULL && len > 0) {
        w->text = hb_xmalloc(HB_WORDS_MAX);
    }
    while (len > 0) {
        size_t room = HB_WORDS_MAX - 1 - w->len;
        size_t n = len < room ? len : room;

        memcpy(w->text + w->len, text, n);
        w->len += n;
        text += n;
        len -= n;
        if (len > 0) {
            memmove(w->text, w->text + w->len - KEEP, KEEP);
            w->len = KEEP;
        }
    }
}

void hb_words_clear(struct hb_words *w)
{
    free(w->text);
    *w = (struct hb_words){0};
}

const char *hb_words_last(struct hb_words *w)
{
    char *end, *line;

    if (w->text == NULL) {
        return "";
    }
    end = w->text + w->len;
    *end = '\0';
    while (end > w->text && (end[-1] == '\n' || end[-1] == '\r')) {
        *--end = '\0';
    }
    line = strrchr(w->text, '\n');
    return line != NULL ? line + 1 : w->text;
}

int hb_words_no_agent(struct hb_words *w, const struct hpcboot_error *why,
                      struct hpcboot_error *err)
{
    const char *said = hb_words_last(w);

    return hb_fail(err, HPCBOOT_ERR_HOST,
                   "the agent did not start: %s%s%s%s", why->text,
                   said[0] != '\0' ? "; the login said: \"" : "", said,
                   said[0] != '\0' ? "\"" : "");
}
