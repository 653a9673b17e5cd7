/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The memory of a job, looked at from outside. It belongs to processes that
 * may have written anything anywhere, and that end while it is read: so it is
 * read into buffers of this process, in pieces whose size is bounded here,
 * and every offset is checked against the size of the file. What comes out is
 * numbers; whoever shows them treats each as a stranger's word. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/rdzv/segment_impl.h"

#define LOCAL_MOST 4096u /* ranks of a host that are shown */
#define RANKS_MOST (1u << 24) /* of a job */
#define TABLE_STEP 4096u /* ranks of the job's table that are read at once */

static int fits(const struct hb_segment_layout *l, uint64_t offset, uint64_t n,
                uint64_t each)
{
    return offset % PAGE == 0 && offset <= l->size &&
           n <= (l->size - offset) / (each > 0 ? each : 1);
}

int hb_segment_sound(const struct hb_segment_layout *l, uint64_t size)
{
    return l->magic == MAGIC && l->size == size && l->node < l->n_nodes &&
           l->n_local >= 1 && l->n_local <= l->n_ranks &&
           fits(l, l->slots, l->n_local, sizeof(struct hb_segment_slot)) &&
           fits(l, l->deaths, l->n_ranks, sizeof(struct hb_death)) &&
           fits(l, l->death_of, l->n_ranks, sizeof(uint32_t)) &&
           fits(l, l->news, NEWS_MAX, sizeof(struct hb_news)) &&
           fits(l, l->lost, l->n_ranks, sizeof(struct hb_death)) &&
           fits(l, l->node_of, l->n_ranks, sizeof(uint32_t)) &&
           fits(l, l->local_rank, l->n_ranks, sizeof(uint32_t)) &&
           fits(l, l->name_at, l->n_nodes, sizeof(uint32_t)) &&
           fits(l, l->names, l->names_bytes, 1) &&
           fits(l, l->addresses, l->n_ranks, HB_SEGMENT_ADDRESS_MAX) &&
           fits(l, l->regions, HB_SEGMENT_REGIONS, l->region_bytes) &&
           fits(l, l->rings, (uint64_t)l->n_local * l->n_local,
                l->ring_bytes) &&
           fits(l, l->map, l->heap_pages, sizeof(uint32_t)) &&
           fits(l, l->heap, l->heap_pages, PAGE);
}

static int read_at(int fd, uint64_t offset, void *into, size_t size)
{
    ssize_t n = pread(fd, into, size, (off_t)offset);

    return n == (ssize_t)size ? 0 : -1;
}

static void copy_slot(const struct hb_segment_slot *s,
                      struct hb_segment_seen *out)
{
    const struct hb_segment_wait *w = &s->wait;

    out->state = s->state;
    out->pid = s->pid;
    out->pid_space = s->pid_space;
    out->kind = w->kind;
    out->team = w->team;
    out->team_size = w->team_size;
    out->on = w->on;
    out->tag = w->tag;
    out->calls = w->calls;
    out->threads = w->threads;
    out->since_ns = w->since_ns;
}

/* Which rank of the job has which slot: from the table of all its ranks. */
static int name_ranks(int fd, const struct hb_segment_layout *l,
                      struct hb_segment_look *out)
{
    uint32_t node_of[TABLE_STEP], local[TABLE_STEP];

    for (uint32_t at = 0; at < l->n_ranks; at += TABLE_STEP) {
        uint32_t n = l->n_ranks - at < TABLE_STEP ? l->n_ranks - at
                                                  : TABLE_STEP;
        uint64_t offset = (uint64_t)at * sizeof *node_of;

        if (read_at(fd, l->node_of + offset, node_of, n * sizeof *node_of) ||
            read_at(fd, l->local_rank + offset, local, n * sizeof *local)) {
            return -1;
        }
        for (uint32_t i = 0; i < n; i++) {
            if (node_of[i] == l->node && local[i] < out->n) {
                out->v[local[i]].rank = at + i;
            }
        }
    }
    return 0;
}

static int read_all(int fd, const struct hb_segment_head *h,
                    struct hb_segment_look *out)
{
    struct hb_segment_slot slot;

    for (uint32_t i = 0; i < out->n; i++) {
        if (read_at(fd, h->layout.slots + i * sizeof slot, &slot,
                    sizeof slot) < 0) {
            return -1;
        }
        copy_slot(&slot, &out->v[i]);
        out->v[i].locks = h->lock == i + 1;
    }
    return name_ranks(fd, &h->layout, out);
}

int hb_segment_look(int fd, struct hb_segment_look *out,
                    struct hpcboot_error *err)
{
    struct hb_segment_look look = {0};
    struct hb_segment_head h;
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 ||
        read_at(fd, 0, &h, sizeof h) < 0 ||
        !hb_segment_sound(&h.layout, (uint64_t)st.st_size) ||
        h.layout.n_ranks > RANKS_MOST) {
        return hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "this is no memory of a "
                       "job of this version of hpcboot");
    }
    look.n_ranks = h.layout.n_ranks;
    look.n_nodes = h.layout.n_nodes;
    look.node = h.layout.node;
    look.n = h.layout.n_local < LOCAL_MOST ? h.layout.n_local : LOCAL_MOST;
    look.v = hb_xcalloc(look.n, sizeof *look.v);
    if (read_all(fd, &h, &look) < 0) {
        free(look.v);
        return hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "the memory of the job "
                       "cannot be read");
    }
    *out = look;
    return 0;
}
