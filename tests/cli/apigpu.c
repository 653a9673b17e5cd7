/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Every call with buffers in a device's memory gives what it gives with the
 * host's: `apigpu LIBRARY`, a CUDA driver: a real one, or that of
 * tests/fakes/gpudriver.c. `apigpu LIBRARY leave`: requests under way are left
 * to hpcboot_finalize. `once`, `several`, `starts`: one call, four at a time
 * again and again, and a persistent request; `mixed`: four at a time after many
 * short ones. */
#include "config.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "tests/cli/apitest.h"

#define MOST_RANKS 8
#define GAP 3u
#define NOWHERE ((size_t)1 << 50) /* of an empty block */
#define TAIL 64u       /* elements behind a buffer that nobody may touch */
#define ARENA ((size_t)8 << 20)
#define COUNTS {0, 1, 1000, 70000}

/* ---- the driver ---- */

static int (*cu_init)(unsigned);
static int (*cu_device)(int *device, int ordinal);
static int (*cu_retain)(void **context, int device);
static int (*cu_current)(void *context);
static int (*cu_alloc)(uint64_t *out, size_t bytes);
static int (*cu_to_device)(uint64_t to, const void *from, size_t bytes);
static int (*cu_to_host)(void *to, uint64_t from, size_t bytes);

/* A fake has ways of its own for us, which always work. */
static void find(void *lib, const char *fake, const char *name, void *to)
{
    void *symbol = fake != NULL ? dlsym(lib, fake) : NULL;

    symbol = symbol != NULL ? symbol : dlsym(lib, name);
    HOLDS(symbol != NULL);
    memcpy(to, &symbol, sizeof symbol);
}

static void open_driver(const char *library)
{
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL), *context;
    int device = 0;

    if (lib == NULL) {
        fail(dlerror());
    }
    find(lib, NULL, "cuInit", &cu_init);
    find(lib, NULL, "cuDeviceGet", &cu_device);
    find(lib, NULL, "cuDevicePrimaryCtxRetain", &cu_retain);
    find(lib, NULL, "cuCtxSetCurrent", &cu_current);
    find(lib, NULL, "cuMemAlloc_v2", &cu_alloc);
    find(lib, "fake_to_device", "cuMemcpyHtoD_v2", &cu_to_device);
    find(lib, "fake_to_host", "cuMemcpyDtoH_v2", &cu_to_host);
    HOLDS(cu_init(0) == 0 && cu_device(&device, 0) == 0);
    HOLDS(cu_retain(&context, device) == 0 && cu_current(context) == 0);
}

static char *device_alloc(void)
{
    uint64_t p;

    HOLDS(cu_alloc(&p, ARENA) == 0);
    return (char *)(uintptr_t)p;
}

static void upload(char *to, const void *from, size_t bytes)
{
    HOLDS(cu_to_device((uintptr_t)to, from, bytes) == 0);
}

static void download(void *to, const char *from, size_t bytes)
{
    HOLDS(cu_to_host(to, (uintptr_t)from, bytes) == 0);
}

/* ---- collectives ---- */

static int me, n;
static char *device_send, *device_recv;
static int32_t *send, *recv, *want;
static size_t counts[MOST_RANKS], displs[MOST_RANKS];
static size_t used; /* bytes of each buffer, with a tail */

static void rows(enum hpcboot_coll coll, size_t count)
{
    for (int j = 0; j < n; j++) {
        counts[j] = count + (coll == HPCBOOT_COLL_ALLTOALLV
                                 ? (size_t)((me + j) % 3) : (size_t)j);
        displs[j] = counts[j] > 0 ? (size_t)j * (count + MOST_RANKS + GAP)
                                  : NOWHERE;
    }
}

/* Elements at send and recv, and how many at recv mean something. */
struct shape {
    size_t send, recv, defined;
};

