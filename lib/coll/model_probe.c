/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The probe: this thread and a second one, on another CPU, do for some
 * milliseconds what ranks do: pass a flag to and fro, put a piece and get it,
 * one after the other and both at once, read through the kernel, fold, copy,
 * and at last take turns on one CPU. The least of many samples counts; where
 * the middle one is far from it, others were using the machine, and nothing is
 * learnt.
 *
 * Pieces go round a ring as long as that of two ranks, into the writer's cache
 * and past it, as ranks do (stream.c): what is sooner counts.
 *
 * Every wait ends at the deadline, so the probe takes no longer than
 * HB_PROBE_MS even if the other thread never runs. */

#include "config.h"

#include "lib/coll/impl.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"

#define PIECE ((size_t)32 << 10)
#define RING ((int)((HB_SHM_RINGS / 2 - HB_SHM_SMALL_RING_OF_TWO) / PIECE))
#define SAMPLES 48
#define WINDOW 4              /* pieces of one sample while both are at work */
#define SAMPLED (RING + SAMPLES * WINDOW) /* where the samples end */
#define STREAMED (SAMPLED + RING) /* who puts has some to put until then */
#define MARGIN 0.9 /* past the cache has to be so much sooner */
#define READS 32              /* through the kernel, of each kind */
#define READ ((size_t)128 << 10)
#define APART ((size_t)4 << 20) /* in two page tables */
#define FLAGS 32              /* passed to and fro in one sample */
#define TURNS 40              /* on one CPU, per sample */
#define TURN_SAMPLES 8
#define DISTURBED 3           /* the middle sample, in least ones */

struct probe {
    _Alignas(HB_SHM_LINE) _Atomic uint32_t mine;
    _Alignas(HB_SHM_LINE) _Atomic uint32_t theirs;
    _Alignas(HB_SHM_LINE) _Atomic int state; /* 1: it runs; -1: it cannot */
    int64_t deadline_ns;
    cpu_set_t elsewhere; /* where the second thread runs */
    int cpu;             /* where the first one does */
    char *ring, *own, *other, *far;
    /* Of pieces that are put into the cache, and past it. */
    uint32_t put[2][SAMPLES], get[2][SAMPLES], stream[2][SAMPLES];
};

static bool await(struct probe *p, _Atomic uint32_t *word, uint32_t value,
                  bool yields)
{
    for (unsigned i = 0; atomic_load_explicit(word, memory_order_acquire) <
                         value; i++) {
        if (yields) {
            sched_yield();
        }
        if (i % 64 == 63 && hb_now_ns() > p->deadline_ns) {
            return false;
        }
    }
    return true;
}

