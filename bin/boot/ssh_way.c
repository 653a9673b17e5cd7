/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* An agent started over SSH: the module hb_ssh.so.
 *
 *   resolve -> connect -> banner -> host key -> authenticate -> agent -> open
 *
 * Up to the banner the socket is ours; from there on libssh speaks, driven by
 * the loop: each time the socket is ready, or something new is to be done,
 * `step` calls the function of the present stage, which goes on as far as it
 * can without waiting. Each stage has a deadline, and its passing is put into
 * words that say what was and what was not seen.
 *
 * The server's small packets come 40 ms late when ours are acknowledged late,
 * so quick acknowledgement is asked for again before each read (the kernel
 * forgets it) until the agent's stream is open. */
#include "config.h"

#include "bin/boot/ssh_way.h"

#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "bin/boot/dial.h"
#include "bin/boot/resolve.h"
#include "bin/boot/ssh_channel.h"
#include "bin/boot/ssh_gang.h"
#include "bin/boot/ssh_proxy.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define STAGE_TIMEOUT_MS 10000 /* where the configuration gives none */
/* A resolver that waits for name servers which are gone, for each of several
 * search domains, has an end of its own, and an answer perhaps. Whoever asks
 * anew before that begins at the first of them again. */
#define RESOLVE_MS 120000

static void free_event(struct event **event)
{
    if (*event) {
        event_free(*event);
        *event = NULL;
    }
}

void hb_ssh_quiet(struct hb_ssh_boot *b)
{
    free_event(&b->socket_event);
    free_event(&b->write_event);
    if (b->timer) {
        evtimer_del(b->timer);
    }
}

void hb_ssh_drop(struct hb_ssh_boot *b)
{
    hb_ssh_quiet(b);
    hb_resolve_cancel(b->resolve);
    b->resolve = NULL;
    hb_dial_destroy(b->dial);
    b->dial = NULL;
    hb_ssh_exit_destroy(b->exit);
    b->exit = NULL;
    if (b->session) {
        ssh_free(b->session); /* with the channel; closes the socket it has */
        b->session = NULL;
        b->channel = NULL;
    }
    if (b->fd_owned) {
        hb_fd_close(&b->fd);
    }
    b->fd = -1;
    b->fd_owned = 0;
    hb_ssh_proxy_destroy(b->proxy);
    b->proxy = NULL;
}

static void destroy(struct hb_boot *boot)
{
    struct hb_ssh_boot *b = (struct hb_ssh_boot *)boot;

    if (b->open_channel) {
        hb_ssh_channel_set_chatter(b->open_channel, NULL, NULL, NULL);
    }
    hb_ssh_drop(b);
    free_event(&b->timer);
    free_event(&b->retry_timer);
    hb_ssh_auth_destroy(b->auth);
    hb_ssh_settings_destroy(&b->settings);
    hb_boot_fini(boot);
    free(b->host);
    free(b->command);
    free(b);
}

void hb_ssh_because(struct hb_ssh_boot *b, enum hb_boot_why why)
{
    struct hb_boot_reason *r = &b->boot.reason;

    r->why = why;
    r->where[0] = '\0';
    if (b->port_refused && why == HB_WHY_REFUSED) {
        snprintf(r->where, sizeof r->where, "ports %d and %d", b->port_refused,
                 b->settings.port);
    } else if (!b->proxy) {
        snprintf(r->where, sizeof r->where, "port %d", b->settings.port);
    }
}

/* Where the place of the failure has not said more. */
static enum hb_boot_why usual_why(enum hb_boot_stage stage, int code)
{
    static const enum hb_boot_why whys[HB_STAGE_READY + 1] = {
        [HB_STAGE_RESOLVE] = HB_WHY_NO_NAME,
        [HB_STAGE_CONNECT] = HB_WHY_SILENT,
        [HB_STAGE_BANNER] = HB_WHY_BANNER,
        [HB_STAGE_HOST_KEY] = HB_WHY_BROKE_OFF,
        [HB_STAGE_AUTH] = HB_WHY_BROKE_OFF,
        [HB_STAGE_AGENT] = HB_WHY_AGENT,
    };

    if (code == HPCBOOT_ERR_AUTH) {
        return stage == HB_STAGE_HOST_KEY ? HB_WHY_HOST_KEY : HB_WHY_LOGIN;
    }
    return code == HPCBOOT_ERR_HOST ? whys[stage] : HB_WHY_OTHER;
}

