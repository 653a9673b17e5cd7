/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The cards of two ranks, which say how each is reached: any bytes, the first
 * of which is the length of the first card. What is understood names few enough
 * addresses, in an order that is one of them, and few enough rails. */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/xport/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* 127.1.0.1/16, which has been mute, and fd00::1/64. */
static void make_ours(struct hb_interfaces *ours)
{
    struct sockaddr_in *at = (struct sockaddr_in *)&ours->list[0].at;
    struct sockaddr_in *mask = (struct sockaddr_in *)&ours->list[0].mask;
    struct sockaddr_in6 *at6 = (struct sockaddr_in6 *)&ours->list[1].at;
    struct sockaddr_in6 *mask6 = (struct sockaddr_in6 *)&ours->list[1].mask;

    at->sin_family = mask->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(0x7f010001);
    mask->sin_addr.s_addr = htonl(0xffff0000);
    at6->sin6_family = mask6->sin6_family = AF_INET6;
    at6->sin6_addr.s6_addr[0] = 0xfd;
    at6->sin6_addr.s6_addr[15] = 1;
    memset(mask6->sin6_addr.s6_addr, 0xff, 8);
    ours->list[0].is_mute = 1;
    ours->n = 2;
}

static int get(const uint8_t *data, size_t size,
               const struct hb_interfaces *ours, struct hb_endpoint *out)
{
    struct hb_buf b;

    hb_buf_view(&b, data, size);
    return hb_endpoint_get(&b, ours, out);
}

/* Sorted or not, it has the same addresses. */
static void compare(const struct hb_endpoint *sorted,
                    const struct hb_endpoint *e)
{
    unsigned seen = 0;

    if (e->n == 0 || e->n > HB_ADDRESS_MOST || sorted->n != e->n) {
        abort();
    }
    for (unsigned i = 0; i < e->n; i++) {
        unsigned j = 0;

        while (j < e->n && ((seen >> j & 1) != 0 ||
                            memcmp(&sorted->at[i], &e->at[j],
                                   sizeof e->at[j]) != 0)) {
            j++;
        }
        seen |= 1u << j;
    }
    if (seen != (1u << e->n) - 1) {
        abort();
    }
}

static void answer(const struct hb_endpoint *e, struct hb_interfaces *ours)
{
    char text[INET6_ADDRSTRLEN + 16];

    for (unsigned i = 0; i < e->n; i++) {
        hb_sockaddr_text(&e->at[i], text, sizeof text);
        (void)hb_interfaces_have(ours, &e->at[i]);
        hb_endpoint_answered(e, i, ours);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_interfaces ours = {0};
    struct hb_endpoint low, high, sorted;
    struct hb_rail rails[HB_RAILS_MOST];
    size_t first = size > 0 ? data[0] : 0;

    if (size < 1 + first) {
        return 0;
    }
    make_ours(&ours);
    if (get(data + 1, first, NULL, &low) == 0) {
        if (get(data + 1, first, &ours, &sorted) < 0) {
            abort();
        }
        compare(&sorted, &low);
        answer(&sorted, &ours);
        if (get(data + 1 + first, size - 1 - first, NULL, &high) == 0 &&
            hb_rails_between(&low, &high, rails) > HB_RAILS_MOST) {
            abort();
        }
    }
    return 0;
}
