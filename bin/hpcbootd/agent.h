/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOTD_AGENT_H
#define HB_HPCBOOTD_AGENT_H

#include <stdint.h>
#include <sys/types.h>

#include "bin/link/link.h"
#include "bin/pm/pm.h"
#include "bin/proc/cgroup.h"
#include "bin/proc/deposit.h"
#include "bin/proc/filters.h"
#include "bin/proc/lines.h"
#include "bin/proc/proc.h"
#include "lib/base/strv.h"
#include "lib/rdzv/fence.h"
#include "lib/topo/allowed.h"
#include "lib/topo/bind.h"
#include "lib/trust/secret.h"
#include "lib/wire/wire.h"

/* The per-host agent. One loop thread owns everything here; main.c begins,
 * agent.c talks to the parent, session.c keeps the job's directory and files,
 * order.c receives the job, ranks.c starts ranks, reap.c hears of their ends,
 * rankio.c carries their bytes, pmhost.c serves their process-management
 * server, native.c those that use libhpcboot, lost.c tells whom those do not
 * reach, ending.c makes an end; children.c starts the tree below, passing.c
 * carries what is said through it, orphan.c says what becomes of it when its
 * parent is gone. */

struct event;
struct event_base;
struct agent;
struct agent_recipe;
struct agent_meet;
struct agent_native;
struct agent_asked;
struct agent_orphan;
struct agent_tree;
struct agent_wiring;
struct hb_recipe_place;
struct agent_probe;

struct held_port { /* ports.c */
    int fd;    /* bound, until ranks start: nobody else takes it; or -1 */
    int claim; /* no other job does either, until they have ended; or -1 */
    uint32_t port;
};

/* One end of a rank's stdout or stderr. */
struct rank_stream {
    struct rank *rank;
    struct event *ev;   /* NULL once the stream has ended */
    struct event *idle; /* gives out a held half line */
    int fd;
    uint8_t stream; /* 1 or 2 */
    struct hb_lines lines;
};

/* Bytes on their way into a descriptor that may be full. */
struct rank_sink {
    struct event *ev;
    int fd; /* -1 when closed */
    int eof; /* close once the queue is empty */
    int is_read; /* as well, by an event that must not outlive it */
    struct hb_buf queue;
};

/* What a pipe that a rank writes to holds: fewer wake-ups for ranks that write
 * much. */
#define RANK_PIPE_BYTES (1 << 20)

/* That wait for credit, in their order. */
struct rank_texts {
    struct rank_text *first, *last;
};

struct rank {
    struct agent *agent;
    uint32_t rank;
    struct hb_strv argv; /* of a recipe; empty: the app's */
    pid_t pid; /* 0: not running */
    int started, ended;
    int wait_status;
    int64_t end_ns;     /* when its end was seen */
    int told;           /* it was to end before it did */
    int peers_told;     /* those that wait for it know */
    struct event *hold; /* its end is held back; reap.c */
    int waiting;        /* it has failed and may be started again */
    pid_t group;        /* of its processes, also when it has ended */
    uint32_t restarts;
    unsigned contact; /* HB_CONTACT_* */
    int in_mpi;       /* and has not ended it */
    pid_t mpi_pid;    /* the process that began it; 0: not known */
    struct event *error_ev;
    int error_fd;
    struct rank_stream out[2];
    struct rank_texts texts;
    struct rank_sink in;
    uint64_t stdin_taken; /* bytes its stdin has swallowed so far */
    struct rank_sink pm; /* the server's end of the rank's socket */
    struct event *pm_read;
    pid_t pm_writer; /* the process whose bytes were read last; 0: not known */
};

struct agent_app {
    struct hb_strv argv, env_rules;
    char *wdir, *path;
    char *program; /* name of the copied file to start; NULL: argv[0] */
    int wdir_given, session_wdir;
    struct hb_strv env; /* composed on this host; ranks add their own */
};

/* What JOB, APP and START said. */
struct agent_job {
    struct hb_jobmap *map;
    enum hb_pm_family family;
    int flavour;
    struct hb_strv env, env_rules, limits;
    uint32_t umask, flags, grace_ms, restart;
    int checkpoint_signal; /* what ranks get when this host is to leave; 0 */
    enum hb_stdin_mode stdin_mode;
    uint32_t stdin_rank;
    char *bind_to;
    uint32_t *nodes, n_hosts; /* node of each host of the gang */
    struct hb_jobmap **grown; /* [n_grown], each in place of the last;
                               * the latest, and others that ranks go by */
    uint32_t n_grown, world;
    struct hb_strv rank_slots;
    char *parent_id; /* the job that has started this one; or NULL */
    uint32_t parent_rank;
    struct hb_strv preput;
    struct agent_app *apps;
    struct hb_pm_app *pm_apps;
    uint32_t n_apps_known;
};

