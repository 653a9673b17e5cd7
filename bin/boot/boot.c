/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Starting an agent on a host: the choice of the way in, and what the ways
 * share. A way is created by hb_boot_start, begins when the loop comes to its
 * start event, and from then on speaks through the emit functions, which keep
 * one promise to both sides: the caller may cancel from inside any event, and
 * the way learns of it from the return value before it touches the boot again.
 * Freeing is put off until the outermost event has returned. */
#include "config.h"

#include "bin/boot/boot_impl.h"
#include "bin/boot/child.h"

#include <event2/event.h>
#include <string.h>

#include "lib/base/module_load.h"
#include "lib/base/str.h"

const char *hb_boot_stage_name(enum hb_boot_stage stage)
{
    static const char *const names[] = {
        [HB_STAGE_RESOLVE] = "resolve",   [HB_STAGE_CONNECT] = "connect",
        [HB_STAGE_BANNER] = "banner",     [HB_STAGE_HOST_KEY] = "host key",
        [HB_STAGE_AUTH] = "authenticate", [HB_STAGE_AGENT] = "agent",
        [HB_STAGE_READY] = "ready",
    };
    return (size_t)stage < sizeof names / sizeof names[0] ? names[stage] : "?";
}

static const struct hb_ssh_way *ssh_way; /* once it has been needed */

static int open_ssh(const char *host, struct hpcboot_error *err)
{
    const void *symbol;
    struct hpcboot_error why;
    int rc = hb_module_open(HB_SSH_MODULE, HB_SSH_SYMBOL, &symbol, &why);

    if (rc < 0) {
        return hb_fail(err, rc, "%s: cannot log in over SSH: %s; "
                       "--launch-with ssh starts agents by the ssh command",
                       host, why.text);
    }
    ssh_way = symbol;
    return HPCBOOT_OK;
}

static int ssh_create(struct hb_boot **out, const struct hb_boot_config *config,
                      const struct hb_boot_target *target,
                      const struct hb_boot_events *events, void *arg,
                      struct hpcboot_error *err)
{
    int rc = open_ssh(target->host, err);

    return rc < 0 ? rc : ssh_way->create(out, config, target, events, arg, err);
}

int hb_boot_by_others(const struct hb_boot_config *config,
                      const struct hb_boot_target *target, char **user_out,
                      int *port_out)
{
    return open_ssh(target->host, NULL) == HPCBOOT_OK
           && ssh_way->by_others(config, target, user_out, port_out);
}

void hb_boot_known_hosts(const struct hb_boot_config *config,
                         const struct hb_boot_target *target,
                         struct hb_buf *out)
{
    if (open_ssh(target->host, NULL) == HPCBOOT_OK) {
        ssh_way->known_hosts(config, target, out);
    }
}

void hb_boot_settle(void)
{
    if (ssh_way) {
        ssh_way->settle();
    }
    hb_children_settle();
}

typedef int (*create_fn)(struct hb_boot **out,
                         const struct hb_boot_config *config,
                         const struct hb_boot_target *target,
                         const struct hb_boot_events *events, void *arg,
                         struct hpcboot_error *err);

int hb_boot_start(struct hb_boot **out, enum hb_boot_way way,
                  const struct hb_boot_config *config,
                  const struct hb_boot_target *target,
                  const struct hb_boot_events *events, void *arg,
                  struct hpcboot_error *err)
{
    static const create_fn ways[] = {
        [HB_BOOT_FORK] = hb_boot_fork_create,
        [HB_BOOT_SSH] = ssh_create,
        [HB_BOOT_COMMAND] = hb_boot_command_create,
    };

    if ((size_t)way >= sizeof ways / sizeof ways[0]) {
        return hb_fail(err, HPCBOOT_ERR_INTERNAL, "no such way in: %d",
                       (int)way);
    }
    /* A name that begins with a dash would be an option of the command that
     * is given it. */
    if (!target->host || !*target->host || target->host[0] == '-') {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "\"%s\" is not a host name",
                       target->host ? target->host : "");
    }
    return ways[way](out, config, target, events, arg, err);
}

