/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The memory of a node: what is written in one mapping is read in another,
 * pieces do not overlap and come back zeroed, and what is no such memory is
 * refused. */
#include "config.h"

#include "lib/rdzv/segment_impl.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096u
#define MOST_OF_A_FILE ((size_t)16 << 20)
#define RANKS 2500u
#define HANGS_S 60 /* who waits for a lock for so long waits for ever */

static int make_with_heap(struct hb_segment *s, size_t bytes, size_t least,
                          struct hpcboot_error *err)
{
    static const uint32_t node_of[] = {0, 1, 0}, local_rank[] = {0, 0, 1};
    char left[] = "left", right[] = "right", *names[] = {left, right};
    const struct hb_segment_spec spec = {
        .n_ranks = 3, .n_nodes = 2, .n_local = 2, .node_of = node_of,
        .local_rank = local_rank, .names = names, .region_bytes = 5000,
        .heap_bytes = bytes, .heap_least = least, .agent = 1,
    };

    return hb_segment_create(s, &spec, err);
}

static struct hb_segment make(void)
{
    struct hb_segment s = HB_SEGMENT_INIT;

    assert_int_equal(make_with_heap(&s, 16 * PAGE, 0, NULL), 0);
    return s;
}

static void test_two_mappings_are_one_memory(void **state)
{
    struct hb_segment a = make(), b = HB_SEGMENT_INIT;
    size_t len;

    assert_int_equal(hb_segment_attach(&b, dup(a.fd), NULL), 0);
    assert_int_equal(hb_segment_ranks(&b), 3);
    assert_int_equal(hb_segment_locals(&b), 2);
    assert_string_equal(hb_segment_name(&b, 1), "right");
    assert_int_equal(hb_segment_node_of(&b)[1], 1);
    assert_int_equal(hb_segment_set_address(&a, 1, "xyz", 3, NULL), 0);
    assert_memory_equal(hb_segment_address(&b, 1, &len), "xyz", 3);
    assert_int_equal(len, 3);
    assert_null(hb_segment_find_death(&b, 1));
    assert_int_equal(hb_segment_mark_dead(&a, -1, 1, "gone"), 1);
    assert_int_equal(hb_segment_mark_dead(&a, -1, 1, "twice"), 0);
    assert_string_equal(hb_segment_find_death(&b, 1)->text, "gone");
    hb_segment_close(&a);
    hb_segment_close(&b);
}

/* What a connection shows its rank is a death that others may not know of,
 * until the agent says the same. */
static void test_a_death_is_sure_when_the_agent_says_so(void **state)
{
    struct hb_segment s = make();

    assert_int_equal(hb_segment_mark_dead(&s, 1, 1, "not heard"), 1);
    assert_int_equal(hb_segment_is_surely_dead(&s, 1), 0);
    assert_int_equal(hb_segment_mark_dead(&s, 0, 1, "nor here"), 0);
    assert_int_equal(hb_segment_mark_dead(&s, -1, 1, "killed"), 1);
    assert_int_equal(hb_segment_is_surely_dead(&s, 1), 1);
    assert_int_equal(hb_segment_mark_dead(&s, -1, 1, "killed"), 0);
    assert_int_equal(hb_segment_deaths(&s), 1);
    assert_string_equal(hb_segment_find_death(&s, 1)->text, "not heard");
    hb_segment_close(&s);
}

/* Pages are taken when they are used, also by who has said mlockall. */
static void test_memory_is_not_taken_by_who_locks_all(void **state)
{
    const size_t heap = 64 << 20, most = heap / 4;
    struct hb_segment s = HB_SEGMENT_INIT;
    struct hpcboot_error err = {0};
    struct stat st;
    int rc;

    if (mlockall(MCL_FUTURE) < 0) {
        skip();
    }
    rc = make_with_heap(&s, heap, 0, &err);
    munlockall();
    if (rc < 0) { /* it may not lock so much */
        assert_non_null(strstr(err.text, "raise ulimit -l"));
        skip();
    }
    assert_int_equal(fstat(s.fd, &st), 0);
    assert_in_range(st.st_blocks * 512, 1, most);
    hb_segment_close(&s);
}

