/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Why a pod does not come, in the words of its status. */

#include "config.h"

#include <time.h>

#include "tests/unit/kubeapi.h"
#include "tests/unit/kubepods.h"

#include "hostfile/k8s.h"

static struct hpcboot_error err;

static int setup(void **state)
{
    memset(&err, 0, sizeof(err));
    pod_create("own");
    return 0;
}

static int teardown(void **state)
{
    tree_remove(pod_root);
    return 0;
}

#define CONTAINERS                                                          \
    "\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{"           \
    "\"memory\":\"100Mi\"}}}],\"initContainers\":[{\"name\":\"side\","        \
    "\"restartPolicy\":\"Always\"},{\"name\":\"init\",\"resources\":{"        \
    "\"limits\":{\"memory\":\"5Mi\"}}}]"

/* The text for the pod w-0 of more of its metadata, a spec, a status. */
static void assert_reason_of(const char *metadata, const char *spec,
                             const char *status, const char *expected)
{
    char *pods[] = {pod("w-0", metadata, spec, status), NULL};
    const char *const hosts[] = {"w-0.lm"};
    char *env = pod_env(""), *save = NULL, *text = NULL;
    char *vars[3] = {strtok_r(env, " ", &save), strtok_r(NULL, " ", &save)};
    const struct hb_gang_request req = {.root = pod_root, .env = vars};

    plan_pods(pods, "");
    if (hb_k8s_reasons(&req, hosts, 1, 60000, &text, &err) < 0) {
        fail_msg("%s", err.text);
    }
    if (expected == NULL) {
        assert_null(text);
    } else {
        assert_non_null(text);
        assert_string_equal(text, expected);
    }
    free(text);
    free(env);
}

static void assert_reason(const char *status, const char *expected)
{
    assert_reason_of(LABELS("\"a\":\"b\""), CONTAINERS, status, expected);
}

#define WAITING(reason, message)                                            \
    "\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"main\","      \
    "\"restartCount\":4,\"state\":{\"waiting\":{"                           \
    "\"reason\":\"" reason "\",\"message\":\"" message "\"}}"

static void a_pods_own_reason_is_told(void **state)
{
    assert_reason(RUNS("10.0.0.1"), NULL);
    assert_reason("\"phase\":\"Pending\"," CONDITION("PodScheduled", "False",
                  "Unschedulable", "0/3 nodes are available"),
                  "Unschedulable: 0/3 nodes are available");
    assert_reason("\"phase\":\"Pending\"," CONDITION("PodScheduled", "False",
                  "SchedulingGated", "held by kueue"),
                  "SchedulingGated: held by kueue");
    assert_reason(WAITING("ImagePullBackOff", "Back-off pulling image x") "}]",
                  "ImagePullBackOff: Back-off pulling image x");
    assert_reason(WAITING("CreateContainerConfigError", "secret y not found")
                  "}]",
                  "CreateContainerConfigError: secret y not found");
    assert_reason(WAITING("CrashLoopBackOff", "back-off 5m0s") ",\"lastState\":"
                  "{\"terminated\":{\"exitCode\":127,\"reason\":\"Error\"}}}]",
                  "CrashLoopBackOff: container main ends again and "
                  "again (4 restarts), last with exit status 127 (its command "
                  "was not found)");
    assert_reason(WAITING("CrashLoopBackOff", "") ",\"lastState\":{"
                  "\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}}"
                  "}]", "OOMKilled: container main went over its "
                  "memory limit of 100Mi (4 restarts)");
}

static void pods_that_were_taken_away_say_by_whom(void **state)
{
    assert_reason("\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":"
                  "\"The node was low on resource: memory.\"",
                  "Evicted: The node was low on resource: memory.");
    assert_reason("\"phase\":\"Running\"," CONDITION("DisruptionTarget", "True",
                  "PreemptionByScheduler", "preempted by a"),
                  "preempted for a pod of higher priority "
                  "(PreemptionByScheduler): preempted by a");
    assert_reason("\"phase\":\"Running\"," CONDITION("Ready", "False",
                  "Evict", "because of preempt"),
                  "runs, but its probes do not say that it is ready");
    assert_reason("\"phase\":\"Succeeded\"", "its command has ended "
                  "with status 0; a worker's command must keep running");
    assert_reason("\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":"
                  "\"main\",\"state\":{\"terminated\":{\"exitCode\":143,"
                  "\"reason\":\"Error\"}}}]", "failed: container "
                  "main: exit status 143 (ended by SIGTERM)");
}

static void a_pod_that_runs_beside_a_container_that_has_ended_tells_it(
    void **state)
{
    assert_reason(BESIDE("", "False", "0", RUNNING),
                  "runs, but its container fetch has ended: exit status 0");
    assert_reason(BESIDE("", "False", "1", RUNNING),
                  "runs, but its container fetch has ended: exit status 1");
    assert_reason(BESIDE("", "True", "0", RUNNING), NULL);
    assert_reason(BESIDE("", "False", "0", "\"terminated\":{\"exitCode\":1}"),
                  "failed: container main: exit status 1");
}

#define LEAVES "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\""

