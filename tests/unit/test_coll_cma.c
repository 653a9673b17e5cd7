/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Reading and writing peers through the kernel: that it happens at all, what
 * follows where the kernel forbids it, where a peer dies in the midst of it,
 * and where calls do not match. That results are right is in test_coll.c. */

#include "config.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "coll_world.h"
#include "lib/coll/impl.h"

#define ALWAYS "cma_ns=1 cma_ps=1 cpus=64"
#define BYTES ((size_t)100000)

struct shared { /* of the ranks of a test */
    _Atomic int moved, dead;
};

static const enum hpcboot_coll kinds[] = {
    HPCBOOT_COLL_BCAST, HPCBOOT_COLL_SCATTER, HPCBOOT_COLL_GATHER,
    HPCBOOT_COLL_ALLGATHER, HPCBOOT_COLL_ALLTOALL, HPCBOOT_COLL_ALLREDUCE,
    HPCBOOT_COLL_REDUCE_SCATTER_BLOCK,
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static bool folds(enum hpcboot_coll coll)
{
    return coll == HPCBOOT_COLL_ALLREDUCE ||
           coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK;
}

static struct hpcboot_coll_args call_of(enum hpcboot_coll coll, char *send,
                                        char *recv)
{
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = coll;
    a.type = folds(coll) ? HPCBOOT_UINT8 : HPCBOOT_BYTE;
    a.op = HPCBOOT_MAX;
    a.send = coll == HPCBOOT_COLL_BCAST ? NULL : send;
    a.recv = recv;
    a.count = BYTES;
    return a;
}

/* The byte that rank `from` sends to rank `to`. */
static char byte_of(int from, int to)
{
    return (char)(1 + from * 16 + to);
}

/* With rank 0 as root, and the most of all; what is not sent to a rank stays
 * 0. */
static bool is_right(const struct coll_rank *r, enum hpcboot_coll coll,
                     const char *recv)
{
    bool root = coll == HPCBOOT_COLL_BCAST || coll == HPCBOOT_COLL_SCATTER;
    bool gather = coll == HPCBOOT_COLL_GATHER;
    for (int j = 0; j < r->size; j++) {
        const char *block = recv + (size_t)j * BYTES;
        bool fold = folds(coll);
        int from = root ? 0 : fold ? r->size - 1 : j;
        int to = coll == HPCBOOT_COLL_BCAST ||
                         coll == HPCBOOT_COLL_ALLGATHER ||
                         coll == HPCBOOT_COLL_ALLREDUCE || gather
                     ? 0 : r->rank;
        char want = ((root || fold) && j > 0) || (gather && r->rank > 0)
                        ? 0 : byte_of(from, to);
        if (block[0] != want || block[BYTES / 2] != want ||
            block[BYTES - 1] != want) {
            return false;
        }
    }
    return true;
}

static void fill(const struct coll_rank *r, enum hpcboot_coll coll, char *send,
                 char *recv)
{
    size_t all = BYTES * (size_t)r->size;
    memset(recv, 0, all);
    for (int j = 0; j < r->size; j++) {
        memset(send + (size_t)j * BYTES, byte_of(r->rank, j), BYTES);
    }
    if (coll == HPCBOOT_COLL_BCAST && r->rank == 0) {
        memset(recv, byte_of(0, 0), BYTES);
    }
}

static const char *move_each_kind(struct coll_rank *r, char *send, char *recv)
{
    struct hpcboot_error err = {0};
    for (int k = 0; k < KINDS; k++) {
        struct hpcboot_coll_args a = call_of(kinds[k], send, recv);
        fill(r, kinds[k], send, recv);
        if (hb_coll_run(r->team, &a, NULL, &err) != 0) {
            return coll_text("%s: %s", hb_coll_name(kinds[k]), err.text);
        }
        if (!is_right(r, kinds[k], recv)) {
            return coll_text("%s is wrong", hb_coll_name(kinds[k]));
        }
    }
    return NULL;
}

static const char *with_buffers(struct coll_rank *r,
                                const char *(*fn)(struct coll_rank *, char *,
                                                  char *))
{
    size_t all = BYTES * (size_t)r->size;
    char *send = malloc(all), *recv = malloc(all);
    const char *wrong = fn(r, send, recv);
    free(send);
    free(recv);
    return wrong;
}

static const char *are_read(struct coll_rank *r)
{
    const char *wrong = with_buffers(r, move_each_kind);
    return wrong != NULL ? wrong
           : r->team->cma.state == HB_CMA_YES ? NULL : "nobody was read";
}

static void ranks_read_each_other(void **state)
{
    for (int ranks = 2; ranks <= 4; ranks++) {
        struct coll_world w = {.ranks = ranks, .processes = true,
                               .wait_mode = HB_COLL_WAIT_YIELD,
                               .tune = ALWAYS};
        assert_int_equal(coll_world_run(&w, are_read, NULL), 0);
    }
}

/* ---- the kernel says no ---- */

/* From here on the call fails in this process, as in many containers. */
static bool forbid(int number)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

static int forbidden; /* for rank 1 */

static const char *are_copied(struct coll_rank *r)
{
    if (r->rank == 1 && !forbid(forbidden)) {
        return NULL; /* a sandbox of its own; told by the other rank */
    }
    const char *wrong = with_buffers(r, move_each_kind);
    return wrong != NULL ? wrong
           : r->team->cma.state == HB_CMA_NO ? NULL : "it was read";
}

static void one_that_may_not_read_makes_all_copy(void **state)
{
    struct coll_world w = {.ranks = 3, .processes = true, .timeout_ms = 20000,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS};
    if (access("/proc/self/ns/pid", F_OK) != 0) {
        skip();
    }
    forbidden = SYS_process_vm_readv;
    assert_int_equal(coll_world_run(&w, are_copied, NULL), 0);
    forbidden = SYS_process_vm_writev;
    assert_int_equal(coll_world_run(&w, are_copied, NULL), 0);
}

/* Whom a program lets trace it is its own affair, as long as ranks do not read
 * each other. */
static const char *sets_up(struct coll_rank *r)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PTRACER, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {sizeof filter / sizeof filter[0], filter};
    struct hb_coll_engine *e = NULL;
    struct hb_coll_config config = r->engine->config;
    config.page = NULL;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
    }
    if (hb_coll_create(&config, &e, NULL) != 0) {
        return "no engine";
    }
    hb_coll_destroy(e);
    return NULL;
}

