/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A piece of a node's heap that two ranks use: the last of them gives it back,
 * once, and who is dead keeps nothing. */
#include "config.h"

#include "lib/rdzv/segment.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096u
#define HANGS_S 60 /* who waits for another for so long waits for ever */

static struct hb_segment make(void)
{
    static const uint32_t node_of[] = {0, 1, 0}, local_rank[] = {0, 0, 1};
    char left[] = "left", right[] = "right", *names[] = {left, right};
    const struct hb_segment_spec spec = {
        .n_ranks = 3, .n_nodes = 2, .n_local = 2, .node_of = node_of,
        .local_rank = local_rank, .names = names, .region_bytes = PAGE,
        .heap_bytes = (size_t)16 * PAGE, .agent = 1,
    };
    struct hb_segment s = HB_SEGMENT_INIT;

    assert_int_equal(hb_segment_create(&s, &spec, NULL), 0);
    return s;
}

/* For both, of whom so many have come. */
static uint64_t share(struct hb_segment *s, uint32_t n)
{
    static const uint32_t users[] = {0, 2};
    uint64_t at;

    assert_int_equal(hb_segment_alloc_shared(s, 0, 10 * PAGE, &at, NULL), 0);
    for (uint32_t local = 0; local < n; local++) {
        hb_segment_come(s, local, at, users, 2);
    }
    return at;
}

static int is_free(struct hb_segment *s, uint64_t piece)
{
    uint64_t at;

    if (hb_segment_alloc(s, 1, 10 * PAGE, &at, NULL) < 0) {
        return 0;
    }
    assert_int_equal(at, piece);
    assert_int_equal(hb_segment_free(s, 1, at), 1);
    return 1;
}

static void test_the_last_gives_a_shared_piece_back(void **state)
{
    struct hb_segment s = make();
    uint64_t piece = share(&s, 2);
    size_t size;

    assert_int_equal((char *)hb_segment_shared(&s, piece, &size) -
                         (char *)s.base, piece + PAGE);
    assert_int_equal(size, 10 * PAGE);
    hb_segment_leave(&s, 1, piece);
    assert_int_equal(is_free(&s, piece), 0);
    hb_segment_leave(&s, 0, piece);
    assert_int_equal(is_free(&s, piece), 1);
    piece = share(&s, 1); /* the second is late */
    hb_segment_leave(&s, 0, piece);
    assert_int_equal(is_free(&s, piece), 0);
    hb_segment_close(&s);
}

static void test_the_dead_keep_no_shared_piece(void **state)
{
    struct hb_segment s = make();
    uint64_t piece = share(&s, 2);

    assert_int_equal(hb_segment_mark_dead(&s, 0, 2, "not heard"), 1);
    hb_segment_leave(&s, 0, piece);
    assert_int_equal(is_free(&s, piece), 0);
    assert_int_equal(hb_segment_mark_dead(&s, -1, 2, "killed"), 1);
    assert_int_equal(is_free(&s, piece), 1); /* it died after the last look */
    piece = share(&s, 2);
    hb_segment_leave(&s, 0, piece);
    assert_int_equal(is_free(&s, piece), 1);
    assert_int_equal(hb_segment_alloc(&s, 1, PAGE, &piece, NULL), 0);
    hb_segment_leave(&s, 0, piece); /* another's by now */
    assert_int_equal(hb_segment_free(&s, 1, piece), 1);
    hb_segment_close(&s);
}

static void test_who_never_comes_keeps_no_shared_piece(void **state)
{
    struct hb_segment s = make();
    uint64_t piece = share(&s, 0);

    hb_segment_give_up(&s, 0, piece);
    assert_int_equal(is_free(&s, piece), 1);
    piece = share(&s, 0);
    hb_segment_come(&s, 1, piece, (const uint32_t[]){0, 2}, 2);
    hb_segment_give_up(&s, 0, piece);
    assert_int_equal(is_free(&s, piece), 0);
    hb_segment_leave(&s, 1, piece);
    assert_int_equal(is_free(&s, piece), 1);
    hb_segment_close(&s);
}

#define LEAVERS_TURNS 300
/* Two that leave at once: one of them gives the piece back, and nobody else's
 * with it. */
static void test_one_of_two_gives_it_back(void **state)
{
    struct hb_segment s = make();
    _Atomic uint32_t *turn = hb_segment_page(&s), *done = turn + 1;
    uint64_t piece = share(&s, 2);
    int status;
    pid_t pid = fork();

    alarm(HANGS_S);
    for (uint32_t i = 1; pid == 0 && i <= LEAVERS_TURNS; i++) {
        while (atomic_load(turn) < i) {
            sched_yield();
        }
        hb_segment_leave(&s, 1, piece);
        atomic_store(done, i);
    }
    if (pid == 0) {
        _exit(0);
    }
    for (uint32_t i = 1; i <= LEAVERS_TURNS; i++) {
        atomic_store(turn, i);
        hb_segment_leave(&s, 0, piece);
        while (atomic_load(done) < i) {
            sched_yield();
        }
        assert_int_equal(is_free(&s, piece), 1);
        assert_int_equal(share(&s, 2), piece);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    alarm(0);
    hb_segment_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_gives_a_shared_piece_back),
        cmocka_unit_test(test_the_dead_keep_no_shared_piece),
        cmocka_unit_test(test_who_never_comes_keeps_no_shared_piece),
        cmocka_unit_test(test_one_of_two_gives_it_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
