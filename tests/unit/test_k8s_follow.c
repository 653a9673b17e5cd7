/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A gang that the Kubernetes API lists, followed by a watch: what is told of
 * it, that no trouble of the server ends it, and how long a server is waited
 * for that is down from the beginning. */

#include "config.h"

#include "tests/unit/kubeapi.h"
#include "tests/unit/kubepods.h"

#include "hostfile/hostfile.h"
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

static void write_names(void *arg, struct hb_gang *now)
{
    const int *fd = arg;

    for (size_t i = 0; i < now->n; i++) {
        dprintf(*fd, "%s%s", i > 0 ? " " : "", now->hosts[i].name);
    }
    dprintf(*fd, "\n");
}

static int follow(const char *source, const char *selector,
                  const char *host_list, int fd)
{
    char *text = pod_env(""), *save = NULL;
    char *vars[] = {strtok_r(text, " ", &save), strtok_r(NULL, " ", &save),
                    NULL};
    const struct hb_gang_request req = {
        .root = pod_root, .filter = 1, .env = vars, .pod_selector = selector,
        .host_list = host_list};
    int rc = hb_gang_follow(&req, source, write_names, &fd, &err);

    free(text);
    return rc;
}

/* Another process follows, as who does it has no end; until what it tells is
 * `expected`. */
