/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Buffers in the node's heap are read and written where they are. A rank that
 * gives a call up has its buffers back while another is still at them: what
 * the other reads then is no result, and it writes nothing any more. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "coll_world.h"
#include "lib/base/clock.h"
#include "lib/coll/impl.h"

#define BYTES ((size_t)64 << 10)
#define MINE 9
#define GIVES_UP_MS 200
#define WAITS_MS 60000 /* it is there by then, on a machine however busy */
#define NAP_US 1000
/* For what must not happen, well below what who leaves waits (cma.c). */
#define WATCHED_NS ((int64_t)20 * 1000 * 1000)

struct shared {
    int gives_up_ms;
    _Atomic int in_fold; /* rank 1 is at rank 0's buffers */
    _Atomic int left;    /* rank 0 has given up, and uses them again */
    _Atomic int over;    /* rank 1 has, too */
};

struct side {
    struct coll_rank *rank;
    struct shared *shared;
    bool waits; /* in its op, until the other has given up */
};

static void watch(_Atomic int *word)
{
    int64_t end = hb_now_ns() + WATCHED_NS;
    while (atomic_load(word) == 0 && hb_now_ns() < end) {
        usleep(NAP_US);
    }
}

/* Waits for a word that a rank which waits for this one does not give. */
static void add(const void *in, void *inout, size_t count,
                enum hpcboot_type type, void *arg)
{
    struct side *side = arg;
    const unsigned char *from = in;
    unsigned char *to = inout;
    if (side->waits) {
        atomic_store(&side->shared->in_fold, 1);
        while (atomic_load(&side->rank->team->ranks[0].gone) == 0) {
            usleep(NAP_US);
        }
        watch(&side->shared->left);
        side->waits = false;
    }
    for (size_t i = 0; i < count; i++) {
        to[i] = (unsigned char)(to[i] + from[i]);
    }
}

static int fold(struct side *side, enum hpcboot_coll coll, char *send,
                char *recv, struct hpcboot_error *err)
{
    struct hb_coll_user_op op = {.fn = add, .arg = side, .commutative = true};
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = coll;
    a.type = HPCBOOT_UINT8;
    a.op = HPCBOOT_OP_USER;
    a.send = send;
    a.recv = recv;
    a.count = coll == HPCBOOT_COLL_ALLREDUCE
                  ? BYTES : BYTES / (size_t)side->rank->size;
    a.timeout_ms = side->rank->rank == 0 ? side->shared->gives_up_ms : 0;
    return hb_coll_run(side->rank->team, &a, &op, err);
}

static const char *as_it_was(const char *buffer)
{
    for (size_t i = 0; i < BYTES; i++) {
        if (buffer[i] != MINE) {
            return "it was written after the end";
        }
    }
    return NULL;
}

/* Rank 0's side: it has waited in vain for rank 1, which is in its op. */
static const char *gives_up(struct side *side, int rc, char *send, char *recv,
                            const struct hpcboot_error *err)
{
    memset(send, MINE, BYTES);
    memset(recv, MINE, BYTES);
    atomic_store(&side->shared->left, 1);
    while (atomic_load(&side->shared->over) == 0) {
        usleep(NAP_US);
    }
    return rc == HPCBOOT_ERR_TIMED_OUT ? as_it_was(recv)
                                       : coll_text("%d: %s", rc, err->text);
}

static const char *one_gives_up(struct coll_rank *r, enum hpcboot_coll coll)
{
    struct hpcboot_error err = {0};
    struct side side = {r, r->arg, r->rank == 1};
    char *send = (char *)r->heap + (size_t)r->rank * 2 * BYTES;
    char *recv = send + BYTES;
    memset(send, 1, BYTES);
    int rc = fold(&side, coll, send, recv, &err);
    if (r->rank == 0) {
        return gives_up(&side, rc, send, recv, &err);
    }
    atomic_store(&side.shared->over, 1);
    return rc < 0 ? NULL : "it took what the other had back";
}

static const char *of_a_read(struct coll_rank *r)
{
    return one_gives_up(r, HPCBOOT_COLL_REDUCE_SCATTER_BLOCK);
}

static const char *of_a_write(struct coll_rank *r)
{
    return one_gives_up(r, HPCBOOT_COLL_ALLREDUCE);
}

