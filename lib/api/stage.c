/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Buffers in the memory of a device. The engines read and write the host's
 * memory; a call with such a buffer works on a copy of it there, which the
 * device's driver makes, or UCX where it knows the device. What the call only
 * writes is not copied in, and what lies between its blocks is not touched:
 * something else may write there meanwhile. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/api/api.h"
#include "lib/base/str.h"

/* The last that were used, for the next call: the kernel takes longer to make
 * new pages than the device to fill them. As many are kept as calls have had at
 * a time. What is used again is pinned, where the driver can: that takes longer
 * than a copy, and then makes each several times as fast; so what is pinned
 * stays before what is not, as long as it is used. */
#define KEPT_MOST 8
#define KEPT_LEAST ((size_t)128 << 10) /* fewer bytes malloc has at hand */
#define WASTE 4 /* a kept one may be so many times what is wanted */
#define IDLE 32 /* so many others have been given back since */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block {
    void *memory;
    size_t size;
    unsigned uses; /* 2: it is pinned, or never */
    const struct hb_api_device *pinned_by; /* NULL: it is not */
    int pinned_for;
    uint64_t given; /* back, which one in a row */
} kept[KEPT_MOST + 1]; /* the last given back first */
static int n_kept, n_taken, room = 2;
static uint64_t n_given;
static struct hb_api_stage *orphans;

/* Pages that are pinned are nobody else's. */
static struct block make(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct block b = {.size = size};

    if (size >= KEPT_LEAST && size <= SIZE_MAX - page) {
        b.size = (size + page - 1) / page * page;
        b.memory = aligned_alloc(page, b.size);
    } else {
        b.memory = malloc(size);
    }
    return b;
}

static void drop(struct block b)
{
    if (b.pinned_by != NULL) {
        b.pinned_by->unpin(b.memory, b.pinned_for);
    }
    free(b.memory);
}

/* For copies from and to what is at `there`. */
static void use(struct block *b, const struct hb_api_device *device,
                const void *there)
{
    if (++b->uses != 2 || b->size < KEPT_LEAST || device->pin == NULL ||
        device->copy == NULL) {
        return;
    }
    b->pinned_for = device->pin(b->memory, b->size, there);
    b->pinned_by = b->pinned_for >= 0 ? device : NULL;
}

static struct block take_kept(int i)
{
    struct block b = kept[i];

    n_kept--;
    memmove(&kept[i], &kept[i + 1], (size_t)(n_kept - i) * sizeof *kept);
    return b;
}

static struct block take(size_t size)
{
    struct block b = {.size = size};

    pthread_mutex_lock(&lock);
    for (int i = 0; b.memory == NULL && i < n_kept; i++) {
        if (kept[i].size >= size && kept[i].size / WASTE <= size) {
            b = take_kept(i);
        }
    }
    n_taken += b.size >= KEPT_LEAST;
    room = n_taken > room && n_taken <= KEPT_MOST ? n_taken : room;
    pthread_mutex_unlock(&lock);
    return b.memory != NULL ? b : make(size);
}

/* What is kept no longer. */
static int oldest(void)
{
    int last = n_kept - 1;

    for (int i = last; i >= 0 && kept[last].given + IDLE > n_given; i--) {
        if (kept[i].pinned_by == NULL) {
            return i;
        }
    }
    return last;
}

static void give(struct block b)
{
    if (b.size >= KEPT_LEAST) {
        pthread_mutex_lock(&lock);
        n_taken--;
        if (b.memory != NULL) {
            b.given = ++n_given;
            memmove(&kept[1], &kept[0], (size_t)n_kept * sizeof *kept);
            kept[0] = b;
            n_kept++;
            b = n_kept > room ? take_kept(oldest()) : (struct block){NULL};
        }
        pthread_mutex_unlock(&lock);
    }
    drop(b);
}

struct side {
    const struct hb_api_device *device; /* NULL: this buffer is the host's */
    void *there;
    struct block here;
    size_t size;
    int in, out; /* copied before the call, and afterwards: */
    struct hb_coll_block *blocks, whole; /* [n]; NULL: the one */
    size_t n;
};

struct hb_api_stage {
    struct side side[2];
    struct hb_api_stage *next; /* of the orphans */
};

/* Of a side whose device is known. */
static int stage_side(struct side *s, const char *call, const char *what,
                      void *there, struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};
    int rc;

    if (s->device == NULL || s->size == 0) {
        s->device = NULL;
        return 0;
    }
    rc = s->device->copy == NULL ? hb_move_open(s->device->kind, &why) : 0;
    if (rc < 0) {
        return hb_fail(err, rc, "%s: %s at %p is memory of a %s device, "
                       "%.300s; copy it to the host first, or get it from %s",
                       call, what, there, s->device->name, why.text,
                       s->device->shared);
    }
    s->there = there;
    s->whole = (struct hb_coll_block){0, s->size};
    s->n = 1;
    s->here = take(s->size);
    return s->here.memory != NULL
               ? 0 : hb_fail(err, HPCBOOT_ERR_NOMEM, "%s: %s at %p is memory "
                             "of a %s device, and there is no room for its %zu "
                             "bytes on the host", call, what, there,
                             s->device->name, s->size);
}

