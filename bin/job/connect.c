/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Brings one agent up on each wanted host: starts the login, watches its
 * stages, takes HELLO and answers WELCOME. What a try that has failed means,
 * and when all of this is over, is decided in wait.c. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

static void start_more(struct job *j);

void host_forget(struct job_host *h)
{
    job_event_host(h, "host_lost", host_why(h));
    host_leave_tree(h);
    host_close(h);
    h->state = HOST_LOST;
}

static void host_give_up(struct job_host *h)
{
    struct job *j = h->job;

    if (h->joins) {
        job_live_failed(h);
        return;
    }
    host_forget(h);
    if (j->phase == JOB_CONNECTING) {
        job_wait_check(j);
    } else if (j->phase == JOB_RUNNING && !job_live_gave_up(h)) {
        job_never_came(h);
    }
}

void host_failed_try(struct job_host *h, enum hb_boot_stage stage)
{
    int by_agent = hb_grow_failed(h->job->grow, h->index);
    int64_t wait_ms = by_agent || h->joins ? 0 : host_wait_again(h, stage);

    if (h->joins) {
        job_live_failed(h);
    } else if (by_agent) {
        h->failed_by = h->via;
        host_close(h);
        h->state = HOST_IDLE;
        h->direct = 1; /* the launcher itself may do better */
        host_queue(h);
    } else if (wait_ms < 0) {
        host_give_up(h);
    } else {
        h->failed_by = NULL;
        host_close(h);
        h->state = HOST_IDLE;
        host_arm_ms(h, wait_ms);
        job_wait_enough(h->job); /* it may have been ready, as all were */
    }
    start_more(h->job);
}

/* What answers is "ADDRESS port N", or a command that leads there. A tunnel's
 * end on this host is nobody else's way there. */
static void note_reached(struct job_host *h, const char *answers)
{
    const char *end = strstr(answers, " port ");
    char *address =
        end != NULL ? hb_xstrndup(answers, (size_t)(end - answers)) : NULL;

    if (address != NULL && hb_is_loopback(address)) {
        free(address);
        address = NULL;
    }
    free(h->reached);
    h->reached = address;
}

void host_stage(struct job_host *h, enum hb_boot_stage stage,
                const char *detail)
{
    h->stage = stage;
    if (stage == HB_STAGE_BANNER && detail != NULL) {
        note_reached(h, detail);
    }
    job_event_host(h, "host_stage", hb_boot_stage_name(stage));
    hb_log(HB_TRACE, "host %s: %s%s%s", h->spec->name,
           hb_boot_stage_name(stage),
           detail != NULL && detail[0] != '\0' ? " " : "",
           detail != NULL ? detail : "");
}

static void on_stage(void *arg, enum hb_boot_stage stage, const char *detail)
{
    host_timed_stage(arg, stage, hb_now_ns());
    host_stage(arg, stage, detail);
}

static void on_boot_chatter(void *arg, const char *text, size_t len)
{
    struct job_host *h = arg;

    hb_words_add(&h->words, text, len);
}

static void on_unverified(void *arg, const struct hb_boot_unverified *key)
{
    host_doubt(arg, key);
}

static void on_reached(void *arg, const char *member)
{
    const struct job_host *h = arg;

    hb_log(HB_WARN, "host %s: you reached %s: the host key there is that of "
           "another member of the gang", h->spec->name, member);
}

/* An option, or a file that it names, or what this launcher was built without,
 * rather than the host. */
static int is_misuse(const struct hpcboot_error *err)
{
    return err->code == HPCBOOT_ERR_USAGE || err->code == HPCBOOT_ERR_PARSE ||
           err->code == HPCBOOT_ERR_UNSUPPORTED;
}

/* Every line about a host begins with its name already. */
static void set_why_of(struct job_host *h, const struct hpcboot_error *err)
{
    size_t len = strlen(h->spec->name);
    int named = hb_starts_with(err->text, h->spec->name) &&
                hb_starts_with(err->text + len, ": ");

    host_set_why(h, err->text + (named ? len + 2 : 0));
}

