/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Rank 1 makes another call than the others, who say what they hear.
 *
 * usage: mismatch collective|root|count|type|op|none */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "hpcboot/hpcboot.h"

#define COUNT 4

/* The call, or what a rank that differs makes of it. */
static int call(const char *way, int differs, struct hpcboot_error *err)
{
    struct hpcboot_team *w = hpcboot_world();
    double in[2 * COUNT] = {1}, out[2 * COUNT] = {0};

    if (strcmp(way, "collective") == 0 && differs) {
        return hpcboot_bcast(in, COUNT, HPCBOOT_DOUBLE, 0, w, err);
    }
    if (strcmp(way, "root") == 0) {
        return hpcboot_reduce(in, out, COUNT, HPCBOOT_DOUBLE, HPCBOOT_SUM,
                              differs ? 1 : 0, w, err);
    }
    if (strcmp(way, "count") == 0) {
        return hpcboot_bcast(in, differs ? COUNT + 1 : COUNT, HPCBOOT_DOUBLE,
                             0, w, err);
    }
    return hpcboot_allreduce(
        in, out, COUNT,
        strcmp(way, "type") == 0 && differs ? HPCBOOT_INT64 : HPCBOOT_DOUBLE,
        strcmp(way, "op") == 0 && differs ? HPCBOOT_MAX : HPCBOOT_SUM, w, err);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "none";
    struct hpcboot_error err;
    int rc = hpcboot_init(NULL, &err);

    if (rc == 0) {
        rc = call(way, hpcboot_rank() == 1, &err);
        printf("rank %d: %s\n", hpcboot_rank(), rc == 0 ? "good" : err.text);
        fflush(stdout);
        rc = hpcboot_finalize(&err);
    }
    if (rc < 0) {
        fprintf(stderr, "mismatch: %s\n", err.text);
    }
    return rc < 0;
}
