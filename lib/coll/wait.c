/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How a rank waits for its peers: it spins while they may come at once,
 * yields the core while they may be waiting for it, and parks on a futex when
 * they take their time. Which of it, and for how long, is the node's mode,
 * never a rank's own choice: a rank that spins starves those that yield.
 *
 * The mode comes from whoever made the node's page. It is corrected while
 * the job runs: a rank that is put off its core again and again although it
 * was to have one for itself says so in the page (`crowded`), and takes it
 * back when yielding finds nobody else to run. Who dies takes nothing back: so
 * all that was said before a death is void, and the others say it again.
 *
 * Parking: a rank writes whom it waits for, looks once more, and sleeps on
 * its bell. A rank that posts looks at the team's count of sleepers with
 * plain loads and stores; the fence that this needs is paid by who parks,
 * with membarrier. Where the kernel has none, the sleep is short enough for
 * the rare call that is missed. No sleep is long: dead peers and deadlines
 * are looked for in between. */

#include "config.h"

#include "lib/coll/engine.h"

#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"

/* Loads of a line that is in the cache; about a microsecond. */
#define SPIN_LOADS 64
/* A peer that has a core of its own and is not here by then does other
 * work, or has been put off its core, perhaps by this rank. */
#define SPIN_NS (30 * 1000)
/* Two context switches of each rank of a crowded node fit in, many times;
 * then the peers do other work, and want the core for it. */
#define YIELD_NS (500 * 1000)
#define YIELD_PARK_NS (50 * 1000) /* in mode PARK */
/* A long message between ranks of a node passes through their ring in pieces,
 * and who writes or takes one wakes nobody: to sleep then costs a nap for each
 * piece. A megabyte takes so long where ranks share cores. */
#define YIELD_NEAR_NS (4 * 1000 * 1000)
/* The network and other teams are looked after in between, the less often
 * the longer nothing has come. */
#define PARK_BUSY_NS (50 * 1000)
#define PARK_BUSY_MOST_NS (1000 * 1000)
#define PARK_BUSY_SHARE 8
/* Messages of ranks of this node wake nobody who waits for the network; what
 * has taken long already may take a little longer. */
#define NAP_AMONG_NS (250 * 1000)
#define NAP_AMONG_SHARE 64
#define PARK_FIRST_NS (1000 * 1000)
#define PARK_MOST_NS (10 * 1000 * 1000)
#define LOOK_TURNS 8 /* in which something must move, else a wait is long */
#define STUCK_NS (10 * 1000 * 1000) /* a wait that outsiders may see */
/* Put off so often a second, a rank shares its core. */
#define CROWDED_PER_S 50
#define SAMPLE_NS (2 * 1000 * 1000)
/* A yield that comes back sooner has found nobody to run. */
#define LONG_YIELD_NS 1500
#define YIELDS_WEIGHED 4096
/* So many of them in a row, and a rank that shares its core with other nodes
 * of its machine parks, since what it waits for wakes it: groups of processes
 * share a core by what each has used, and who has used less only burns it by
 * yielding. No fewer: a CPU that sleeps is slow to wake. */
#define VAIN_YIELDS 32
/* Of a program that tests instead of waiting, the looks from one yield to the
 * next, however far apart: about a microsecond where nothing comes between, as
 * SPIN_LOADS. Who computes in between hardly pays for it. */
#define VAIN_LOOKS 16
/* And so long naps, in place of yields, once it has tested for VAIN_NS: who
 * yields forgoes more of its share of a core than it has not used (Linux 6.18),
 * so that some threads of many starve, and all else on the machine, too. */
#define VAIN_NS (2 * 1000 * 1000)
#define VAIN_NAP_NS (50 * 1000)
#define VAIN_NAP_SHARE 16
#define VAIN_NAP_MOST_NS (1000 * 1000)
/* After such a pause it has computed. */
#define VAIN_PAUSE_NS (100 * 1000)

