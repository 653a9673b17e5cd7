/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_XPORT_MOVE_H
#define HB_XPORT_MOVE_H

#include "lib/base/error.h"
#include "lib/xport/ucxmove.h"

/* Copies between the memory of a device and the host's, by a UCX that knows
 * the device. Any thread may call; one copy of a kind at a time. */

/* 0: `kind` can be copied, from now to hb_move_close. ERR_UNSUPPORTED: this
 * UCX cannot, or there is none; the text is a clause ("which UCX ..."). err is
 * not NULL. */
int hb_move_open(enum hb_ucxmove_kind kind, struct hpcboot_error *err);
/* Of one that is open; size may be 0. One of the two is the host's: `from` if
 * to_device. ERR_SYSTEM: UCX says why. */
int hb_move_copy(enum hb_ucxmove_kind kind, void *to, const void *from,
                 size_t size, int to_device, struct hpcboot_error *err);
void hb_move_close(void); /* all kinds */

#endif
