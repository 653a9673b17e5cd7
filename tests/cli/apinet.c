/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Messages between hosts: `apinet ways`, `apinet star`, `apinet until`, `apinet
 * full`, `apinet rails [until]`, `apinet brief`, `apinet much`, `apinet late
 * SECONDS`, `apinet busy SECONDS`, `apinet idle SECONDS`, `apinet waive`,
 * `apinet turns [BYTES]`, `apinet soak SECONDS SEED`.
 *
 * ways: each rank sends to each other one and says how that went. until: round
 * the ring, short and long ones in turn, until it fails, and why. full: rank 1
 * takes more than the system holds for it, reads only its beginning, and never
 * calls again; rank 0 waits until that fails, and says why. rails: two
 * ranks, as star does it, once both use more than one network. brief: the same,
 * and until, with nothing that is long. much: rails, and more long ones. waive:
 * requests of two ranks are given up before, while and after their messages
 * come. soak: in each turn all ranks send to the rank that is D further, with D
 * and the size drawn from SEED, and look at every byte; the last lines say if
 * descriptors or memory have grown since the first tenth of the time. */
#include "config.h"

#include "tests/cli/apitest.h"

#include <dirent.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MOST ((size_t)1 << 20)
#define TURNS_BETWEEN 64 /* looks at the clock */
#define RAILS_WITHIN 60  /* seconds */
#define FULL 32          /* messages of MOST */

static char *out, *in;

/* The same at all ranks: whether rank 0's clock has come so far. */
static int is_over(const struct timespec *begin, double seconds)
{
    struct timespec now;
    int over;

    clock_gettime(CLOCK_MONOTONIC, &now);
    over = (double)(now.tv_sec - begin->tv_sec) +
               (double)(now.tv_nsec - begin->tv_nsec) / 1e9 > seconds;
    MUST(hpcboot_bcast(&over, sizeof over, HPCBOOT_BYTE, 0, hpcboot_world(),
                       &err));
    return over;
}

static int shift(int to, int from, size_t size)
{
    struct hpcboot_request *r[2] = {NULL, NULL};
    int rc = hpcboot_irecv(hpcboot_world(), from, 1, in, size, NULL, &r[0],
                           &err);

    if (rc == 0) {
        rc = hpcboot_isend(hpcboot_world(), to, 1, out, size, &r[1], &err);
    }
    return rc == 0 ? hpcboot_wait_all(r, 2, 0, &err) : rc;
}

static void ways(void)
{
    int me = hpcboot_rank(), n = hpcboot_size();

    for (int d = 1; d < n; d++) {
        struct hpcboot_transport t = HPCBOOT_TRANSPORT_INIT;

        MUST(shift((me + d) % n, (me + n - d) % n, 8));
        MUST(hpcboot_transport_of((me + d) % n, &t, &err));
        printf("rank %d to %d: %s %s\n", me, (me + d) % n, t.name, t.detail);
    }
}

static void until(size_t most)
{
    int me = hpcboot_rank(), n = hpcboot_size(), rc = 0;

    for (int i = 0; rc == 0; i++) {
        rc = shift((me + 1) % n, (me + n - 1) % n, i % 2 == 0 ? 8 : most);
        if (i == 10) {
            printf("rank %d is at it\n", me);
            fflush(stdout);
        }
    }
    printf("rank %d hears: %d, %s\n", me, rc, err.text);
    fflush(stdout);
    _exit(0);
}

static void full(void)
{
    struct hpcboot_request *r[FULL] = {NULL};

    memset(out, 1, MOST);
    for (int i = 0; i < FULL; i++) {
        if (hpcboot_rank() == 0) {
            MUST(hpcboot_isend(hpcboot_world(), 1, i, out, MOST, &r[i], &err));
        } else {
            MUST(hpcboot_irecv(hpcboot_world(), 0, i, in, MOST, NULL, &r[i],
                               &err));
        }
    }
    if (hpcboot_rank() == 0) {
        printf("rank 0 hears: %d, ", hpcboot_wait_all(r, FULL, 0, &err));
        printf("%s\n", err.text);
        fflush(stdout);
        _exit(0);
    }
    while (in[0] == 0) {
        MUST(hpcboot_progress(&err));
    }
    for (;;) {
        (void)pause();
    }
}

