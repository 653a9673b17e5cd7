/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Fences that the ranks of one agent join: whatever their size, whoever has
 * joined one is answered. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bin/hpcbootd/agent.h"
#include "lib/base/str.h"

/* --- the rest of the agent ------------------------------------------------ */

static int answers, last_status;
static size_t last_key, last_data;

int agent_native_fence_done(struct agent *a, struct hb_bytes key, int status,
                            struct hb_bytes data)
{
    answers++;
    last_status = status;
    last_key = key.len;
    last_data = data.len;
    return 1;
}

void agent_note(struct agent *a, int level, const char *fmt, ...)
{
}

int agent_fence_children(struct agent *a, struct hpcboot_error *err)
{
    return 0;
}

struct rank *agent_rank(struct agent *a, uint32_t rank)
{
    return NULL;
}

int agent_native_modex_done(struct agent *a, uint64_t id, int status,
                            struct hb_bytes data)
{
    return 1;
}

int agent_native_modex_serve(struct agent *a, uint64_t id, uint32_t rank,
                             struct hb_buf *data)
{
    return HPCBOOT_ERR_NOT_FOUND;
}

static struct hb_buf said; /* to the launcher */

struct hb_buf *agent_out(struct agent *a)
{
    return &said;
}

size_t agent_unsent(const struct agent *a)
{
    return 0;
}

int agent_spawned(struct agent *a, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    return 0;
}

int rank_put_output(struct rank *r, unsigned stream, struct hb_bytes text)
{
    return 0;
}

int agent_oversubscribed(const struct agent *a)
{
    return 0;
}

void agent_sent(struct agent *a)
{
}

void agent_fence_down(struct agent *a, uint32_t child,
                      const struct hb_msg_fence_down *m)
{
}

void agent_orphan_answered(struct agent *a, struct hb_bytes key)
{
}

void agent_spawn(struct agent *a, uint64_t id, uint32_t rank,
                 const struct hb_pm_spawn *what)
{
}

void agent_spawns_destroy(struct agent *a)
{
}

void rank_sink_put(struct rank_sink *s, const void *data, size_t len)
{
}

/* --- who joins ------------------------------------------------------------ */

/* Of the first n_nodes nodes; the answer's status. */
static int join(size_t key_len, size_t data_len, uint32_t n_nodes)
{
    static const uint32_t nodes[] = {0, 1};
    struct agent *a = hb_xcalloc(1, sizeof *a);
    struct hb_bytes key = {hb_xcalloc(1, key_len), key_len};
    struct hb_bytes data = {hb_xcalloc(1, data_len + 1), data_len};

    a->base = event_base_new();
    assert_int_equal(agent_fences_start(a, NULL), 0);
    answers = 0;
    agent_fence_join(a, key, nodes, n_nodes, data);
    assert_int_equal(answers, 0); /* not from inside the question */
    (void)event_base_loop(a->base, EVLOOP_ONCE);
    assert_int_equal(answers, 1);
    assert_int_equal(last_key, key_len);
    hb_fence_engine_destroy(a->fences);
    event_base_free(a->base);
    free((void *)(uintptr_t)data.data);
    free((void *)(uintptr_t)key.data);
    free(a);
    return last_status;
}

static void test_a_fence_of_this_node(void **state)
{
    assert_int_equal(join(3, 5, 1), HPCBOOT_OK);
    assert_int_equal(last_data, sizeof(uint32_t) + sizeof(uint32_t) + 5);
}

static void test_more_than_a_fence_carries(void **state)
{
    assert_int_equal(join(3, HB_FENCE_DATA_MAX + 1, 1), HPCBOOT_ERR_LIMIT);
    assert_int_equal(last_data, 0);
    assert_int_equal(join(3, HB_WIRE_FRAME, 1), HPCBOOT_ERR_LIMIT);
}

static void test_a_key_that_no_other_node_takes(void **state)
{
    assert_int_equal(join(HB_FENCE_KEY_MAX + 1, 0, 1), HPCBOOT_OK);
    assert_int_equal(join(HB_FENCE_KEY_MAX + 1, 0, 2), HPCBOOT_ERR_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fence_of_this_node),
        cmocka_unit_test(test_more_than_a_fence_carries),
        cmocka_unit_test(test_a_key_that_no_other_node_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
