/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The shared-memory engine: the region of a team on a node, and the loop that
 * takes a collective through its rounds (impl.h has the protocol).
 *
 * Region: a head, the lines of each rank, then the slots of each rank, page
 * aligned, and at last those that all share. All zero is the beginning: no
 * round has been posted. A rank writes its own lines and slots alone, but for a
 * wake-up call, and the shared slots in a round that nobody else writes in.
 *
 * Where in the ring a round writes follows from the rounds before, so that
 * all ranks agree without a word: behind the last, within a slot; the next
 * slot when this one is full; two slots for the largest. A slot is entered
 * when its readers are done with it. It never holds the round before: the
 * slowest rank of a team can therefore always go on.
 *
 * Nothing here waits: a step that finds a peer missing says for whom. */

#include "config.h"

#include "lib/coll/model_impl.h"

#include <unistd.h>

#include "lib/base/error.h"

#define PAGE 4096
/* Rounds; enough of them travel at a time to hide what one takes. */
#define AHEAD 3
/* Of the area that a rank will write next: with fewer bytes it is rather the
 * peer's flag that is late, more push each other out of the nearest cache. */
#define NEXT_LEAST ((size_t)4 << 10)
#define NEXT_MOST ((size_t)16 << 10)
/* Where every rank puts this much, its buffers alone fill the caches. A shorter
 * ring is no slower then, and leaves the buffers more room. */
#define MUCH ((size_t)512 << 10)
#define MUCH_RING ((size_t)1536 << 10)
/* So many times what a cache holds, and what was in it is gone. */
#define TIMES_L2 3
#define TAIL_PER_SLOT (HB_SHM_SLOT / HB_SHM_PIECE)

static size_t lines_size(int p)
{
    size_t s = sizeof(struct hb_shm_head) +
               (size_t)p * sizeof(struct hb_shm_rank);
    return (s + PAGE - 1) / PAGE * PAGE;
}

static unsigned slots_of(int p)
{
    size_t n = HB_SHM_RINGS / HB_SHM_SLOT / (size_t)p;
    n = n > HB_SHM_SLOTS_MOST ? HB_SHM_SLOTS_MOST : n & ~(size_t)1;
    return n < HB_SHM_SLOTS_LEAST ? HB_SHM_SLOTS_LEAST : (unsigned)n;
}

/* No less than for fewer ranks, whose rings may be longer together. */
size_t hb_coll_region_size(int local_size)
{
    size_t rings = (size_t)local_size * slots_of(local_size) * HB_SHM_SLOT;
    return lines_size(local_size) +
           (rings > HB_SHM_RINGS ? rings : HB_SHM_RINGS) +
           HB_SHM_SHARED_MOST * HB_SHM_SLOT;
}

size_t hb_coll_region_least(int local_size)
{
    return lines_size(local_size) +
           (size_t)local_size * HB_SHM_SLOTS_LEAST * HB_SHM_SLOT;
}

size_t hb_coll_region_small(int local_size)
{
    size_t least = hb_coll_region_least(local_size);
    size_t half = lines_size(local_size) + HB_SHM_RINGS / 2;
    return least > half ? least : half;
}

/* A third-level cache has no room for them. */
static bool rings_are_tight(const struct hb_coll_model *m)
{
    return m != NULL && m->l3_kib > 0 && (size_t)m->l3_kib << 10 < HB_SHM_RINGS;
}

/* Slots of a shared ring, of those that are there; 0: a rank's own will do. */
static size_t shared_slots(const struct hb_coll_model *m, size_t own,
                           size_t there)
{
    size_t bytes = HB_SHM_SHARED;
    size_t longer = m != NULL ? TIMES_L2 * ((size_t)m->l2_kib << 10) : 0;
    if (rings_are_tight(m)) {
        bytes /= 2;
    } else if (longer > bytes) {
        bytes = longer;
    }
    size_t most = hb_min(there, HB_SHM_SHARED_MOST);
    size_t n = hb_min(bytes / HB_SHM_SLOT, most) & ~(size_t)1;
    return n > own ? n : 0;
}