static void pods_that_a_scheduler_deletes_say_by_whom(void **state)
{
    assert_reason_of(LEAVES, "", "\"phase\":\"Running\"," CONDITION("Ready",
                     "False", "Evict", "Pod is evicted, because of preempt"),
                     "evicted by Volcano (Evict): Pod is evicted, because of "
                     "preempt");
    assert_reason_of(LEAVES, "", "\"phase\":\"Running\"," CONDITION(
                     "TerminationTarget", "True", "StoppedByKueue",
                     "Preempted to accommodate a workload"),
                     "stopped by Kueue (StoppedByKueue): Preempted to "
                     "accommodate a workload");
    assert_reason_of(LEAVES, "", "\"phase\":\"Running\"," CONDITION("Ready",
                     "False", "ContainersNotReady", "y"),
                     "deleted on purpose: it is ending");
}

/* Between its end and its next start, of a phase. */
#define ENDED(phase, list, name, code)                                      \
    "\"phase\":\"" phase "\",\"" list "\":[{\"name\":\"" name "\","           \
    "\"state\":{\"terminated\":{\"exitCode\":" code ",\"reason\":\"Error\"}}}]"
#define MAIN(code) ENDED("Running", "containerStatuses", "main", code)
#define POLICY(policy) "\"restartPolicy\":\"" policy "\"," CONTAINERS

static void a_container_that_is_started_again_is_told_as_that(void **state)
{
    assert_reason_of(LABELS(""), POLICY("Always"), MAIN("1"), "container main "
                     "has ended, and is started again: exit status 1");
    assert_reason_of(LABELS(""), POLICY("Always"), MAIN("0"), "container main "
                     "has ended, and is started again: exit status 0; a "
                     "worker's command must keep running");
    assert_reason_of(LABELS(""), POLICY("OnFailure"), MAIN("1"), "container "
                     "main has ended, and is started again: exit status 1");
    assert_reason_of(LABELS(""), POLICY("OnFailure"), MAIN("0"), "its command "
                     "has ended with status 0; a worker's command must keep "
                     "running");
    assert_reason_of(LABELS(""), POLICY("Never"), MAIN("1"),
                     "failed: container main: exit status 1");
    assert_reason_of(LABELS(""), POLICY("Always"), ENDED("Failed",
                     "containerStatuses", "main", "1"),
                     "failed: container main: exit status 1");
    assert_reason_of(LABELS(""), POLICY("OnFailure"), ENDED("Pending",
                     "initContainerStatuses", "init", "1"), "container init "
                     "has ended, and is started again: exit status 1");
    assert_reason_of(LABELS(""), POLICY("Never"), ENDED("Pending",
                     "initContainerStatuses", "side", "1"), "container side "
                     "has ended, and is started again: exit status 1");
}

static void a_container_that_is_back_tells_why_it_had_ended(void **state)
{
    static const struct {
        time_t ago_s;
        const char *reason, *words;
    } cases[] = {
        {3, "OOMKilled", "OOMKilled: container main went over its memory "
                         "limit of 100Mi (1 restarts), and runs again"},
        {3, "Error", "container main had ended, and runs again: exit status "
                     "137 (killed by SIGKILL)"},
        {86400, "OOMKilled", NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        time_t then = time(NULL) - cases[i].ago_s;
        struct tm tm;
        char at[32], *status;

        strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&then, &tm));
        status = hb_xasprintf(RUNS("10.0.0.1") ",\"containerStatuses\":[{"
                              "\"name\":\"main\",\"restartCount\":1,"
                              "\"state\":{" RUNNING "},\"lastState\":{"
                              "\"terminated\":{\"exitCode\":137,\"reason\":"
                              "\"%s\",\"finishedAt\":\"%s\"}}}]",
                              cases[i].reason, at);
        assert_reason(status, cases[i].words);
        free(status);
    }
}

static void texts_of_the_cluster_cannot_steer_a_terminal(void **state)
{
    assert_reason(WAITING("ErrImagePull", "a\\u001b[2Jb\\nc") "}]",
                  "ErrImagePull: a [2Jb c");
}

static void a_pod_that_is_not_there_is_told(void **state)
{
    const char *const hosts[] = {"lm-worker-7.lm", "lm-worker-0.lm",
                                 "10.0.0.1"};
    char *env = pod_env(""), *save = NULL, *texts[3];
    char *vars[3] = {strtok_r(env, " ", &save), strtok_r(NULL, " ", &save)};
    const struct hb_gang_request req = {.root = pod_root, .env = vars};

    plan("{\"make\":{\"count\":2}}");
    assert_int_equal(hb_k8s_reasons(&req, hosts, 3, 60000, texts, &err), 1);
    assert_string_equal(texts[0], "no pod of namespace hpc is called so: it "
                        "was deleted, or not made yet");
    assert_null(texts[1]);
    assert_null(texts[2]);
    free(texts[0]);
    free(env);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_pods_own_reason_is_told),
        T(pods_that_were_taken_away_say_by_whom),
        T(a_pod_that_runs_beside_a_container_that_has_ended_tells_it),
        T(pods_that_a_scheduler_deletes_say_by_whom),
        T(a_container_that_is_started_again_is_told_as_that),
        T(a_container_that_is_back_tells_why_it_had_ended),
        T(texts_of_the_cluster_cannot_steer_a_terminal),
        T(a_pod_that_is_not_there_is_told),
    };

    if (!server_is_possible()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, server_setup, server_teardown);
}
