/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Gangs that the Kubernetes API lists: which pods are members, how they are
 * called, and who is waited for. */

#include "config.h"

#include "tests/unit/kubeapi.h"
#include "tests/unit/kubepods.h"
#include "tests/unit/podtoken.h"

#include "hostfile/k8s.h"

#define RAY "RAY_CLUSTER_NAME=rc KUBERAY_GEN_RAY_START_CMD=x "

static struct hb_gang gang;
static struct hpcboot_error err;

static int setup(void **state)
{
    memset(&err, 0, sizeof(err));
    memset(&gang, 0, sizeof(gang));
    pod_create("own");
    return 0;
}

static int teardown(void **state)
{
    hb_gang_destroy(&gang);
    tree_remove(pod_root);
    return 0;
}

struct asked {
    const char *env, *selector, *group;
    int64_t wait_ms;
    uint32_t enough, min;
    int awaits_first;
};

static int gather(struct asked a)
{
    struct hb_strv vars = HB_STRV_INIT;
    char *text = pod_env(a.env != NULL ? a.env : ""), *save = NULL;
    struct hb_gang_request req = {
        .root = pod_root, .filter = 1, .pod_selector = a.selector,
        .pod_group = a.group, .wait_ms = a.wait_ms, .enough_hosts = a.enough,
        .min_hosts = a.min > 0 ? a.min : a.enough,
        .awaits_first = a.awaits_first};
    int rc;

    for (char *v = strtok_r(text, " ", &save); v != NULL;
         v = strtok_r(NULL, " ", &save)) {
        hb_strv_push(&vars, v);
    }
    req.env = hb_strv_view(&vars);
    rc = hb_gang_gather(&req, &gang, &err);
    hb_strv_destroy(&vars);
    free(text);
    return rc;
}

#define RAY_POD(type) LABELS("\"ray.io/cluster\":\"rc\"," \
    "\"ray.io/node-type\":\"" type "\"")
#define GROUP LABELS("\"scheduling.x-k8s.io/pod-group\":\"pg\"")

static void assert_found(struct asked a, const char *source, const char *hosts)
{
    if (gather(a) < 0) {
        fail_msg("%s", err.text);
    }
    assert_gang(&gang, source, hosts);
}

static void a_volcano_job_without_names_is_found_by_address(void **state)
{
    char *pods[] = {
        pod("lm-w-10", VC("w", "10"), "", RUNS("10.0.0.10")),
        pod("lm-w-2", VC("w", "2"), "", RUNS("10.0.0.2")),
        pod("lm-x-0", LABELS("\"volcano.sh/job-name\":\"lx\""), "",
            RUNS("10.0.0.3")),
        pod("own", VC("master", "0"), "", RUNS("10.0.0.9")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){.env = "VC_TASK_INDEX=0"}, "Kubernetes API",
                 "10.0.0.2 10.0.0.10");
    assert_int_equal(gang.operator_made, 1);
    assert_has(gang.detail, "2 hosts in Volcano Job lm as https://127.0.0.1:");
    assert_has(gang.detail, "this pod is their master");
}

static void a_worker_finds_its_own_task_and_itself(void **state)
{
    char *pods[] = {
        pod("lm-w-1", VC("w", "1"), "", RUNS("10.0.0.2")),
        pod("lm-m-0", VC("m", "0"), "", RUNS("10.0.0.3")),
        pod("own", VC("w", "0"), "", RUNS("10.0.0.9")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){0}, "Kubernetes API", "10.0.0.9* 10.0.0.2");
}

static void tasks_can_be_named(void **state)
{
    char *pods[] = {
        pod("lm-w-1", VC("w", "1"), "", RUNS("10.0.0.2")),
        pod("own", VC("m", "0"), "", RUNS("10.0.0.9")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){.env = "HPCBOOT_TASKS=m,w"}, "Kubernetes API",
                 "10.0.0.9* 10.0.0.2");
}

static void all_of_a_ray_cluster_are_found_its_head_first(void **state)
{
    char *pods[] = {
        pod("rc-w-b", RAY_POD("worker"), "", RUNS("10.0.0.8")),
        pod("rc-head-x", RAY_POD("head"), "", RUNS("10.0.0.7")),
        pod("own", RAY_POD("worker"), "", RUNS("10.0.0.9")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){.env = RAY}, "Kubernetes API",
                 "10.0.0.7 10.0.0.9* 10.0.0.8");
}