/* The program has closed what it did not open, and opened a file. */
static void test_a_file_that_took_the_number_is_left_alone(void **state)
{
    struct hb_segment s = make();
    FILE *file = tmpfile();
    int number = s.fd;
    uint64_t offset;
    char byte = 0;

    assert_int_equal(hb_segment_alloc(&s, 0, PAGE, &offset, NULL), 0);
    memset((char *)s.base + offset, 'a', PAGE);
    for (uint64_t i = 0; i < offset + PAGE; i++) {
        assert_int_not_equal(fputc('x', file), EOF);
    }
    assert_int_equal(fflush(file), 0);
    assert_int_equal(dup2(fileno(file), s.fd), s.fd);
    assert_int_equal(hb_segment_free(&s, 0, offset), 1);
    assert_int_equal(pread(fileno(file), &byte, 1, (off_t)offset), 1);
    assert_int_equal(byte, 'x');
    assert_int_equal(((char *)s.base)[offset], 0);
    hb_segment_close(&s);
    assert_true(fcntl(number, F_GETFD) >= 0);
    assert_int_equal(close(number), 0);
    fclose(file);
}

static struct hb_segment make_for_many(void)
{
    static uint32_t node_of[RANKS], local_rank[RANKS];
    char name[] = "here", *names[] = {name};
    const struct hb_segment_spec spec = {
        .n_ranks = RANKS, .n_nodes = 1, .n_local = 1, .node_of = node_of,
        .local_rank = local_rank, .names = names, .region_bytes = PAGE,
        .heap_bytes = PAGE, .agent = 1,
    };
    struct hb_segment s = HB_SEGMENT_INIT;

    assert_int_equal(hb_segment_create(&s, &spec, NULL), 0);
    return s;
}

/* However many have died before: who is not told waits for ever. */
static void test_every_death_of_a_job_is_told(void **state)
{
    struct hb_segment s = make_for_many();
    char text[HB_DEATH_TEXT_MAX];

    for (uint32_t r = RANKS; r-- > 0;) {
        snprintf(text, sizeof text, "rank %u is gone", r);
        assert_int_equal(hb_segment_is_surely_dead(&s, r), 0);
        assert_int_equal(hb_segment_mark_dead(&s, -1, r, text), 1);
        assert_int_equal(hb_segment_is_surely_dead(&s, r), 1);
        assert_string_equal(hb_segment_find_death(&s, r)->text, text);
    }
    assert_int_equal(hb_segment_mark_dead(&s, -1, RANKS, "none of it"), 0);
    assert_int_equal(hb_segment_deaths(&s), RANKS);
    assert_int_equal(hb_segment_death(&s, RANKS - 1)->rank, 0);
    hb_segment_close(&s);
}

/* Who writes a death down may be killed before it counts. */
static void test_a_death_that_does_not_count_is_told_again(void **state)
{
    struct hb_segment s = make();
    struct hb_segment_head *h = s.base;

    assert_int_equal(hb_segment_mark_dead(&s, -1, 1, "half"), 1);
    atomic_store(&h->n_deaths, 0);
    assert_null(hb_segment_find_death(&s, 1));
    assert_int_equal(hb_segment_mark_dead(&s, -1, 2, "another"), 1);
    assert_null(hb_segment_find_death(&s, 1));
    assert_int_equal(hb_segment_mark_dead(&s, -1, 1, "whole"), 1);
    assert_string_equal(hb_segment_find_death(&s, 1)->text, "whole");
    assert_string_equal(hb_segment_find_death(&s, 2)->text, "another");
    hb_segment_close(&s);
}

