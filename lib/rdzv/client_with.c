/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Ranks that can give bytes to each other already, by a function of the
 * caller's: mostly an MPI communicator. A round is two of its allgathers, of
 * sizes and of bytes; what came is kept until it is fetched. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/rdzv/foreign.h"

struct with {
    struct hb_foreign f;
    struct hpcboot_bootstrap bootstrap;
    struct hb_rdzv_ops client;
    struct hb_foreign_ops ops;
    struct hb_buf mine;
    struct { /* [n_rounds] */
        uint64_t *sizes, each; /* bytes of each rank, and of its place */
        char *all;
    } *rounds;
    uint32_t n_rounds;
};

static int exchange(struct with *w, const void *mine, void *all, size_t bytes,
                    struct hpcboot_error *err)
{
    return w->bootstrap.allgather(w->bootstrap.arg, mine, all, bytes) == 0
               ? 0 : hb_fail(err, HPCBOOT_ERR_SYSTEM, "the allgather of the "
                             "bootstrap '%s' failed", w->bootstrap.name);
}

static int with_publish(struct hb_foreign *f, uint32_t round,
                        struct hb_bytes blob, struct hpcboot_error *err)
{
    struct with *w = (struct with *)f;

    hb_buf_clear(&w->mine);
    hb_buf_put_raw(&w->mine, blob.data, blob.len);
    return 0;
}

static int with_sync(struct hb_foreign *f, uint32_t round, int collect,
                     int64_t deadline_ns, struct hpcboot_error *err)
{
    struct with *w = (struct with *)f;
    uint64_t *sizes = hb_xcalloc(f->r.size, sizeof *sizes), each = 0;
    uint64_t size = w->mine.len;
    char *all = NULL, *padded;
    int rc = exchange(w, &size, sizes, sizeof size, err);

    for (uint32_t i = 0; i < f->r.size; i++) {
        each = sizes[i] > each ? sizes[i] : each;
    }
    if (rc == 0 && each > 0) {
        padded = hb_xcalloc(1, each);
        if (w->mine.len > 0) {
            memcpy(padded, w->mine.data, w->mine.len);
        }
        all = hb_xcalloc(f->r.size, each);
        rc = exchange(w, padded, all, each, err);
        free(padded);
    }
    if (rc < 0) {
        free(sizes);
        free(all);
        return rc;
    }
    w->rounds = hb_xrealloc(w->rounds, (w->n_rounds + 1) * sizeof *w->rounds);
    w->rounds[w->n_rounds].sizes = sizes;
    w->rounds[w->n_rounds].each = each;
    w->rounds[w->n_rounds++].all = all;
    return 0;
}

static int with_fetch(struct hb_foreign *f, uint32_t rank, uint32_t round,
                      struct hb_buf *out, struct hpcboot_error *err)
{
    const struct with *w = (struct with *)f;

    if (w->rounds[round].each > 0) {
        hb_buf_put_raw(out, w->rounds[round].all +
                                rank * w->rounds[round].each,
                       w->rounds[round].sizes[rank]);
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

    for (uint32_t i = 0; i < w->n_rounds; i++) {
        free(w->rounds[i].sizes);
        free(w->rounds[i].all);
    }
    free(w->rounds);
    hb_buf_destroy(&w->mine);
    free(w);
}

/* Nobody asks for a round again that all have read. */
static void drop_round(struct with *w, uint32_t round)
{
    free(w->rounds[round].sizes);
    free(w->rounds[round].all);
    memset(&w->rounds[round], 0, sizeof w->rounds[round]);
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
        .sync = with_sync, .fetch = with_fetch, .finalize = with_finalize,
        .destroy = with_destroy,
    };
    hb_buf_init(&w->mine, HB_FOREIGN_ROUND_MAX);
    w->f.r.rank = (uint32_t)w->bootstrap.rank;
    w->f.r.size = (uint32_t)w->bootstrap.size;
    hb_foreign_init(&w->f, &w->ops, &w->client);
    rc = hb_foreign_meet(&w->f, spec, err);
    if (rc < 0) {
        hb_segment_close(&w->f.r.memory);
        hb_foreign_destroy(&w->f);
        return rc;
    }
    drop_round(w, 0);
    *out = &w->f.r;
    return 0;
}
