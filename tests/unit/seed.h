/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_UNIT_SEED_H
#define HB_TESTS_UNIT_SEED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/buf.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

/* What a fuzzer begins with, tests/fuzz/corpus/NAME, has to be what is written
 * today: of one in last year's form nothing but the refusal is ever tried.
 * HB_UPDATE_GOLDEN=1 writes it anew. For use inside tests of cmocka. */
static inline void expect_seed(const char *name, const struct hb_buf *bytes)
{
    const char *src = getenv("HB_SRCDIR");
    char *path = hb_xasprintf("%s/tests/fuzz/corpus/%s",
                              src != NULL ? src : ".", name);
    char *seed = NULL;
    size_t len;

    if (getenv("HB_UPDATE_GOLDEN") != NULL) {
        FILE *f = fopen(path, "we");

        assert_non_null(f);
        assert_int_equal(fwrite(bytes->data, 1, bytes->len, f), bytes->len);
        assert_int_equal(fclose(f), 0);
    }
    assert_int_equal(hb_file_read(path, bytes->len + 1, &seed, &len, NULL), 0);
    assert_int_equal(len, bytes->len);
    assert_memory_equal(seed, bytes->data, len);
    free(seed);
    free(path);
}

#endif