static void cut_ring(struct hb_coll_team *t, size_t slots,
                     const struct hb_coll_model *m)
{
    size_t p = (size_t)t->p, own = hb_min(slots / p, slots_of(t->p));
    size_t there = slots - own * p;
    if (rings_are_tight(m)) {
        own /= 2;
    }
    own = (own > HB_SHM_SLOTS_LEAST ? own : HB_SHM_SLOTS_LEAST) & ~(size_t)1;
    size_t small = p == 2 ? HB_SHM_SMALL_RING_OF_TWO : HB_SHM_SMALL_RING;
    t->ring = own * HB_SHM_SLOT;
    small = t->ring < 2 * HB_SHM_SMALL_RING
                ? 0 : hb_min(small, t->ring / 2 / HB_SHM_BIG * HB_SHM_BIG);
    t->part[HB_PART_LARGE].len = t->ring - small;
    t->part[HB_PART_SMALL] = (struct hb_shm_part){t->ring - small, small, 0};
    t->part[HB_PART_SHARED].base = t->ring;
    t->part[HB_PART_SHARED].len = shared_slots(m, own, there) * HB_SHM_SLOT;
}

int hb_shm_attach(struct hb_coll_team *t, void *region, size_t size,
                  struct hpcboot_error *err)
{
    if ((uintptr_t)region % HB_SHM_LINE != 0 ||
        size < hb_coll_region_least(t->p)) {
        return hb_fail(err, HPCBOOT_ERR_INTERNAL,
                       "the shared memory of a team of %d local ranks is %zu "
                       "bytes at %p; needed: %zu, aligned to %d",
                       t->p, size, region, hb_coll_region_least(t->p),
                       HB_SHM_LINE);
    }
    t->head = region;
    t->ranks = (struct hb_shm_rank *)(t->head + 1);
    t->slots = (char *)region + lines_size(t->p);
    t->ranks[t->me].pid_space = t->engine->config.pid_space;
    atomic_store(&t->ranks[t->me].pid, (int)getpid());
    t->small = hb_model_small(t->p);
    const struct hb_coll_model *m = t->engine->model; /* the node's */
    t->take_turns = m != NULL && hb_model_share(m, t->p) > 1;
    t->cell_mask = (t->take_turns ? HB_SHM_CELLS : HB_SHM_CELLS / 2) - 1;
    cut_ring(t, (size - lines_size(t->p)) / HB_SHM_SLOT, m);
    return HPCBOOT_OK;
}

/* Whether local rank j has posted round r. */
static inline bool has_posted(struct hb_coll_team *t, int j, uint64_t r)
{
    if (t->seen[j] >= r) {
        return true;
    }
    uint64_t now = atomic_load_explicit(&hb_shm_cell(t, j, r)->round,
                                        memory_order_acquire);
    if (HB_LIKELY(now >= r)) {
        t->seen[j] = now;
        return true;
    }
    t->want = j;
    t->want_round = r;
    t->want_count = NULL;
    return false;
}

bool hb_shm_has_put(struct hb_coll_team *t, int j)
{
    return has_posted(t, j, t->round + 1);
}

bool hb_shm_ready(struct hb_coll_team *t)
{
    if (HB_LIKELY(t->want < 0 || t->want_count == NULL)) {
        return t->want < 0 || has_posted(t, t->want, t->want_round);
    }
    return atomic_load_explicit(t->want_count, memory_order_acquire) >=
           t->want_round;
}

bool hb_shm_has_counted(struct hb_coll_team *t, int j,
                        _Atomic uint64_t *count, uint64_t n)
{
    if (atomic_load_explicit(count, memory_order_acquire) >= n) {
        return true;
    }
    t->want = j;
    t->want_round = n;
    t->want_count = count;
    return false;
}

void hb_shm_count(struct hb_coll_team *t, _Atomic uint64_t *count, uint64_t n)
{
    atomic_store_explicit(count, n, memory_order_release);
    if (atomic_load_explicit(&t->head->sleepers, memory_order_relaxed)) {
        hb_wait_wake(t);
    }
}

static size_t slots_behind(const struct hb_shm_part *large)
{
    return large->len / HB_SHM_SLOT - (large->pos % HB_SHM_SLOT != 0);
}

size_t hb_shm_tail_room(const struct hb_coll_team *t)
{
    return slots_behind(&t->part[HB_PART_LARGE]) * TAIL_PER_SLOT;
}

uint64_t hb_shm_tail_first(uint64_t count)
{
    return (count + TAIL_PER_SLOT - 1) / TAIL_PER_SLOT * TAIL_PER_SLOT;
}

size_t hb_shm_tail_at(const struct hb_coll_team *t, uint64_t k)
{
    const struct hb_shm_part *large = &t->part[HB_PART_LARGE];
    size_t slot = (large->pos + HB_SHM_SLOT - 1) / HB_SHM_SLOT +
                  k / TAIL_PER_SLOT % slots_behind(large);
    return large->base + slot * HB_SHM_SLOT % large->len +
           k % TAIL_PER_SLOT * HB_SHM_PIECE;
}

