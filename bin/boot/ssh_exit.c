/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#include "config.h"

#include "bin/boot/ssh_exit.h"

#include <stdlib.h>

#include "lib/base/str.h"

static void on_status(ssh_session session, ssh_channel channel, int status,
                      void *arg)
{
    struct hb_ssh_exit *e = arg;

    e->status = status;
}

static void on_signal(ssh_session session, ssh_channel channel,
                      const char *signal, int core, const char *message,
                      const char *language, void *arg)
{
    struct hb_ssh_exit *e = arg;

    free(e->signal);
    e->signal = hb_xstrdup(signal ? signal : "?");
}

struct hb_ssh_exit *hb_ssh_exit_hear(ssh_channel channel)
{
    struct hb_ssh_exit *e = hb_xcalloc(1, sizeof *e);

    e->channel = channel;
    e->status = -1;
    e->callbacks.userdata = e;
    e->callbacks.channel_exit_status_function = on_status;
    e->callbacks.channel_exit_signal_function = on_signal;
    ssh_callbacks_init(&e->callbacks);
    if (ssh_add_channel_callbacks(channel, &e->callbacks) != SSH_OK) {
        free(e);
        return NULL;
    }
    return e;
}

void hb_ssh_exit_destroy(struct hb_ssh_exit *e)
{
    if (e) {
        ssh_remove_channel_callbacks(e->channel, &e->callbacks);
        free(e->signal);
        free(e);
    }
}
