/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Preloaded: in programs of the name $NO_MEMORY_IN there is no memory for a
 * block of $NO_MEMORY_FOR bytes, and for all others there is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *(*real)(size_t), *(*real_again)(void *, size_t);
static size_t none_of; /* 0: all is had */

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("NO_MEMORY_IN"), *size = getenv("NO_MEMORY_FOR");

    if (name != NULL && size != NULL &&
        strcmp(name, program_invocation_short_name) == 0) {
        none_of = strtoul(size, NULL, 10);
    }
}

static int is_had(size_t n)
{
    if (n == 0 || n != none_of) {
        return 1;
    }
    errno = ENOMEM;
    return 0;
}

void *malloc(size_t n)
{
    if (real == NULL) {
        real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    }
    return is_had(n) ? real(n) : NULL;
}

void *realloc(void *block, size_t n)
{
    if (real_again == NULL) {
        real_again = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    }
    return is_had(n) ? real_again(block, n) : NULL;
}
