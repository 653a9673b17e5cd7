/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Ranks in one process. Nothing moves by itself: a test calls
 * hb_xport_progress for whom it likes, in the order it likes. */
#include "config.h"

#include "xport_world.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CARD_MOST 255
#define LINE 64

static const uint32_t in_order[XPORT_WORLD_MOST] = {0, 1, 2};
static const uint32_t all_zero[XPORT_WORLD_MOST];

static const void *card_of(void *ctx, uint32_t rank, size_t *len_out)
{
    const struct xport_rank *r = ctx;

    *len_out = r->w->card[rank].len;
    return r->w->card[rank].data;
}

static const char *host_of(void *ctx, uint32_t rank)
{
    return "here";
}

static void *ring_of(void *ctx, uint32_t to, uint32_t from)
{
    const struct xport_world *w = ((struct xport_rank *)ctx)->w;

    return w->rings + (to * (size_t)w->n + from) * HB_XPORT_RING_LEAST;
}

static struct xport_world *of(int n)
{
    struct xport_world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    w->n = n;
    for (int i = 0; i < n; i++) {
        w->ranks[i] = (struct xport_rank){w, i};
    }
    return w;
}

struct xport_world *xport_world_create(int n)
{
    struct xport_world *w = of(n);

    for (int i = 0; i < n; i++) {
        hb_buf_init(&w->card[i], CARD_MOST);
        assert_int_equal(hb_xport_open(&w->x[i], &w->card[i], NULL), 0);
    }
    return w;
}

static void on_lost(void *ctx, uint32_t rank, const struct hpcboot_error *why)
{
    struct xport_rank *r = ctx;

    assert_in_range(rank, 0, r->w->n - 1);
    assert_true(why->code < 0);
    r->lost++;
}

static int why_lost(void *ctx, uint32_t rank, int64_t since_ns,
                    struct hpcboot_error *why)
{
    struct xport_rank *r = ctx;

    r->w->asked_of = rank;
    return r->w->held ? 0 : HPCBOOT_ERR_PEER_DEAD;
}

void xport_world_join(struct xport_world *w)
{
    for (int i = 0; i < w->n; i++) {
        const struct hb_xport_job job = {
            .rank = (uint32_t)i, .size = (uint32_t)w->n, .node = (uint32_t)i,
            .node_of = in_order, .local_rank_of = all_zero,
            .ctx = &w->ranks[i], .address = card_of, .host = host_of,
            .lost = on_lost, .explain = why_lost,
        };

        assert_int_equal(hb_xport_join(&w->x[i], &job, NULL), 0);
    }
}

struct xport_world *xport_world_on_a_node(int n)
{
    struct xport_world *w = of(n);
    size_t size = (size_t)(n * n) * HB_XPORT_RING_LEAST;

    assert_true(HB_XPORT_RING_LEAST % LINE == 0);
    w->rings = aligned_alloc(LINE, size);
    assert_non_null(w->rings);
    memset(w->rings, 0, size);
    for (int i = 0; i < n; i++) {
        const struct hb_xport_job job = {
            .rank = (uint32_t)i, .size = (uint32_t)n,
            .local_rank = (uint32_t)i, .n_local = (uint32_t)n,
            .node_of = all_zero, .local_rank_of = in_order,
            .ctx = &w->ranks[i], .ring = ring_of,
            .ring_bytes = HB_XPORT_RING_LEAST,
        };

        assert_int_equal(hb_xport_join(&w->x[i], &job, NULL), 0);
    }
    return w;
}

void xport_world_move(struct xport_world *w)
{
    for (int i = 0; i < w->n; i++) {
        if (w->x[i] != NULL) {
            (void)hb_xport_progress(w->x[i]);
        }
    }
}

int xport_world_finish(struct xport_world *w, int rank,
                       struct hb_xport_req *req, struct hb_xport_info *info,
                       struct hpcboot_error *err)
{
    int rc;

    while ((rc = hb_xport_test(w->x[rank], req, info, err)) == 0) {
        xport_world_move(w);
    }
    return rc;
}

void xport_world_destroy(struct xport_world *w)
{
    for (int i = 0; i < w->n; i++) {
        hb_xport_destroy(w->x[i]);
        hb_buf_destroy(&w->card[i]);
    }
    free(w->rings);
    free(w);
}

int xport_world_set_up(void **state)
{
    *state = xport_world_create(2);
    xport_world_join(*state);
    return 0;
}

int xport_world_tear_down(void **state)
{
    xport_world_destroy(*state);
    return 0;
}

void xport_find_modules(void)
{
    const char *build = getenv("HB_BUILDDIR");
    char modules[512];

    snprintf(modules, sizeof modules, "%s/.libs", build != NULL ? build : ".");
    setenv("HPCBOOT_MODULE_DIR", modules, 1);
}

int xport_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d) != NULL) {
        n++;
    }
    closedir(d);
    return n;
}