void hb_shm_tail_use(struct hb_coll_team *t, size_t at, int reader)
{
    t->slot_use[at / HB_SHM_SLOT] = (struct hb_shm_use){t->round, reader,
                                                       true};
}

/* As has_posted, for a round that may be well past. A line that is looked at
 * has to be taken back by the peer that writes it; so what is asked is whether
 * the peer is half way between that round and now, which answers the next
 * questions too, and whoever has to wait waits for that. */
static inline bool has_passed(struct hb_coll_team *t, int j, uint64_t r)
{
    if (t->seen[j] >= r) {
        return true;
    }
    uint64_t half = t->round > r ? r + (t->round - r) / 2 : r;
    if (has_posted(t, j, half)) {
        return true;
    }
    bool passed = has_posted(t, j, r);
    t->want_round = half;
    return passed;
}

static bool all_passed(struct hb_coll_team *t, uint64_t r)
{
    for (int i = 1; i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        if (!has_passed(t, j, r)) {
            return false;
        }
    }
    return true;
}

static inline bool released(struct hb_coll_team *t,
                            const struct hb_shm_use *use)
{
    if (use->readers == HB_NONE || use->round == 0) {
        return true;
    }
    if (use->tail &&
        atomic_load_explicit(&t->ranks[t->me].tail_got,
                             memory_order_acquire) >= t->tails) {
        return true; /* who has got it may wait for this rank's next round */
    }
    if (use->readers >= 0) {
        return has_passed(t, use->readers, use->round + 1);
    }
    return all_passed(t, use->round + 1);
}

static inline bool slot_is_free(struct hb_coll_team *t, size_t at)
{
    return released(t, &t->slot_use[at / HB_SHM_SLOT]);
}

bool hb_shm_tail_is_free(struct hb_coll_team *t, uint64_t k)
{
    return k % TAIL_PER_SLOT != 0 || slot_is_free(t, hb_shm_tail_at(t, k));
}

static inline struct hb_shm_part *part_of(struct hb_coll_team *t,
                                          const struct hb_op *op)
{
    if (hb_model_one_puts(op->coll) && t->part[HB_PART_SHARED].len != 0) {
        return &t->part[HB_PART_SHARED];
    }
    return &t->part[op->area <= t->small && t->part[HB_PART_SMALL].len != 0];
}

/* Where the next round of so many bytes goes: behind the last one, or where
 * the next slot or pair of slots begins. */
static inline size_t next_at(const struct hb_shm_part *part,
                             const struct hb_op *op)
{
    size_t in_slot = part->pos % HB_SHM_SLOT;
    if (in_slot != 0 && in_slot + op->area <= HB_SHM_SLOT) {
        return part->base + part->pos;
    }
    size_t unit = op->area > HB_SHM_SLOT ? HB_SHM_BIG : HB_SHM_SLOT;
    bool much = !hb_model_one_puts(op->coll) &&
                op->area * op->rounds >= MUCH;
    size_t len = much ? hb_min(part->len, MUCH_RING) : part->len;
    return part->base + (part->pos + unit - 1) / unit * unit % len;
}

static inline bool is_shared(const struct hb_coll_team *t,
                             const struct hb_op *op)
{
    return op->part == &t->part[HB_PART_SHARED];
}

/* Whether this rank may write for its next round; chooses the place. Within a
 * slot that has been entered there is nothing to ask: of a shared one, whoever
 * puts next has waited for the root that entered it. So must everybody in any
 * round for which room is taken there. */
static inline bool has_room(struct hb_coll_team *t, struct hb_op *op)
{
    if (!released(t, &t->cell_use[(t->round + 1) & t->cell_mask])) {
        return false;
    }
    if (op->area == 0) {
        return true;
    }
    op->part = part_of(t, op);
    op->at = next_at(op->part, op);
    bool reads = is_shared(t, op) && t->me != op->root;
    return op->at % HB_SHM_SLOT != 0 || reads ||
           (slot_is_free(t, op->at) &&
            (op->area <= HB_SHM_SLOT ||
             slot_is_free(t, op->at + HB_SHM_SLOT)));
}

/* Several rounds share a slot: it is free when all their readers are done. Of
 * a slot that ranks share, each notes that all read, whoever has put: the next
 * to put may be another. */
