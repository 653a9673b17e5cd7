/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Reading and writing a peer's memory through the kernel, process_vm_readv:
 * one copy where the rings take two.
 *
 * Whether the kernel allows it (Yama, seccomp, user and PID namespaces decide)
 * nothing but a read tells. So before the first call of a team that would, its
 * ranks on the node have two rounds: each says where a random number of its
 * own is to be found, reads those of all others, and says whether it has
 * found them, and may write as well. All of them have, or none reads.
 *
 * Each read fetches that number, too, in one call with the bytes: a process
 * that has got the number of one that died has another there, so that its
 * memory is never taken for the peer's. Before a write it is fetched alone.
 *
 * A rank whose team fails says so (`gone`) before its caller has the buffers
 * back: what was read from there by then is good, all else is dropped. Who
 * writes says where to, first, so that the other waits for the end of that. One
 * that is stopped between that word and its write would still come when it is
 * continued; so each write begins, in the same call of the kernel, with a byte
 * for the gate, a page of the other's, which is closed when its team fails.
 *
 * A read is cut into chunks: between them a rank sees that a peer has died,
 * that its deadline is over, or that it is in a call that must not block. What
 * the kernel refuses is mostly a peer that has just died; so it is asked again
 * for a while, until whoever watches says so. */

#include "config.h"

#include "lib/coll/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"

#define CHUNK ((size_t)1 << 20)
/* After a death, before it is known on the node. */
#define REFUSED_NS ((int64_t)2 * 1000 * 1000 * 1000)

/* For the end of a chunk, of a peer that may be off its core; one that was
 * killed in the midst of it never says so. */
#define LEAVE_NS ((int64_t)1000 * 1000 * 1000)

#define GATE ((size_t)4096) /* the least that can be closed */

#define MEET_SAYS 0 /* rounds */
#define MEET_FOUND 1

void hb_cma_setup(struct hb_coll_engine *e)
{
    struct hb_cma_card *c = &e->card;
    c->pid = (int32_t)getpid();
    c->cookie_at = (uint64_t)(uintptr_t)&c->cookie;
    if (getrandom(&c->cookie, sizeof c->cookie, GRND_NONBLOCK) !=
        sizeof c->cookie) {
        c->cookie = (uint64_t)hb_now_ns() ^ (uint64_t)c->pid << 32;
    }
}

/* Where Yama lets a process's ancestors alone, its siblings may, too: what its
 * parent has started. It takes the place of whom the program has let in, so
 * it is done where ranks are about to read each other, and nowhere else. */
static void let_peers_in(struct hb_coll_engine *e)
{
#ifdef PR_SET_PTRACER
    char scope = '0';
    pid_t parent = getppid();
    if (e->peers_let_in || parent <= 1) { /* it is all of the machine's */
        return;
    }
    e->peers_let_in = true;
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, &scope, 1) == 1 && scope == '1') {
        (void)prctl(PR_SET_PTRACER, (unsigned long)parent, 0, 0, 0);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
#endif
}

/* Bytes, maybe fewer than n; negative: errno. */
static ssize_t read_from(const struct hb_cma_card *c, char *to, uint64_t from,
                         size_t n)
{
    uint64_t cookie = 0;
    struct iovec mine[2] = {{&cookie, sizeof cookie}, {to, n}};
    struct iovec his[2] = {
        {(void *)(uintptr_t)c->cookie_at, sizeof cookie}, /* NOLINT */
        {(void *)(uintptr_t)from, n}}; /* NOLINT */
    unsigned long parts = n > 0 ? 2 : 1;
    ssize_t got = process_vm_readv(c->pid, mine, parts, his, parts, 0);
    if (got < 0) {
        return -errno;
    }
    if (got < (ssize_t)sizeof cookie || cookie != c->cookie) {
        return -ESRCH;
    }
    got -= (ssize_t)sizeof cookie;
    return got > 0 || n == 0 ? got : -EFAULT;
}

/* A filter of system calls may let through the one and not the other. */
static bool may_write(const struct hb_cma_card *own)
{
    char from = 1, to = 0;
    struct iovec mine = {&from, 1}, there = {&to, 1};
    return process_vm_writev(own->pid, &mine, 1, &there, 1, 0) == 1 && to == 1;
}

/* The rounds before the first call */

