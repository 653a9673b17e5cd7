/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Hosts whose parent in the tree is lost while ranks run. Under the policies
 * that go on their agents wait (bin/hpcbootd/orphan.c), and the launcher takes
 * them for its own: it logs in to each anew and has the new agent hand its
 * link to the one that waits. What hangs below such a host stays below it.
 *
 * What was on its way through the lost parent is said again: each host that
 * others have started has a count of frames for both directions, and a copy
 * of those not confirmed (bin/link/kept.h). While a host is adopted, what is
 * said to it is only kept; what hosts below it say is not heard until they
 * have said RESUMED.
 *
 * The state of a host does not change meanwhile: its ranks run. When the time
 * is over it is lost like any other. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/bringup.h"
#include "bin/job/job_impl.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define AGAIN_MS 300 /* between a login that failed and the next */
/* A frame to nowhere is kept, and no larger than what is kept. */
#define MUTE_MAX ((size_t)64 << 20)

struct job_adoption {
    struct event *timer;
    int64_t until_ns;
    char token[sizeof ((struct job_host *)NULL)->token]; /* the agent's */
    char parent[64];
    int asked;  /* ADOPT was sent */
    int opened; /* what is said goes to the new agent */
};

/* --- what is said -------------------------------------------------------- */

static struct hb_link *way_now(const struct job_host *h)
{
    if (h->adoption != NULL && h->adoption->opened) {
        return h->link;
    }
    return h->resuming ? NULL : host_link(h);
}

struct hb_buf *host_out(struct job_host *h)
{
    struct hb_link *link = way_now(h);
    struct job *j = h->job;
    struct hb_buf *out = link != NULL ? hb_link_out(link) : NULL;

    if (out == NULL && h->kept != NULL) {
        out = &j->mute;
        hb_buf_destroy(out);
        hb_buf_init(out, MUTE_MAX);
    }
    j->said_from = out != NULL ? out->len : 0;
    return out;
}

void host_said(struct job_host *h)
{
    struct hb_link *link = way_now(h);
    const struct job *j = h->job;
    const struct hb_buf *out = link != NULL ? hb_link_out(link) : &j->mute;

    if (h->kept != NULL && out->len > j->said_from) {
        hb_kept_said(h->kept, (struct hb_bytes){out->data + j->said_from,
                                                out->len - j->said_from});
    }
    if (link != NULL) {
        hb_link_flush(link);
    }
}

int host_can_hear(const struct job_host *h)
{
    return host_link(h) != NULL || h->kept != NULL;
}

/* The launcher's own children end with it, at once. */
uint32_t host_orphan_ms(const struct job_host *h)
{
    return h->via != NULL ? h->job->orphan_ms : 0;
}

void host_settle_talk(struct job_host *h)
{
    h->resuming = 0;
    h->repeats = 0;
    host_keep_none(h);
    if (host_orphan_ms(h) > 0) {
        h->kept = hb_xcalloc(1, sizeof *h->kept);
        hb_kept_open(h->kept);
    }
}

int host_heard(struct job_host *h, const struct hb_frame *f)
{
    if (h->resuming && f->type != HB_MSG_RESUMED) {
        return 0;
    }
    if (h->kept != NULL && hb_kept_came(h->kept, f->type)) {
        HOST_SEND(h, ack, .frames = h->kept->came);
    }
    return 1;
}

/* --- adoption ------------------------------------------------------------ */

void host_adopt_end(struct job_host *h)
{
    if (h->adoption != NULL) { /* the login that brings the link had another */
        memcpy(h->token, h->adoption->token, sizeof h->token);
        event_free(h->adoption->timer);
        free(h->adoption);
        h->adoption = NULL;
    }
}

static void give_up(struct job_host *h, const struct hpcboot_error *why)
{
    struct hpcboot_error err = {0};

    hb_fail(&err, HPCBOOT_ERR_CLOSED, "it was reached through %s, which is "
            "lost, and cannot be reached anew: %.300s", h->adoption->parent,
            why->text);
    host_adopt_end(h);
    host_lost(h, &err);
}