void host_failed(struct job_host *h, enum hb_boot_stage stage,
                 const struct hpcboot_error *err)
{
    set_why_of(h, err);
    if (h->boot != NULL) {
        h->reason = *hb_boot_reason(h->boot);
    }
    h->misused = h->via == NULL && is_misuse(err);
    host_failed_try(h, stage);
}

static void on_failed(void *arg, enum hb_boot_stage stage,
                      const struct hpcboot_error *err)
{
    host_failed(arg, stage, err);
}

/* The stream broke before HELLO: whatever the login said is the reason. */
static void no_agent(struct job_host *h, const struct hpcboot_error *why)
{
    struct hpcboot_error err;

    hb_words_no_agent(&h->words, why, &err);
    host_set_why(h, err.text);
    h->reason = (struct hb_boot_reason){HB_WHY_AGENT, ""};
    /* A command that carries the link ends like this also where the host is
     * not up yet; only our own words show that it was. */
    h->stubborn = host_way(h) == HB_BOOT_COMMAND &&
                  !hb_words_are_agents(&h->words);
    host_failed_try(h, HB_STAGE_AGENT);
}

void host_edge_lost(struct job_host *h, const struct hpcboot_error *err,
                    int exit_status, int was_killed)
{
    struct hpcboot_error own = *err;
    int silent = err->code == HPCBOOT_ERR_TIMED_OUT;
    const char *words = silent ? host_probe_words(h, 1) : NULL;
    int64_t away_ms = h->link != NULL ? hb_link_away_ms(h->link) : 0;

    h->lost_ns = 0; /* it may have been lost before */
    h->agent_killed = 0;
    if (h->state == HOST_LINKED) {
        no_agent(h, err);
        return;
    }
    if (away_ms > 0) {
        hb_fail(&own, err->code, "hbrun itself was stopped, or starved of "
                "CPU, for %.1f s, so that the agent took it for dead and "
                "ended its ranks", (double)away_ms / 1000);
    } else if (words != NULL) {
        hb_fail(&own, err->code, "%s; %s", err->text, words);
    } else {
        hb_words_agent_lost(&h->words, err, &own);
    }
    hb_error_prefix(&own, own.code, "the link to its agent is lost");
    /* What has become of the host is asked where nothing is known of it, as it
     * is of an agent that has ended itself for not hearing who started it. */
    if (!silent && away_ms == 0 && exit_status != HB_EXIT_LOST) {
        h->lost_ns = hb_now_ns();
        h->agent_killed = was_killed;
    }
    host_lost(h, &own);
}

void host_link_lost(struct job_host *h, const struct hpcboot_error *err)
{
    host_edge_lost(h, err, h->link != NULL ? hb_link_exit_status(h->link) : 0,
                   h->link != NULL && hb_link_was_killed(h->link));
}

static void on_link_lost(void *arg, const struct hpcboot_error *err)
{
    host_link_lost(arg, err);
}

/* Forked agents see the very host that the launcher has counted. */
static int is_counted(const struct job_host *h)
{
    return h->spec->is_local && h->counted_slots > 0
           && host_way(h) == HB_BOOT_FORK;
}

/* What its agent counted there. */
static int take_counts(struct job_host *h, const struct hb_msg_hello *m,
                       struct hpcboot_error *err)
{
    const struct job_counts counts = {
        .slots = m->slots, .pus = m->pus, .quota_milli = m->quota_milli,
        .origin = m->slots_origin, .gpus = m->gpus,
        .gpus_origin = m->gpus_origin,
    };

    return is_counted(h) ? HPCBOOT_OK : job_host_counted(h, &counts, err);
}

/* Looked at before the rest, which may have other fields in another version:
 * these two begin the HELLO of each. */
