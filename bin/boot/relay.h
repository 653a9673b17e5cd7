/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_RELAY_H
#define HB_BOOT_RELAY_H

#include "lib/base/channel.h"

/* Joins two channels: what comes from one goes into the other, and a slow
 * reader slows the writer down. */
struct hb_relay;

/* Takes both. `ended` is called once, from the loop: one side has ended (0 or
 * 1: which, and how), and what it had said was passed on, as far as the other
 * one lives; destroy is still due. */
typedef void (*hb_relay_ended)(void *arg, int side,
                               const struct hpcboot_error *err);
struct hb_relay *hb_relay_create(struct hb_channel *side0,
                                 struct hb_channel *side1,
                                 hb_relay_ended ended, void *arg);
/* Closes what is open. Allowed inside `ended`. NULL-safe. */
void hb_relay_destroy(struct hb_relay *relay);
/* The channel of that side; NULL: it has ended. */
struct hb_channel *hb_relay_side(const struct hb_relay *relay, int side);

#endif
