/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The command line of an exec request, cut into words as a shell would as far
 * as single quotes go. Other signs that a shell knows mean nothing here: a
 * line that has them is no line of ours, unless they stand in the script word,
 * which is passed over. */
#include "config.h"

#include "bin/boot/serve_line.h"

#include <string.h>

#define WORDS_MAX 16 /* the script's candidates may be more: not looked at */
#define LINE_MAX_BYTES 16384

struct word {
    const char *at;
    size_t len;
};

/* Words without quotes inside. Returns how many, or 0 for a line with an open
 * quote, or one that joins quoted and unquoted text. */
static size_t split(const char *line, struct word words[WORDS_MAX])
{
    const char *p = line + strspn(line, " ");
    size_t n = 0;

    while (*p != '\0' && n < WORDS_MAX) {
        int quoted = *p == '\'';

        words[n].at = p + quoted;
        words[n].len = strcspn(words[n].at, quoted ? "'" : " '");
        p = words[n].at + words[n].len;
        if (quoted && *p++ != '\'') {
            return 0;
        }
        if (*p != ' ' && *p != '\0') {
            return 0;
        }
        p += strspn(p, " ");
        n++;
    }
    return n;
}

static int is(const struct word *w, const char *text)
{
    return w->len == strlen(text) && memcmp(w->at, text, w->len) == 0;
}

static int is_agent(const struct word *w)
{
    static const char name[] = "hpcbootd";
    size_t len = sizeof name - 1;

    return w->len >= len && memcmp(w->at + w->len - len, name, len) == 0
        && (w->len == len || w->at[w->len - len - 1] == '/');
}

static const struct word *token_of(const struct word *words, size_t n)
{
    size_t first = n > 0 && is(&words[0], "exec");
    const struct word *w = words + first;

    n -= first;
    if (n >= 5 && is(&w[0], "/bin/sh") && is(&w[1], "-c")
        && is(&w[3], "hpcbootd")) {
        return &w[4];
    }
    if (n == 4 && is_agent(&w[0]) && is(&w[1], "agent")
        && is(&w[2], "--token")) {
        return &w[3];
    }
    return NULL;
}

int hb_serve_line_parse(const char *line, char token[HB_SERVE_TOKEN_MAX + 1])
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyz"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    struct word words[WORDS_MAX];
    const struct word *w;

    if (strnlen(line, LINE_MAX_BYTES) == LINE_MAX_BYTES) {
        return 0;
    }
    w = token_of(words, split(line, words));
    if (!w || w->len == 0 || w->len > HB_SERVE_TOKEN_MAX || w->at[0] == '-') {
        return 0;
    }
    memcpy(token, w->at, w->len);
    token[w->len] = '\0';
    return strspn(token, safe) == w->len;
}
