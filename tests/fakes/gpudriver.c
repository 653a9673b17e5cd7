/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The part of a device's driver that says whose memory is at an address, for
 * hosts without a device: compiled with -DCUDA, -DROCM or -DZE under the name
 * of the real library. With -DCOPIES CUDA's also copies, as far as a context
 * is current; memory of its second half is no context's. FAKE_CUDA_FAILS=1: it
 * copies nothing. FAKE_CUDA_COUNTS=1: it says at the end how often it has
 * pinned memory of the host's, and how often it has not unpinned it.
 * FAKE_CUDA_INACTIVE=1: nobody has the device's first context. "Device
 * memory" is pages that nobody may touch, so whoever does dies of it; the
 * driver has other addresses for them. What it cannot show is that the real
 * drivers answer alike. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES ((size_t)32 << 20)

static char *memory, *behind;
static size_t taken;

void *fake_device_memory(void)
{
    int fd = memory == NULL ? memfd_create("device", 0) : -1;

    if (fd >= 0 && ftruncate(fd, BYTES) == 0) {
        memory = mmap(NULL, BYTES, PROT_NONE, MAP_SHARED, fd, 0);
        behind = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    return memory;
}

static int is_mine(uintptr_t p)
{
    return memory != NULL && p - (uintptr_t)memory < BYTES;
}

#ifdef CUDA
#define OUT_OF_MEMORY 2
#define INVALID_VALUE 1

int cuPointerGetAttributes(unsigned n, int *what, void **values, uint64_t p)
{
    void *context = is_mine(p) && p - (uintptr_t)memory < BYTES / 2 ? &memory
                                                                    : NULL;

    for (unsigned i = 0; i < n; i++) {
        if (what[i] == 1) {
            *(void **)values[i] = context;
        } else {
            *(unsigned *)values[i] = what[i] == 2 && is_mine(p) ? 2 : 0;
        }
    }
    return 0;
}

int cuInit(unsigned flags)
{
    return flags != 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &memory;
    return device;
}

int cuCtxSetCurrent(void *context)
{
    return context != &memory;
}

int cuMemAlloc_v2(uint64_t *out, size_t bytes)
{
    char *base = fake_device_memory();

    if (base == NULL || bytes > BYTES - taken) {
        return OUT_OF_MEMORY;
    }
    *out = (uintptr_t)base + taken;
    taken += BYTES / 2;
    return 0;
}

int fake_to_device(uint64_t to, const void *from, size_t bytes)
{
    if (!is_mine(to) || is_mine((uintptr_t)from)) {
        return INVALID_VALUE;
    }
    memcpy(behind + (to - (uintptr_t)memory), from, bytes);
    return 0;
}

int fake_to_host(void *to, uint64_t from, size_t bytes)
{
    if (!is_mine(from) || is_mine((uintptr_t)to)) {
        return INVALID_VALUE;
    }
    memcpy(to, behind + (from - (uintptr_t)memory), bytes);
    return 0;
}
#endif

#ifdef COPIES
#define INVALID_CONTEXT 201
#define ILLEGAL_ADDRESS 700
static __thread void *current;

static int may_copy(void)
{
    return current != &memory                ? INVALID_CONTEXT
           : getenv("FAKE_CUDA_FAILS") != NULL ? ILLEGAL_ADDRESS : 0;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    return may_copy() != 0 ? may_copy() : fake_to_device(to, from, bytes);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    return may_copy() != 0 ? may_copy() : fake_to_host(to, from, bytes);
}

int cuStreamSynchronize(void *stream)
{
    return stream != NULL || current == NULL;
}

int cuCtxPushCurrent_v2(void *context)
{
    current = context;
    return context != &memory;
}

int cuCtxPopCurrent_v2(void **context)
{
    *context = current;
    current = NULL;
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    return device;
}

/* ---- pinned pages ---- */

#define PINS 16
#define ALREADY_REGISTERED 712
#define NOT_REGISTERED 713
static struct pin {
    uintptr_t at;
    size_t size;
} pins[PINS];
static int pinned, unpinned;

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = memory != NULL && getenv("FAKE_CUDA_INACTIVE") == NULL;
    return device;
}

int cuMemHostRegister_v2(void *p, size_t size, unsigned flags)
{
    uintptr_t at = (uintptr_t)p;
    struct pin *room = NULL;

    for (int i = 0; i < PINS; i++) {
        if (pins[i].at < at + size && at < pins[i].at + pins[i].size) {
            return ALREADY_REGISTERED;
        }
        room = pins[i].size == 0 ? &pins[i] : room;
    }
    if (current != &memory || flags != 1 || at % 4096 != 0 ||
        size % 4096 != 0 || room == NULL) {
        return INVALID_VALUE;
    }
    *room = (struct pin){at, size};
    pinned++;
    return 0;
}

int cuMemHostUnregister(void *p)
{
    for (int i = 0; i < PINS; i++) {
        if (pins[i].at == (uintptr_t)p && pins[i].size > 0 &&
            current == &memory) {
            pins[i].size = 0;
            *(volatile char *)p = 0; /* it is still there */
            unpinned++;
            return 0;
        }
    }
    return NOT_REGISTERED;
}

__attribute__((destructor)) static void say_counts(void)
{
    if (getenv("FAKE_CUDA_COUNTS") != NULL) {
        fprintf(stderr, "pinned %d times, %d left\n", pinned,
                pinned - unpinned);
    }
}

int cuGetErrorString(int code, const char **out)
{
    *out = code == ILLEGAL_ADDRESS ? "the device is on fire" : "?";
    return 0;
}
#endif

#ifdef ROCM
/* A UCX with a module for such devices asks for them first. */
int hsa_init(void) { return 0x1000; /* no device */ }

int hsa_amd_pointer_info(const void *p, uint32_t *info, void *alloc,
                         uint32_t *n, void *agents)
{
    (void)alloc, (void)n, (void)agents;
    info[1] = is_mine((uintptr_t)p);
    *(uint64_t *)(info + 10) = 7;
    return 0;
}

int hsa_agent_get_info(uint64_t agent, int what, void *value)
{
    *(uint32_t *)value = agent == 7 && what == 17;
    return 0;
}
#endif

#ifdef ZE
int zeDriverGet(uint32_t *n, void **drivers)
{
    *n = 1;
    drivers[0] = &memory;
    return 0;
}

int zeContextCreate(void *driver, const uint32_t *desc, void **context)
{
    *context = driver;
    return desc[0] != 0xd;
}

int zeMemGetAllocProperties(void *context, const void *p, uint32_t *info,
                            void **device)
{
    (void)context, (void)device;
    info[4] = is_mine((uintptr_t)p) ? 2 : 0;
    return info[0] != 0x17;
}
#endif