static void assert_follows(const char *source, const char *selector,
                           const char *expected)
{
    char line[512];
    FILE *told;
    int p[2];
    pid_t child;

    assert_int_equal(pipe(p), 0);
    child = fork();
    if (child == 0) {
        alarm(120);
        follow(source, selector, NULL, p[1]);
        dprintf(p[1], "%s\n", err.text);
        _exit(0);
    }
    close(p[1]);
    told = fdopen(p[0], "r");
    do {
        if (fgets(line, sizeof(line), told) == NULL) {
            fail_msg("it was never \"%s\"", expected);
        }
        line[strcspn(line, "\n")] = '\0';
    } while (strcmp(line, expected) != 0);
    fclose(told);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void assert_lists(int expected)
{
    char *log = server_file("log"), *at = log;
    int n = 0;

    while ((at = strstr(at, "limit=")) != NULL) {
        at++;
        n++;
    }
    free(log);
    assert_int_equal(n, expected);
}

static void plan_followed(const char *watches)
{
    char *pods[] = {
        pod("a", LABELS("\"app\":\"x\""), "", RUNS("10.0.0.2")),
        pod("b", LABELS("\"app\":\"x\""), "", "\"phase\":\"Pending\""),
        NULL};

    plan_pods(pods, watches);
}

/* A pod of app=x as a watch tells of it. */
#define CHANGE(type, name, status) "{\"type\":\"" type "\",\"object\":{"    \
    "\"metadata\":{\"name\":\"" name "\",\"uid\":\"uid-" name "\","         \
    "\"resourceVersion\":\"7\",\"labels\":{\"app\":\"x\"}},\"status\":{"    \
    status "}}}"

static void a_gang_is_told_again_when_it_is_another_one(void **state)
{
    plan_followed(",\"watches\":[["
                  CHANGE("MODIFIED", "b", RUNS("10.0.0.3")) ","
                  CHANGE("ADDED", "c", RUNS("10.0.0.4")) ","
                  CHANGE("DELETED", "a", "") ",\"hold\"]]");
    assert_follows("--pod-selector", "app=x",
                   "10.0.0.3 10.0.0.4");
    assert_lists(1);
}

static void a_gang_is_followed_through_a_watch_that_expired(void **state)
{
    plan_followed(",\"watches\":[["
                  CHANGE("ADDED", "c", RUNS("10.0.0.4")) ",{\"type\":"
                  "\"ERROR\",\"object\":{\"code\":410}}],["
                  CHANGE("MODIFIED", "b", RUNS("10.0.0.3")) ",\"hold\"]]");
    assert_follows("--pod-selector", "app=x",
                   "10.0.0.2 10.0.0.3");
    assert_lists(2);
}

static void a_gang_is_followed_through_troubles_of_the_server(void **state)
{
    plan_followed(",\"faults\":[{\"path\":\"watch=\",\"times\":2,\"do\":"
                  "\"status\",\"code\":503},{\"path\":\"watch=\",\"do\":"
                  "\"cut\"}],\"watches\":[["
                  CHANGE("ADDED", "c", RUNS("10.0.0.4")) ",\"hold\"]]");
    assert_follows("--pod-selector", "app=x",
                   "10.0.0.2 10.0.0.4");
    assert_lists(1);
}

static void the_gang_of_this_pod_is_followed(void **state)
{
    char *pods[] = {
        pod("lm-w-0", VC("w", "0"), "", RUNS("10.0.0.2")),
        pod("lm-w-1", VC("w", "1"), "", "\"phase\":\"Pending\""),
        pod("own", VC("m", "0"), "", RUNS("10.0.0.9")), NULL};

    plan_event(pods, pod("lm-w-1", VC("w", "1"), "", RUNS("10.0.0.3")));
    assert_follows("Kubernetes API", NULL, "10.0.0.2 10.0.0.3");
}

static void an_api_that_may_not_be_asked_any_more_is_told(void **state)
{
    plan("{\"faults\":[{\"path\":\"pods\",\"times\":99,\"do\":\"status\","
         "\"code\":403,\"message\":\"no\"}]}");
    assert_follows("--pod-selector", "app=x",
                   "the Kubernetes API refuses (403 no): give this pod's "
                   "service account a Role with the rule {apiGroups: [\"\"], "
                   "resources: [pods], verbs: [get, list, watch]}");
}

static void a_source_that_tells_nothing_by_itself_is_not_followed(void **state)
{
    assert_int_equal(follow("--hostfile", NULL, NULL, -1),
                     HPCBOOT_ERR_UNSUPPORTED);
    /* -H selects, which a source knows nothing of. */
    assert_int_equal(follow("--pod-selector", "app=x", "a", -1),
                     HPCBOOT_ERR_UNSUPPORTED);
}

static int looks;

static int count_looks(void)
{
    looks++;
    return 0;
}

/* The clock is looked at, and whether it is to stop, twice a second. */
static void an_api_that_is_down_is_waited_for_no_longer_than_its_pods(
    void **state)
{
    char *text = pod_env(""), *save = NULL;
    char *vars[] = {strtok_r(text, " ", &save), strtok_r(NULL, " ", &save),
                    NULL};
    const struct hb_gang_request req = {
        .root = pod_root, .env = vars, .pod_selector = "a=b", .wait_ms = 100,
        .awaits_first = 1, .stop = count_looks};
    struct hb_gang gang;

    plan("{\"faults\":[{\"path\":\"pods\",\"times\":999,\"do\":"
         "\"status\",\"code\":503}]}");
    assert_int_equal(hb_gang_gather(&req, &gang, &err),
                     HPCBOOT_ERR_TIMED_OUT);
    assert_has(err.text, "has not answered in time");
    assert_true(looks <= 10);
    hb_gang_destroy(&gang);
    free(text);
}

static int stop_at_once(void)
{
    return 1;
}

static int told;

static void count_told(void *arg, const char *text)
{
    assert_has(text, "the Kubernetes API has not answered yet");
    told++;
}

/* The size of a group is the first that is asked for. */
static void an_api_that_is_down_is_told_of_where_a_group_is_named(void **state)
{
    char *text = pod_env(""), *save = NULL;
    char *vars[] = {strtok_r(text, " ", &save), strtok_r(NULL, " ", &save),
                    NULL};
    const struct hb_gang_request req = {
        .root = pod_root, .env = vars, .pod_group = "pg", .wait_ms = 10000,
        .awaits_first = 1, .progress = count_told, .stop = stop_at_once};
    struct hb_gang gang;

    plan("{\"faults\":[{\"path\":\"\",\"times\":999,\"do\":"
         "\"status\",\"code\":503}]}");
    assert_int_equal(hb_gang_gather(&req, &gang, &err),
                     HPCBOOT_ERR_TIMED_OUT);
    assert_true(told > 0);
    hb_gang_destroy(&gang);
    free(text);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_gang_is_told_again_when_it_is_another_one),
        T(a_gang_is_followed_through_a_watch_that_expired),
        T(a_gang_is_followed_through_troubles_of_the_server),
        T(the_gang_of_this_pod_is_followed),
        T(an_api_that_may_not_be_asked_any_more_is_told),
        T(an_api_that_is_down_is_waited_for_no_longer_than_its_pods),
        T(an_api_that_is_down_is_told_of_where_a_group_is_named),
        T(a_source_that_tells_nothing_by_itself_is_not_followed),
    };

    if (!server_is_possible()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, server_setup, server_teardown);
}
