/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What ranks say to each other about their waits (lib/api/hop.h), any bytes,
 * read by rank 0 of two hosts, of which the other one exists on its card alone.
 *
 * The first byte says what rank 0 does meanwhile; then come the notes, each
 * behind its length in two bytes, and with one byte of its text, which stands
 * for all of them. */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/api/ask.c" /* which reads, here, whenever it is to */
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LEFT_CONTEXT 77u

/* bits of the first byte */
enum { CALLS = 1, RECEIVES = 2, ENDS = 4, HAS_LEFT = 8, HAS_CALLED = 16 };

static int listener; /* that of the other host: it answers nobody */
static uint16_t port;

static void listen_there(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;

    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&at, len) < 0 ||
        listen(listener, 4) < 0 ||
        getsockname(listener, (struct sockaddr *)&at, &len) < 0) {
        abort();
    }
    port = ntohs(at.sin_port);
}

/* A card: rank, machine, network namespace, host, socket, address. The other
 * one is of rank 1, of another namespace, and listens at another port. */
static void change_card(char *card, size_t size)
{
    struct hb_buf b;
    struct hb_bytes address;

    hb_buf_view(&b, card, size);
    (void)hb_buf_get_u32(&b);
    card[size - hb_buf_left(&b) - 1] = 1;
    (void)hb_buf_get_str(&b, size);
    card[size - hb_buf_left(&b)] ^= 1;
    (void)hb_buf_get_u64(&b);
    (void)hb_buf_get_str(&b, size);
    (void)hb_buf_get_str(&b, size);
    address = hb_buf_get_blob(&b, size);
    if (hb_buf_failed(&b) || address.len < sizeof port) {
        abort();
    }
    ((unsigned char *)(uintptr_t)address.data)[0] = (unsigned char)(port >> 8);
    ((unsigned char *)(uintptr_t)address.data)[1] = (unsigned char)port;
}

/* Sizes come first, then cards, and other rounds have no bytes. */
static int allgather(void *arg, const void *mine, void *all, size_t bytes)
{
    char *other = (char *)all + bytes;

    memcpy(all, mine, bytes);
    memcpy(other, mine, bytes);
    if (bytes > sizeof(uint64_t)) {
        change_card(other, bytes);
    }
    return 0;
}

static void begin(void)
{
    struct hpcboot_bootstrap b = HPCBOOT_BOOTSTRAP_INIT;

    b.size = 2;
    b.allgather = allgather;
    atomic_store(&hb_api.phase, API_BEFORE);
    n_gone = n_left = 0;
    if (hpcboot_init_with(&b, NULL, NULL) < 0 || hb_api.nodes != 2) {
        abort();
    }
}

/* The other one does not come to it, and its host is gone. */
static void end_job(void)
{
    close(listener);
    hb_segment_mark_dead(hb_api.memory, hb_api.local_rank, 1, "it is over");
    atomic_store(&hb_api.phase, API_IN);
    (void)hpcboot_finalize(NULL);
}

static void post(const uint8_t *note, size_t size)
{
    struct hb_xport_req *req;

    if (hb_xport_send(hb_api.xport, 0, HB_ASK_CONTEXT, 1, note, size, &req,
                      NULL) < 0) {
        abort();
    }
    if (hb_xport_test(hb_api.xport, req, NULL, NULL) == 0) {
        hb_xport_cancel(hb_api.xport, req);
    }
}

/* As long as it is in the input, and the text, which nobody takes apart. */
static void post_with_text(const uint8_t *note, size_t size)
{
    const size_t head = offsetof(struct hb_note, text);
    size_t hops = size - head - 1;
    uint8_t *whole = hb_xmalloc(head + HPCBOOT_ERROR_TEXT_MAX + hops);

    memcpy(whole, note, head);
    memset(whole + head, note[head], HPCBOOT_ERROR_TEXT_MAX);
    memcpy(whole + head + HPCBOOT_ERROR_TEXT_MAX, note + head + 1, hops);
    post(whole, head + HPCBOOT_ERROR_TEXT_MAX + hops);
    free(whole);
}

static void post_all(const uint8_t *data, size_t size)
{
    while (size >= 2) {
        size_t n = (size_t)data[0] << 8 | data[1];

        n = n < size - 2 ? n : size - 2;
        if (n > offsetof(struct hb_note, text)) {
            post_with_text(data + 2, n);
        } else {
            post(data + 2, n);
        }
        data += 2 + n;
        size -= 2 + n;
    }
}

/* A team that the other one need not be in. */
static void leave_team(void)
{
    struct hpcboot_team other = *hb_api.world;

    other.context = LEFT_CONTEXT;
    hb_api_ask_keep(&other);
}

/* The waits that notes can be about. */
static void read_as(unsigned how, struct hpcboot_request *message)
{
    struct hb_coll_stuck what = {.on = -1, .coll = -1, .since_ns = 1};
    struct hb_own_wait w = {NULL, &what};
    struct hpcboot_error err = {0};

    if ((how & RECEIVES) != 0) {
        hb_api.awaited = (struct hb_api_awaited){.kind = HB_WAITS_RECV,
                                                 .message = message};
    } else if ((how & CALLS) != 0 &&
               hb_coll_team_waits(hb_api.world->coll, &what)) {
        w.team = hb_api.world;
    }
    atomic_store(&hb_api.phase, (how & ENDS) != 0 ? API_ENDING : API_IN);
    hb_survey_begin(&w);
    for (int turn = 0; turn < 3; turn++) {
        (void)read_all(&w, &err);
        (void)hpcboot_progress(NULL);
    }
    hb_api.awaited = (struct hb_api_awaited){.kind = HB_WAITS_NOT};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hpcboot_request *message = NULL, *call = NULL;
    unsigned how = size > 0 ? data[0] : 0;
    static char byte;

    setenv("HPCBOOT_TRANSPORTS", "tcp", 1);
    setenv("HPCBOOT_CHECK", (how & HAS_CALLED) != 0 ? "0" : "1", 1);
    listen_there();
    begin();
    if ((how & HAS_LEFT) != 0) {
        leave_team();
    }
    if (((how & CALLS) != 0 &&
         hpcboot_ibcast(&byte, 1, HPCBOOT_BYTE, 1, hpcboot_world(), &call,
                        NULL) < 0) ||
        hpcboot_irecv(hpcboot_world(), 1, 3, &byte, 1, NULL, &message,
                      NULL) < 0) {
        abort();
    }
    (void)hpcboot_progress(NULL);
    if (size > 0) {
        post_all(data + 1, size - 1);
    }
    read_as(how, message);
    end_job();
    return 0;
}
