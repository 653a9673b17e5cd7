/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Rank 1 writes into a filter and ends with status 3, as a shell's script does
 * after `exec > >(sed "s/^/seen: /")`. Its filter is slow to read: the pipe is
 * not its standard input before the rank has ended. The others wait. With a
 * FILE, rank 1 makes that and goes on when a SIGUSR1 has come, which the others
 * ignore when they have made FILE.RANK. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
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

static void on_signal(int signo)
{
    (void)signo;
}

static void make(const char *file)
{
    close(open(file, O_CREAT | O_WRONLY, 0644));
}

static void wait_for_signal(const char *ready)
{
    sigset_t usr1, none;

    sigemptyset(&none);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    (void)signal(SIGUSR1, on_signal);
    make(ready);
    sigsuspend(&none);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("HPCBOOT_RANK");
    pid_t self = getpid();
    int ends[2];

    if (rank == NULL || strcmp(rank, "1") != 0) {
        (void)signal(SIGUSR1, SIG_IGN);
        if (argc > 1) {
            char file[256];

            snprintf(file, sizeof file, "%s.%s", argv[1], rank ? rank : "");
            make(file);
        }
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
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    if (argc > 1) {
        wait_for_signal(argv[1]);
    }
    return write(STDOUT_FILENO, text, sizeof text - 1) > 0 ? 3 : 1;
}