static void nobody_is_let_in_before_it_is_needed(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS};
    assert_int_equal(coll_world_run(&w, sets_up, NULL), 0);
}

/* A buffer that is mapped, and yet not the kernel's to read: the rest of this
 * process's own view. */
static const char *move_unreachable(struct coll_rank *r, char *send,
                                    char *recv)
{
    struct hb_cma_card *mine = &r->engine->card;
    int32_t pid = mine->pid;
    const char *wrong = move_each_kind(r, send, recv);
    if (wrong == NULL && r->rank == 1) {
        mine->pid = INT32_MAX; /* what it asks of itself fails */
        memset(r->team->cma.own, 0, sizeof r->team->cma.own);
    }
    wrong = wrong == NULL ? move_each_kind(r, send, recv) : wrong;
    mine->pid = pid;
    return wrong;
}

static const char *some_are_copied(struct coll_rank *r)
{
    return with_buffers(r, move_unreachable);
}

static void a_buffer_that_cannot_be_reached_is_copied(void **state)
{
    struct coll_world w = {.ranks = 3, .processes = true,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS};
    assert_int_equal(coll_world_run(&w, some_are_copied, NULL), 0);
}

/* As a program that drops its rights once it has begun; the superuser would
 * be let in all the same. */
static const char *move_undumpable(struct coll_rank *r, char *send, char *recv)
{
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) {
        return NULL;
    }
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    const char *wrong = move_each_kind(r, send, recv);
    if (wrong == NULL && r->rank == 1) {
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
    return wrong == NULL ? move_each_kind(r, send, recv) : wrong;
}

