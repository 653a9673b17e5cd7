/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A PMIx client: pmix_pair DIRECTORY A B. Ranks A and B first meet by
 * themselves, which DIRECTORY/met-RANK says; then all meet. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>

static int pair_meets(const pmix_proc_t *me, const char *dir,
                      const pmix_rank_t *ranks)
{
    pmix_proc_t pair[2];
    char path[4096];
    FILE *f;

    for (int i = 0; i < 2; i++) {
        PMIX_LOAD_PROCID(&pair[i], me->nspace, ranks[i]);
    }
    if (PMIx_Fence(pair, 2, NULL, 0) != PMIX_SUCCESS) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/met-%u", dir, me->rank);
    f = fopen(path, "w");
    return f != NULL ? fclose(f) : -1;
}

int main(int argc, char **argv)
{
    pmix_rank_t ranks[2];
    pmix_proc_t me;

    if (argc != 4 || PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) {
        return 3;
    }
    for (int i = 0; i < 2; i++) {
        ranks[i] = (pmix_rank_t)strtoul(argv[2 + i], NULL, 10);
    }
    if ((me.rank == ranks[0] || me.rank == ranks[1]) &&
        pair_meets(&me, argv[1], ranks) != 0) {
        return 4;
    }
    if (PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS) {
        return 5;
    }
    printf("rank %u has met all\n", me.rank);
    PMIx_Finalize(NULL, 0);
    return 0;
}
