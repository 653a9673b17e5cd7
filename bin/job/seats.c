/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Seats of a job whose size changes while it runs. A map names each node once,
 * and a seat that is taken has the name of who sits there. So a name that is in
 * the map is that of a free seat, and as long as that is so, because it is too
 * large for the slots that its host has now, that host gets no new one. */
#include "config.h"

#include "bin/job/seats.h"

#include "lib/base/str.h"

uint32_t hb_seats_room(const struct hb_seats *s)
{
    uint32_t room = s->most > s->map->n_ranks ? s->most - s->map->n_ranks : 0;

    for (uint32_t i = 0; i < s->map->n_nodes; i++) {
        room += s->is_free[i] ? s->map->local_size[i] : 0;
    }
    return room;
}

/* Its own, else the largest that it has slots for. */
static int choose_free(const struct hb_seats *s, uint32_t own, uint32_t slots,
                       struct hb_seat *out)
{
    uint32_t best = 0;

    for (uint32_t i = 0; i < s->map->n_nodes; i++) {
        uint32_t size = s->map->local_size[i];

        if (s->is_free[i] && size <= slots && (size > best || i == own)) {
            *out = (struct hb_seat){i, size};
            best = i == own ? UINT32_MAX : size;
        }
    }
    return best > 0;
}

int hb_seats_choose(const struct hb_seats *s, const char *name, uint32_t slots,
                    struct hb_seat *out)
{
    uint32_t own = 0, room;

    while (own < s->map->n_nodes &&
           !hb_streq(s->map->node_names[own], name)) {
        own++;
    }
    if (choose_free(s, own, slots, out)) {
        return 1;
    }
    room = s->most > s->map->n_ranks ? s->most - s->map->n_ranks : 0;
    if (own < s->map->n_nodes || room == 0 || slots == 0) {
        return 0;
    }
    *out = (struct hb_seat){own, slots < room ? slots : room};
    return 1;
}
