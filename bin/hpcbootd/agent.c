/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The agent's talk with its parent. It says HELLO, is WELCOMEd, receives the
 * job (files, JOB, one APP per segment, START) and from then on is driven by
 * frames, by its ranks and by its guard. Each frame type has one handler in a
 * table; a frame out of turn is a protocol error and ends the agent.
 *
 * Whatever ends the link ends the ranks: an agent without a parent kills at
 * once and leaves, so that a dead launcher leaves nothing running. One that
 * another agent had started may wait for a new parent (orphan.c). */
#include "config.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/boot/boot.h"
#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/serve.h"
#include "bin/hpcbootd/sure.h"
#include "bin/pm/family.h"
#include "bin/proc/former.h"
#include "bin/proc/guard.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/topo/gpus.h"
#include "lib/trust/keyfile.h"

#define HOST_NAME_SIZE 256
/* A launcher that connects and says nothing is no launcher. */
#define WELCOME_TIMEOUT_S 120
#define FORMER_MS 1000 /* for its guard to clean up; SIGKILL is quick */

typedef int (*frame_handler)(struct agent *a, const struct hb_frame *f,
                             struct hpcboot_error *err);

void agent_flush(struct agent *a)
{
    if (a->link != NULL) {
        hb_link_flush(a->link);
    }
}

void agent_note(struct agent *a, int level, const char *fmt, ...)
{
    struct hb_str text = HB_STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    hb_str_vputf(&text, fmt, ap);
    va_end(ap);
    AGENT_SEND(a, note, .level = (uint8_t)level, .text = hb_str_text(&text));
    hb_str_destroy(&text);
}

void agent_fail(struct agent *a, const struct hpcboot_error *err)
{
    AGENT_SEND(a, failed, .code = err->code, .text = err->text);
    agent_kill(a, 0, SIGKILL);
    agent_leave(a, 1);
}

/* Its ranks would run beside those that take their place. */
static void end_former(struct agent *a, const char *token)
{
    if (token[0] != '\0' && hb_former_end(token, FORMER_MS)) {
        agent_note(a, HB_DEBUG, "the agent that this host had before was "
                   "still there, and was ended");
    }
}

static int on_welcome(struct agent *a, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct hb_msg_welcome m;
    int rc = hb_wire_get_welcome(f, &m, err), is_first = a->job_id == NULL;

    if (rc < 0) {
        return rc;
    }
    if (is_first) {
        a->job_id = hb_xstrdup(m.job_id);
        /* Two agents of a job on one machine must not take each other's
         * ranks for strays. */
        a->cookie = hb_guard_cookie_of(m.cookie, a->token);
        a->epoch = f->epoch;
        a->is_local = m.local;
        a->lost_after_ms = m.heartbeat_ms * HB_LINK_BEATS;
        hb_guard_set_cookie(a->cookie);
    }
    a->host = m.host;
    agent_orphan_settle(a, m.orphan_ms); /* what is said counts from here on */
    if (is_first) {
        end_former(a, m.former);
    }
    /* Said again when the launcher is stopped and continued by its user. */
    hb_link_heartbeat(a->link, m.heartbeat_ms, m.dead_ms);
    return 0;
}

static int on_job(struct agent *a, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    struct hb_msg_job m;
    int rc = hb_wire_get_job(f, &m, err);

    return rc < 0 ? rc : agent_order_job(a, &m, err);
}

static int on_app(struct agent *a, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    struct hb_msg_app m;
    int rc = hb_wire_get_app(f, &m, err);

    return rc < 0 ? rc : agent_order_app(a, &m, err);
}

static int on_start(struct agent *a, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct hb_msg_start m;
    int rc = hb_wire_get_start(f, &m, err);

    if (rc == 0) {
        rc = agent_order_check(a, &m, err);
    }
    if (rc == 0) {
        rc = agent_fences_start(a, err);
    }
    if (rc == 0 && (a->job.flags & HB_JOB_LOOKS) == 0) {
        agent_served_job(a);
    }
    if (rc == 0 && a->node != HB_NODE_UNSET) {
        struct hpcboot_error why = {0};

        if (agent_start_ranks(a, &why) < 0) {
            agent_fail(a, &why);
        }
    }
    return rc;
}

