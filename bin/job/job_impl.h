/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_JOB_IMPL_H
#define HB_JOB_JOB_IMPL_H

#include <event2/event.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "bin/boot/boot.h"
#include "bin/cli/fold.h"
#include "bin/cli/options.h"
#include "bin/cli/output.h"
#include "bin/cli/progress.h"
#include "bin/job/carry.h"
#include "bin/job/grow.h"
#include "bin/job/host.h"
#include "bin/job/job.h"
#include "bin/job/lives.h"
#include "bin/job/timing.h"
#include "bin/job/verdict.h"
#include "bin/link/kept.h"
#include "bin/link/link.h"
#include "bin/link/offset.h"
#include "bin/link/words.h"
#include "bin/pm/family.h"
#include "hostfile/hostfile.h"
#include "lib/base/jobmap.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"
#include "lib/rdzv/fence.h"
#include "lib/topo/bind.h"
#include "lib/topo/rankfile.h"
#include "lib/trust/secret.h"
#include "lib/wire/wire.h"

/* A job in the launcher. plan.c decides, connect.c brings agents up, wait.c
 * knows for how long and waitview.c shows it, files.c copies files, start.c
 * hands out the job, watch.c hears what agents say, route.c carries fences,
 * modex.c and names.c what ranks have put, notes.c writes what they say in
 * words, carry.c carries output and input, ending.c makes an end, report.c
 * shows decisions. */

enum job_phase { JOB_CONNECTING, JOB_RUNNING, JOB_ENDING, JOB_OVER };

enum host_state {
    HOST_IDLE,    /* not begun, or waiting for another try */
    HOST_BOOTING, /* a login is under way */
    HOST_LINKED,  /* the stream is open, HELLO has not come */
    HOST_READY,   /* welcomed */
    HOST_RUNNING, /* its ranks were ordered */
    HOST_RELAY,   /* has no ranks; others hang below it */
    HOST_DONE,    /* clean, or let go */
    HOST_LOST     /* given up */
};

/* How long an operator's gang may take to come up: images are pulled. */
#define WAIT_GANG_MS 300000

/* When things happened to a host, on the launcher's clock; 0: not yet. */
struct job_times {
    int64_t stage_ns[HB_STAGE_READY + 1]; /* of the present try */
    int64_t spawned_ns;          /* its last rank began to run */
    int64_t fence_ns, output_ns; /* the first one of its ranks */
};

