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

static int threads_are_used_up(void)
{
    pthread_t t;
    int rc = pthread_create(&t, NULL, do_nothing, NULL);

    if (rc == 0) {
        pthread_join(t, NULL);
    }
    return rc == EAGAIN;
}

const char *hb_pmix_no_start(void)
{
    if (loopback_is_down()) {
        return "libpmix does not start without the loopback device, which is "
               "down (ip link set lo up)";
    }
    return threads_are_used_up()
               ? "libpmix does not start without a thread, and the limit on "
                 "processes is reached (ulimit -u, or pids.max of the "
                 "container)"
               : "libpmix does not start";
}
