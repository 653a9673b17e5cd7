/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How the ranks of a node come to have the same figures.
 *
 * Of the ranks that share a page, one takes it by a compare-and-swap, writes
 * the model, and says so; the others wait. One that has waited too long (the
 * writer was killed) says "none" in the same word, which then holds for all:
 * there is one value at the end, and nobody acts before it. */

#include "config.h"

#include "lib/coll/impl.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"

#define TUNE "HPCBOOT_COLL_TUNE"
/* For the rank that writes the page: the probe, and a slow file system. */
#define SHARE_MS 500
#define NAP_NS 50000

enum { NOBODY, WRITING, WRITTEN, NONE };

static int rules(struct hb_coll_model *m, struct hpcboot_error *err)
{
    const char *text = getenv(TUNE);
    struct hpcboot_error why = {0};
    if (text == NULL ||
        hb_model_parse(m, text, strlen(text), NULL, &why) == 0) {
        return HPCBOOT_OK;
    }
    return hb_fail(err, HPCBOOT_ERR_USAGE, TUNE ": %s", why.text);
}

int hb_model_here(struct hb_coll_model *m, bool probe, char *path,
                  size_t size, struct hpcboot_error *err)
{
    hb_model_typical(m);
    hb_stream_caches(m);
    hb_model_find(m, "coll", probe ? hb_model_probe : NULL, path, size);
    return rules(m, err);
}

void hb_net_here(struct hb_coll_model *m, bool probe, char *path, size_t size)
{
    struct hb_coll_model now = {0};
    hb_model_find(&now, "net", probe ? hb_net_probe : NULL, path,
                  size);
    m->send_ns = now.send_ns;
    m->recv_ns = now.recv_ns;
}

void hb_coll_net_costs(bool probe, uint32_t *send_ns_out,
                       uint32_t *recv_ns_out)
{
    struct hb_coll_model m = {0};
    (void)rules(&m, NULL); /* hb_coll_model_share says what is wrong there */
    uint32_t send_ns = m.send_ns, recv_ns = m.recv_ns;
    if (send_ns == 0 || recv_ns == 0) {
        hb_net_here(&m, probe, NULL, 0);
    }
    *send_ns_out = send_ns > 0 ? send_ns : m.send_ns;
    *recv_ns_out = recv_ns > 0 ? recv_ns : m.recv_ns;
}

const struct hb_coll_model *hb_model_shared(struct hb_coll_node_page *page)
{
    return atomic_load_explicit(&page->model_state, memory_order_acquire) ==
                   WRITTEN ? &page->model : NULL;
}

static void await(struct hb_coll_node_page *page)
{
    const struct timespec nap = {0, NAP_NS};
    int64_t deadline = hb_now_ns() + (int64_t)SHARE_MS * 1000000;
    uint32_t writing = WRITING;
    while (atomic_load(&page->model_state) == WRITING) {
        nanosleep(&nap, NULL);
        if (hb_now_ns() > deadline) {
            atomic_compare_exchange_strong(&page->model_state, &writing,
                                           NONE);
        }
    }
}

/* How many CPUs the ranks have, if not one each. */
static uint32_t cpus_of(int ranks)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    long most = ranks > 2 ? ranks / 2 : 1; /* a quota or cpuset has fewer */
    return (uint32_t)(online > 0 && online < most ? online : most);
}

int hb_coll_model_share(struct hb_coll_node_page *page, int ranks,
                        struct hpcboot_error *err)
{
    struct hb_coll_model m;
    uint32_t nobody = NOBODY, writing = WRITING;
    hb_model_typical(&m);
    int rc = rules(&m, err);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    if (!atomic_compare_exchange_strong(&page->model_state, &nobody,
                                        WRITING)) {
        await(page);
        return HPCBOOT_OK;
    }
    bool alone = atomic_load(&page->wait_mode) == HB_COLL_WAIT_SPIN;
    (void)hb_model_here(&m, alone, NULL, 0, NULL);
    m.cpus = m.cpus != 0 || alone ? m.cpus : cpus_of(ranks);
    page->model = m;
    atomic_compare_exchange_strong(&page->model_state, &writing, WRITTEN);
    return HPCBOOT_OK;
}