static void the_head_of_a_ray_cluster_is_one_of_its_hosts(void **state)
{
    char *pods[] = {
        pod("rc-w-b", RAY_POD("worker"), "", RUNS("10.0.0.8")),
        pod("own", RAY_POD("head"), "", RUNS("10.0.0.7")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){.env = RAY}, "Kubernetes API",
                 "10.0.0.7* 10.0.0.8");
}

#define JS(index) LABELS("\"jobset.sigs.k8s.io/jobset-name\":\"js\","        \
    "\"jobset.sigs.k8s.io/replicatedjob-name\":\"node\","                    \
    "\"jobset.sigs.k8s.io/job-index\":\"0\","                                \
    "\"batch.kubernetes.io/job-completion-index\":\"" index "\"")
#define NAMED(host) "\"hostname\":\"" host "\",\"subdomain\":\"js\""

static void a_jobset_of_unknown_size_is_found_by_the_pods_address(void **state)
{
    char *pods[] = {
        pod("js-node-0-1-abcde", JS("1"), NAMED("js-node-0-1"),
            RUNS("10.0.0.5")),
        pod("js-node-0-0-fghij", JS("0"), NAMED("js-node-0-0"),
            RUNS("10.0.0.4")),
        NULL};

    plan_pods(pods, "");
    tree_write(pod_root, "etc/hostname", "js-node-0-0");
    tree_write(pod_root, "etc/hosts",
               "127.0.0.1 localhost\n10.0.0.4 js-node-0-0.js.hpc.svc.x "
               "js-node-0-0\n");
    assert_found((struct asked){.env = "JOB_COMPLETION_INDEX=0"},
                 "Kubernetes API", "js-node-0-0.js* js-node-0-1.js");
}

static void a_pod_on_its_nodes_network_knows_its_name_by_its_token(void **state)
{
    char *token = pod_token("lm-w-1", "hpc");
    char *plan = hb_xasprintf(",\"tokens\":[\"%s\"]", token);
    char *pods[] = {
        pod("lm-w-0", VC("w", "0"), "", RUNS("10.0.0.2")),
        pod("lm-w-1", VC("w", "1"), "", RUNS("10.0.0.3")),
        pod("lm-m-0", VC("m", "0"), "", RUNS("10.0.0.3")), NULL};

    plan_pods(pods, plan);
    tree_write(pod_root, ACCOUNT "token", token);
    tree_write(pod_root, "etc/hostname", "node7");
    tree_write(pod_root, "etc/hosts", "10.0.0.3 node7\n");
    assert_found((struct asked){0}, "Kubernetes API", "10.0.0.2 10.0.0.3*");
    free(plan);
    free(token);
}

static void pods_with_a_service_each_are_called_by_name(void **state)
{
#define PT(type, index) LABELS("\"training.kubeflow.org/job-name\":\"pt\","   \
    "\"training.kubeflow.org/operator-name\":\"pytorchjob-controller\","      \
    "\"training.kubeflow.org/replica-type\":\"" type "\","                    \
    "\"training.kubeflow.org/replica-index\":\"" index "\"")
    char *pods[] = {
        pod("pt-worker-0", PT("worker", "0"), "", RUNS("10.0.0.5")),
        pod("own", PT("master", "0"), "", RUNS("10.0.0.9")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){0}, "Kubernetes API", "own* pt-worker-0");
}

static void a_plain_job_is_no_gang(void **state)
{
    char *pods[] = {
        pod("j-b", LABELS("\"batch.kubernetes.io/job-name\":\"j\""), "",
            RUNS("10.0.0.5")),
        pod("own", LABELS("\"batch.kubernetes.io/job-name\":\"j\""), "",
            RUNS("10.0.0.9")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){0}, "this host", "own*");
    assert_has(passed_over(&gang, "Kubernetes API"),
               "carries no mark of a gang; --pod-selector selects pods");
}

static void pods_of_an_earlier_run_are_not_members(void **state)
{
#define OWNED(uid) ",\"ownerReferences\":[{\"controller\":true,\"kind\":"     \
    "\"Job\",\"name\":\"lm\",\"uid\":\"" uid "\"}]"
    char *pods[] = {
        pod("lm-w-0", VC("w", "0") OWNED("old"), "", RUNS("10.0.0.1")),
        pod("lm-w-1", VC("w", "1") OWNED("new"), "", RUNS("10.0.0.2")),
        pod("lm-w-2", VC("w", "2") OWNED("new")
            ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"", "",
            RUNS("10.0.0.3")),
        pod("own", VC("m", "0") OWNED("new"), "", RUNS("10.0.0.9")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){0}, "Kubernetes API", "10.0.0.2");
    assert_int_equal(gang.n_notes, 1);
    assert_has(gang.notes[0], "not used are lm-w-2: deleted on purpose");
}