struct job_host {
    struct job *job;
    struct hb_host *spec; /* of the gang */
    uint32_t index;       /* in the gang */
    uint32_t node;        /* in the map; HB_NODE_UNSET: has no ranks */
    enum host_state state;
    enum hb_boot_stage stage; /* how far the present try has come */
    char *reached; /* the address that a login went to; NULL: not known */
    struct hb_boot *boot;
    struct hb_link *link;
    struct event *timer; /* next try, or HELLO overdue; NULL: neither */
    char token[40];
    unsigned attempts, failed_in_row;
    enum hb_boot_stage failed_stage; /* of the last try that failed */
    enum hb_boot_why last_why;
    unsigned same_answers; /* failures in a row for the same reason */
    uint32_t counted_slots, counted_threads, quota_milli; /* from HELLO */
    const struct hb_topo *topo; /* of the job; NULL: not known */
    uint64_t signature;         /* of topo, as the host said it */
    char *slots_origin, *gpus_origin;
    char *place; /* from HELLO, "": not known; NULL: there was none yet */
    uint32_t gpus; /* from HELLO, where they are to be the slots */
    struct hb_offset clock;  /* by what it has said itself; see host_time */
    uint32_t credit_owed;    /* bytes of output taken and not credited */
    int64_t output_open;     /* bytes of output that came and wait */
    uint64_t stdin_sent, stdin_taken;
    struct job_doubt *doubt; /* nothing vouches for its key; prove.c */
    uint32_t file;      /* of the job's files: the one to be sent next */
    uint64_t file_sent; /* bytes of it */
    uint64_t files_out, files_taken; /* bytes of all, for it and those below */
    char *why; /* it was given up, or the last try; see host_why */
    struct hb_boot_reason reason; /* that, in short */
    struct hb_words words;
    struct job_host *via;     /* whose agent started it; NULL: the launcher */
    struct job_host *failed_by; /* whose agent could not, the last time */
    struct job_times times;
    struct job_probe *probe;
    char *leaves; /* why it is lost once its ranks have ended; or NULL */
    int64_t lost_ns; /* when its link broke without a warning; 0: did not */
    int agent_killed; /* that was for a signal to its agent: the host said so */
    struct job_host *stands_for; /* whose ranks it was last to take; NULL */
    int64_t edge_clock_ns;    /* its clock minus that of `via`; 0: not known */
    char *boot_user;          /* how an agent logs in to it */
    int boot_port;
    struct hb_kept *kept;     /* of what is said to it, and by it; or NULL */
    struct job_adoption *adoption; /* it is an orphan; or NULL */
    uint32_t repeats;         /* fences that it says again */
    struct modex *asked, *asked_last; /* open questions to it; NULL: none */
    uint32_t n_asking;        /* open questions of its own */
    uint32_t world; /* the first one of its ranks; 0: they began with the job */
    uint32_t programs_begun; /* by its ranks, one after the other */
    uint8_t in_init;   /* and the last of these waits for the others */
    uint8_t came_late; /* into a job that ran (latecomers.c) */
    uint8_t began_late; /* that, or in place of another */
    uint8_t unfit; /* for what is asked for; it is not tried again */
    /* Of its present agent; another one is asked again. */
    uint8_t examining, examined; /* EXAMINE: was asked, has answered */
    uint8_t surveying;        /* 1: asked, 2: asked for the whole */
    uint8_t wired, ports_asked;
    uint8_t stubborn;   /* its answers may be its way's own: asked to the end */
    uint8_t never_came; /* when it was to take ranks that others had */
    uint8_t misused;    /* by the launcher: what it was told is wrong */
    uint8_t pinned;     /* its key was accepted unseen */
    uint8_t proven, in_session; /* holds a key of ours; was given the job's */
    uint8_t file_begun; /* the head of the present file was sent */
    uint8_t resuming;         /* what it says is not heard until RESUMED */
    uint8_t queued_once, direct, told_parent, bye_sent;
    uint8_t was_there; /* it has been ready once */
    uint8_t nested;    /* above or below another when its ranks began */
    uint8_t seen;      /* when it was lost: see job_route_sees */
    uint8_t late;     /* it comes up while others run */
    uint8_t left_out; /* of this life of the job: lost before, or a spare */
    uint8_t gone;     /* it was lost while ranks ran, or is about to be */
    uint8_t missed;   /* so it was, when it was taken for one that comes */
    uint8_t joins;    /* it has come into a running job, and has no part yet */
    uint8_t let_go;   /* the source no longer names it */
    uint8_t unseated; /* it was told that no free seat is small enough */
    uint32_t comebacks; /* how often it was taken in after a loss */
    uint32_t restart;   /* the life in which its ranks begin */
};

struct job_rank {
    uint32_t pid;
    unsigned contact;
    int wait_status;
    int64_t ended_ns; /* by our clock; as far as it has ended */
    uint32_t restarts; /* of this rank alone */
    size_t output_waits, output_disowned; /* bytes; of an agent that is gone */
    uint8_t started, ended, told;
};

struct job_file { /* to be copied to every host that gets ranks */
    char *path;
    const char *name; /* the end of it */
    int fd;
    dev_t dev;
    ino_t ino;
    uint32_t mode;
    uint64_t size;
};

/* How many hosts are how far. */
struct job_tally {
    unsigned at[HB_STAGE_READY + 1]; /* of those that are open */
    unsigned ready, lost, open;
    const struct job_host *slowest; /* of those that are open, or NULL */
};

