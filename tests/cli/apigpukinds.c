/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Memory of every kind that a real CUDA driver gives out, or knows, is as good
 * as the host's in a collective and in a message, whatever context is current,
 * and what the default stream still does to it comes first. */
#include "config.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/cli/apitest.h"

#define COUNT ((size_t)300000)
#define BYTES (COUNT * sizeof(int32_t))
#define ROOM ((size_t)2 << 20) /* what is mapped is a multiple of it */
#define PAGE ((uintptr_t)4096)
#define MANAGED_GLOBAL 1u /* and other numbers of cuda.h */
#define ACCESS_BOTH 3

/* Types of cuda.h. */
struct place {
    int type, id;
};
struct properties {
    int type, handle_types;
    struct place at;
    void *windows;
    unsigned char flags[8];
    unsigned char reserved[24];
};
struct access {
    struct place at;
    int flags;
};

static struct {
    int (*init)(unsigned);
    int (*device)(int *device, int ordinal);
    int (*retain)(void **context, int device);
    int (*current)(void *context);
    int (*create)(void **context, unsigned flags, int device);
    int (*synchronize)(void);
    int (*alloc)(uint64_t *out, size_t bytes);
    int (*managed)(uint64_t *out, size_t bytes, unsigned flags);
    int (*pinned)(void **out, size_t bytes, unsigned flags);
    int (*pin)(void *p, size_t bytes, unsigned flags);
    int (*pool)(uint64_t *out, size_t bytes, void *stream);
    int (*reserve)(uint64_t *out, size_t bytes, size_t align, uint64_t at,
                   unsigned long long flags);
    int (*physical)(unsigned long long *out, size_t bytes,
                    const struct properties *p, unsigned long long flags);
    int (*map)(uint64_t at, size_t bytes, size_t offset,
               unsigned long long handle, unsigned long long flags);
    int (*allow)(uint64_t at, size_t bytes, const struct access *a, size_t n);
    int (*fill)(uint64_t at, unsigned value, size_t count, void *stream);
    int (*to_host)(void *to, uint64_t from, size_t bytes);
} cu;

static const struct {
    const char *name;
    void *place;
} symbols[] = {
    {"cuInit", &cu.init},
    {"cuDeviceGet", &cu.device},
    {"cuDevicePrimaryCtxRetain", &cu.retain},
    {"cuCtxSetCurrent", &cu.current},
    {"cuCtxCreate_v2", &cu.create},
    {"cuCtxSynchronize", &cu.synchronize},
    {"cuMemAlloc_v2", &cu.alloc},
    {"cuMemAllocManaged", &cu.managed},
    {"cuMemHostAlloc", &cu.pinned},
    {"cuMemHostRegister_v2", &cu.pin},
    {"cuMemAllocAsync", &cu.pool},
    {"cuMemAddressReserve", &cu.reserve},
    {"cuMemCreate", &cu.physical},
    {"cuMemMap", &cu.map},
    {"cuMemSetAccess", &cu.allow},
    {"cuMemsetD32Async", &cu.fill},
    {"cuMemcpyDtoH_v2", &cu.to_host},
};

static int device;
static void *primary, *other;

static void open_driver(const char *library)
{
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    if (lib == NULL) {
        fail(dlerror());
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(lib, symbols[i].name);

        if (symbol == NULL) {
            fail(symbols[i].name);
        }
        memcpy(symbols[i].place, &symbol, sizeof symbol);
    }
    HOLDS(cu.init(0) == 0 && cu.device(&device, 0) == 0);
    HOLDS(cu.retain(&primary, device) == 0);
    HOLDS(cu.create(&other, 0, device) == 0); /* and is current */
    HOLDS(cu.current(primary) == 0);
}

/* ---- kinds of memory ---- */

static uint64_t plain(void)
{
    uint64_t p;

    HOLDS(cu.alloc(&p, BYTES) == 0);
    return p;
}

static uint64_t of_another_context(void)
{
    uint64_t p;

    HOLDS(cu.current(other) == 0);
    p = plain();
    HOLDS(cu.current(primary) == 0);
    return p;
}

static uint64_t of_a_pool(void)
{
    uint64_t p;

    HOLDS(cu.pool(&p, BYTES, NULL) == 0);
    return p;
}