static void a_pod_that_replaces_another_takes_its_place(void **state)
{
    char *pods[] = {
        pod("own", JS("0"), NAMED("own"), RUNS("10.0.0.9")),
        pod("w-aaaaa", JS("1"), NAMED("w"), "\"phase\":\"Failed\","
            "\"reason\":\"Evicted\""),
        pod("w-bbbbb", JS("1"), NAMED("w"), RUNS("10.0.0.6")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){0}, "Kubernetes API", "own.js* w.js");
    assert_int_equal(gang.n_notes, 0);
}

static void selected_pods_are_the_hosts(void **state)
{
    char *pods[] = {
        pod("a", LABELS("\"app\":\"x\""), "", RUNS("fd00::5")),
        pod("b", LABELS("\"app\":\"y\""), "", RUNS("10.0.0.6")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){.selector = "app=x"}, "--pod-selector",
                 "fd00::5");
}

static void a_selection_that_is_empty_is_an_error(void **state)
{
    plan("{\"pods\":[]}");
    assert_int_equal(gather((struct asked){.selector = "app=x"}),
                     HPCBOOT_ERR_NOT_FOUND);
    assert_has(err.text, "namespace hpc, pods with app=x: it lists no such");
}

/* What a watch brings where the list had none of it. */
static void plan_late(char *const *pods, char *late)
{
    char *more = hb_xasprintf(",\"watches\":[[" EVENT("ADDED") ",\"hold\"]]",
                              late);

    plan_pods(pods, more);
    free(more);
    free(late);
}

#define APP LABELS("\"app\":\"x\"")

static void the_first_pod_is_waited_for_by_who_says_so(void **state)
{
    char *none[] = {NULL};

    plan_late(none, pod("a", APP, "", RUNS("10.0.0.5")));
    assert_found((struct asked){.selector = "app=x", .wait_ms = 60000,
                                .awaits_first = 1}, "--pod-selector",
                 "10.0.0.5");
}

static void pods_of_a_task_that_is_named_are_waited_for(void **state)
{
    char *pods[] = {pod("own", VC("m", "0"), "", RUNS("10.0.0.9")), NULL};

    plan_late(pods, pod("lm-w-0", VC("w", "0"), "", RUNS("10.0.0.2")));
    assert_found((struct asked){.env = "HPCBOOT_TASKS=w HPCBOOT_GANG_SIZE=2",
                                .wait_ms = 60000}, "Kubernetes API",
                 "10.0.0.2");
}

static void a_first_pod_that_does_not_come_is_told_of(void **state)
{
    plan("{\"pods\":[],\"watches\":[[\"hold\"]]}");
    assert_int_equal(gather((struct asked){.selector = "app=x", .wait_ms = 200,
                                           .awaits_first = 1}),
                     HPCBOOT_ERR_TIMED_OUT);
    assert_has(err.text, "Kubernetes: no pod with app=x is there");
}

static void needing_some_is_no_reason_to_wait_for_the_first(void **state)
{
    plan("{\"pods\":[],\"watches\":[[\"hold\"]]}");
    assert_int_equal(gather((struct asked){.selector = "app=x", .wait_ms = 200,
                                           .min = 1}), HPCBOOT_ERR_NOT_FOUND);
    assert_has(err.text, "pods with app=x: it lists no such");
}

static void so_many_pods_are_waited_for_as_are_needed(void **state)
{
    char *pods[] = {pod("a", APP, "", RUNS("10.0.0.5")), NULL};
    char *alone[] = {pod("a", APP, "", RUNS("10.0.0.5")), NULL};

    plan_late(pods, pod("b", APP, "", RUNS("10.0.0.6")));
    assert_found((struct asked){.selector = "app=x", .wait_ms = 60000,
                                .min = 2}, "--pod-selector",
                 "10.0.0.5 10.0.0.6");
    hb_gang_destroy(&gang);
    plan_pods(alone, ",\"watches\":[[\"hold\"]]");
    assert_int_equal(gather((struct asked){.selector = "app=x", .wait_ms = 200,
                                           .min = 2}), HPCBOOT_ERR_TIMED_OUT);
    assert_has(err.text, "Kubernetes: 1 of at least 2 pods are there");
}