struct agent {
    struct event_base *base;
    struct hb_link *link;
    int guard_fd;
    int link_in, link_out; /* descriptors of the link */
    struct event *guard_ev, *child_ev, *term_ev, *kill_timer, *linger_timer;
    struct event *contact_timer, *leave_timer, *look_timer;
    char *token, *job_id, *cookie, *session_dir;
    char *files_dir; /* below it: copied files; HPCBOOT_SESSION_DIR */
    struct hb_deposit files;
    uint64_t files_in, files_told; /* bytes that came; reported as taken */
    int refused; /* FAILED was said; only the end of the link is awaited */
    char *shm_dir; /* for MPIs' shared-memory files; NULL: none can be made */
    int64_t segments_ns; /* since when ranks may have left others; 0: none */
    int64_t apart_ns;    /* of the clocks, then (segments.h) */
    uint32_t host; /* this agent's address; HB_NODE_UNSET until WELCOME */
    uint32_t node; /* HB_NODE_UNSET: no ranks here, only below */
    uint32_t epoch;
    struct agent_tree *tree; /* NULL: starts no others */
    struct agent_orphan *orphan; /* NULL: without its parent it ends */
    int is_local; /* the launcher's own host */
    uint32_t lost_after_ms; /* a host that is silent; 0: never */
    int served;   /* `hpcbootd serve` started it */
    int counted;  /* the launcher is on this host and has counted it */
    int looked_around, stale_killed;
    struct hb_secret session_key;
    struct hb_allowed allowed;
    struct hb_cgroup_marks marks;
    struct agent_job job;
    struct agent_recipe *recipe; /* NULL: none */
    struct held_port *held;
    size_t n_held;
    struct agent_meet *meet; /* NULL: ranks need not meet */
    struct agent_loaded *loaded; /* NULL: what rank 0 loads does not matter */
    struct hb_bind_policy bind_policy;
    struct hb_bind_plan bind;
    struct hb_here here;      /* topology, once somebody needed it */
    struct hb_bind_mem *mem;  /* [n_ranks] where memory comes from, or NULL */
    uint32_t *gpus;           /* [n_ranks * bind_policy.gpus], or NULL */
    const char **slots;       /* [n_ranks] of a rankfile, or NULL */
    uint32_t *programs;       /* [n_apps] ranks here */
    struct agent_wiring *wiring; /* --fabric; NULL: nobody asked */
    struct agent_probe *probe;   /* NULL: none runs */
    char *topo_file;          /* the topology as XML, for the ranks; or NULL */
    struct hb_strv places, localities; /* [n_ranks] for PMIx, when bound */
    struct rank *ranks; /* [n_ranks] of this node, in rank order */
    uint32_t n_ranks, n_ended;
    const struct hb_pm_ops *pm_ops;
    struct hb_pm *pm;
    struct hb_pm_job pm_job;
    struct event *pm_ev;
    struct agent_native *native;
    struct hb_fence_engine *fences;
    int64_t credit; /* bytes of OUTPUT that may still be sent */
    int reading;    /* rank streams are being read */
    uint64_t stdin_received, stdin_acked;
    int ordered, done_sent;
    int64_t fence_ns, output_ns; /* the first one was over, was sent; 0: none */
    int stdin_ended;
    int init_told; /* the launcher knows that a rank here has initialised, in
                      this program of libhpcboot */
    struct { /* for spawned jobs, and not answered yet; spawn.c */
        struct agent_asked *first;
        uint32_t n;
        size_t bytes;
        int refusal_told;
    } asked;
    struct { /* of what servers write for ranks; rankio.c */
        size_t bytes; /* that wait for credit */
        int full;     /* those who write more are made to wait */
        int loss_told;
    } texts;
    int event_told; /* that one does not travel */
    int twice_told; /* that a rank begins MPI while it is in MPI */
    int killing; /* 0 no, 1 in the grace period, 2 at once */
    int linger_over, linger_rounds, output_seen;
    struct hb_pipes stdin_pipes; /* of all ranks that were started */
    uint64_t filters_cpu; /* as bin/proc/filters.h has it */
    int leftovers;
    int exit_status;
};