static int on_credit(struct agent *a, const struct hb_frame *f,
                     struct hpcboot_error *err)
{
    struct hb_msg_credit m;
    int rc = hb_wire_get_credit(f, &m, err);

    if (rc == 0) {
        agent_credit(a, m.bytes);
    }
    return rc;
}

static int on_stdin(struct agent *a, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct hb_msg_stdin m;
    int rc = hb_wire_get_stdin(f, &m, err);

    for (uint32_t i = 0; rc == 0 && i < a->n_ranks; i++) {
        if (m.rank == HB_ALL_RANKS || m.rank == a->ranks[i].rank) {
            rank_stdin(&a->ranks[i], &m);
        }
    }
    return rc;
}

static int on_signal(struct agent *a, const struct hb_frame *f,
                     struct hpcboot_error *err)
{
    struct hb_msg_signal m;
    int rc = hb_wire_get_signal(f, &m, err);

    if (rc == 0) {
        agent_signal(a, m.rank, m.signo);
    }
    return rc;
}

static int on_kill(struct agent *a, const struct hb_frame *f,
                   struct hpcboot_error *err)
{
    struct hb_msg_kill m;
    int rc = hb_wire_get_kill(f, &m, err);

    if (rc == 0) {
        agent_kill(a, m.grace_ms, m.signo);
    }
    return rc;
}

/* For what a recipe has started and has to know (kv.c). */
static void write_down_lost(const struct agent *a, const uint32_t *ranks,
                            uint32_t n)
{
    struct hb_str text = HB_STR_INIT;
    char *path;
    int fd;

    if (a->recipe == NULL || a->files_dir == NULL) {
        return;
    }
    path = hb_xasprintf("%s/" HB_RANKS_LOST, a->files_dir);
    for (uint32_t i = 0; i < n; i++) {
        hb_str_putf(&text, "%u\n", ranks[i]);
    }
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
              S_IRUSR | S_IWUSR);
    if (fd >= 0) {
        (void)hb_fd_write_all(fd, hb_str_text(&text), text.len, NULL);
    }
    hb_fd_close(&fd);
    hb_str_destroy(&text);
    free(path);
}

static int on_ranks_lost(struct agent *a, const struct hb_frame *f,
                         struct hpcboot_error *err)
{
    struct hb_msg_ranks_lost m;
    int rc = hb_wire_get_ranks_lost(f, &m, err);

    if (rc == 0) {
        uint32_t *ranks = hb_xcalloc(m.ranks.n + 1, sizeof *ranks);

        for (uint32_t i = 0; i < m.ranks.n; i++) {
            ranks[i] = hb_wire_u32s_at(&m.ranks, i);
        }
        write_down_lost(a, ranks, m.ranks.n);
        if (a->pm != NULL) {
            a->pm_ops->ranks_lost(a->pm, ranks, m.ranks.n);
        }
        free(ranks);
    }
    return rc;
}

static int on_bye(struct agent *a, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    struct hb_msg_bye m;
    int rc = hb_wire_get_bye(f, &m, err);

    if (rc == 0 && m.status != HB_BYE_NO_JOB) {
        agent_served_end(a, m.status);
    }
    if (rc == 0) {
        agent_leave(a, 0);
    }
    return rc;
}

static int on_gone(struct agent *a, const struct hb_frame *f,
                   struct hpcboot_error *err)
{
    struct hb_msg_gone m;
    int rc = hb_wire_get_gone(f, &m, err);

    if (rc == 0) {
        if (m.below) {
            agent_children_gone(a);
        }
        agent_kill(a, 0, SIGKILL);
        agent_leave(a, 1);
    }
    return rc;
}