/* Until rank 1 has been in its op by the time that rank 0 gives up. */
static void run(const char *(*fn)(struct coll_rank *r))
{
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct coll_world w = {
        .ranks = 2, .processes = true, .wait_mode = HB_COLL_WAIT_YIELD,
        .tune = "allreduce=shared reduce_scatter_block=shared",
        .heap_size = 1 << 20};
    for (int ms = GIVES_UP_MS; atomic_load(&s->in_fold) == 0; ms *= 2) {
        assert_in_range(ms, GIVES_UP_MS, WAITS_MS);
        memset(s, 0, sizeof *s);
        s->gives_up_ms = ms;
        assert_int_equal(coll_world_run(&w, fn, s), 0);
    }
    munmap(s, sizeof *s);
}

static void what_was_read_of_a_buffer_that_was_given_back_is_no_result(
    void **state)
{
    run(of_a_read);
}

static void nothing_is_written_to_a_buffer_that_was_given_back(void **state)
{
    run(of_a_write);
}

static const char *sent(struct coll_rank *r, int root, char *buf, size_t n,
                        int value)
{
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    struct hpcboot_error err = {0};
    a.coll = HPCBOOT_COLL_BCAST;
    a.type = HPCBOOT_BYTE;
    a.root = root;
    a.recv = buf;
    a.count = n;
    memset(buf, r->rank == root ? value : 0, n);
    if (hb_coll_run(r->team, &a, NULL, &err) != 0) {
        return coll_text("%s", err.text);
    }
    return buf[0] == value && memcmp(buf, buf + 1, n - 1) == 0
               ? NULL : coll_text("bcast %d of rank %d", value, root);
}

/* A lap of the ring that all share but for one slot, the last slot for a call
 * in the heap, and another root: its readers did not wait for the first one. */
static const char *lap_and_heap(struct coll_rank *r)
{
    size_t slots = r->team->part[HB_PART_SHARED].len / HB_SHM_SLOT;
    char *buf = malloc(HB_SHM_SLOT);
    char *heap = (char *)r->heap + (size_t)r->rank * HB_SHM_SLOT;
    const char *wrong = slots == 0 ? "no ring is shared" : NULL;
    hb_coll_barrier(r->team, NULL);
    if (r->rank == r->size - 1) {
        usleep(100 * NAP_US);
    }
    for (size_t i = 1; i < slots && wrong == NULL; i++) {
        wrong = sent(r, 0, buf, HB_SHM_SLOT, (int)i);
    }
    wrong = wrong != NULL ? wrong : sent(r, 0, heap, 40960, 101);
    wrong = wrong != NULL ? wrong : sent(r, 1, buf, 16384, 102);
    hb_coll_barrier(r->team, NULL);
    free(buf);
    return wrong;
}

static void a_call_in_the_heap_enters_no_slot(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct coll_world w = {.ranks = 3, .processes = i == 1,
                               .tune = "cpus=1 bcast=shared/64K",
                               .wait_mode = HB_COLL_WAIT_YIELD,
                               .heap_size = 1 << 20};
        assert_int_equal(coll_world_run(&w, lap_and_heap, NULL), 0);
    }
}

/* Rank 1's buffer is its own: it has all when the root has said where that is,
 * and leaves. Rank 2, whose buffer the root writes to, comes later. */
static const char *bcast_that_one_leaves(struct coll_rank *r)
{
    char *own = malloc(BYTES), *heap = (char *)r->heap;
    char *buf = r->rank == 1 ? own : heap + (size_t)r->rank * BYTES;
    struct hb_coll_team *team = coll_further_team(r, 0);
    if (team == NULL) {
        return "no further team";
    }
    hb_coll_barrier(r->team, NULL);
    if (r->rank == 2) {
        usleep(100 * NAP_US);
    }
    struct coll_rank there = *r;
    there.team = team;
    const char *wrong = sent(&there, 0, buf, BYTES, MINE);
    hb_coll_team_destroy(team);
    hb_coll_barrier(r->team, NULL);
    free(own);
    return wrong;
}

