/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The part of a device's driver that says whose memory is at an address, for
 * hosts without a device: compiled with -DCUDA, -DROCM or -DZE under the name
 * of the real library. "Device memory" is a page that nobody may touch, so
 * whoever does dies of it. What it cannot show is that the real drivers
 * answer alike. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define BYTES ((size_t)4 << 20)

static char *memory;

void *fake_device_memory(void)
{
    if (memory == NULL) {
        memory = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                      0);
    }
    return memory;
}

static int is_mine(uintptr_t p)
{
    return memory != NULL && p - (uintptr_t)memory < BYTES;
}

#ifdef CUDA
int cuPointerGetAttributes(unsigned n, int *what, void **values, uint64_t p)
{
    for (unsigned i = 0; i < n; i++) {
        *(unsigned *)values[i] = what[i] == 2 && is_mine(p) ? 2 : 0;
    }
    return 0;
}
#endif

#ifdef ROCM
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
