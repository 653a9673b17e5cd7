/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* To be preloaded: a host that has no room for another process. */
#include <errno.h>
#include <unistd.h>

pid_t fork(void)
{
    errno = EAGAIN;
    return -1;
}