/* What somebody else knows of hosts that did not come up, as the cluster does
 * of their pods: fills words[i] with a sentence about hosts[i], to be freed,
 * or leaves it NULL. It may block for limit_ms. */
struct job_reasons {
    void (*ask)(void *arg, const char *const *hosts, size_t n, int limit_ms,
                char **words);
    void *arg;
};

struct job {
    const struct hb_options *opt;
    struct hb_options *own; /* the same, for framework.c alone; or NULL */
    struct job_framework *framework; /* NULL: none */
    char *const *env;
    struct event_base *base;
    enum job_phase phase;
    char id[64], cookie[40];
    char *wdir;
    char *leaves; /* job_leaves(); NULL: not asked yet */
    struct hb_strv rules; /* for the environment of all programs */

    struct hb_gang gang;
    struct job_host *hosts; /* [gang.n] */
    uint32_t n_wanted;      /* hosts that take part */
    struct hb_boot_config boot;
    char *agent_path;
    int only_wait; /* `hpcboot wait`: no ranks */
    int only_looks; /* that, or ranks which look at their hosts, or which
                     * another job has started: no job to `serve --once` */
    int64_t wait_ms, wait_begun_ns, wait_until_ns; /* wait_ms 0: one try */
    int wait_over, waiting_said;
    struct job_tally shown;
    int64_t begun_ns, gathered_ns, ordered_ns; /* this life, its gang, ranks */
    int64_t say_from_ns;
    struct job_reasons reasons; /* .ask NULL: nobody knows more */
    struct hb_secret session; /* made for this job; lets it in again */
    const char **members; /* names of the gang's hosts, NULL-terminated */
    char *command; /* what --launch-with does, with input; NULL: as it is */
    struct event *wait_timer, *verdict_timer, *enough_timer, *tick_timer;
    uint32_t n_enough; /* hosts that were ready when it was set */
    struct hb_grow *grow; /* who starts whom */
    uint32_t orphan_ms;   /* how long agents wait for a new parent; 0 */
    struct job_answers *answers; /* to fences; NULL: nobody may ask again */
    struct hb_buf mute;   /* takes what is said to hosts without a way */
    size_t said_from;     /* where the frame that is being made begins */

    struct hb_jobmap *map;      /* NULL until slots are known */
    struct job_host **node_host; /* [map->n_nodes], has room for more */
    int oversubscribed;
    struct hb_map_policy policy; /* placement as the options say */
    struct hb_bind_policy bind;
    char *bind_text; /* the same, as it travels */
    struct hb_rankfile rankfile;
    struct hb_map_turn *seq; /* [n_seq] of --map-by seq:FILE=; or NULL */
    uint32_t n_seq;
    struct job_topo *topos;  /* one for each kind of host */
    uint32_t n_topos;
    struct job_file *files;
    uint32_t n_files;
    char **programs;      /* [opt->n_apps] that are copied; NULL: is not */
    struct hb_buf orders; /* JOB to START, of those of one life */
    uint32_t orders_restart;
    struct hb_family_choice family;
    int family_known;

    struct job_rank *ranks; /* [map->n_ranks], has room for more */
    uint32_t n_started, n_ended, hosts_done;
    struct hb_verdict verdict;
    struct hb_verdict ended_by; /* where another failure had been outlived */
    enum hb_on_failure on_failure;
    struct hb_lives *lives; /* beyond this one */
    int begun;              /* ranks were ordered */
    struct respawn *respawns;
    struct elastic *elastic; /* NULL: its size stays */
    struct job_live *live;   /* NULL: it does not change while ranks run */
    int has_latecomers;
    struct event *too_late;  /* latecomers.c; or NULL */
    struct job_cuts *cuts;   /* NULL: all ranks have reached each other */
    uint32_t host_entries;   /* that hosts and gang.hosts have room for */
    int need_lost;          /* hosts that were lost are waited for */
    int hopes;              /* the others would do, if they must */
    int end_signal;         /* what ends ranks; 0: TERM */
    int64_t patience_ns; /* with hosts that were told to end */
    int64_t reader_until_ns; /* told to end from outside: is waited for; 0 */
    int grace_given; /* KILL was sent: 1 with grace, 2 at once */
    const char *end_reason; /* said with it; a verdict's, or a literal */
    int contact_noted;
    unsigned initialised; /* HB_CONTACT_* of the first rank that has; or 0 */
    uint32_t programs_begun; /* by the host that is furthest */
    uint32_t world; /* the epoch in which its ranks meet: of START, or GROWN */
    unsigned interrupts;
    struct event *interrupt_timer; /* as long as the last one may come twice */
    int interrupt_turns;
    int slow; /* it is to be said that the end takes its time */
    struct event *signals[2 * NSIG]; /* that end the job, that are passed on */
    unsigned n_signals;
    struct event *stop_timer;
    int64_t stop_by_ns; /* its ranks are to stop; 0: they are not */
    struct event *timeout_timer, *give_up_timer;