static void try_failed(struct job_host *h, const struct hpcboot_error *why)
{
    struct job_adoption *ad = h->adoption;

    ad->asked = 0;
    hb_boot_cancel(h->boot);
    h->boot = NULL;
    hb_link_destroy(h->link);
    h->link = NULL;
    host_doubt_over(h);
    hb_log(HB_DEBUG, "host %s: not adopted yet: %s", h->spec->name,
           why->text);
    if (hb_now_ns() + (int64_t)AGAIN_MS * 1000000 < ad->until_ns) {
        arm_ms(ad->timer, AGAIN_MS);
    } else {
        give_up(h, why);
    }
}

/* The host speaks to the launcher itself from here on; those below it are
 * asked what they have. */
static void resume_below(struct job_host *top)
{
    struct job *j = top->job;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (h->via != NULL && h->kept != NULL && host_link(h) == top->link) {
            h->resuming = 0;
            HOST_SEND(h, resume, .frames = h->kept->came);
            h->resuming = 1;
        }
    }
}

static void adopted(struct job_host *h, const struct hb_frame *f)
{
    struct job *j = h->job;
    struct hpcboot_error err = {0};
    struct hb_msg_resumed m;
    int rc = hb_wire_get_resumed(f, &m, &err);

    if (rc == 0) {
        rc = hb_kept_known(h->kept, m.frames, &err);
    }
    if (rc < 0) {
        give_up(h, &err);
        return;
    }
    hb_log(HB_DEBUG, "host %s: was reached through %s and is adopted",
           h->spec->name, h->adoption->parent);
    job_event_host(h, "host_adopted", h->adoption->parent);
    host_adopt_end(h);
    h->repeats = m.fences;
    hb_kept_repeat(h->kept, hb_link_out(h->link));
    host_keep_none(h);
    host_send_welcome(h, (uint32_t)j->opt->heartbeat_ms);
    resume_below(h);
}

static int take_hello(struct job_host *h, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct job_adoption *ad = h->adoption;
    struct hb_frame hello;
    struct hb_msg_hello m;
    int rc = 0;

    if (f->type == HB_MSG_PROOF) {
        rc = host_judge_proof(h, f, &hello, err);
        f = &hello;
    }
    if (rc >= 0) {
        rc = host_read_hello(h, f, &m, err);
    }
    if (rc < 0) {
        return rc;
    }
    ad->opened = 1;
    if (h->doubt != NULL && !h->pinned && !h->proven) {
        host_ask_proof(h, f);
    } else {
        hb_link_limit(h->link, 0);
        host_send_welcome(h, 0); /* no beat may cross the handing over */
        HOST_SEND(h, adopt, .token = ad->token, .frames = h->kept->came);
        host_doubt_over(h); /* which may have kept the HELLO */
        ad->asked = 1;
    }
    ad->opened = 0;
    return 0;
}

static void on_frame(void *arg, const struct hb_frame *f)
{
    struct job_host *h = arg;
    struct hpcboot_error err = {0};
    struct hb_msg_failed m;

    if (h->adoption == NULL) {
        host_top_frame(h, f);
    } else if (!h->adoption->asked) {
        if (take_hello(h, f, &err) < 0) {
            try_failed(h, &err);
        }
    } else if (f->type == HB_MSG_RESUMED) {
        adopted(h, f);
    } else if (hb_wire_get_failed(f, &m, &err) == 0) {
        hb_fail(&err, m.code, "%s", m.text);
        give_up(h, &err);
    } else {
        try_failed(h, &err);
    }
}

static void on_chatter(void *arg, const char *text, size_t len)
{
    struct job_host *h = arg;

    hb_words_add(&h->words, text, len);
}

static void on_drained(void *arg)
{
    host_go_on(arg);
}

static void on_suspect(void *arg, uint32_t silent_ms)
{
    struct job_host *h = arg;

    host_suspect(h, silent_ms, hb_link_peer_load_milli(h->link));
}

