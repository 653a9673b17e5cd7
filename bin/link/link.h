/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_LINK_LINK_H
#define HB_LINK_LINK_H

#include <stdint.h>

#include "lib/base/channel.h"
#include "lib/base/error.h"
#include "lib/wire/wire.h"

struct event_base;

/* A control link: frames over a channel, with heartbeats; the same code at
 * both ends. The parent's end skips what comes before the magic and hands it
 * on as the host's own words. What the channel does not take waits in a queue;
 * bulk senders use credits, or wait for `drained`: a queue of more than four
 * of the largest frames is the end of the link. */
struct hb_link;

struct hb_link_events { /* all but frame and lost may be NULL */
    /* One frame; valid during the call. PING and PONG are the link's own. */
    void (*frame)(void *arg, const struct hb_frame *frame);
    /* Bytes before the magic (parent's end only). */
    void (*chatter)(void *arg, const char *text, size_t len);
    /* The backlog has fallen below the low mark again. */
    void (*drained)(void *arg);
    /* Nothing was received for three fifths of dead_ms; 0: it is heard. */
    void (*suspect)(void *arg, uint32_t silent_ms);
    /* The link is broken: closed, protocol error, or no sign of life for
     * dead_ms. No further event comes; hb_link_destroy is still due. */
    void (*lost)(void *arg, const struct hpcboot_error *err);
};

/* Takes ch, borrows events. `parent` is 1 at the side that waits for the
 * magic; the other side puts it into hb_link_out first. */
struct hb_link *hb_link_create(struct event_base *base, struct hb_channel *ch,
                               int parent, const struct hb_link_events *events,
                               void *arg);
/* NULL-safe; closes the channel. Allowed inside every event. */
void hb_link_destroy(struct hb_link *link);

/* Where encoded frames go: put messages here, then hb_link_flush. No event
 * comes from inside hb_link_flush; a failed write, or a message that could
 * not be put, is told from the loop. */
struct hb_buf *hb_link_out(struct hb_link *link);
void hb_link_flush(struct hb_link *link);
size_t hb_link_backlog(const struct hb_link *link); /* bytes not yet taken */
/* What the command that carries it has exited with: see struct hb_channel. */
int hb_link_exit_status(const struct hb_link *link);
int hb_link_was_killed(const struct hb_link *link);

/* The launcher loses a host after so many beats without a sign of it. */
#define HB_LINK_BEATS 5u
/* So many may pass while an end stands still, and is not taken for lost. */
#define HB_LINK_STALL_BEATS 2u
/* Both sides: a PING every heartbeat_ms, lost after dead_ms of silence
 * (anything received counts). 0 = off. */
void hb_link_heartbeat(struct hb_link *link, uint32_t heartbeat_ms,
                       uint32_t dead_ms);
/* Bytes of HELLO, of a proof, of why there is none: far more than they have. */
#define HB_LINK_STRANGER_MAX ((size_t)1 << 20)
/* A frame that is longer ends the link, as long as nobody has vouched for the
 * other side; 0, as at first: whatever lib/wire allows. */
void hb_link_limit(struct hb_link *link, size_t frame_bytes);
/* For whoever keeps the loop waiting for long: sends the beat if it is due. */
void hb_link_beat(struct hb_link *link);
/* Asks the peer to answer, behind all that was put before, however much waits;
 * and whether it has, and so has read all of that. Also 1: never asked. */
void hb_link_ask(struct hb_link *link);
int hb_link_has_answered(const struct hb_link *link);
/* How long this process itself was stopped or starved, when that was long
 * enough for the peer to take it for dead; else 0. */
int64_t hb_link_away_ms(const struct hb_link *link);
/* Load average of the peer's machine times 1000, as of its last beat. */
uint32_t hb_link_peer_load_milli(const struct hb_link *link);
/* Peer's monotonic clock minus ours, by the quickest of its beats (offset.h);
 * 0 until one came. */
int64_t hb_link_clock_offset_ns(const struct hb_link *link);

#endif
