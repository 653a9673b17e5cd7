/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_RESOLVE_H
#define HB_BOOT_RESOLVE_H

#include <netdb.h>

#include "lib/base/error.h"

struct event_base;

/* Looking up host names without stopping the loop: getaddrinfo runs in a few
 * helper threads, which take lookups from a queue. */
struct hb_resolve;

/* Called from the loop, once. `list` is lent for the time of the call, NULL
 * when `gai_error` (EAI_*) is not 0; sys_errno goes with EAI_SYSTEM. */
typedef void (*hb_resolved)(void *arg, int gai_error, int sys_errno,
                            const struct addrinfo *list);

int hb_resolve_start(struct hb_resolve **out, struct event_base *base,
                     const char *host, int port, hb_resolved done, void *arg,
                     struct hpcboot_error *err);
/* No call will follow; also due after the call has come. NULL-safe. */
void hb_resolve_cancel(struct hb_resolve *lookup);

#endif