static void test_lost_connections_are_written_down_once(void **state)
{
    struct hb_segment s = make();
    struct hb_death lost;
    char text[2 * HB_DEATH_TEXT_MAX];

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(hb_segment_lost(&s, 0, &lost), 0);
    hb_segment_mark_lost(&s, 0, 1, text);
    hb_segment_mark_lost(&s, 1, 1, "again");
    assert_int_equal(hb_segment_lost(&s, 0, &lost), 1);
    assert_int_equal(lost.rank, 1);
    assert_int_equal(strlen(lost.text), HB_DEATH_TEXT_MAX - 1);
    assert_int_equal(hb_segment_lost(&s, 1, &lost), 0);
    assert_int_equal(hb_segment_deaths(&s), 0);
    for (uint32_t r = 2; r < 5000; r++) { /* as many as there is room for */
        hb_segment_mark_lost(&s, 0, r, "another");
    }
    assert_int_equal(hb_segment_lost(&s, 5000, &lost), 0);
    hb_segment_close(&s);
}

/* The agent has to hear of a cut, however many have died before. */
static void test_a_connection_to_each_rank_can_be_lost(void **state)
{
    struct hb_segment s = make_for_many();
    struct hb_death lost;

    for (uint32_t r = 0; r < RANKS; r++) {
        hb_segment_mark_lost(&s, 0, r, "not heard");
        assert_int_equal(hb_segment_lost(&s, r, &lost), 1);
        assert_int_equal(lost.rank, r);
    }
    hb_segment_close(&s);
}

static void test_pieces_are_apart_and_zeroed(void **state)
{
    struct hb_segment s = make();
    uint64_t a, b, c;
    char *p;

    assert_int_equal(hb_segment_alloc(&s, 0, 3 * PAGE, &a, NULL), 0);
    assert_int_equal(hb_segment_alloc(&s, 1, 1, &b, NULL), 0);
    assert_int_equal(b, a + 3 * PAGE);
    p = (char *)s.base + a;
    memset(p, 7, 3 * PAGE);
    assert_int_equal(hb_segment_free(&s, 0, a + PAGE), 0); /* no beginning */
    assert_int_equal(hb_segment_free(&s, 1, a), 1);
    assert_int_equal(hb_segment_free(&s, 0, a), 0);
    assert_int_equal(hb_segment_alloc(&s, 0, 2 * PAGE, &c, NULL), 0);
    assert_int_equal(c, a);
    assert_int_equal(p[0], 0);
    assert_int_equal(p[2 * PAGE - 1], 0);
    hb_segment_close(&s);
}

static void test_a_full_heap_says_so(void **state)
{
    struct hb_segment s = make();
    struct hpcboot_error err = {0};
    uint64_t at;

    assert_int_equal(hb_segment_alloc(&s, 0, 17 * PAGE, &at, &err),
                     HPCBOOT_ERR_NOMEM);
    assert_non_null(strstr(err.text, "HPCBOOT_HEAP_MB"));
    assert_int_equal(hb_segment_alloc(&s, 0, 16 * PAGE, &at, NULL), 0);
    assert_int_equal(hb_segment_alloc(&s, 0, 1, &at, NULL),
                     HPCBOOT_ERR_NOMEM);
    hb_segment_close(&s);
}

/* Without a word beforehand the system would end this process by SIGXFSZ. */
static void test_the_heap_gives_way_to_a_limit_of_files(void **state)
{
    struct hb_segment s = HB_SEGMENT_INIT;
    struct hpcboot_error err = {0};
    struct rlimit was, most;
    uint64_t at;
    size_t size;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    most = was;
    most.rlim_cur = MOST_OF_A_FILE;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &most), 0);
    assert_int_equal(make_with_heap(&s, 2 * MOST_OF_A_FILE, PAGE, NULL), 0);
    assert_true(s.size <= MOST_OF_A_FILE);
    hb_segment_heap(&s, &size);
    assert_true(size > MOST_OF_A_FILE / 2);
    assert_int_equal(hb_segment_alloc(&s, 0, size, &at, NULL), 0);
    memset((char *)s.base + at, 7, size);
    hb_segment_close(&s);
    assert_int_equal(make_with_heap(&s, 2 * MOST_OF_A_FILE, 0, &err),
                     HPCBOOT_ERR_SYSTEM);
    assert_non_null(strstr(err.text, "ulimit -f"));
    assert_int_equal(make_with_heap(&s, 3 * MOST_OF_A_FILE,
                                    2 * MOST_OF_A_FILE, &err),
                     HPCBOOT_ERR_SYSTEM);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
}