static void pods_of_a_group_are_the_hosts(void **state)
{
    char *pods[] = {
        pod("a", GROUP, "", RUNS("10.0.0.5")),
        pod("b", LABELS("\"kueue.x-k8s.io/pod-group-name\":\"pg\""), "",
            RUNS("10.0.0.6")),
        pod("c", "\"annotations\":{\"scheduling.k8s.io/group-name\":\"pg\"}",
            "", RUNS("10.0.0.7")),
        pod("d", LABELS("\"kueue.x-k8s.io/pod-group-name\":\"other\""), "",
            RUNS("10.0.0.8")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){.group = "pg"}, "--pod-selector",
                 "10.0.0.5 10.0.0.6 10.0.0.7");
}

static void pods_that_share_a_name_or_an_address_are_told_of(void **state)
{
    char *of_a_node[] = {
        pod("a", APP, "\"hostNetwork\":true", RUNS("10.0.0.5")),
        pod("b", APP, "\"hostNetwork\":true", RUNS("10.0.0.6")),
        pod("c", APP, "\"hostNetwork\":true", RUNS("10.0.0.6")), NULL};
    char *of_a_template[] = {
        pod("a", APP, NAMED("w"), RUNS("10.0.0.5")),
        pod("b", APP, NAMED("w"), RUNS("10.0.0.6")), NULL};

    plan_pods(of_a_node, "");
    assert_found((struct asked){.selector = "app=x"}, "--pod-selector",
                 "10.0.0.5 10.0.0.6");
    assert_int_equal(gang.n_notes, 1);
    assert_has(gang.notes[0], "1 of 3 pods have the name or address of another "
               "one (2 are 10.0.0.6)");
    hb_gang_destroy(&gang);
    plan_pods(of_a_template, "");
    assert_found((struct asked){.selector = "app=x"}, "--pod-selector", "w.js");
    assert_int_equal(gang.n_notes, 1);
    assert_has(gang.notes[0], "(2 are w.js)");
}

static void a_selector_outside_of_a_cluster_is_an_error(void **state)
{
    char *path = hb_xasprintf("%s/" ACCOUNT "token", pod_root);

    remove(path);
    free(path);
    assert_int_equal(gather((struct asked){.selector = "app=x"}),
                     HPCBOOT_ERR_UNSUPPORTED);
    assert_has(err.text, "automountServiceAccountToken may be false");
}

static void the_api_is_not_asked_when_told_so(void **state)
{
    char *log;

    plan("{\"pods\":[]}");
    assert_found((struct asked){.selector = "none"}, "this host", "own*");
    log = server_file("log");
    assert_string_equal(log, "");
    free(log);
}

static void a_refusal_where_it_matters_says_what_would_help(void **state)
{
    plan("{\"faults\":[{\"path\":\"pods\",\"times\":9,\"do\":\"status\","
         "\"code\":403,\"message\":\"pods is forbidden\"}]}");
    assert_found((struct asked){.env = RAY}, "this host", "own*");
    assert_int_equal(gang.n_notes, 2);
    assert_has(gang.notes[0], "only its head has a name (rc-head-svc)");
    assert_has(gang.notes[1], "refuses (403 pods is forbidden)");
    assert_has(gang.notes[1], "{apiGroups: [\"\"], resources: [pods], verbs: "
               "[get, list, watch]}");
    assert_has(gang.notes[1], "kubectl -n hpc create role hpcboot "
               "--verb=get,list,watch --resource=pods");
}

static void a_token_that_is_not_accepted_is_not_mended_by_a_role(void **state)
{
    plan("{\"pods\":[],\"tokens\":[\"new\"]}");
    assert_found((struct asked){.env = RAY}, "this host", "own*");
    assert_int_equal(gang.n_notes, 2);
    assert_has(gang.notes[1], "it has expired, as a copy or a subPath of a "
               "mounted one does");
    assert_has(gang.notes[1], "name hosts with -H");
    assert_null(strstr(gang.notes[1], "role"));
}

static void a_refusal_in_any_other_pod_is_no_news(void **state)
{
    plan("{\"faults\":[{\"path\":\"pods\",\"times\":9,\"do\":\"status\","
         "\"code\":403}]}");
    assert_found((struct asked){0}, "this host", "own*");
    assert_int_equal(gang.n_notes, 0);
    assert_has(passed_over(&gang, "Kubernetes API"), "refuses (403");
}

