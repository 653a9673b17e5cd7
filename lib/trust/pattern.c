/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Host patterns. The matcher goes back to the last star only, which is enough
 * for this language and keeps a hostile pattern from costing more than the
 * product of the two lengths. */
#include "config.h"

#include "lib/trust/pattern.h"

#include <ctype.h>
#include <string.h>

static int same(char a, char b, int cased)
{
    return cased ? a == b
                 : tolower((unsigned char)a) == tolower((unsigned char)b);
}

static int match(const char *text, const char *pattern, size_t len, int cased)
{
    const char *end = pattern + len;
    const char *star = NULL, *retry = NULL;

    while (*text) {
        if (pattern < end && *pattern == '*') {
            star = pattern++;
            retry = text;
        } else if (pattern < end
                   && (*pattern == '?' || same(*pattern, *text, cased))) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++retry;
        } else {
            return 0;
        }
    }
    while (pattern < end && *pattern == '*') {
        pattern++;
    }
    return pattern == end;
}

int hb_pattern_match(const char *text, const char *pattern, size_t len)
{
    return match(text, pattern, len, 0);
}

static int match_list(const char *text, const char *list, size_t len,
                      const char *separators, int cased)
{
    const char *end = list + len;
    int found = 0;

    while (list < end) {
        const char *start = list;
        int negated = *start == '!';

        while (list < end && !strchr(separators, *list)) {
            list++;
        }
        start += negated;
        if (list > start
            && match(text, start, (size_t)(list - start), cased)) {
            if (negated) {
                return -1;
            }
            found = 1;
        }
        if (list < end) {
            list++;
        }
    }
    return found;
}

int hb_pattern_list(const char *text, const char *list, size_t len,
                    const char *separators)
{
    return match_list(text, list, len, separators, 0);
}

int hb_pattern_list_cased(const char *text, const char *list, size_t len,
                          const char *separators)
{
    return match_list(text, list, len, separators, 1);
}
