/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Ranks that can give bytes to each other already, by a function of the
 * caller's: mostly an MPI communicator. A round is two of its allgathers, of
 * sizes and of bytes, or more of those where ranks have put much; before that
 * all say whether they have room. What came is kept until the round is read,
 * one rank's bytes behind the other's. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/rdzv/foreign.h"

#define BYTES_MAX ((uint64_t)1 << 30) /* of all ranks, in a round */
#define PIECE_BYTES ((uint64_t)16 << 20) /* of all ranks, in an allgather */
#define MUCH ((uint64_t)1 << 20)

struct with {
    struct hb_foreign f;
    struct hpcboot_bootstrap bootstrap;
    struct hb_rdzv_ops client;
    struct hb_foreign_ops ops;
    struct hb_buf mine;
    uint64_t *begin; /* [size + 1] of each rank's bytes in `all` */
    char *all;
};

/* Bytes of an allgather: what a rank gives, and what it gets. */
struct piece {
    uint64_t most;
    char *mine, *all;
};

static int exchange(struct with *w, const void *mine, void *all, size_t bytes,
                    struct hpcboot_error *err)
{
    return w->bootstrap.allgather(w->bootstrap.arg, mine, all, bytes) == 0
               ? 0 : hb_fail(err, HPCBOOT_ERR_SYSTEM, "the allgather of the "
                             "bootstrap \"%s\" failed", w->bootstrap.name);
}

static int with_publish(struct hb_foreign *f, uint32_t round,
                        struct hb_bytes blob, struct hpcboot_error *err)
{
    struct with *w = (struct with *)f;

    hb_buf_clear(&w->mine);
    hb_buf_put_raw(&w->mine, blob.data, blob.len);
    return 0;
}

static void with_drop(struct hb_foreign *f)
{
    struct with *w = (struct with *)f;

    free(w->begin);
    free(w->all);
    w->begin = NULL;
    w->all = NULL;
}

/* All ranks see the same sizes, and so fail alike. */
static int place(struct with *w, const uint64_t *sizes, uint64_t *longest,
                 struct hpcboot_error *err)
{
    uint32_t n = w->f.r.size;

    w->begin = hb_xcalloc((size_t)n + 1, sizeof *w->begin);
    for (uint32_t i = 0; i < n; i++) {
        if (sizes[i] > HB_FOREIGN_ROUND_MAX) {
            return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "bootstrap \"%s\": rank "
                           "%u says that it has put %" PRIu64 " bytes",
                           w->bootstrap.name, i, sizes[i]);
        }
        w->begin[i + 1] = w->begin[i] + sizes[i];
        *longest = sizes[i] > *longest ? sizes[i] : *longest;
    }
    return w->begin[n] <= BYTES_MAX
               ? 0 : hb_fail(err, HPCBOOT_ERR_LIMIT, "the ranks have put %"
                             PRIu64 " MiB since the last fence, which is "
                             "lost: a fence carries %" PRIu64,
                             w->begin[n] >> 20, BYTES_MAX >> 20);
}

/* Who has no room must not leave the others in an allgather. */
static int agree(struct with *w, int ready, struct hpcboot_error *err)
{
    char *all = hb_xcalloc(w->f.r.size, 1), mine = ready != 0;
    int rc = exchange(w, &mine, all, 1, err);

    for (uint32_t i = 0; rc == 0 && i < w->f.r.size; i++) {
        rc = all[i] ? 0 : hb_fail(err, HPCBOOT_ERR_NOMEM, "rank %u has no "
                                  "memory for what the ranks have put since "
                                  "the last fence", i);
    }
    free(all);
    return rc;
}

static int make_room(struct with *w, struct piece *p, uint64_t longest,
                     struct hpcboot_error *err)
{
    uint64_t n = w->f.r.size, most = PIECE_BYTES / n + 1;
    int ready;

    p->most = longest < most ? longest : most;
    p->mine = calloc(1, p->most);
    p->all = malloc(n * p->most);
    w->all = malloc(w->begin[n]);
    ready = p->mine != NULL && p->all != NULL && w->all != NULL;
    if (w->begin[n] + n * p->most > MUCH) {
        return agree(w, ready, err);
    }
    return ready ? 0 : hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for what "
                               "the ranks have put since the last fence");
}

