/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The Kubernetes client against a server of its own, over TLS: lists, pages,
 * watches, and everything that can go wrong on the way. */

#include "config.h"

#include "tests/unit/kubeapi.h"

#include <unistd.h>

#include "hostfile/k8s.h"
#include "lib/base/clock.h"

/* Only a broken client, or a machine that does nothing else, needs so long. */
#define PATIENCE_MS 60000

static struct hb_k8s_login login;
static struct hpcboot_error err;

static void read_login(const char *host)
{
    char *env = hb_xasprintf("KUBERNETES_SERVICE_HOST=%s", host);
    char *port = hb_xasprintf("KUBERNETES_SERVICE_PORT=%u", server_port);
    char *const vars[] = {env, port, NULL};
    const struct hb_gang_request req = {.env = vars, .root = pod_root};
    char *reason = NULL;

    hb_k8s_login_destroy(&login);
    if (!hb_k8s_login_read(&req, &login, &reason)) {
        fail_msg("%s", reason);
    }
    free(env);
    free(port);
}

static int setup(void **state)
{
    memset(&err, 0, sizeof(err));
    pod_create("lm-worker-0");
    read_login("127.0.0.1");
    return 0;
}

static int teardown(void **state)
{
    hb_k8s_login_destroy(&login);
    tree_remove(pod_root);
    return 0;
}

static int list(const char *labels, int64_t within_ms, size_t *n_out)
{
    const struct hb_k8s_query query = {.labels = labels};
    struct hb_k8s *k = NULL;
    int rc = hb_k8s_open(&login, &query, &k, &err);

    /* Nobody should wait for a server that is gone. */
    assert_int_equal(waitpid(server_pid, NULL, WNOHANG), 0);
    if (rc >= 0) {
        rc = hb_k8s_wait(k, hb_deadline_in_ms(within_ms), &err);
    }
    *n_out = rc > 0 ? hb_k8s_pods(k)->n : 0;
    hb_k8s_close(k);
    return rc;
}

