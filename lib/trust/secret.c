/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Memory for secrets: pages of their own, so that what is said about them to
 * the kernel concerns nothing else. Kernels that do not know one of the
 * advices go without it. */
#include "config.h"

#include "lib/trust/secret.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/base/str.h"

void hb_secret_alloc(struct hb_secret *s, size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *p;

    s->mapped = (len / page + 1) * page;
    p = mmap(NULL, s->mapped, PROT_READ | PROT_WRITE,
             /* cppcheck-suppress invalidFunctionArg */
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        hb_no_memory();
    }
    (void)madvise(p, s->mapped, MADV_DONTDUMP);
    (void)madvise(p, s->mapped, MADV_WIPEONFORK);
    (void)mlock(p, s->mapped);
    s->data = p;
    s->len = len;
}

void hb_secret_copy(struct hb_secret *s, const void *data, size_t len)
{
    hb_secret_alloc(s, len);
    memcpy(s->data, data, len);
}

void hb_secret_free(struct hb_secret *s)
{
    if (s->data) {
        explicit_bzero(s->data, s->len);
        (void)munmap(s->data, s->mapped);
    }
    memset(s, 0, sizeof *s);
}

void hb_secret_shut_process(void)
{
    (void)prctl(PR_SET_DUMPABLE, 0ul);
}