static struct shape shape_of(struct hpcboot_coll_args *a, size_t count,
                             int in_place)
{
    size_t all = (size_t)n * count;
    size_t row = (size_t)n * (count + MOST_RANKS + GAP);
    struct shape s = {count, count, count};

    rows(a->coll, count);
    switch (a->coll) {
    case HPCBOOT_COLL_SCATTER:
        s.send = all;
        break;
    case HPCBOOT_COLL_GATHER:
    case HPCBOOT_COLL_ALLGATHER:
        s.recv = s.defined = all;
        break;
    case HPCBOOT_COLL_SCATTERV:
        s = (struct shape){row, counts[me], counts[me]};
        break;
    case HPCBOOT_COLL_GATHERV:
    case HPCBOOT_COLL_ALLGATHERV:
        s = (struct shape){counts[me], row, row};
        break;
    case HPCBOOT_COLL_REDUCE_SCATTER:
        s = (struct shape){row, in_place ? row : counts[me], counts[me]};
        break;
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        s = (struct shape){all, in_place ? all : count, count};
        break;
    case HPCBOOT_COLL_ALLTOALL:
        s = (struct shape){all, all, all};
        break;
    case HPCBOOT_COLL_ALLTOALLV:
        s = (struct shape){row, row, row};
        break;
    default:
        break;
    }
    a->count = a->coll == HPCBOOT_COLL_SCATTERV ||
                       a->coll == HPCBOOT_COLL_GATHERV ||
                       a->coll == HPCBOOT_COLL_ALLGATHERV
                   ? counts[me] : count;
    a->send_counts = a->recv_counts = counts;
    a->send_displs = a->recv_displs =
        a->coll == HPCBOOT_COLL_REDUCE_SCATTER ? NULL : displs;
    return s;
}

static void fill(int32_t *p, size_t elements, int seed)
{
    for (size_t i = 0; i < elements; i++) {
        p[i] = (int32_t)(i * 7 + (size_t)(seed * 1000 + me * 100000));
    }
}

enum how { BLOCKS, WAITS, TESTS, AGAIN, HOWS };

static void run(struct hpcboot_coll_args *a, enum how how)
{
    struct hpcboot_team *w = hpcboot_world();
    struct hpcboot_request *r = NULL;
    int done = 0;

    if (how == BLOCKS) {
        MUST(hpcboot_coll(w, a, &err));
        return;
    }
    if (how == AGAIN) {
        MUST(hpcboot_coll_init(w, a, &r, &err));
        for (int i = 0; i < 2; i++) {
            if (i == 1 && a->recv == (void *)device_recv) { /* as it was */
                upload(device_recv, recv, used);
            }
            MUST(hpcboot_start(r, &err));
            MUST(hpcboot_wait(&r, 0, &err));
        }
        MUST(hpcboot_request_free(&r, &err));
        return;
    }
    MUST(hpcboot_coll_start(w, a, &r, &err));
    while (how == TESTS && !done) {
        MUST(hpcboot_test(&r, &done, &err));
    }
    MUST(hpcboot_wait(&r, 0, &err));
}

/* where: 1: send is the device's; 2: recv is */
static void once(enum hpcboot_coll coll, size_t count, int where, int in_place,
                 enum how how)
{
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    struct shape s;
    int32_t *got;

    a.coll = coll;
    a.type = HPCBOOT_INT32;
    a.op = HPCBOOT_SUM;
    a.root = n - 1;
    s = shape_of(&a, count, in_place);
    used = ((s.send > s.recv ? s.send : s.recv) + TAIL) * sizeof *recv;
    HOLDS(used <= ARENA);
    fill(send, s.send, 1);
    fill(recv, used / sizeof *recv, 2);
    memcpy(want, recv, used);
    upload(device_send, send, used);
    upload(device_recv, recv, used);
    a.send = in_place ? HPCBOOT_IN_PLACE : (void *)send;
    a.recv = want;
    MUST(hpcboot_coll(hpcboot_world(), &a, &err));
    if (where & 1 && !in_place) {
        a.send = device_send;
    }
    got = malloc(used);
    HOLDS(got != NULL);
    memcpy(got, recv, used);
    a.recv = where & 2 ? (void *)device_recv : (void *)got;
    run(&a, how);
    if (where & 2) {
        download(got, device_recv, used);
    }
    if (memcmp(got, want, s.defined * sizeof *got) != 0 ||
        memcmp(got + s.recv, want + s.recv, TAIL * sizeof *got) != 0) {
        fprintf(stderr, "rank %d: %s of %zu, device %d, in place %d, how %d: "
                "not as on the host\n", me, hpcboot_coll_name(coll), count,
                where, in_place, (int)how);
        exit(1);
    }
    free(got);
}

static int takes_in_place(enum hpcboot_coll coll)
{
    return coll == HPCBOOT_COLL_ALLGATHER || coll == HPCBOOT_COLL_ALLREDUCE ||
           coll == HPCBOOT_COLL_REDUCE_SCATTER ||
           coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK ||
           coll == HPCBOOT_COLL_ALLTOALL || coll == HPCBOOT_COLL_ALLTOALLV ||
           coll == HPCBOOT_COLL_ALLGATHERV || coll == HPCBOOT_COLL_SCAN ||
           coll == HPCBOOT_COLL_EXSCAN;
}

