/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Gangs that the Kubernetes API lists while their pods change: one is being
 * deleted, or the job has lived before. */

#include "config.h"

#include "tests/unit/kubeapi.h"
#include "tests/unit/kubepods.h"

#include "hostfile/k8s.h"

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

static int gather(struct hb_gang_request req)
{
    struct hb_strv vars = HB_STRV_INIT;
    char *text = pod_env(""), *save = NULL;
    int rc;

    for (char *v = strtok_r(text, " ", &save); v != NULL;
         v = strtok_r(NULL, " ", &save)) {
        hb_strv_push(&vars, v);
    }
    req.root = pod_root;
    req.env = hb_strv_view(&vars);
    rc = hb_gang_gather(&req, &gang, &err);
    hb_strv_destroy(&vars);
    free(text);
    return rc;
}

static void assert_found(struct hb_gang_request req, const char *source,
                         const char *hosts)
{
    if (gather(req) < 0) {
        fail_msg("%s", err.text);
    }
    assert_gang(&gang, source, hosts);
}

#define APP LABELS("\"app\":\"x\"")
#define LEAVES ",\"deletionTimestamp\":\"2026-01-01T00:00:30Z\""
#define SELECTED .pod_selector = "app=x", .wait_ms = 60000

static void what_takes_a_leaving_pods_place_is_waited_for(void **state)
{
    char *pods[] = {pod("a", APP, "", RUNS("10.0.0.5")),
                    pod("b", APP LEAVES, "", RUNS("10.0.0.6")), NULL};
    char *gone = pod("b", APP LEAVES, "", RUNS("10.0.0.6"));
    char *late = pod("c", APP, "", RUNS("10.0.0.7"));
    char *more = hb_xasprintf(",\"watches\":[[" EVENT("DELETED") ","
                              EVENT("ADDED") ",\"hold\"]]", gone, late);

    plan_pods(pods, more);
    free(more);
    free(late);
    free(gone);
    assert_found((struct hb_gang_request){SELECTED}, "--pod-selector",
                 "10.0.0.5 10.0.0.7");
}

static void a_leaving_pod_is_not_waited_for_where_enough_are_there(
    void **state)
{
    char *pods[] = {pod("a", APP, "", RUNS("10.0.0.5")),
                    pod("b", APP LEAVES, "", RUNS("10.0.0.6")), NULL};

    plan_pods(pods, ",\"watches\":[[\"hold\"]]");
    assert_found((struct hb_gang_request){SELECTED, .enough_hosts = 1},
                 "--pod-selector", "10.0.0.5");
}

static void a_leaving_pod_is_not_waited_for_longer_than_all(void **state)
{
    char *pods[] = {pod("a", APP, "", RUNS("10.0.0.5")),
                    pod("b", APP LEAVES, "", RUNS("10.0.0.6")), NULL};

    plan_pods(pods, ",\"watches\":[[\"hold\"]]");
    assert_found((struct hb_gang_request){.pod_selector = "app=x",
                                          .wait_ms = 200},
                 "--pod-selector", "10.0.0.5");
}

#define PODGROUPS "/apis/scheduling.volcano.sh/v1beta1/namespaces/hpc/podgroups"
#define VCG(index) VC("w", index) ",\"annotations\":{"                        \
    "\"scheduling.k8s.io/group-name\":\"lm-u\"}"

/* A gang of two, whose second pod comes late and whose group says `group`. */
static void plan_second(const char *group)
{
    char *pods[] = {pod("own", VCG("0"), "", RUNS("10.0.0.9")), NULL};
    char *late = pod("lm-w-1", VCG("1"), "", RUNS("10.0.0.3"));
    char *more = hb_xasprintf(",%s,\"watches\":[[" EVENT("ADDED")
                              ",\"hold\"]]", group, late);

    plan_pods(pods, more);
    free(more);
    free(late);
}

static void a_groups_size_is_remembered_where_it_is_refused_later(void **state)
{
    static const struct {
        const char *before, *group, *hosts;
    } ways[] = {
        {"Kubernetes API", NULL, "10.0.0.9* 10.0.0.3"},
        {"--pod-selector", "lm-u", "10.0.0.3 10.0.0.9"},
    };

    for (size_t i = 0; i < 2; i++) {
        struct hb_gang_request req = {.wait_ms = 60000,
                                      .pod_group = ways[i].group};

        plan_second("\"objects\":{\"" PODGROUPS "/lm-u\":{\"spec\":{"
                    "\"minMember\":2}}}");
        assert_found(req, ways[i].before, ways[i].hosts);
        assert_int_equal(gang.expected, 2);
        req.before = ways[i].before;
        req.expected_before = gang.expected;
        hb_gang_destroy(&gang);
        plan_second("\"faults\":[{\"path\":\"podgroups\",\"times\":9,"
                    "\"do\":\"status\",\"code\":403}]");
        assert_found(req, ways[i].before, ways[i].hosts);
        assert_int_equal(gang.expected, 2);
        hb_gang_destroy(&gang);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_takes_a_leaving_pods_place_is_waited_for),
        T(a_leaving_pod_is_not_waited_for_where_enough_are_there),
        T(a_leaving_pod_is_not_waited_for_longer_than_all),
        T(a_groups_size_is_remembered_where_it_is_refused_later),
    };

    if (!server_is_possible()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, server_setup, server_teardown);
}
