/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Exit policy. Every failure becomes a struct hb_cause; the earliest decides
 * the status and the sentence. See verdict.h for the rules. */
#include "config.h"

#include "bin/job/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Clocks of two hosts are compared over a network: moments closer than this
 * cannot be put in order. */
#define SAME_MOMENT_NS (20 * 1000 * 1000)
/* What takes a host takes its ranks at once, and is noticed when it has been
 * silent for long: 15 s by default, and so long at most. */
#define SAME_FATE_NS (INT64_C(60) * 1000 * 1000 * 1000)
#define SIGNAL_STATUS 128
#define STATUS_MASK 255

void hb_signal_text(int signo, char *text, size_t size)
{
    const char *abbrev = sigabbrev_np(signo);
    const char *descr = sigdescr_np(signo);

    if (abbrev == NULL) {
        snprintf(text, size, "signal %d", signo);
    } else {
        snprintf(text, size, "signal %d: SIG%s (%s)", signo, abbrev,
                 descr != NULL ? descr : "?");
    }
}

static int outranks(enum hb_cause_kind kind)
{
    return kind == HB_CAUSE_SIGNAL || kind == HB_CAUSE_ABORT ||
           kind == HB_CAUSE_START;
}

static int has_evidence(const struct hb_cause *c)
{
    return c->evidence != NULL && c->evidence[0] != '\0';
}

static int is_same_moment(const struct hb_verdict *v, const struct hb_cause *c)
{
    int64_t earlier_ns = v->time_ns - c->time_ns;

    return earlier_ns > -SAME_MOMENT_NS && earlier_ns < SAME_MOMENT_NS;
}

/* Ranks die of SIGKILL because of nobody's exit. */
static int is_late_kill(const struct hb_verdict *v, const struct hb_cause *c)
{
    return c->kind == HB_CAUSE_SIGNAL && c->code == SIGKILL &&
           v->kind == HB_CAUSE_EXIT && is_same_moment(v, c);
}

int hb_verdict_explained_by(const struct hb_verdict *v,
                            const struct hb_cause *c)
{
    return is_late_kill(v, c) ||
           (c->kind == HB_CAUSE_HOST && c->host != NULL &&
            c->time_ns - v->time_ns < SAME_FATE_NS &&
            v->killed_on[0] != '\0' && strcmp(v->killed_on, c->host) == 0);
}

/* Who tells hbrun to end may tell all processes of the job: which of them is
 * heard first is chance. */
static int is_told_to_all(const struct hb_verdict *v, const struct hb_cause *c)
{
    return c->kind == HB_CAUSE_USER && v->kind != HB_CAUSE_NONE &&
           v->kind != HB_CAUSE_USER && !v->outlived && is_same_moment(v, c);
}

int hb_verdict_yields_to(const struct hb_verdict *v, const struct hb_cause *c)
{
    return is_told_to_all(v, c) ||
           (v->kind == HB_CAUSE_RESIZE &&
            (c->kind == HB_CAUSE_TIMEOUT || c->kind == HB_CAUSE_USER ||
             c->kind == HB_CAUSE_OUTPUT || c->kind == HB_CAUSE_INTERNAL));
}

static void note_killed(struct hb_verdict *v, const struct hb_cause *c)
{
    int out_of_nowhere = c->kind == HB_CAUSE_SIGNAL && c->code == SIGKILL &&
                         !has_evidence(c) && c->host != NULL;

    snprintf(v->killed_on, sizeof v->killed_on, "%s",
             out_of_nowhere ? c->host : "");
}

/* A rank that aborts as it hears of the loss of a host may do so within the
 * moment: what is known to come later counts as that. */
static int follows_a_loss(const struct hb_verdict *v, const struct hb_cause *c)
{
    return v->kind == HB_CAUSE_HOST && c->kind == HB_CAUSE_ABORT &&
           c->time_ns >= v->time_ns;
}

static int is_first(const struct hb_verdict *v, const struct hb_cause *c)
{
    if (v->kind == HB_CAUSE_NONE || hb_verdict_explained_by(v, c) ||
        hb_verdict_yields_to(v, c)) {
        return 1;
    }
    if (follows_a_loss(v, c) ||
        (v->kind == HB_CAUSE_USER && is_same_moment(v, c))) {
        return 0;
    }
    if (is_same_moment(v, c) && outranks(v->kind) != outranks(c->kind)) {
        return outranks(c->kind);
    }
    return v->time_ns > c->time_ns;
}

static int never_zero(int status)
{
    return status != 0 ? status : 1;
}

