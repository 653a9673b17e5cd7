/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A rank's side of the native rendezvous, before an agent that answers late or
 * not at all. */
#include "config.h"

#include "lib/rdzv/client.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "native_agent.h"

#define SOON_MS 20
#define FDS 1024
#define PATIENCE_MS 60000 /* for what comes, on a machine however busy */

static int address(void *arg, struct hb_buf *out, struct hpcboot_error *err)
{
    hb_buf_put_str(out, "an address");
    return 0;
}

static struct hb_rdzv *open_with(struct native_agent *a, int withdraw_ms)
{
    const struct hb_rdzv_spec spec = {.deadline_ns = HB_NEVER,
                                      .withdraw_ms = withdraw_ms,
                                      .address = address};
    struct hpcboot_error err = {0};
    struct hb_rdzv *r = NULL;

    native_agent_start(a);
    if (hb_rdzv_native_open(&r, &spec, &err) < 0) {
        fail_msg("%s", err.text);
    }
    return r;
}

static int fence(struct hb_rdzv *r, int node_only, int ms,
                 struct hpcboot_error *err)
{
    return r->ops->fence(r, node_only, 0, hb_deadline_in_ms(ms), err);
}

static void test_a_fence_that_is_withdrawn(void **state)
{
    struct native_agent a = {.n_ranks = 2, .n_nodes = 1, .fences = "10"};
    struct hb_rdzv *r = open_with(&a, PATIENCE_MS);
    struct hpcboot_error err = {0};

    assert_int_equal(fence(r, 0, SOON_MS, &err), HPCBOOT_ERR_TIMED_OUT);
    assert_string_equal(err.text, "the agent of the test says so");
    assert_int_equal(r->ops->fence(r, 0, 0, HB_NEVER, &err), 0);
    hb_rdzv_close(r);
    native_agent_stop(&a);
}

/* It has answered neither the fence nor that the rank takes it back: this is
 * an error, too. What it says in the end belongs to that fence. */
static void test_an_agent_that_does_not_let_go(void **state)
{
    const struct hb_bytes value = {(const unsigned char *)"v", 1};
    struct native_agent a = {.n_ranks = 2, .n_nodes = 1, .fences = "20"};
    struct hb_rdzv *r = open_with(&a, SOON_MS);
    struct hpcboot_error err = {0};

    assert_int_equal(fence(r, 0, SOON_MS, &err), HPCBOOT_ERR_TIMED_OUT);
    assert_non_null(strstr(err.text, "has not answered for 20 ms"));
    assert_int_equal(fence(r, 0, SOON_MS, &err), HPCBOOT_ERR_TIMED_OUT);
    assert_non_null(strstr(err.text, "has not answered"));
    assert_int_equal(r->ops->put(r, 0, "key", value, &err), 0);
    /* It was complete: this one goes on with it, and asks nobody. */
    assert_int_equal(fence(r, 0, PATIENCE_MS, &err), 0);
    assert_int_equal(fence(r, 1, PATIENCE_MS, &err), 0);
    hb_rdzv_close(r);
    native_agent_stop(&a);
}

/* What it inherited is there, and was closed by nobody. */
static void test_a_rank_without_a_descriptor_left(void **state)
{
    const struct hb_rdzv_spec spec = {.deadline_ns = HB_NEVER,
                                      .address = address};
    struct native_agent a = {.n_ranks = 2, .n_nodes = 1};
    struct hpcboot_error err = {0};
    struct hb_rdzv *r = NULL;
    struct rlimit was, none;
    int lowest, rc;

    native_agent_start(&a);
    lowest = dup(a.fd);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = (struct rlimit){(rlim_t)lowest, was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rc = hb_rdzv_native_open(&r, &spec, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(rc, HPCBOOT_ERR_SYSTEM);
    assert_non_null(strstr(err.text, "ulimit -n"));
    assert_null(strstr(err.text, "closed"));
    native_agent_stop(&a);
}

/* The number by which the library talks to the agent: another one of the same
 * socket. */
static int talks_by(const struct native_agent *a)
{
    struct stat theirs, st;
    int fd = 0;

    assert_int_equal(fstat(a->fd, &theirs), 0);
    while (fd == a->fd || fstat(fd, &st) < 0 || st.st_ino != theirs.st_ino) {
        assert_true(++fd < FDS);
    }
    return fd;
}

/* Programs close what they do not know, and open files of their own. */
static void test_a_descriptor_that_the_program_has_closed(void **state)
{
    for (int taken = 0; taken < 2; taken++) {
        struct native_agent a = {.n_ranks = 2, .n_nodes = 1};
        struct hb_rdzv *r = open_with(&a, PATIENCE_MS);
        struct hpcboot_error err = {0};
        int fd = talks_by(&a), file = open("/dev/null", O_RDWR | O_CLOEXEC);

        assert_true(file >= 0);
        assert_int_equal(taken ? dup2(file, fd) : close(fd), taken ? fd : 0);
        assert_int_equal(fence(r, 0, PATIENCE_MS, &err), HPCBOOT_ERR_CLOSED);
        assert_non_null(strstr(err.text, "has been closed by the program"));
        hb_rdzv_close(r);
        if (taken) { /* it is the program's */
            assert_int_equal(close(fd), 0);
        }
        close(file);
        native_agent_stop(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fence_that_is_withdrawn),
        cmocka_unit_test(test_an_agent_that_does_not_let_go),
        cmocka_unit_test(test_a_rank_without_a_descriptor_left),
        cmocka_unit_test(test_a_descriptor_that_the_program_has_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