static const char *one_hides(struct coll_rank *r)
{
    return with_buffers(r, move_undumpable);
}

static void a_process_that_others_may_not_reach_any_more_is_copied(void **state)
{
    struct coll_world w = {.ranks = 3, .processes = true, .timeout_ms = 20000,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS};
    assert_int_equal(coll_world_run(&w, one_hides, NULL), 0);
}

/* ---- in the midst of it ---- */

static int rank_1_is_dead(void *ctx, void *team_ctx,
                          struct hpcboot_error *err)
{
    strcpy(err->text, "rank 1 on host n1 was killed by signal 9");
    return err->code = HPCBOOT_ERR_PEER_DEAD;
}

/* Another process has the number of the one that died. */
static const char *is_another(struct coll_rank *r, char *send, char *recv)
{
    struct hpcboot_error err = {0};
    struct hpcboot_coll_args a = call_of(HPCBOOT_COLL_ALLTOALL, send, recv);
    const char *wrong = move_each_kind(r, send, recv);
    if (wrong != NULL) {
        return wrong;
    }
    fill(r, a.coll, send, recv);
    if (r->rank == 1) {
        r->engine->card.cookie++;
        hb_coll_node_changed(r->page);
    }
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    if (r->rank == 1) { /* that is dead */
        return NULL;
    }
    return rc == HPCBOOT_ERR_PEER_DEAD ? NULL
                                       : coll_text("%d: %s", rc, err.text);
}

static const char *meet_another(struct coll_rank *r)
{
    return with_buffers(r, is_another);
}

static void a_process_of_the_same_number_is_not_the_peer(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true, .timeout_ms = 20000,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS,
                           .alive = rank_1_is_dead};
    assert_int_equal(coll_world_run(&w, meet_another, NULL), 0);
}

/* Dead before anybody knows: the kernel says so first, then the node does. */
static int asks_who_died(void *ctx, void *team_ctx, struct hpcboot_error *err)
{
    return rank_1_is_dead(ctx, team_ctx, err);
}

static const char *dies(struct coll_rank *r, char *send, char *recv)
{
    struct hpcboot_error err = {0};
    const char *wrong = move_each_kind(r, send, recv);
    struct hpcboot_coll_args a = call_of(HPCBOOT_COLL_SCATTER, send, recv);
    a.root = 1;
    if (wrong != NULL) {
        return wrong;
    }
    if (r->rank == 1) { /* it has said where its buffer is */
        struct hb_coll_req *q = NULL;
        hb_coll_init(r->team, &a, NULL, &q, NULL);
        hb_coll_start(q, NULL);
        hb_coll_node_changed(r->page);
        _exit(0);
    }
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    return rc == HPCBOOT_ERR_PEER_DEAD || rc == HPCBOOT_OK
               ? NULL : coll_text("%d: %s", rc, err.text);
}

static const char *one_dies(struct coll_rank *r)
{
    return with_buffers(r, dies);
}

static void a_peer_that_dies_while_it_is_read_is_told(void **state)
{
    for (int i = 0; i < 20; i++) {
        struct coll_world w = {.ranks = 3, .processes = true,
                               .timeout_ms = 20000, .alive = asks_who_died,
                               .wait_mode = HB_COLL_WAIT_YIELD,
                               .tune = ALWAYS};
        assert_int_equal(coll_world_run(&w, one_dies, NULL), 0);
    }
}

