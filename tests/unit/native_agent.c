/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* See native_agent.h. The child makes the memory of the node, gives all ranks
 * the address that the one rank has sent, and answers until its socket ends. */
#include "config.h"

#include "native_agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "lib/coll/coll.h"
#include "lib/rdzv/native.h"
#include "lib/rdzv/segment.h"

#define HEAP_BYTES ((size_t)64 << 20)
#define READ_BYTES 65536u

struct served {
    const struct native_agent *agent;
    struct hb_segment memory;
    const char *fence; /* the next of agent->fences */
    int fd, withheld;  /* an answer that is never but */
};

static void send_answer(struct served *s, int status, int fd)
{
    struct hb_buf b;
    size_t begun;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } u = {0};
    struct msghdr m = {0};
    struct iovec v;

    hb_buf_init(&b, HB_NATIVE_FRAME_MAX);
    begun = hb_native_begin(&b, HB_NATIVE_ANSWER);
    hb_buf_put_i32(&b, status);
    hb_buf_put_str(&b, status < 0 ? "the agent of the test says so" : "");
    hb_buf_put_blob(&b, "", 0);
    hb_native_end(&b, begun);
    v = (struct iovec){(void *)(uintptr_t)b.data, b.len};
    m.msg_iov = &v;
    m.msg_iovlen = 1;
    if (fd >= 0) {
        m.msg_control = &u;
        m.msg_controllen = sizeof u.bytes;
        u.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
                                  .cmsg_level = SOL_SOCKET,
                                  .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&u.head), &fd, sizeof fd);
    }
    if (sendmsg(s->fd, &m, MSG_NOSIGNAL) != (ssize_t)b.len) {
        _exit(2);
    }
    hb_buf_destroy(&b);
}

static void make_memory(struct served *s)
{
    const struct native_agent *a = s->agent;
    uint32_t *node_of = hb_xcalloc(a->n_ranks, sizeof *node_of);
    uint32_t *local = hb_xcalloc(a->n_ranks, sizeof *local);
    char **names = hb_xcalloc(a->n_nodes, sizeof *names);
    uint32_t each = (a->n_ranks + a->n_nodes - 1) / a->n_nodes;
    const struct hb_segment_spec spec = {
        .n_ranks = a->n_ranks, .n_nodes = a->n_nodes, .n_local = each,
        .node_of = node_of, .local_rank = local, .names = names,
        .region_bytes = hb_coll_region_size((int)each),
        .heap_bytes = HEAP_BYTES, .agent = 1,
    };

    for (uint32_t i = 0; i < a->n_ranks; i++) {
        node_of[i] = i / each;
        local[i] = i % each;
    }
    for (uint32_t i = 0; i < a->n_nodes; i++) {
        names[i] = hb_xasprintf("node-%u.rack-%u.example.org", i, i / 32);
    }
    if (hb_segment_create(&s->memory, &spec, NULL) < 0) {
        _exit(3);
    }
}

static void on_hello(struct served *s, struct hb_bytes body)
{
    struct hb_bytes address;
    struct hb_buf b;

    hb_buf_view(&b, body.data, body.len);
    (void)hb_buf_get_u32(&b);
    (void)hb_buf_get_u32(&b);
    (void)hb_buf_get_str(&b, HB_NATIVE_TOKEN_MAX);
    address = hb_buf_get_blob(&b, HB_SEGMENT_ADDRESS_MAX - 1);
    make_memory(s);
    for (uint32_t i = 0; i < s->agent->n_ranks && address.len > 0; i++) {
        if (hb_segment_set_address(&s->memory, i, address.data, address.len,
                                   NULL) < 0) {
            _exit(4);
        }
    }
    send_answer(s, 0, s->memory.fd);
}

static void on_fence(struct served *s)
{
    char how = s->fence != NULL && *s->fence != '\0' ? *s->fence++ : '0';

    s->withheld = how == '2';
    if (how == '0') {
        send_answer(s, 0, -1);
    }
}

static void on_frame(struct served *s, enum hb_native_kind kind,
                     struct hb_bytes body)
{
    if (s->withheld && kind != HB_NATIVE_WITHDRAW) {
        s->withheld = 0;
        send_answer(s, 0, -1); /* the fence was complete, after all */
    }
    if (kind == HB_NATIVE_HELLO) {
        on_hello(s, body);
    } else if (kind == HB_NATIVE_FENCE) {
        on_fence(s);
    } else if (kind == HB_NATIVE_WITHDRAW) {
        if (!s->withheld) {
            send_answer(s, HPCBOOT_ERR_TIMED_OUT, -1);
        }
    } else if (kind != HB_NATIVE_NOTE) {
        send_answer(s, 0, -1);
    }
}

static void serve(const struct native_agent *a, int fd)
{
    struct served s = {.agent = a, .memory = HB_SEGMENT_INIT,
                       .fence = a->fences, .fd = fd};
    enum hb_native_kind kind;
    struct hb_bytes body;
    struct hb_buf in;
    ssize_t got;

    hb_buf_init(&in, HB_NATIVE_FRAME_MAX + 2 * READ_BYTES);
    for (;;) {
        hb_buf_compact(&in);
        got = read(fd, hb_buf_reserve(&in, READ_BYTES), READ_BYTES);
        if (got <= 0) {
            _exit(0);
        }
        hb_buf_added(&in, (size_t)got);
        while (hb_native_next(&in, &kind, &body, NULL) > 0) {
            on_frame(&s, kind, body);
        }
    }
}

static void set_number(const char *name, unsigned value)
{
    char text[16];

    snprintf(text, sizeof text, "%u", value);
    setenv(name, text, 1);
}

void native_agent_start(struct native_agent *a)
{
    char where[48];
    struct stat st;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds),
                     0);
    a->pid = fork();
    assert_true(a->pid >= 0);
    if (a->pid == 0) {
        close(fds[0]);
        serve(a, fds[1]);
    }
    close(fds[1]);
    a->fd = fds[0];
    assert_int_equal(fstat(a->fd, &st), 0);
    snprintf(where, sizeof where, "%d:%llu", a->fd,
             (unsigned long long)st.st_ino);
    setenv(HB_NATIVE_FD_VAR, where, 1);
    setenv("HPCBOOT_COOKIE", "test", 1);
    set_number("HPCBOOT_RANK", 0);
    set_number("HPCBOOT_SIZE", a->n_ranks);
    set_number("HPCBOOT_NODES", a->n_nodes);
}

void native_agent_stop(struct native_agent *a)
{
    int status;

    close(a->fd);
    assert_int_equal(waitpid(a->pid, &status, 0), a->pid);
    assert_int_equal(status, 0);
}