/* Without a gate this rank cannot be reached, and so all are copied. */
static struct hb_cma_card card_of(struct hb_coll_team *t)
{
    struct hb_cma_card card = t->engine->card;
    t->cma.gate = mmap(NULL, GATE, PROT_READ | PROT_WRITE,
                       /* cppcheck-suppress invalidFunctionArg */
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    t->cma.gate = t->cma.gate != MAP_FAILED ? t->cma.gate : NULL;
    card.gate_at = (uint64_t)(uintptr_t)t->cma.gate;
    card.pid = t->cma.gate != NULL ? card.pid : 0;
    return card;
}

static int meet_put(struct hb_coll_team *t, struct hb_op *op)
{
    uint8_t *bytes = hb_shm_cell(t, t->me, t->round + 1)->bytes;
    op->from = HB_ALL;
    if (op->k == MEET_SAYS) {
        let_peers_in(t->engine);
        struct hb_cma_card card = card_of(t);
        memcpy(bytes, &card, sizeof card);
    } else {
        bytes[0] = t->cma.good;
    }
    return HB_ALL;
}

static void meet_get(struct hb_coll_team *t, struct hb_op *op)
{
    bool good = op->k == MEET_FOUND || may_write(&t->engine->card);
    for (int j = 0; j < t->p; j++) {
        const uint8_t *bytes = hb_shm_cell(t, j, t->round)->bytes;
        if (op->k == MEET_FOUND) {
            good = good && bytes[0] == 1;
            continue;
        }
        struct hb_cma_card *card = &t->cma.card[j];
        memcpy(card, bytes, sizeof *card);
        good = good && (j == t->me || read_from(card, NULL, 0, 0) == 0);
    }
    t->cma.good = good;
}

static const struct hb_plan meet = {meet_put, meet_get};

int hb_cma_meet(struct hb_coll_team *t, const struct hb_op *op)
{
    struct hb_op *m = &t->cma.meet;
    if (HB_LIKELY(t->cma.state != HB_CMA_UNKNOWN)) {
        return HPCBOOT_OK;
    }
    if (m->plan == NULL) {
        *m = (struct hb_op){.plan = &meet, .coll = op->coll, .rounds = 2,
                            .sign = op->sign, .word = op->word,
                            .loose = op->loose};
    }
    int rc = hb_shm_step(t, m);
    if (rc == HPCBOOT_OK) {
        t->cma.state = t->cma.good ? HB_CMA_YES : HB_CMA_NO;
    }
    return rc;
}

/* Reading */

/* Memory of a device can be mapped, and yet not be read by others; its first
 * and last byte tell. Who sends from the same buffer again asks no more. Nobody
 * is let to a process that has changed its user, or asked for no core files,
 * since its team tried. */
bool hb_cma_is_readable(struct hb_coll_team *t, const void *at, size_t bytes)
{
    struct hb_cma_team *c = &t->cma;
    uintptr_t begin = (uintptr_t)at;
    char ends[2];
    if (bytes == 0) {
        return true;
    }
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1) {
        return false;
    }
    for (unsigned i = 0; i < HB_CMA_OWN; i++) {
        if (begin >= c->own[i].at && bytes <= c->own[i].bytes &&
            begin - c->own[i].at <= c->own[i].bytes - bytes) {
            return true;
        }
    }
    struct iovec mine = {ends, sizeof ends};
    struct iovec both[2] = {{(void *)begin, 1}, /* NOLINT */
                            {(void *)(begin + bytes - 1), 1}}; /* NOLINT */
    if (process_vm_readv(t->engine->card.pid, &mine, 1, both, 2, 0) != 2) {
        return false;
    }
    c->own[c->next_own].at = begin;
    c->own[c->next_own].bytes = bytes;
    c->next_own = (c->next_own + 1) % HB_CMA_OWN;
    return true;
}

/* What a wait would look at is looked at by who waits; engine.c. */
int hb_cma_look_up(struct hb_coll_team *t)
{
    t->want = -1;
    return HB_AGAIN;
}

bool hb_cma_must_look(const struct hb_coll_team *t, const struct hb_op *op)
{
    return t->first != NULL ||
           atomic_load_explicit(&t->engine->page->changes,
                                memory_order_acquire) != t->changes_seen ||
           (op->deadline_ns > 0 && hb_now_ns() > op->deadline_ns);
}

static int refused(struct hb_coll_team *t, struct hb_op *op, int j,
                   uint64_t from, int code)
{
    struct hb_cma_op *c = &op->cma;
    int64_t now = hb_now_ns();
    /* It fails before others have heard why, and has freed its buffer. */
    code = atomic_load(&t->ranks[j].gone) ? ECANCELED : code;
    bool lives = code == EFAULT &&
                 read_from(&t->cma.card[j], NULL, 0, 0) == 0;
    c->refused_ns = c->refused_ns == 0 ? now : c->refused_ns;
    if (!lives && now - c->refused_ns < REFUSED_NS) {
        return hb_cma_look_up(t);
    }
    if (code == ECANCELED) {
        return hb_fail(&t->step_error, HPCBOOT_ERR_SYSTEM,
                       "%s: rank %d has given the call up while rank %d was "
                       "at its buffer", hb_coll_name(op->coll), t->local[j],
                       t->rank);
    }
    if (code == ESRCH) {
        return hb_fail(&t->step_error, HPCBOOT_ERR_PEER_DEAD,
                       "%s: rank %d has ended; its memory cannot be read",
                       hb_coll_name(op->coll), t->local[j]);
    }
    return hb_fail(&t->step_error, HPCBOOT_ERR_SYSTEM,
                   "%s: rank %d cannot reach a buffer of rank %d, at %#llx of "
                   "its memory: %s (HPCBOOT_COLL_TUNE=%s=whole avoids it)",
                   hb_coll_name(op->coll), t->rank, t->local[j],
                   (unsigned long long)from, strerror(code),
                   hb_coll_name(op->coll));
}

