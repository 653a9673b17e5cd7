/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Two ranks over UCX, one of which computes: it makes no progress until the
 * other has filled the way to it, and has given up what still waits there. What
 * was given up leaves all the same, and ends nobody's connection. */
#include "config.h"

#include "lib/xport/tcp_impl.h"
#include "xport_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CONTEXT 5u
#define TURNS 4000000 /* of progress: far more than a busy machine needs */
/* As many messages as may be ahead: far more than systems take. */
#define FLOOD 200
#define ASIDE 1000u /* a tag that no message of the flood has */

static struct hb_xport_req *start_send(struct xport_world *p, uint64_t tag,
                                       const void *data, size_t size)
{
    struct hb_xport_req *r = NULL;

    assert_int_equal(hb_xport_send(p->x[0], 1, CONTEXT, tag, data, size, &r,
                                   NULL), 0);
    return r;
}

static void finish(struct xport_world *p, int rank, struct hb_xport_req *r)
{
    struct hpcboot_error err = {0};
    int rc = 0;

    for (int i = 0; rc == 0 && i < TURNS; i++) {
        (void)hb_xport_progress(p->x[i % 2]);
        rc = hb_xport_test(p->x[rank], r, NULL, &err);
    }
    if (rc != 1) {
        fail_msg("rank %d: %d, %s", rank, rc, err.text);
    }
}

static void receive(struct xport_world *p, uint64_t tag, void *to, size_t size)
{
    struct hb_xport_req *r = NULL;

    assert_int_equal(hb_xport_recv(p->x[1], 0, CONTEXT, tag, UINT64_MAX, to,
                                   size, &r, NULL), 0);
    finish(p, 1, r);
}

struct flood {
    char *from, *to;
    struct hb_xport_req *s[FLOOD];
};

/* Both know each other; then rank 1 computes, and the way to it is full. */
static void fill(struct xport_world *p, struct flood *f)
{
    f->from = malloc(HB_TCP_EAGER);
    f->to = malloc(HB_TCP_EAGER);
    memset(f->from, 'f', HB_TCP_EAGER);
    for (int i = 0; i < 2; i++) {
        struct hb_xport_req *s = start_send(p, 1, f->from, 8);

        receive(p, 1, f->to, 8);
        finish(p, 0, s);
    }
    for (int i = 0; i < FLOOD; i++) {
        f->s[i] = start_send(p, (uint64_t)i, f->from, HB_TCP_EAGER);
        (void)hb_xport_progress(p->x[0]);
    }
    assert_int_equal(hb_xport_test(p->x[0], f->s[FLOOD - 1], NULL, NULL), 0);
}

/* All of the flood arrives, in the order of its tags. */
static void drain(struct xport_world *p, struct flood *f)
{
    for (int i = 0; i < FLOOD; i++) {
        memset(f->to, 0, HB_TCP_EAGER);
        receive(p, (uint64_t)i, f->to, HB_TCP_EAGER);
        assert_int_equal(f->to[0], 'f');
        assert_int_equal(f->to[HB_TCP_EAGER - 1], 'f');
    }
    for (int i = 0; i < FLOOD; i++) {
        if (f->s[i] != NULL) {
            finish(p, 0, f->s[i]);
        }
    }
    free(f->from);
    free(f->to);
}

/* What waits behind the flood, and is given up there. */
static void given_up_behind_a_flood(struct xport_world *p, size_t size)
{
    struct flood f;
    char *data = malloc(size + 1), *got = calloc(1, size + 1);
    struct hb_xport_req *s;

    fill(p, &f);
    memset(data, 'd', size);
    s = start_send(p, ASIDE, size > 0 ? data : NULL, size);
    (void)hb_xport_progress(p->x[0]);
    hb_xport_cancel(p->x[0], s);
    memset(data, 'x', size);
    drain(p, &f);
    receive(p, ASIDE, got, size);
    assert_true(size == 0 || (got[0] == 'd' && got[size - 1] == 'd'));
    free(data);
    free(got);
}

static void an_empty_message_is_given_up(void **state)
{
    given_up_behind_a_flood(*state, 0);
}

static void a_short_message_is_given_up(void **state)
{
    given_up_behind_a_flood(*state, 4096);
}

/* Of one of them the system has taken a part. */
static void a_flood_is_given_up(void **state)
{
    struct xport_world *p = *state;
    struct flood f;

    fill(p, &f);
    for (int i = 0; i < FLOOD; i++) {
        if (hb_xport_test(p->x[0], f.s[i], NULL, NULL) == 0) {
            hb_xport_cancel(p->x[0], f.s[i]);
        }
        f.s[i] = NULL;
    }
    memset(f.from, 'x', HB_TCP_EAGER);
    drain(p, &f);
}

/* As where a device file opens, and the device does not. */
static void a_device_that_ucx_cannot_use_is_told(void **state)
{
    struct hb_tcp t = {.caps = {.ucx_kind = HB_UCX_IB}, .limit_s = 3};
    struct hpcboot_error err = {0};
    struct hb_caps here = {0};

    if (hb_caps_rdma("", NULL, 0, &here, NULL) > 0) {
        skip(); /* this host has one */
    }
    assert_int_equal(hb_ucx_open(&t, &err), HPCBOOT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "cannot be used"));
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, xport_world_set_up, \
                                    xport_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_message_is_given_up),
        TEST(a_short_message_is_given_up),
        TEST(a_flood_is_given_up),
        cmocka_unit_test(a_device_that_ucx_cannot_use_is_told),
    };
    xport_find_modules();
    setenv("HPCBOOT_TRANSPORTS", "ucx", 1);
    setenv("HPCBOOT_LOST_AFTER", "3000", 1);
#ifdef __SANITIZE_THREAD__ /* threads call its hook as TSan forgets them */
    setenv("UCX_MEM_EVENTS", "n", 0);
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