static void on_lost(void *arg, const struct hpcboot_error *err)
{
    struct job_host *h = arg;
    struct hpcboot_error why = {0};

    if (h->adoption == NULL) {
        host_link_lost(h, err);
        return;
    }
    hb_words_no_agent(&h->words, err, &why);
    try_failed(h, &why);
}

static const struct hb_link_events link_events = {
    .frame = on_frame, .chatter = on_chatter, .drained = on_drained,
    .suspect = on_suspect, .lost = on_lost,
};

static void on_open(void *arg, struct hb_channel *ch)
{
    struct job_host *h = arg;

    h->link = hb_link_create(h->job->base, ch, 1, &link_events, h);
    hb_link_limit(h->link, HB_LINK_STRANGER_MAX);
    arm_ms(h->adoption->timer, h->job->opt->connect_timeout_ms);
}

static void on_stage(void *arg, enum hb_boot_stage stage, const char *detail)
{
    const struct job_host *h = arg;

    hb_log(HB_TRACE, "host %s: adoption: %s", h->spec->name,
           hb_boot_stage_name(stage));
}

static void on_unverified(void *arg, const struct hb_boot_unverified *key)
{
    host_doubt(arg, key);
}

static void on_reached(void *arg, const char *member)
{
}

static void on_failed(void *arg, enum hb_boot_stage stage,
                      const struct hpcboot_error *err)
{
    try_failed(arg, err);
}

static const struct hb_boot_events boot_events = {
    .stage = on_stage, .chatter = on_chatter, .unverified = on_unverified,
    .reached = on_reached, .open = on_open, .failed = on_failed,
};

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct job_host *h = arg;
    struct job *j = h->job;
    struct hpcboot_error err = {0};
    struct hb_boot_target target = {
        .host = h->spec->name, .user = h->spec->user, .port = h->spec->port,
        .token = h->token, .in_session = h->in_session,
    };

    if (h->boot != NULL) {
        hb_fail(&err, HPCBOOT_ERR_TIMED_OUT, "no answer within %.10g s",
                (double)j->opt->connect_timeout_ms / 1000);
        try_failed(h, &err);
        return;
    }
    hb_words_clear(&h->words);
    host_make_token(h);
    if (hb_boot_start(&h->boot, host_way(h), &j->boot, &target, &boot_events,
                      h, &err) < 0) {
        try_failed(h, &err);
    }
}

void host_adopt(struct job_host *h, const char *lost_parent)
{
    struct job_adoption *ad = hb_xcalloc(1, sizeof *ad);
    struct job *j = h->job;

    ad->timer = evtimer_new(j->base, on_timer, h);
    ad->until_ns = hb_deadline_in_ms(j->orphan_ms);
    memcpy(ad->token, h->token, sizeof ad->token);
    snprintf(ad->parent, sizeof ad->parent, "%s", lost_parent);
    h->adoption = ad;
    h->resuming = 0;
    job_event_host(h, "host_orphaned", lost_parent);
    arm_ms(ad->timer, 0);
}

/* Of hosts that are not being adopted themselves. */
int job_adopt_frame(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct hb_link *link = host_link(h);
    struct hb_msg_ack ack;
    struct hb_msg_resumed m;
    int rc;

    if (h->kept == NULL) {
        return 0; /* it was on its way when the host was adopted */
    }
    if (f->type == HB_MSG_ACK) {
        rc = hb_wire_get_ack(f, &ack, err);
        return rc < 0 ? rc : hb_kept_confirmed(h->kept, ack.frames, err);
    }
    rc = hb_wire_get_resumed(f, &m, err);
    if (rc == 0) {
        rc = hb_kept_known(h->kept, m.frames, err);
    }
    if (rc == 0) {
        h->resuming = 0;
        if (link != NULL) {
            hb_kept_repeat(h->kept, hb_link_out(link));
            hb_link_flush(link);
        }
    }
    return rc;
}