void hb_ssh_fail(struct hb_ssh_boot *b, const struct hpcboot_error *err)
{
    struct hpcboot_error copy = *err;

    if (b->boot.reason.why == HB_WHY_OTHER) {
        hb_ssh_because(b, usual_why(b->boot.stage, err->code));
    }
    hb_ssh_drop(b);
    evtimer_del(b->retry_timer);
    hb_boot_emit_failed(&b->boot, &copy);
}

void hb_ssh_failf(struct hb_ssh_boot *b, int code, const char *fmt, ...)
{
    struct hpcboot_error err = {0};
    struct hb_str text = HB_STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    hb_str_vputf(&text, fmt, ap);
    va_end(ap);
    hb_fail(&err, code, "%s: %s", b->host, hb_str_text(&text));
    hb_str_destroy(&text);
    hb_ssh_fail(b, &err);
}

void hb_ssh_arm(struct event *timer, int64_t ms)
{
    struct timeval time = {ms / 1000, ms % 1000 * 1000};

    evtimer_add(timer, &time);
}

static int stage_ms(const struct hb_ssh_boot *b, enum hb_boot_stage stage)
{
    const struct hb_boot_config *config = b->boot.config;
    int ms = config->connect_timeout_ms;

    ms = ms > 0 ? ms : STAGE_TIMEOUT_MS;
    if (config->dial_timeout_ms == 0) { /* nothing is tried again */
        return ms;
    }
    if (stage == HB_STAGE_RESOLVE) {
        return ms > RESOLVE_MS ? ms : RESOLVE_MS;
    }
    return stage == HB_STAGE_CONNECT && config->dial_timeout_ms < ms
               ? config->dial_timeout_ms : ms;
}

static void begin_deadline(struct hb_ssh_boot *b, enum hb_boot_stage stage)
{
    b->deadline_ns = hb_deadline_in_ms(stage_ms(b, stage));
    hb_ssh_arm(b->timer, stage_ms(b, stage));
}

void hb_ssh_stage_anew(struct hb_ssh_boot *b)
{
    begin_deadline(b, b->boot.stage);
}

int hb_ssh_enter_stage(struct hb_ssh_boot *b, enum hb_boot_stage stage,
                       const char *detail)
{
    begin_deadline(b, stage);
    return hb_boot_emit_stage(&b->boot, stage, detail);
}

/* What has been seen of the host in this stage, and is missing. */
static void describe(struct hb_ssh_boot *b, struct hb_str *text)
{
    hb_ssh_because(b, b->proxy && b->boot.stage == HB_STAGE_BANNER
                   ? HB_WHY_UNREACHABLE
                   : usual_why(b->boot.stage, HPCBOOT_ERR_HOST));
    switch (b->boot.stage) {
    case HB_STAGE_RESOLVE:
        b->boot.reason.why = HB_WHY_NAME_SILENT;
        hb_str_putf(text, "the name %.128s does not resolve: the name server "
                    "gives no answer", b->settings.hostname);
        break;
    case HB_STAGE_CONNECT:
        if (b->dial) {
            hb_dial_explain(b->dial, text);
        }
        break;
    case HB_STAGE_BANNER:
        hb_str_putf(text, b->proxy ? "%s brings no SSH banner"
                    : "%s accepts connections but sends no SSH banner",
                    b->address);
        if (b->proxy && *hb_ssh_proxy_words(b->proxy)) {
            hb_str_putf(text, "; it said: \"%.200s\"",
                        hb_ssh_proxy_words(b->proxy));
        } else if (b->preface_bytes > 0) {
            hb_str_putf(text, "; it sends: %.160s", b->preface);
        }
        break;
    case HB_STAGE_HOST_KEY:
        hb_str_putf(text, "%s stopped during the key exchange", b->address);
        break;
    case HB_STAGE_AUTH:
        hb_str_putf(text, "%s does not answer the login of %.64s", b->address,
                    b->settings.user);
        break;
    default:
        hb_str_putf(text, "%s does not start the command", b->address);
        break;
    }
}

static int64_t left_ms(const struct hb_ssh_boot *b)
{
    return hb_deadline_left_ms(b->deadline_ns);
}

/* The deadline; or, before it, a second look at half a banner. */
static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
    struct hb_ssh_boot *b = arg;
    struct hb_str text = HB_STR_INIT;
    int64_t left = left_ms(b);
    int limit;

    if (left > 0) {
        hb_ssh_arm(b->timer, left);
        if (b->boot.stage == HB_STAGE_BANNER) {
            hb_ssh_step(b);
        }
        return;
    }
    if (b->boot.stage == HB_STAGE_CONNECT && b->dial
        && hb_dial_refused(b->dial) && hb_ssh_other_port(b)) {
        return;
    }
    describe(b, &text);
    limit = stage_ms(b, b->boot.stage);
    hb_str_putf(&text, " (within %d.%d s)", limit / 1000, limit % 1000 / 100);
    hb_ssh_failf(b, HPCBOOT_ERR_HOST, "%s", hb_str_text(&text));
    hb_str_destroy(&text);
}

