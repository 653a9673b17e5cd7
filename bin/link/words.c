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
#define AGENT "hpcbootd"
#define AGENTS_OWN AGENT ": "
#define SSH_EXITED "the remote command exited" /* bin/boot/ssh_channel.c */

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

int hb_words_are_agents(struct hb_words *w)
{
    return hb_starts_with(hb_words_last(w), AGENTS_OWN);
}

void hb_words_agent_lost(struct hb_words *w, const struct hpcboot_error *why,
                         struct hpcboot_error *err)
{
    struct hpcboot_error own = *why;

    if (why->code != HPCBOOT_ERR_TIMED_OUT && hb_words_are_agents(w)) {
        hb_fail(&own, why->code, "%s; it said: \"%s\"", why->text,
                hb_words_last(w));
    }
    *err = own;
}

/* What the login did with the agent's command line is not known; sshd hands it
 * to a shell that may be none, or to a command of its own. */
static const char *guess(const struct hpcboot_error *why, const char *said)
{
    if (strstr(said, AGENT) != NULL) {
        return ""; /* it was started, or that failed in these words */
    }
    if (why->code == HPCBOOT_ERR_TIMED_OUT) {
        return "; look for what waits there at login, as a start-up file of "
               "the shell, or a forced command of sshd";
    }
    return hb_starts_with(why->text, SSH_EXITED)
               ? "; the login shell there (and its start-up files), or a "
                 "forced command of sshd, may not run what it is given" : "";
}

int hb_words_no_agent(struct hb_words *w, const struct hpcboot_error *why,
                      struct hpcboot_error *err)
{
    const char *said = hb_words_last(w);

    return hb_fail(err, HPCBOOT_ERR_HOST,
                   "the agent did not start: %s%s%s%s%s", why->text,
                   said[0] != '\0' ? "; the login said: \"" : "", said,
                   said[0] != '\0' ? "\"" : "", guess(why, said));
}