    struct hb_fence_engine *fences;
    int event_told; /* that one was left out */
    int has_met; /* ranks of several hosts know of each other, or may */
    struct job_notes *notes; /* warnings of hosts; NULL: there were none */
    struct job_names *names; /* NULL: none was asked for */
    struct job_spawns *spawns;     /* started by its ranks; NULL: none */
    struct job_ancestry *ancestry; /* of a spawned job; NULL: it is none */

    struct hb_output *out;
    struct hb_fold *fold; /* tracebacks; NULL: they pass */
    uint32_t first_rank;  /* whose failure came first */
    uint32_t n_failures;  /* that others outlived */
    struct event *out_ev[2];
    uint32_t window; /* output credit of each host, bytes */
    struct event *stdin_ev, *stdin_later;
    int stdin_open, stdin_pollable;
    enum hb_stdin_mode stdin_mode;
    uint32_t stdin_rank;
    struct hb_progress *progress;
    struct job_wiring *wiring; /* --fabric, a doctor; NULL: nobody asked */
    struct job_traffic *traffic; /* of a doctor or preflight; or NULL */
    struct hb_doctor_report *report; /* of a doctor, or NULL */
    struct job_events *events;
    struct job_metrics *metrics;
    unsigned n_probes, n_suspected, depth_at_start;
    uint64_t tries;           /* to start an agent, of all hosts */
    uint64_t output_bytes[2]; /* of stdout and stderr */
    struct hpcboot_error output_lost; /* why, the first time */
};

/* adopt.c: talking to a host, whose parent may be lost */
/* Where one frame for a host goes, host_said follows; NULL: nowhere. */
struct hb_buf *host_out(struct job_host *h);
void host_said(struct job_host *h);
/* What is said to it comes to it now, or when it has been adopted. */
int host_can_hear(const struct job_host *h);
/* The host of the gang with that name; NULL: there is none. */
struct job_host *job_host_named(const struct job *j, const char *name);
/* One message to one host's agent. */
#define HOST_SEND(h, name, ...)                                            \
    do {                                                                   \
        const struct hb_msg_##name msg_ = {__VA_ARGS__};                   \
        struct hb_buf *out_ = host_out(h);                                 \
        if (out_ != NULL) {                                                \
            (void)hb_wire_put_##name(out_, (h)->job->lives->epoch,         \
                                     HB_NODE_LAUNCHER, (h)->index, &msg_,  \
                                     NULL);                                \
            host_said(h);                                                  \
        }                                                                  \
    } while (0)

static inline void arm_ms(struct event *timer, int64_t ms)
{
    struct timeval t = {ms / 1000, (suseconds_t)(ms % 1000) * 1000};

    event_add(timer, &t);
}

/* policy.c: what the options say about placement */
int job_policy_read(struct job *j, struct hpcboot_error *err);
void job_policy_destroy(struct job *j);
void job_policy_slots(const struct job *j, struct hb_strv *out);