/* agent.c */
int agent_run(const char *token, int in_fd, int out_fd, int guard_fd,
              int served, int counted);
void agent_note(struct agent *a, int level, const char *fmt, ...)
    HB_PRINTF(3, 4);
/* The host is of no use for this job: say so and leave. */
void agent_fail(struct agent *a, const struct hpcboot_error *err);
void agent_flush(struct agent *a);
/* place.c: for HELLO; free() it. */
char *agent_place(void);
/* Takes the descriptors, also when it fails. */
int agent_link_open(struct agent *a, int in_fd, int out_fd,
                    struct hpcboot_error *err);

/* Appends one message for the launcher; flush follows. */
#define AGENT_SEND(a, name, ...)                                          \
    do {                                                                  \
        const struct hb_msg_##name msg_ = {__VA_ARGS__};                  \
        (void)hb_wire_put_##name(agent_out(a), (a)->epoch, (a)->host,     \
                                 HB_NODE_LAUNCHER, &msg_, NULL);          \
        agent_sent(a);                                                    \
    } while (0)

/* orphan.c: the parent is gone, another one takes its place */
/* Where one frame of this agent goes; agent_sent follows. */
struct hb_buf *agent_out(struct agent *a);
void agent_sent(struct agent *a);
size_t agent_unsent(const struct agent *a); /* or not known to have come */
void agent_orphan_settle(struct agent *a, uint32_t orphan_ms);
void agent_orphan_came(struct agent *a, unsigned type); /* a frame for it */
/* How long it waits to be adopted when its parent is gone, and hosts above it
 * may; 0: the launcher is its parent. */
uint32_t agent_orphan_grace_ms(const struct agent *a);
/* Its parent is an agent, whose end is not the launcher's. */
int agent_is_below_another(const struct agent *a);
/* 1: it lives on without its parent, for a while. */
int agent_orphaned(struct agent *a);
/* A fence that went up has its answer. */
void agent_orphan_answered(struct agent *a, struct hb_bytes key);
int agent_adopt(struct agent *a, const struct hb_frame *f,
                struct hpcboot_error *err);
int agent_orphan_frame(struct agent *a, const struct hb_frame *f,
                       struct hpcboot_error *err);
void agent_orphan_destroy(struct agent *a);

/* served.c: words for the `hpcbootd serve` that started this agent */
int agent_served_open(void); /* 1: its socket is there */
void agent_served_job(const struct agent *a);
void agent_served_end(const struct agent *a, uint32_t status);
void agent_served_session(const struct agent *a, const void *key, size_t len);

/* prove.c */
void agent_take_key_file(void); /* from the environment, for good */
int agent_prove_frame(struct agent *a, const struct hb_frame *f,
                      struct hpcboot_error *err);
int agent_session_key_frame(struct agent *a, const struct hb_frame *f,
                            struct hpcboot_error *err);

/* session.c */
/* When the whole job is known, and before its servers start. */
int agent_session_settle(struct agent *a, struct hpcboot_error *err);
int agent_file_frame(struct agent *a, const struct hb_frame *f,
                     struct hpcboot_error *err);
int agent_file_data_frame(struct agent *a, const struct hb_frame *f,
                          struct hpcboot_error *err);
void agent_file_taken(struct agent *a); /* tells the parent, when it is time */
void agent_session_destroy(struct agent *a);

/* order.c: HPCBOOT_* status */
int agent_order_job(struct agent *a, const struct hb_msg_job *m,
                    struct hpcboot_error *err);
int agent_order_app(struct agent *a, const struct hb_msg_app *m,
                    struct hpcboot_error *err);
int agent_order_ancestry(struct agent *a, const struct hb_frame *f,
                         struct hpcboot_error *err);
int agent_order_check(struct agent *a, const struct hb_msg_start *m,
                      struct hpcboot_error *err);
/* A map that begins with the latest one; those before it stay. */
int agent_order_grown(struct agent_job *job, const struct hb_msg_grown *m,
                      struct hpcboot_error *err);
/* The map of JOB stays that of this host's servers; a world that begins anew
 * has the latest one. NULL: no JOB has come. */
const struct hb_jobmap *agent_order_map(const struct agent_job *job);
void agent_order_destroy(struct agent_job *job);

