/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* One pair by messages of libhpcboot. The lower rank leads first, then the
 * other one: the leader sends short messages and waits for each to come back,
 * the first of them alone as it has to connect; then it sends large ones and
 * waits for a word that all are there. What does not come is given up after
 * LIMIT_MS, by both sides, as neither can know what the other has. */
#include "config.h"

#include "bin/probe/pair.h"

#include <hpcboot/hpcboot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"

#define LIMIT_MS 2000
#define PINGS 16
#define SHORT_BYTES 8u
#define TAGS_PER_ROUND 4

struct meeting {
    const struct pair_plan *plan;
    int peer, tag;
    char *buffer;
    struct hpcboot_error err;
    uint64_t connect_ns, min_ns, max_ns, kbps;
};

static int finish(struct meeting *m, struct hpcboot_request *request)
{
    return hpcboot_wait(&request, LIMIT_MS, &m->err);
}

static int put(struct meeting *m, int tag, size_t size)
{
    struct hpcboot_request *request = NULL;
    int rc = hpcboot_isend(hpcboot_world(), m->peer, m->tag + tag, m->buffer,
                           size, &request, &m->err);

    return rc < 0 ? rc : finish(m, request);
}

static int get(struct meeting *m, int tag, size_t size)
{
    struct hpcboot_request *request = NULL;
    int rc = hpcboot_irecv(hpcboot_world(), m->peer, m->tag + tag, m->buffer,
                           size, NULL, &request, &m->err);

    return rc < 0 ? rc : finish(m, request);
}

/* There and back; ns, or an error. */
static int64_t ping(struct meeting *m)
{
    int64_t begun = hb_now_ns();
    int rc = put(m, 0, SHORT_BYTES);

    if (rc == 0) {
        rc = get(m, 1, SHORT_BYTES);
    }
    return rc < 0 ? rc : hb_now_ns() - begun;
}

static int lead_short(struct meeting *m)
{
    int64_t ns = ping(m);

    m->connect_ns = ns > 0 ? (uint64_t)ns : 0;
    m->min_ns = UINT64_MAX;
    for (int i = 0; i < PINGS && ns >= 0; i++) {
        ns = ping(m);
        if (ns >= 0) {
            m->min_ns = (uint64_t)ns < m->min_ns ? (uint64_t)ns : m->min_ns;
            m->max_ns = (uint64_t)ns > m->max_ns ? (uint64_t)ns : m->max_ns;
        }
    }
    return ns < 0 ? (int)ns : 0;
}

static int follow_short(struct meeting *m)
{
    int rc = 0;

    for (int i = 0; i <= PINGS && rc == 0; i++) {
        rc = get(m, 0, SHORT_BYTES);
        if (rc == 0) {
            rc = put(m, 1, SHORT_BYTES);
        }
    }
    return rc;
}

static int lead_large(struct meeting *m)
{
    int64_t begun = hb_now_ns(), took;
    uint64_t bytes = (uint64_t)m->plan->count * m->plan->bytes;
    int rc = 0;

    for (uint32_t i = 0; i < m->plan->count && rc == 0; i++) {
        rc = put(m, 2, m->plan->bytes);
    }
    if (rc == 0) {
        rc = get(m, 3, SHORT_BYTES);
    }
    /* The way back of the last word is no part of it. */
    took = hb_now_ns() - begun - (int64_t)(m->min_ns / 2);
    if (rc == 0 && took > 0) {
        m->kbps = bytes * 1000000u / (uint64_t)took;
    }
    return rc;
}

static int follow_large(struct meeting *m)
{
    int rc = 0;

    for (uint32_t i = 0; i < m->plan->count && rc == 0; i++) {
        rc = get(m, 2, m->plan->bytes);
    }
    return rc < 0 ? rc : put(m, 3, SHORT_BYTES);
}

static void tell_failed(const struct meeting *m, const char *what,
                        struct hb_str *report)
{
    char text[HPCBOOT_ERROR_TEXT_MAX];

    if (m->err.code == HPCBOOT_ERR_TIMED_OUT) {
        snprintf(text, sizeof text, "no answer within %d s", LIMIT_MS / 1000);
    } else {
        snprintf(text, sizeof text, "%s", m->err.text);
        text[strcspn(text, "\n")] = '\0';
    }
    hb_str_putf(report, "fail %d %s %s\n", m->peer, what, text);
}

static void tell_transport(int peer, struct hb_str *report)
{
    struct hpcboot_transport by = HPCBOOT_TRANSPORT_INIT;

    if (hpcboot_transport_of(peer, &by, NULL) == 0 &&
        strcmp(by.name, "none") != 0) {
        by.detail[strcspn(by.detail, "\n")] = '\0';
        hb_str_putf(report, "by %d %s %s\n", peer, by.name, by.detail);
    }
}

int pair_meet(const struct pair_plan *plan, int round, int peer,
              struct hb_str *report)
{
    struct meeting m = {.plan = plan, .peer = peer,
                        .tag = round * TAGS_PER_ROUND};
    int leads = hpcboot_rank() < peer, is_large = 0, rc = 0;

    m.buffer = hb_xcalloc(1, plan->bytes + SHORT_BYTES);
    for (int turn = 0; turn < 2 && rc == 0; turn++, leads = !leads) {
        is_large = 0;
        rc = leads ? lead_short(&m) : follow_short(&m);
        if (rc == 0) {
            is_large = 1;
            rc = leads ? lead_large(&m) : follow_large(&m);
        }
    }
    if (m.connect_ns > 0) {
        hb_str_putf(report, "pair %d %llu %llu %llu %llu\n", peer,
                    (unsigned long long)m.connect_ns,
                    (unsigned long long)(m.min_ns != UINT64_MAX ? m.min_ns
                                                                : 0),
                    (unsigned long long)m.max_ns, (unsigned long long)m.kbps);
    }
    tell_transport(peer, report);
    if (rc < 0) {
        tell_failed(&m, is_large ? "large" : "short", report);
        return -1; /* the buffer may still be written to */
    }
    free(m.buffer);
    return 0;
}
