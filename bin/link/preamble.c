/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * The search for the magic. Its first byte occurs only there in it, so a
 * match that breaks off can begin anew at no earlier byte than the one that
 * broke it, and what it had matched is known without being kept: it is the
 * beginning of the magic.
 */
#include "config.h"

#include "bin/link/preamble.h"

#include <string.h>

#include "lib/wire/wire.h"

int hb_preamble_over(const struct hb_preamble *p)
{
    return p->matched == HB_WIRE_MAGIC_LEN;
}

size_t hb_preamble_feed(struct hb_preamble *p, const char *data, size_t len,
                        hb_preamble_chatter chatter, void *arg)
{
    const char *at = data, *end = data + len, *begin;

    while (at < end && !hb_preamble_over(p)) {
        if (*at == HB_WIRE_MAGIC[p->matched]) {
            p->matched++;
            at++;
            continue;
        }
        if (p->matched > 0) {
            chatter(arg, HB_WIRE_MAGIC, p->matched);
            p->matched = 0;
            continue;
        }
        begin = at;
        at = memchr(begin, HB_WIRE_MAGIC[0], (size_t)(end - begin));
        at = at != NULL ? at : end;
        chatter(arg, begin, (size_t)(at - begin));
    }
    return (size_t)(at - data);
}
