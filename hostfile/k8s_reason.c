/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A pod's status in one word and one sentence.
 *
 * The cluster's own words are kept, since they are what its users search for:
 * the scheduler's "0/12 nodes are available", the kubelet's "Back-off pulling
 * image", the message of an eviction. What is added is what they leave out:
 * the exit code of what crashes, the limit that was too small, that a worker
 * whose program ends well is no worker any more.
 *
 * The tests stand in order: what takes a pod away counts before what keeps it
 * from starting, and that before how far it has come. */

#include "config.h"

#include "hostfile/k8s_pod.h"

#include <stdlib.h>
#include <string.h>

/* Exit statuses that a shell or the kernel gives a meaning. */
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127
#define EXIT_SIGKILL 137
#define EXIT_SIGTERM 143

static int is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && !hb_streq(word, *words)) {
        words++;
    }
    return *words != NULL;
}

/* "WORD: MESSAGE", either of which may be missing. */
static char *say(const char *word, const char *message)
{
    if (message == NULL || message[0] == '\0') {
        return hb_xstrdup(word);
    }
    return hb_xasprintf("%s: %s", word, message);
}

static int judge_taken(const struct hb_k8s_facts *f, struct hb_k8s_pod *pod)
{
    static const char *const taken[] = {
        "Evicted", "NodeLost", "NodeShutdown", "Terminated", "Preempting",
        "UnexpectedAdmissionError", "NodeAffinity", NULL};

    if (f->disruption_reason != NULL) {
        static const struct {
            const char *reason, *words;
        } known[] = {
            {"PreemptionByScheduler", "preempted for a pod of higher priority"},
            {"DeletionByTaintManager", "evicted, as its node was tainted"},
            {"EvictionByEvictionAPI", "evicted through the API (a drain)"},
            {"DeletionByPodGC", "removed, as its node is gone"},
            {"TerminationByKubelet", "evicted by its node"},
            {"Evict", "evicted by Volcano"},
            {"StoppedByKueue", "stopped by Kueue"},
        };
        const char *words = "disrupted";
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (strcmp(known[i].reason, f->disruption_reason) == 0) {
                words = known[i].words;
            }
        }
        pod->state = HB_K8S_EVICTED;
        pod->why = hb_xasprintf("%s (%s)%s%s", words, f->disruption_reason,
                                f->disruption_message != NULL ? ": " : "",
                                f->disruption_message != NULL
                                    ? f->disruption_message : "");
        return 1;
    }
    if (is_one_of(f->reason, taken)) {
        pod->state = HB_K8S_EVICTED;
        pod->why = say(f->reason, f->message);
        return 1;
    }
    if (f->leaving || f->killed) {
        pod->state = HB_K8S_DELETED;
        pod->why = hb_xstrdup(f->killed ? "deleted on purpose: its Volcano Job "
                                          "is being ended or restarted"
                                        : "deleted on purpose: it is ending");
        return 1;
    }
    return 0;
}

/* What an exit status means, or NULL. */
static const char *exit_meaning(const struct hb_k8s_facts *f)
{
    switch (f->exit_code) {
    case EXIT_NOT_EXECUTABLE:
        return "its command cannot be executed";
    case EXIT_NOT_FOUND:
        return "its command was not found";
    case EXIT_SIGKILL:
        return "killed by SIGKILL";
    case EXIT_SIGTERM:
        return "ended by SIGTERM";
    default:
        return NULL;
    }
}

static void put_ending(const struct hb_k8s_facts *f, struct hb_str *text)
{
    const char *meaning = exit_meaning(f);

    if (f->signal > 0) {
        hb_str_putf(text, "killed by signal %lld", (long long)f->signal);
    } else {
        hb_str_putf(text, "exit status %lld", (long long)f->exit_code);
    }
    if (meaning != NULL && f->signal == 0) {
        hb_str_putf(text, " (%s)", meaning);
    }
    if (f->ended_reason != NULL && strcmp(f->ended_reason, "Error") != 0 &&
        strcmp(f->ended_reason, "Completed") != 0) {
        hb_str_putf(text, ", %s", f->ended_reason);
    }
    if (f->ended_message != NULL && f->ended_message[0] != '\0') {
        hb_str_putf(text, ": %s", f->ended_message);
    }
}

static int is_memory(const struct hb_k8s_facts *f)
{
    return hb_streq(f->ended_reason, "OOMKilled");
}

static void put_memory(const struct hb_k8s_facts *f, struct hb_str *text)
{
    hb_str_putf(text, "OOMKilled: container %s went over its memory limit",
                f->container);
    if (f->memory_limit != NULL) {
        hb_str_putf(text, " of %s", f->memory_limit);
    }
    if (f->restarts > 0) {
        hb_str_putf(text, " (%lld restarts)", (long long)f->restarts);
    }
}

static int judge_memory(const struct hb_k8s_facts *f, struct hb_k8s_pod *pod)
{
    struct hb_str text = HB_STR_INIT;

    if (!is_memory(f) || (!f->ended && f->waiting_reason == NULL)) {
        return 0;
    }
    put_memory(f, &text);
    pod->state = HB_K8S_OOM;
    pod->why = hb_str_steal(&text);
    return 1;
}

