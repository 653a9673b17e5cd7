/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How fast a rail is, as it shows: what drivers say of a device knows nothing
 * of a quota, of a switch behind it, or of those who share it, and a virtual
 * device says nothing at all. A message is there when its last part is, so one
 * part that a slow rail has taken may hold up all the others.
 *
 * The system counts the bytes that were acknowledged, and, in jiffies, the time
 * in which there was something to send. Both are summed up while parts are on
 * their way: short messages tell how long a way is, and not how wide. Time in
 * which the peer had no room says nothing of the rail. The rate that the system
 * reckons by itself is there sooner; of a rail that had little to do it is too
 * low, and good enough to tell that another one is slower. A rail that was slow
 * gets a part now and then all the same, as it may have been for a while. */
#include "config.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/clock.h"
#include "lib/xport/tcp_pair.h"

#define US_PER_S 1e6
#define ENOUGH_US 20000u /* some jiffies */
#define STALE_NS ((int64_t)10 * 1000 * 1000 * 1000)

static int ask(int fd, struct tcp_info *i)
{
    socklen_t len = sizeof *i;

    memset(i, 0, sizeof *i);
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, i, &len) == 0 &&
           len >= offsetof(struct tcp_info, tcpi_sndbuf_limited);
}

static int is_stale(const struct hb_rail_pace *p)
{
    return p->rate > 0 && hb_now_ns() - p->known_ns > STALE_NS;
}

static void sum_up(struct hb_rail_pace *p, const struct tcp_info *i,
                   uint64_t queued)
{
    uint64_t busy_us = i->tcpi_busy_time - i->tcpi_rwnd_limited;

    if (p->has_part) {
        p->part_bytes += i->tcpi_bytes_acked - p->acked;
        p->part_us += busy_us - p->busy_us;
    }
    p->acked = i->tcpi_bytes_acked;
    p->busy_us = busy_us;
    p->has_part &= queued > 0;
    if (p->part_bytes >= HB_CUT_PART && p->part_us >= ENOUGH_US) {
        double rate = (double)p->part_bytes * US_PER_S / (double)p->part_us;

        p->rate = p->rate > 0 && !is_stale(p) ? (p->rate + rate) / 2 : rate;
        p->known_ns = hb_now_ns();
        p->part_bytes = p->part_us = 0;
    }
}

void hb_pace_look(struct hb_tcp_conn *c, struct hb_pace *out)
{
    struct tcp_info i;

    *out = (struct hb_pace){0, 0, 0};
    if (!ask(c->fd, &i)) {
        return;
    }
    out->queued = i.tcpi_notsent_bytes +
                  (uint64_t)i.tcpi_unacked * i.tcpi_snd_mss;
    sum_up(&c->pace, &i, out->queued);
    out->rate = c->pace.rate;
    out->least = (double)i.tcpi_delivery_rate;
    if (out->rate > 0 && out->least > out->rate) {
        out->least = out->rate;
    }
    if (out->queued == 0 && is_stale(&c->pace)) {
        out->rate = 0;
    }
}

int hb_pace_is_worth(const struct hb_pace *v, unsigned n, unsigned mine,
                     uint64_t left)
{
    double with_part = (double)(v[mine].queued + HB_CUT_PART);

    for (unsigned i = 0; i < n && v[mine].rate > 0; i++) {
        if (i != mine && v[i].least > 0 &&
            with_part / v[mine].rate >
                (double)(v[i].queued + left) / v[i].least) {
            return 0;
        }
    }
    return 1;
}
