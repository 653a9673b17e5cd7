/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Rank 1 takes memory until the kernel ends it; the others wait for it, and
 * say what they hear. Run in a control group with a limit of memory. */
#include "config.h"

#include "tests/cli/apitest.h"

#include <string.h>

#define PIECE ((size_t)1 << 20)
#define MOST 4096 /* pieces, where there is no limit after all */

static void eat(void)
{
    for (int i = 0; i < MOST; i++) {
        char *piece = malloc(PIECE);

        HOLDS(piece != NULL);
        memset(piece, i, PIECE);
    }
    fail("nobody has set a limit");
}

int main(void)
{
    int in = 1, sum, rc = 0;

    MUST(hpcboot_init(NULL, &err));
    MUST(hpcboot_barrier(hpcboot_world(), &err));
    if (hpcboot_rank() == 1) {
        eat();
    }
    while (rc == 0) {
        rc = hpcboot_allreduce(&in, &sum, 1, HPCBOOT_INT32, HPCBOOT_SUM,
                               hpcboot_world(), &err);
    }
    HOLDS(rc == HPCBOOT_ERR_PEER_DEAD);
    printf("rank %d hears: %s\n", hpcboot_rank(), err.text);
    MUST(hpcboot_finalize(&err));
    return 0;
}
