/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_FAKES_LINK_FIXTURE_H
#define HB_TESTS_FAKES_LINK_FIXTURE_H

#include <stdint.h>

#include "bin/link/link.h"
#include "lib/base/str.h"

struct event_base;

/* A link over a channel in memory: the test itself is the peer, and says what
 * arrives and how much is taken. */

struct mem_channel {
    struct hb_channel ch;
    struct hb_buf written;
    size_t takes;        /* bytes that write will still take */
    int fail;            /* status of the next write */
    int closes_in_write; /* write tells the end of the stream */
    int *closed;         /* counted */
};

enum destroy_in { NOWHERE, IN_FRAME, IN_CHATTER, IN_LOST, IN_DRAINED,
                  IN_SUSPECT };

/* The link, and what it has told. */
struct fixture {
    struct event_base *base;
    struct mem_channel *mem;
    struct hb_link *link;
    int channels_closed;
    struct hb_str chatter;
    int frames, lost, drained, suspected, alive;
    uint32_t last_rank; /* of the last OUTPUT */
    uint64_t bytes;     /* of all OUTPUT */
    struct hpcboot_error err;
    enum destroy_in destroy_in; /* the event that destroys the link */
};

/* Its callbacks; each takes a struct fixture. `lost` breaks the loop. */
extern const struct hb_link_events fixture_events;

void open_link(struct fixture *f, int parent);
void close_link(struct fixture *f); /* and checks that its channel went */
void arrive(struct fixture *f, const void *data, size_t len);
void put_output(struct hb_buf *out, uint32_t rank, size_t len); /* <= 64 KiB */

#endif
