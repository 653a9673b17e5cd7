/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Groups hosts by what is wrong with them. Groups come in the order in which
 * a host passes them on its way up: what fails first is told first. A group
 * names all its hosts while that is short; longer lists are written as ranges,
 * and where these are long too the first names stand for the others. */
#include "config.h"

#include "bin/job/missing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile/range.h"

#define NAMES_PLAIN 4u       /* more are worth being written as ranges */
#define NAMES_MAX_BYTES 160u /* of one group; several fit into a sentence */

struct phrase {
    const char *key, *one, *many;
    int has_where; /* the place follows the verb */
};

static const struct phrase phrases[HB_WHY_N] = {
    [HB_WHY_NO_NAME] = {"no-name", "does not resolve", "do not resolve", 0},
    [HB_WHY_NAME_SILENT] = {"name-server",
                            "does not resolve (name server trouble)",
                            "do not resolve (name server trouble)", 0},
    [HB_WHY_UNREACHABLE] = {"unreachable", "cannot be reached",
                            "cannot be reached", 0},
    [HB_WHY_SILENT] = {"silent", "gives no answer on", "give no answer on", 1},
    [HB_WHY_REFUSED] = {"refused", "refuses", "refuse", 1},
    [HB_WHY_HUNG_UP] = {"hung-up", "hangs up at once on",
                        "hang up at once on", 1},
    [HB_WHY_BANNER] = {"no-banner", "sends no SSH banner on",
                       "send no SSH banner on", 1},
    [HB_WHY_BROKE_OFF] = {"broke-off", "breaks off the login",
                          "break off the login", 0},
    [HB_WHY_HOST_KEY] = {"host-key", "has a host key that is not trusted",
                         "have host keys that are not trusted", 0},
    [HB_WHY_LOGIN] = {"login", "refuses the login", "refuse the login", 0},
    [HB_WHY_AGENT] = {"agent", "starts no agent", "start no agent", 0},
    [HB_WHY_VANISHED] = {"vanished", "was ready and is gone again",
                         "were ready and are gone again", 0},
    [HB_WHY_OTHER] = {"other", "could not be used", "could not be used", 0},
};

/* The way up; what can happen anywhere comes last. */
static const enum hb_boot_why order[HB_WHY_N] = {
    HB_WHY_NO_NAME, HB_WHY_NAME_SILENT, HB_WHY_UNREACHABLE, HB_WHY_SILENT,
    HB_WHY_REFUSED, HB_WHY_HUNG_UP, HB_WHY_BANNER, HB_WHY_BROKE_OFF,
    HB_WHY_HOST_KEY, HB_WHY_LOGIN, HB_WHY_AGENT, HB_WHY_VANISHED, HB_WHY_OTHER,
};

const char *hb_missing_key(enum hb_boot_why why)
{
    return (size_t)why < HB_WHY_N ? phrases[why].key : "other";
}

int hb_missing_alike(const struct hb_missing *a, const struct hb_missing *b)
{
    return a->reason->why == b->reason->why &&
           (!phrases[a->reason->why].has_where ||
            strcmp(a->reason->where, b->reason->where) == 0);
}

/* As many names as fit, and how many do not. */
static void put_first(char *const *names, size_t n, struct hb_str *out)
{
    size_t begin = out->len, i = 0;

    for (; i < n && (i == 0 || out->len - begin + strlen(names[i]) <
                                   NAMES_MAX_BYTES); i++) {
        hb_str_putf(out, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    if (i < n) {
        hb_str_putf(out, " and %zu more", n - i);
    }
}

static void put_names(char *const *names, size_t n, struct hb_str *out)
{
    struct hb_str ranges = HB_STR_INIT;

    if (n > NAMES_PLAIN) {
        hb_range_compress(names, n, &ranges);
    }
    if (ranges.len > 0 && ranges.len <= NAMES_MAX_BYTES) {
        hb_str_put(out, hb_str_text(&ranges));
    } else {
        put_first(names, n, out);
    }
    hb_str_destroy(&ranges);
}

/* "port 22", behind the verbs that need it. */
static const char *place(const struct hb_boot_reason *r)
{
    if (!phrases[r->why].has_where) {
        return "";
    }
    return r->where[0] != '\0' ? r->where : "its port";
}

static const char *blank(const struct hb_boot_reason *r)
{
    return phrases[r->why].has_where ? " " : "";
}

static void put_group(const struct hb_missing *head, char *const *names,
                      size_t n, struct hb_str *out, int is_first)
{
    const struct hb_boot_reason *r = head->reason;

    hb_str_putf(out, "%s%zu%s %s%s%s: ", is_first ? "" : "; ", n,
                !is_first ? "" : n == 1 ? " host" : " hosts",
                n == 1 ? phrases[r->why].one : phrases[r->why].many, blank(r),
                place(r));
    put_names(names, n, out);
}

const char *hb_missing_words(const struct hb_boot_reason *r, char *text,
                             size_t size)
{
    if (r->why == HB_WHY_OTHER || r->why == HB_WHY_AGENT) {
        return NULL;
    }
    snprintf(text, size, "%s%s%s", phrases[r->why].one, blank(r), place(r));
    return text;
}

void hb_missing_text(const struct hb_missing *m, size_t n, struct hb_str *out)
{
    char **names = hb_xcalloc(n + 1, sizeof *names);
    unsigned char *told = hb_xcalloc(n + 1, 1);
    int is_first = 1;

    for (size_t k = 0; k < HB_WHY_N; k++) {
        for (size_t i = 0; i < n; i++) {
            size_t n_names = 0;

            if (told[i] || m[i].reason->why != order[k]) {
                continue;
            }
            for (size_t o = i; o < n; o++) {
                if (!told[o] && hb_missing_alike(&m[i], &m[o])) {
                    told[o] = 1;
                    names[n_names++] = (char *)m[o].host;
                }
            }
            put_group(&m[i], names, n_names, out, is_first);
            is_first = 0;
        }
    }
    free(names);
    free(told);
}