/* Rank 0 with each of the others. */
static void star(void)
{
    int me = hpcboot_rank(), n = hpcboot_size();

    for (int i = 1; i < n; i++) {
        struct hpcboot_transport t = HPCBOOT_TRANSPORT_INIT;

        if (me != 0 && me != i) {
            continue;
        }
        MUST(shift(me == 0 ? i : 0, me == 0 ? i : 0, MOST));
        MUST(hpcboot_transport_of(me == 0 ? i : 0, &t, &err));
        printf("rank %d to %d: %s %s\n", me, me == 0 ? i : 0, t.name,
               t.detail);
    }
}

/* Rank 0 calls all others, one after the other, and nobody calls it. */
static void turns(size_t size)
{
    int me = hpcboot_rank();

    for (int i = 1; i < hpcboot_size(); i++) {
        if (me == 0) {
            MUST(hpcboot_send(hpcboot_world(), i, 1, out, size, &err));
            MUST(hpcboot_recv(hpcboot_world(), i, 1, in, size, NULL, &err));
        } else if (me == i) {
            MUST(hpcboot_recv(hpcboot_world(), 0, 1, in, size, NULL, &err));
            MUST(hpcboot_send(hpcboot_world(), 0, 1, out, size, &err));
        }
    }
}

/* Connections beside the first one take their time, and each end knows its own
 * state alone. */
static void rails(size_t most)
{
    struct hpcboot_transport t = HPCBOOT_TRANSPORT_INIT;
    int me = hpcboot_rank(), peer = 1 - me;
    struct timespec begin;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        MUST(shift(peer, peer, most));
        MUST(hpcboot_transport_of(peer, &t, &err));
        out[0] = strstr(t.detail, " + ") != NULL;
        MUST(shift(peer, peer, 1));
    } while (!(out[0] && in[0]) && !is_over(&begin, RAILS_WITHIN));
    printf("rank %d to %d: %s %s\n", me, peer, t.name, t.detail);
}

static void much(void)
{
    int peer = 1 - hpcboot_rank();

    rails(MOST);
    for (int i = 0; i < 2 * FULL; i++) {
        MUST(shift(peer, peer, MOST));
    }
}

/* All others compute before they first look at the network. */
static void late(unsigned seconds)
{
    int me = hpcboot_rank(), n = hpcboot_size(), word = 42;

    if (me != 0) {
        sleep(seconds);
        MUST(hpcboot_recv(hpcboot_world(), 0, 1, &word, sizeof word, NULL,
                          &err));
        printf("rank %d has got %d\n", me, word);
        return;
    }
    for (int to = 1; to < n; to++) {
        MUST(hpcboot_send(hpcboot_world(), to, 1, &word, sizeof word, &err));
    }
}

/* Rank 1 computes when the beginning of a broadcast has come; rank 0 gives up
 * something else meanwhile. */
static void busy(unsigned seconds)
{
    struct hpcboot_coll_args brief = HPCBOOT_COLL_ARGS_INIT;
    struct hpcboot_request *r = NULL;
    struct hpcboot_team *aside = NULL;
    size_t size = FULL * MOST;
    char *buffer = calloc(1, size);

    HOLDS(buffer != NULL);
    brief.coll = HPCBOOT_COLL_BARRIER; /* its messages are empty */
    brief.timeout_ms = 1000;
    MUST(hpcboot_team_split(hpcboot_world(), 0, 0, &aside, &err));
    memset(buffer, hpcboot_rank() == 0, size);
    MUST(hpcboot_ibcast(buffer, size, HPCBOOT_BYTE, 0, hpcboot_world(), &r,
                        &err));
    if (hpcboot_rank() == 1) {
        while (buffer[0] == 0) {
            MUST(hpcboot_progress(&err));
        }
        sleep(seconds);
    } else {
        HOLDS(hpcboot_coll(aside, &brief, &err) == HPCBOOT_ERR_TIMED_OUT);
    }
    MUST(hpcboot_wait(&r, 0, &err));
    HOLDS(buffer[size - 1] == 1);
    printf("rank %d has all of it\n", hpcboot_rank());
    free(buffer);
}

