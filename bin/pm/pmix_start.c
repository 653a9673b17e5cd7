/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What libpmix needs to start, and why it does not: it says no more than ERROR
 * itself. Its server listens at the loopback device and has a thread of its
 * own; server and clients crash where their user has no home. */
#include "config.h"

#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bin/pm/pmix_impl.h"
#include "lib/base/fd.h"

const char *hb_pmix_home(const char *set)
{
    return set != NULL || getpwuid(getuid()) != NULL ? set : "/";
}

/* As in a network namespace that nobody has set up. */
static int loopback_is_down(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq lo = {.ifr_name = "lo"};
    int down = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &lo) == 0 &&
               (lo.ifr_flags & IFF_UP) == 0;

    hb_fd_close(&fd);
    return down;
}

static void *do_nothing(void *arg)
{
    return arg;
}

/* The C library says EAGAIN of a stack that it cannot have, too. */
static int has_a_stack(void)
{
    pthread_attr_t attr;
    size_t size = 0;
    void *stack;

    if (pthread_attr_init(&attr) != 0) {
        return 0;
    }
    (void)pthread_attr_getstacksize(&attr, &size);
    pthread_attr_destroy(&attr);
    stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
                 /* cppcheck-suppress invalidFunctionArg */
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    return stack != MAP_FAILED && munmap(stack, size) == 0;
}

/* What keeps a thread from its start, or NULL. */
static const char *no_thread(void)
{
    pthread_t t;
    int rc = pthread_create(&t, NULL, do_nothing, NULL);

    if (rc == 0) {
        pthread_join(t, NULL);
        return NULL;
    }
    return !has_a_stack()
               ? "libpmix does not start without a thread, and there is no "
                 "memory for its stack (ulimit -v, ulimit -d)"
               : rc == EAGAIN
               ? "libpmix does not start without a thread, and the limit on "
                 "processes is reached (ulimit -u, or pids.max of the "
                 "container)"
               : NULL;
}

const char *hb_pmix_no_start(void)
{
    const char *why;

    if (loopback_is_down()) {
        return "libpmix does not start without the loopback device, which is "
               "down (ip link set lo up)";
    }
    why = no_thread();
    return why != NULL ? why : "libpmix does not start";
}
