/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_BRINGUP_H
#define HB_JOB_BRINGUP_H

#include "bin/job/job_impl.h"

/* Hosts, from the first try to reach them until they are let go or given up;
 * again when they are orphans. */

/* connect.c: what happens to a host, whoever starts it */
void host_stage(struct job_host *h, enum hb_boot_stage stage,
                const char *detail);
void host_failed(struct job_host *h, enum hb_boot_stage stage,
                 const struct hpcboot_error *err);
/* A try has come as far as `stage` and no further: there may be another. */
void host_failed_try(struct job_host *h, enum hb_boot_stage stage);
void host_link_lost(struct job_host *h, const struct hpcboot_error *err);
/* The same of a link that another host has: what carried it ended so. */
void host_edge_lost(struct job_host *h, const struct hpcboot_error *err,
                    int exit_status, int was_killed);
/* The HELLO of this version, with the token of this login. */
int host_read_hello(const struct job_host *h, const struct hb_frame *f,
                    struct hb_msg_hello *m_out, struct hpcboot_error *err);
void host_due(struct job_host *h); /* its timer */
void host_make_token(struct job_host *h);
void host_top_frame(void *top, const struct hb_frame *f); /* of its link */
int job_connect(struct job *j, struct hpcboot_error *err);
void host_close(struct job_host *h);
void host_send_welcome(struct job_host *h, uint32_t beat_ms);
void job_connect_stop(struct job *j);
/* Gives a host up: closes it and tells the events. */
void host_forget(struct job_host *h);
/* Its agent is there, and is none that can take part. */
void host_refuse(struct job_host *h, const struct hpcboot_error *err);

/* lost.c: it had been ready */
void host_lost(struct job_host *h, const struct hpcboot_error *err);
/* What it hung below is gone. */
void host_orphaned(struct job_host *h, const struct hpcboot_error *err);

/* way.c: by what command agents are started, and on which hosts */
int job_choose_way(struct job *j, struct hpcboot_error *err);
void job_way_explain(const struct job *j, struct hb_strv *lines);
enum hb_boot_way host_way(const struct job_host *h);

/* probe.c: does a host take logins, and what has become of one that is not
 * heard any more? NULL: there are too many, or none can be begun. `told` comes
 * from the loop; the probe stays until it is ended. */
struct job_probe *job_probe_begin(struct job *j,
                                  const struct hb_boot_target *target,
                                  void (*told)(void *arg), void *arg);
void job_probe_end(struct job_probe *p); /* NULL-safe */
int job_probe_takes_logins(const struct job_probe *p); /* once it is over */
/* It has been silent for so long; 0: it is heard again. */
void host_suspect(struct job_host *h, uint32_t silent_ms, uint32_t load_milli);
void host_probe(struct job_host *h);
void host_probe_end(struct job_host *h);
/* In words, as far as it is known; NULL: no better than before. silent: it was
 * not heard, else its link broke. */
const char *host_probe_words(const struct job_host *h, int silent);
void job_probe_last(struct job *j); /* before the last words */

/* wait.c */
int job_wait_open(struct job *j, struct hpcboot_error *err);
/* After a host has become ready or was given up: goes on, or ends the job, when
 * that decides it. */
void job_wait_check(struct job *j);
void job_wait_enough(struct job *j); /* a host is to be tried again */
/* Of hosts that a job was lost with. */
void job_tell_lost_pods(const struct job *j);
/* A try has failed with h->why and h->reason: milliseconds to the next one,
 * or -1 when there is none. */
int64_t host_wait_again(struct job_host *h, enum hb_boot_stage stage);

/* waitview.c */
int job_wait_view_open(struct job *j, struct hpcboot_error *err);
void job_wait_say(struct job *j); /* in a line of the log */
void job_tally(const struct job *j, struct job_tally *t);

/* prove.c: hosts whose key nothing vouches for */
void host_doubt(struct job_host *h, const struct hb_boot_unverified *key);
/* One line for all hosts whose key was accepted unseen. */
void job_warn_pinned(const struct job *j);
void host_doubt_over(struct job_host *h); /* it is vouched for, or gone */
/* Asks for the proof; the HELLO is kept until it comes. */
void host_ask_proof(struct job_host *h, const struct hb_frame *hello);
/* Gives a host that is trusted the session key. */
void host_send_session(struct job_host *h);
int job_session_make(struct job *j, struct hpcboot_error *err);
/* The answer. 1: *hello_out is the HELLO, to go on with; negative: *err. */
int host_judge_proof(struct job_host *h, const struct hb_frame *f,
                     struct hb_frame *hello_out, struct hpcboot_error *err);

/* same.c: hosts of the gang that are one and the same */
/* What its agent says of where it is; NULL: not known, or means nothing. */
const char *job_host_place(const struct job_host *h);
/* A line for each that several names lead to. */
void job_warn_same(const struct job *j);

/* tree.c */
void job_tree_open(struct job *j);
void job_tree_explain(const struct job *j, struct hb_strv *lines);
void job_tree_close(struct job *j);
void host_queue(struct job_host *h); /* to be started */
void host_try_below(struct job_host *h, struct job_host *parent);
struct hb_link *host_link(const struct job_host *h); /* the way to it; NULL */
/* The login that can judge its proof: its own, or that of the host of the
 * launcher's that it hangs below. */
const struct hb_boot *host_judge(const struct job_host *h);
struct job_host *host_of_frame(struct job_host *top, const struct hb_frame *f);
int job_tree_frame(struct job_host *h, const struct hb_frame *f,
                   struct hpcboot_error *err);
int64_t host_clock_offset(const struct job_host *h);
void host_leave_tree(struct job_host *h);
void host_release(struct job_host *h);

/* adopt.c: hosts whose parent is lost */
void host_settle_talk(struct job_host *h); /* it has been welcomed */
uint32_t host_orphan_ms(const struct job_host *h);
/* 0: the frame is dropped, it comes again. */
int host_heard(struct job_host *h, const struct hb_frame *f);
int job_adopt_frame(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err);
void host_adopt(struct job_host *h, const char *lost_parent);
void host_adopt_end(struct job_host *h); /* it is given up */

#endif