/* bind.c: which CPUs this host's ranks get */
int agent_bind_plan(struct agent *a, struct hpcboot_error *err);
/* What a rank is told of its place: threads, GPUs, the topology's file. */
void agent_bind_env(const struct rank *r, struct hb_strv *env);
/* Are ranks so many that they must yield to each other? */
int agent_oversubscribed(const struct agent *a);
void agent_bind_destroy(struct agent *a);
/* survey.c: the launcher asks what the host looks like inside */
int agent_survey(struct agent *a, const struct hb_frame *f,
                 struct hpcboot_error *err);
/* wiring.c: what the host has for talking to others, and who uses it */
int agent_examine(struct agent *a, const struct hb_frame *f,
                  struct hpcboot_error *err);
int agent_wire(struct agent *a, const struct hb_frame *f,
               struct hpcboot_error *err);
void agent_wiring_plan(struct agent *a); /* after agent_bind_plan */
void agent_wiring_env(const struct rank *r, struct hb_strv *env);
void agent_wiring_probe_env(const struct agent *a, struct hb_strv *env);
void agent_wiring_destroy(struct agent *a);
/* probe.c: a program that exchanges messages with other hosts' */
int agent_probe(struct agent *a, const struct hb_frame *f,
                struct hpcboot_error *err);
int agent_probe_data(struct agent *a, const struct hb_frame *f,
                     struct hpcboot_error *err);
void agent_probe_ended(struct agent *a, pid_t pid, int wait_status);
void agent_probe_destroy(struct agent *a); /* kills it */
void agent_bind_spec(const struct rank *r, struct hb_proc_spec *spec);

/* ports.c */
int agent_ports(struct agent *a, const struct hb_frame *f,
                struct hpcboot_error *err);
void agent_ports_release(struct agent *a); /* ranks are about to listen */
void agent_ports_destroy(struct agent *a); /* they have ended */

/* recipe.c */
int agent_recipe_frame(struct agent *a, const struct hb_frame *f,
                       struct hpcboot_error *err);
/* Adds the variables, makes the files and the rank's argv. */
int agent_recipe_puts_files(const struct agent *a);
int agent_recipe_apply(struct rank *r, struct hb_strv *env,
                       struct hpcboot_error *err);
/* Where ranks have to meet: how many places; free() *out. */
size_t agent_recipe_meeting(const struct agent *a,
                            struct hb_recipe_place **out);
uint32_t agent_recipe_nodes(const struct agent *a);
const char *agent_recipe_address(const struct agent *a, uint32_t node);
void agent_recipe_destroy(struct agent_recipe *r);

/* meet.c */
void agent_meet_watch(struct agent *a);
void agent_meet_tell(struct agent *a);
void agent_meet_destroy(struct agent_meet *m);

/* loaded.c: the MPI that rank 0 turns out to load, where none was found */
void agent_loaded_watch(struct agent *a);
void agent_loaded_tell(struct agent *a); /* once it is late or over */
void agent_loaded_destroy(struct agent_loaded *l);

/* ranks.c */
/* Once, before ranks: what dead agents left here may hold memory and devices
 * that this job needs, and what the cgroup has counted is not its doing. */
void agent_look_around(struct agent *a);
struct rank_limits { /* what all ranks of one app share beside environment */
    struct hb_proc_limit *limits;
    size_t n_limits;
};
int rank_start(struct rank *r, const struct rank_limits *limits,
               struct hpcboot_error *err);
void rank_failed(struct rank *r, enum hb_proc_stage stage, int sys_errno,
                 const char *text);
int agent_start_ranks(struct agent *a, struct hpcboot_error *err);
struct rank *agent_rank(struct agent *a, uint32_t rank); /* local; else NULL */
void agent_ranks_destroy(struct agent *a);

/* reap.c */
void agent_reap(struct agent *a);
int agent_respawn(struct agent *a, const struct hb_frame *f,
                  struct hpcboot_error *err);

/* rankio.c */
void rank_stream_open(struct rank *r, int which, int fd);
void rank_sink_put(struct rank_sink *s, const void *data, size_t len);
void rank_stdin(struct rank *r, const struct hb_msg_stdin *m);
void rank_stdin_open(struct rank *r, int fd);
void rank_stdin_close(struct rank *r);
void rank_pm_open(struct rank *r, int fd);
void rank_io_destroy(struct rank *r);
/* Text of a rank that did not come through its own pipes. Whether more may come
 * at once; else the server is told when it may. */
int rank_put_output(struct rank *r, unsigned stream, struct hb_bytes text);
/* Takes no more of its output, wherever it may still come from. */
void rank_output_end(struct rank *r);
/* Its pipes end with what they hold, which waits for credit as texts do. All
 * that waits is the caller's: for the rank that takes its place. */
