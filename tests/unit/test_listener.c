/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A listener of the agent, with and without descriptors to take who calls. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "bin/hpcbootd/listener.h"

#define TURNS 50

struct seen {
    int taken, refused, why;
};

static void on_call(int fd, void *arg)
{
    struct seen *s = arg;

    if (fd < 0) {
        s->refused++;
        s->why = errno;
    } else {
        s->taken++;
        close(fd);
    }
}

static socklen_t make_name(struct sockaddr_un *at)
{
    memset(at, 0, sizeof *at);
    at->sun_family = AF_UNIX;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)snprintf(at->sun_path + 1,
                                        sizeof at->sun_path - 1,
                                        "hpcboot-test/%d", getpid()));
}

static int call(void)
{
    struct sockaddr_un at;
    socklen_t len = make_name(&at);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, len), 0);
    return fd;
}

static struct listener *open_one(struct event_base *base, struct seen *seen)
{
    struct sockaddr_un at;
    socklen_t len = make_name(&at);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(fd, 1), 0);
    return listener_open(base, fd, 0, on_call, seen);
}

static void allow_fds(rlim_t most)
{
    struct rlimit lim;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
    lim.rlim_cur = most < lim.rlim_max ? most : lim.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
}

static void who_calls_is_taken(void **state)
{
    struct event_base *base = event_base_new();
    struct seen seen = {0};
    struct listener *l = open_one(base, &seen);
    int fd = call();

    event_base_loop(base, EVLOOP_ONCE);
    assert_int_equal(seen.taken, 1);
    close(fd);
    listener_close(l);
    listener_close(NULL);
    event_base_free(base);
}

static void without_descriptors_it_rests_and_says_so_once(void **state)
{
    struct event_base *base = event_base_new();
    struct seen seen = {0};
    struct listener *l = open_one(base, &seen);
    struct rlimit lim;
    int fd = call();

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
    allow_fds(0);
    event_base_loop(base, EVLOOP_ONCE);
    assert_int_equal(seen.refused, 1);
    assert_int_equal(seen.why, EMFILE);
    assert_int_equal(event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED),
                     1); /* the end of the rest */
    for (int i = 0; i < 2; i++) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    assert_int_equal(seen.refused, 1);
    assert_int_equal(seen.taken, 0);
    allow_fds(lim.rlim_cur);
    for (int i = 0; i < TURNS && seen.taken == 0; i++) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    assert_int_equal(seen.taken, 1);
    close(fd);
    listener_close(l);
    event_base_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_calls_is_taken),
        cmocka_unit_test(without_descriptors_it_rests_and_says_so_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
