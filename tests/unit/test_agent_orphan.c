/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* An agent that is adopted: the test is the one that brings it a link. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/hpcbootd/agent.h"
#include "lib/base/fd.h"

#define GRACE_MS 600000

/* --- the rest of the agent ------------------------------------------------ */

static int links, ends;

int agent_link_open(struct agent *a, int in_fd, int out_fd,
                    struct hpcboot_error *err)
{
    hb_fd_close(&in_fd);
    hb_fd_close(&out_fd);
    links++;
    event_base_loopbreak(a->base);
    return 0;
}

void agent_kill(struct agent *a, uint32_t grace_ms, int signo)
{
    ends++;
}

void agent_leave(struct agent *a, int status)
{
    ends++;
}

void agent_fail(struct agent *a, const struct hpcboot_error *err)
{
    ends++;
}

void agent_note(struct agent *a, int level, const char *fmt, ...)
{
}

void agent_flush(struct agent *a)
{
}

/* --- who adopts ----------------------------------------------------------- */

static int call(const struct agent *a)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "hpcbootd-%s",
                     a->token);
    int conn = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(conn >= 0);
    assert_int_equal(
        connect(conn, (const struct sockaddr *)&at,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                            (size_t)n)), 0);
    return conn;
}

static void give_link(int conn)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {0};
    uint64_t frames = 0;
    struct iovec iov = {&frames, sizeof frames};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    const int fds[2] = {STDIN_FILENO, STDOUT_FILENO};

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(c), fds, sizeof fds);
    assert_int_equal(sendmsg(conn, &m, 0), sizeof frames);
}

/* Whether it is over for the agent: then its stub goes, and ends nobody. */
static int is_let_go(int conn)
{
    char byte;

    return recv(conn, &byte, 1, MSG_DONTWAIT) == 0;
}

static void open_agent(struct agent *a, char *token, size_t size)
{
    memset(a, 0, sizeof *a);
    snprintf(token, size, "test-orphan-%d", getpid());
    a->token = token;
    a->base = event_base_new();
    a->ordered = 1;
    links = ends = 0;
    agent_orphan_settle(a, GRACE_MS);
    assert_true(agent_is_below_another(a));
}

static void close_agent(struct agent *a)
{
    agent_orphan_destroy(a);
    event_base_free(a->base);
}

/* The link that was brought is lost before the launcher has said a word: the
 * agent waits for the next one, and the first stub is not to end it. */
static void a_stub_whose_link_is_lost_is_let_go(void **state)
{
    char token[64];
    struct agent a;
    int first, second;

    open_agent(&a, token, sizeof token);
    assert_true(agent_orphaned(&a));
    first = call(&a);
    give_link(first);
    event_base_dispatch(a.base);
    assert_int_equal(links, 1);
    assert_false(is_let_go(first));
    assert_true(agent_orphaned(&a));
    assert_true(is_let_go(first));
    second = call(&a);
    give_link(second);
    event_base_dispatch(a.base);
    assert_int_equal(links, 2);
    assert_false(is_let_go(second));
    assert_int_equal(ends, 0);
    hb_fd_close(&first);
    hb_fd_close(&second);
    close_agent(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stub_whose_link_is_lost_is_let_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