struct rank_texts rank_output_take(struct rank *r);
int rank_drained(const struct rank *r);
void agent_credit(struct agent *a, uint32_t bytes);

/* pmhost.c */
int agent_fences_start(struct agent *a, struct hpcboot_error *err);
int agent_pm_start(struct agent *a, struct hpcboot_error *err);
void agent_pm_stop(struct agent *a);
/* spawn.c: requests for spawned jobs, and their answers */
void agent_spawn(struct agent *a, uint64_t id, uint32_t rank,
                 const struct hb_pm_spawn *what);
int agent_spawned(struct agent *a, const struct hb_frame *f,
                  struct hpcboot_error *err);
void agent_spawns_destroy(struct agent *a);
int agent_pm_frame(struct agent *a, const struct hb_frame *f,
                   struct hpcboot_error *err);

/* What a child has gathered. */
int agent_fence_gather(struct agent *a, uint32_t child,
                       const struct hb_frame *f, struct hpcboot_error *err);
/* A local contribution; the answer comes by the loop. */
void agent_fence_join(struct agent *a, struct hb_bytes key,
                      const uint32_t *nodes, uint32_t n_nodes,
                      struct hb_bytes data);
void agent_rank_abort(struct agent *a, uint32_t rank, int code,
                      const char *text);
void agent_rank_contact(struct agent *a, uint32_t rank, unsigned bits);

/* native.c */
void agent_native_start(struct agent *a);
void agent_native_stop(struct agent *a);
/* What a rank is told of the socket that it inherits as fd_as. */
void agent_native_env(const struct agent *a, int fd, int fd_as,
                      struct hb_strv *env);
void agent_native_open(struct agent *a, uint32_t rank, int fd); /* takes fd */
/* evidence: what the cgroup says of it, or "". */
void agent_native_gone(struct agent *a, uint32_t rank, int wait_status,
                       const char *evidence);
void agent_native_look(struct agent *a); /* what ranks have written down */
int agent_native_grown(struct agent *a, const struct hb_frame *f,
                       struct hpcboot_error *err);
int agent_native_leave(struct agent *a, const struct hb_frame *f,
                       struct hpcboot_error *err);
int agent_native_peers_dead(struct agent *a, const struct hb_frame *f,
                            struct hpcboot_error *err);
/* 1: it was for libhpcboot's ranks, and they have it. */
int agent_native_fence_done(struct agent *a, struct hb_bytes key, int status,
                            struct hb_bytes data);
int agent_native_modex_done(struct agent *a, uint64_t id, int status,
                            struct hb_bytes data);
/* The status of the answer; data is made, and destroyed by the caller. */
int agent_native_modex_serve(struct agent *a, uint64_t id, uint32_t rank,
                             struct hb_buf *data);

/* lost.c */
void agent_lost_watch(struct agent *a); /* ranks have others to reach */
int agent_alive(struct agent *a, const struct hb_frame *f,
                struct hpcboot_error *err);

/* children.c */
int agent_on_parent(struct agent *a, const struct hb_frame *f,
                    struct hpcboot_error *err);
int agent_on_boot(struct agent *a, const struct hb_frame *f,
                  struct hpcboot_error *err);
int agent_on_boot_cancel(struct agent *a, const struct hb_frame *f,
                         struct hpcboot_error *err);
void agent_children_destroy(struct agent *a);

/* passing.c */
/* Sends a frame of the parent to whom below it is for. 1: to others alone. */
int agent_pass_down(struct agent *a, const struct hb_frame *f);
/* Bytes of files that a child has been sent and has not taken; the most of
 * all. */
uint64_t agent_files_below(const struct agent *a);
void agent_fence_down(struct agent *a, uint32_t child,
                      const struct hb_msg_fence_down *m);
/* Tells the fence engine which nodes are below each child. */
int agent_fence_children(struct agent *a, struct hpcboot_error *err);
/* The beats that are due above and below, while the loop waits. */
void agent_beat(struct agent *a);
/* Nobody adopts what is below. */
void agent_children_gone(struct agent *a);

/* ending.c */
void agent_kill(struct agent *a, uint32_t grace_ms, int signo);
void agent_signal(struct agent *a, uint32_t rank, int signo);
void agent_maybe_done(struct agent *a);
void agent_cut_off(struct agent *a, const struct hpcboot_error *why);
void agent_leave(struct agent *a, int status);

#endif
