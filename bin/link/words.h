/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_LINK_WORDS_H
#define HB_LINK_WORDS_H

#include <stddef.h>

#include "lib/base/error.h"

/* The last words of a login: what it printed before or beside its agent, kept
 * for the message that says why there is no agent. Most logins are silent, and
 * cost nothing here. Start from zero. */
#define HB_WORDS_MAX 2048

struct hb_words {
    char *text; /* HB_WORDS_MAX bytes from the first word on; or NULL */
    size_t len;
};

void hb_words_add(struct hb_words *w, const char *text, size_t len);
void hb_words_clear(struct hb_words *w); /* frees what they take */
/* The last line; "" when it was silent. Valid until more is added. */
const char *hb_words_last(struct hb_words *w);
/* Whether the last line is the agent's own: of hpcbootd itself. */
int hb_words_are_agents(struct hb_words *w);
/* An agent that had been up is lost, for `why`; *err has that and, unless it
 * fell silent, the agent's own last words, if there are some. */
void hb_words_agent_lost(struct hb_words *w, const struct hpcboot_error *why,
                         struct hpcboot_error *err);
/* The stream broke before the agent spoke: whatever the login said last is the
 * reason. Returns ERR_HOST. */
int hb_words_no_agent(struct hb_words *w, const struct hpcboot_error *why,
                      struct hpcboot_error *err);

#endif