static uint64_t part(uint64_t size, uint64_t at, uint64_t most)
{
    uint64_t left = size > at ? size - at : 0;

    return left < most ? left : most;
}

static int exchange_piece(struct with *w, const struct piece *p, uint64_t at,
                          uint64_t bytes, struct hpcboot_error *err)
{
    uint64_t mine = part(w->mine.len, at, bytes);
    int rc;

    if (mine > 0) {
        memcpy(p->mine, w->mine.data + at, mine);
    }
    rc = exchange(w, p->mine, p->all, bytes, err);
    for (uint32_t i = 0; rc == 0 && i < w->f.r.size; i++) {
        const uint64_t *begin = &w->begin[i];
        uint64_t n = part(begin[1] - begin[0], at, bytes);

        if (n > 0) {
            memcpy(w->all + begin[0] + at, p->all + i * bytes, n);
        }
    }
    return rc;
}

static int exchange_bytes(struct with *w, uint64_t longest,
                          struct hpcboot_error *err)
{
    struct piece p;
    int rc = make_room(w, &p, longest, err);

    for (uint64_t at = 0; rc == 0 && at < longest; at += p.most) {
        rc = exchange_piece(w, &p, at, part(longest, at, p.most), err);
    }
    free(p.mine);
    free(p.all);
    return rc;
}

static int with_sync(struct hb_foreign *f, uint32_t round, int collect,
                     int64_t deadline_ns, struct hpcboot_error *err)
{
    struct with *w = (struct with *)f;
    uint64_t *sizes = hb_xcalloc(f->r.size, sizeof *sizes), longest = 0;
    uint64_t size = w->mine.len;
    int rc = exchange(w, &size, sizes, sizeof size, err);

    if (rc == 0) {
        rc = place(w, sizes, &longest, err);
    }
    free(sizes);
    if (rc == 0 && longest > 0) {
        rc = exchange_bytes(w, longest, err);
    }
    if (rc < 0) {
        with_drop(f);
    }
    return rc;
}

/* Of the last round. */
static int with_fetch(struct hb_foreign *f, uint32_t rank, uint32_t round,
                      struct hb_buf *out, struct hpcboot_error *err)
{
    const struct with *w = (struct with *)f;
    const uint64_t *begin = &w->begin[rank];

    if (begin[1] > begin[0]) {
        hb_buf_put_raw(out, w->all + begin[0], begin[1] - begin[0]);
    }
    return 0;
}

static int with_finalize(struct hb_foreign *f, struct hpcboot_error *err)
{
    struct with *w = (struct with *)f;
    char *all = hb_xcalloc(f->r.size, 1), one = 1;
    int rc = exchange(w, &one, all, 1, err);

    free(all);
    return rc;
}

static void with_destroy(struct hb_foreign *f)
{
    struct with *w = (struct with *)f;

    with_drop(f);
    hb_buf_destroy(&w->mine);
    free(w);
}

int hb_rdzv_with_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                      struct hpcboot_error *err)
{
    struct with *w = hb_xcalloc(1, sizeof *w);
    int rc;

    w->bootstrap = *spec->bootstrap;
    if (w->bootstrap.name == NULL) {
        w->bootstrap.name = "bootstrap";
    }
    w->ops = (struct hb_foreign_ops){
        .name = w->bootstrap.name, .publish = with_publish,
        .sync = with_sync, .fetch = with_fetch, .drop = with_drop,
        .finalize = with_finalize, .destroy = with_destroy,
    };
    hb_buf_init(&w->mine, HB_FOREIGN_ROUND_MAX);
    w->f.r.rank = (uint32_t)w->bootstrap.rank;
    w->f.r.size = (uint32_t)w->bootstrap.size;
    w->f.r.lazy = 1;
    hb_foreign_init(&w->f, &w->ops, &w->client);
    rc = hb_foreign_meet(&w->f, spec, err);
    if (rc < 0) {
        hb_segment_close(&w->f.r.memory);
        hb_foreign_destroy(&w->f);
        return rc;
    }
    *out = &w->f.r;
    return 0;
}
