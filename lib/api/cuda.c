/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* CUDA's driver, of a program that has loaded it. Types and numbers are those
 * of its header: a result is 0, or an error; a device's pointer is a number of
 * 64 bits. */
#include "config.h"

#include "lib/api/cuda.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define ATTR_CONTEXT 1
#define ATTR_MEMORY_TYPE 2
#define ATTR_IS_MANAGED 8
#define ATTR_ORDINAL 9
#define TYPE_DEVICE 2
#define REGISTER_PORTABLE 1u /* for all contexts */

static struct {
    int (*ask)(unsigned n, int *attributes, void **values, uint64_t pointer);
    int (*to_host)(void *to, uint64_t from, size_t size);
    int (*to_device)(uint64_t to, const void *from, size_t size);
    int (*synchronize)(void *stream);
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*retain)(void **context, int device);
    int (*release)(int device);
    int (*text)(int code, const char **out);
    int (*state)(int device, unsigned *flags, int *active);
    int (*pin)(void *pages, size_t size, unsigned flags);
    int (*unpin)(void *pages);
} cu;

static const struct {
    const char *name;
    void *place;
} symbols[] = { /* what copying needs */
    {"cuMemcpyDtoH_v2", &cu.to_host},
    {"cuMemcpyHtoD_v2", &cu.to_device},
    {"cuStreamSynchronize", &cu.synchronize},
    {"cuCtxPushCurrent_v2", &cu.push},
    {"cuCtxPopCurrent_v2", &cu.pop},
    {"cuDevicePrimaryCtxRetain", &cu.retain},
    {"cuDevicePrimaryCtxRelease_v2", &cu.release},
    {"cuGetErrorString", &cu.text},
};

static int find(void *lib, const char *name, void *place)
{
    void *symbol = dlsym(lib, name);

    memcpy(place, &symbol, sizeof symbol);
    return symbol != NULL;
}

int hb_cuda_open(void *lib)
{
    int copies = 1;

    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        copies &= find(lib, symbols[i].name, symbols[i].place);
    }
    if (!(find(lib, "cuDevicePrimaryCtxGetState", &cu.state) &
          find(lib, "cuMemHostUnregister", &cu.unpin) &
          find(lib, "cuMemHostRegister_v2", &cu.pin))) {
        cu.pin = NULL;
    }
    return find(lib, "cuPointerGetAttributes", &cu.ask) ? 1 + copies : 0;
}

int hb_cuda_is_its(const void *p)
{
    unsigned type = 0, managed = 0;
    int attributes[] = {ATTR_MEMORY_TYPE, ATTR_IS_MANAGED};
    void *values[] = {&type, &managed};

    return cu.ask(2, attributes, values, (uintptr_t)p) == 0 &&
           type == TYPE_DEVICE && !managed;
}

/* The context that the memory at p is of; of memory that is no context's (of a
 * pool, or mapped) the first of its device, which is let go afterwards. */
static int enter(const void *p, int *retained)
{
    void *context = NULL;
    int device = 0, attributes[] = {ATTR_CONTEXT, ATTR_ORDINAL};
    void *values[] = {&context, &device};
    int rc = cu.ask(2, attributes, values, (uintptr_t)p);

    *retained = -1;
    if (rc == 0 && context == NULL) {
        rc = cu.retain(&context, device);
        *retained = rc == 0 ? device : -1;
    }
    return rc != 0 ? rc : cu.push(context);
}

/* A copy from pages that are not pinned may be under way when it returns. */
static int copy(void *to, const void *from, size_t size, int to_device)
{
    int rc = to_device ? cu.to_device((uintptr_t)to, from, size)
                       : cu.to_host(to, (uintptr_t)from, size);

    return rc == 0 && to_device ? cu.synchronize(NULL) : rc;
}

int hb_cuda_copy(void *to, const void *from, size_t size, int to_device,
                 struct hpcboot_error *err)
{
    const char *why = NULL;
    void *context;
    int retained, rc;

    if (size == 0) {
        return 0;
    }
    rc = enter(to_device ? to : from, &retained);
    if (rc == 0) {
        rc = copy(to, from, size, to_device);
        (void)cu.pop(&context);
    }
    if (retained >= 0) {
        (void)cu.release(retained);
    }
    if (rc == 0) {
        return 0;
    }
    if (cu.text(rc, &why) != 0 || why == NULL) {
        why = "an error without a name";
    }
    return hb_fail(err, HPCBOOT_ERR_SYSTEM, "CUDA cannot copy %zu bytes %s a "
                   "device: %s (%d)", size, to_device ? "to" : "from", why, rc);
}

/* Pages are pinned in the first context of the device, if that is there: a
 * program that has made contexts of its own may not want that one. */
static int enter_first(int device)
{
    void *context = NULL;
    unsigned flags;
    int active = 0, rc = cu.state(device, &flags, &active);

    if (rc != 0 || !active || cu.retain(&context, device) != 0) {
        return -1;
    }
    if (cu.push(context) == 0) {
        return 0;
    }
    (void)cu.release(device);
    return -1;
}

static void leave_first(int device)
{
    void *context;

    (void)cu.pop(&context);
    (void)cu.release(device);
}

int hb_cuda_pin(void *pages, size_t size, const void *there)
{
    int device = -1, attributes[] = {ATTR_ORDINAL}, rc;
    void *values[] = {&device};

    if (cu.pin == NULL ||
        cu.ask(1, attributes, values, (uintptr_t)there) != 0 ||
        enter_first(device) < 0) {
        return -1;
    }
    rc = cu.pin(pages, size, REGISTER_PORTABLE);
    leave_first(device);
    return rc == 0 ? device : -1;
}

/* A device that was reset meanwhile knows nothing of them any more. */
void hb_cuda_unpin(void *pages, int device)
{
    if (enter_first(device) == 0) {
        (void)cu.unpin(pages);
        leave_first(device);
    }
}