/* Of the ranks, which an agent does not have itself. */
static void test_the_heap_gives_way_to_a_limit_of_addresses(void **state)
{
    static const uint32_t zero[1];
    char name[] = "here", *names[] = {name};
    struct hb_segment_spec spec = {
        .n_ranks = 1, .n_nodes = 1, .n_local = 1, .node_of = zero,
        .local_rank = zero, .names = names, .region_bytes = PAGE,
        .heap_bytes = (size_t)1 << 30, .heap_least = PAGE, .agent = 1,
        .addresses = RLIM_INFINITY,
    };
    struct hb_segment s = HB_SEGMENT_INIT;
    size_t size;

    assert_int_equal(hb_segment_create(&s, &spec, NULL), 0);
    hb_segment_heap(&s, &size);
    assert_int_equal(size, spec.heap_bytes);
    hb_segment_close(&s);
    spec.addresses = 400u << 20;
    assert_int_equal(hb_segment_create(&s, &spec, NULL), 0);
    hb_segment_heap(&s, &size);
    assert_in_range(size, spec.addresses / 8, spec.addresses / 4);
    hb_segment_close(&s);
}

static void test_regions_give_way_after_the_heap(void **state)
{
    static const uint32_t zero[1];
    char name[] = "here", *names[] = {name};
    struct hb_segment_spec spec = {
        .n_ranks = 1, .n_nodes = 1, .n_local = 1, .node_of = zero,
        .local_rank = zero, .names = names,
        .region_bytes = (size_t)64 << 20, .region_small = PAGE,
        .heap_bytes = (size_t)1 << 30, .heap_least = (size_t)8 << 20,
        .agent = 1, .addresses = (uint64_t)1 << 40,
    };
    struct hb_segment s = HB_SEGMENT_INIT;
    size_t heap, region;

    assert_int_equal(hb_segment_create(&s, &spec, NULL), 0);
    hb_segment_region(&s, 0, &region);
    assert_int_equal(region, spec.region_bytes);
    hb_segment_close(&s);
    spec.addresses = 400u << 20; /* of which it takes a quarter */
    assert_int_equal(hb_segment_create(&s, &spec, NULL), 0);
    hb_segment_region(&s, 0, &region);
    hb_segment_heap(&s, &heap);
    assert_int_equal(region, PAGE);
    assert_in_range(heap, spec.addresses / 8, spec.addresses / 4);
    hb_segment_close(&s);
}

static void test_it_cannot_shrink(void **state)
{
    struct hb_segment s = make();

    assert_int_equal(ftruncate(s.fd, PAGE), -1);
    hb_segment_close(&s);
}

