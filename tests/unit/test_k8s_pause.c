/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How long the Kubernetes client pauses between its tries, on a clock and over
 * an HTTP of the test's own: no time goes by. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/clock.h"

static int64_t now_ms;

static int64_t own_now_ms(void)
{
    return now_ms;
}

#define hb_now_ms own_now_ms
#include "hostfile/k8s_api.c" /* whose HTTP are the functions below */
#undef hb_now_ms

struct hb_http {
    struct hb_http_user user;
    unsigned gets;
    int64_t pause_ms; /* asked for last, at most */
};

static struct hb_http *http;

int hb_http_create(const struct hb_k8s_login *login,
                   const struct hb_http_user *user, struct hb_http **out,
                   struct hpcboot_error *err)
{
    http = hb_xcalloc(1, sizeof(*http));
    http->user = *user;
    *out = http;
    return 0;
}

void hb_http_destroy(struct hb_http *h)
{
    free(h);
}

int hb_http_fd(const struct hb_http *h)
{
    return -1;
}

int hb_http_get(struct hb_http *h, const char *path, int only_metadata,
                int64_t within_ms, struct hpcboot_error *err)
{
    h->gets++;
    return 0;
}

void hb_http_alarm(struct hb_http *h, int64_t ms, int64_t least_ms)
{
    h->pause_ms = ms;
}

void hb_http_step(struct hb_http *h)
{
}

char *hb_http_escape(struct hb_http *h, const char *text)
{
    return hb_xstrdup(text);
}

static void ends(enum hb_http_outcome outcome, int status)
{
    const struct hb_http_result result = {
        .outcome = outcome, .status = status, .retry_after_ms = -1,
        .text = "cut"};

    http->user.done(http->user.arg, &result);
}

/* A client whose list of no pods is complete, and whose watch has begun. */
static struct hb_k8s *watching(void)
{
    static const char list[] =
        "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}";
    const struct hb_k8s_login login = {
        .server = (char *)"", .ca = (char *)"", .token = (char *)"",
        .space = (char *)"hpc"};
    const struct hb_k8s_query query = {.watch = 1};
    struct hb_k8s *k;

    assert_int_equal(hb_k8s_ops.open(&login, &query, &k, NULL), 0);
    http->user.data(http->user.arg, 200, list, sizeof(list) - 1);
    ends(HB_HTTP_ANSWERED, 200);
    assert_int_equal(http->gets, 2);
    return k;
}

/* The pause after the last of so many watches that were cut. */
static int64_t pause_after(unsigned n, int64_t each_ms, int status)
{
    struct hb_k8s *k = watching();
    int64_t ms;

    for (unsigned i = 0; i < n; i++) {
        if (i > 0) {
            http->user.alarm(http->user.arg);
        }
        now_ms += each_ms;
        ends(HB_HTTP_CUT, status);
    }
    assert_int_equal(http->gets, n + 1);
    ms = http->pause_ms;
    hb_k8s_ops.close(k);
    return ms;
}

static void a_watch_that_is_cut_is_soon_followed_by_another(void **state)
{
    assert_int_equal(pause_after(20, 60000, 200), RETRY_FIRST_MS);
}

static void pauses_grow_where_no_watch_lasts(void **state)
{
    assert_int_equal(pause_after(20, WATCH_MIN_MS - 1, 200), RETRY_MAX_MS);
}

static void pauses_grow_where_nothing_answers(void **state)
{
    assert_int_equal(pause_after(20, 60000, 0), RETRY_MAX_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_that_is_cut_is_soon_followed_by_another),
        cmocka_unit_test(pauses_grow_where_no_watch_lasts),
        cmocka_unit_test(pauses_grow_where_nothing_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
