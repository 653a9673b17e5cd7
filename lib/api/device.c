/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Buffers that are a device's memory, which no code of the host may touch.
 *
 * Only the device's own driver can tell, so it is asked, and only where the
 * program has loaded one: nothing is linked or loaded for it. CUDA, ROCm (HSA)
 * and Level Zero are known; memory that host and device share (managed,
 * shared, pinned) is the host's as far as we are concerned.
 *
 * A program without such a driver pays two comparisons a call: regions of
 * addresses that have been found to be the host's are remembered. With a driver
 * each buffer outside them is asked for. Drivers take regions of their own for
 * the memory of devices; one that is loaded after the host has used and
 * returned a region may get that one, which nothing tells as cheaply:
 * hpcboot_allreduce(3) says so. */
#include "config.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "lib/api/api.h"
#include "lib/api/cuda.h"

_Atomic uintptr_t hb_api_host_regions[HB_API_REGIONS];

/* ---- what the drivers say; numbers are those of their headers ---- */

#define HSA_INFO_DEVICE 17
#define HSA_GPU 1u
#define HSA_ALLOCATED 1u
#define HSA_IPC 4u
struct hsa_pointer_info {
    uint32_t size, type;
    void *agent_base, *host_base;
    size_t bytes;
    void *user;
    uint64_t owner;
    uint32_t flags;
};
typedef int (*hsa_ask_fn)(const void *p, struct hsa_pointer_info *info,
                          void *alloc, uint32_t *n, void *agents);
typedef int (*hsa_agent_fn)(uint64_t agent, int what, void *value);
static hsa_ask_fn hsa_ask;
static hsa_agent_fn hsa_agent;

static int open_hsa(void *lib)
{
    hsa_ask = (hsa_ask_fn)dlsym(lib, "hsa_amd_pointer_info");
    hsa_agent = (hsa_agent_fn)dlsym(lib, "hsa_agent_get_info");
    return hsa_ask != NULL && hsa_agent != NULL;
}

static int is_hsa(const void *p)
{
    struct hsa_pointer_info info = {.size = sizeof info};
    uint32_t kind = 0;

    return hsa_ask(p, &info, NULL, NULL, NULL) == 0 &&
           (info.type == HSA_ALLOCATED || info.type == HSA_IPC) &&
           hsa_agent(info.owner, HSA_INFO_DEVICE, &kind) == 0 &&
           kind == HSA_GPU;
}

#define ZE_CONTEXT 0xdu
#define ZE_ALLOCATION 0x17u
#define ZE_DEVICE 2u
#define ZE_DRIVERS 8u
struct ze_context_desc {
    uint32_t kind;
    const void *next;
    uint32_t flags;
};
struct ze_allocation {
    uint32_t kind;
    void *next;
    uint32_t type;
    uint64_t id, page_size;
};
typedef int (*ze_drivers_fn)(uint32_t *n, void **drivers);
typedef int (*ze_context_fn)(void *driver, const struct ze_context_desc *desc,
                             void **context);
typedef int (*ze_ask_fn)(void *context, const void *p,
                         struct ze_allocation *info, void **device);
static ze_drivers_fn ze_drivers;
static ze_context_fn ze_context;
static ze_ask_fn ze_ask;
static void *ze_contexts[ZE_DRIVERS];
static uint32_t ze_n;

static int open_ze(void *lib)
{
    ze_drivers = (ze_drivers_fn)dlsym(lib, "zeDriverGet");
    ze_context = (ze_context_fn)dlsym(lib, "zeContextCreate");
    ze_ask = (ze_ask_fn)dlsym(lib, "zeMemGetAllocProperties");
    return ze_drivers != NULL && ze_context != NULL && ze_ask != NULL;
}

/* The drivers are there once the program has initialised them; then one
 * context of ours for each, which knows all that the driver has given out. */
static void find_ze(void)
{
    const struct ze_context_desc desc = {.kind = ZE_CONTEXT};
    void *drivers[ZE_DRIVERS];
    uint32_t n = ZE_DRIVERS;

    if (ze_drivers(&n, drivers) != 0) {
        return;
    }
    for (uint32_t i = 0; i < n && i < ZE_DRIVERS; i++) {
        ze_n += ze_context(drivers[i], &desc, &ze_contexts[ze_n]) == 0;
    }
}

static int is_ze(const void *p)
{
    if (ze_n == 0) {
        find_ze();
    }
    for (uint32_t i = 0; i < ze_n; i++) {
        struct ze_allocation info = {.kind = ZE_ALLOCATION};
        void *device = NULL;

        if (ze_ask(ze_contexts[i], p, &info, &device) == 0 &&
            info.type == ZE_DEVICE) {
            return 1;
        }
    }
    return 0;
}

/* ---- which drivers are there ---- */

static struct driver {
    const char *library;
    struct hb_api_device device;
    /* 1: it can be asked; 2: it copies, too; 0: it is of no use */
    int (*open)(void *lib);
    int (*is_its)(const void *p);
    int there; /* what open has said */
} drivers[] = {
    {"libcuda.so.1",
     {"CUDA", "cudaMallocManaged", HB_UCXMOVE_CUDA, hb_cuda_copy,
      hb_cuda_pin, hb_cuda_unpin},
     hb_cuda_open, hb_cuda_is_its, 0},
    {"libhsa-runtime64.so.1",
     {"ROCm", "hipMallocManaged", HB_UCXMOVE_ROCM, NULL, NULL, NULL},
     open_hsa, is_hsa, 0},
    {"libze_loader.so.1",
     {"Level Zero", "zeMemAllocShared", HB_UCXMOVE_ZE, NULL, NULL, NULL},
     open_ze, is_ze, 0},
};
enum { DRIVERS = sizeof drivers / sizeof drivers[0] };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long loaded_seen; /* objects that the process loaded */
static int n_there;

static int count_loaded(struct dl_phdr_info *info, size_t size, void *out)
{
    *(unsigned long long *)out = info->dlpi_adds;
    return 1; /* the first has the number */
}

/* A driver that is there stays: its handle is kept. */
static void look_for_drivers(void)
{
    unsigned long long loaded = 0;

    (void)dl_iterate_phdr(count_loaded, &loaded);
    if (loaded == loaded_seen) {
        return;
    }
    loaded_seen = loaded;
    for (int i = 0; i < DRIVERS; i++) {
        struct driver *d = &drivers[i];
        void *lib = d->there ? NULL
                             : dlopen(d->library, RTLD_LAZY | RTLD_NOLOAD);

        d->there = lib != NULL ? d->open(lib) : d->there;
        n_there += lib != NULL && d->there > 0;
        if (lib != NULL && d->there == 0) {
            dlclose(lib);
        } else if (lib != NULL && d->there == 1) {
            d->device.copy = NULL;
        }
    }
}

static const struct hb_api_device *owner_of(const void *p)
{
    const struct hb_api_device *owner = NULL;
    uintptr_t region = (uintptr_t)p >> HB_API_REGION_SHIFT;

    pthread_mutex_lock(&lock);
    look_for_drivers();
    for (int i = 0; owner == NULL && i < DRIVERS; i++) {
        if (drivers[i].there && drivers[i].is_its(p)) {
            owner = &drivers[i].device;
        }
    }
    if (n_there == 0) {
        atomic_store_explicit(&hb_api_host_regions[region % HB_API_REGIONS],
                              region, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    return owner;
}

const struct hb_api_device *hb_api_device_of(const void *p)
{
    return hb_api_is_host(p) ? NULL : owner_of(p);
}