/* All others wait for a message, and for a barrier, and say what that cost. */
static void idle(unsigned seconds)
{
    int me = hpcboot_rank(), n = hpcboot_size(), word = 42;
    struct rusage before, after;

    getrusage(RUSAGE_SELF, &before);
    for (int way = 0; way < 2; way++) {
        if (me == 0) {
            sleep(seconds);
        }
        for (int to = 1; way == 0 && me == 0 && to < n; to++) {
            MUST(hpcboot_send(hpcboot_world(), to, 1, &word, sizeof word,
                              &err));
        }
        if (way == 0 && me != 0) {
            MUST(hpcboot_recv(hpcboot_world(), 0, 1, &word, sizeof word, NULL,
                              &err));
        } else if (way == 1) {
            MUST(hpcboot_barrier(hpcboot_world(), &err));
        }
    }
    getrusage(RUSAGE_SELF, &after);
    printf("rank %d has waited %u ms by %ld ms of CPU\n", me, 2000 * seconds,
           (after.ru_utime.tv_sec - before.ru_utime.tv_sec +
            after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000 +
               (after.ru_utime.tv_usec - before.ru_utime.tv_usec +
                after.ru_stime.tv_usec - before.ru_stime.tv_usec) / 1000);
}

static int descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (d != NULL && readdir(d) != NULL) {
        n++;
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

static long resident_kb(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL || fscanf(f, "%*d %ld", &pages) != 1) {
        pages = -1;
    }
    if (f != NULL) {
        fclose(f);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* One turn; all ranks draw the same. */
static void turn(uint64_t *state, uint64_t number)
{
    int me = hpcboot_rank(), n = hpcboot_size();
    int d = n > 1 ? 1 + (int)(next(state) % (uint64_t)(n - 1)) : 0;
    size_t size = next(state) % ((size_t)1 << next(state) % 21);
    int from = (me + n - d) % n;

    memset(out, (int)(number + (uint64_t)me) & 0xff, size);
    MUST(shift((me + d) % n, from, size));
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)in[i] != (unsigned char)(number + (uint64_t)from)) {
            fprintf(stderr, "rank %d: byte %zu of %zu from %d is wrong\n", me,
                    i, size, from);
            exit(1);
        }
    }
}

static void soak(double seconds, uint64_t state)
{
    struct timespec begin;
    uint64_t number = 0;
    int fds = 0;
    long kb = 0;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int part = 0; part < 2; part++) {
        do {
            for (int i = 0; i < TURNS_BETWEEN; i++) {
                turn(&state, number++);
            }
        } while (!is_over(&begin, part == 0 ? seconds / 10 : seconds));
        if (part == 0) {
            fds = descriptors();
            kb = resident_kb();
        }
    }
    printf("rank %d: %llu turns, %d descriptors more, %ld kB more\n",
           hpcboot_rank(), (unsigned long long)number, descriptors() - fds,
           resident_kb() - kb);
}

static void is_all(const char *data, size_t size, char c)
{
    for (size_t i = 0; i < size; i++) {
        HOLDS(data[i] == c);
    }
}

/* Rank 0 gives receives up: one whose message has not been sent, one whose
 * message comes, and the last for good. */
