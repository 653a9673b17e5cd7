/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Names and sizes of types and ops, and the ops of the user: a table whose
 * index is the op. */
#include "config.h"

#include <stdlib.h>

#include "lib/api/api.h"
#include "lib/base/str.h"

#define OPS_MAX 65536 /* a program that makes more forgets to destroy them */

size_t hpcboot_type_size(enum hpcboot_type type)
{
    return hb_coll_type_size(type);
}

const char *hpcboot_type_name(enum hpcboot_type type)
{
    return hb_coll_type_name(type);
}

const char *hpcboot_op_name(int op)
{
    return hb_coll_op_name(op);
}

const char *hpcboot_coll_name(enum hpcboot_coll coll)
{
    return (unsigned)coll < HPCBOOT_COLLS ? hb_coll_name((int)coll)
                                          : "unknown";
}

/* An entry nobody uses; the table is locked. */
static int free_entry(void)
{
    int i = 0;

    while (i < hb_api.n_ops && hb_api.ops[i].used) {
        i++;
    }
    if (i == hb_api.n_ops && i < OPS_MAX) {
        hb_api.ops = hb_xrealloc(hb_api.ops, (size_t)(i + 1) *
                                                 sizeof *hb_api.ops);
        hb_api.n_ops++;
    }
    return i;
}

int hpcboot_op_create(hpcboot_op_fn fn, void *arg, unsigned flags,
                      size_t element_bytes, struct hpcboot_error *err)
{
    int i, rc = hb_api_ready("hpcboot_op_create", err);

    if (rc == 0 && fn == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_op_create: the function "
                     "is NULL");
    }
    if (rc == 0) {
        rc = hb_api_flags("hpcboot_op_create", flags, HPCBOOT_COMMUTATIVE,
                          err);
    }
    if (rc < 0) {
        return rc;
    }
    pthread_mutex_lock(&hb_api.lock);
    i = free_entry();
    if (i < OPS_MAX) {
        hb_api.ops[i].used = 1;
        hb_api.ops[i].op = (struct hb_coll_user_op){
            .fn = fn, .arg = arg, .element_bytes = element_bytes,
            .commutative = (flags & HPCBOOT_COMMUTATIVE) != 0,
        };
    }
    pthread_mutex_unlock(&hb_api.lock);
    return i < OPS_MAX ? HPCBOOT_OP_USER + i
                       : hb_fail(err, HPCBOOT_ERR_LIMIT, "hpcboot_op_create: "
                                 "%d ops exist", OPS_MAX);
}

static struct api_user_op *entry_of(int op)
{
    int i = op - HPCBOOT_OP_USER;

    return i >= 0 && i < hb_api.n_ops && hb_api.ops[i].used ? &hb_api.ops[i]
                                                            : NULL;
}

int hpcboot_op_destroy(int op, struct hpcboot_error *err)
{
    int rc = hb_api_ready("hpcboot_op_destroy", err);

    if (rc < 0) {
        return rc;
    }
    pthread_mutex_lock(&hb_api.lock);
    if (entry_of(op) == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_op_destroy: %d is no op "
                     "of hpcboot_op_create", op);
    } else {
        entry_of(op)->used = 0;
    }
    pthread_mutex_unlock(&hb_api.lock);
    return rc;
}

int hb_api_user_op(int op, struct hb_coll_user_op *out,
                   struct hpcboot_error *err)
{
    const struct api_user_op *e;

    pthread_mutex_lock(&hb_api.lock);
    e = entry_of(op);
    if (e != NULL) {
        *out = e->op;
    }
    pthread_mutex_unlock(&hb_api.lock);
    return e != NULL ? 0
                     : hb_fail(err, HPCBOOT_ERR_USAGE, "op %d is none that "
                               "hpcboot_op_create has made, or is destroyed",
                               op);
}

void hb_api_ops_close(void)
{
    free(hb_api.ops);
    hb_api.ops = NULL;
    hb_api.n_ops = 0;
}
