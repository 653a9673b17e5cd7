/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#include "config.h"

#include "lib/xport/move.h"

#include <pthread.h>

#include "lib/xport/ucxload.h"

#define KINDS (HB_UCXMOVE_ZE + 1)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct hb_ucxmover *mover;
static int is_shared;
static struct hb_ucxmove *moves[KINDS];

static int load(struct hpcboot_error *err)
{
    const void *symbol = NULL;
    int rc = mover != NULL
                 ? 0 : hb_ucx_load("hb_ucxmove", &symbol, &is_shared, err);

    if (rc < 0) {
        struct hpcboot_error why = *err;

        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "which only UCX could "
                       "read, and it cannot be used: %.300s", why.text);
    }
    mover = mover != NULL ? mover : symbol;
    return 0;
}

static int open_locked(enum hb_ucxmove_kind kind, struct hpcboot_error *err)
{
    char why[256];
    int rc = load(err);

    if (rc == 0 &&
        mover->open(kind, is_shared, &moves[kind], why, sizeof why) < 0) {
        rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "which UCX %s here cannot "
                     "read: %s", mover->version(), why);
    }
    return rc;
}

int hb_move_open(enum hb_ucxmove_kind kind, struct hpcboot_error *err)
{
    int rc = 0;

    pthread_mutex_lock(&lock);
    if (moves[kind] == NULL) {
        rc = open_locked(kind, err);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

int hb_move_copy(enum hb_ucxmove_kind kind, void *to, const void *from,
                 size_t size, int to_device, struct hpcboot_error *err)
{
    char why[256];
    int rc = 0;

    pthread_mutex_lock(&lock);
    if (size > 0) {
        rc = mover->copy(moves[kind], to, from, size, to_device, why,
                         sizeof why);
    }
    pthread_mutex_unlock(&lock);
    return rc == 0 ? 0 : hb_fail(err, HPCBOOT_ERR_SYSTEM, "UCX cannot copy "
                                 "%zu bytes %s a device: %s", size,
                                 to_device ? "to" : "from", why);
}

void hb_move_close(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KINDS; i++) {
        if (moves[i] != NULL) {
            mover->close(moves[i]);
            moves[i] = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
}
