/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Brings one agent up on each wanted host: starts the login, watches its
 * stages, takes HELLO and answers WELCOME. What a try that has failed means,
 * and when all of this is over, is decided in wait.c. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bin/job/job_impl.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define MAX_BOOTING 128u     /* logins at a time; bounds descriptors */
#define BEATS_TO_DEATH 5

static void start_more(struct job *j);
static enum hb_boot_way way_of(const struct job_host *h);

/* The last line that the login of a host printed; "" when it was silent. */
static const char *last_words(struct job_host *h)
{
    char *line, *end;

    h->chatter[h->chatter_len] = '\0';
    end = h->chatter + h->chatter_len;
    while (end > h->chatter && (end[-1] == '\n' || end[-1] == '\r')) {
        *--end = '\0';
    }
    line = strrchr(h->chatter, '\n');
    return line != NULL ? line + 1 : h->chatter;
}

static void host_chatter(struct job_host *h, const char *text, size_t len)
{
    size_t keep = HOST_CHATTER_MAX / 2;

    while (len > 0) {
        size_t room = HOST_CHATTER_MAX - 1 - h->chatter_len;
        size_t n = len < room ? len : room;

        memcpy(h->chatter + h->chatter_len, text, n);
        h->chatter_len += n;
        text += n;
        len -= n;
        if (len > 0) {
            memmove(h->chatter, h->chatter + h->chatter_len - keep, keep);
            h->chatter_len = keep;
        }
    }
}

void host_forget(struct job_host *h)
{
    job_event_host(h, "host_lost", h->error.text);
    host_close(h);
    h->state = HOST_LOST;
}

static void host_give_up(struct job_host *h)
{
    struct job *j = h->job;

    host_forget(h);
    if (j->phase == JOB_CONNECTING) {
        job_wait_check(j);
    }
}

static void host_failed_try(struct job_host *h, enum hb_boot_stage stage)
{
    int64_t wait_ms = host_wait_again(h, stage);

    if (wait_ms < 0) {
        host_give_up(h);
    } else {
        host_close(h);
        h->state = HOST_IDLE;
        arm_ms(h->timer, wait_ms);
    }
    start_more(h->job);
}

static void on_stage(void *arg, enum hb_boot_stage stage, const char *detail)
{
    struct job_host *h = arg;

    h->stage = stage;
    job_event_host(h, "host_stage", hb_boot_stage_name(stage));
    hb_log(HB_TRACE, "host %s: %s%s%s", h->spec->name,
           hb_boot_stage_name(stage), detail != NULL ? " " : "",
           detail != NULL ? detail : "");
}

static void on_boot_chatter(void *arg, const char *text, size_t len)
{
    host_chatter(arg, text, len);
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

void job_warn_pinned(const struct job *j)
{
    struct hb_str names = HB_STR_INIT;
    unsigned n = 0;

    for (size_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].pinned) {
            hb_str_putf(&names, "%s%s", n++ > 0 ? ", " : "",
                        j->hosts[i].spec->name);
        }
    }
    if (n > 0) {
        hb_log(HB_WARN, "host keys that are not known were accepted "
               "(--host-keys pin; -v shows them): %s", hb_str_text(&names));
    }
    hb_str_destroy(&names);
}

static void on_failed(void *arg, enum hb_boot_stage stage,
                      const struct hpcboot_error *err)
{
    struct job_host *h = arg;
    size_t len = strlen(h->spec->name);

    h->error = *err;
    /* Every line about a host begins with its name already. */
    if (hb_starts_with(err->text, h->spec->name) &&
        hb_starts_with(err->text + len, ": ")) {
        snprintf(h->error.text, sizeof h->error.text, "%s",
                 err->text + len + 2);
    }
    h->reason = *hb_boot_reason(h->boot);
    h->job->booting--;
    h->state = HOST_IDLE;
    host_failed_try(h, stage);
}

/* The stream broke before HELLO: whatever the login said is the reason. */
static void no_agent(struct job_host *h, const struct hpcboot_error *why)
{
    const char *words = last_words(h);

    hb_fail(&h->error, HPCBOOT_ERR_HOST, "the agent did not start: %s%s%s%s",
            why->text, words[0] != '\0' ? "; the login said: \"" : "", words,
            words[0] != '\0' ? "\"" : "");
    h->reason = (struct hb_boot_reason){HB_WHY_AGENT, ""};
    /* A command that carries the link ends like this also where the host is
     * not up yet; only our own words show that it was. */
    h->stubborn = way_of(h) == HB_BOOT_COMMAND &&
                  !hb_starts_with(words, "hpcbootd: ");
    host_failed_try(h, HB_STAGE_AGENT);
}

