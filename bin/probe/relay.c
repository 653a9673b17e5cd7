/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Frames between a probe and the launcher. An allgather is a frame up, and one
 * down that holds everybody's bytes in the order of ranks. */
#include "config.h"

#include "bin/probe/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "bin/doctor/traffic.h"
#include "lib/base/fd.h"

static int send_frame(struct relay *r, char kind, const void *data,
                      size_t len)
{
    uint32_t length = htonl((uint32_t)len + 1);

    if (len >= HB_PROBE_FRAME_MAX ||
        hb_fd_write_all(r->out, &length, sizeof length, NULL) < 0 ||
        hb_fd_write_all(r->out, &kind, 1, NULL) < 0) {
        return -1;
    }
    return hb_fd_write_all(r->out, data, len, NULL) < 0 ? -1 : 0;
}

static int read_all(int fd, void *data, size_t len)
{
    char *at = data;

    while (len > 0) {
        ssize_t n = read(fd, at, len);

        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            return -1;
        }
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int relay_allgather(void *arg, const void *send, void *recv,
                    size_t size_bytes)
{
    struct relay *r = arg;
    size_t all = size_bytes * (size_t)r->size;
    uint32_t length;
    char kind;

    if (send_frame(r, HB_PROBE_GATHER, send, size_bytes) < 0 ||
        read_all(r->in, &length, sizeof length) < 0 ||
        ntohl(length) != all + 1 || read_all(r->in, &kind, 1) < 0) {
        return -1;
    }
    return read_all(r->in, recv, all);
}

int relay_report(struct relay *r, const char *text, size_t len)
{
    return send_frame(r, HB_PROBE_REPORT, text, len);
}