/* A hole in what is for rank 0: the ends can be read, the middle cannot. */
static const char *hole(struct coll_rank *r)
{
    struct hpcboot_error err = {0};
    size_t all = (size_t)1 << 20;
    char *send = mmap(NULL, all, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *recv = malloc(all);
    struct hpcboot_coll_args a = call_of(HPCBOOT_COLL_SCATTER, send, recv);
    a.count = all / 2;
    a.root = 1;
    memset(send, 7, all);
    if (r->rank == 1) {
        munmap(send + all / 8, all / 8);
    }
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    coll_leave(r);
    free(recv);
    if (r->rank == 0 && (rc != HPCBOOT_ERR_SYSTEM ||
                         strstr(err.text, "buffer of rank 1") == NULL)) {
        return coll_text("%d: %s", rc, err.text);
    }
    return rc < 0 ? NULL : "it was read";
}

static void a_hole_in_a_buffer_is_an_error_that_says_whose(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS,
                           .alive = coll_rank_0_left};
    assert_int_equal(coll_world_run(&w, hole, NULL), 0);
}

/* Who sends more than the root expects must not write behind its block. */
static const char *too_much(struct coll_rank *r)
{
    struct hpcboot_error err = {0};
    size_t all = 4 * BYTES, counts[2] = {0, BYTES}, at[2] = {0, 0};
    char *send = malloc(all), *recv = malloc(all);
    struct hpcboot_coll_args a = call_of(HPCBOOT_COLL_GATHERV, send, recv);
    memset(send, 7, all);
    memset(recv, 1, all);
    a.count = r->rank == 0 ? 0 : 2 * BYTES;
    a.recv_counts = r->rank == 0 ? counts : NULL;
    a.recv_displs = r->rank == 0 ? at : NULL;
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    bool beyond = memchr(recv + BYTES, 7, all - BYTES) != NULL;
    free(send);
    free(recv);
    return beyond ? "it wrote behind the block"
           : rc < 0 || r->rank == 1 ? NULL : "nobody noticed";
}

static void a_block_that_is_too_long_is_not_written(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true, .timeout_ms = 300,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS};
    assert_int_equal(coll_world_run(&w, too_much, NULL), 0);
}

/* ---- who gives up ---- */

static const char *gives_up(struct coll_rank *r)
{
    struct hpcboot_error err = {0};
    char *send = malloc(2 * BYTES), *recv = malloc(2 * BYTES);
    struct hpcboot_coll_args a = call_of(HPCBOOT_COLL_BCAST, send, recv);
    const char *wrong = NULL;
    memset(recv, 0, 2 * BYTES);
    if (hb_coll_run(r->team, &a, NULL, &err) != 0) {
        wrong = coll_text("%s", err.text);
    }
    if (wrong == NULL && r->rank == 0) { /* the other does not come */
        a.timeout_ms = 50;
        wrong = hb_coll_run(r->team, &a, NULL, &err) == HPCBOOT_ERR_TIMED_OUT
                    ? NULL : coll_text("%s", err.text);
        memset(recv, 9, 2 * BYTES);
        atomic_store(&r->page->crowded, 1);
    }
    if (wrong == NULL && r->rank == 1) {
        while (atomic_load(&r->page->crowded) == 0) {
            sched_yield();
        }
        a.timeout_ms = 500;
        wrong = hb_coll_run(r->team, &a, NULL, &err) < 0
                    ? NULL : "it took what was no longer sent";
    }
    free(send);
    free(recv);
    return wrong;
}

static void what_a_peer_has_given_up_is_not_taken(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true,
                           .wait_mode = HB_COLL_WAIT_YIELD,
                           .tune = "bcast=cma cpus=1"};
    assert_int_equal(coll_world_run(&w, gives_up, NULL), 0);
}

/* Rank 1 has given up, and its buffer is no longer there: that is not the
 * cause. */
