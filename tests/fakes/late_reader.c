/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* late_reader BYTES USECS: reads standard input in such pieces and computes
 * for a while after each, so that whoever writes there is always ahead. Says
 * at its end how much came. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    size_t size = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    double until_us, pause_us = argc == 3 ? strtod(argv[2], NULL) : 0;
    char *piece = malloc(size > 0 ? size : 1);
    unsigned long long all = 0;
    ssize_t n = 0;

    while (piece != NULL && (n = read(0, piece, size)) > 0) {
        all += (unsigned long long)n;
        until_us = now_us() + pause_us;
        while (now_us() < until_us) {
        }
    }
    printf("%llu bytes\n", all);
    free(piece);
    return piece == NULL || n < 0;
}