static void start_cb(evutil_socket_t fd, short what, void *arg)
{
    struct hb_boot *boot = arg;

    event_free(boot->start_event);
    boot->start_event = NULL;
    hb_boot_enter(boot);
    boot->ops->start(boot);
    hb_boot_leave(boot);
}

int hb_boot_init(struct hb_boot *boot, const struct hb_boot_ops *ops,
                 const struct hb_boot_config *config,
                 const struct hb_boot_events *events, void *arg,
                 struct hpcboot_error *err)
{
    boot->ops = ops;
    boot->config = config;
    boot->events = events;
    boot->arg = arg;
    boot->start_event = event_new(config->base, -1, 0, start_cb, boot);
    if (!boot->start_event) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
    }
    event_active(boot->start_event, EV_TIMEOUT, 1);
    return HPCBOOT_OK;
}

void hb_boot_fini(struct hb_boot *boot)
{
    if (boot->start_event) {
        event_free(boot->start_event);
        boot->start_event = NULL;
    }
}

void hb_boot_enter(struct hb_boot *boot)
{
    boot->depth++;
}

int hb_boot_leave(struct hb_boot *boot)
{
    int cancelled = boot->cancelled;

    if (--boot->depth == 0 && cancelled) {
        boot->ops->destroy(boot);
    }
    return cancelled;
}

void hb_boot_cancel(struct hb_boot *boot)
{
    if (!boot) {
        return;
    }
    boot->cancelled = 1;
    if (boot->depth == 0) {
        boot->ops->destroy(boot);
    }
}

const struct hb_boot_reason *hb_boot_reason(const struct hb_boot *boot)
{
    return &boot->reason;
}

int hb_boot_explain(struct hb_boot *boot, struct hpcboot_error *err)
{
    if (!boot->ops->explain) {
        return hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "no answer yet (%s)",
                       hb_boot_stage_name(boot->stage));
    }
    boot->ops->explain(boot, err);
    return err->code;
}

int hb_boot_emit_stage(struct hb_boot *boot, enum hb_boot_stage stage,
                       const char *detail)
{
    boot->stage = stage;
    hb_boot_enter(boot);
    if (!boot->cancelled && boot->events->stage) {
        boot->events->stage(boot->arg, stage, detail ? detail : "");
    }
    return hb_boot_leave(boot);
}

int hb_boot_emit_chatter(struct hb_boot *boot, const char *text, size_t len)
{
    hb_boot_enter(boot);
    if (!boot->cancelled && boot->events->chatter) {
        boot->events->chatter(boot->arg, text, len);
    }
    return hb_boot_leave(boot);
}

int hb_boot_emit_unverified(struct hb_boot *boot,
                            const struct hb_boot_unverified *host)
{
    hb_boot_enter(boot);
    if (!boot->cancelled && boot->events->unverified) {
        boot->events->unverified(boot->arg, host);
    }
    return hb_boot_leave(boot);
}

int hb_boot_emit_reached(struct hb_boot *boot, const char *member)
{
    hb_boot_enter(boot);
    if (!boot->cancelled && boot->events->reached) {
        boot->events->reached(boot->arg, member);
    }
    return hb_boot_leave(boot);
}

int hb_boot_proves(const struct hb_boot *boot, struct hb_bytes nonce,
                   const char *token, struct hb_bytes host_key,
                   struct hb_bytes proofs)
{
    return boot && boot->ops->proves
        && boot->ops->proves(boot, nonce, token, host_key, proofs);
}

void hb_boot_proven(const struct hb_boot *boot, struct hb_bytes host_key)
{
    if (boot && boot->ops->proven) {
        boot->ops->proven(boot, host_key);
    }
}

int hb_boot_emit_open(struct hb_boot *boot, struct hb_channel *ch)
{
    hb_boot_enter(boot);
    if (boot->cancelled || !boot->events->open) {
        ch->ops->close(ch);
    } else {
        boot->events->open(boot->arg, ch);
    }
    return hb_boot_leave(boot);
}

int hb_boot_emit_failed(struct hb_boot *boot, const struct hpcboot_error *err)
{
    hb_boot_enter(boot);
    if (!boot->cancelled && boot->events->failed) {
        boot->events->failed(boot->arg, boot->stage, err);
    }
    return hb_boot_leave(boot);
}