/* A host that is out of something is no fault of the program. */
static int start_status(int sys_errno)
{
    switch (sys_errno) {
    case ENOENT:
        return HB_EXIT_NOT_FOUND;
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case ENOMEM:
        return HB_EXIT_RETRY;
    default:
        return HB_EXIT_NOT_EXEC;
    }
}

static int status_of(const struct hb_cause *c)
{
    switch (c->kind) {
    case HB_CAUSE_NONE:
        return 0;
    case HB_CAUSE_START:
        return start_status(c->sys_errno);
    case HB_CAUSE_EXIT:
    case HB_CAUSE_ABORT:
    case HB_CAUSE_SPAWNED:
        return never_zero(c->code & STATUS_MASK);
    case HB_CAUSE_SIGNAL:
    case HB_CAUSE_USER:
        return SIGNAL_STATUS + c->code;
    case HB_CAUSE_NO_INIT:
    case HB_CAUSE_NO_FINALIZE:
        return 1;
    case HB_CAUSE_HOST:
    case HB_CAUSE_RESIZE:
        return HB_EXIT_RETRY;
    case HB_CAUSE_TIMEOUT:
        return HB_EXIT_TIMEOUT;
    case HB_CAUSE_OUTPUT:
        return c->code == EPIPE ? SIGNAL_STATUS + SIGPIPE : HB_EXIT_OUTPUT;
    case HB_CAUSE_USAGE:
        return HB_EXIT_USAGE;
    case HB_CAUSE_INTERNAL:
        break;
    }
    return HB_EXIT_INTERNAL;
}

/* "rank 3 on pod-1", the beginning of most sentences. */
static int put_rank(char *text, size_t size, const struct hb_cause *c)
{
    int n = snprintf(text, size, "rank %u on %s ", c->rank,
                     c->host != NULL ? c->host : "?");

    return n < (int)size ? n : (int)size - 1;
}

static void put_signal(char *text, size_t size, const struct hb_cause *c)
{
    char name[64];

    hb_signal_text(c->code, name, sizeof name);
    snprintf(text, size, "was ended by %s%s", name,
             c->core_dumped ? ", core dumped" : "");
}

static void put_abort(char *text, size_t size, const struct hb_cause *c)
{
    int has_text = c->text != NULL && c->text[0] != '\0';

    snprintf(text, size, "aborted the job with code %d%s%s", c->code,
             has_text ? ": " : "", has_text ? c->text : "");
}

static void put_sentence(struct hb_verdict *v, const struct hb_cause *c)
{
    const char *text = c->text != NULL ? c->text : "";
    char *out = v->text;
    size_t size = sizeof v->text, used = 0;

    if (c->kind >= HB_CAUSE_START && c->kind <= HB_CAUSE_NO_FINALIZE) {
        used = (size_t)put_rank(out, size, c);
        out += used;
        size -= used;
    }
    switch (c->kind) {
    case HB_CAUSE_START:
        snprintf(out, size, "could not be started: %s", text);
        break;
    case HB_CAUSE_EXIT:
        snprintf(out, size, "exited with status %d", c->code);
        break;
    case HB_CAUSE_SIGNAL:
        put_signal(out, size, c);
        break;
    case HB_CAUSE_ABORT:
        put_abort(out, size, c);
        break;
    case HB_CAUSE_NO_INIT:
        snprintf(out, size, "exited with status 0 and never called %s, "
                 "where other ranks wait for it",
                 c->of_library ? "hpcboot_init" : "MPI_Init");
        break;
    case HB_CAUSE_NO_FINALIZE:
        snprintf(out, size, "exited with status 0 without %s "
                 "while other ranks were still running",
                 c->of_library ? "hpcboot_finalize" : "finalizing MPI");
        break;
    case HB_CAUSE_HOST:
        snprintf(out, size, "%s%s%s%s", c->host != NULL ? "host " : "",
                 c->host != NULL ? c->host : "", c->host != NULL ? ": " : "",
                 text);
        break;
    default:
        snprintf(out, size, "%s", text);
        break;
    }
}

int hb_verdict_add(struct hb_verdict *v, const struct hb_cause *c)
{
    size_t len;

    v->n_causes++;
    if (!is_first(v, c)) {
        return 0;
    }
    if (!hb_verdict_yields_to(v, c)) {
        v->time_ns = c->time_ns; /* else ranks end since the change of size */
    }
    v->kind = c->kind;
    v->status = status_of(c);
    note_killed(v, c);
    put_sentence(v, c);
    len = strlen(v->text);
    if (has_evidence(c)) {
        snprintf(v->text + len, sizeof v->text - len, "; %s", c->evidence);
    }
    return 1;
}