static void on_link_lost(void *arg, const struct hpcboot_error *err)
{
    struct job_host *h = arg;
    struct hpcboot_error own = *err;

    if (h->state == HOST_LINKED) {
        no_agent(h, err);
    } else {
        hb_error_prefix(&own, own.code, "the link to its agent is lost");
        host_lost(h, &own);
    }
}

static void on_link_chatter(void *arg, const char *text, size_t len)
{
    host_chatter(arg, text, len);
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

    return job_host_counted(h, &counts, err);
}

static int check_hello(struct job_host *h, const struct hb_msg_hello *m,
                       struct hpcboot_error *err)
{
    if (m->protocol != HB_WIRE_PROTOCOL ||
        !hb_streq(m->version, PACKAGE_VERSION)) {
        return hb_fail(err, HPCBOOT_ERR_HOST,
                       "the agent there is hpcboot %s and this is %s: install "
                       "the same version on both, or name its place with "
                       "--prefix", m->version, PACKAGE_VERSION);
    }
    if (!hb_streq(m->token, h->token)) {
        return hb_fail(err, HPCBOOT_ERR_AUTH,
                       "the agent did not return the token of this login");
    }
    return 0;
}

/* Also said again: when the node's number is settled, and to change the beat;
 * 0: no heartbeat. An agent on this host learns of the launcher's end from the
 * kernel; silence only means that somebody stopped it, as a debugger does. */
void host_send_welcome(struct job_host *h, uint32_t beat_ms)
{
    uint32_t dead_ms = beat_ms * BEATS_TO_DEATH;

    HOST_SEND(h, welcome, .job_id = h->job->id, .node = h->node,
              .heartbeat_ms = beat_ms,
              .dead_ms = h->spec->is_local ? 0 : dead_ms,
              .time_ns = (uint64_t)hb_now_ns(), .cookie = h->job->cookie,
              .local = (uint8_t)h->spec->is_local);
    hb_link_heartbeat(h->link, beat_ms, dead_ms);
}

static void host_welcome(struct job_host *h, const struct hb_msg_hello *m)
{
    struct job *j = h->job;
    uint32_t beat = (uint32_t)j->opt->heartbeat_ms;

    h->state = HOST_READY;
    h->stage = HB_STAGE_READY;
    h->failed_in_row = 0;
    event_del(h->timer);
    h->clock_offset_ns = (int64_t)m->time_ns - hb_now_ns();
    host_send_welcome(h, beat);
    job_event_host(h, "host_ready", m->slots_origin);
    hb_log(HB_DEBUG, "host %s: agent ready, pid %u, %s", h->spec->name, m->pid,
           m->slots_origin);
}

static void on_link_frame(void *arg, const struct hb_frame *f)
{
    struct job_host *h = arg;
    struct hb_frame hello;
    struct hb_msg_hello m;
    struct hpcboot_error err = {0};

    if (h->state != HOST_LINKED) {
        job_frame(h, f);
        return;
    }
    if (f->type == HB_MSG_PROOF
        && host_judge_proof(h, f, &hello, &err) > 0) {
        f = &hello;
    }
    if (err.code != 0) {
        h->error = err;
        host_give_up(h);
        return;
    }
    if (f->type != HB_MSG_HELLO) {
        hb_fail(&err, HPCBOOT_ERR_PROTOCOL, "the agent began with %s",
                hb_wire_type_name(f->type));
    } else if (hb_wire_get_hello(f, &m, &err) == 0) {
        (void)(check_hello(h, &m, &err) < 0 || take_counts(h, &m, &err));
    }
    if (err.code != 0) {
        h->error = err;
        h->reason = (struct hb_boot_reason){HB_WHY_AGENT, ""};
        host_give_up(h);
        return;
    }
    if (h->doubt != NULL && !h->pinned && !h->proven) {
        host_ask_proof(h, f);
        return;
    }
    host_doubt_over(h);
    host_welcome(h, &m);
    job_wait_check(h->job);
}

static void on_link_drained(void *arg)
{
    host_go_on(arg);
}

static const struct hb_link_events link_events = {
    .frame = on_link_frame, .chatter = on_link_chatter,
    .drained = on_link_drained, .lost = on_link_lost,
};

static void on_open(void *arg, struct hb_channel *ch)
{
    struct job_host *h = arg;
    struct job *j = h->job;
    struct hpcboot_error err = {0};

    j->booting--;
    h->stage = HB_STAGE_AGENT;
    h->state = HOST_LINKED;
    if (hb_link_create(&h->link, j->base, ch, 1, &link_events, h, &err) < 0) {
        h->error = err;
        host_give_up(h);
        return;
    }
    arm_ms(h->timer, j->opt->connect_timeout_ms);
    start_more(j);
}

