/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Makes and maps the files that it is given, as an MPI does its segment in
 * /dev/shm, says so with its number, and waits: segment FILE... */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES 4096

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int fd = open(argv[i], O_RDWR | O_CREAT, 0600);

        if (fd < 0 || ftruncate(fd, BYTES) < 0 ||
            mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) ==
                MAP_FAILED) {
            perror(argv[i]);
            return 1;
        }
        close(fd);
    }
    printf("mapped by %ld\n", (long)getpid());
    fflush(stdout);
    for (;;) {
        pause();
    }
}