static int check_version(const struct hb_frame *f, struct hpcboot_error *err)
{
    const char *version;
    uint32_t protocol;
    struct hb_buf b;

    hb_buf_view(&b, f->payload.data, f->payload.len);
    protocol = hb_buf_get_u32(&b);
    version = hb_buf_get_str(&b, HB_WIRE_STR);
    if (hb_buf_failed(&b) || (protocol == HB_WIRE_PROTOCOL &&
                              hb_streq(version, PACKAGE_VERSION))) {
        return 0;
    }
    return hb_fail(err, HPCBOOT_ERR_HOST, "the agent there is hpcboot %.64s "
                   "and this is %s: install the same version on both, or name "
                   "its place with --prefix", version, PACKAGE_VERSION);
}

int host_read_hello(const struct job_host *h, const struct hb_frame *f,
                    struct hb_msg_hello *m_out, struct hpcboot_error *err)
{
    int rc = check_version(f, err);

    if (rc == 0) {
        rc = hb_wire_get_hello(f, m_out, err);
    }
    if (rc == 0 && !hb_secret_streq(m_out->token, h->token)) {
        rc = hb_fail(err, HPCBOOT_ERR_AUTH,
                     "the agent did not return the token of this login");
    }
    return rc;
}

/* Also said again to change the beat; 0: no heartbeat. An agent on this host
 * learns of the launcher's end from the kernel; silence only means that
 * somebody stopped it, as a debugger does. */
void host_send_welcome(struct job_host *h, uint32_t beat_ms)
{
    uint32_t dead_ms = beat_ms * HB_LINK_BEATS;

    HOST_SEND(h, welcome, .job_id = h->job->id, .host = h->index,
              .heartbeat_ms = beat_ms,
              .dead_ms = h->spec->is_local ? 0 : dead_ms,
              .time_ns = (uint64_t)hb_now_ns(), .cookie = h->job->cookie,
              .local = (uint8_t)h->spec->is_local,
              .orphan_ms = host_orphan_ms(h),
              .former = hb_lives_former(h->job->lives, h->spec->name));
    if (h->link != NULL) {
        hb_link_heartbeat(h->link, beat_ms, dead_ms);
    }
}

static void host_welcome(struct job_host *h, const struct hb_msg_hello *m)
{
    struct job *j = h->job;
    uint32_t beat = (uint32_t)j->opt->heartbeat_ms;

    free(h->place);
    h->place = hb_xstrdup(m->place);
    j->lives->epoch += h->joins; /* WELCOME tells it */
    h->state = HOST_READY;
    h->stage = HB_STAGE_READY;
    if (h->times.stage_ns[HB_STAGE_READY] == 0) {
        host_timed_stage(h, HB_STAGE_READY, hb_now_ns());
    }
    if (!h->joins) { /* it may not be taken in yet: it is when it has ranks */
        h->failed_in_row = 0;
    }
    h->was_there = 1;
    hb_lives_note_back(j->lives, h->spec->name);
    h->told_parent = 0;
    h->examining = h->examined = h->surveying = h->wired = h->ports_asked = 0;
    host_disarm(h);
    host_probe_end(h); /* its next loss is another one */
    /* The boot stays: a login over SSH judges others' proofs, and what an agent
     * says when it ends comes this way alone. */
    hb_link_limit(h->link, 0);
    h->clock = (struct hb_offset){0};
    hb_offset_heard(&h->clock, m->time_ns, hb_now_ns());
    host_settle_talk(h);
    host_send_welcome(h, beat);
    if (!h->spec->is_local) { /* it counts on beats from now on */
        j->boot.stall_ms = (int)(beat * HB_LINK_STALL_BEATS);
    }
    hb_grow_ready(j->grow, h->index, m->has_key && !h->spec->is_local);
    if (h->failed_by != NULL) {
        hb_grow_forbid(j->grow, h->failed_by->index); /* it lacks something */
        h->failed_by = NULL;
    }
    if (host_way(h) == HB_BOOT_SSH) {
        host_send_session(h);
    }
    job_event_host(h, "host_ready", h->slots_origin);
    hb_log(HB_DEBUG, "host %s: agent ready, pid %u, %s", h->spec->name, m->pid,
           h->slots_origin);
}