static void test_other_memory_is_refused(void **state)
{
    struct hb_segment s = HB_SEGMENT_INIT;
    int fd = memfd_create("other", MFD_CLOEXEC);

    assert_int_equal(hb_segment_attach(&s, dup(fd), NULL),
                     HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    assert_int_equal(hb_segment_attach(&s, fd, NULL), HPCBOOT_ERR_PROTOCOL);
    assert_null(s.base);
}

static void test_offsets_of_a_liar_are_refused(void **state)
{
    struct hb_segment s = make(), t = HB_SEGMENT_INIT;

    for (size_t at = 16; at < sizeof s.layout; at += 8) {
        uint64_t *field = (uint64_t *)(void *)((char *)s.base + at);
        uint64_t was = *field;

        *field = UINT64_MAX / 2;
        if (hb_segment_attach(&t, dup(s.fd), NULL) == 0) {
            (void)hb_segment_ranks(&t);
            hb_segment_close(&t);
        }
        *field = was;
    }
    hb_segment_close(&s);
}

/* A program that takes our descriptor for its own writes over the head. */
static void test_who_writes_over_the_head_harms_no_agent(void **state)
{
    struct hb_segment s = make();
    struct hb_death lost;

    memset(s.base, 0xa5, sizeof(struct hb_segment_head));
    assert_int_equal(hb_segment_locals(&s), 2);
    (void)hb_segment_mark_dead(&s, -1, 0, "it is");
    (void)hb_segment_tell(&s, HB_NEWS_COMES, 1, "it comes");
    (void)hb_segment_lost(&s, 3, &lost);
    assert_in_range(hb_segment_deaths(&s), 0, 3);
    assert_in_range(hb_segment_told(&s), 0, NEWS_MAX);
    assert_null(hb_segment_find_death(&s, 5));
    assert_int_equal(hb_segment_set_address(&s, 0, "x", 1, NULL), 0);
    hb_segment_close(&s);
}

static void test_an_onlooker_sees_what_ranks_wait_for(void **state)
{
    struct hb_segment s = make();
    struct hb_segment_look look;
    struct hb_segment_wait *w = &hb_segment_slot(&s, 1)->wait;
    int fd = memfd_create("other", MFD_CLOEXEC);

    hb_segment_slot(&s, 1)->state = HB_RANK_IN;
    w->kind = HB_WAITS_COLL + 3;
    w->on = 1;
    w->calls = 17;
    assert_int_equal(hb_segment_look(s.fd, &look, NULL), 0);
    assert_int_equal(look.n, 2);
    assert_int_equal(look.v[0].rank, 0);
    assert_int_equal(look.v[0].kind, HB_WAITS_NOT);
    assert_int_equal(look.v[1].rank, 2);
    assert_int_equal(look.v[1].kind, HB_WAITS_COLL + 3);
    assert_int_equal(look.v[1].on, 1);
    assert_int_equal(look.v[1].calls, 17);
    free(look.v);
    assert_int_equal(hb_segment_look(fd, &look, NULL),
                     HPCBOOT_ERR_NOT_FOUND);
    close(fd);
    hb_segment_close(&s);
}

static void test_news_stand_among_the_deaths(void **state)
{
    struct hb_segment s = make();

    assert_int_equal(hb_segment_told(&s), 0);
    assert_int_equal(hb_segment_tell(&s, HB_NEWS_COMES, 7, "comes"), 1);
    assert_int_equal(hb_segment_mark_dead(&s, -1, 1, "gone"), 1);
    assert_int_equal(hb_segment_tell(&s, HB_NEWS_LEAVES, 2, "leaves"), 1);
    assert_int_equal(hb_segment_told(&s), 2);
    assert_int_equal(hb_segment_news(&s, 0)->rank, 7);
    assert_int_equal(hb_segment_news(&s, 0)->after, 0);
    assert_int_equal(hb_segment_news(&s, 1)->after, 1);
    assert_string_equal(hb_segment_news(&s, 1)->text, "leaves");
    hb_segment_close(&s);
}

static void end(int signo)
{
    (void)signo;
    _exit(0);
}

/* A process that ends while it has the lock: the map of the heap's pages, on
 * the page before the heap, cannot be written by it. Nobody reaps it yet. */
static pid_t end_inside(struct hb_segment *s, uint32_t local, uint64_t piece)
{
    struct hb_segment_slot *slot = hb_segment_slot(s, local);
    siginfo_t how = {0};
    uint64_t at;
    size_t size;
    char *map = (char *)hb_segment_heap(s, &size) - PAGE;
    pid_t pid = fork();

    if (pid == 0) {
        slot->pid = getpid();
        slot->pid_space = hb_segment_pid_space();
        signal(SIGSEGV, end);
        (void)mprotect(map, PAGE, PROT_READ);
        if (piece != 0) {
            (void)hb_segment_free(s, local, piece);
        } else {
            (void)hb_segment_alloc(s, local, 1, &at, NULL);
        }
        _exit(1);
    }
    assert_true(pid > 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT), 0);
    assert_int_equal(how.si_status, 0);
    return pid;
}

