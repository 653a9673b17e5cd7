/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Who started this process? The nearest launcher wins: a caller's bootstrap,
 * the agent of hbrun, PMIx, PMI-1; a process that nobody speaks of is rank 0
 * of 1. A launcher that is named in the environment and does not answer is an
 * error, never a reason to be alone: every rank would be. */
#include "config.h"

#include "lib/rdzv/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"

/* Of addresses, not of memory: what nobody touches is not allocated. */
#define HEAP_MB 8192u
#define HEAP_MB_MAX (1u << 24)

/* Between two looks at what else is under way; longer while nothing moves. */
#define WORK_MOST_MS 16
#define IDLE_MS 500 /* where there is nothing under way */

int hb_rdzv_poll(struct hb_rdzv *r, int fd, short events, int64_t deadline_ns)
{
    struct pollfd p = {.fd = fd, .events = events};
    int pause_ms = 0;

    for (;;) {
        int moved = r->work != NULL ? r->work() : -1, rc;
        int64_t left = hb_deadline_left_ms(deadline_ns);
        int ms = left > INT32_MAX ? -1 : (int)left;

        if (r->stop && r->may_stop) {
            r->stop = 0;
            return 0;
        }
        pause_ms = moved > 0                      ? 0
                   : moved < 0                    ? IDLE_MS
                   : pause_ms >= WORK_MOST_MS / 2 ? WORK_MOST_MS
                                                  : 2 * pause_ms + 1;
        if (r->work != NULL && (ms < 0 || pause_ms < ms)) {
            ms = pause_ms;
        }
        rc = poll(&p, 1, ms);
        if (rc > 0 || (rc == 0 && left <= ms)) {
            return rc;
        }
        if (rc < 0 && errno != EINTR) {
            return 1; /* the read will say what it is */
        }
    }
}

/* "": none. */
static const char *heap_wish(void)
{
    const char *text = getenv("HPCBOOT_HEAP_MB");

    return text != NULL ? text : "";
}

static int read_heap_mb(uint64_t *mb, struct hpcboot_error *err)
{
    const char *text = heap_wish();

    *mb = HEAP_MB;
    if (*text != '\0' &&
        hb_parse_u64(text, 1, HEAP_MB_MAX, mb) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "HPCBOOT_HEAP_MB: \"%.64s\" is "
                       "no number of MiB from 1 to %u", text, HEAP_MB_MAX);
    }
    return 0;
}

size_t hb_rdzv_heap_bytes(void)
{
    uint64_t mb;

    return (size_t)(read_heap_mb(&mb, NULL) == 0 ? mb : HEAP_MB) << 20;
}

size_t hb_rdzv_heap_least(void)
{
    return *heap_wish() == '\0' ? HB_SEGMENT_HEAP_LEAST : 0;
}

int hb_rdzv_check_wishes(struct hpcboot_error *err)
{
    uint64_t mb;

    return read_heap_mb(&mb, err);
}

struct hb_rdzv_inherited hb_rdzv_keep(int fd)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFD);

    if (flags < 0 || (flags & FD_CLOEXEC) != 0 || fstat(fd, &st) < 0 ||
        fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0) {
        return (struct hb_rdzv_inherited){-1, 0};
    }
    return (struct hb_rdzv_inherited){fd, st.st_ino};
}

/* The number may be another file's by now. */
void hb_rdzv_leave(const struct hb_rdzv_inherited *i)
{
    struct stat st;

    if (i->fd >= 0 && fstat(i->fd, &st) == 0 && st.st_ino == i->inode) {
        (void)fcntl(i->fd, F_SETFD, 0);
    }
}

int hb_rdzv_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                 struct hpcboot_error *err)
{
    static int (*const clients[])(struct hb_rdzv **,
                                  const struct hb_rdzv_spec *,
                                  struct hpcboot_error *) = {
        hb_rdzv_native_open, hb_rdzv_pmix_open, hb_rdzv_pmi1_open,
        hb_rdzv_alone_open,
    };
    int rc = HPCBOOT_ERR_NOT_FOUND;

    if (spec->bootstrap != NULL) {
        return hb_rdzv_with_open(out, spec, err);
    }
    for (size_t i = 0; rc == HPCBOOT_ERR_NOT_FOUND &&
         i < sizeof clients / sizeof *clients; i++) {
        rc = clients[i](out, spec, err);
    }
    return rc;
}

void hb_rdzv_close(struct hb_rdzv *r)
{
    if (r != NULL) {
        struct hb_segment memory = r->memory;

        free(r->dead);
        r->ops->destroy(r);
        hb_segment_close(&memory);
    }
}

void hb_rdzv_set_members(struct hb_rdzv *r, uint32_t members, uint32_t *dead,
                         uint32_t n_dead)
{
    free(r->dead);
    r->members = members;
    r->dead = dead;
    r->n_dead = n_dead;
}