static void collectives(void)
{
    const size_t sizes[] = COUNTS;

    for (int c = 0; c < HPCBOOT_COLLS; c++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (int how = 0; how < HOWS; how++) {
                for (int where = 1; where <= 3; where++) {
                    once((enum hpcboot_coll)c, sizes[i], where, 0,
                         (enum how)how);
                }
            }
            if (takes_in_place((enum hpcboot_coll)c)) {
                once((enum hpcboot_coll)c, sizes[i], 2, 1, BLOCKS);
                once((enum hpcboot_coll)c, sizes[i], 2, 1, TESTS);
            }
        }
    }
}

static void twice(const void *in, void *inout, size_t count,
                  enum hpcboot_type type, void *arg)
{
    const int32_t *a = in;
    int32_t *b = inout;

    HOLDS(type == HPCBOOT_INT32 && arg == NULL);
    for (size_t i = 0; i < count; i++) {
        b[i] += a[i];
    }
}

/* An op of the user's gets the host's memory. */
static void user_op(void)
{
    int op = hpcboot_op_create(twice, NULL, HPCBOOT_COMMUTATIVE, 0, &err);

    MUST(op);
    fill(send, 1000, 3);
    upload(device_send, send, 1000 * sizeof *send);
    MUST(hpcboot_allreduce(send, want, 1000, HPCBOOT_INT32, op,
                           hpcboot_world(), &err));
    MUST(hpcboot_allreduce(device_send, device_recv, 1000, HPCBOOT_INT32, op,
                           hpcboot_world(), &err));
    download(recv, device_recv, 1000 * sizeof *recv);
    HOLDS(memcmp(recv, want, 1000 * sizeof *recv) == 0);
    MUST(hpcboot_op_destroy(op, &err));
}

/* What comes into a gap meanwhile stays there. */
static void gap(void)
{
    const size_t ones[MOST_RANKS] = {1, 1, 1, 1, 1, 1, 1, 1};
    const size_t places[MOST_RANKS] = {0, 2, 4, 6, 8, 10, 12, 14};
    struct hpcboot_team *w = hpcboot_world();
    struct hpcboot_request *r = NULL;
    int32_t mine = 100 + me, late = 201, got[2 * MOST_RANKS];

    memset(got, -1, sizeof got);
    upload(device_recv, got, sizeof got);
    if (n < 2) {
        return;
    }
    if (me == 0) {
        MUST(hpcboot_igatherv(&mine, 1, device_recv, ones, places,
                              HPCBOOT_INT32, 0, w, &r, &err));
        MUST(hpcboot_recv(w, 1, 7, device_recv + sizeof mine, sizeof mine,
                          NULL, &err));
        MUST(hpcboot_wait(&r, 0, &err));
        download(got, device_recv, sizeof got);
        HOLDS(got[0] == 100 && got[1] == 201 && got[2] == 101 && got[3] == -1);
        return;
    }
    if (me == 1) {
        MUST(hpcboot_send(w, 0, 7, &late, sizeof late, &err));
    }
    MUST(hpcboot_gatherv(&mine, 1, NULL, NULL, NULL, HPCBOOT_INT32, 0, w,
                         &err));
}

/* ---- messages and values ---- */

/* Round a ring, into a buffer of so many bytes. */
static void message(size_t bytes, size_t room)
{
    struct hpcboot_team *w = hpcboot_world();
    struct hpcboot_message info = {0};
    struct hpcboot_request *r = NULL, *s = NULL;
    size_t fits = bytes < room ? bytes : room;
    int rc, from = (me + n - 1) % n;

    fill(send, ARENA / sizeof *send, from);
    memset(recv, 0x5a, ARENA);
    upload(device_recv, recv, ARENA);
    for (size_t i = 0; i < bytes / sizeof *send; i++) {
        want[i] = send[i] - (me - from) * 100000;
    }
    fill(send, ARENA / sizeof *send, me);
    upload(device_send, send, ARENA);
    MUST(hpcboot_irecv(w, from, 5, device_recv, room, &info, &r, &err));
    MUST(hpcboot_isend(w, (me + 1) % n, 5, device_send, bytes, &s, &err));
    rc = hpcboot_wait(&r, 0, &err);
    HOLDS(rc == (bytes > room ? HPCBOOT_ERR_LIMIT : 0));
    MUST(hpcboot_wait(&s, 0, &err));
    HOLDS(info.size == bytes && info.source == from);
    download(recv, device_recv, ARENA);
    HOLDS(memcmp(recv, want, fits) == 0);
    for (size_t i = fits; i < fits + TAIL; i++) {
        HOLDS(((unsigned char *)recv)[i] == 0x5a);
    }
}

