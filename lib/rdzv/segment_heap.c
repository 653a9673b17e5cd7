/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The heap of a segment. Its map has a word per page: 0 is free, else who took
 * it, with a mark on the first page of each piece. It is the only state of the
 * allocator, so that a rank may be killed anywhere inside: at worst pages stay
 * taken. Freed pages are given back to the system, which zeroes them; where it
 * cannot, they are cleared here. That is asked for by their address: a program
 * that has closed what it did not open may have another file at our number.
 *
 * A piece that several ranks use begins with a list of them. The dead do not
 * leave it themselves: whoever leaves does not wait for them, and who finds the
 * heap full looks for pieces whose users have died since. All of that happens
 * under the lock, and ends with the mark of a shared piece being taken away,
 * so that one alone gives it back. */
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "lib/base/str.h"
#include "lib/rdzv/segment_impl.h"

#define FIRST_PAGE 0x80000000u /* marks in the map, on the first page */
#define SHARED 0x40000000u

enum { CAME = 1, LEFT = 2 };
struct shared_head {
    uint64_t bytes;
    uint32_t n, unused; /* 0: nobody has come yet */
    struct user {
        uint32_t rank, state;
    } users[]; /* [locals] */
};

/* First fit from the hint on, then from the beginning. */
static int64_t find_pages(const uint32_t *map, uint64_t from, uint64_t to,
                          uint64_t want)
{
    uint64_t run = 0;

    for (uint64_t i = from; i < to; i++) {
        run = map[i] == 0 ? run + 1 : 0;
        if (run == want) {
            return (int64_t)(i + 1 - want);
        }
    }
    return -1;
}

/* Takes pages for `local`; -1: there are not so many in a row. */
static int64_t take_pages(struct hb_segment *s, uint32_t local, uint64_t want,
                          uint32_t marks)
{
    const struct hb_segment_layout *l = &s->layout;
    _Atomic uint64_t *hint = &head_of(s)->hint;
    uint32_t *map = at(s, l->map);
    int64_t first;

    hb_segment_lock(s, local + 1);
    first = find_pages(map, atomic_load(hint), l->heap_pages, want);
    if (first < 0) {
        first = find_pages(map, 0, l->heap_pages, want);
    }
    for (uint64_t i = 0; first >= 0 && i < want; i++) {
        map[(uint64_t)first + i] = (local + 1) | (i == 0 ? marks : 0);
    }
    if (first >= 0) {
        atomic_store(hint, (uint64_t)first + want);
    }
    hb_segment_unlock(s);
    return first;
}

/* Under the lock, as what follows. Whether a piece was a shared one; now it is
 * the caller's, to give back. */
static int take_shared(const struct hb_segment *s, uint64_t page)
{
    uint32_t *map = at(s, s->layout.map);
    int was_shared = (map[page] & SHARED) != 0;

    map[page] &= ~SHARED;
    return was_shared;
}

/* The same, if only the dead have not left it. */
static int take_from_the_dead(const struct hb_segment *s, uint64_t page)
{
    const struct shared_head *h = at(s, s->layout.heap + page * PAGE);
    const uint32_t *map = at(s, s->layout.map);

    if ((map[page] & SHARED) == 0 || h->n == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < h->n; i++) {
        if ((h->users[i].state & LEFT) == 0 &&
            !hb_segment_is_surely_dead(s, h->users[i].rank)) {
            return 0;
        }
    }
    return take_shared(s, page);
}

/* 1: something has come of it. */
static int sweep(struct hb_segment *s, uint32_t local)
{
    int found = 0;

    for (uint64_t i = 0; i < s->layout.heap_pages; i++) {
        const uint32_t *map = at(s, s->layout.map);
        int is_mine = 0;

        if ((map[i] & SHARED) != 0) {
            hb_segment_lock(s, local + 1);
            is_mine = take_from_the_dead(s, i);
            hb_segment_unlock(s);
        }
        if (is_mine) {
            found |= hb_segment_free(s, local, s->layout.heap + i * PAGE);
        }
    }
    return found;
}

static int take(struct hb_segment *s, uint32_t local, size_t bytes,
                uint32_t marks, uint64_t *offset_out,
                struct hpcboot_error *err)
{
    const struct hb_segment_layout *l = &s->layout;
    uint64_t want = up_to_page(bytes > 0 ? bytes : 1) / PAGE;
    int64_t first = -1;

    if (bytes <= l->heap_pages * PAGE) {
        first = take_pages(s, local, want, marks);
        if (first < 0 && hb_segment_deaths(s) > 0 && sweep(s, local)) {
            first = take_pages(s, local, want, marks);
        }
    }
    if (first < 0) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "%zu bytes are not free in the "
                       "node's heap of %llu MiB: HPCBOOT_HEAP_MB makes it "
                       "larger", bytes,
                       (unsigned long long)(l->heap_pages * PAGE >> 20));
    }
    *offset_out = l->heap + (uint64_t)first * PAGE;
    return 0;
}