/* wdir.c: hbrun's own, and whole paths for those that programs are given */
int job_wdir_make(struct job *j, struct hpcboot_error *err);
void job_wdirs_complete(struct hb_options *opt);
/* survey.c: what hosts look like inside */
int job_topo_known(struct job *j, struct hpcboot_error *err);
int job_survey(struct job *j); /* 1: hosts were asked; job_begin comes again */
int job_surveyed(struct job_host *h, const struct hb_frame *f,
                 struct hpcboot_error *err);
void job_survey_destroy(struct job *j);

/* framework.c: before the gang is known, and with it */
int job_framework_command(struct job *j, struct hpcboot_error *err);
int job_framework_choose(struct job *j, struct hpcboot_error *err);
void job_framework_end_life(struct job *j); /* what it is stays known */
void job_framework_destroy(struct job_framework *f); /* NULL-safe */

/* wrapped.c: a launcher that hbrun does not read, several on a host: said */
void job_wrapped_tell(const struct job *j);

/* meeting.c */
/* 1: agents were asked, job_begin comes again; 0: nothing is missing. */
int job_meeting_ask(struct job *j, struct hpcboot_error *err);
int job_meeting_found(struct job_host *h, const struct hb_frame *f,
                      struct hpcboot_error *err);
int job_meeting_has_roles(const struct job *j); /* whose numbers stay */
int job_meeting_is_closed(const struct job *j); /* its ranks meet once */
/* The map is going to be this one, with one more node. */
void job_meeting_grow(struct job *j, const struct hb_jobmap *grown);
/* 1: a host that comes late was asked, job_live_go or host_begin_late follows;
 * 0: it needs nothing. */
int job_meeting_joins(struct job_host *h);
/* Do others know the address of this node, so that its ranks cannot move? */
int job_meeting_pins(const struct job *j, uint32_t node);
int job_meeting_put(struct job *j, struct hb_buf *out,
                    struct hpcboot_error *err);
int job_meeting_met(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err);
void job_meeting_judge(const struct job *j);
/* A rank has ended. The job has come to its end where all have, but for those
 * that only serve them. */
void job_meeting_settle(struct job *j);
void job_meeting_explain(const struct job *j, struct hb_strv *lines);

/* order.c: hosts in the order of the network */
int job_order_hosts(struct job *j, struct hpcboot_error *err);
/* The value of HPCBOOT_LEAVES, once ranks are placed; "": not known. */
const char *job_leaves(struct job *j);

/* plan.c */
/* Asks the source of hosts, now as at the beginning. progress: or NULL. */
int job_gather(struct job *j, int64_t wait_ms,
               void (*progress)(void *arg, const char *text),
               struct hb_gang *out, struct hpcboot_error *err);
/* hb_gang_follow of the job's source. */
int job_follow(struct job *j, hb_gang_changed changed, void *arg,
               struct hpcboot_error *err);
int job_plan_gang(struct job *j, struct hpcboot_error *err);
/* What this very host has, once a framework may have said what is counted. */
int job_plan_count(struct job *j, struct hpcboot_error *err);
int job_plan_map(struct job *j, struct hpcboot_error *err);
int job_slots_known(const struct job *j);
/* Whether the job may begin with a part of its hosts. Ranks are placed only
 * when it is known which hosts are ready. */
int job_takes_a_part(const struct job *j);
/* MIN of --np MIN:MAX have room on the hosts that take part. */
int job_check_elastic(const struct job *j, struct hpcboot_error *err);
int job_takes_in_later(const struct job *j); /* hosts that come later */
uint32_t job_ranks_ready(const struct job *j); /* for how many there is room */
int job_oversubscribed(const struct job *j);
uint32_t job_room_of(const struct job_host *h); /* CPUs; 0: unknown */
/* What was counted on a host, there or here. */
struct job_counts {
    uint32_t slots, pus, quota_milli;
    const char *origin;
    uint32_t gpus;
    const char *gpus_origin;
};
/* Its slots are not said, and are to be its GPUs where it has some. */
int job_counts_gpus(const struct job_host *h);
/* Negative when GPUs are to be its slots and it has none. */
int job_host_counted(struct job_host *h, const struct job_counts *counts,
                     struct hpcboot_error *err);
