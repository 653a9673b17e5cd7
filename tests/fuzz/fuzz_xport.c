/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Any bytes from the network, to a rank that has a receive and a long send
 * under way. The first byte says where they stand: 0 a caller's greeting, 1
 * behind a greeting that is right, 2 the answer to our own greeting, 3 behind
 * an answer that is right. */
#include "config.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/xport/address.h"
#include "lib/xport/xport.h"

#define TURNS 24
#define LONG_SEND (100u << 10)
#define MAGIC 0x6870634254435031ull /* as in tcp_meet.c */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Addresses; on their cards the two share networks, so that rails are known. */
static struct hb_buf ours, theirs, our_rails;
static char long_send[LONG_SEND], received[LONG_SEND];

static const void *address_of(void *ctx, uint32_t rank, size_t *len_out)
{
    const struct hb_buf *card = rank == 0 ? &our_rails : &theirs;

    *len_out = card->len;
    return card->data;
}

static const char *host_of(void *ctx, uint32_t rank)
{
    return "there";
}

static int local_socket(struct sockaddr_in *at, uint16_t port)
{
    *at = (struct sockaddr_in){.sin_family = AF_INET,
                               .sin_port = htons(port),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

#define NETWORKS 2u

/* Of 127.1.0.0/16 and 127.2.0.0/16, behind what is there. */
static void add_networks(struct hb_interfaces *all, uint32_t rank)
{
    for (uint32_t i = 1; i <= NETWORKS; i++) {
        struct hb_interface *one = &all->list[all->n++];
        struct sockaddr_in *at = (struct sockaddr_in *)&one->at;

        at->sin_family = AF_INET;
        at->sin_addr.s_addr = htonl(127u << 24 | i << 16 | (rank + 1));
        one->net = (struct hb_network){16, (uint8_t)i, 0};
    }
}

static int listen_there(void)
{
    struct sockaddr_in at;
    struct sockaddr_storage all = {0};
    struct hb_interfaces mine = {0}, one = {.n = 1};
    static const unsigned char token[HB_ADDRESS_TOKEN];
    socklen_t len = sizeof at;
    int fd = local_socket(&at, 0);

    if (bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, 4) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0) {
        abort();
    }
    memcpy(&all, &at, sizeof at);
    one.list[0].at = all;
    add_networks(&one, 1);
    add_networks(&mine, 0);
    hb_endpoint_put(&theirs, &one, ntohs(at.sin_port), token);
    hb_endpoint_put(&our_rails, &mine, 1, token);
    return fd;
}

static void put(int fd, const void *bytes, size_t n)
{
    if (n > 0 && send(fd, bytes, n, MSG_NOSIGNAL) < 0) {
        return; /* the other end has had enough */
    }
}

static void call(uint8_t how, const uint8_t *data, size_t size, int *fd)
{
    struct {
        uint64_t magic;
        unsigned char token[HB_ADDRESS_TOKEN];
        uint32_t from, to, caps[4], rail, unused;
    } greeting = {.magic = MAGIC, .from = 1, .caps = {1u << 1}};
    const unsigned char *told = (const unsigned char *)ours.data;
    struct sockaddr_in at;

    *fd = local_socket(&at, (uint16_t)(told[0] << 8 | told[1]));
    memcpy(greeting.token, told + 2, sizeof greeting.token);
    if (connect(*fd, (struct sockaddr *)&at, sizeof at) < 0) {
        abort();
    }
    if (how == 1) {
        put(*fd, &greeting, sizeof greeting);
    }
    put(*fd, data, size);
}

static void answer(uint8_t how, const uint8_t *data, size_t size, int from,
                   int *fd)
{
    const struct {
        uint64_t magic;
        uint32_t by, len;
    } right = {MAGIC, 1, 0};

    *fd = accept(from, NULL, NULL);
    if (how == 3) {
        put(*fd, &right, sizeof right);
    }
    put(*fd, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t node_of[2] = {0, 1}, local_rank[2];
    const struct hb_xport_job job = {
        .size = 2, .node_of = node_of, .local_rank_of = local_rank,
        .address = address_of, .host = host_of,
    };
    struct hb_xport *x = NULL;
    struct hb_xport_req *r, *s;
    int listener, fd = -1;
    uint8_t how = size > 0 ? data[0] & 3 : 0;

    setenv("HPCBOOT_TRANSPORTS", "tcp", 1);
    hb_buf_init(&ours, 255);
    hb_buf_init(&theirs, 255);
    hb_buf_init(&our_rails, 255);
    listener = listen_there();
    if (hb_xport_open(&x, &ours, NULL) < 0 ||
        hb_xport_join(&x, &job, NULL) < 0 ||
        hb_xport_recv(x, HB_XPORT_ANY, 5, 0, 0, received, sizeof received, &r,
                      NULL) < 0 ||
        hb_xport_send(x, 1, 5, 1, long_send, sizeof long_send, &s, NULL) < 0) {
        abort();
    }
    (void)hb_xport_progress(x); /* connects, and greets */
    if (how < 2) {
        call(how, data + (size > 0), size - (size > 0), &fd);
    } else {
        answer(how, data + 1, size - 1, listener, &fd);
    }
    for (int i = 0; i < TURNS; i++) {
        (void)hb_xport_progress(x);
    }
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < TURNS; i++) {
        (void)hb_xport_progress(x);
    }
    hb_xport_cancel(x, r);
    hb_xport_cancel(x, s);
    close(fd);
    close(listener);
    hb_xport_destroy(x);
    hb_buf_destroy(&ours);
    hb_buf_destroy(&theirs);
    hb_buf_destroy(&our_rails);
    return 0;
}
