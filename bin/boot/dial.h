/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_DIAL_H
#define HB_BOOT_DIAL_H

#include <netdb.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

struct event_base;

/* Connecting to one of a host's addresses: both families in turn, the next
 * attempt begun when the one before has failed or given no answer for a
 * moment, the first that succeeds wins (as RFC 8305 describes). */
struct hb_dial;

#define HB_DIAL_ADDRS_MAX 16 /* a name with more is a farm, not a host */

struct hb_dial_events {
    /* fd is handed over: nonblocking, CLOEXEC, TCP_NODELAY. `address` is
     * "10.0.0.1" or "fd00::1". */
    void (*connected)(void *arg, int fd, const char *address);
    /* Every address failed. refused: at least one refused the port. */
    void (*failed)(void *arg, int refused);
};

/* `list` is copied. Neither event is called from inside. */
int hb_dial_start(struct hb_dial **out, struct event_base *base,
                  const struct addrinfo *list, int port,
                  const struct hb_dial_events *events, void *arg,
                  struct hpcboot_error *err);
/* "10.0.0.1 refuses port 22; fd00::1 port 22 gives no answer": what is known
 * now, for an error's text. Of many addresses the first few are named. */
void hb_dial_explain(const struct hb_dial *dial, struct hb_str *o);
/* An address has refused the port. */
int hb_dial_refused(const struct hb_dial *dial);
/* Begins anew with the same addresses and another port; also from inside
 * `failed`. */
void hb_dial_again(struct hb_dial *dial, int port);
/* Closes what was not handed over. NULL-safe. */
void hb_dial_destroy(struct hb_dial *dial);

#endif
