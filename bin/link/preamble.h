/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_LINK_PREAMBLE_H
#define HB_LINK_PREAMBLE_H

#include <stddef.h>

/* Finds HB_WIRE_MAGIC in what a login prints before its agent speaks, in
 * pieces of any size and without keeping any of them. Start from zero. */
struct hb_preamble {
    size_t matched; /* bytes of the magic seen so far */
};

typedef void (*hb_preamble_chatter)(void *arg, const char *text, size_t len);

/* Returns how many of the bytes belong to the preamble: all of them, until
 * the magic is complete. `chatter` gets those that are not the magic. */
size_t hb_preamble_feed(struct hb_preamble *p, const char *data, size_t len,
                        hb_preamble_chatter chatter, void *arg);
int hb_preamble_over(const struct hb_preamble *p);

#endif
