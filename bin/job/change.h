/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_CHANGE_H
#define HB_JOB_CHANGE_H

#include "bin/job/job_impl.h"

/* A job that goes on though ranks end and hosts are lost, come back, or come
 * and go as they like. */

/* again.c: lives of a job */
int job_failure_read(struct job *j, struct hpcboot_error *err);
int job_plan_ranks(struct job *j, struct hpcboot_error *err);
int job_again(struct job *j); /* 1: it is to live again */
int job_lives_on(const struct job *j); /* whether that will say so */
/* Until the next life begins, or one of the signals that are held meanwhile:
 * which, or 0. */
int job_again_pause(const struct hb_lives *l);
void job_again_stdin(struct hb_lives *l);
/* The next life does not begin: the job's last words, and its exit status. */
int job_lives_no_more(struct job *j, enum hb_cause_kind kind, int code,
                      const char *text);

/* elastic.c: hosts that come and go */
int job_is_elastic(const struct job *j); /* it looks for them */
/* With so many it certainly has MIN ranks; 0: it is not elastic. */
uint32_t job_elastic_hosts(const struct job *j);
void job_elastic_watch(struct job *j);
void job_elastic_close(struct job *j);
void job_elastic_explain(const struct job *j, struct hb_strv *lines);

/* live.c: while ranks run */
int job_is_live(const struct job *j);
uint32_t job_host_entries(const struct job *j); /* to make room for */
uint32_t job_ranks_most(const struct job *j); /* it will ever have */
void job_live_open(struct job *j);
void job_live_close(struct job *j);
/* The source names this host; this one it names no more; it is to be asked. */
void job_live_named(struct job *j, const struct hb_host *spec);
void job_live_vanished(struct job_host *h);
void job_live_count(struct job *j);
/* 1: nobody runs, and the job waits for hosts. */
int job_live_waits(const struct job *j);
/* The host of a rank has left an elastic job, or does: the next one that comes
 * gets its number. */
int job_live_refills(const struct job *j, uint32_t rank);
/* Of a host that joins. */
void job_live_failed(struct job_host *h);
void job_live_ready(struct job_host *h);
void job_live_go(struct job_host *h);
/* Its ranks will not be there again, unless a host takes their seat. */
void job_live_vacate(struct job_host *h);
void job_live_left(struct job_host *h);
/* 1: it has to do with hosts that come and go, and nothing else follows. */
int job_live_lost(struct job_host *h);
int job_live_gave_up(struct job_host *h);
/* Of a job that is live: its ranks were lost with it, it is still named, and
 * nobody has their numbers. */
int job_live_misses(const struct job_host *h);
void job_live_end(struct job *j);

/* latecomers.c: ranks begin on a host that has come; something has changed */
void job_latecomers_come(struct job_host *h);
/* It has failed, for what was asked for. 1: others have run before, and go on
 * without it; 0: the job cannot be what it was asked to be. */
int job_latecomer_unfit(struct job_host *h, const char *why);
void job_latecomers_look(struct job *j);
void job_latecomers_close(struct job *j);

/* wiring.c: --fabric */
/* Its agent is ready, and others run. 1: it was asked, and host_wired_late
 * follows or the host is refused; 0: there is nothing to ask. */
int job_wiring_joins(struct job_host *h);
int job_wiring_asks(const struct job_host *h); /* its answer is on the way */

/* respawn.c: a job that goes on */
/* Tells the others, where they go on without them. */
void job_ranks_lost(struct job *j, const uint32_t *ranks, uint32_t n,
                    const char *why);
void job_host_ranks_lost(struct job_host *h, const char *why);
void job_node_ranks_lost(struct job *j, uint32_t node, const char *why);
/* 1: the rank that failed is started again. 0: it is not, and c->evidence may
 * say in `why` why not. */
int job_respawn_rank(struct job_host *h, struct hb_cause *c, unsigned contact,
                     char *why, size_t size);
/* 1: the ranks of a lost host are started again somewhere; else as above. */
int job_replace_host(struct job_host *h, char *why, size_t size);
/* Why the ranks of a host, which is about to leave, could not be started again
 * anywhere; NULL: they could. */
const char *job_never_moves(struct job_host *h);
/* It was to take a lost host's place, and does not come up: another spare is
 * asked instead, or the job fails. */
void job_never_came(struct job_host *h);
/* It has a login before it, with nothing left of the last one. */
void host_start_late(struct job_host *h, int64_t delay_ms);
void job_rank_begins_anew(struct job *j, uint32_t rank); /* it has ended */
void job_forget_ends(struct job *j, uint32_t node); /* of its ranks */
void host_join_late(struct job_host *h);
void host_wired_late(struct job_host *h); /* it has what --fabric wants */
void host_begin_late(struct job_host *h); /* its ranks are ordered */
void job_respawn_close(struct job *j);
/* All that run, and the host itself, have the map from now on. why: its ranks
 * begin and are news to the others, in these words; NULL: they are not. */
void job_tell_map(struct job_host *h, const char *why);

#endif
