/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The memory of a job, looked at from outside. It belongs to processes that
 * may have written anything anywhere, and that end while it is read: so it is
 * read into buffers of this process, in pieces whose size is bounded here,
 * and every offset is checked against the size of the file. What comes out is
 * numbers; whoever shows them treats each as a stranger's word. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/rdzv/segment_impl.h"

#define LOCAL_MOST 4096u /* ranks of a host that are shown */
#define RANKS_MOST (1u << 24) /* of a job */
#define TABLE_STEP 4096u /* ranks of the job's table that are read at once */

static int fits(const struct hb_segment_head *h, uint64_t offset, uint64_t n,
                uint64_t each)
{
    return offset % PAGE == 0 && offset <= h->size &&
           n <= (h->size - offset) / (each > 0 ? each : 1);
}

int hb_segment_sound(const struct hb_segment_head *h, uint64_t size)
{
    return h->magic == MAGIC && h->size == size && h->node < h->n_nodes &&
           h->n_local >= 1 && h->n_local <= h->n_ranks &&
           fits(h, h->slots, h->n_local, sizeof(struct hb_segment_slot)) &&
           fits(h, h->deaths, DEATHS_MAX, sizeof(struct hb_death)) &&
           fits(h, h->news, NEWS_MAX, sizeof(struct hb_news)) &&
           fits(h, h->lost, LOST_MAX, sizeof(struct hb_death)) &&
           fits(h, h->node_of, h->n_ranks, sizeof(uint32_t)) &&
           fits(h, h->local_rank, h->n_ranks, sizeof(uint32_t)) &&
           fits(h, h->name_at, h->n_nodes, sizeof(uint32_t)) &&
           fits(h, h->names, h->names_bytes, 1) &&
           fits(h, h->addresses, h->n_ranks, HB_SEGMENT_ADDRESS_MAX) &&
           fits(h, h->regions, HB_SEGMENT_REGIONS, h->region_bytes) &&
           fits(h, h->rings, (uint64_t)h->n_local * h->n_local,
                h->ring_bytes) &&
           fits(h, h->map, h->heap_pages, sizeof(uint32_t)) &&
           fits(h, h->heap, h->heap_pages, PAGE);
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
static int name_ranks(int fd, const struct hb_segment_head *h,
                      struct hb_segment_look *out)
{
    uint32_t node_of[TABLE_STEP], local[TABLE_STEP];

    for (uint32_t at = 0; at < h->n_ranks; at += TABLE_STEP) {
        uint32_t n = h->n_ranks - at < TABLE_STEP ? h->n_ranks - at
                                                  : TABLE_STEP;
        uint64_t offset = (uint64_t)at * sizeof *node_of;

        if (read_at(fd, h->node_of + offset, node_of, n * sizeof *node_of) ||
            read_at(fd, h->local_rank + offset, local, n * sizeof *local)) {
            return -1;
        }
        for (uint32_t i = 0; i < n; i++) {
            if (node_of[i] == h->node && local[i] < out->n) {
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
        if (read_at(fd, h->slots + i * sizeof slot, &slot, sizeof slot) < 0) {
            return -1;
        }
        copy_slot(&slot, &out->v[i]);
        out->v[i].locks = h->lock == i + 1;
    }
    return name_ranks(fd, h, out);
}

int hb_segment_look(int fd, struct hb_segment_look *out,
                    struct hpcboot_error *err)
{
    struct hb_segment_look look = {0};
    struct hb_segment_head h;
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 ||
        read_at(fd, 0, &h, sizeof h) < 0 ||
        !hb_segment_sound(&h, (uint64_t)st.st_size) ||
        h.n_ranks > RANKS_MOST) {
        return hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "this is no memory of a "
                       "job of this version of hpcboot");
    }
    look.n_ranks = h.n_ranks;
    look.n_nodes = h.n_nodes;
    look.node = h.node;
    look.n = h.n_local < LOCAL_MOST ? h.n_local : LOCAL_MOST;
    look.v = hb_xcalloc(look.n, sizeof *look.v);
    if (read_all(fd, &h, &look) < 0) {
        free(look.v);
        return hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "the memory of the job "
                       "cannot be read");
    }
    *out = look;
    return 0;
}