/* So that the next call like this one finds each again where it was. */
static void give_sides(const struct hb_api_stage *s)
{
    for (int i = 1; i >= 0; i--) {
        free(s->side[i].blocks);
        give(s->side[i].here);
    }
}

/* Where a buffer is a device's after all. */
static struct hb_api_stage *made(const struct hb_api_stage *s)
{
    struct hb_api_stage *copy;

    if (s->side[0].device == NULL && s->side[1].device == NULL) {
        return NULL;
    }
    copy = hb_xmalloc(sizeof *copy);
    *copy = *s;
    return copy;
}

int hb_api_stage_coll(struct hpcboot_team *team, struct hpcboot_coll_args *args,
                      const struct hb_coll_user_op *op,
                      struct hb_api_stage **out, struct hpcboot_error *err)
{
    const char *name = hb_coll_name(args->coll);
    struct hb_api_stage s = {0};
    struct side *send = &s.side[0], *recv = &s.side[1];
    struct hb_coll_spans spans;
    int rc;

    *out = NULL;
    send->device = hb_api_device_of(args->send);
    recv->device = hb_api_device_of(args->recv);
    if (send->device == NULL && recv->device == NULL) {
        return 0;
    }
    rc = hb_coll_spans(team->coll, args, op, &spans, err);
    if (rc < 0) {
        return rc;
    }
    send->size = spans.send;
    send->in = 1;
    recv->size = spans.recv;
    recv->in = spans.recv_in;
    recv->out = spans.recv_out;
    rc = stage_side(send, name, "send", (void *)(uintptr_t)args->send, err);
    if (rc == 0) {
        rc = stage_side(recv, name, "recv", args->recv, err);
    }
    if (rc < 0) {
        give_sides(&s);
        return rc;
    }
    if (recv->device != NULL) {
        recv->blocks = hb_xcalloc((size_t)team->size, sizeof *recv->blocks);
        recv->n = hb_coll_recv_blocks(team->coll, args, &spans, recv->blocks);
    }
    args->send = send->device != NULL ? send->here.memory : args->send;
    args->recv = recv->device != NULL ? recv->here.memory : args->recv;
    *out = made(&s);
    return 0;
}

int hb_api_stage_data(const char *call, const char *what, void **data,
                      size_t size, int is_out, struct hb_api_stage **out,
                      struct hpcboot_error *err)
{
    struct hb_api_stage s = {
        .side = {{.device = size > 0 ? hb_api_device_of(*data) : NULL,
                  .size = size, .in = !is_out, .out = is_out}}};
    int rc = stage_side(&s.side[0], call, what, *data, err);

    *out = rc == 0 ? made(&s) : NULL;
    if (*out != NULL) {
        *data = s.side[0].here.memory;
    }
    return rc;
}

/* `limit` bytes at most. */
static int move(const struct side *s, size_t limit, int to_device,
                struct hpcboot_error *err)
{
    const struct hb_coll_block *blocks = s->blocks != NULL ? s->blocks
                                                           : &s->whole;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->n; i++) {
        char *there = (char *)s->there + blocks[i].at;
        char *here = (char *)s->here.memory + blocks[i].at;
        void *to = to_device ? there : here;
        const void *from = to_device ? here : there;
        size_t size = blocks[i].bytes < limit ? blocks[i].bytes : limit;

        rc = s->device->copy != NULL
                 ? s->device->copy(to, from, size, to_device, err)
                 : hb_move_copy(s->device->kind, to, from, size, to_device,
                                err);
    }
    return rc;
}

int hb_api_stage_begin(struct hb_api_stage *stage, struct hpcboot_error *err)
{
    int rc = 0;

    for (int i = 0; stage != NULL && rc == 0 && i < 2; i++) {
        struct side *s = &stage->side[i];

        if (s->device != NULL) {
            use(&s->here, s->device, s->there);
        }
        rc = s->device != NULL && s->in ? move(s, SIZE_MAX, 0, err) : 0;
    }
    return rc;
}

int hb_api_stage_end(struct hb_api_stage *stage, size_t size,
                     struct hpcboot_error *err)
{
    int rc = 0;

    for (int i = 0; stage != NULL && rc == 0 && i < 2; i++) {
        const struct side *s = &stage->side[i];

        rc = s->device != NULL && s->out ? move(s, size, 1, err) : 0;
    }
    return rc;
}

void hb_api_stage_free(struct hb_api_stage *stage)
{
    if (stage != NULL) {
        give_sides(stage);
        free(stage);
    }
}

void hb_api_stage_leave(struct hb_api_stage *stage)
{
    if (stage != NULL) {
        pthread_mutex_lock(&lock);
        stage->next = orphans;
        orphans = stage;
        pthread_mutex_unlock(&lock);
    }
}

void hb_api_stage_close(void)
{
    while (orphans != NULL) {
        struct hb_api_stage *stage = orphans;

        orphans = stage->next;
        hb_api_stage_free(stage);
    }
    while (n_kept > 0) {
        drop(take_kept(n_kept - 1));
    }
}