static uint64_t mapped(void)
{
    const struct place here = {1, device};
    const struct properties what = {.type = 1, .at = here};
    const struct access both = {here, ACCESS_BOTH};
    unsigned long long handle;
    uint64_t p;

    HOLDS(cu.physical(&handle, ROOM, &what, 0) == 0);
    HOLDS(cu.reserve(&p, ROOM, 0, 0, 0) == 0);
    HOLDS(cu.map(p, ROOM, 0, handle, 0) == 0);
    HOLDS(cu.allow(p, ROOM, &both, 1) == 0);
    return p;
}

static uint64_t managed(void)
{
    uint64_t p;

    HOLDS(cu.managed(&p, BYTES, MANAGED_GLOBAL) == 0);
    return p;
}

static uint64_t pinned(void)
{
    void *p;

    HOLDS(cu.pinned(&p, BYTES, 0) == 0);
    return (uintptr_t)p;
}

static uint64_t registered(void)
{
    void *p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    HOLDS(p != MAP_FAILED && cu.pin(p, ROOM, 0) == 0);
    return (uintptr_t)p;
}

static uint64_t the_library_s_own(void)
{
    uintptr_t p;
    void *got_it;

    MUST(hpcboot_alloc(ROOM + PAGE, &got_it, &err));
    p = ((uintptr_t)got_it + PAGE - 1) / PAGE * PAGE;
    HOLDS(cu.pin((void *)p, ROOM, 0) == 0);
    return p;
}

static const struct kind {
    const char *name;
    uint64_t (*get)(void);
    void **context; /* its own; NULL: the one that is current */
    int is_host; /* code of the host touches it: the caller waits for streams */
} kinds[] = {
    {"device", plain, NULL, 0},
    {"device, of a context that is not current", of_another_context, &other, 0},
    {"device, of a pool", of_a_pool, NULL, 0},
    {"device, mapped", mapped, NULL, 0},
    {"managed", managed, NULL, 1},
    {"pinned", pinned, NULL, 1},
    {"registered", registered, NULL, 1},
    {"hpcboot_alloc, registered", the_library_s_own, NULL, 1},
};

/* ---- use ---- */

static int me, n;
static int32_t *got;

/* On the default stream of the memory's context, not waited for. */
static void put(const struct kind *k, uint64_t p, unsigned value)
{
    HOLDS(k->context == NULL || cu.current(*k->context) == 0);
    HOLDS(cu.fill(p, value, COUNT, NULL) == 0);
    HOLDS(cu.current(primary) == 0);
    if (k->is_host) {
        HOLDS(cu.synchronize() == 0);
    }
}

static void all_are(const struct kind *k, uint64_t p, int32_t value)
{
    HOLDS(cu.to_host(got, p, BYTES) == 0);
    for (size_t i = 0; i < COUNT; i++) {
        if (got[i] != value) {
            fprintf(stderr, "rank %d: %s: element %zu is %d, not %d\n", me,
                    k->name, i, (int)got[i], (int)value);
            exit(1);
        }
    }
}

static void of_kind(const struct kind *k, uint64_t a, uint64_t b)
{
    struct hpcboot_team *w = hpcboot_world();
    struct hpcboot_request *r = NULL;
    void *from = (void *)(uintptr_t)a, *to = (void *)(uintptr_t)b;

    put(k, a, (unsigned)me + 1);
    put(k, b, 0);
    MUST(hpcboot_allreduce(from, to, COUNT, HPCBOOT_INT32, HPCBOOT_SUM, w,
                           &err));
    all_are(k, b, n * (n + 1) / 2);
    MUST(hpcboot_allreduce(HPCBOOT_IN_PLACE, from, COUNT, HPCBOOT_INT32,
                           HPCBOOT_MAX, w, &err));
    all_are(k, a, n);
    put(k, a, (unsigned)me);
    MUST(hpcboot_irecv(w, (me + n - 1) % n, 3, to, BYTES, NULL, &r, &err));
    MUST(hpcboot_send(w, (me + 1) % n, 3, from, BYTES, &err));
    MUST(hpcboot_wait(&r, 0, &err));
    all_are(k, b, (me + n - 1) % n);
}

int main(int argc, char **argv)
{
    HOLDS(argc == 2);
    MUST(hpcboot_init(NULL, &err));
    me = hpcboot_rank();
    n = hpcboot_size();
    open_driver(argv[1]);
    got = malloc(BYTES);
    HOLDS(got != NULL);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t a = kinds[i].get(), b = kinds[i].get();

        of_kind(&kinds[i], a, b);
        if (me == 0) {
            printf("%s: as the host's\n", kinds[i].name);
        }
    }
    MUST(hpcboot_finalize(&err));
    free(got);
    return 0;
}
