/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Probes: how far a login to a host comes that is begun now. It is given up
 * when the host's key has been seen, so nothing is started there.
 *
 * They tell what has become of a host whose agent is not heard any more, since
 * the end of a link does not say whether a pod was deleted, frozen or cut off;
 * and whether a host that has come into an elastic gang takes logins
 * (elastic.c).
 *
 * The one of a host begins when a host is suspected (bin/link), or when its
 * link has broken without a warning; in that case it has until the job's last
 * words. The launcher asks, also for hosts that were started by others. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/bringup.h"
#include "bin/job/job_impl.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* Thousands that vanish together have one reason. */
#define PROBES_MAX 16u
/* For the answer after a link has broken; one that is there comes at once. */
#define LAST_WAIT_MS 1000

struct job_probe {
    struct job *job;
    void (*told)(void *arg); /* when it is over; or NULL */
    void *arg;
    struct hb_boot *boot;
    struct event *enough; /* ends the boot, outside of its own event */
    enum hb_boot_stage reached;
    enum hb_boot_why why; /* where it failed */
    int over;
};

static void on_enough(evutil_socket_t fd, short what, void *arg)
{
    struct job_probe *p = arg;

    hb_boot_cancel(p->boot);
    p->boot = NULL;
    p->over = 1;
    if (p->job->phase == JOB_OVER) {
        event_base_loopbreak(p->job->base);
    }
    if (p->told != NULL) {
        p->told(p->arg); /* which may end it */
    }
}

static void enough(struct job_probe *p)
{
    static const struct timeval now = {0, 0};

    event_add(p->enough, &now);
}

static void on_stage(void *arg, enum hb_boot_stage stage, const char *detail)
{
    struct job_probe *p = arg;

    p->reached = stage;
    if (stage >= HB_STAGE_AUTH) {
        enough(p);
    }
}

static void on_chatter(void *arg, const char *text, size_t len)
{
}

static void on_unverified(void *arg, const struct hb_boot_unverified *key)
{
    struct job_probe *p = arg;

    if (key->changed) {
        p->why = HB_WHY_HOST_KEY;
    }
}

static void on_reached(void *arg, const char *member)
{
}

static void on_open(void *arg, struct hb_channel *ch)
{
    ch->ops->close(ch); /* cannot be: it is ended before the login */
}

static void on_failed(void *arg, enum hb_boot_stage stage,
                      const struct hpcboot_error *err)
{
    struct job_probe *p = arg;

    p->reached = stage;
    p->why = hb_boot_reason(p->boot)->why;
    enough(p);
}

static const struct hb_boot_events events = {
    .stage = on_stage, .chatter = on_chatter, .unverified = on_unverified,
    .reached = on_reached, .open = on_open, .failed = on_failed,
};

struct job_probe *job_probe_begin(struct job *j,
                                  const struct hb_boot_target *target,
                                  void (*told)(void *arg), void *arg)
{
    struct hpcboot_error err = {0};
    struct job_probe *p;

    if (j->n_probes >= PROBES_MAX) {
        return NULL;
    }
    p = hb_xcalloc(1, sizeof *p);
    j->n_probes++;
    p->job = j;
    p->told = told;
    p->arg = arg;
    p->enough = evtimer_new(j->base, on_enough, p);
    if (p->enough == NULL ||
        hb_boot_start(&p->boot, HB_BOOT_SSH, &j->boot, target, &events, p,
                      &err) < 0) {
        job_probe_end(p);
        return NULL;
    }
    return p;
}

void job_probe_end(struct job_probe *p)
{
    if (p == NULL) {
        return;
    }
    hb_boot_cancel(p->boot);
    if (p->enough != NULL) {
        event_free(p->enough);
    }
    p->job->n_probes--;
    free(p);
}

int job_probe_takes_logins(const struct job_probe *p)
{
    return p->why == HB_WHY_OTHER && p->reached >= HB_STAGE_AUTH;
}

void host_probe(struct job_host *h)
{
    const struct hb_boot_target target = {
        .host = h->spec->name, .user = h->spec->user, .port = h->spec->port,
        .token = h->token,
    };

    if (h->probe == NULL && host_way(h) == HB_BOOT_SSH) {
        h->probe = job_probe_begin(h->job, &target, NULL, NULL);
    }
}

