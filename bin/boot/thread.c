/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Threads for what can only be waited for: names that are looked up, an
 * ssh-agent that is asked. What they have done they hand back by other
 * means. */
#include "config.h"

#include "bin/boot/thread.h"

#include <pthread.h>
#include <signal.h>

int hb_boot_thread(void *(*fn)(void *arg), void *arg, size_t stack_bytes)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, stack_bytes);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&thread, &attr, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}