static void a_stronger_source_spares_the_api(void **state)
{
    char *log;

    plan("{\"pods\":[]}");
    tree_write(pod_root, "etc/volcano/w.host", "lm-w-0.lm\nlm-w-1.lm");
    assert_found((struct asked){0}, "Volcano Job", "lm-w-0.lm lm-w-1.lm");
    log = server_file("log");
    assert_string_equal(log, "");
    free(log);
}

static void a_pod_without_an_address_is_waited_for(void **state)
{
    char *pods[] = {
        pod("lm-w-0", VC("w", "0"), "", RUNS("10.0.0.2")),
        pod("lm-w-1", VC("w", "1"), "", "\"phase\":\"Pending\""),
        pod("own", VC("m", "0"), "", RUNS("10.0.0.9")), NULL};

    plan_event(pods, pod("lm-w-1", VC("w", "1"), "", RUNS("10.0.0.3")));
    assert_found((struct asked){.wait_ms = 60000}, "Kubernetes API",
                 "10.0.0.2 10.0.0.3");
}

static void so_many_pods_are_waited_for_as_the_group_has(void **state)
{
#define VCG(index) VC("w", index) ",\"annotations\":{" \
    "\"scheduling.k8s.io/group-name\":\"lm-u\"}"
    char *pods[] = {pod("own", VCG("0"), "", RUNS("10.0.0.9")), NULL};
    char *late = pod("lm-w-1", VCG("1"), "", RUNS("10.0.0.3"));
    char *more = hb_xasprintf(
        ",\"objects\":{\"/apis/scheduling.volcano.sh/v1beta1/namespaces/hpc/"
        "podgroups/lm-u\":{\"spec\":{\"minMember\":2}}},\"watches\":[["
        EVENT("ADDED") ",\"hold\"]]", late);

    plan_pods(pods, more);
    free(more);
    free(late);
    assert_found((struct asked){.wait_ms = 60000}, "Kubernetes API",
                 "10.0.0.9* 10.0.0.3");
}

static void pods_that_do_not_come_are_named_with_their_reason(void **state)
{
    char *pods[] = {
        pod("lm-w-0", VC("w", "0"), "", RUNS("10.0.0.2")),
        pod("lm-w-1", VC("w", "1"), "",
            "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\","
            "\"status\":\"False\",\"reason\":\"Unschedulable\",\"message\":"
            "\"0/12 nodes are available: 12 Insufficient nvidia.com/gpu.\"}]"),
        pod("own", VC("m", "0"), "", RUNS("10.0.0.9")), NULL};

    plan_pods(pods, ",\"watches\":[[\"hold\"]]");
    /* On a busy machine the list takes as long as it likes. */
    for (int ms = 100; ms < 60000; ms *= 2) {
        assert_int_equal(gather((struct asked){.wait_ms = ms}),
                         HPCBOOT_ERR_TIMED_OUT);
        if (strstr(err.text, "have an address") != NULL) {
            break;
        }
    }
    assert_has(err.text, "1 of 2 pods have an address; lm-w-1: Unschedulable: "
               "0/12 nodes are available: 12 Insufficient nvidia.com/gpu.");
}

static void pods_without_an_address_are_left_out_where_nobody_waits(
    void **state)
{
    char *pods[] = {
        pod("lm-w-0", VC("w", "0"), "", RUNS("10.0.0.2")),
        pod("lm-w-1", VC("w", "1"), "", "\"phase\":\"Pending\""),
        pod("own", VC("m", "0"), "", RUNS("10.0.0.9")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){0}, "Kubernetes API", "10.0.0.2");
    assert_has(gang.notes[0], "1 of 2 pods have an address; lm-w-1: no "
               "scheduler has looked at it yet; only those that are there");
}

static void pods_that_are_young_are_complete_where_nobody_waits(void **state)
{
    char *pods[] = {
        hb_xstrdup("{\"metadata\":{\"name\":\"a\",\"uid\":\"a\","
                   "\"creationTimestamp\":\"2999-01-01T00:00:00Z\"},"
                   "\"status\":{" RUNS("10.0.0.2") "}}"), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){.selector = "a!=b"}, "--pod-selector",
                 "10.0.0.2");
    assert_int_equal(gang.n_notes, 0);
}

