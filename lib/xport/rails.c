/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which networks two ranks share, from their cards alone: so both find the
 * same without a word. A rail is a device at either end whose addresses are of
 * one subnet; a device is of one rail, however many addresses it has. Networks
 * behind routers are none: nobody knows whether their ways differ.
 *
 * A device that is much slower than another would hold up the last piece of
 * each message, and is left out. An address that both ends have is that of a
 * bridge within each host, or both are one host. */
#include "config.h"

#include <netinet/in.h>
#include <string.h>

#include "lib/xport/address.h"

#define SLOWER_MOST 4u /* times than the fastest */

static const unsigned char *bytes_of(const struct sockaddr_storage *a,
                                     size_t *bits)
{
    if (a->ss_family == AF_INET6) {
        *bits = 8 * sizeof(struct in6_addr);
        return (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr;
    }
    *bits = 8 * sizeof(struct in_addr);
    return (const void *)&((const struct sockaddr_in *)a)->sin_addr;
}

static int same_bits(const struct sockaddr_storage *a,
                     const struct sockaddr_storage *b, size_t most)
{
    size_t bits;
    const unsigned char *x = bytes_of(a, &bits), *y = bytes_of(b, &bits);
    size_t n = most < bits ? most : bits, rest = n % 8;

    return a->ss_family == b->ss_family && memcmp(x, y, n / 8) == 0 &&
           (rest == 0 || (x[n / 8] ^ y[n / 8]) >> (8 - rest) == 0);
}

void hb_sockaddr_clear_port(struct sockaddr_storage *a)
{
    if (a->ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)a)->sin6_port = 0;
    } else {
        ((struct sockaddr_in *)a)->sin_port = 0;
    }
}

int hb_sockaddr_same(const struct sockaddr_storage *a,
                     const struct sockaddr_storage *b)
{
    struct in6_addr x, y;
    const struct sockaddr_storage *both[] = {a, b};
    struct in6_addr *wide[] = {&x, &y};

    for (int i = 0; i < 2; i++) { /* a listener of both families maps one */
        size_t bits;
        const unsigned char *bytes = bytes_of(both[i], &bits);
        size_t len = bits / 8;

        memset(wide[i], 0, sizeof x);
        memcpy(wide[i]->s6_addr + sizeof x - len, bytes, len);
        if (len < sizeof x) {
            wide[i]->s6_addr[10] = wide[i]->s6_addr[11] = 0xff;
        }
    }
    return memcmp(&x, &y, sizeof x) == 0;
}

static int share(const struct hb_endpoint *a, unsigned i,
                 const struct hb_endpoint *b, unsigned j)
{
    const struct hb_network *m = &a->net[i], *n = &b->net[j];

    return m->device != 0 && n->device != 0 && m->prefix == n->prefix &&
           same_bits(&a->at[i], &b->at[j], m->prefix) &&
           !same_bits(&a->at[i], &b->at[j], SIZE_MAX);
}

static uint32_t slower(uint32_t a, uint32_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static unsigned without_slow(struct hb_rail *rails, unsigned n)
{
    uint32_t most = 0;
    unsigned kept = 0;

    for (unsigned i = 0; i < n; i++) {
        most = rails[i].mbps > most ? rails[i].mbps : most;
    }
    for (unsigned i = 0; i < n; i++) {
        if (rails[i].mbps == 0 || rails[i].mbps >= most / SLOWER_MOST) {
            rails[kept++] = rails[i];
        }
    }
    return kept;
}

unsigned hb_rails_between(const struct hb_endpoint *low,
                          const struct hb_endpoint *high,
                          struct hb_rail out[HB_RAILS_MOST])
{
    unsigned n = 0, low_used = 0, high_used = 0;

    for (unsigned i = 0; i < low->n; i++) {
        for (unsigned j = 0; j < high->n && n < HB_RAILS_MOST; j++) {
            unsigned a = 1u << low->net[i].device;
            unsigned b = 1u << high->net[j].device;

            if ((low_used & a) != 0 || (high_used & b) != 0 ||
                !share(low, i, high, j)) {
                continue;
            }
            low_used |= a;
            high_used |= b;
            out[n++] = (struct hb_rail){
                low->at[i], high->at[j],
                slower(low->net[i].mbps, high->net[j].mbps)};
        }
    }
    return without_slow(out, n);
}
