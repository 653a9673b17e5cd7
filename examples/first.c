/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#include <stdio.h>
#include <hpcboot/hpcboot.h>

int main(void)
{
    struct hpcboot_error err = {0};
    int mine, sum = 0;

    if (hpcboot_init(NULL, &err) < 0) {
        fprintf(stderr, "first: %s\n", err.text);
        return 1;
    }
    mine = hpcboot_rank();
    if (hpcboot_allreduce(&mine, &sum, 1, HPCBOOT_INT32, HPCBOOT_SUM,
                          hpcboot_world(), &err) < 0) {
        fprintf(stderr, "first: rank %d: %s\n", mine, err.text);
        return 1;
    }
    printf("rank %d of %d on %s: the sum of all ranks is %d\n", mine,
           hpcboot_size(), hpcboot_host_of(mine), sum);
    return hpcboot_finalize(&err) < 0;
}
