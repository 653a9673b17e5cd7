/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Heat in a bar: a one-dimensional stencil over all ranks. Each rank has a
 * piece of the bar, gives its edges to its neighbours as messages, and all
 * stop together when the largest change of any point is small.
 *
 *   cc stencil.c $(pkg-config --cflags --libs hpcboot) -lm -o stencil
 *   hbrun -n 4 ./stencil
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <hpcboot/hpcboot.h>

#define POINTS 120        /* of the whole bar */
#define SMALL 1e-2
#define MOST_STEPS 20000
#define TO_LEFT 1
#define TO_RIGHT 2

static struct hpcboot_error err;

static void must(int rc)
{
    if (rc < 0) {
        fprintf(stderr, "stencil: %s\n", err.text);
        exit(1);
    }
}

/* bar[0] and bar[n + 1] are the neighbours' edges. */
static void swap_edges(struct hpcboot_team *world, double *bar, int n)
{
    int me = hpcboot_rank(), last = hpcboot_size() - 1;
    struct hpcboot_request *in[2] = {NULL, NULL};

    if (me > 0) {
        must(hpcboot_irecv(world, me - 1, TO_RIGHT, &bar[0], sizeof *bar, NULL,
                           &in[0], &err));
        must(hpcboot_send(world, me - 1, TO_LEFT, &bar[1], sizeof *bar, &err));
    }
    if (me < last) {
        must(hpcboot_irecv(world, me + 1, TO_LEFT, &bar[n + 1], sizeof *bar,
                           NULL, &in[1], &err));
        must(hpcboot_send(world, me + 1, TO_RIGHT, &bar[n], sizeof *bar,
                          &err));
    }
    must(hpcboot_wait_all(in, 2, 0, &err));
}

static double step(const double *bar, double *next, int n)
{
    double most = 0;

    for (int i = 1; i <= n; i++) {
        next[i] = bar[i] + 0.25 * (bar[i - 1] - 2 * bar[i] + bar[i + 1]);
        most = fmax(most, fabs(next[i] - bar[i]));
    }
    return most;
}

int main(void)
{
    struct hpcboot_team *world;
    double *bar, *next, change = 1, sum = 0, whole = 0;
    int me, size, n, steps = 0;

    must(hpcboot_init(NULL, &err));
    world = hpcboot_world();
    me = hpcboot_rank();
    size = hpcboot_size();
    n = POINTS / size + (me < POINTS % size);
    bar = calloc((size_t)n + 2, sizeof *bar);
    next = calloc((size_t)n + 2, sizeof *next);
    if (me == 0) {
        bar[0] = next[0] = 100; /* the left end is kept hot, the right cold */
    }
    while (change > SMALL && steps < MOST_STEPS) {
        double *old = bar;

        swap_edges(world, bar, n);
        change = step(bar, next, n);
        must(hpcboot_allreduce(HPCBOOT_IN_PLACE, &change, 1, HPCBOOT_DOUBLE,
                               HPCBOOT_MAX, world, &err));
        next[0] = bar[0];
        next[n + 1] = bar[n + 1];
        bar = next;
        next = old;
        steps++;
    }
    for (int i = 1; i <= n; i++) {
        sum += bar[i];
    }
    must(hpcboot_reduce(&sum, &whole, 1, HPCBOOT_DOUBLE, HPCBOOT_SUM, 0, world,
                        &err));
    if (me == 0) {
        printf("%d ranks, %d steps, heat %.6f\n", size, steps, whole);
    }
    free(bar);
    free(next);
    must(hpcboot_finalize(&err));
    return 0;
}