int hb_segment_alloc(struct hb_segment *s, uint32_t local, size_t bytes,
                     uint64_t *offset_out, struct hpcboot_error *err)
{
    return take(s, local, bytes, FIRST_PAGE, offset_out, err);
}

/* How many pages an allocation that begins there has; 0: none does. */
static uint64_t pages_from(const struct hb_segment_layout *l,
                           const uint32_t *map, uint64_t first)
{
    uint64_t n = 1;

    if ((map[first] & FIRST_PAGE) == 0) {
        return 0;
    }
    while (first + n < l->heap_pages &&
           map[first + n] == (map[first] & ~(FIRST_PAGE | SHARED))) {
        n++;
    }
    return n;
}

int hb_segment_free(struct hb_segment *s, uint32_t local, uint64_t offset)
{
    const struct hb_segment_layout *l = &s->layout;
    _Atomic uint64_t *hint = &head_of(s)->hint;
    uint32_t *map = at(s, l->map);
    uint64_t first = (offset - l->heap) / PAGE, n;

    if (offset < l->heap || offset % PAGE != 0 || first >= l->heap_pages) {
        return 0;
    }
    hb_segment_lock(s, local + 1);
    n = pages_from(l, map, first);
    hb_segment_unlock(s);
    if (n == 0) {
        return 0;
    }
    if (madvise(at(s, offset), n * PAGE, MADV_REMOVE) < 0) {
        memset(at(s, offset), 0, n * PAGE);
    }
    hb_segment_lock(s, local + 1);
    memset(&map[first], 0, n * sizeof *map);
    if (first < atomic_load(hint)) {
        atomic_store(hint, first);
    }
    hb_segment_unlock(s);
    return 1;
}

/* ---- pieces that several use ---- */

static size_t shared_head_bytes(const struct hb_segment *s)
{
    return up_to_page(sizeof(struct shared_head) +
                      s->layout.n_local * sizeof(struct user));
}

int hb_segment_alloc_shared(struct hb_segment *s, uint32_t local, size_t bytes,
                            uint64_t *offset_out, struct hpcboot_error *err)
{
    struct shared_head *h;
    int rc = take(s, local, shared_head_bytes(s) + bytes, FIRST_PAGE | SHARED,
                  offset_out, err);

    if (rc == 0) {
        h = at(s, *offset_out);
        h->bytes = bytes;
    }
    return rc;
}

/* The offset came by a message. */
static int is_shared(const struct hb_segment *s, uint64_t offset)
{
    const struct hb_segment_layout *l = &s->layout;
    const uint32_t *map = at(s, l->map);
    uint64_t page = (offset - l->heap) / PAGE;

    return offset >= l->heap && offset % PAGE == 0 && page < l->heap_pages &&
           (map[page] & (FIRST_PAGE | SHARED)) == (FIRST_PAGE | SHARED);
}

void *hb_segment_shared(const struct hb_segment *s, uint64_t offset,
                        size_t *size_out)
{
    const struct shared_head *h;

    if (!is_shared(s, offset)) {
        return NULL;
    }
    h = at(s, offset);
    *size_out = h->bytes;
    return at(s, offset + shared_head_bytes(s));
}

static void add_state(const struct hb_segment *s, struct shared_head *h,
                      uint32_t local, uint32_t state)
{
    const uint32_t *local_rank = hb_segment_local_rank(s);

    for (uint32_t i = 0; i < h->n; i++) {
        if (local_rank[h->users[i].rank] == local) {
            h->users[i].state |= state;
        }
    }
}

void hb_segment_come(struct hb_segment *s, uint32_t local, uint64_t offset,
                     const uint32_t *ranks, uint32_t n)
{
    struct shared_head *h = at(s, offset);

    hb_segment_lock(s, local + 1);
    if (h->n == 0) {
        for (uint32_t i = 0; i < n; i++) {
            h->users[i] = (struct user){ranks[i], 0};
        }
        h->n = n;
    }
    add_state(s, h, local, CAME);
    hb_segment_unlock(s);
}

/* nobody_comes: who of the users has not come will not. */
static void leave(struct hb_segment *s, uint32_t local, uint64_t offset,
                  int nobody_comes)
{
    struct shared_head *h = at(s, offset);
    uint64_t page = (offset - s->layout.heap) / PAGE;
    int is_mine;

    hb_segment_lock(s, local + 1);
    for (uint32_t i = 0; nobody_comes && i < h->n; i++) {
        h->users[i].state |= (h->users[i].state & CAME) != 0 ? 0 : LEFT;
    }
    add_state(s, h, local, LEFT);
    is_mine = nobody_comes && h->n == 0 ? take_shared(s, page)
                                        : take_from_the_dead(s, page);
    hb_segment_unlock(s);
    if (is_mine) {
        (void)hb_segment_free(s, local, offset);
    }
}

void hb_segment_leave(struct hb_segment *s, uint32_t local, uint64_t offset)
{
    leave(s, local, offset, 0);
}

void hb_segment_give_up(struct hb_segment *s, uint32_t local, uint64_t offset)
{
    leave(s, local, offset, 1);
}