static void waive_receives(size_t size)
{
    struct hpcboot_team *world = hpcboot_world();
    struct hpcboot_request *r[2];

    MUST(hpcboot_irecv(world, 1, 1, out, MOST, NULL, &r[0], &err));
    MUST(hpcboot_irecv(world, HPCBOOT_ANY_SOURCE, HPCBOOT_ANY_TAG, in, MOST,
                       NULL, &r[1], &err));
    MUST(hpcboot_request_free(&r[0], &err));
    HOLDS(r[0] == NULL);
    memset(out, 'x', MOST);
    MUST(hpcboot_send(world, 1, 2, NULL, 0, &err));
    MUST(hpcboot_wait(&r[1], 0, &err));
    is_all(in, size, 'a');
    is_all(out, MOST, 'x');
    for (int i = 0; i < 100; i++) { /* at whatever moment it is */
        MUST(hpcboot_irecv(world, 1, 1, out, MOST, NULL, &r[0], &err));
        for (int k = 0; k < i; k++) {
            MUST(hpcboot_progress(&err));
        }
        MUST(hpcboot_request_free(&r[0], &err));
        memset(out, 'x', MOST);
        MUST(hpcboot_recv(world, 1, 1, in, MOST, NULL, &err));
        is_all(in, size, 'b');
        is_all(out, MOST, 'x');
    }
    MUST(hpcboot_irecv(world, 1, 3, out, MOST, NULL, &r[0], &err));
    MUST(hpcboot_request_free(&r[0], &err));
}

/* Its buffer is its own again at once. */
static void waive_sends(size_t size)
{
    struct hpcboot_team *world = hpcboot_world();
    struct hpcboot_request *r;

    MUST(hpcboot_recv(world, 0, 2, NULL, 0, NULL, &err));
    memset(out, 'a', size);
    MUST(hpcboot_send(world, 0, 1, out, size, &err));
    for (int i = 0; i < 100; i++) {
        memset(out, 'b', size);
        MUST(hpcboot_isend(world, 0, 1, out, size, &r, &err));
        MUST(hpcboot_request_free(&r, &err));
        HOLDS(r == NULL);
        memset(out, 'c', size);
    }
}

static void waive(void)
{
    static const size_t sizes[] = {1, 100, 5000, 70000, MOST};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (hpcboot_rank() == 0) {
            waive_receives(sizes[i]);
        } else if (hpcboot_rank() == 1) {
            waive_sends(sizes[i]);
        }
        MUST(hpcboot_barrier(hpcboot_world(), &err));
    }
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    out = calloc(1, MOST);
    in = calloc(1, MOST);
    MUST(hpcboot_init(NULL, &err));
    if (strcmp(word, "ways") == 0) {
        ways();
    } else if (strcmp(word, "until") == 0) {
        until(MOST);
    } else if (strcmp(word, "full") == 0) {
        full();
    } else if (strcmp(word, "turns") == 0) {
        turns(argc > 2 ? (size_t)atol(argv[2]) : 8);
    } else if (strcmp(word, "star") == 0) {
        star();
    } else if (strcmp(word, "rails") == 0) {
        rails(MOST);
        if (argc > 2) {
            until(MOST);
        }
    } else if (strcmp(word, "brief") == 0) {
        rails(8);
        until(8);
    } else if (strcmp(word, "much") == 0) {
        much();
    } else if (strcmp(word, "waive") == 0) {
        waive();
    } else if (strcmp(word, "idle") == 0 && argc > 2) {
        idle((unsigned)atoi(argv[2]));
    } else if (strcmp(word, "late") == 0 && argc > 2) {
        late((unsigned)atoi(argv[2]));
    } else if (strcmp(word, "busy") == 0 && argc > 2) {
        busy((unsigned)atoi(argv[2]));
    } else if (argc > 3) {
        soak(atof(argv[2]), strtoull(argv[3], NULL, 10));
    }
    MUST(hpcboot_finalize(&err));
    free(out);
    free(in);
    return 0;
}