static int judge_waiting(const struct hb_k8s_facts *f, struct hb_k8s_pod *pod)
{
    static const char *const image[] = {
        "ErrImagePull", "ImagePullBackOff", "InvalidImageName",
        "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", NULL};
    static const char *const config[] = {
        "CreateContainerConfigError", "CreateContainerError",
        "RunContainerError", "PostStartHookError", "PreStartHookError", NULL};
    struct hb_str text = HB_STR_INIT;

    if (f->waiting_reason == NULL) {
        return 0;
    }
    if (strcmp(f->waiting_reason, "CrashLoopBackOff") == 0) {
        hb_str_putf(&text, "CrashLoopBackOff: container %s ends again and "
                    "again (%lld restarts), last with ", f->container,
                    (long long)f->restarts);
        put_ending(f, &text);
        pod->state = HB_K8S_CRASHING;
        pod->why = hb_str_steal(&text);
        return 1;
    }
    pod->state = is_one_of(f->waiting_reason, image) ? HB_K8S_IMAGE
                 : is_one_of(f->waiting_reason, config) ? HB_K8S_CONFIG
                                                        : HB_K8S_STARTING;
    pod->why = say(f->waiting_reason, f->waiting_message);
    return 1;
}

/* By its phase. */
static int is_over(const struct hb_k8s_facts *f)
{
    return hb_streq(f->phase, "Failed") || hb_streq(f->phase, "Succeeded");
}

/* A container that ends beside one that runs (what fetches data, a proxy) ends
 * no pod: the cluster itself calls that Running. */
static int runs_on(const struct hb_k8s_facts *f)
{
    return f->runs && hb_streq(f->phase, "Running");
}

static int has_ended(const struct hb_k8s_facts *f)
{
    return is_over(f) || (f->ended && !runs_on(f));
}

/* Between two starts the pod is there, and has its address. */
static int judge_again(const struct hb_k8s_facts *f, struct hb_k8s_pod *pod)
{
    struct hb_str text = HB_STR_INIT;

    if (!f->again || is_over(f) || runs_on(f)) {
        return 0;
    }
    hb_str_putf(&text, "container %s has ended, and is started again: ",
                f->container);
    put_ending(f, &text);
    if (f->exit_code == 0 && f->signal == 0) {
        hb_str_put(&text, "; a worker's command must keep running");
    }
    pod->state = HB_K8S_CRASHING;
    pod->why = hb_str_steal(&text);
    return 1;
}

static int judge_ended(const struct hb_k8s_facts *f, struct hb_k8s_pod *pod)
{
    struct hb_str text = HB_STR_INIT;
    int failed = hb_streq(f->phase, "Failed");

    if (!has_ended(f)) {
        return 0;
    }
    if (!failed && f->exit_code == 0 && f->signal == 0) {
        pod->state = HB_K8S_ENDED;
        pod->why = hb_xstrdup("its command has ended with status 0; a worker's "
                              "command must keep running");
        return 1;
    }
    if (f->container != NULL &&
        (f->ended_reason != NULL || f->exit_code != 0)) {
        hb_str_putf(&text, "failed: container %s: ", f->container);
        put_ending(f, &text);
    } else {
        hb_str_putf(&text, "failed: %s%s%s",
                    f->reason != NULL ? f->reason : "no reason is given",
                    f->message != NULL ? ": " : "",
                    f->message != NULL ? f->message : "");
    }
    pod->state = HB_K8S_FAILED;
    pod->why = hb_str_steal(&text);
    return 1;
}

static int judge_scheduling(const struct hb_k8s_facts *f,
                            struct hb_k8s_pod *pod)
{
    if (f->scheduled_reason == NULL) {
        return 0;
    }
    pod->state = strcmp(f->scheduled_reason, "SchedulingGated") == 0
                     ? HB_K8S_GATED : HB_K8S_UNSCHEDULABLE;
    pod->why = say(f->scheduled_reason, f->scheduled_message);
    return 1;
}

static void judge_running(const struct hb_k8s_facts *f,
                          struct hb_k8s_pod *pod)
{
    struct hb_str text = HB_STR_INIT;

    pod->state = f->ready ? HB_K8S_READY : HB_K8S_NOT_READY;
    if (f->ready && !f->is_back) {
        return;
    }
    if (f->is_back && is_memory(f)) {
        put_memory(f, &text);
        hb_str_put(&text, ", and runs again");
    } else if (f->is_back) {
        hb_str_putf(&text, "container %s had ended, and runs again: ",
                    f->container);
        put_ending(f, &text);
    } else if (f->ended) {
        hb_str_putf(&text, "runs, but its container %s has ended: ",
                    f->container);
        put_ending(f, &text);
    } else {
        hb_str_put(&text, "runs, but its probes do not say that it is ready");
    }
    pod->why = hb_str_steal(&text);
}

void hb_k8s_judge(const struct hb_k8s_facts *f, struct hb_k8s_pod *pod)
{
    static int (*const steps[])(const struct hb_k8s_facts *,
                                struct hb_k8s_pod *) = {
        judge_taken, judge_memory, judge_waiting, judge_again, judge_ended,
        judge_scheduling};

    free(pod->why);
    pod->why = NULL;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (steps[i](f, pod)) {
            return;
        }
    }
    if (hb_streq(f->phase, "Running")) {
        judge_running(f, pod);
    } else if (pod->node != NULL) {
        pod->state = HB_K8S_STARTING;
        pod->why = hb_xasprintf("is being started on node %s", pod->node);
    } else {
        pod->state = HB_K8S_PENDING;
        pod->why = hb_xstrdup("no scheduler has looked at it yet");
    }
}
