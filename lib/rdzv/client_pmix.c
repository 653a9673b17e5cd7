/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Ranks of a PMIx launcher: Open MPI's mpirun, srun --mpi=pmix. A round is a
 * key of its own per rank, so that no server or client can answer with the
 * value of an earlier one. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/module_load.h"
#include "lib/base/str.h"
#include "lib/rdzv/foreign.h"
#include "lib/rdzv/pmixlib.h"

#define KEY_SIZE 32
#define MS_PER_S 1000

struct pmix {
    struct hb_foreign f;
    struct hb_rdzv_ops client;
    const struct hb_pmixlib *lib;
};

static int failed(const struct pmix *p, int status, const char *what,
                  struct hpcboot_error *err)
{
    int code = status == p->lib->timed_out ? HPCBOOT_ERR_TIMED_OUT
                                           : HPCBOOT_ERR_SYSTEM;

    return hb_fail(err, code, "PMIx: %s: %s", what, p->lib->text(status));
}

static const char *key_of(char key[KEY_SIZE], uint32_t round)
{
    snprintf(key, KEY_SIZE, "hpcboot.%u", round);
    return key;
}

static int pmix_publish(struct hb_foreign *f, uint32_t round,
                        struct hb_bytes blob, struct hpcboot_error *err)
{
    struct pmix *p = (struct pmix *)f;
    char key[KEY_SIZE];
    int rc = p->lib->put(key_of(key, round), blob.len > 0 ? blob.data : "",
                         blob.len);

    return rc == 0 ? 0 : failed(p, rc, "put", err);
}

/* Always collects: servers that answer single questions across nodes are not
 * to be relied on (Slurm's says that there is no such key). */
static int pmix_sync(struct hb_foreign *f, uint32_t round, int collect,
                     int64_t deadline_ns, struct hpcboot_error *err)
{
    struct pmix *p = (struct pmix *)f;
    int64_t left = hb_deadline_left_ms(deadline_ns) / MS_PER_S + 1;
    int rc = p->lib->fence(1, deadline_ns == HB_NEVER || left > INT32_MAX
                                  ? 0 : (int)left, f->r.work);

    return rc == 0 ? 0 : failed(p, rc, "fence", err);
}

static int pmix_fetch(struct hb_foreign *f, uint32_t rank, uint32_t round,
                      struct hb_buf *out, struct hpcboot_error *err)
{
    struct pmix *p = (struct pmix *)f;
    char key[KEY_SIZE];
    void *data = NULL;
    size_t len = 0;
    int rc = p->lib->get(rank, key_of(key, round), &data, &len);

    if (rc != 0) {
        return failed(p, rc, "get", err);
    }
    hb_buf_put_raw(out, data, len);
    free(data);
    return 0;
}

static int pmix_finalize(struct hb_foreign *f, struct hpcboot_error *err)
{
    struct pmix *p = (struct pmix *)f;
    int rc = p->lib->fence(0, 0, f->r.work);

    return rc == 0 ? 0 : failed(p, rc, "the last fence", err);
}

static void pmix_destroy(struct hb_foreign *f)
{
    struct pmix *p = (struct pmix *)f;

    (void)p->lib->finalize();
    free(p);
}

static const struct hb_foreign_ops pmix_ops = {
    .name = "pmix", .publish = pmix_publish, .sync = pmix_sync,
    .fetch = pmix_fetch, .finalize = pmix_finalize, .destroy = pmix_destroy,
};

int hb_rdzv_pmix_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                      struct hpcboot_error *err)
{
    const void *found = NULL;
    struct pmix *p;
    int rc;

    if (getenv("PMIX_NAMESPACE") == NULL || getenv("PMIX_RANK") == NULL) {
        return HPCBOOT_ERR_NOT_FOUND;
    }
    rc = hb_module_open("hb_pmixc", "hb_pmixlib", &found, err);
    if (rc < 0) {
        return hb_error_prefix(err, rc, "a PMIx launcher has started this "
                               "process");
    }
    p = hb_xcalloc(1, sizeof *p);
    p->lib = found;
    rc = p->lib->init(&p->f.r.rank, &p->f.r.size);
    if (rc != 0 || p->f.r.rank >= p->f.r.size) {
        rc = failed(p, rc, "init", err);
        free(p);
        return rc;
    }
    hb_foreign_init(&p->f, &pmix_ops, &p->client);
    rc = hb_foreign_meet(&p->f, spec, err);
    if (rc < 0) {
        hb_segment_close(&p->f.r.memory);
        hb_foreign_destroy(&p->f);
        return rc;
    }
    *out = &p->f.r;
    return 0;
}
