/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SERVE_LIMIT_H
#define HB_BOOT_SERVE_LIMIT_H

#include <stdint.h>
#include <sys/socket.h>

/* Who may begin a login now. Counts per source, so that one that floods is
 * turned away and others still come in: logins under way, and how many begin
 * per second. No I/O, no clock of its own. */
struct hb_serve_limits {
    unsigned pending;     /* logins under way, of all */
    unsigned per_source;  /* of one source */
    unsigned rate;        /* that one source may begin in a second */
    unsigned burst;       /* and at once, after a pause */
    int login_ms;         /* for a login, and for a command after it */
};
#define HB_SERVE_LIMITS_DEFAULT {64, 16, 32, 64, 20000}

#define HB_LIMIT_SOURCES 256 /* remembered; the one unheard longest goes */

struct hb_limit_source {
    unsigned char address[16]; /* IPv4 mapped, IPv6 by its /64 */
    int used;
    unsigned pending;
    int64_t credit_milli; /* thousandths of a login */
    int64_t seen_ms;
};

struct hb_limiter {
    struct hb_serve_limits limits;
    struct hb_limit_source sources[HB_LIMIT_SOURCES];
};

void hb_limiter_init(struct hb_limiter *l,
                     const struct hb_serve_limits *limits);
/* The source of a connection, to be given back to hb_limiter_over when its
 * login is over, or NULL: not now. */
struct hb_limit_source *hb_limiter_begin(struct hb_limiter *l,
                                         const struct sockaddr *from,
                                         int64_t now_ms);
/* The source, where the last hb_limiter_begin has turned it away for nothing
 * but its logins under way; else NULL. */
const struct hb_limit_source *hb_limiter_full(const struct hb_limiter *l,
                                              const struct sockaddr *from);
void hb_limiter_over(struct hb_limit_source *source);

#endif
