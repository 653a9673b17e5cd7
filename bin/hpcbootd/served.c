/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What an agent tells the `hpcbootd serve` that started it, over a socket of
 * their own. An agent that was started in another way has none, and nothing is
 * said. */
#include "config.h"

#include <string.h>
#include <sys/socket.h>

#include "bin/boot/child.h"
#include "bin/boot/serve.h"
#include "bin/hpcbootd/agent.h"
#include "lib/base/fd.h"

static void tell(const struct agent *a, enum hb_serve_word word,
                 const void *data, size_t len)
{
    unsigned char text[HB_SERVE_WORD_MAX];

    if (!a->served || len >= sizeof text) {
        return;
    }
    text[0] = (unsigned char)word;
    if (len > 0) {
        memcpy(text + 1, data, len);
    }
    /* Three messages in a life: there is room, or nobody to hear. */
    (void)!send(HB_CHILD_KEPT_FD, text, len + 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    explicit_bzero(text, sizeof text);
}

void agent_served_job(const struct agent *a)
{
    tell(a, HB_SERVE_JOB, NULL, 0);
}

void agent_served_end(const struct agent *a, uint32_t status)
{
    const unsigned char data[4] = {
        (unsigned char)(status >> 24), (unsigned char)(status >> 16),
        (unsigned char)(status >> 8), (unsigned char)status,
    };

    tell(a, HB_SERVE_END, data, sizeof data);
}

void agent_served_session(const struct agent *a, const void *key, size_t len)
{
    tell(a, HB_SERVE_SESSION, key, len);
}

int agent_served_open(void)
{
    /* Whoever types --served by hand has no socket there. */
    int type;
    socklen_t len = sizeof type;

    return getsockopt(HB_CHILD_KEPT_FD, SOL_SOCKET, SO_TYPE, &type, &len) == 0
        && type == SOCK_SEQPACKET
        && hb_fd_set_cloexec(HB_CHILD_KEPT_FD, 1, NULL) >= 0;
}