static void value(void)
{
    void *got = NULL;
    size_t size = 0;

    fill(send, 100, 4);
    upload(device_send, send, 100 * sizeof *send);
    MUST(hpcboot_put(HPCBOOT_SCOPE_JOB, "value", device_send,
                     100 * sizeof *send, &err));
    MUST(hpcboot_fence(HPCBOOT_SCOPE_JOB, 0, 0, &err));
    MUST(hpcboot_get(me, "value", &got, &size, &err));
    HOLDS(size == 100 * sizeof *send && memcmp(got, send, size) == 0);
    free(got);
}

/* Begun by one, never made by the others; of others the buffers are gone. */
static void leave(void)
{
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    struct hpcboot_request *idle[3], *r = NULL;

    a.coll = HPCBOOT_COLL_BCAST;
    a.type = HPCBOOT_BYTE;
    a.recv = device_recv;
    a.count = (size_t)1 << 20;
    for (int i = 0; i < 3; i++) {
        MUST(hpcboot_coll_init(hpcboot_world(), &a, &idle[i], &err));
    }
    if (me == 0) {
        MUST(hpcboot_ibcast(device_send, ARENA / 2, HPCBOOT_BYTE, 0,
                            hpcboot_world(), &r, &err));
    }
}

/* Each goes through what the first, which is longer, has left. */
static void many_short(struct hpcboot_coll_args a)
{
    for (int i = 0; i < 100; i++) {
        a.count = (i == 0 ? 128 << 10 : 64 << 10) / sizeof(int32_t);
        MUST(hpcboot_coll(hpcboot_world(), &a, &err));
    }
}

static void once_or_more(const char *what)
{
    struct hpcboot_team *w = hpcboot_world();
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    struct hpcboot_request *r[4] = {NULL};
    int mixed = strcmp(what, "mixed") == 0;
    size_t n_requests = mixed || strcmp(what, "several") == 0 ? 4 : 1;
    int n_rounds = strcmp(what, "once") == 0 ? 1 : 40;
    int again = strcmp(what, "starts") == 0;

    a.coll = HPCBOOT_COLL_ALLREDUCE;
    a.type = HPCBOOT_INT32;
    a.op = HPCBOOT_MAX;
    a.send = HPCBOOT_IN_PLACE;
    a.count = ARENA / 4 / sizeof(int32_t);
    a.recv = device_recv;
    if (mixed) {
        many_short(a);
    }
    if (again) {
        MUST(hpcboot_coll_init(w, &a, &r[0], &err));
    }
    for (int i = 0; i < n_rounds; i++) {
        for (size_t k = 0; k < n_requests; k++) {
            a.recv = device_recv + k * (ARENA / 4);
            MUST(again ? hpcboot_start(r[k], &err)
                       : hpcboot_coll_start(w, &a, &r[k], &err));
        }
        for (size_t k = 0; k < n_requests; k++) {
            MUST(hpcboot_wait(&r[k], 0, &err));
        }
    }
    if (again) {
        MUST(hpcboot_request_free(&r[0], &err));
    }
}

static void everything(void)
{
    collectives();
    user_op();
    gap();
    message(0, 100);
    message(4, 4);
    message(400000, 400000);
    message(4000, 4004);
    message(4000, 2000);
    message(400000, 200000);
    value();
}

int main(int argc, char **argv)
{
    HOLDS(argc == 2 || argc == 3);
    MUST(hpcboot_init(NULL, &err));
    me = hpcboot_rank();
    n = hpcboot_size();
    HOLDS(n <= MOST_RANKS);
    open_driver(argv[1]);
    device_send = device_alloc();
    device_recv = device_alloc();
    send = calloc(1, ARENA);
    recv = calloc(1, ARENA);
    want = calloc(1, ARENA);
    HOLDS(send != NULL && recv != NULL && want != NULL);
    if (argc == 2) {
        everything();
    } else if (strcmp(argv[2], "leave") == 0) {
        leave();
    } else {
        once_or_more(argv[2]);
    }
    MUST(hpcboot_finalize(&err));
    free(send);
    free(recv);
    free(want);
    if (me == 0) {
        printf("%d ranks: as on the host\n", n);
    }
    return 0;
}