static void a_pod_that_runs_beside_a_container_that_has_ended_is_a_member(
    void **state)
{
    char *pods[] = {
        pod("lm-w-0", VC("w", "0"), "",
            BESIDE("10.0.0.2", "False", "0", RUNNING)),
        pod("lm-w-1", VC("w", "1"), "",
            BESIDE("10.0.0.3", "False", "1", RUNNING)),
        pod("lm-w-2", VC("w", "2"), "\"restartPolicy\":\"Always\"",
            BESIDE("10.0.0.4", "False", "0",
                   "\"terminated\":{\"exitCode\":1}")),
        pod("own", VC("m", "0"), "", RUNS("10.0.0.9")), NULL};

    plan_pods(pods, "");
    assert_found((struct asked){.wait_ms = 60000, .enough = 3},
                 "Kubernetes API", "10.0.0.2 10.0.0.3 10.0.0.4");
}

static void a_pod_without_an_address_is_not_waited_for_where_enough_are_there(
    void **state)
{
    char *pods[] = {
        pod("lm-w-0", VC("w", "0"), "", RUNS("10.0.0.2")),
        pod("lm-w-1", VC("w", "1"), "", "\"phase\":\"Pending\""),
        pod("own", VC("m", "0"), "", RUNS("10.0.0.9")), NULL};

    plan_pods(pods, ",\"watches\":[[\"hold\"]]");
    assert_found((struct asked){.wait_ms = 3600000, .enough = 1},
                 "Kubernetes API", "10.0.0.2");
}

static void a_pod_without_an_address_is_waited_for_where_too_few_are_there(
    void **state)
{
    char *pods[] = {
        pod("lm-w-0", VC("w", "0"), "", RUNS("10.0.0.2")),
        pod("lm-w-1", VC("w", "1"), "", "\"phase\":\"Pending\""),
        pod("own", VC("m", "0"), "", RUNS("10.0.0.9")), NULL};

    plan_event(pods, pod("lm-w-1", VC("w", "1"), "", RUNS("10.0.0.3")));
    assert_found((struct asked){.wait_ms = 60000, .enough = 2},
                 "Kubernetes API", "10.0.0.2 10.0.0.3");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_volcano_job_without_names_is_found_by_address),
        T(a_worker_finds_its_own_task_and_itself),
        T(tasks_can_be_named),
        T(all_of_a_ray_cluster_are_found_its_head_first),
        T(the_head_of_a_ray_cluster_is_one_of_its_hosts),
        T(a_jobset_of_unknown_size_is_found_by_the_pods_address),
        T(a_pod_on_its_nodes_network_knows_its_name_by_its_token),
        T(pods_with_a_service_each_are_called_by_name),
        T(a_plain_job_is_no_gang),
        T(pods_of_an_earlier_run_are_not_members),
        T(a_pod_that_replaces_another_takes_its_place),
        T(selected_pods_are_the_hosts),
        T(a_selection_that_is_empty_is_an_error),
        T(the_first_pod_is_waited_for_by_who_says_so),
        T(pods_of_a_task_that_is_named_are_waited_for),
        T(a_first_pod_that_does_not_come_is_told_of),
        T(needing_some_is_no_reason_to_wait_for_the_first),
        T(so_many_pods_are_waited_for_as_are_needed),
        T(pods_of_a_group_are_the_hosts),
        T(a_selector_outside_of_a_cluster_is_an_error),
        T(the_api_is_not_asked_when_told_so),
        T(a_refusal_where_it_matters_says_what_would_help),
        T(pods_that_share_a_name_or_an_address_are_told_of),
        T(a_token_that_is_not_accepted_is_not_mended_by_a_role),
        T(a_refusal_in_any_other_pod_is_no_news),
        T(a_stronger_source_spares_the_api),
        T(a_pod_without_an_address_is_waited_for),
        T(so_many_pods_are_waited_for_as_the_group_has),
        T(pods_that_do_not_come_are_named_with_their_reason),
        T(pods_without_an_address_are_left_out_where_nobody_waits),
        T(pods_that_are_young_are_complete_where_nobody_waits),
        T(a_pod_that_runs_beside_a_container_that_has_ended_is_a_member),
        T(a_pod_without_an_address_is_not_waited_for_where_enough_are_there),
        T(a_pod_without_an_address_is_waited_for_where_too_few_are_there),
    };

    if (!server_is_possible()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, server_setup, server_teardown);
}