static int membarrier_call(int command)
{
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

void hb_wait_fence_all(void)
{
    (void)membarrier_call(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

void hb_wait_setup(struct hb_coll_engine *e)
{
    e->asymmetric =
        membarrier_call(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

/* page->crowded: so many ranks, and in the bits above when, as `changes`. */
#define COUNT 0xffffu
#define TAG_SHIFT 16

static uint32_t tag_of(uint32_t word)
{
    return word & ~COUNT;
}

static uint32_t tag_now(const struct hb_coll_engine *e)
{
    return atomic_load_explicit(&e->page->changes, memory_order_acquire)
           << TAG_SHIFT;
}

static bool is_crowded(const struct hb_coll_engine *e)
{
    uint32_t word = atomic_load_explicit(&e->page->crowded,
                                         memory_order_relaxed);
    return (word & COUNT) != 0 && tag_of(word) == tag_now(e);
}

static void join_crowd(struct hb_coll_engine *e)
{
    uint32_t word = atomic_load(&e->page->crowded), tag;
    do {
        tag = tag_now(e); /* no older than the word's */
    } while (!atomic_compare_exchange_weak(
        &e->page->crowded, &word, (tag_of(word) == tag ? word : tag) + 1));
    e->crowded = tag + 1;
}

static void leave_crowd(struct hb_coll_engine *e)
{
    uint32_t word = atomic_load(&e->page->crowded);
    while (e->crowded != 0 && tag_of(word) == tag_of(e->crowded) &&
           !atomic_compare_exchange_weak(&e->page->crowded, &word, word - 1)) {
    }
    e->crowded = 0;
}

void hb_wait_teardown(struct hb_coll_engine *e)
{
    leave_crowd(e);
}

static long futex(_Atomic uint32_t *word, int op, uint32_t value,
                  const struct timespec *timeout)
{
    return syscall(SYS_futex, (uint32_t *)word, op, value, timeout, NULL, 0);
}

/* Wakes those that wait for this rank. */
void hb_wait_wake(struct hb_coll_team *t)
{
    for (int j = 0; j < t->p; j++) {
        struct hb_shm_rank *r = &t->ranks[j];
        int mine = t->me + 1;
        if (atomic_load_explicit(&r->waits_for, memory_order_relaxed) == mine &&
            atomic_compare_exchange_strong(&r->waits_for, &mine, 0)) {
            atomic_fetch_add(&r->bell, 1);
            futex(&r->bell, FUTEX_WAKE, 1, NULL);
        }
    }
}

/* Until the network has something, at most for so long. */
static void nap(struct hb_coll_engine *e, int64_t ns)
{
    struct timespec ts = {ns / 1000000000, ns % 1000000000};
    if (e->locking) {
        pthread_mutex_unlock(&e->lock);
    }
    if (e->config.idle != NULL) {
        e->config.idle(e->config.ctx, ns);
    } else {
        nanosleep(&ts, NULL);
    }
    if (e->locking) {
        pthread_mutex_lock(&e->lock);
    }
}

/* Waiting for the network, and for nobody of this node. */
static bool waits_outside(const struct hb_coll_team *t)
{
    return t == NULL || t->want < 0;
}

/* ns: how long at most, after the time waited already */
static void park(struct hb_coll_engine *e, struct hb_coll_team *t, int64_t ns,
                 int64_t waited)
{
    if (waits_outside(t)) {
        int64_t among = waited / NAP_AMONG_SHARE;
        among = among < NAP_AMONG_NS ? NAP_AMONG_NS : among;
        nap(e, e->config.node_size <= 1 || ns < among ? ns : among);
        return;
    }
    struct hb_shm_rank *r = &t->ranks[t->me];
    struct timespec ts = {ns / 1000000000, ns % 1000000000};
    uint32_t bell = atomic_load(&r->bell);
    atomic_store(&r->waits_for, t->want + 1);
    atomic_fetch_add(&t->head->sleepers, 1);
    if (e->asymmetric) {
        hb_wait_fence_all();
    }
    if (!hb_shm_ready(t)) {
        if (e->locking) {
            pthread_mutex_unlock(&e->lock);
        }
        futex(&r->bell, FUTEX_WAIT, bell, &ts);
        if (e->locking) {
            pthread_mutex_lock(&e->lock);
        }
    }
    atomic_fetch_sub(&t->head->sleepers, 1);
    atomic_store(&r->waits_for, 0);
}

/* Whether this rank, which spins, is put off its core again and again. */
static void count_switches(struct hb_coll_engine *e, int64_t now)
{
    struct rusage u;
    bool in = e->crowded != 0 && tag_of(e->crowded) == tag_now(e);
    if (in || now - e->sample_ns < SAMPLE_NS ||
        getrusage(RUSAGE_THREAD, &u) != 0) {
        return;
    }
    long n = u.ru_nivcsw - e->sample_switches;
    int64_t span = now - e->sample_ns;
    bool first = e->sample_ns == 0;
    e->sample_ns = now;
    e->sample_switches = u.ru_nivcsw;
    if (!first && n > 1 && n * (1000000000 / CROWDED_PER_S) > span) {
        e->yields = e->long_yields = 0;
        join_crowd(e);
    }
}

static void yield(struct hb_coll_engine *e, struct hb_wait *w, int64_t now)
{
    if (e->locking) {
        pthread_mutex_unlock(&e->lock);
    }
    sched_yield();
    if (e->locking) {
        pthread_mutex_lock(&e->lock);
    }
    bool was_long = hb_now_ns() - now > LONG_YIELD_NS;
    w->vain = was_long ? 0 : w->vain + 1;
    if (e->crowded == 0) {
        return;
    }
    e->long_yields += was_long;
    if (++e->yields == YIELDS_WEIGHED) {
        if (e->long_yields < YIELDS_WEIGHED / 64) {
            leave_crowd(e);
        }
        e->yields = e->long_yields = 0;
    }
}

static enum hb_coll_wait mode_of(const struct hb_coll_engine *e)
{
    uint32_t m = atomic_load_explicit(&e->page->wait_mode,
                                      memory_order_relaxed);
    if (m == HB_COLL_WAIT_SPIN && (e->outnumbered || is_crowded(e))) {
        m = HB_COLL_WAIT_YIELD;
    }
    return m;
}

/* Of this thread's looks: since when they have been in vain, and when it last
 * gave its core away. */
static _Thread_local int64_t vain_since_ns, vain_last_ns;

void hb_coll_look_found(void)
{
    vain_since_ns = 0;
}

/* How long to sleep; 0: a yield does. */
static int64_t vain_nap(void)
{
    int64_t now = hb_now_ns(), ns;

    if (vain_since_ns == 0 || now - vain_last_ns > VAIN_PAUSE_NS) {
        vain_since_ns = now;
    }
    if (now - vain_since_ns < VAIN_NS) {
        return 0;
    }
    ns = (now - vain_since_ns) / VAIN_NAP_SHARE;
    return ns < VAIN_NAP_NS        ? VAIN_NAP_NS
           : ns > VAIN_NAP_MOST_NS ? VAIN_NAP_MOST_NS
                                   : ns;
}

void hb_coll_vain_look(struct hb_coll_engine *e)
{
    static _Thread_local unsigned looks;
    int64_t ns;

    if (++looks % VAIN_LOOKS != 0) {
        return;
    }
    if (e->locking) {
        pthread_mutex_lock(&e->lock);
    }
    ns = mode_of(e) == HB_COLL_WAIT_SPIN ? -1 : vain_nap();
    if (ns > 0) {
        nap(e, ns);
    }
    if (e->locking) {
        pthread_mutex_unlock(&e->lock);
    }
    if (ns == 0) {
        sched_yield();
    }
    vain_last_ns = hb_now_ns();
}

/* Who has been put off its core looks as long before it yields as yielding
 * takes: mostly the peer is on a core of its own, and there by then. */
static bool may_spin(const struct hb_coll_engine *e,
                     const struct hb_coll_team *t, const struct hb_wait *w,
                     enum hb_coll_wait mode)
{
    bool own_core = atomic_load_explicit(&e->page->wait_mode,
                                         memory_order_relaxed) ==
                    HB_COLL_WAIT_SPIN;
    return t != NULL && t->want >= 0 &&
           (mode == HB_COLL_WAIT_SPIN || (own_core && w->began_ns == 0));
}

/* True when the awaited peer came meanwhile. */
static bool spin(struct hb_coll_team *t)
{
    for (int i = 0; i < SPIN_LOADS; i++) {
        if (hb_shm_ready(t)) {
            return true;
        }
        hb_relax();
    }
    return false;
}

/* Whether this rank is woken by whatever it may wait for. Not with several
 * threads: one may take the message that another sleeps for. */
static bool is_woken(const struct hb_coll_engine *e,
                     const struct hb_coll_team *t)
{
    return e->config.node_size <= 1 && e->config.idle != NULL &&
           !e->locking && waits_outside(t);
}

/* Who is woken needs no short timer: to set one that is due before the clock's
 * next tick takes longer than to sleep, on a virtual machine ten times so. */
static int64_t park_ns(const struct hb_coll_engine *e,
                       const struct hb_coll_team *t, int64_t waited,
                       int64_t left)
{
    if (is_woken(e, t)) {
        return left < PARK_MOST_NS ? left : PARK_MOST_NS;
    }
    if (e->active != NULL || hb_engine_has_messages(e)) {
        int64_t most = e->config.node_size <= 1 && waits_outside(t)
                           ? PARK_MOST_NS : PARK_BUSY_MOST_NS;
        int64_t busy = waited / PARK_BUSY_SHARE;
        busy = busy > most           ? most
               : busy < PARK_BUSY_NS ? PARK_BUSY_NS
                                     : busy;
        return left < busy ? left : busy;
    }
    int64_t ns = waited / 2 < PARK_FIRST_NS  ? PARK_FIRST_NS
                 : waited / 2 > PARK_MOST_NS ? PARK_MOST_NS
                                             : waited / 2;
    return left < ns ? left : ns;
}

static int tell(struct hb_wait *w, struct hb_coll_engine *e,
                struct hb_coll_team *t, struct hpcboot_error *err)
{
    struct hb_coll_stuck what = {.on = -1};
    struct hpcboot_error why = {0};

    if (e->config.stuck == NULL) {
        return HPCBOOT_OK;
    }
    if (t != NULL) {
        (void)hb_coll_team_waits(t, &what);
    }
    what.since_ns = w->since_ns;
    what.polled = w->polled;
    e->stuck = true;
    int rc = e->config.stuck(e->config.ctx, t != NULL ? t->ctx : NULL, &what,
                             &why);
    if (rc < 0 && t == NULL && err != NULL) {
        *err = why;
    }
    return rc < 0 && t != NULL ? hb_team_fail(t, &why, err) : rc;
}

void hb_wait_over(struct hb_coll_engine *e)
{
    if (e->stuck) {
        e->stuck = false;
        (void)e->config.stuck(e->config.ctx, NULL, NULL, NULL);
    }
}

/* Whether only ranks of other nodes take this one's core. */
static bool others_take_turns(const struct hb_coll_engine *e)
{
    const struct hb_coll_node_page *p = e->page;
    return e->outnumbered &&
           atomic_load_explicit(&p->wait_mode, memory_order_relaxed) ==
               HB_COLL_WAIT_SPIN;
}

/* How many yields in a row that find nobody to run are enough. */
static unsigned vain_yields(const struct hb_coll_engine *e)
{
    bool quiet = e->active == NULL &&
                 !atomic_load_explicit(&e->page->messages,
                                       memory_order_relaxed);
    return e->config.node_size <= 1 || (quiet && others_take_turns(e))
               ? VAIN_YIELDS : UINT_MAX;
}

/* Whether a long message to or from a rank of this node is under way. */
static bool waits_for_near(const struct hb_coll_team *t)
{
    const struct hb_op *op = t == NULL          ? NULL
                             : t->first != NULL ? &t->first->op : t->running;
    return op != NULL && op->net != NULL && hb_net_waits_for_near(op->net);
}

static bool may_yield(const struct hb_wait *w, const struct hb_coll_engine *e,
                      const struct hb_coll_team *t, enum hb_coll_wait mode,
                      int64_t waited)
{
    int64_t most = mode == HB_COLL_WAIT_PARK ? YIELD_PARK_NS : YIELD_NS;
    bool vain = waits_outside(t) && mode != HB_COLL_WAIT_SPIN &&
                w->vain >= vain_yields(e);
    if (!vain && waited < most) {
        return true;
    }
    return waits_outside(t) && mode != HB_COLL_WAIT_PARK &&
           waited < YIELD_NEAR_NS && waits_for_near(t);
}

/* Those outside see it, and what it waits for is asked, also where it does not
 * come to rest since messages of other calls move. */
static bool is_to_tell(struct hb_wait *w, int64_t waited, int64_t now)
{
    if (waited <= STUCK_NS && (now - w->since_ns <= STUCK_NS ||
                               now - w->told_ns <= STUCK_NS)) {
        return false;
    }
    w->told_ns = now;
    return true;
}

static int rest(struct hb_wait *w, struct hb_coll_engine *e,
                struct hb_coll_team *t, enum hb_coll_wait mode, int64_t now,
                struct hpcboot_error *err)
{
    int64_t waited = now - w->began_ns;
    int64_t left = w->deadline_ns > 0 ? w->deadline_ns - now : INT64_MAX;
    if (is_to_tell(w, waited, now)) {
        int rc = tell(w, e, t, err);
        if (rc != HPCBOOT_OK) {
            return rc;
        }
    }
    if (mode == HB_COLL_WAIT_SPIN && waited < SPIN_NS) {
        return HPCBOOT_OK;
    }
    if (mode == HB_COLL_WAIT_SPIN) {
        count_switches(e, now);
    }
    if (may_yield(w, e, t, mode, waited)) {
        yield(e, w, now);
        return HPCBOOT_OK;
    }
    park(e, t, park_ns(e, t, waited, left), waited);
    return HPCBOOT_OK;
}

/* Whether messages have moved since the last turn, of this call or others: a
 * long one between ranks of a node moves in pieces, each when the peer has had
 * its turn, and who sleeps meanwhile makes a nap of each. */
static bool have_moved(struct hb_wait *w, const struct hb_coll_engine *e)
{
    uint64_t before = w->moves;
    if (e->config.moves == NULL || !hb_engine_has_messages(e)) {
        return false;
    }
    w->moves = e->config.moves(e->config.ctx);
    return w->moves != before;
}

/* One turn of a wait: 0 to look again, or why there is no point in it. */
int hb_wait_pause(struct hb_wait *w, struct hb_coll_engine *e,
                  struct hb_coll_team *t, struct hpcboot_error *err)
{
    enum hb_coll_wait mode = mode_of(e);
    if (may_spin(e, t, w, mode) && spin(t)) {
        return HPCBOOT_OK;
    }
    /* A blocking call that waits for the network looks there by itself. */
    bool looks = t != NULL && t->want < 0 && ++w->turns % LOOK_TURNS != 0;
    if (e->active != NULL || (hb_engine_has_messages(e) && !looks)) {
        if (hb_engine_progress(e) > 0) {
            w->began_ns = 0;
        }
    }
    if (have_moved(w, e)) {
        w->began_ns = 0;
    }
    int rc = t != NULL ? hb_team_alive(t, err) : HPCBOOT_OK;
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    int64_t now = hb_now_ns();
    if (w->began_ns == 0) {
        w->began_ns = now;
        w->vain = 0;
    }
    if (w->since_ns == 0) {
        w->since_ns = now;
    }
    if (w->deadline_ns > 0 && now >= w->deadline_ns) {
        /* What came while this rank was off its core is there in time. */
        if (!w->last_look) {
            w->last_look = true;
            return HPCBOOT_OK;
        }
        return hb_fail(err, HPCBOOT_ERR_TIMED_OUT,
                       "the deadline of the call has passed");
    }
    return rest(w, e, t, mode, now, err);
}

static void put_rank(const struct hb_coll_team *t, int rank, char *out,
                     size_t size)
{
    const struct hb_coll_config *c = &t->engine->config;
    if (c->who != NULL) {
        c->who(c->ctx, t->ctx, rank, out, size);
    } else {
        snprintf(out, size, "rank %d", rank);
    }
}

int hb_wait_late(const struct hb_coll_team *t, const struct hb_op *op,
                 int call, const char *whose,
                 struct hpcboot_error *err)
{
    char who[128], whom[128] = "the network";
    bool sends;
    int on = t->want >= 0        ? t->local[t->want]
             : op->net != NULL ? hb_net_waits_for(op->net, &sends) : -1;
    if (on >= 0) {
        put_rank(t, on, whom, sizeof whom);
    }
    put_rank(t, t->rank, who, sizeof who);
    return hb_fail(err, HPCBOOT_ERR_TIMED_OUT,
                   "%s on a team of %d: %s deadline passed while %s waited "
                   "for %s", hb_coll_name(call), t->size, whose, who, whom);
}
