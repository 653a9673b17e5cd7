/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How a rank writes what its peers read: into its cache, or past it.
 *
 * A line that a peer on the same third-level cache has written comes from
 * there faster than from memory. Where caches are far apart (other sockets,
 * other parts of a chip, a hypervisor that has moved a CPU) it is the other
 * way round: to get it costs more than a trip to memory, and to write it
 * again costs as much once more, since the peer's copy has to go first. Then
 * pieces are streamed to memory, several times as fast.
 *
 * Which it is, is not a property of the machine but of where the ranks' CPUs
 * are just now. So a rank looks now and then how long a line takes that a
 * peer has written since: the one with its count of calls. Only who writes
 * need know; the readers cannot tell the difference, so nothing has to be
 * agreed on. While pieces are streamed, lines take long wherever the peer is:
 * so for a while nothing is looked at, and then the other way is tried again.
 *
 * What a rank gets it writes past its cache where the buffers of all ranks are
 * more than the third-level caches hold: they would push each other out. */

#include "config.h"

#include "lib/coll/impl.h"

#include <stdlib.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "lib/base/clock.h"
#include "lib/base/fd.h"

#define L3 "/sys/devices/system/cpu/cpu0/cache/index3/"
#define L3_TEXT_MOST 4096 /* a bit for each CPU that there may be */
/* The buffers of a call have so much of a cache, 1 in: others use it too. A
 * guest sees the whole cache, and not the other guests of its machine. */
#define BUFFERS_SHARE 2
#define GUEST_SHARE 4
#define HYPERVISOR (1u << 31) /* of what CPUID says, leaf 1, in ECX */
/* Of so many looks, how many must be long before pieces are streamed: an
 * interrupt makes one of them long, and where other machines use the same
 * caches, one in five is. Where peers are far, half of them are at least: the
 * line may have come before. */
#define WINDOW 32
#define LONG_ONES 15
/* Once peers were found to be far so many looks are left out, and twice as many
 * each time that they are found so again. */
#define LASTS_FIRST 256
#define LASTS_MOST 2048

/* How long it takes to read the peer's line, above what a second look at it
 * takes; < 0: it has not been written since the last look. A processor that
 * waits for something else would take the line meanwhile, before the clock is
 * read: so its address hangs on the time, which adds 0. */
static int64_t line_ns(struct hb_coll_team *t, int peer)
{
    _Atomic uint64_t *line = &t->ranks[peer].calls;
    int64_t begun = hb_now_ns();
    uint64_t calls = atomic_load(line + (begun >> 62));
    int64_t first = hb_now_ns();
    uint64_t again = atomic_load(line);
    int64_t second = hb_now_ns();
    bool written = calls != t->near.calls || peer != t->near.peer;
    t->near.calls = again;
    t->near.peer = peer;
    int64_t ns = 2 * first - begun - second;
    return !written ? -1 : ns > 0 ? ns : 1;
}

static int64_t far_ns(const struct hb_coll_model *m)
{
    return m != NULL && m->far_ns > 0 ? (int64_t)m->far_ns : HB_FAR_NS;
}

bool hb_near_due(struct hb_nearness *n)
{
    if (n->left_out == 0) {
        return true;
    }
    n->far = --n->left_out > 0;
    return false;
}

void hb_near_weigh(struct hb_nearness *n, bool is_long)
{
    n->window = n->window << 1 | is_long;
    n->taken++;
    if (__builtin_popcount(n->window) >= LONG_ONES) {
        n->lasts = n->lasts == 0 ? LASTS_FIRST
                                 : (unsigned)hb_min(2 * n->lasts, LASTS_MOST);
        n->left_out = n->lasts;
        n->far = true;
        n->window = n->taken = 0;
    } else if (n->taken >= WINDOW) {
        n->lasts = 0;
    }
}

void hb_stream_look(struct hb_coll_team *t)
{
    struct hb_nearness *n = &t->near;
    int64_t border = far_ns(t->engine->model);
    if (t->p < 2) {
        return;
    }
    if (border <= 1) {
        n->far = true;
        return;
    }
    if (!hb_near_due(n)) {
        return;
    }
    int peer = (t->me + 1 + (int)(n->looks++ % (unsigned)(t->p - 1))) % t->p;
    int64_t ns = line_ns(t, peer);
    if (ns >= 0) {
        hb_near_weigh(n, ns >= border);
    }
}

static size_t size_of_l3(void)
{
    char *text = NULL;
    size_t len, kib = 0;
    if (hb_file_read(L3 "size", L3_TEXT_MOST, &text, &len, NULL) == 0) {
        char *end;
        kib = strtoul(text, &end, 10);
        kib = *end == 'K' ? kib : 0;
    }
    free(text);
    return kib << 10;
}

/* The CPUs that share it, from a mask like "000000ff,00000000". */
static size_t sharers_of_l3(void)
{
    char *text = NULL;
    size_t len, n = 0;
    if (hb_file_read(L3 "shared_cpu_map", L3_TEXT_MOST, &text, &len, NULL) ==
        0) {
        for (const char *c = text; *c != '\0'; c++) {
            const char digit[] = {*c, '\0'};
            n += (size_t)__builtin_popcountl(strtoul(digit, NULL, 16));
        }
    }
    free(text);
    return n;
}

static bool is_guest(void)
{
#ifdef __x86_64__
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & HYPERVISOR) != 0;
#else
    return false;
#endif
}

void hb_stream_caches(struct hb_coll_model *m)
{
    size_t sharers = sharers_of_l3();
    size_t kib = sharers > 0 ? size_of_l3() >> 10 : 0;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    m->l2_kib = l2 > 0 ? (uint32_t)((unsigned long)l2 >> 10) : 0;
    m->l3_kib = (uint32_t)(kib / (is_guest() ? GUEST_SHARE : BUFFERS_SHARE));
    m->l3s = sharers > 0 && cpus > 0 && (size_t)cpus > sharers
                 ? (uint32_t)((size_t)cpus / sharers) : 1;
}