void host_probe_end(struct job_host *h)
{
    job_probe_end(h->probe);
    h->probe = NULL;
}

static const char *words_of_failure(enum hb_boot_why why, int silent)
{
    switch (why) {
    case HB_WHY_NO_NAME:
        return "its name is gone, as when a pod is deleted";
    case HB_WHY_UNREACHABLE:
    case HB_WHY_SILENT:
        return silent ? "nothing answers at its address: its network is cut, "
                        "or it is down"
                      : "nothing answers at its address: it is down, or the "
                        "pod was deleted";
    case HB_WHY_REFUSED:
        return "its address refuses logins: it was started anew, or is "
               "ending";
    case HB_WHY_HOST_KEY:
        return "it answers with another host key: it was made anew";
    case HB_WHY_BANNER:
    case HB_WHY_HUNG_UP:
        return "its kernel answers and its processes do not: it is frozen, "
               "or starved of CPU";
    default:
        return NULL;
    }
}

static const char *words_of_logins(const struct job_host *h, int silent)
{
    if (silent) {
        return "it takes logins: only the agent there is stopped, or cannot "
               "be heard";
    }
    return h->agent_killed
               ? "it takes logins: only the agent there was killed, by hand or "
                 "for want of memory"
               : "it takes logins: it was started anew, or the process that "
                 "served its login was killed";
}

const char *host_probe_words(const struct job_host *h, int silent)
{
    const struct job_probe *p = h->probe;

    if (p == NULL || p->why != HB_WHY_OTHER) {
        return p != NULL ? words_of_failure(p->why, silent) : NULL;
    }
    switch (p->reached) {
    case HB_STAGE_CONNECT:
        return words_of_failure(HB_WHY_SILENT, silent);
    case HB_STAGE_BANNER:
        return words_of_failure(HB_WHY_BANNER, silent);
    case HB_STAGE_HOST_KEY:
    case HB_STAGE_AUTH:
        return words_of_logins(h, silent);
    default:
        return NULL;
    }
}

static void event_life(struct job_host *h, const char *name,
                       uint32_t silent_ms, uint32_t load_milli)
{
    struct hb_json *js = job_event(h->job, name);

    if (js != NULL) {
        hb_json_str(js, "host", h->spec->name);
        if (silent_ms > 0) {
            hb_json_int(js, "silent_ms", silent_ms);
        }
        hb_json_real(js, "load", (double)load_milli / 1000);
        job_event_end(h->job);
    }
}

void host_suspect(struct job_host *h, uint32_t silent_ms, uint32_t load_milli)
{
    if (silent_ms == 0) {
        event_life(h, "host_alive", 0, load_milli);
        hb_log(HB_DEBUG, "host %s is heard again", h->spec->name);
        host_probe_end(h);
        return;
    }
    h->job->n_suspected++;
    event_life(h, "host_suspect", silent_ms, load_milli);
    hb_log(HB_DEBUG, "host %s has been silent for %.1f s; its load was %.2f",
           h->spec->name, silent_ms / 1000.0, load_milli / 1000.0);
    host_probe(h);
}

static void on_last(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;

    event_base_loopbreak(j->base);
}

/* The host whose loss ended the job, if what became of it is not said. */
static struct job_host *untold(const struct job *j)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (h->probe != NULL && h->lost_ns != 0 &&
            h->lost_ns == j->verdict.time_ns) {
            return h;
        }
    }
    return NULL;
}

void job_probe_last(struct job *j)
{
    static const struct timeval wait = {LAST_WAIT_MS / 1000, 0};
    struct job_host *h = j->verdict.kind == HB_CAUSE_HOST ? untold(j) : NULL;
    size_t len = strlen(j->verdict.text);
    const char *words;

    if (h == NULL) {
        return;
    }
    if (!h->probe->over) {
        event_base_once(j->base, -1, EV_TIMEOUT, on_last, j, &wait);
        event_base_dispatch(j->base);
    }
    words = host_probe_words(h, 0);
    if (words != NULL) {
        snprintf(j->verdict.text + len, sizeof j->verdict.text - len, "; %s",
                 words);
    }
}
