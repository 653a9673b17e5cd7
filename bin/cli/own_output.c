/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A file that takes a program's own output cannot be an output file of its as
 * well: /dev/stdout, say, where that is no pipe. Opened once more it has a
 * second offset, by which each of the two writes over the other; emptied or
 * replaced, it loses what was there. */
#include "config.h"

#include "bin/cli/own_output.h"

#include <unistd.h>

int hb_own_output(const struct stat *st)
{
    struct stat own;

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (S_ISREG(st->st_mode) && fstat(fd, &own) == 0 &&
            own.st_dev == st->st_dev && own.st_ino == st->st_ino) {
            return fd;
        }
    }
    return -1;
}