static void retry_cb(evutil_socket_t fd, short what, void *arg)
{
    hb_ssh_connect(arg);
}

static void quick_ack(int fd)
{
    int on = 1;

    /* Only TCP knows it; a proxy's socket pair refuses, which is fine. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

/* A step has read, and waits for more. */
static void look_at_socket(struct hb_ssh_boot *b)
{
    if (hb_ssh_meter_is_over(&b->meter, b->session, HB_SSH_LOGIN_PACKETS)) {
        hb_ssh_failf(b, HPCBOOT_ERR_HOST, "%s %s", b->address,
                     HB_SSH_METER_WORDS);
    } else if (ssh_get_poll_flags(b->session) & SSH_WRITE_PENDING) {
        event_add(b->write_event, NULL);
    }
}

typedef int (*step_fn)(struct hb_ssh_boot *b);

void hb_ssh_step(struct hb_ssh_boot *b)
{
    static const step_fn steps[] = {
        [HB_STAGE_BANNER] = hb_ssh_banner_step,
        [HB_STAGE_HOST_KEY] = hb_ssh_kex_step,
        [HB_STAGE_AUTH] = hb_ssh_auth_stage,
        [HB_STAGE_AGENT] = hb_ssh_agent_step,
    };
    struct hb_boot *boot = &b->boot;
    int rc;

    hb_boot_enter(boot);
    do {
        quick_ack(b->fd);
        rc = steps[boot->stage](b);
    } while (rc > 0);
    if (rc == 0 && b->session) {
        look_at_socket(b);
    }
    hb_boot_leave(boot);
}

static void start(struct hb_boot *boot)
{
    hb_ssh_connect((struct hb_ssh_boot *)boot);
}

static void explain(struct hb_boot *boot, struct hpcboot_error *err)
{
    struct hb_ssh_boot *b = (struct hb_ssh_boot *)boot;
    struct hb_str text = HB_STR_INIT;

    describe(b, &text);
    hb_fail(err, HPCBOOT_ERR_HOST, "%s", hb_str_text(&text));
    hb_str_destroy(&text);
}

static int proves(const struct hb_boot *boot, struct hb_bytes nonce,
                  const char *token, struct hb_bytes host_key,
                  struct hb_bytes proofs)
{
    const struct hb_ssh_boot *b = (const struct hb_ssh_boot *)boot;
    struct hb_ssh_gang gang = hb_ssh_auth_gang(b->auth);

    return hb_ssh_gang_proves(&gang, nonce, token, host_key, proofs);
}

static void proven(const struct hb_boot *boot, struct hb_bytes host_key)
{
    hb_ssh_host_key_proven(&((const struct hb_ssh_boot *)boot)->settings,
                           host_key);
}

static const struct hb_boot_ops ssh_boot_ops = {
    .start = start, .destroy = destroy, .explain = explain,
    .proves = proves, .proven = proven,
};

static int create(struct hb_boot **out, const struct hb_boot_config *config,
                  const struct hb_boot_target *target,
                  const struct hb_boot_events *events, void *arg,
                  struct hpcboot_error *err)
{
    struct hb_ssh_boot *b = hb_xcalloc(1, sizeof *b);
    int rc;

    b->fd = -1;
    b->host = hb_xstrdup(target->host);
    b->command = hb_boot_remote_command(config, target);
    rc = hb_boot_init(&b->boot, &ssh_boot_ops, config, events, arg, err);
    if (rc == HPCBOOT_OK) {
        b->timer = evtimer_new(config->base, timer_cb, b);
        b->retry_timer = evtimer_new(config->base, retry_cb, b);
        rc = b->timer && b->retry_timer ? HPCBOOT_OK
            : hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
    }
    if (rc == HPCBOOT_OK) {
        rc = hb_ssh_settings_make(&b->settings, config, target, err);
    }
    if (rc < 0) {
        destroy(&b->boot);
        return rc;
    }
    b->auth = hb_ssh_auth_create(&b->settings, config,
                                 target->in_session ? config->session : NULL);
    *out = &b->boot;
    return HPCBOOT_OK;
}

extern const struct hb_ssh_way hb_ssh_way;
const struct hb_ssh_way hb_ssh_way = {
    .create = create, .by_others = hb_ssh_by_others,
    .known_hosts = hb_ssh_known_hosts, .settle = hb_ssh_channels_end
};
