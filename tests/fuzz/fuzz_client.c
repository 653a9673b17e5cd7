/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What a launcher answers a rank of libhpcboot: lines of a PMI-1 server, with
 * the cards of other ranks in them, or frames of an agent; any bytes.
 *
 * The first byte says which (128: an agent), and the rank and size of the
 * job; the rest is all that is ever answered. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/rdzv/client.h"
#include "lib/rdzv/native.h"
#include "tests/fuzz/rdzv_use.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WAIT_MS 1
#define ANSWERS_MAX 65536u /* what a socket takes without a reader */
#define REGION_BYTES 64u
#define OF_AGENT 128u

static int address(void *arg, struct hb_buf *out, struct hpcboot_error *err)
{
    hb_buf_put_str(out, "an address");
    return 0;
}

static size_t region_bytes(int n_local)
{
    return REGION_BYTES;
}

static void prepare(void *arg, struct hb_segment *memory)
{
}

static void set_number(const char *name, unsigned long long value)
{
    char *text = hb_xasprintf("%llu", value);

    setenv(name, text, 1);
    free(text);
}

/* Bytes, and with them the memory of a node, as an agent hands it over. */
static void answer(int fd, const uint8_t *data, size_t size, int memory_fd)
{
    struct iovec v = {(void *)data, size};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } u = {0};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

    if (memory_fd >= 0) {
        m.msg_control = &u;
        m.msg_controllen = sizeof u.bytes;
        u.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
                                  .cmsg_level = SOL_SOCKET,
                                  .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&u.head), &memory_fd, sizeof memory_fd);
    }
    if (size > 0 && sendmsg(fd, &m, MSG_NOSIGNAL) != (ssize_t)size) {
        abort();
    }
    shutdown(fd, SHUT_WR);
}

static void make_memory(struct hb_segment *memory, uint32_t n)
{
    static const uint32_t node_of[4], local[4] = {0, 1, 2, 3};
    static char name[] = "here", *names[] = {name};
    const struct hb_segment_spec spec = {
        .n_ranks = n, .n_nodes = 1, .n_local = n, .node_of = node_of,
        .local_rank = local, .names = names, .region_bytes = REGION_BYTES,
        .heap_bytes = REGION_BYTES,
    };

    if (hb_segment_create(memory, &spec, NULL) < 0) {
        abort();
    }
}

static int greet(unsigned how, int fd, const struct hb_rdzv_spec *spec,
                 struct hb_rdzv **out)
{
    uint32_t rank = how & 3, size = (how >> 2 & 3) + 1;
    struct stat st;

    if ((how & OF_AGENT) == 0) {
        set_number("PMI_FD", (unsigned)fd);
        set_number("PMI_RANK", rank);
        set_number("PMI_SIZE", size);
        return hb_rdzv_pmi1_open(out, spec, NULL);
    }
    if (fstat(fd, &st) < 0) {
        abort();
    }
    char *where = hb_xasprintf("%d:%llu", fd, (unsigned long long)st.st_ino);
    setenv(HB_NATIVE_FD_VAR, where, 1);
    free(where);
    set_number("HPCBOOT_RANK", rank);
    set_number("HPCBOOT_SIZE", size);
    set_number("HPCBOOT_NODES", 1);
    setenv("HPCBOOT_COOKIE", "c", 1);
    return hb_rdzv_native_open(out, spec, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned how = size > 0 ? data[0] : 0;
    const struct hb_rdzv_spec spec = {
        .deadline_ns = hb_deadline_in_ms(WAIT_MS), .address = address,
        .region_bytes = region_bytes, .region_small = region_bytes,
        .prepare = prepare};
    struct hb_segment memory = HB_SEGMENT_INIT;
    struct hb_rdzv *r = NULL;
    int fds[2], memory_fd = -1;

    size = size > ANSWERS_MAX ? ANSWERS_MAX : size;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        abort();
    }
    if ((how & OF_AGENT) != 0) {
        make_memory(&memory, (how >> 2 & 3) + 1);
        memory_fd = memory.fd;
    }
    if (size > 1) {
        answer(fds[1], data + 1, size - 1, memory_fd);
    } else {
        shutdown(fds[1], SHUT_WR);
    }
    if (greet(how, fds[0], &spec, &r) == 0) {
        rdzv_use(r, WAIT_MS);
    }
    hb_segment_close(&memory);
    close(fds[0]);
    close(fds[1]);
    return 0;
}