static void who_has_a_bcast_and_leaves_takes_it_from_nobody(void **state)
{
    struct coll_world w = {.ranks = 3, .tune = "cpus=3 bcast=shared",
                           .wait_mode = HB_COLL_WAIT_YIELD,
                           .extra_regions = 1, .heap_size = 1 << 20};
    assert_int_equal(coll_world_run(&w, bcast_that_one_leaves, NULL), 0);
}

enum { CALLS = 16, COUNT = 3000 };

static struct hb_coll_req *start_sum(struct coll_rank *r, int call,
                                     float *send)
{
    struct hpcboot_error err = {0};
    struct hb_coll_req *req = NULL;
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_ALLREDUCE;
    a.type = HPCBOOT_FLOAT;
    a.op = HPCBOOT_SUM;
    a.send = send;
    a.recv = send + COUNT;
    a.count = COUNT;
    for (int k = 0; k < COUNT; k++) {
        send[k] = (float)(r->rank + call + k);
    }
    return hb_coll_init(r->team, &a, NULL, &req, &err) < 0 ||
                   hb_coll_start(req, &err) < 0 ? NULL : req;
}

static const char *end_sum(struct coll_rank *r, int call,
                           struct hb_coll_req *req, const float *recv)
{
    struct hpcboot_error err = {0};
    if (req == NULL || hb_coll_wait(req, 0, &err) < 0) {
        return coll_text("call %d: %s", call, err.text);
    }
    hb_coll_req_destroy(req);
    for (int k = 0; k < COUNT; k++) {
        int ranks = r->size;
        if (recv[k] != (float)(ranks * (call + k) + ranks * (ranks - 1) / 2)) {
            return coll_text("call %d is wrong", call);
        }
    }
    return NULL;
}

/* Many calls are under way; a bit of `heap` for each says whether this rank's
 * buffers are there. */
static const char *sums(struct coll_rank *r, unsigned heap)
{
    struct hb_coll_req *req[CALLS];
    float *room = malloc((size_t)CALLS * 2 * COUNT * sizeof *room), *at[CALLS];
    float *there = (float *)r->heap + (size_t)r->rank * CALLS * 2 * COUNT;
    const char *wrong = NULL;
    for (int i = 0; i < CALLS; i++) {
        at[i] = ((heap >> i & 1) != 0 ? there : room) + 2 * i * COUNT;
        req[i] = start_sum(r, i, at[i]);
    }
    for (int i = 0; i < CALLS && wrong == NULL; i++) {
        wrong = end_sum(r, i, req[i], at[i] + COUNT);
    }
    free(room);
    return wrong;
}

static const char *asks_less(struct coll_rank *r)
{
    const struct hb_asked *a = &r->team->asked[HPCBOOT_COLL_ALLREDUCE];
    const char *wrong = sums(r, 0);
    if (wrong == NULL && a->vain < 3) {
        wrong = "all calls have asked";
    }
    wrong = wrong != NULL ? wrong : sums(r, ~0u);
    if (wrong == NULL && a->vain != 0) {
        wrong = "a heap was not found";
    }
    for (unsigned i = 0, mix = 1; i < 20 && wrong == NULL; i++) {
        mix = mix * 1103515245 + 12345 + (i > 9 ? (unsigned)r->rank : 0);
        wrong = sums(r, mix >> 8);
    }
    return wrong;
}

static void calls_go_by_unasked_where_the_answer_has_been_no(void **state)
{
    for (int ranks = 2; ranks <= 5; ranks++) {
        struct coll_world w = {.ranks = ranks, .processes = ranks % 2 == 0,
                               .tune = "allreduce=shared",
                               .wait_mode = HB_COLL_WAIT_YIELD,
                               .heap_size = 8 << 20};
        assert_int_equal(coll_world_run(&w, asks_less, NULL), 0);
    }
}

int main(void)
{
    setenv("XDG_CACHE_HOME", "/proc/none", 1); /* which root cannot make */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            what_was_read_of_a_buffer_that_was_given_back_is_no_result),
        cmocka_unit_test(nothing_is_written_to_a_buffer_that_was_given_back),
        cmocka_unit_test(a_call_in_the_heap_enters_no_slot),
        cmocka_unit_test(who_has_a_bcast_and_leaves_takes_it_from_nobody),
        cmocka_unit_test(calls_go_by_unasked_where_the_answer_has_been_no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