static int on_inspect(struct agent *a, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct hb_family_choice choice = {0};
    struct hb_strv argv = HB_STRV_INIT, env = HB_STRV_INIT;
    struct hb_msg_inspect m;
    int rc = hb_wire_get_inspect(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    hb_wire_strv_copy(&argv, &m.argv);
    hb_wire_strv_copy(&env, &m.env);
    if (argv.n > 0 && hb_family_detect(argv.v, m.wdir, hb_strv_view(&env),
                                       &choice, NULL) == 0) {
        AGENT_SEND(a, inspected, .found = (uint8_t)choice.found,
                   .certain = (uint8_t)choice.certain,
                   .links_mpi = (uint8_t)choice.links_mpi,
                   .family = hb_pm_family_name(choice.family),
                   .flavour = (uint32_t)choice.flavour, .why = choice.why);
    } else {
        AGENT_SEND(a, inspected, .family = "", .why = "");
    }
    hb_strv_destroy(&argv);
    hb_strv_destroy(&env);
    return 0;
}

static const struct {
    frame_handler handler;
    int welcomed; /* only after WELCOME */
} frames[HB_MSG_TYPES] = {
    [HB_MSG_WELCOME] = {on_welcome, 0},
    [HB_MSG_PROVE] = {agent_prove_frame, 0},
    [HB_MSG_SESSION] = {agent_session_key_frame, 1},
    [HB_MSG_JOB] = {on_job, 1},
    [HB_MSG_APP] = {on_app, 1},
    [HB_MSG_ANCESTRY] = {agent_order_ancestry, 1},
    [HB_MSG_START] = {on_start, 1},
    [HB_MSG_FILE] = {agent_file_frame, 1},
    [HB_MSG_FILE_DATA] = {agent_file_data_frame, 1},
    [HB_MSG_CREDIT] = {on_credit, 1},
    [HB_MSG_STDIN] = {on_stdin, 1},
    [HB_MSG_SIGNAL] = {on_signal, 1},
    [HB_MSG_KILL] = {on_kill, 1},
    [HB_MSG_RESPAWN] = {agent_respawn, 1},
    [HB_MSG_RANKS_LOST] = {on_ranks_lost, 1},
    [HB_MSG_BYE] = {on_bye, 0},
    [HB_MSG_INSPECT] = {on_inspect, 1},
    [HB_MSG_PARENT] = {agent_on_parent, 1},
    [HB_MSG_BOOT] = {agent_on_boot, 1},
    [HB_MSG_BOOT_CANCEL] = {agent_on_boot_cancel, 1},
    [HB_MSG_SURVEY] = {agent_survey, 1},
    [HB_MSG_EXAMINE] = {agent_examine, 1},
    [HB_MSG_WIRE] = {agent_wire, 1},
    [HB_MSG_PROBE] = {agent_probe, 1},
    [HB_MSG_PROBE_DATA] = {agent_probe_data, 1},
    [HB_MSG_PORTS] = {agent_ports, 1},
    [HB_MSG_RECIPE] = {agent_recipe_frame, 1},
    [HB_MSG_PEERS_DEAD] = {agent_native_peers_dead, 1},
    [HB_MSG_GROWN] = {agent_native_grown, 1},
    [HB_MSG_LEAVE] = {agent_native_leave, 1},
    [HB_MSG_SPAWNED] = {agent_pm_frame, 1},
    [HB_MSG_EVENT] = {agent_pm_frame, 1},
    [HB_MSG_FENCE_DOWN] = {agent_pm_frame, 1},
    [HB_MSG_MOVED] = {agent_pm_frame, 1},
    [HB_MSG_MODEX] = {agent_pm_frame, 1},
    [HB_MSG_MODEX_REPLY] = {agent_pm_frame, 1},
    [HB_MSG_NAME_REPLY] = {agent_pm_frame, 1},
    [HB_MSG_ADOPT] = {agent_adopt, 1},
    [HB_MSG_RESUME] = {agent_orphan_frame, 1},
    [HB_MSG_ACK] = {agent_orphan_frame, 1},
    [HB_MSG_GONE] = {on_gone, 0},
    [HB_MSG_ALIVE] = {agent_alive, 1},
};

static void on_frame(void *arg, const struct hb_frame *f)
{
    struct agent *a = arg;
    struct hpcboot_error err = {0};
    int rc;

    if (agent_pass_down(a, f) ||
        (a->refused && f->type != HB_MSG_BYE &&
         f->type != HB_MSG_FILE_DATA)) {
        return;
    }
    agent_orphan_came(a, f->dst == a->host ? f->type : HB_MSG_PING);
    if (f->type >= HB_MSG_TYPES || frames[f->type].handler == NULL ||
        (frames[f->type].welcomed && a->job_id == NULL)) {
        rc = hb_fail(&err, HPCBOOT_ERR_PROTOCOL,
                     "a %s frame came out of turn", hb_wire_type_name(f->type));
    } else {
        rc = frames[f->type].handler(a, f, &err);
    }
    if (rc < 0) {
        agent_fail(a, &err);
    }
}

static void on_lost(void *arg, const struct hpcboot_error *err)
{
    struct agent *a = arg;

    if (agent_orphaned(a)) {
        return;
    }
    /* A silent launcher may live: it can adopt what is below, as it can when
     * another agent was the parent. One whose end has been seen is dead. */
    if (err->code == HPCBOOT_ERR_CLOSED && !agent_is_below_another(a)) {
        agent_children_gone(a);
    }
    /* The one way that is left to say it, where a launcher is there at all. */
    if (err->code == HPCBOOT_ERR_CLOSED && a->job_id == NULL) {
        fprintf(stderr, "hpcbootd: standard input ended before hbrun said "
                "anything; what starts the agent must pass it on, as ssh "
                "without -n does\n");
    }
    agent_cut_off(a, err);
}

static const struct hb_link_events link_events = {
    .frame = on_frame, .lost = on_lost,
};

int agent_link_open(struct agent *a, int in_fd, int out_fd,
                    struct hpcboot_error *err)
{
    struct hb_channel *ch = NULL;
    int rc = hb_channel_from_fds(&ch, a->base, in_fd, out_fd, -1, err);

    if (rc == 0) {
        a->link = hb_link_create(a->base, ch, 0, &link_events, a);
    }
    a->link_in = in_fd;
    a->link_out = out_fd;
    return rc;
}

static void on_guard_gone(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;
    struct hpcboot_error err = {0};

    hb_fail(&err, HPCBOOT_ERR_CLOSED, "the guard process of its agent was "
            "killed; the agent has ended the ranks");
    agent_fail(a, &err);
}

static void on_child(evutil_socket_t fd, short what, void *arg)
{
    agent_reap(arg);
}

/* Somebody ends the pod: the ranks get their grace, the launcher is told. */
static void on_term(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;

    static const char text[] = "its agent was told to end (SIGTERM), as when "
        "a pod is deleted or a step is cancelled";
    struct hpcboot_error err = {0};

    if (!a->ordered) {
        hb_fail(&err, HPCBOOT_ERR_CLOSED, "%s", text);
        agent_fail(a, &err);
        return;
    }
    AGENT_SEND(a, leaving, .text = text, .time_ns = (uint64_t)hb_now_ns());
    agent_kill(a, a->job.grace_ms, a->job.checkpoint_signal > 0
                                       ? a->job.checkpoint_signal : SIGTERM);
}

static void on_no_welcome(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;

    if (a->job_id == NULL) {
        agent_leave(a, 1);
    }
}

/* Whether this host holds a private key, and so may log in to others. A
 * launcher on this host does that itself. */
static uint8_t has_key(void)
{
    const struct passwd *pw = getpwuid(getuid());
    const char *homes[] = {getenv("HOME"), pw != NULL ? pw->pw_dir : NULL};
    struct hb_strv found = HB_STRV_INIT;
    uint8_t n;

    for (size_t i = 0; i < sizeof homes / sizeof *homes && found.n == 0; i++) {
        char *dir = homes[i] != NULL ? hb_xasprintf("%s/.ssh", homes[i])
                                     : NULL;

        if (dir != NULL) {
            hb_key_find(dir, &found);
        }
        free(dir);
    }
    n = found.n > 0;
    hb_strv_destroy(&found);
    return n;
}

static void say_hello(struct agent *a)
{
    char host[HOST_NAME_SIZE] = "", *place = agent_place();
    struct hb_gpus gpus = {0};

    gethostname(host, sizeof host - 1);
    if (!a->counted) {
        hb_gpus_count("", environ, &gpus);
    }
    hb_buf_put_raw(hb_link_out(a->link), HB_WIRE_MAGIC, HB_WIRE_MAGIC_LEN);
    AGENT_SEND(a, hello, .protocol = HB_WIRE_PROTOCOL,
               .version = PACKAGE_VERSION, .token = a->token,
               .host_name = host, .pid = (uint32_t)getpid(),
               .uid = (uint32_t)getuid(), .cores = a->allowed.cores,
               .pus = a->allowed.pus, .slots = a->allowed.slots,
               .quota_milli = a->allowed.quota_milli,
               .slots_origin = a->allowed.origin, .gpus = gpus.n,
               .gpus_origin = gpus.origin,
               .time_ns = (uint64_t)hb_now_ns(),
               .has_key = a->counted ? 0 : has_key(), .place = place);
    free(place);
    agent_flush(a);
}

/* A host that has been counted is in HELLO with nothing but its name; what it
 * has is looked at while the launcher reads that. */
static int begin(struct agent *a, struct hpcboot_error *err)
{
    int rc = a->counted ? 0 : hb_topo_allowed("", &a->allowed, err);

    if (rc == 0) {
        say_hello(a);
    }
    if (rc == 0 && a->counted) {
        agent_look_around(a);
        rc = hb_topo_allowed("", &a->allowed, err);
    }
    return rc;
}

static int set_up(struct agent *a, int in_fd, int out_fd,
                  struct hpcboot_error *err)
{
    static const struct timeval welcome = {WELCOME_TIMEOUT_S, 0};

    a->base = event_base_new();
    if (a->base == NULL) {
        return hb_fail(err, HPCBOOT_ERR_SYSTEM, "no event loop");
    }
    a->guard_ev = sure_new(a->base, a->guard_fd, EV_READ, on_guard_gone, a);
    a->child_ev = sure_signal(a->base, SIGCHLD, on_child, a);
    a->term_ev = sure_signal(a->base, SIGTERM, on_term, a);
    sure_add(a->guard_ev, NULL);
    sure_add(a->child_ev, NULL);
    sure_add(a->term_ev, NULL);
    sure_once(a->base, on_no_welcome, a, &welcome);
    return agent_link_open(a, in_fd, out_fd, err);
}

static void tear_down(struct agent *a)
{
    agent_children_destroy(a);
    agent_probe_destroy(a);
    agent_native_stop(a);
    agent_pm_stop(a);
    agent_ranks_destroy(a);
    agent_session_destroy(a);
    agent_order_destroy(&a->job);
    agent_recipe_destroy(a->recipe);
    agent_ports_destroy(a);
    agent_meet_destroy(a->meet);
    agent_loaded_destroy(a->loaded);
    hb_fence_engine_destroy(a->fences);
    agent_orphan_destroy(a);
    hb_link_destroy(a->link);
    struct event *evs[] = {a->guard_ev, a->child_ev, a->term_ev,
                           a->kill_timer, a->linger_timer, a->contact_timer,
                           a->leave_timer, a->look_timer};
    for (size_t i = 0; i < sizeof evs / sizeof *evs; i++) {
        if (evs[i] != NULL) {
            event_free(evs[i]);
        }
    }
    if (a->base != NULL) {
        event_base_free(a->base);
    }
    hb_secret_free(&a->session_key);
    free(a->token);
    free(a->job_id);
    free(a->cookie);
    free(a->session_dir);
    free(a->files_dir);
    free(a->shm_dir);
    free(a->stdin_pipes.v);
}

int agent_run(const char *token, int in_fd, int out_fd, int guard_fd,
              int served, int counted)
{
    struct agent a = {.guard_fd = guard_fd, .host = HB_NODE_UNSET,
                      .node = HB_NODE_UNSET,
                      .served = served, .counted = counted,
                      .files = HB_DEPOSIT_INIT};
    struct hpcboot_error err = {0};

    a.token = hb_xstrdup(token);
    if (set_up(&a, in_fd, out_fd, &err) < 0 || begin(&a, &err) < 0 ||
        sure_loop(a.base, &err) < 0) {
        fprintf(stderr, "hpcbootd: %s\n", err.text);
        a.exit_status = 1;
    }
    tear_down(&a);
    return a.exit_status;
}