/* The lock is of who gives the piece back, not of who took it. */
static void test_the_lock_of_who_died_giving_back_is_free(void **state)
{
    struct hb_segment s = make();
    uint64_t piece;
    pid_t pid;

    assert_int_equal(hb_segment_alloc(&s, 0, PAGE, &piece, NULL), 0);
    pid = end_inside(&s, 1, piece);
    alarm(HANGS_S);
    assert_int_equal(hb_segment_mark_dead(&s, -1, 2, "killed"), 1);
    alarm(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    hb_segment_close(&s);
}

/* The agent may hear of another death first. */
/* A rank that is stopped inside: its agent has other ranks, and a launcher that
 * takes silence for death. */
static void test_an_agent_waits_for_no_rank_that_is_stopped(void **state)
{
    struct hb_segment s = make();
    struct hb_segment_look look;

    hb_segment_slot(&s, 0)->pid = getpid();
    hb_segment_slot(&s, 0)->pid_space = hb_segment_pid_space();
    hb_segment_lock(&s, 1);
    alarm(HANGS_S);
    assert_int_equal(hb_segment_mark_dead(&s, -1, 2, "killed"),
                     HPCBOOT_ERR_AGAIN);
    assert_int_equal(hb_segment_deaths(&s), 0);
    assert_int_equal(hb_segment_tell(&s, HB_NEWS_COMES, 7, "comes"), 1);
    alarm(0);
    assert_int_equal(hb_segment_look(s.fd, &look, NULL), 0);
    assert_int_equal(look.v[0].locks, 1);
    assert_int_equal(look.v[1].locks, 0);
    free(look.v);
    hb_segment_unlock(&s);
    assert_int_equal(hb_segment_mark_dead(&s, -1, 2, "killed"), 1);
    hb_segment_close(&s);
}

static void test_the_lock_of_who_is_not_told_dead_yet_is_free(void **state)
{
    struct hb_segment s = make();
    pid_t pid = end_inside(&s, 0, 0);

    alarm(HANGS_S);
    assert_int_equal(hb_segment_mark_dead(&s, -1, 2, "killed"), 1);
    alarm(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    hb_segment_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_mappings_are_one_memory),
        cmocka_unit_test(test_a_death_is_sure_when_the_agent_says_so),
        cmocka_unit_test(test_memory_is_not_taken_by_who_locks_all),
        cmocka_unit_test(test_a_file_that_took_the_number_is_left_alone),
        cmocka_unit_test(test_every_death_of_a_job_is_told),
        cmocka_unit_test(test_a_death_that_does_not_count_is_told_again),
        cmocka_unit_test(test_lost_connections_are_written_down_once),
        cmocka_unit_test(test_a_connection_to_each_rank_can_be_lost),
        cmocka_unit_test(test_pieces_are_apart_and_zeroed),
        cmocka_unit_test(test_a_full_heap_says_so),
        cmocka_unit_test(test_the_heap_gives_way_to_a_limit_of_files),
        cmocka_unit_test(test_the_heap_gives_way_to_a_limit_of_addresses),
        cmocka_unit_test(test_regions_give_way_after_the_heap),
        cmocka_unit_test(test_it_cannot_shrink),
        cmocka_unit_test(test_news_stand_among_the_deaths),
        cmocka_unit_test(test_the_lock_of_who_died_giving_back_is_free),
        cmocka_unit_test(test_the_lock_of_who_is_not_told_dead_yet_is_free),
        cmocka_unit_test(test_an_agent_waits_for_no_rank_that_is_stopped),
        cmocka_unit_test(test_other_memory_is_refused),
        cmocka_unit_test(test_offsets_of_a_liar_are_refused),
        cmocka_unit_test(test_who_writes_over_the_head_harms_no_agent),
        cmocka_unit_test(test_an_onlooker_sees_what_ranks_wait_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
