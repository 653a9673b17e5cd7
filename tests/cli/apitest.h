/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_CLI_APITEST_H
#define HB_TESTS_CLI_APITEST_H

/* What the ranks that test the library share: one error, the end of the
 * process with a sentence where a call fails or something does not hold, and
 * dice that fall alike on all ranks. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <hpcboot/hpcboot.h>

static struct hpcboot_error err;
static int step = -1; /* of a random program; -1: it has none */

static inline void fail(const char *what)
{
    if (step >= 0) {
        fprintf(stderr, "step %d, ", step);
    }
    fprintf(stderr, "rank %d: %s: %s\n", hpcboot_rank(), what, err.text);
    exit(1);
}

#define MUST(call)                                                         \
    do {                                                                   \
        if ((call) < 0) {                                                  \
            fail(#call);                                                   \
        }                                                                  \
    } while (0)
#define HOLDS(what)                                                        \
    do {                                                                   \
        if (!(what)) {                                                     \
            err.text[0] = '\0';                                            \
            fail(#what);                                                   \
        }                                                                  \
    } while (0)

static inline uint64_t next(uint64_t *dice)
{
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    return *dice >> 33;
}

static inline uint64_t roll(uint64_t *dice, uint64_t sides)
{
    return next(dice) % sides;
}

#endif