void host_refuse(struct job_host *h, const struct hpcboot_error *err)
{
    host_set_why(h, err->text);
    host_give_up(h);
    start_more(h->job);
}

/* Its agent has spoken for the first time. */
static void host_hello(struct job_host *h, const struct hb_frame *f)
{
    enum hb_boot_why why = HB_WHY_AGENT;
    struct hb_frame hello;
    struct hb_msg_hello m;
    struct hpcboot_error err = {0};

    if (f->type == HB_MSG_PROOF
        && host_judge_proof(h, f, &hello, &err) > 0) {
        f = &hello;
    }
    if (err.code != 0) {
        host_refuse(h, &err);
        return;
    }
    if (f->type != HB_MSG_HELLO) {
        hb_fail(&err, HPCBOOT_ERR_PROTOCOL, "the agent began with %s",
                hb_wire_type_name(f->type));
    } else if (host_read_hello(h, f, &m, &err) == 0) {
        why = HB_WHY_OTHER; /* its agent is there */
        (void)take_counts(h, &m, &err);
    }
    if (err.code != 0) {
        h->reason = (struct hb_boot_reason){why, ""};
        host_refuse(h, &err);
        return;
    }
    if (h->doubt != NULL && !h->pinned && !h->proven) {
        host_ask_proof(h, f);
        return;
    }
    host_welcome(h, &m);
    host_doubt_over(h); /* which may have kept the HELLO */
    start_more(h->job);
    if (h->late) {
        host_join_late(h);
    }
    job_wait_check(h->job);
}

void host_top_frame(void *arg, const struct hb_frame *f)
{
    struct job_host *top = arg, *h;
    struct hpcboot_error err = {0};

    if (f->src != HB_NODE_UNSET && f->src >= top->job->gang.n) {
        hb_fail(&err, HPCBOOT_ERR_PROTOCOL, "its agent spoke for host %u of "
                "%zu", f->src, top->job->gang.n);
        host_link_lost(top, &err);
        return;
    }
    h = host_of_frame(top, f);
    if (h == NULL) {
        hb_log(HB_TRACE, "host %s: what %s has said (%s) comes too late",
               top->spec->name, top->job->hosts[f->src].spec->name,
               hb_wire_type_name(f->type));
    } else if (h->state == HOST_LINKED ||
               (h->via != NULL && h->state == HOST_BOOTING &&
                (f->type == HB_MSG_HELLO || f->type == HB_MSG_PROOF))) {
        host_hello(h, f);
    } else if (h->state == HOST_BOOTING) {
        /* Nobody vouches for it; or it was said before the host was lost. */
        hb_log(HB_TRACE, "host %s: what it has said (%s) before it was "
               "welcomed is not heard", h->spec->name,
               hb_wire_type_name(f->type));
    } else {
        job_frame(h, f);
    }
}

static void on_link_drained(void *arg)
{
    host_go_on(arg);
}

static void on_link_suspect(void *arg, uint32_t silent_ms)
{
    struct job_host *h = arg;

    host_suspect(h, silent_ms, hb_link_peer_load_milli(h->link));
}

static const struct hb_link_events link_events = {
    .frame = host_top_frame, .chatter = on_boot_chatter,
    .drained = on_link_drained, .suspect = on_link_suspect,
    .lost = on_link_lost,
};

static void on_open(void *arg, struct hb_channel *ch)
{
    struct job_host *h = arg;
    struct job *j = h->job;

    h->stage = HB_STAGE_AGENT;
    h->state = HOST_LINKED;
    h->link = hb_link_create(j->base, ch, 1, &link_events, h);
    hb_link_limit(h->link, HB_LINK_STRANGER_MAX);
    host_arm_ms(h, j->opt->connect_timeout_ms);
    start_more(j);
}