static const char *frees(struct coll_rank *r, char *send, char *recv)
{
    struct hpcboot_error err = {0};
    size_t all = (size_t)2 << 20;
    const char *wrong = move_each_kind(r, send, recv);
    struct hpcboot_coll_args a = call_of(HPCBOOT_COLL_SCATTER, send, recv);
    a.root = 1;
    if (r->rank == 1) {
        a.timeout_ms = 50;
        a.send = mmap(NULL, all, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        (void)hb_coll_run(r->team, &a, NULL, &err);
        munmap((void *)(uintptr_t)a.send, all);
        hb_coll_node_changed(r->page);
        atomic_store(&r->page->crowded, 1);
        return wrong;
    }
    while (atomic_load(&r->page->crowded) == 0) {
        sched_yield();
    }
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    return wrong != NULL                 ? wrong
           : rc == HPCBOOT_ERR_PEER_DEAD ? NULL
                                         : coll_text("%d: %s", rc, err.text);
}

static const char *one_frees(struct coll_rank *r)
{
    return with_buffers(r, frees);
}

static void a_buffer_freed_by_who_gave_up_is_not_the_cause(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true, .timeout_ms = 20000,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS,
                           .alive = rank_1_is_dead};
    assert_int_equal(coll_world_run(&w, one_frees, NULL), 0);
}

/* ---- who is stopped on its way to a peer's buffer, and continued ---- */

static struct shared *held; /* what this process writes waits there */

/* In the place of the C library's. */
ssize_t process_vm_writev(pid_t pid, const struct iovec *own,
                          unsigned long owns, const struct iovec *his,
                          unsigned long theirs, unsigned long flags)
{
    if (held != NULL) {
        atomic_store(&held->moved, 1);
        while (atomic_load(&held->dead) == 0) {
            sched_yield();
        }
    }
    return syscall(SYS_process_vm_writev, pid, own, owns, his, theirs, flags);
}

static const char *waits_for_a_stopped_one(struct coll_rank *r, char *send,
                                           char *recv)
{
    struct hpcboot_error err = {0};
    struct shared *s = r->arg;
    struct hpcboot_coll_args a = call_of(HPCBOOT_COLL_GATHER, send, recv);
    const char *wrong = move_each_kind(r, send, recv);
    held = wrong == NULL && r->rank == 1 ? s : NULL;
    a.timeout_ms = r->rank == 1 ? 20000 : 200;
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    if (r->rank == 1) {
        atomic_store(&s->moved, 2);
        return wrong != NULL ? wrong : rc < 0 ? NULL : "it was written";
    }
    memset(recv, 9, 2 * BYTES); /* it is the caller's again */
    atomic_store(&s->dead, 1);
    while (atomic_load(&s->moved) < 2) {
        sched_yield();
    }
    for (size_t i = 0; i < 2 * BYTES; i++) {
        wrong = recv[i] != 9 ? "it was written after the end" : wrong;
    }
    return wrong != NULL                  ? wrong
           : rc == HPCBOOT_ERR_TIMED_OUT ? NULL : coll_text("%s", err.text);
}

static const char *one_is_stopped(struct coll_rank *r)
{
    return with_buffers(r, waits_for_a_stopped_one);
}

static void who_was_stopped_writes_nothing_after_the_end(void **state)
{
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct coll_world w = {.ranks = 2, .processes = true,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS};
    assert_int_equal(coll_world_run(&w, one_is_stopped, s), 0);
    munmap(s, sizeof *s);
}

int main(void)
{
    setenv("XDG_CACHE_HOME", "/proc/none", 1); /* which root cannot make */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_read_each_other),
        cmocka_unit_test(one_that_may_not_read_makes_all_copy),
        cmocka_unit_test(nobody_is_let_in_before_it_is_needed),
        cmocka_unit_test(a_buffer_that_cannot_be_reached_is_copied),
        cmocka_unit_test(
            a_process_that_others_may_not_reach_any_more_is_copied),
        cmocka_unit_test(a_process_of_the_same_number_is_not_the_peer),
        cmocka_unit_test(a_peer_that_dies_while_it_is_read_is_told),
        cmocka_unit_test(a_hole_in_a_buffer_is_an_error_that_says_whose),
        cmocka_unit_test(a_block_that_is_too_long_is_not_written),
        cmocka_unit_test(what_a_peer_has_given_up_is_not_taken),
        cmocka_unit_test(a_buffer_freed_by_who_gave_up_is_not_the_cause),
        cmocka_unit_test(who_was_stopped_writes_nothing_after_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
