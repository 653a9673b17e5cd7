/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_API_HOP_H
#define HB_API_HOP_H

#include "lib/api/api.h"

/* Who waits in which call for whom, as the ranks tell each other (ask.c). What
 * is no collective has a number of its own: a fence of the job (context 0) or
 * of a node (1) its own among these; a shrink the number that this rank would
 * give to a new team; a receive how many messages of that rank have come. */
enum {
    HB_IN_RECV = -1, HB_IN_FENCE = -2, HB_IN_SHRINK = -3,
    HB_IN_FINALIZE = -4, HB_IN_ANY = -5 /* these two only for show */
};

struct hb_hop {
    int32_t rank, coll; /* enum hpcboot_coll, or as above */
    uint32_t context, size;
    uint64_t call;
    int32_t tag, on;    /* rank in the world; -1: all, or not known */
};

/* The wait that this rank is in. */
struct hb_own_wait {
    struct hpcboot_team *team; /* NULL: no team's */
    const struct hb_coll_stuck *what;
};

#define HB_ASK_CONTEXT 6u /* below are those of the world and the node team */
#define HB_LEAVE_CONTEXT 8u

struct hb_hop hb_hop_of(const struct hpcboot_team *team,
                         const struct hb_coll_stuck *what);
/* What can end the wait that this rank is in: an entry for each rank that is
 * waited for, or one that stands for all. Returns how many, *out for free();
 * 0: the wait may end by itself, or it is not known what can end it. */
size_t hb_hop_ways(const struct hb_own_wait *w, struct hb_hop **out);
/* 1: there is one, *out. */
int hb_hop_own(const struct hb_own_wait *w, struct hb_hop *out);
/* Of those ways, as others are to read it. */
struct hb_hop hb_hop_shown(const struct hb_hop *ways, size_t n);
int hb_hop_is_own(const struct hb_own_wait *w, const struct hb_hop *h);
/* Whether one that is in no collective waits for something that this rank has
 * not done. */
int hb_hop_is_kept(const struct hb_hop *h);
/* Ends this rank's own; what its caller is to return. */
int hb_hop_end(const struct hpcboot_error *why, struct hpcboot_error *err);
/* "rank 1 waits in barrier of the world (its call 3)"; bytes as snprintf. */
size_t hb_hop_put(char *out, size_t size, const struct hb_hop *h);

/* ---- what ranks say to each other (note.c) ---- */

#define HB_HOPS_MOST 32
enum hb_note_kind { HB_NOTE_ASKS = 1, HB_NOTE_TELLS, HB_NOTE_SURVEYS,
                    HB_NOTE_CONFIRMS };
struct hb_note {
    uint32_t kind, n; /* hops */
    struct hb_coll_made made; /* of the last hop, if it is known: */
    uint32_t is_known;
    int32_t code;     /* of what is told: the one hop's call fails so */
    uint32_t sends;   /* the first hop needs nothing of whom it asks */
    uint32_t deaths;  /* that who asks knows of */
    int32_t root;     /* whose survey it is, and which of those */
    uint32_t round;
    char text[HPCBOOT_ERROR_TEXT_MAX];
    struct hb_hop hops[HB_HOPS_MOST];
};
void hb_note_post(int rank, const struct hb_note *note);
/* 1: *note is the oldest that has come. */
int hb_note_take(struct hb_note *note);
/* Whether both know of the same deaths: else one of them may be in a wait that
 * a death ends of which it has not heard yet. */
int hb_note_is_of_now(const struct hb_note *note);
/* The call of that hop fails so. */
void hb_note_tell(const struct hb_hop *h, const struct hpcboot_error *why);
/* Of the teams that this rank is in; the lock is held. */
struct hpcboot_team *hb_note_team(uint32_t context);
/* Whether a shrink that this rank is in waits for that one. */
int hb_note_shrinks_with(int rank);

/* survey.c; with HPCBOOT_CHECK, and one thread, alone. What is begun is heard
 * of in the looks that follow; each look begins with hb_survey_look. */
void hb_survey_begin(const struct hb_own_wait *w);
int hb_survey_look(const struct hb_own_wait *w, struct hpcboot_error *err);
void hb_survey_hear(const struct hb_own_wait *w, const struct hb_note *note);
void hb_survey_open(void);
void hb_survey_close(void);

#endif