static void assert_listed(size_t expected)
{
    size_t n;

    if (list(NULL, PATIENCE_MS, &n) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(n, expected);
}

static void assert_refused(int code, const char *words)
{
    size_t n;

    assert_int_equal(list(NULL, PATIENCE_MS, &n), code);
    assert_int_equal(err.code, code);
    assert_has(err.text, words);
}

static void assert_requests(const char *part, int expected)
{
    char *log = server_file("log"), *at = log;
    int n = 0;

    while ((at = strstr(at, part)) != NULL) {
        at++;
        n++;
    }
    if (n != expected) {
        fail_msg("expected %d requests with \"%s\", found %d:\n%s", expected,
                 part, n, log);
    }
    free(log);
}

static void a_list_comes_in_pages(void **state)
{
    plan("{\"make\":{\"count\":1201}}");
    assert_listed(1201);
    assert_requests("limit=500", 3);
    assert_requests("continue=", 2);
}

static void five_thousand_pods_are_listed_in_order(void **state)
{
    const struct hb_k8s_query query = {0};
    const struct hb_k8s_pod *pod;
    struct hb_k8s *k = NULL;

    plan("{\"make\":{\"count\":5000,\"bytes\":3000}}");
    assert_int_equal(hb_k8s_open(&login, &query, &k, &err), HPCBOOT_OK);
    assert_int_equal(hb_k8s_wait(k, hb_deadline_in_ms(PATIENCE_MS), &err), 1);
    assert_int_equal(hb_k8s_pods(k)->n, 5000);
    pod = hb_k8s_pods_find(hb_k8s_pods(k), "lm-worker-4321");
    assert_string_equal(pod->marks[HB_K8S_VC_INDEX], "4321");
    assert_string_equal(pod->addresses[0], "10.0.16.225");
    assert_int_equal(pod->state, HB_K8S_READY);
    hb_k8s_close(k);
}

static void a_selector_is_sent_to_the_server(void **state)
{
    size_t n;

    plan("{\"make\":{\"count\":3}}");
    assert_int_equal(list("volcano.sh/task-index=1,a!=b c", PATIENCE_MS, &n),
                     1);
    assert_int_equal(n, 1);
    assert_requests("labelSelector=volcano.sh%2Ftask-index%3D1%2Ca%21%3Db%20c",
                    1);
}

static void an_empty_list_is_complete(void **state)
{
    plan("{\"pods\":[]}");
    assert_listed(0);
    plan("{\"faults\":[{\"path\":\"\",\"do\":\"body\",\"text\":"
         "\"{\\\"metadata\\\":{},\\\"items\\\":null}\"}]}");
    assert_listed(0);
}

static void a_server_of_another_authority_is_not_trusted(void **state)
{
    char *other = server_file("other.crt");

    plan("{\"pods\":[]}");
    tree_write(pod_root, ACCOUNT "ca.crt", other);
    free(other);
    assert_refused(HPCBOOT_ERR_AUTH, "is not trusted as the Kubernetes API");
    assert_has(err.text, "ca.crt vouches for");
    assert_requests("/", 0);
}

static void a_server_of_another_name_is_not_trusted(void **state)
{
    plan("{\"pods\":[]}");
    read_login("localhost");
    assert_refused(HPCBOOT_ERR_AUTH, "is not trusted as the Kubernetes API");
    assert_requests("/", 0);
}

static void an_authority_that_is_no_certificate_is_told(void **state)
{
    plan("{\"pods\":[]}");
    tree_write(pod_root, ACCOUNT "ca.crt", "garbage\n");
    assert_refused(HPCBOOT_ERR_AUTH, "is not trusted as the Kubernetes API");
}

static void an_expired_token_is_told_after_it_was_read_again(void **state)
{
    plan("{\"make\":{\"count\":1},\"tokens\":[\"new\"]}");
    assert_refused(HPCBOOT_ERR_AUTH, "does not accept the token in");
    assert_requests("/pods", 2);
}

static void a_token_that_was_just_renewed_is_used(void **state)
{
    char *json = hb_xasprintf("{\"make\":{\"count\":2},\"faults\":[{\"path\":"
                              "\"pods\",\"do\":\"renew\",\"file\":\"%s/"
                              ACCOUNT "token\"}]}", pod_root);

    plan(json);
    free(json);
    tree_write(pod_root, ACCOUNT "token", "old\n");
    assert_listed(2);
}

static void a_token_that_is_not_there_is_told(void **state)
{
    char *path = hb_xasprintf("%s/" ACCOUNT "token", pod_root);
    size_t n;

    unlink(path);
    free(path);
    assert_true(list(NULL, PATIENCE_MS, &n) < 0);
    assert_has(err.text, "the service account's token");
}

static void a_refusal_says_which_role_would_help(void **state)
{
    plan("{\"faults\":[{\"path\":\"pods\",\"times\":9,\"do\":\"status\","
         "\"code\":403,\"message\":\"pods is forbidden: User "
         "\\\"system:serviceaccount:hpc:default\\\" cannot list resource "
         "\\\"pods\\\"\"}]}");
    assert_refused(HPCBOOT_ERR_AUTH,
                   "system:serviceaccount:hpc:default\" cannot list");
    assert_has(err.text, "Role with the rule {apiGroups: [\"\"], resources: "
               "[pods], verbs: [get, list, watch]}");
    assert_requests("/pods", 1);
}

static void an_expired_page_begins_the_list_anew(void **state)
{
    plan("{\"make\":{\"count\":600},\"faults\":[{\"path\":\"continue=\","
         "\"do\":\"status\",\"code\":410}]}");
    assert_listed(600);
    assert_requests("/pods", 4);
}

static void lists_that_always_expire_are_read_in_one_page(void **state)
{
    plan("{\"make\":{\"count\":600},\"faults\":[{\"path\":\"continue=\","
         "\"do\":\"status\",\"code\":410,\"times\":9}]}");
    assert_listed(600);
    assert_requests("limit=", 6);
}

static void a_server_that_is_busy_is_asked_when_it_says(void **state)
{
    int64_t began = hb_now_ms();
    plan("{\"make\":{\"count\":1},\"faults\":[{\"path\":\"pods\",\"do\":"
         "\"status\",\"code\":429,\"retry\":1}]}");
    assert_listed(1);
    assert_true(hb_now_ms() - began >= 1000);
    assert_requests("/pods", 2);
}

static void passing_errors_are_tried_again(void **state)
{
    plan("{\"make\":{\"count\":1},\"faults\":[{\"path\":\"pods\",\"do\":"
         "\"status\",\"code\":503},{\"do\":\"status\",\"code\":408,\"path\":"
         "\"pods\"}]}");
    assert_listed(1);
    assert_requests("/pods", 3);
}

static void a_cut_connection_is_made_again(void **state)
{
    plan("{\"make\":{\"count\":700},\"faults\":["
         "{\"path\":\"continue=\",\"do\":\"cut\",\"times\":2},"
         "{\"path\":\"pods\",\"do\":\"cut\"}]}");
    assert_listed(700);
}

static void a_deadline_names_the_last_trouble(void **state)
{
    size_t n;

    plan("{\"faults\":[{\"path\":\"pods\",\"do\":\"status\",\"code\":500,"
         "\"message\":\"etcd has no leader\",\"times\":99}]}");
    /* On a busy machine the first answer takes as long as it likes. */
    for (int64_t ms = 100; ms < PATIENCE_MS; ms *= 2) {
        assert_int_equal(list(NULL, ms, &n), HPCBOOT_ERR_TIMED_OUT);
        if (strstr(err.text, "it answers") != NULL) {
            break;
        }
    }
    assert_has(err.text, "has not answered in time: it answers 500 etcd has "
               "no leader");
}

static void a_silent_server_ends_by_the_deadline(void **state)
{
    int64_t began = hb_now_ms();
    size_t n;

    plan("{\"faults\":[{\"path\":\"pods\",\"do\":\"silence\"}]}");
    assert_int_equal(list(NULL, 300, &n), HPCBOOT_ERR_TIMED_OUT);
    assert_true(hb_now_ms() - began < 5000);
}

static void a_port_without_a_server_is_tried_until_the_deadline(void **state)
{
    unsigned port = server_port;
    size_t n;

    server_port = 1;
    read_login("127.0.0.1");
    server_port = port;
    assert_int_equal(list(NULL, 300, &n), HPCBOOT_ERR_TIMED_OUT);
    assert_has(err.text, "127.0.0.1");
}

static void bad_selectors_are_refused_in_the_servers_words(void **state)
{
    plan("{\"faults\":[{\"path\":\"pods\",\"do\":\"status\",\"code\":400,"
         "\"message\":\"unable to parse requirement\"}]}");
    assert_refused(HPCBOOT_ERR_PROTOCOL, "400 unable to parse requirement");
}

static void json_that_is_cut_short_is_told(void **state)
{
    plan("{\"make\":{\"count\":3},\"faults\":[{\"path\":\"pods\",\"do\":"
         "\"short\"}]}");
    assert_refused(HPCBOOT_ERR_PROTOCOL, "ends before its last bracket");
}

#define BODY(text) \
    "{\"faults\":[{\"path\":\"pods\",\"do\":\"body\",\"text\":\"" text "\"}]}"

static void wrong_types_are_named(void **state)
{
    static const struct {
        const char *plan, *words;
    } cases[] = {
        {BODY("[]"), "expected an object"},
        {BODY("hello"), "expected an object"},
        {BODY(""), "ends before its last bracket"},
        {BODY("{}"), "expected a list"},
        {BODY("{\\\"metadata\\\":{},\\\"items\\\":[1]}"), "expected an object"},
        {BODY("{\\\"metadata\\\":{},\\\"items\\\":[[]]}"),
         "expected an object in"},
        {BODY("{\\\"metadata\\\":{},\\\"items\\\":[{}]}"),
         "item 1: expected a name in metadata.name"},
        {BODY("{\\\"metadata\\\":{},\\\"items\\\":[{\\\"metadata\\\":"
              "{\\\"name\\\":7}}]}"), "expected a name in metadata.name"},
        {BODY("{\\\"metadata\\\":{},\\\"items\\\":[{\\\"metadata\\\":"
              "{\\\"name\\\":\\\"-x;rm\\\"}}]}"), "found -x;rm"},
        {BODY("{\\\"metadata\\\":{},\\\"items\\\":[{\\\"metadata\\\":"
              "{\\\"name\\\":\\\"a\\\",\\\"labels\\\":[]}}]}"),
         "pod a: expected an object in metadata.labels"},
        {BODY("{\\\"metadata\\\":{},\\\"items\\\":[{\\\"metadata\\\":}]}"),
         "item 1: 1:"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plan(cases[i].plan);
        assert_refused(HPCBOOT_ERR_PROTOCOL, cases[i].words);
    }
}

static void huge_answers_are_refused(void **state)
{
    plan("{\"faults\":[{\"path\":\"pods\",\"do\":\"repeat\",\"count\":5000,"
         "\"text\":\"{\\\"metadata\\\":\"}]}");
    assert_refused(HPCBOOT_ERR_LIMIT, "nested more than 64 deep");
    plan("{\"faults\":[{\"path\":\"pods\",\"do\":\"repeat\",\"count\":600000,"
         "\"first\":\"{\\\"items\\\":[{\\\"n\\\":\\\"\","
         "\"text\":\"0123456789\"}]}");
    assert_refused(HPCBOOT_ERR_LIMIT, "larger than 4 MiB");
    plan("{\"faults\":[{\"path\":\"pods\",\"do\":\"repeat\",\"count\":20000,"
         "\"first\":\"{\\\"metadata\\\":\\\"\","
         "\"text\":\"0123456789\"}]}");
    assert_refused(HPCBOOT_ERR_LIMIT, "more than 64 KiB");
}

static void the_api_is_reached_over_ipv6(void **state)
{
    size_t n;

    plan("{\"make\":{\"count\":1}}");
    read_login("::1");
    assert_has(login.server, "https://[::1]:");
    if (list(NULL, 3000, &n) == HPCBOOT_ERR_TIMED_OUT) {
        skip(); /* no IPv6 on this machine */
    }
    assert_int_equal(n, 1);
}

/* Changes, as "+a", "-a", "~a". */
static struct hb_str changes;

static void note_change(void *arg, const struct hb_k8s_pod *before,
                        const struct hb_k8s_pod *now)
{
    hb_str_putf(&changes, "%s%s ", before == NULL ? "+" : now == NULL ? "-"
                                                                      : "~",
                now != NULL ? now->name : before->name);
}

/* Watches until the changes are `expected`. */
static void assert_changes(const char *expected)
{
    const struct hb_k8s_query query = {.watch = 1, .changed = note_change};
    int64_t deadline = hb_deadline_in_ms(PATIENCE_MS);
    struct hb_k8s *k = NULL;
    int rc = hb_k8s_open(&login, &query, &k, &err);

    while (rc >= 0 && strcmp(hb_str_text(&changes), expected) != 0 &&
           hb_deadline_left_ms(deadline) > 0) {
        rc = hb_k8s_wait(k, hb_deadline_in_ms(20), &err);
        if (rc > 0) { /* complete: wait for what comes */
            usleep(2000);
        }
        rc = rc == HPCBOOT_ERR_TIMED_OUT ? 0 : rc;
    }
    hb_k8s_close(k);
    if (rc < 0) {
        fail_msg("%s", err.text);
    }
    assert_string_equal(hb_str_text(&changes), expected);
    hb_str_destroy(&changes);
}

#define POD(name, version) \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"" name "\"," \
    "\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, object) \
    "{\"type\":\"" type "\",\"object\":" object "}"

static void changes_are_told_as_they_come(void **state)
{
    plan("{\"pods\":[" POD("a", "1") "],\"watches\":[["
         EVENT("ADDED", POD("b", "2")) "," EVENT("MODIFIED", POD("a", "3")) ","
         EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"9\"}}") ","
         EVENT("DELETED", POD("b", "10")) ",\"hold\"]]}");
    assert_changes("+b ~a -b ");
}

static void a_watch_that_ends_goes_on_where_it_was(void **state)
{
    plan("{\"pods\":[" POD("a", "1") "],\"watches\":[["
         EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"77\"}}")
         "],[" EVENT("ADDED", POD("b", "78")) ",\"hold\"]]}");
    assert_changes("+b ");
    assert_requests("resourceVersion=5000", 1);
    assert_requests("resourceVersion=77", 1);
    assert_requests("limit=", 1);
}

static void a_version_that_is_too_old_lists_again(void **state)
{
    plan("{\"pods\":[" POD("a", "1") "],\"watches\":[["
         EVENT("ADDED", POD("b", "2")) ","
         EVENT("ERROR", "{\"code\":410,\"message\":\"too old\"}")
         "],[\"hold\"]]}");
    assert_changes("+b -b ");
    assert_requests("limit=", 2);
}

static void a_watch_that_is_refused_as_too_old_lists_again(void **state)
{
    plan("{\"pods\":[" POD("a", "1") "],\"faults\":[{\"path\":\"watch=\","
         "\"do\":\"status\",\"code\":410}],\"watches\":[["
         EVENT("ADDED", POD("c", "2")) ",\"hold\"]]}");
    assert_changes("+c ");
    assert_requests("limit=", 2);
}

static void a_server_that_starts_again_may_refuse_what_it_granted(void **state)
{
    plan("{\"pods\":[" POD("a", "1") "],\"faults\":[{\"path\":\"watch=\","
         "\"do\":\"status\",\"code\":403},{\"path\":\"watch=\",\"do\":"
         "\"status\",\"code\":401}],\"watches\":[["
         EVENT("ADDED", POD("c", "2")) ",\"hold\"]]}");
    assert_changes("+c ");
    assert_requests("limit=", 1);
}

static void assert_rotated(const char *late)
{
    char *text = hb_xasprintf(
        "{\"faults\":[{\"path\":\"watch=\",\"do\":\"rotate\",\"file\":\"%s/"
        ACCOUNT "ca.crt\",\"late\":%s}],"
        "\"watches\":[[" EVENT("ADDED", POD("c", "2")) "]]}", pod_root, late);

    plan(text);
    assert_changes("+c ");
    free(text);
}

static void an_authority_that_is_renewed_is_believed(void **state)
{
    assert_rotated("false");
}

static void an_authority_that_is_renewed_later_is_waited_for(void **state)
{
    assert_rotated("true");
}

static int number_of(const char *path, const char *field)
{
    struct hb_k8s *k = NULL;
    int rc = hb_k8s_open_object(&login, path, field, &k, &err);

    rc = rc < 0 ? rc : hb_k8s_wait(k, hb_deadline_in_ms(PATIENCE_MS), &err);
    rc = rc < 0 ? rc : (int)hb_k8s_number(k);
    hb_k8s_close(k);
    return rc;
}

static void a_number_is_read_out_of_an_object(void **state)
{
    plan("{\"objects\":{\"/apis/x/g\":{\"spec\":{\"minMember\":7}}}}");
    assert_int_equal(number_of("/apis/x/g", "minMember"), 7);
    assert_int_equal(number_of("/apis/x/g", "parallelism"), 0);
    assert_int_equal(number_of("/x/h", "minMember"), HPCBOOT_ERR_NOT_FOUND);
}

#define COND(type, status, time, message) "{\"type\":\"" type "\",\"status\":" \
    "\"" status "\",\"lastTransitionTime\":\"2026-01-01T00:00:0" time "Z\"," \
    "\"reason\":\"NotEnoughResources\",\"message\":\"" message "\"}"

static void a_group_says_why_it_keeps_pods_back(void **state)
{
    static const struct {
        const char *status, *words;
    } list[] = {
        {"\"phase\":\"Pending\",\"conditions\":[" COND("Unschedulable", "True",
         "1", "3/2 tasks in gang unschedulable") "]",
         "NotEnoughResources: 3/2 tasks in gang unschedulable"},
        {"\"conditions\":[" COND("Scheduled", "True", "2", "") ","
         COND("Unschedulable", "True", "1", "old") "]", NULL},
        {"\"conditions\":[" COND("Unschedulable", "False", "1", "x") "]", NULL},
        {"\"phase\":\"Inqueue\"", "its phase is Inqueue"},
        {"\"phase\":\"Running\"", NULL},
        {"\"phase\":7,\"conditions\":{\"a\":[]}", NULL},
        {"\"conditions\":[7,{\"status\":\"True\"}]", NULL},
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char *words = NULL, *text = hb_xasprintf(
            "{\"objects\":{\"/apis/x/g\":{\"status\":{%s}}}}", list[i].status);

        plan(text);
        assert_int_equal(hb_k8s_group_words(&login, "/apis/x/g",
                                            hb_deadline_in_ms(PATIENCE_MS),
                                            &words, &err),
                         list[i].words != NULL);
        if (list[i].words != NULL) {
            assert_string_equal(words, list[i].words);
        }
        free(words);
        free(text);
    }
}

static void a_proxy_of_the_environment_is_not_used(void **state)
{
    plan("{\"make\":{\"count\":1}}");
    setenv("https_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    assert_listed(1);
    unsetenv("https_proxy");
    unsetenv("ALL_PROXY");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_list_comes_in_pages),
        T(five_thousand_pods_are_listed_in_order),
        T(a_selector_is_sent_to_the_server),
        T(an_empty_list_is_complete),
        T(a_server_of_another_authority_is_not_trusted),
        T(a_server_of_another_name_is_not_trusted),
        T(an_authority_that_is_no_certificate_is_told),
        T(an_expired_token_is_told_after_it_was_read_again),
        T(a_token_that_was_just_renewed_is_used),
        T(a_token_that_is_not_there_is_told),
        T(a_refusal_says_which_role_would_help),
        T(an_expired_page_begins_the_list_anew),
        T(lists_that_always_expire_are_read_in_one_page),
        T(a_server_that_is_busy_is_asked_when_it_says),
        T(passing_errors_are_tried_again),
        T(a_cut_connection_is_made_again),
        T(a_deadline_names_the_last_trouble),
        T(a_silent_server_ends_by_the_deadline),
        T(a_port_without_a_server_is_tried_until_the_deadline),
        T(bad_selectors_are_refused_in_the_servers_words),
        T(json_that_is_cut_short_is_told),
        T(wrong_types_are_named),
        T(huge_answers_are_refused),
        T(the_api_is_reached_over_ipv6),
        T(changes_are_told_as_they_come),
        T(a_watch_that_ends_goes_on_where_it_was),
        T(a_version_that_is_too_old_lists_again),
        T(a_watch_that_is_refused_as_too_old_lists_again),
        T(a_server_that_starts_again_may_refuse_what_it_granted),
        T(an_authority_that_is_renewed_is_believed),
        T(an_authority_that_is_renewed_later_is_waited_for),
        T(a_number_is_read_out_of_an_object),
        T(a_group_says_why_it_keeps_pods_back),
        T(a_proxy_of_the_environment_is_not_used),
    };

    return server_is_possible()
               ? cmocka_run_group_tests(tests, server_setup, server_teardown)
               : 77;
}
