/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_LIVES_H
#define HB_JOB_LIVES_H

#include <stdint.h>

#include "bin/job/verdict.h"
#include "lib/base/error.h"
#include "lib/base/strv.h"
#include "lib/fabric/choose.h"

/* What becomes of a job in which something failed, and what one life of a
 * job leaves to the next. No I/O.
 *
 * With restart-job a job may live several times: each life gathers the gang
 * anew, so that a pod which was made again joins under its old name, and
 * starts all ranks in the next epoch. Hosts that were lost are left out as
 * long as the others have room. The number of ranks stays, unless it was
 * given as MIN:MAX. */
enum hb_on_failure {
    HB_FAIL_ABORT,    /* end the job */
    HB_FAIL_CONTINUE, /* the others go on */
    HB_FAIL_RESPAWN,  /* start that rank again */
    HB_FAIL_RESTART   /* end all, start all */
};
/* By its name; NULL is abort. */
const char *hb_on_failure_name(enum hb_on_failure policy);
int hb_on_failure_parse(const char *text, enum hb_on_failure *out,
                        struct hpcboot_error *err);

/* Hosts that are fewer than they were are waited for, without --wait-hosts. */
#define WAIT_LACK_MS 60000

/* When something is tried again: each time later, up to a minute. */
struct hb_backoff {
    int64_t first_ms;
    uint32_t max; /* tries */
};
int64_t hb_backoff_ms(const struct hb_backoff *b, uint32_t tries);

struct hb_life_host { /* of a host that has answered once */
    char *name;
    uint32_t slots, quota_milli;
};

struct hb_life_former { /* the last agent of a host that was lost */
    char *host, *token;
};

struct hb_lives {
    uint32_t epoch;        /* of the present life, from 0 */
    uint32_t restarts;     /* so far */
    uint32_t failures;     /* that were the reason of one */
    uint32_t told;         /* 1: the next life was, and restarts counts it */
    int64_t delay_ms;      /* before the next life */
    int64_t hbrun_ns, hbrun_wall_ns; /* hbrun was started, by both clocks */
    int64_t begun_ns;      /* the first life's ranks were started; or 0 */
    int64_t stdin_start;   /* where a file was read from; -1: it is none */
    struct hb_strv lost;   /* hosts that were lost, and not seen since */
    struct hb_strv tried;  /* hosts that were taken in later, each time, and
                            * have not come up since */
    struct hb_life_host *known; /* [n_known] */
    uint32_t n_known;
    struct hb_life_former *formers; /* [n_formers] */
    uint32_t n_formers;
    char *source;          /* that named the hosts last; or NULL */
    uint64_t expected;     /* members of the gang, as its source said; or 0 */
    uint32_t needed_hosts; /* fewer have no room for all ranks; 0: not known */
    uint32_t wished_hosts; /* on fewer ranks share what was counted for one of
                            * them; 0: not known */
    int hopeless;          /* they have shared since, or these hosts have not
                            * come */
    uint32_t *np;          /* ranks of each program; NULL: not known yet */
    struct hb_fabric_terms fabric; /* what hosts settled for, with --fabric */
    void *events;          /* of bin/job/events.c: one file for all lives */
    void *metrics;         /* of bin/job/metrics.c, as well */
};
void hb_lives_clear(struct hb_lives *l);

int hb_lives_was_lost(const struct hb_lives *l, const char *host);
void hb_lives_note_lost(struct hb_lives *l, const char *host);
/* It answers again. */
void hb_lives_note_back(struct hb_lives *l, const char *host);
/* It had a part in a life that began. */
void hb_lives_note_came_up(struct hb_lives *l, const char *host);
void hb_lives_note_seen(struct hb_lives *l, const char *host, uint32_t slots,
                        uint32_t quota_milli);
const struct hb_life_host *hb_lives_find(const struct hb_lives *l,
                                         const char *host);
/* Its agent is lost, and may be alive for all that. The token of that one, or
 * "". */
void hb_lives_note_former(struct hb_lives *l, const char *host,
                          const char *token);
const char *hb_lives_former(const struct hb_lives *l, const char *host);

/* Whether what ended a life of the job is a failure of the kind that another
 * try may not meet again; a mistake or the user's own will is not. */
int hb_lives_curable(const struct hb_verdict *v);
/* The present life was told of and has not come about: no restart. */
void hb_lives_take_back(struct hb_lives *l);
/* 1: there is another life after l->delay_ms, and l is set for it. */
int hb_lives_again(struct hb_lives *l, const struct hb_backoff *b,
                   const struct hb_verdict *v);

#endif
