/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A rank that speaks PMI-1 by itself and meets the others again and again:
 *
 *   pmi_fence ROUNDS BYTES
 *
 * Each round puts BYTES of its own (0: none) and passes a barrier. At the end
 * it reads what the last rank has put and checks it; rank 0 prints the median
 * and the slowest round in microseconds. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int fd;
static char answer[4096];

static void fail(const char *what)
{
    fprintf(stderr, "pmi_fence: %s: %s\n", what, answer);
    exit(3);
}

/* One command and its answer, a line each. */
static void ask(const char *command, const char *expected)
{
    size_t n = 0, len = strlen(command);
    ssize_t got;

    if (write(fd, command, len) != (ssize_t)len) {
        fail(command);
    }
    do {
        got = read(fd, answer + n, sizeof answer - 1 - n);
        n += got > 0 ? (size_t)got : 0;
    } while (got > 0 && answer[n - 1] != '\n');
    answer[n] = '\0';
    if (strncmp(answer, expected, strlen(expected)) != 0) {
        fail(command);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void value_of(int rank, int round, int bytes, char *out)
{
    int n = snprintf(out, (size_t)bytes + 1, "%d.%d.", rank, round);

    for (; n < bytes; n++) {
        out[n] = (char)('a' + (rank + n) % 26);
    }
    out[bytes] = '\0';
}

static void put(const char *kvs, int rank, int round, int bytes)
{
    char value[1024], line[2048];

    value_of(rank, round, bytes, value);
    snprintf(line, sizeof line, "cmd=put kvsname=%s key=k%d.%d value=%s\n",
             kvs, rank, round, value);
    ask(line, "cmd=put_result rc=0");
}

static void check(const char *kvs, int rank, int round, int bytes)
{
    char value[1024], line[2048];

    value_of(rank, round, bytes, value);
    snprintf(line, sizeof line, "cmd=get kvsname=%s key=k%d.%d\n", kvs, rank,
             round);
    ask(line, "cmd=get_result rc=0");
    if (strstr(answer, value) == NULL) {
        fail("another value");
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    int bytes = argc > 2 ? atoi(argv[2]) : 0;
    int rank, size;
    char kvs[256] = "";
    double *took, began;

    if (getenv("PMI_FD") == NULL || rounds < 1 || bytes < 0 || bytes > 1000) {
        fprintf(stderr, "usage: hbrun --pmi pmi1 pmi_fence ROUNDS BYTES\n");
        return 2;
    }
    fd = atoi(getenv("PMI_FD"));
    rank = atoi(getenv("PMI_RANK"));
    size = atoi(getenv("PMI_SIZE"));
    took = calloc((size_t)rounds, sizeof *took);
    ask("cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=response_to_init");
    ask("cmd=get_my_kvsname\n", "cmd=my_kvsname");
    if (strstr(answer, "kvsname=") == NULL ||
        sscanf(strstr(answer, "kvsname="), "kvsname=%255s", kvs) != 1) {
        fail("no kvsname");
    }
    for (int i = 0; i < rounds; i++) {
        if (bytes > 0) {
            put(kvs, rank, i, bytes);
        }
        began = now_us();
        ask("cmd=barrier_in\n", "cmd=barrier_out");
        took[i] = now_us() - began;
    }
    if (bytes > 0) {
        check(kvs, size - 1, rounds - 1, bytes);
    }
    qsort(took, (size_t)rounds, sizeof *took, compare);
    if (rank == 0) {
        printf("fence of %d: median %.0f us, slowest %.0f us\n", size,
               took[rounds / 2], took[rounds - 1]);
    }
    ask("cmd=finalize\n", "cmd=finalize_ack");
    free(took);
    return 0;
}
