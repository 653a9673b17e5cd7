/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Writes much, as told:
 *   flood raw BYTES       bytes that follow a pattern, no line end at all
 *   flood lines N         N short lines "RANK NUMBER"
 *   flood long N LENGTH   N lines of LENGTH times the rank's letter, each
 *                         written in small pieces
 * RANK is HPCBOOT_RANK, or 0 without a launcher.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 65536
#define PIECE 1000 /* of a long line; no divisor of a pipe's size */

static void put(const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(1, data, length);
        if (n < 0) {
            perror("flood: write");
            exit(1);
        }
        data += n;
        length -= (size_t)n;
    }
}

static void raw(long long bytes)
{
    static char chunk[CHUNK];
    unsigned state = 1;

    while (bytes > 0) {
        size_t n = bytes < CHUNK ? (size_t)bytes : CHUNK;
        for (size_t i = 0; i < sizeof chunk; i++) {
            state = state * 1103515245u + 12345u;
            chunk[i] = (char)('a' + (state >> 16) % 26);
        }
        put(chunk, n);
        bytes -= (long long)n;
    }
}

static void lines(long long n, const char *rank)
{
    for (long long i = 0; i < n; i++) {
        printf("%s %lld\n", rank, i);
    }
    if (fflush(stdout) != 0) {
        perror("flood: write");
        exit(1);
    }
}

static void long_lines(long long n, size_t length, const char *rank)
{
    char *line = malloc(length + 1);

    if (line == NULL) {
        exit(1);
    }
    memset(line, 'a' + atoi(rank) % 26, length);
    line[length] = '\n';
    while (n-- > 0) {
        for (size_t at = 0; at <= length; at += PIECE) {
            size_t rest = length + 1 - at;
            put(line + at, rest < PIECE ? rest : PIECE);
        }
    }
    free(line);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("HPCBOOT_RANK");

    rank = rank != NULL ? rank : "0";
    if (argc == 3 && strcmp(argv[1], "raw") == 0) {
        raw(atoll(argv[2]));
    } else if (argc == 3 && strcmp(argv[1], "lines") == 0) {
        lines(atoll(argv[2]), rank);
    } else if (argc == 4 && strcmp(argv[1], "long") == 0) {
        long_lines(atoll(argv[2]), (size_t)atoll(argv[3]), rank);
    } else {
        fputs("usage: flood raw BYTES | lines N | long N LENGTH\n", stderr);
        return 2;
    }
    return 0;
}
