/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The words that ranks ask each other with (ask.c, survey.c), as messages of a
 * context of their own: sent without waiting, since who waits for long has no
 * time to lose by them, and read one after the other. What is not whole, or
 * names ranks and calls that there are none, is dropped. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>

#include "lib/api/hop.h"

#define TAG 1u

static size_t size_of(const struct hb_note *note)
{
    return offsetof(struct hb_note, hops) + note->n * sizeof(struct hb_hop);
}

void hb_note_post(int rank, const struct hb_note *note)
{
    struct hb_xport_req *req;

    if (hb_xport_send(hb_api.xport, rank, HB_ASK_CONTEXT, TAG, note,
                      size_of(note), &req, NULL) == 0 &&
        hb_xport_test(hb_api.xport, req, NULL, NULL) == 0) {
        hb_xport_cancel(hb_api.xport, req);
    }
}

int hb_note_is_of_now(const struct hb_note *note)
{
    return note->deaths == hb_segment_deaths(hb_api.memory);
}

/* 1: *note has the oldest, of *size_out bytes; 0: there is none. */
static int take(struct hb_note *note, size_t *size_out)
{
    struct hb_xport_info info;
    struct hb_xport_req *req;
    int rc;

    if (hb_xport_recv(hb_api.xport, HB_XPORT_ANY, HB_ASK_CONTEXT, TAG,
                      UINT64_MAX, note, sizeof *note, &req, NULL) < 0) {
        return 0;
    }
    rc = hb_xport_test(hb_api.xport, req, &info, NULL);
    if (rc == 0) {
        hb_xport_cancel(hb_api.xport, req);
    }
    *size_out = info.size;
    return rc > 0;
}

static int is_sound(struct hb_note *note, size_t size)
{
    if (size < offsetof(struct hb_note, hops) || note->n < 1 ||
        note->n > HB_HOPS_MOST || size != size_of(note) ||
        note->kind < HB_NOTE_ASKS || note->kind > HB_NOTE_CONFIRMS) {
        return 0;
    }
    note->text[sizeof note->text - 1] = '\0';
    for (uint32_t i = 0; i < note->n; i++) {
        const struct hb_hop *h = &note->hops[i];

        if (h->rank < 0 || h->rank >= hb_api.size || h->coll < HB_IN_ANY ||
            h->coll >= HB_CALLS) {
            return 0;
        }
    }
    return note->root >= 0 && note->root < hb_api.size;
}

int hb_note_take(struct hb_note *note)
{
    size_t size;

    while (take(note, &size)) {
        if (is_sound(note, size)) {
            return 1;
        }
    }
    return 0;
}

struct hpcboot_team *hb_note_team(uint32_t context)
{
    struct hpcboot_team *t = hb_api.teams;

    while (t != NULL && t->context != context) {
        t = t->next;
    }
    return t;
}

void hb_note_tell(const struct hb_hop *h, const struct hpcboot_error *why)
{
    struct hb_note note = {.kind = HB_NOTE_TELLS, .n = 1, .code = why->code};

    note.hops[0] = *h;
    snprintf(note.text, sizeof note.text, "%s", why->text);
    hb_note_post(h->rank, &note);
}
