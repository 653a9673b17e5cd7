/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Calls with buffers in a device's memory, which a driver loaded after
 * hpcboot_init has given out: `apidevice LIBRARY`, of tests/fakes/gpudriver.c.
 * Each must be refused in words, and leave all as it was. */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <hpcboot/hpcboot.h>

static struct hpcboot_error err;
static int wrong;

static void refused(const char *call, int rc, const char *word)
{
    if (rc != HPCBOOT_ERR_UNSUPPORTED || strstr(err.text, word) == NULL ||
        strstr(err.text, "device") == NULL) {
        fprintf(stderr, "%s: %d %s\n", call, rc, rc < 0 ? err.text : "");
        wrong = 1;
    }
}

static void use(char *d, double *h)
{
    struct hpcboot_team *w = hpcboot_world();
    struct hpcboot_request *r = NULL;
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;

#define R(word, call) refused(#call, call, word)
    R("send", hpcboot_allreduce(d, h, 2, HPCBOOT_DOUBLE, HPCBOOT_SUM, w,
                                &err));
    R("recv", hpcboot_allreduce(h, d, 2, HPCBOOT_DOUBLE, HPCBOOT_SUM, w,
                                &err));
    R("recv", hpcboot_bcast(d + 4096, 2, HPCBOOT_DOUBLE, 0, w, &err));
    R("send", hpcboot_iallgather(d, h, 1, HPCBOOT_DOUBLE, w, &r, &err));
    R("data", hpcboot_send(w, 0, 1, d, 8, &err));
    R("data", hpcboot_irecv(w, 0, 1, d, 8, NULL, &r, &err));
    R("value", hpcboot_put(HPCBOOT_SCOPE_JOB, "k", d, 8, &err));
    a.coll = HPCBOOT_COLL_SCAN;
    a.type = HPCBOOT_DOUBLE;
    a.count = 1;
    a.send = h;
    a.recv = d;
    R("recv", hpcboot_coll(w, &a, &err));
    R("recv", hpcboot_coll_init(w, &a, &r, &err));
}

int main(int argc, char **argv)
{
    double h[64] = {1}, sum = 0;
    void *lib = NULL, *(*memory)(void) = NULL;

    if (argc != 2 || hpcboot_init(NULL, &err) < 0 ||
        hpcboot_allreduce(h, &sum, 1, HPCBOOT_DOUBLE, HPCBOOT_SUM,
                          hpcboot_world(), &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    *(void **)&memory = lib != NULL ? dlsym(lib, "fake_device_memory") : NULL;
    if (memory == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    use(memory(), h);
    if (hpcboot_allreduce(h, &sum, 1, HPCBOOT_DOUBLE, HPCBOOT_SUM,
                          hpcboot_world(), &err) < 0 ||
        sum != hpcboot_size() || hpcboot_finalize(&err) < 0) {
        fprintf(stderr, "afterwards: %g %s\n", sum, err.text);
        return 1;
    }
    return wrong;
}