static const struct hb_boot_events boot_events = {
    .stage = on_stage, .chatter = on_boot_chatter,
    .unverified = on_unverified, .reached = on_reached, .open = on_open,
    .failed = on_failed,
};

/* The way in: an explicit command goes before everything, so that it can be
 * tried on one machine; this host needs no login. */
static enum hb_boot_way way_of(const struct job_host *h)
{
    const char *command = h->job->opt->launch_with;

    if (hb_streq(command, "fork")) {
        return HB_BOOT_FORK;
    }
    if (command != NULL && !hb_streq(h->spec->origin, HB_ORIGIN_THIS_HOST)) {
        return HB_BOOT_COMMAND;
    }
    if (h->spec->is_local) {
        return HB_BOOT_FORK;
    }
    /* An operator's own command stands in for SSH, and for nothing else. */
    return h->job->gang.launch_with != NULL ? HB_BOOT_COMMAND : HB_BOOT_SSH;
}

static void make_token(char *out, size_t size)
{
    unsigned char raw[16];

    if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw) {
        abort(); /* no kernel of this century does that */
    }
    for (size_t i = 0; i < sizeof raw && 2 * i + 2 < size; i++) {
        snprintf(out + 2 * i, 3, "%02x", raw[i]);
    }
}

static void host_try(struct job_host *h)
{
    struct job *j = h->job;
    struct hpcboot_error err = {0};
    struct hb_boot_target target = {
        .host = h->spec->name, .user = h->spec->user, .port = h->spec->port,
        .token = h->token,
    };

    h->attempts++;
    h->stage = HB_STAGE_RESOLVE;
    h->chatter_len = 0;
    make_token(h->token, sizeof h->token);
    h->state = HOST_BOOTING;
    if (hb_boot_start(&h->boot, way_of(h), &j->boot, &target, &boot_events, h,
                      &err) < 0) {
        h->error = err;
        host_give_up(h);
        return;
    }
    j->booting++;
}

static void start_more(struct job *j)
{
    for (uint32_t i = 0; i < j->gang.n && j->booting < MAX_BOOTING; i++) {
        struct job_host *h = &j->hosts[i];

        if (h->state == HOST_IDLE && j->phase == JOB_CONNECTING &&
            !evtimer_pending(h->timer, NULL)) {
            host_try(h);
        }
    }
}

/* Time for another try, or the agent of an open stream says nothing. */
static void on_host_timer(evutil_socket_t fd, short what, void *arg)
{
    struct job_host *h = arg;
    struct hpcboot_error err = {0};

    if (h->state == HOST_IDLE) {
        start_more(h->job);
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
    for (uint32_t i = 0; i < j->gang.n; i++) {
        j->hosts[i].timer = evtimer_new(j->base, on_host_timer, &j->hosts[i]);
    }
    start_more(j);
    return 0;
}

void host_close(struct job_host *h)
{
    if (h->state == HOST_BOOTING && h->job->booting > 0) {
        h->job->booting--;
    }
    hb_boot_cancel(h->boot);
    h->boot = NULL;
    hb_link_destroy(h->link);
    h->link = NULL;
    host_doubt_over(h);
    if (h->timer != NULL) {
        event_del(h->timer);
    }
}

/* A host that had been ready is gone. After DONE that is how it should be. */
void host_lost(struct job_host *h, const struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct hb_cause cause = {
        .kind = HB_CAUSE_HOST, .time_ns = hb_now_ns(),
        .host = h->spec->name, .text = err->text,
    };
    enum host_state was = h->state;

    h->error = *err;
    if (was == HOST_DONE) {
        host_close(h);
        job_maybe_over(j);
        return;
    }
    if (j->phase == JOB_CONNECTING) {
        h->reason = (struct hb_boot_reason){HB_WHY_VANISHED, ""};
        host_failed_try(h, HB_STAGE_AGENT);
        return;
    }
    job_event_host(h, "host_lost", err->text);
    host_close(h);
    h->state = HOST_LOST;
    if (j->fences != NULL && h->node != HB_NODE_UNSET) {
        hb_fence_node_lost(j->fences, h->node);
    }
    job_cause(j, &cause);
    job_maybe_over(j);
}

void job_connect_stop(struct job *j)
{
    struct event **timers[] = {&j->verdict_timer, &j->tick_timer,
                               &j->wait_timer};

    for (uint32_t i = 0; i < j->gang.n && j->hosts != NULL; i++) {
        struct job_host *h = &j->hosts[i];

        host_close(h);
        if (h->timer != NULL) {
            event_free(h->timer);
        }
        free(h->slots_origin);
        free(h->gpus_origin);
    }
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++) {
        if (*timers[i] != NULL) {
            event_free(*timers[i]);
            *timers[i] = NULL;
        }
    }
}