/* placement.c: its slots, and who says so; 0 while unknown. */
uint32_t job_slots_of(const struct job_host *h, const char **origin_out);
uint32_t job_ranks_of(const struct job_host *h); /* that it has room for */
uint32_t job_limit_of(const struct job_host *h); /* its slots'; 0: unknown */
/* No limit of its slots is below that; 1 while these are unknown. */
int job_may_have(const struct job_host *h, uint32_t n_ranks);
/* Where a rank is, which may have taken the place of its first host. */
const char *job_host_of_rank(const struct job *j, uint32_t rank);
int job_plan_family(struct job *j, struct hpcboot_error *err);
void job_settle_family(struct job *j);

/* files.c */
int job_plan_files(struct job *j, struct hpcboot_error *err);
const char *job_file_program(const struct job *j, uint32_t app); /* or "" */
/* To a host that hbrun itself has started, and from there to those below.
 * 1: all has been queued; 0: host_go_on calls again when there is room. */
int job_files_send(struct job_host *h, struct hpcboot_error *err);
int job_files_taken(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err);
void job_files_explain(const struct job *j, struct hb_strv *lines);
void job_files_close(struct job *j);

/* answers.c: to fences, for those who may not have got them */
void job_answer_keep(struct job *j, struct hb_bytes key, int status,
                     struct hb_bytes data);
/* 1: the host has been given the answer to a fence that is over. */
int job_answer_again(struct job_host *h, struct hb_bytes key);
void job_answers_free(struct job *j);

/* start.c */
int job_read_rules(struct job *j, struct hpcboot_error *err);
int job_app_env(const struct job *j, uint32_t at, char *const *host,
                struct hb_strv *out, struct hpcboot_error *err);
void job_begin(struct job *j); /* the hosts are ready */
void host_let_go(struct job_host *h);
void host_go_on(struct job_host *h); /* its link has drained */
/* Of those whose ranks begin in this life of theirs. */
int job_orders_anew(struct job *j, uint32_t restart,
                    struct hpcboot_error *err);
int job_inspected(struct job_host *h, const struct hb_frame *f,
                  struct hpcboot_error *err);

/* watch.c */
void job_frame(struct job_host *h, const struct hb_frame *f);
int64_t host_time(struct job_host *h, uint64_t agent_ns);

/* route.c */
int job_route_open(struct job *j, struct hpcboot_error *err);
/* To the other hosts: ranks of one node are dead, or all of a node. */
void job_tell_dead(struct job *j, const uint32_t *ranks, uint32_t n,
                   const char *text);
void job_tell_lost(struct job *j, uint32_t node, const char *text);
int job_route_frame(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err);
/* Fences of the host and those below it come over its own link, or will. */
void job_route_add(struct job_host *h);
/* It is lost: agents above it do not wait for it and those below it. */
void job_route_leave(struct job_host *h);
int job_route_sees(struct job_host *h); /* all its fences with others */
/* It answers no more, nor asks, and why has been told. */
void job_route_lost(struct job_host *h);
/* Another host's ranks begin in place of its own. */
void job_route_forget(struct job_host *h);
void job_route_close(struct job *j);

/* modex.c: what ranks of other hosts have put */
int job_modex_frame(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err);
/* It answers no more, and why has been told. */
void job_modex_lost(struct job_host *h);
void job_modex_free(struct job_host *h);

/* notes.c: what the host's agent says in words. A warning that another host
 * gave already is not written again. */
void job_note(struct job_host *h, enum hb_log_level level, const char *text);
void job_notes_destroy(struct job_notes *k); /* NULL: nothing */

/* names.c: what ranks publish, of this job and of its spawned jobs */
struct hb_msg_name_reply;
/* Who is told: a host of the job, or the launcher of a spawned job. */
typedef void (*job_name_told)(void *who, uint32_t src,
                              const struct hb_msg_name_reply *reply);