static inline void use_slot(struct hb_coll_team *t, size_t at,
                            struct hb_shm_use use)
{
    struct hb_shm_use *u = &t->slot_use[at / HB_SHM_SLOT];
    bool fresh = at % HB_SHM_SLOT == 0;
    if (use.readers != HB_NONE) {
        use.readers = fresh || u->readers == use.readers ? use.readers
                                                         : HB_ALL;
        *u = use;
    }
}

/* A pair of lines that is about to be written, taken from the peer that has
 * read them. */
static inline void fetch_to_write(const void *pair)
{
    const char *first = pair, *second = first + HB_CACHE_LINE;
#ifdef __x86_64__ /* where compilers make it a fetch to read */
    __asm__ volatile("prefetchw %0\n\tprefetchw %1"
                     : : "m"(*first), "m"(*second));
#else
    __builtin_prefetch(first, 1);
    __builtin_prefetch(second, 1);
#endif
}

/* The flag, and what lies beside it. */
static inline void hand_on(const struct hb_op *op,
                           const struct hb_shm_cell *cell)
{
    hb_hand_on(cell);
    if (op->wide) {
        hb_hand_on(cell->bytes + HB_SHM_FIRST);
    }
}

/* Stores go out in order, so a rank would pay for the way of each cell in turn.
 * Of two ranks, where the other needs a cell to come no more, its lines travel
 * beside those of the cells before it; who only reads writes cells that nobody
 * waits for. Who also waits takes the next one meanwhile. (Of more ranks it is
 * the one that reads what all write which is late.)
 *
 * A line that is looked at before it is written goes its way twice more. Where
 * ways are long, whoever waits gives the other a moment. */
static inline void own_ahead(struct hb_coll_team *t, const struct hb_op *op,
                             int readers)
{
    uint64_t r = t->round + AHEAD;
    bool waits = op->from != HB_NONE &&
                 (op->from != HB_BELOW || t->me > 0);
    if (t->p != 2) {
        return;
    }
    if (readers != HB_NONE && waits) {
        fetch_to_write(hb_shm_cell(t, t->me, t->round + 1));
        if (t->near.far) {
            hb_relax();
        }
    } else if (readers == HB_NONE || t->seen[1 - t->me] + t->cell_mask >= r) {
        fetch_to_write(hb_shm_cell(t, t->me, r));
    }
}

static inline void post(struct hb_coll_team *t, struct hb_op *op, int readers)
{
    uint64_t r = ++t->round;
    struct hb_shm_cell *cell = hb_shm_cell(t, t->me, r);
    int all = t->p == 2 ? 1 - t->me : HB_ALL;
    struct hb_shm_use use = {.round = r,
                             .readers = readers == HB_ALL ? all : readers};
    t->cell_use[r & t->cell_mask] = use;
    if (op->area > 0) {
        op->part->pos = op->at + op->area - op->part->base;
        use.readers = op->dry ? HB_NONE
                      : is_shared(t, op) ? all : use.readers;
        use_slot(t, op->at, use);
        if (op->area > HB_SHM_SLOT) {
            use_slot(t, op->at + HB_SHM_SLOT, use);
        }
    }
    cell->word = op->word << HB_SIGN_BITS | op->sign;
    atomic_store_explicit(&cell->round, r, memory_order_release);
    if (readers != HB_NONE || op->plan->awaited || op->cma.part > 0) {
        hand_on(op, cell); /* the part of a gatherv says where blocks go */
    }
    own_ahead(t, op, readers);
    if (atomic_load_explicit(&t->head->sleepers, memory_order_relaxed)) {
        hb_wait_wake(t);
    }
}

static inline bool have_come(struct hb_coll_team *t, int from)
{
    if (from >= 0) {
        return has_posted(t, from, t->round);
    }
    if (from == HB_NONE) {
        return true;
    }
    int last = from == HB_BELOW ? t->me : t->p;
    for (int j = 0; j < last; j++) {
        if (j != t->me && !has_posted(t, j, t->round)) {
            return false;
        }
    }
    return true;
}

/* Whether those that have come make the same call. Lengths are compared
 * where every rank knows them. */
static inline bool agrees(struct hb_coll_team *t, const struct hb_op *op,
                          int j)
{
    uint64_t his = hb_shm_cell(t, j, t->round)->word;
    uint64_t mine = op->word << HB_SIGN_BITS | op->sign;
    uint64_t differ = his ^ mine;
    if (HB_LIKELY(differ == 0)) {
        return true;
    }
    t->want = j;
    return op->loose && (differ & ((1u << HB_SIGN_BITS) - 1)) == 0;
}