static const struct hb_boot_events boot_events = {
    .stage = on_stage, .chatter = on_boot_chatter,
    .unverified = on_unverified, .reached = on_reached, .open = on_open,
    .failed = on_failed,
};

void host_make_token(struct job_host *h)
{
    size_t size = sizeof h->token;
    unsigned char raw[16];

    if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw) {
        abort(); /* no kernel of this century does that */
    }
    for (size_t i = 0; i < sizeof raw && 2 * i + 2 < size; i++) {
        snprintf(h->token + 2 * i, 3, "%02x", raw[i]);
    }
}

static void host_try(struct job_host *h, struct job_host *parent)
{
    struct job *j = h->job;
    struct hpcboot_error err = {0};
    struct hb_boot_target target = {
        .host = h->spec->name, .user = h->spec->user, .port = h->spec->port,
        .token = h->token, .in_session = h->in_session,
        .counted = is_counted(h),
    };

    h->attempts++;
    h->misused = 0;
    j->tries++;
    host_timed_anew(h);
    h->stage = HB_STAGE_RESOLVE;
    hb_words_clear(&h->words);
    host_make_token(h);
    h->state = HOST_BOOTING;
    if (parent != NULL) {
        host_try_below(h, parent);
        return;
    }
    if (hb_boot_start(&h->boot, host_way(h), &j->boot, &target, &boot_events, h,
                      &err) < 0) {
        set_why_of(h, &err);
        h->misused = is_misuse(&err);
        host_give_up(h);
    }
}

static void start_more(struct job *j)
{
    uint32_t host, parent;

    while ((j->phase == JOB_CONNECTING || j->phase == JOB_RUNNING) &&
           hb_grow_next(j->grow, &host, &parent)) {
        if (j->hosts[host].state != HOST_IDLE) { /* given up while it waited */
            (void)hb_grow_failed(j->grow, host);
            continue;
        }
        host_try(&j->hosts[host],
                 parent == HB_GROW_ROOT ? NULL : &j->hosts[parent]);
    }
}

/* Time for another try, or the agent of an open stream says nothing. */
void host_due(struct job_host *h)
{
    struct hpcboot_error err = {0};

    if (h->state == HOST_IDLE) {
        host_queue(h);
        start_more(h->job);
    } else if (h->state == HOST_BOOTING) {
        host_failed_try(h, h->stage); /* another host has it too long */
    } else if (h->state == HOST_LINKED) {
        hb_fail(&err, HPCBOOT_ERR_TIMED_OUT, "no answer within %.10g s",
                (double)h->job->opt->connect_timeout_ms / 1000);
        no_agent(h, &err);
    }
}

int job_connect(struct job *j, struct hpcboot_error *err)
{
    int rc = job_wait_open(j, err);

    if (rc == 0) {
        rc = job_wait_view_open(j, err);
    }
    if (rc < 0) {
        return rc;
    }
    job_tree_open(j);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].state == HOST_IDLE) {
            host_queue(&j->hosts[i]);
        }
    }
    start_more(j);
    return 0;
}

void host_close(struct job_host *h)
{
    if (h->via != NULL) {
        struct job_host *up = h->via;

        HOST_SEND(up, boot_cancel, .host = h->index);
        h->via = NULL;
    }
    hb_boot_cancel(h->boot);
    h->boot = NULL;
    hb_link_destroy(h->link);
    h->link = NULL;
    host_adopt_end(h);
    host_keep_none(h);
    host_doubt_over(h);
    host_disarm(h);
}

void job_connect_stop(struct job *j)
{
    struct event **timers[] = {&j->verdict_timer, &j->tick_timer,
                               &j->wait_timer, &j->enough_timer};

    for (uint32_t i = 0; i < j->gang.n && j->hosts != NULL; i++) {
        struct job_host *h = &j->hosts[i];

        host_close(h);
        host_probe_end(h);
        host_free(h);
    }
    job_tree_close(j);
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++) {
        if (*timers[i] != NULL) {
            event_free(*timers[i]);
            *timers[i] = NULL;
        }
    }
}
