/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Children are waited for one by one, each by whoever has started it, so those
 * that nobody has started must not be taken for one of these: the numbers of
 * the latter are kept until they are nobody's. */
#include "config.h"

#include "bin/proc/first.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/proc/below.h"
#include "lib/base/str.h"

static struct {
    pid_t *v;
    size_t n, cap;
} own;

int hb_is_first(void)
{
    return getpid() == 1;
}

static void forget_reaped(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < own.n; i++) {
        if (kill(own.v[i], 0) == 0 || errno != ESRCH) {
            own.v[kept++] = own.v[i];
        }
    }
    own.n = kept;
}

void hb_first_own(pid_t pid)
{
    if (!hb_is_first()) {
        return;
    }
    if (own.n == own.cap) {
        forget_reaped();
    }
    if (own.n == own.cap) {
        own.cap = own.cap > 0 ? 2 * own.cap : 64;
        own.v = hb_xrealloc(own.v, own.cap * sizeof *own.v);
    }
    own.v[own.n++] = pid;
}

static int reap_stranger(void *ctx, pid_t pid)
{
    for (size_t i = 0; i < own.n; i++) {
        if (own.v[i] == pid) {
            return 0;
        }
    }
    (void)waitpid(pid, NULL, WNOHANG);
    return 0;
}

void hb_first_reap(void)
{
    if (hb_is_first()) {
        forget_reaped();
        (void)hb_children(getpid(), reap_stranger, NULL);
    }
}