static void say(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static uint32_t since(int64_t ns)
{
    int64_t d = hb_now_ns() - ns;
    return d < 1 ? 1 : (uint32_t)d;
}

/* As from a peer: memory of this process, through the kernel. Two threads must
 * not do that to pages of one page table, whose lock the kernel takes for every
 * page: they would take three times as long as two processes do. */
static bool read_some(char *to, char *from, size_t n)
{
    struct iovec mine = {to, n}, his = {from, n};
    return process_vm_readv(getpid(), &mine, 1, &his, 1, 0) == (ssize_t)n;
}

/* Every second one of a few bytes. */
static size_t read_size(int i)
{
    return i % 2 == 0 ? sizeof(uint64_t) : READ;
}

static char *piece(const struct probe *p, int i)
{
    return p->ring + (size_t)(i % RING) * PIECE;
}

/* Of the first pieces nobody has read what lay there before. */
static void keep(uint32_t *samples, int i, uint32_t ns)
{
    if (i >= RING) {
        samples[(i - RING) % SAMPLES] = ns;
    }
}

/* The second thread's half of put_pieces, */
static bool get_pieces(struct probe *p, uint32_t *n, int past)
{
    for (int i = 0; i < RING + SAMPLES; i++) {
        if (!await(p, &p->mine, ++*n, false)) {
            return false;
        }
        int64_t t = hb_now_ns();
        hb_kern_get(p->other, piece(p, i), PIECE);
        keep(p->get[past], i, since(t));
        say(&p->theirs, *n);
    }
    return true;
}

/* and of put_stream. */
static bool get_stream(struct probe *p, uint32_t *n, int past)
{
    int64_t begun = hb_now_ns();
    for (int i = 0; i < STREAMED; i++) {
        if (!await(p, &p->mine, ++*n, false)) {
            return false;
        }
        hb_kern_get(p->other, piece(p, i), PIECE);
        if (i % WINDOW == WINDOW - 1) {
            if (i >= RING && i < SAMPLED) {
                p->stream[past][(i - RING) / WINDOW] = since(begun);
            }
            begun = hb_now_ns();
        }
        say(&p->theirs, *n); /* the other may take the samples then */
    }
    return true;
}

/* The second thread answers the first's words, number by number. */
static void *answer(void *arg)
{
    struct probe *p = arg;
    uint32_t n = 0;
    cpu_set_t one;
    bool moved = pthread_setaffinity_np(pthread_self(), sizeof p->elsewhere,
                                        &p->elsewhere) == 0;
    atomic_store(&p->state, moved ? 1 : -1);
    for (int i = 0; moved && i < SAMPLES * FLAGS; i++) {
        moved = await(p, &p->mine, ++n, false);
        say(&p->theirs, n);
    }
    for (int past = 0; moved && past < 2; past++) {
        moved = get_pieces(p, &n, past) && get_stream(p, &n, past);
    }
    for (int i = 0; moved && i < 2 * READS; i++) {
        moved = await(p, &p->mine, ++n, false);
        (void)read_some(p->other, p->ring, read_size(i));
        say(&p->theirs, n);
    }
    CPU_ZERO(&one);
    CPU_SET(p->cpu, &one);
    moved = moved && pthread_setaffinity_np(pthread_self(), sizeof one,
                                            &one) == 0;
    for (int i = 0; moved && i < TURN_SAMPLES * TURNS; i++) {
        moved = await(p, &p->mine, ++n, true);
        say(&p->theirs, n);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The least of the samples, per `parts`, in units of 1 / `scale` ns; 0: they
 * were disturbed. */
static uint32_t least(uint32_t *ns, int n, uint64_t parts, uint64_t scale)
{
    qsort(ns, (size_t)n, sizeof *ns, compare);
    uint64_t value = ns[0] * scale / parts;
    return ns[n / 2] > DISTURBED * ns[0] ? 0
                                         : (uint32_t)(value > 0 ? value : 1);
}

static bool flags(struct probe *p, uint32_t *n, int samples, int each,
                  bool yields, uint32_t *ns)
{
    for (int i = 0; i < samples; i++) {
        int64_t t = hb_now_ns();
        for (int k = 0; k < each; k++) {
            say(&p->mine, ++*n);
            if (!await(p, &p->theirs, *n, yields)) {
                return false;
            }
        }
        ns[i] = since(t);
    }
    return true;
}

static void put_piece(struct probe *p, int i, int past)
{
    (past ? hb_kern_stream : hb_kern_put)(piece(p, i), p->own, PIECE);
}

/* As who sends a long message to one that only receives. */
static bool put_stream(struct probe *p, uint32_t *n, int past)
{
    uint32_t before = *n, ring = (uint32_t)RING;
    for (int i = 0; i < STREAMED; i++) {
        uint32_t again = *n + 1 - before > ring ? *n + 1 - ring : before;
        if (!await(p, &p->theirs, again, false)) {
            return false;
        }
        put_piece(p, i, past);
        say(&p->mine, ++*n);
    }
    return await(p, &p->theirs, *n, false);
}

static bool put_pieces(struct probe *p, uint32_t *n, int past)
{
    for (int i = 0; i < RING + SAMPLES; i++) {
        int64_t t = hb_now_ns();
        put_piece(p, i, past);
        keep(p->put[past], i, since(t));
        say(&p->mine, ++*n);
        if (!await(p, &p->theirs, *n, false)) {
            return false;
        }
    }
    return true;
}

static bool pieces(struct probe *p, uint32_t *n, struct hb_coll_model *m)
{
    m->stream_ps = m->past_ps = 0;
    for (int past = 0; past < 2; past++) {
        if (!put_pieces(p, n, past) || !put_stream(p, n, past)) {
            return false;
        }
        uint32_t put = least(p->put[past], SAMPLES, PIECE, 1000);
        uint32_t get = least(p->get[past], SAMPLES, PIECE, 1000);
        uint32_t both = least(p->stream[past], SAMPLES, WINDOW * PIECE, 1000);
        m->past_ps = past ? both : 0;
        bool known = put > 0 && get > 0 && both > 0;
        if (known &&
            (m->stream_ps == 0 || both < MARGIN * m->stream_ps)) {
            m->put_ps = put;
            m->get_ps = get;
            m->stream_ps = both;
        }
    }
    return true;
}

/* Sets both figures, or neither where the kernel refuses. */
static bool reads(struct probe *p, uint32_t *n, struct hb_coll_model *m)
{
    uint32_t few[READS] = {0}, many[READS] = {0};
    bool good = true;
    for (int i = 0; i < 2 * READS; i++) {
        say(&p->mine, ++*n);
        int64_t t = hb_now_ns();
        good = read_some(p->own, p->far, read_size(i)) && good;
        uint32_t *ns = i % 2 == 0 ? few : many;
        ns[i / 2] = since(t);
        if (!await(p, &p->theirs, *n, false)) {
            return false;
        }
    }
    uint32_t call = least(few, READS, 1, 1), all = least(many, READS, 1, 1);
    good = good && call > 0 && all > call;
    m->cma_ns = good ? call : 0;
    m->cma_ps = good ? (uint32_t)((all - call) * (uint64_t)1000 / READ) + 1 : 0;
    return true;
}

static void alone(struct probe *p, struct hb_coll_model *m)
{
    uint32_t fold[SAMPLES], copy[SAMPLES];
    const void *src[2] = {p->own, p->own + PIECE};
    hb_fold_fn sum = hb_kern_fold(HPCBOOT_SUM, HPCBOOT_FLOAT);
    for (int i = 0; i < SAMPLES; i++) {
        int64_t t = hb_now_ns();
        sum(p->own, src, 2, PIECE / sizeof(float), 2);
        fold[i] = since(t);
        t = hb_now_ns();
        hb_kern_copy(p->own + PIECE, p->own, PIECE);
        copy[i] = since(t);
    }
    m->fold_ps = least(fold, SAMPLES, PIECE, 1000);
    m->copy_ps = least(copy, SAMPLES, PIECE, 1000);
}

static bool measure(struct probe *p, struct hb_coll_model *m)
{
    uint32_t ns[SAMPLES], n = 0;
    while (atomic_load(&p->state) == 0) {
        sched_yield();
        if (hb_now_ns() > p->deadline_ns) {
            return false;
        }
    }
    if (atomic_load(&p->state) < 0 ||
        !flags(p, &n, SAMPLES, FLAGS, false, ns)) {
        return false;
    }
    m->round_ns = least(ns, SAMPLES, 2 * FLAGS, 1);
    if (!pieces(p, &n, m) || !reads(p, &n, m)) {
        return false;
    }
    alone(p, m);
    if (!flags(p, &n, TURN_SAMPLES, TURNS, true, ns)) {
        return false;
    }
    m->switch_ns = least(ns, TURN_SAMPLES, 2 * TURNS, 1);
    return m->round_ns > 0 && m->stream_ps > 0 && m->fold_ps > 0 &&
           m->copy_ps > 0 && m->switch_ns > 0;
}

static bool run(struct probe *p, struct hb_coll_model *m)
{
    cpu_set_t before, here;
    pthread_t thread;
    bool good;
    p->cpu = sched_getcpu();
    if (p->cpu < 0 || pthread_getaffinity_np(pthread_self(), sizeof before,
                                             &before) != 0) {
        return false;
    }
    memset(&p->elsewhere, 0xff, sizeof p->elsewhere); /* the kernel cuts it */
    CPU_CLR(p->cpu, &p->elsewhere);
    CPU_ZERO(&here);
    CPU_SET(p->cpu, &here);
    if (pthread_setaffinity_np(pthread_self(), sizeof here, &here) != 0) {
        return false;
    }
    good = pthread_create(&thread, NULL, answer, p) == 0;
    if (good) {
        good = measure(p, m);
        pthread_join(thread, NULL); /* at the deadline at the latest */
    }
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    return good;
}

int hb_model_probe(struct hb_coll_model *m, struct hpcboot_error *err)
{
    struct hb_coll_model now = *m;
    size_t size = APART + READ;
    /* A heap might keep it. */
    char *room = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      /* cppcheck-suppress invalidFunctionArg */
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct probe *p = aligned_alloc(_Alignof(struct probe), sizeof *p);
    int64_t begun = hb_now_ns();
    bool good = room != MAP_FAILED && p != NULL;
    if (good) {
        memset(room, 0, (size_t)RING * PIECE + 2 * READ);
        memset(room + APART, 0, READ);
        memset(p, 0, sizeof *p);
        p->ring = room;
        p->own = room + (size_t)RING * PIECE;
        p->other = p->own + READ;
        p->far = room + APART;
        p->deadline_ns = begun + (int64_t)HB_PROBE_MS * 1000000;
        good = run(p, &now);
    }
    free(p);
    if (room != MAP_FAILED) {
        (void)munmap(room, size);
    }
    if (!good) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "this machine's memory cannot be measured: there is no "
                       "second CPU, or others are using them");
    }
    now.source = HB_MODEL_PROBED;
    *m = now;
    return HPCBOOT_OK;
}
