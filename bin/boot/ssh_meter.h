/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_METER_H
#define HB_BOOT_SSH_METER_H

#include <libssh/libssh.h>

/* A login sends a dozen packets in all. */
#define HB_SSH_LOGIN_PACKETS 1024
/* What is said of a host whose session is over by this. */
#define HB_SSH_METER_WORDS "asks without end and reads none of the answers"

struct hb_ssh_meter {
    struct ssh_counter_struct packets;
    uint64_t taken; /* of those sent, when the socket had last taken all */
};

/* Begins to count; `meter` must stay where it is until the session is freed or
 * another one watches it. */
void hb_ssh_meter_watch(struct hb_ssh_meter *meter, ssh_session session);
/* Whether more than `max` packets wait for a peer that does not read: to be
 * asked each time libssh has read. */
int hb_ssh_meter_is_over(struct hb_ssh_meter *meter, ssh_session session,
                         uint64_t max);

#endif
