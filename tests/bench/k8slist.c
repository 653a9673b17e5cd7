/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Lists the pods of the namespace of the pod whose files are below a
 * directory, and prints how many there are and what it cost:
 * k8slist ROOT, with KUBERNETES_SERVICE_HOST and _PORT in the environment. */

#include "config.h"

#include <stdio.h>
#include <sys/resource.h>

#include "hostfile/k8s.h"
#include "lib/base/clock.h"

#define LIMIT_MS 60000

extern char **environ;

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    const struct hb_gang_request req = {.env = environ,
                                        .root = argc > 1 ? argv[1] : ""};
    const struct hb_k8s_query query = {0};
    struct hb_k8s_login login;
    struct hpcboot_error err = {0};
    struct rusage use;
    struct hb_k8s *k = NULL;
    char *reason = NULL;
    int64_t began = hb_now_ns();

    if (!hb_k8s_login_read(&req, &login, &reason)) {
        fprintf(stderr, "k8slist: %s\n", reason);
        return 1;
    }
    if (hb_k8s_open(&login, &query, &k, &err) < 0 ||
        hb_k8s_wait(k, hb_deadline_in_ms(LIMIT_MS), &err) < 0) {
        fprintf(stderr, "k8slist: %s\n", err.text);
        return 1;
    }
    getrusage(RUSAGE_SELF, &use);
    printf("%zu pods, %.3f s of CPU, %.3f s, %ld KiB\n", hb_k8s_pods(k)->n,
           seconds(use.ru_utime) + seconds(use.ru_stime),
           (double)(hb_now_ns() - began) / 1e9, use.ru_maxrss);
    hb_k8s_close(k);
    hb_k8s_login_destroy(&login);
    return 0;
}
