/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How far the first two CPUs that this process may use are from each other:
 * prints the nanoseconds of a round trip of a cache line between them, the
 * median of several batches. With one CPU it prints 0. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCHES 9
#define TRIPS 2000u

static struct {
    _Alignas(128) _Atomic unsigned word;
} there, back;
static int cpus[2];

static void go_to(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

static void await(_Atomic unsigned *word, unsigned value)
{
    while (atomic_load_explicit(word, memory_order_acquire) < value) {
    }
}

static void *answer(void *unused)
{
    (void)unused;
    go_to(cpus[1]);
    for (unsigned i = 1; i <= BATCHES * TRIPS; i++) {
        await(&there.word, i);
        atomic_store_explicit(&back.word, i, memory_order_release);
    }
    return NULL;
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int find_cpus(void)
{
    cpu_set_t set;
    int n = 0;

    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 0;
    }
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++) {
        if (CPU_ISSET(i, &set)) {
            cpus[n++] = i;
        }
    }
    return n;
}

int main(void)
{
    double trip[BATCHES];
    pthread_t other;

    if (find_cpus() < 2) {
        puts("0");
        return 0;
    }
    go_to(cpus[0]);
    if (pthread_create(&other, NULL, answer, NULL) != 0) {
        return 1;
    }
    for (unsigned b = 0; b < BATCHES; b++) {
        double begun = now_ns();

        for (unsigned i = 1; i <= TRIPS; i++) {
            atomic_store_explicit(&there.word, b * TRIPS + i,
                                  memory_order_release);
            await(&back.word, b * TRIPS + i);
        }
        trip[b] = (now_ns() - begun) / TRIPS;
    }
    pthread_join(other, NULL);
    qsort(trip, BATCHES, sizeof *trip, by_size);
    printf("%.0f\n", trip[BATCHES / 2]);
    return 0;
}
