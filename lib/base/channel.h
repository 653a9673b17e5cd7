/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_CHANNEL_H
#define HB_BASE_CHANNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"

/* A byte stream to an agent, however it was made: the pipe of a forked agent,
 * an SSH channel, any command's stdin and stdout. bin/boot makes them,
 * bin/link speaks over them; neither knows the other.
 *
 * Everything happens on the event-loop thread. No call blocks. After
 * `closed` was called, and after `close`, no further event comes. */
struct hb_channel;

struct hb_channel_events {
    /* Bytes have come; all of them are taken by the callee. */
    void (*data)(void *arg, const void *data, size_t len);
    /* A write that took less than it was given may be tried again. */
    void (*writable)(void *arg);
    /* The stream has ended. err->text says how: end of file, the exit status
     * of the command that carried it, a transport error. */
    void (*closed)(void *arg, const struct hpcboot_error *err);
};

struct hb_channel_ops {
    /* Takes up to len bytes, returns how many (0: none now, `writable` will
     * be called), or a negative status when the stream is broken. */
    ssize_t (*write)(struct hb_channel *ch, const void *data, size_t len);
    /* While paused no `data` comes and the sender is slowed down. */
    void (*pause)(struct hb_channel *ch, int paused);
    /* Ends the stream and frees the channel. */
    void (*close)(struct hb_channel *ch);
    /* What was lost on its way goes again every period_ms at least, where this
     * process carries the stream itself. NULL: it never does. */
    void (*insist)(struct hb_channel *ch, int64_t period_ms);
};

/* First member of each implementation. */
struct hb_channel {
    const struct hb_channel_ops *ops;
    struct hb_channel_events events;
    void *arg; /* given to every event */
    /* Of the command that carried it, once `closed` is called: 1 to 255. 0: it
     * ended otherwise, or nobody knows. */
    int exit_status;
    int was_killed; /* and by a signal: the far host itself has said so */
};

#endif