void job_name_ask(struct job *j, const struct hb_msg_name *m,
                  job_name_told told, void *who, uint32_t src);
int job_name_frame(struct job_host *h, const struct hb_frame *f,
                   struct hpcboot_error *err);
/* The launcher above has answered. */
int job_name_answered(struct job *j, const struct hb_frame *f,
                      struct hpcboot_error *err);
void job_names_forget(struct job *j, const void *who); /* it is gone */
void job_names_over(struct job *j, const char *job_id); /* that job */
void job_names_close(struct job *j);

/* spawn.c: what ranks have started */
int job_spawn_frame(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err);
int job_spawns_wait(const struct job *j); /* some are left */
void job_spawns_end(struct job *j, int at_once);
void job_spawns_signal(struct job *j, int signo);
void job_spawns_close(struct job *j);

/* cut.c: hosts that do not reach each other */
int job_cut_frame(struct job_host *h, const struct hb_frame *f,
                  struct hpcboot_error *err);
/* A complaint, "a and b do not reach each other": one about h where there is
 * one; NULL: nobody has complained. */
const char *job_cut_words(const struct job_host *h, char *text, size_t size);
void job_cuts_close(struct job *j);

/* ending.c */
void job_told_to_end(struct job *j, int signo);
void job_timers_close(struct job *j);
void job_cause(struct job *j, const struct hb_cause *cause);
void job_fail(struct job *j, enum hb_cause_kind kind, int code,
              const char *fmt, ...) HB_PRINTF(4, 5);
/* The job ends by it under every policy. */
void job_fail_all(struct job *j, enum hb_cause_kind kind, const char *fmt, ...)
    HB_PRINTF(3, 4);
void job_kill(struct job *j, uint32_t grace_ms, const char *reason);
void job_maybe_over(struct job *j);
void job_timeout_start(struct job *j);
int64_t job_time_left_ms(const struct job *j); /* INT64_MAX: no limit runs */
void job_final_words(struct job *j);

/* events.c: NULL where nobody listens; else add members, then _end */
struct hb_json;
int job_events_open(struct job *j, struct hpcboot_error *err);
struct hb_json *job_event(struct job *j, const char *name);
void job_event_end(struct job *j);
void job_event_host(struct job_host *h, const char *name, const char *detail);
void job_event_rank(struct job_host *h, const char *name, uint32_t rank,
                    const char *what, int64_t value);
void job_event_rank_text(struct job_host *h, const char *name, uint32_t rank,
                         const char *detail);
void job_event_begin(struct job *j);
void job_event_run(struct job *j);
void job_event_ending(struct job *j, uint32_t grace_ms, const char *why);
void job_events_leave(struct job *j); /* its loop ends, others may follow */
int job_events_wait(const struct hb_lives *l); /* some lines, for the reader */
void job_events_close(struct hb_lives *l);

/* metrics.c */
int job_metrics_open(struct job *j, struct hpcboot_error *err);
void job_metrics_write(struct job *j, enum job_phase phase); /* ahead of time */
/* The job is over, and of j there is no more than its verdict. */
void job_metrics_last(const struct job *j);
void job_metrics_leave(struct job *j); /* its loop ends, others may follow */
void job_metrics_close(struct hb_lives *l);

/* report.c */
void job_explain(struct job *j);
void job_put_decisions(const struct job *j, struct hb_strv *lines);
/* "4 (-H)" */
void job_put_slots(struct hb_str *o, const struct job_host *h);
/* Ranks in the order of their nodes: those of node n are
 * ranks[first[n]..first[n + 1] - 1]. */
struct job_by_node {
    uint32_t *first, *ranks;
};
void job_by_node(const struct job *j, struct job_by_node *out);
void job_by_node_clear(struct job_by_node *by);
void job_put_ranks(struct hb_str *o, const struct job_by_node *by,
                   uint32_t node); /* "0-3,6" */

/* preview.c: --dry-run. ERR_USAGE: a host could not bind its ranks so. */
int job_preview(const struct job *j, struct hpcboot_error *err);

#endif
