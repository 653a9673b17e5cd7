/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* How much libssh has waiting for the socket. It answers some packets by
 * itself, those of a type that it does not know already before the key
 * exchange, and goes on reading while its answers wait: a peer that asks
 * without end and reads nothing would have them fill the memory.
 *
 * Not reading as long as something waits is no way out: where both ends do
 * that, two full sockets wait for each other. So packets are counted, and a
 * session that has more of them waiting than any honest one is over. */
#include "config.h"

#include "bin/boot/ssh_meter.h"

#include <string.h>

void hb_ssh_meter_watch(struct hb_ssh_meter *meter, ssh_session session)
{
    memset(meter, 0, sizeof *meter);
    ssh_set_counters(session, NULL, &meter->packets);
}

int hb_ssh_meter_is_over(struct hb_ssh_meter *meter, ssh_session session,
                         uint64_t max)
{
    if (!(ssh_get_poll_flags(session) & SSH_WRITE_PENDING)) {
        meter->taken = meter->packets.out_packets;
    }
    return meter->packets.out_packets - meter->taken > max;
}