int hb_cma_left(struct hb_coll_team *t, struct hb_op *op, int j)
{
    return refused(t, op, j, 0, ECANCELED);
}

/* The bytes were read while the peer was in the call, or they are nothing. */
static int whole(struct hb_coll_team *t, struct hb_op *op, int j)
{
    if (atomic_load(&t->ranks[j].gone)) {
        return hb_cma_left(t, op, j);
    }
    op->cma.done = 0;
    return HPCBOOT_OK;
}

static int move(struct hb_coll_team *t, struct hb_op *op, int j, char *own,
                uint64_t his, size_t bytes,
                ssize_t (*some)(struct hb_coll_team *, int, char *, uint64_t,
                                size_t))
{
    struct hb_cma_op *c = &op->cma;
    while (c->done < bytes) {
        size_t n = hb_min(bytes - c->done, CHUNK);
        ssize_t got = some(t, j, own + c->done, his + c->done, n);
        if (got < 0) {
            return refused(t, op, j, his + c->done, (int)-got);
        }
        c->refused_ns = 0;
        c->done += (size_t)got;
        t->moves++;
        if (c->done < bytes && hb_cma_must_look(t, op)) {
            return hb_cma_look_up(t);
        }
    }
    return bytes > 0 ? whole(t, op, j) : HPCBOOT_OK;
}

static ssize_t read_some(struct hb_coll_team *t, int j, char *own,
                         uint64_t his, size_t n)
{
    return read_from(&t->cma.card[j], own, his, n);
}

int hb_cma_read(struct hb_coll_team *t, struct hb_op *op, int j, char *to,
                uint64_t from, size_t bytes)
{
    return move(t, op, j, to, from, bytes, read_some);
}

static ssize_t write_some(struct hb_coll_team *t, int j, char *own,
                          uint64_t his, size_t n)
{
    const struct hb_cma_card *c = &t->cma.card[j];
    char knock = 0;
    struct iovec mine[2] = {{&knock, 1}, {own, n}};
    struct iovec there[2] = {
        {(void *)(uintptr_t)c->gate_at, 1}, /* NOLINT */
        {(void *)(uintptr_t)his, n}}; /* NOLINT */
    ssize_t rc = read_from(c, NULL, 0, 0);
    if (rc < 0) {
        return rc;
    }
    /* The other waits for the end of this, but not for ever: the less there is
     * in which a stopped process may stay, the better. */
    rc = -ECANCELED;
    atomic_store(&t->ranks[t->me].writes_to, j + 1);
    if (!atomic_load(&t->ranks[j].gone)) {
        rc = process_vm_writev(c->pid, mine, 2, there, 2, 0);
        rc = rc == -1 ? -errno : rc <= 1 ? -EFAULT : rc - 1;
    }
    atomic_store(&t->ranks[t->me].writes_to, 0);
    return rc;
}

int hb_cma_write(struct hb_coll_team *t, struct hb_op *op, int j, uint64_t to,
                 const char *from, size_t bytes)
{
    return move(t, op, j, (char *)(uintptr_t)from, to, bytes, write_some);
}

/* A process of another PID namespace may be any; it is taken to live. */
static bool still_writes(const struct hb_coll_team *t, int j)
{
    const struct hb_shm_rank *r = &t->ranks[j];
    int to = atomic_load(&r->writes_to);
    if (to != t->me + 1 && to != HB_WRITES_HEAPS) {
        return false;
    }
    return r->pid_space != t->engine->config.pid_space ||
           kill(atomic_load(&r->pid), 0) == 0 || errno != ESRCH;
}

void hb_cma_leave(struct hb_coll_team *t)
{
    int64_t end = hb_now_ns() + LEAVE_NS;
    atomic_store(&t->ranks[t->me].gone, 1);
    hb_wait_fence_all(); /* for those that write in the heap */
    if (t->cma.gate != NULL) {
        (void)mprotect(t->cma.gate, GATE, PROT_NONE);
    }
    for (int j = 0; j < t->p; j++) {
        while (j != t->me && still_writes(t, j) && hb_now_ns() < end) {
            sched_yield();
        }
    }
}

/* A gate that somebody may still knock at stays, closed: the program must not
 * get its place for something else. It takes no memory. */
void hb_cma_teardown(struct hb_coll_team *t)
{
    bool sound = t->error.code == 0 && t->first == NULL;
    free(t->cma.room);
    t->cma.room = NULL;
    t->cma.room_size = 0;
    if (t->cma.gate != NULL && (sound || t->cma.state != HB_CMA_YES)) {
        (void)munmap(t->cma.gate, GATE);
        t->cma.gate = NULL;
    }
}
