/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What schedules are built from: rows of steps, layouts of teams, slices. A
 * step that finds no memory marks the schedule as failed; who asked for it
 * looks once, at the end. */

#include "config.h"

#include "lib/coll/sched.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_FIRST 16
#define ROOM_ALIGN 64 /* a piece of room shares no cache line with the next */

struct hb_step *hb_sched_add(struct hb_sched *s, enum hb_step_kind kind)
{
    static struct hb_step nowhere;
    if (s->count == s->capacity) {
        int n = s->capacity == 0 ? STEPS_FIRST : 2 * s->capacity;
        struct hb_step *more = realloc(s->steps, (size_t)n * sizeof *more);
        if (more == NULL) {
            s->failed = true;
            return &nowhere;
        }
        s->steps = more;
        s->capacity = n;
    }
    struct hb_step *step = &s->steps[s->count++];
    *step = (struct hb_step){.kind = (uint8_t)kind, .stream = s->stream,
                             .after = s->after, .rows = 1};
    return step;
}

void hb_sched_clear(struct hb_sched *s)
{
    free(s->steps);
    *s = (struct hb_sched){0};
}

void hb_sched_wait(struct hb_sched *s)
{
    s->after = s->count;
}

void hb_sched_send(struct hb_sched *s, int peer, struct hb_at from,
                   size_t bytes)
{
    struct hb_step *step = hb_sched_add(s, HB_STEP_SEND);
    step->peer = peer;
    step->from = from;
    step->bytes = bytes;
}

void hb_sched_recv(struct hb_sched *s, int peer, struct hb_at to,
                   size_t bytes)
{
    struct hb_step *step = hb_sched_add(s, HB_STEP_RECV);
    step->peer = peer;
    step->to = to;
    step->bytes = bytes;
}

void hb_sched_fold(struct hb_sched *s, enum hb_step_kind kind,
                   struct hb_at from, struct hb_at with, struct hb_at to,
                   size_t bytes)
{
    if (bytes > 0) {
        struct hb_step *step = hb_sched_add(s, kind);
        step->from = from;
        step->with = with;
        step->to = to;
        step->bytes = bytes;
    }
}

void hb_sched_do(struct hb_sched *s, enum hb_step_kind kind,
                 struct hb_at from, struct hb_at to, size_t bytes)
{
    hb_sched_fold(s, kind, from, to, to, bytes);
}

void hb_sched_copy(struct hb_sched *s, struct hb_at from, struct hb_at to,
                   size_t bytes)
{
    if (from.mem != to.mem || from.off != to.off) {
        hb_sched_do(s, HB_STEP_COPY, from, to, bytes);
    }
}

void hb_sched_rows(struct hb_sched *s, struct hb_at from, size_t from_stride,
                   struct hb_at to, size_t to_stride, size_t bytes,
                   size_t rows)
{
    if (bytes > 0 && rows > 0) {
        struct hb_step *step = hb_sched_add(s, HB_STEP_COPY);
        step->from = from;
        step->to = to;
        step->bytes = bytes;
        step->rows = (uint32_t)rows;
        step->from_stride = from_stride;
        step->to_stride = to_stride;
    }
}

void hb_sched_local(struct hb_sched *s, enum hpcboot_coll coll, int root,
                    struct hb_at from, struct hb_at to, size_t bytes)
{
    struct hb_step *step = hb_sched_add(s, HB_STEP_LOCAL);
    step->coll = (uint8_t)coll;
    step->cut = HB_CUT_EVEN;
    step->peer = root;
    step->from = from;
    step->to = to;
    step->bytes = bytes;
}

void hb_sched_scale(struct hb_sched *s, const struct hb_call *c,
                    struct hb_at at, size_t bytes)
{
    if (c->scales) {
        hb_sched_do(s, HB_STEP_SCALE, at, at, bytes);
    }
}

void hb_sched_note(struct hb_sched *s, enum hpcboot_coll coll, int size,
                   size_t bytes, const struct hb_choice *how)
{
    if (s->within == 0 && s->n_phases < HB_PHASES) {
        s->phases[s->n_phases++] = (struct hb_phase){coll, size, bytes, *how};
    }
}

size_t hb_blocks_mean(const struct hb_blocks *b, int n)
{
    size_t sum = 0;
    if (b->len == NULL) {
        return b->each;
    }
    for (int i = 0; i < n; i++) {
        sum += b->len[i];
    }
    return sum / (size_t)n;
}

struct hb_at hb_sched_room(struct hb_sched *s, size_t bytes)
{
    struct hb_at at = hb_at(HB_MEM_ROOM, s->room);
    s->room += (bytes + ROOM_ALIGN - 1) & ~(size_t)(ROOM_ALIGN - 1);
    return at;
}

size_t hb_slice(size_t bytes, size_t esize, int n, int i)
{
    size_t elements = bytes / esize, each = elements / (size_t)n;
    size_t more = elements % (size_t)n, k = (size_t)i;
    return (each * k + (k < more ? k : more)) * esize;
}

int hb_log2_up(int n)
{
    int d = 0;
    while ((int64_t)1 << d < n) {
        d++;
    }
    return d;
}

/* ---- layouts ---- */

static void fill_layout(struct hb_layout *l, const int *node_of)
{
    l->in_order = true;
    for (int r = 0; r < l->size; r++) {
        l->node_of[r] = node_of[r];
        l->place[r] = l->first[node_of[r] + 1]++;
        l->in_order = l->in_order && (r == 0 || node_of[r] >= node_of[r - 1]);
    }
    l->least = l->size;
    for (int n = 0; n < l->nodes; n++) {
        l->least = l->first[n + 1] < l->least ? l->first[n + 1] : l->least;
        l->first[n + 1] += l->first[n];
    }
    for (int r = 0; r < l->size; r++) {
        l->ranks[l->first[node_of[r]] + l->place[r]] = r;
    }
}

int hb_layout_make(struct hb_layout *l, const int *node_of, int size)
{
    size_t n = (size_t)size;
    *l = (struct hb_layout){.size = size};
    for (int r = 0; r < size; r++) {
        l->nodes = node_of[r] >= l->nodes ? node_of[r] + 1 : l->nodes;
    }
    l->node_of = calloc(n, sizeof(int));
    l->place = calloc(n, sizeof(int));
    l->ranks = calloc(n, sizeof(int));
    l->first = calloc((size_t)l->nodes + 1, sizeof(int));
    if (l->node_of == NULL || l->place == NULL || l->ranks == NULL ||
        l->first == NULL) {
        hb_layout_clear(l);
        return HPCBOOT_ERR_NOMEM;
    }
    fill_layout(l, node_of);
    return HPCBOOT_OK;
}

int hb_layout_leaves(struct hb_layout *l, const int *leaf)
{
    size_t bytes = (size_t)l->nodes * sizeof *leaf;
    if (leaf == NULL) {
        return HPCBOOT_OK;
    }
    l->leaf = malloc(bytes);
    if (l->leaf == NULL) {
        return HPCBOOT_ERR_NOMEM;
    }
    memcpy(l->leaf, leaf, bytes);
    return HPCBOOT_OK;
}

void hb_layout_clear(struct hb_layout *l)
{
    free(l->leaf);
    free(l->node_of);
    free(l->place);
    free(l->ranks);
    free(l->first);
    *l = (struct hb_layout){0};
}
