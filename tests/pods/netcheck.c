/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Collectives drawn at random against the reference of the unit tests, for
 * ranks that may be on many hosts.
 *
 *   netcheck cases SEED N     N calls: blocking, started, persistent
 *   netcheck seconds SEED N   for N seconds, and for N more, in which memory
 *                             and descriptors must not grow; where they did,
 *                             for N more, see seconds()
 *   netcheck death SEED N     the last rank dies; the others shrink and go on
 *
 * All ranks draw the same numbers, so that all make the same calls. */
#include "config.h"

#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <hpcboot/hpcboot.h>

#include "coll_ref.h"
#include "coll_world.h"

#define TEAM_EVERY 20 /* cases on a team of its own */
#define HEAP_GROWTH_KIB 512 /* see more() */
#define GROWTH_KIB 32768
#define MAPPINGS_GROWTH 32
#define STRETCHES 4

static struct hpcboot_error err;
static int user_op;

const char *coll_text(const char *fmt, ...)
{
    static char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return text;
}

static void must(int rc, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "rank %d: %s: %s\n", hpcboot_rank(), what, err.text);
        exit(1);
    }
}

static bool is_float(enum hpcboot_type t)
{
    return t >= HPCBOOT_FLOAT16 && t <= HPCBOOT_DOUBLE_COMPLEX;
}

/* Folded in another order than the reference's, it has other bits. */
static bool inexact(const struct coll_case *c)
{
    return c->type == HPCBOOT_FLOAT16 || c->type == HPCBOOT_BFLOAT16 ||
           (is_float(c->type) && c->op == HPCBOOT_PROD);
}

static struct coll_case pick(int ranks, uint64_t *rng)
{
    static const size_t sizes[] = {0, 1, 8, 17, 1000, 4096, 65551, 1 << 18,
                                   1000003};
    struct coll_case c = {.ranks = ranks, .seed = coll_ref_random(rng)};
    bool scans;

    c.coll = (enum hpcboot_coll)(coll_ref_random(rng) % HPCBOOT_COLLS);
    scans = c.coll >= HPCBOOT_COLL_SCAN;
    do {
        c.op = (int)(coll_ref_random(rng) % (HPCBOOT_OPS + 1));
        c.type = (enum hpcboot_type)(coll_ref_random(rng) % HPCBOOT_TYPES);
        if (c.op == HPCBOOT_OPS) {
            c.op = HPCBOOT_OP_USER;
            c.type = HPCBOOT_BYTE;
        }
    } while ((c.op < HPCBOOT_OP_USER && !hb_coll_op_defined(c.op, c.type)) ||
             (scans && inexact(&c)));
    c.count = sizes[coll_ref_random(rng) % 9];
    c.count = c.count > 70000 && ranks > 4 ? c.count / 8 : c.count;
    c.count /= hb_coll_type_size(c.type);
    c.count &= c.op >= HPCBOOT_OP_USER ? ~(size_t)1 : ~(size_t)0;
    c.root = (int)(coll_ref_random(rng) % (uint64_t)ranks);
    c.in_place = coll_ref_random(rng) % 3 == 0 &&
                 c.coll > HPCBOOT_COLL_BCAST;
    return c;
}

/* The call, in one of its forms. */
static int call(struct hpcboot_team *team, const struct coll_case *c,
                struct coll_buffers *b, int form)
{
    struct hpcboot_request *r = NULL;
    int rc;

    if (form == 0) {
        return hpcboot_coll(team, &b->args, &err);
    }
    if (form == 1) {
        rc = hpcboot_coll_start(team, &b->args, &r, &err);
        return rc < 0 ? rc : hpcboot_wait(&r, 0, &err);
    }
    rc = hpcboot_coll_init(team, &b->args, &r, &err);
    for (int i = 0; rc >= 0 && i < 2; i++) {
        coll_ref_fill(c, hpcboot_team_rank(team), b);
        rc = hpcboot_start(r, &err);
        rc = rc < 0 ? rc : hpcboot_wait(&r, 0, &err);
    }
    if (rc >= 0) {
        rc = hpcboot_request_free(&r, &err);
    }
    return rc;
}

static void one(struct hpcboot_team *team, uint64_t *rng)
{
    struct coll_case c = pick(hpcboot_team_size(team), rng);
    int me = hpcboot_team_rank(team), form = (int)(coll_ref_random(rng) % 3);
    struct coll_buffers b;
    const char *wrong;

    coll_ref_make(&c, me, NULL, &b);
    b.args.op = c.op >= HPCBOOT_OP_USER ? user_op : c.op;
    b.args.flags = inexact(&c) ? HPCBOOT_DETERMINISTIC : 0;
    must(call(team, &c, &b, form), hpcboot_coll_name(c.coll));
    wrong = coll_ref_compare(&c, me, &b);
    if (wrong != NULL) {
        fprintf(stderr, "rank %d of %d: %s of %zu %s, %s, root %d, in place "
                "%d, form %d: %s\n", me, c.ranks, hpcboot_coll_name(c.coll),
                c.count, hb_coll_type_name(c.type), hb_coll_op_name(c.op),
                c.root, c.in_place, form, wrong);
        exit(1);
    }
    coll_ref_free(&b, false);
}

/* A team of its own for a while; the halves differ from run to run. */
static void on_a_team(uint64_t *rng)
{
    struct hpcboot_team *t = NULL;
    uint64_t bits = coll_ref_random(rng), theirs = *rng;
    int mine = (int)(bits >> hpcboot_rank() % 32 & 1);

    must(hpcboot_team_split(hpcboot_world(), mine, hpcboot_rank(), &t, &err),
         "split");
    theirs += (uint64_t)mine;
    for (int i = 0; i < 3; i++) {
        one(t, &theirs);
    }
    must(hpcboot_team_destroy(t, &err), "destroy");
}

