/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Limits of logins: a bucket of credit and a count for each source. */
#include "config.h"

#include "bin/boot/serve_limit.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#define MILLI 1000
#define NET_BYTES 8 /* of an IPv6 address: one customer has them all */

void hb_limiter_init(struct hb_limiter *l,
                     const struct hb_serve_limits *limits)
{
    memset(l, 0, sizeof *l);
    l->limits = *limits;
}

static void address_of(const struct sockaddr *from, unsigned char out[16])
{
    memset(out, 0, 16);
    if (from->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)from;

        out[10] = out[11] = 0xff;
        memcpy(out + 12, &in->sin_addr, 4);
    } else if (from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)from;
        int mapped = IN6_IS_ADDR_V4MAPPED(&in->sin6_addr);

        memcpy(out, &in->sin6_addr, mapped ? 16 : NET_BYTES);
    }
}

/* The source's place: its own, a free one, or that of the source unheard
 * longest that has no login under way. */
static struct hb_limit_source *find(struct hb_limiter *l,
                                    const unsigned char address[16])
{
    struct hb_limit_source *place = NULL;

    for (size_t i = 0; i < HB_LIMIT_SOURCES; i++) {
        struct hb_limit_source *s = &l->sources[i];

        if (s->used && memcmp(s->address, address, 16) == 0) {
            return s;
        }
        if (s->pending > 0) {
            continue;
        }
        if (!place || (place->used
                       && (!s->used || s->seen_ms < place->seen_ms))) {
            place = s;
        }
    }
    if (place) {
        memset(place, 0, sizeof *place);
        memcpy(place->address, address, 16);
    }
    return place;
}

static void refill(const struct hb_limiter *l, struct hb_limit_source *s,
                   int64_t now_ms)
{
    int64_t full = (int64_t)l->limits.burst * MILLI;

    if (!s->used) {
        s->used = 1;
        s->credit_milli = full;
    } else {
        s->credit_milli += (now_ms - s->seen_ms) * l->limits.rate;
    }
    if (s->credit_milli > full) {
        s->credit_milli = full;
    }
    s->seen_ms = now_ms;
}

struct hb_limit_source *hb_limiter_begin(struct hb_limiter *l,
                                         const struct sockaddr *from,
                                         int64_t now_ms)
{
    unsigned char address[16];
    struct hb_limit_source *s;

    address_of(from, address);
    s = find(l, address);
    if (!s) {
        return NULL;
    }
    refill(l, s, now_ms);
    if (s->pending >= l->limits.per_source || s->credit_milli < MILLI) {
        return NULL;
    }
    s->credit_milli -= MILLI;
    s->pending++;
    return s;
}

const struct hb_limit_source *hb_limiter_full(const struct hb_limiter *l,
                                              const struct sockaddr *from)
{
    unsigned char address[16];

    address_of(from, address);
    for (size_t i = 0; i < HB_LIMIT_SOURCES; i++) {
        const struct hb_limit_source *s = &l->sources[i];

        if (s->used && s->pending >= l->limits.per_source
            && s->credit_milli >= MILLI
            && memcmp(s->address, address, sizeof address) == 0) {
            return s;
        }
    }
    return NULL;
}

void hb_limiter_over(struct hb_limit_source *source)
{
    if (source) {
        source->pending--;
    }
}
