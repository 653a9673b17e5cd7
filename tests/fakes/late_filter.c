/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Rank 1 writes into a filter and ends with status 3, as a shell's script does
 * after `exec > >(sed "s/^/seen: /")`. Its filter is slow to read: the pipe is
 * not its standard input before the rank has ended. The others wait. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text[] = "no such file\n";

static void filter(int from, pid_t rank)
{
    while (getppid() == rank) {
        usleep(1000);
    }
    usleep(100000);
    dup2(from, STDIN_FILENO);
    close(from);
    execlp("sed", "sed", "s/^/seen: /", (char *)NULL);
    _exit(127);
}

int main(void)
{
    const char *rank = getenv("HPCBOOT_RANK");
    pid_t self = getpid();
    int ends[2];

    if (rank == NULL || strcmp(rank, "1") != 0) {
        sleep(1000);
        return 0;
    }
    if (pipe(ends) < 0) {
        return 1;
    }
    if (fork() == 0) {
        close(ends[1]);
        filter(ends[0], self);
    }
    return write(ends[1], text, sizeof text - 1) > 0 ? 3 : 1;
}