static void cases(struct hpcboot_team *team, uint64_t *rng, int n)
{
    for (int i = 1; i <= n; i++) {
        one(team, rng);
        if (i % TEAM_EVERY == 0) {
            on_a_team(rng);
        }
    }
}

/* ---- growth ---- */

struct holding {
    long heap_kib; /* 0 under ASan, which has an allocator of its own */
    long resident_kib;
    int descriptors;
    int mappings;
};

static int entries_of(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;

    while (d != NULL && readdir(d) != NULL) {
        n++;
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f != NULL) {
        if (fscanf(f, "%*d %ld", &pages) != 1) {
            pages = 0;
        }
        fclose(f);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static struct holding held(void)
{
    struct mallinfo2 heap = mallinfo2();

    return (struct holding){
        .heap_kib = (long)((heap.uordblks + heap.hblkhd) / 1024),
        .resident_kib = resident_kib(),
        .descriptors = entries_of("/proc/self/fd"),
        .mappings = entries_of("/proc/self/map_files"),
    };
}

/* The margins: what the heap keeps of small blocks for their next use, and
 * messages that nobody has asked for yet; calls that happened to need the most
 * at once; long blocks of these, a mapping each. */
static bool more(const struct holding *now, const struct holding *before)
{
    return now->heap_kib > before->heap_kib + HEAP_GROWTH_KIB ||
           now->resident_kib > before->resident_kib + GROWTH_KIB ||
           now->mappings > before->mappings + MAPPINGS_GROWTH ||
           now->descriptors > before->descriptors;
}

/* Rank 0's clock says when it is time. */
static bool goes_on(const struct timespec *until)
{
    struct timespec now;
    int go;

    clock_gettime(CLOCK_MONOTONIC, &now);
    go = now.tv_sec < until->tv_sec;
    must(hpcboot_bcast(&go, 1, HPCBOOT_INT32, 0, hpcboot_world(), &err),
         "bcast");
    return go;
}

static int run_for(uint64_t *rng, int n)
{
    struct timespec until;
    int done = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += n;
    while (goes_on(&until)) {
        cases(hpcboot_world(), rng, TEAM_EVERY);
        done += TEAM_EVERY;
    }
    return done;
}

static void tell_held(FILE *to, const char *when, const struct holding *h)
{
    fprintf(to, "rank %d %s: %ld KiB of heap, %ld KiB resident, %d mappings, "
            "%d descriptors\n", hpcboot_rank(), when, h->heap_kib,
            h->resident_kib, h->mappings, h->descriptors);
}

/* One stretch of calls, and whether a rank holds more after it. All ranks get
 * the same answer, for all to go on or none. */
static bool grew(uint64_t *rng, int n, int *done)
{
    struct holding now, before = held();
    int mine, any = 0;

    *done += run_for(rng, n);
    now = held();
    tell_held(stdout, "before", &before);
    tell_held(stdout, "now", &now);
    mine = more(&now, &before);
    if (mine) {
        tell_held(stderr, "grows", &now);
    }
    must(hpcboot_allreduce(&mine, &any, 1, HPCBOOT_INT32, HPCBOOT_MAX,
                           hpcboot_world(), &err), "allreduce");
    return any != 0;
}

/* A leak grows in every stretch. What is kept for the calls that need the most
 * at once grows when such calls are first drawn, and few are drawn in a
 * stretch when the machine has much else to do. */
static int seconds(uint64_t *rng, int n)
{
    int done = run_for(rng, n), stretch = 0;

    while (grew(rng, n, &done)) {
        if (++stretch == STRETCHES) {
            exit(1);
        }
    }
    return done;
}

/* ---- a death ---- */

static void die(int signal)
{
    (void)signal;
    kill(getpid(), SIGKILL);
}

static void death(uint64_t *rng, int n)
{
    struct hpcboot_team *t = NULL;
    struct itimerval timer = {.it_value = {0, 100000}};
    double in = 1, sum = 0;
    int rc = 0;

    if (hpcboot_rank() == hpcboot_size() - 1) {
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &timer, NULL);
    }
    while (rc == 0) {
        rc = hpcboot_allreduce(&in, &sum, 1, HPCBOOT_DOUBLE, HPCBOOT_SUM,
                               hpcboot_world(), &err);
    }
    if (rc != HPCBOOT_ERR_PEER_DEAD) {
        must(rc, "allreduce");
    }
    must(hpcboot_team_shrink(hpcboot_world(), &t, &err), "shrink");
    for (int i = 0; i < n; i++) {
        one(t, rng);
    }
    if (hpcboot_team_rank(t) == 0) {
        printf("%d of %d go on\n", hpcboot_team_size(t), hpcboot_size());
    }
}

int main(int argc, char **argv)
{
    uint64_t rng;
    int n, done = 0;

    if (argc != 4) {
        return 2;
    }
    rng = strtoull(argv[2], NULL, 10);
    n = atoi(argv[3]);
    must(hpcboot_init(NULL, &err), "init");
    user_op = hpcboot_op_create(coll_ref_user.fn, coll_ref_user.arg, 0,
                                coll_ref_user.element_bytes, &err);
    must(user_op, "op_create");
    if (strcmp(argv[1], "cases") == 0) {
        cases(hpcboot_world(), &rng, n);
        done = n;
    } else if (strcmp(argv[1], "seconds") == 0) {
        done = seconds(&rng, n);
    } else {
        death(&rng, n);
        done = n;
    }
    if (hpcboot_rank() == 0) {
        printf("%d calls on %d ranks\n", done, hpcboot_size());
    }
    must(hpcboot_finalize(&err), "finalize");
    return 0;
}