static inline bool all_agree(struct hb_coll_team *t, const struct hb_op *op)
{
    if (op->from >= 0) {
        return agrees(t, op, op->from);
    }
    int last = op->from == HB_BELOW ? t->me : op->from == HB_ALL ? t->p : 0;
    for (int j = 0; j < last; j++) {
        if (j != t->me && !agrees(t, op, j)) {
            return false;
        }
    }
    return true;
}

static inline void fetch_cell(struct hb_coll_team *t, const struct hb_op *op,
                              int j)
{
    const struct hb_shm_cell *cell = hb_shm_cell(t, j, t->round + AHEAD);
    __builtin_prefetch(cell);
    if (op->wide) {
        __builtin_prefetch(cell->bytes + HB_SHM_FIRST);
    }
}

/* Who waits for nobody runs ahead: the line of a round to come has been
 * written when that of this round is found at once, and travels while this
 * one is got. */
static inline void fetch_ahead(struct hb_coll_team *t, const struct hb_op *op)
{
    if (op->from >= 0) {
        fetch_cell(t, op, op->from);
        return;
    }
    for (int j = 0; op->from == HB_ALL && j < t->p; j++) {
        if (j != t->me) {
            fetch_cell(t, op, j);
        }
    }
}

/* While one of two ranks waits, it has time to fetch the lines of its ring that
 * it will write in the next such round: the other rank's cache has them still,
 * from the last time. */
static void fetch_next(struct hb_coll_team *t, const struct hb_op *op)
{
    if (t->p != 2 || op->dry || op->area < NEXT_LEAST ||
        op->from != HB_ALL || t->near.far) {
        return;
    }
    size_t at = next_at(part_of(t, op), op);
    if (at % HB_SHM_SLOT == 0 &&
        t->slot_use[at / HB_SHM_SLOT].round >= t->seen[1 - t->me]) {
        return; /* it may still be read */
    }
    const char *to = hb_shm_ring(t, t->me, at);
    for (size_t i = 0; i < hb_min(op->area, NEXT_MOST); i += HB_SHM_LINE) {
        fetch_to_write(to + i);
    }
}

/* Whether this rank, in this round, puts more than lies beside the flag. Where
 * lengths differ the ring has room for it in any case. */
static inline bool puts_much(const struct hb_op *op, int readers)
{
    return readers != HB_NONE && op->area >= HB_STREAM_LEAST &&
           (!op->tells || op->rounds > 1 || op->bytes > HB_SHM_INLINE);
}

static inline void look_around(struct hb_coll_team *t, const struct hb_op *op,
                               int readers)
{
    if (puts_much(op, readers)) {
        size_t before = t->near.put;
        t->near.put += op->area * op->rounds;
        if (before / HB_LOOK_BYTES != t->near.put / HB_LOOK_BYTES) {
            hb_stream_look(t);
        }
    } else if (++t->near.quiet % HB_LOOK_CALLS == 0) {
        hb_stream_look(t);
    }
}

int hb_shm_step(struct hb_coll_team *t, struct hb_op *op)
{
    while (op->k < op->rounds) {
        int readers = HB_ALL; /* unless this rank only reads */
        bool posted = !op->getting;
        if (!op->getting) {
            if (!has_room(t, op)) {
                return HB_AGAIN;
            }
            readers = op->plan->put(t, op);
            if (readers == HB_LATER) {
                return HB_AGAIN;
            }
            post(t, op, readers);
            if (op->k == 0) {
                look_around(t, op, readers);
            }
        }
        op->getting = !have_come(t, op->from);
        if (op->getting) {
            if (posted && readers != HB_NONE) {
                fetch_next(t, op);
            }
            if (op->plan->meanwhile != NULL && op->plan->meanwhile(t, op)) {
                continue;
            }
            return HB_AGAIN;
        }
        if (readers == HB_NONE) {
            fetch_ahead(t, op);
        }
        if (op->k == 0 && !all_agree(t, op)) {
            return HB_MISMATCH;
        }
        if (op->k == 0 && op->tells && op->from != HB_NONE &&
            !hb_plan_lengths_agree(t, op)) {
            return HB_LENGTHS;
        }
        op->plan->get(t, op);
        op->k++;
    }
    return op->plan->tail != NULL ? op->plan->tail(t, op) : HPCBOOT_OK;
}
