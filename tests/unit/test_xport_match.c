/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Messages that come before anybody awaits them: in which order receives find
 * them, by source and by context, and how many of them a sender may leave with
 * its peer. */
#include "config.h"

#include "lib/xport/tcp_impl.h"
#include "xport_world.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static struct hb_xport *new_lists(void)
{
    struct hb_xport *x = calloc(1, sizeof *x);

    assert_non_null(x);
    hb_match_init(x);
    return x;
}

static void free_lists(struct hb_xport *x)
{
    hb_match_destroy(x);
    free(x);
}

static struct hb_inbound *came(struct hb_xport *x, uint32_t source,
                               uint32_t context, uint64_t tag)
{
    struct hb_inbound *in = calloc(1, sizeof *in);

    assert_non_null(in);
    in->source = source;
    in->context = context;
    in->tag = tag;
    hb_match_keep(x, in);
    return in;
}

/* The tag of what such a receive takes; -1: nothing. */
static int64_t taken(struct hb_xport *x, int source, uint32_t context,
                     uint64_t tag, uint64_t mask)
{
    struct hb_xport_req r = {.is_recv = 1, .peer = source, .context = context,
                             .tag = tag, .mask = mask};
    struct hb_inbound *in = hb_match_unexpected(x, &r);
    int64_t found = in != NULL ? (int64_t)in->tag : -1;

    free(in);
    return found;
}

static void test_each_source_has_its_order(void **state)
{
    struct hb_xport *x = new_lists();
    uint32_t neighbour = 1 + HB_MATCH_ROWS; /* has the place of 1 */

    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        (void)came(x, 1, 4, 10 + i);
        (void)came(x, neighbour, 4, 20 + i);
        (void)came(x, 1, 5, 30 + i);
    }
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(taken(x, (int)neighbour, 4, 0, 0), 20 + i);
        assert_int_equal(taken(x, 1, 5, 0, 0), 30 + i);
        assert_int_equal(taken(x, 1, 4, 0, 0), 10 + i);
        assert_int_equal(taken(x, 2, 4, 0, 0), -1);
    }
    assert_int_equal(taken(x, 1, 4, 0, 0), -1);
    free_lists(x);
}

static void test_any_source_takes_the_oldest(void **state)
{
    struct hb_xport *x = new_lists();

    (void)state;
    (void)came(x, 3, 5, 9); /* of another context */
    (void)came(x, 2, 4, 1);
    (void)came(x, 1, 4, 2);
    (void)came(x, 2, 4, 3);
    (void)came(x, 1, 4, 4);
    assert_int_equal(taken(x, 1, 4, 4, UINT64_MAX), 4); /* from the middle */
    assert_int_equal(taken(x, HB_XPORT_ANY, 4, 0, 0), 1);
    assert_int_equal(taken(x, HB_XPORT_ANY, 4, 3, UINT64_MAX), 3);
    assert_int_equal(taken(x, 2, 4, 0, 0), -1);
    assert_int_equal(taken(x, HB_XPORT_ANY, 4, 0, 0), 2);
    assert_int_equal(taken(x, HB_XPORT_ANY, 4, 0, 0), -1);
    assert_int_equal(taken(x, 3, 5, 0, 0), 9);
    (void)came(x, 1, 4, 7); /* the rows go on after they were empty */
    assert_int_equal(taken(x, HB_XPORT_ANY, 4, 0, 0), 7);
    free_lists(x);
}

static void test_what_is_forgotten_is_in_no_row(void **state)
{
    struct hb_xport *x = new_lists();
    struct hb_inbound *in[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        in[i] = came(x, 1, 4, (uint64_t)i);
    }
    hb_match_forget(x, in[1]);
    hb_match_forget(x, in[1]); /* it is not there: nothing happens */
    assert_int_equal(taken(x, 1, 4, 0, 0), 0);
    hb_match_forget(x, in[2]);
    assert_int_equal(taken(x, 1, 4, 0, 0), -1);
    assert_int_equal(taken(x, HB_XPORT_ANY, 4, 0, 0), -1);
    free(in[1]);
    free(in[2]);
    (void)came(x, 1, 4, 5); /* what is left goes with the lists */
    free_lists(x);
}

/* ---- beside a list that is looked through from its beginning ---- */

#define STEPS 40000
#define CONTEXTS 3
#define WAITING 3000 /* of either, at most: tables grow twice */
#define AHEAD 10000  /* so long one kind comes more often, then the other */

struct beside {
    struct hb_xport *x;
    struct hb_xport_req *posted[WAITING]; /* in the order of time */
    struct hb_inbound *kept[WAITING];
    size_t n_posted, n_kept;
    unsigned seed;
};

static int one_of(struct beside *b, int n)
{
    return rand_r(&b->seed) % n;
}

static int is_for(const struct hb_xport_req *r, const struct hb_inbound *in)
{
    return r->context == in->context &&
           (r->peer == HB_XPORT_ANY || r->peer == (int)in->source) &&
           (r->tag & r->mask) == (in->tag & r->mask);
}

static void leave_out(void *list, size_t at, size_t *n)
{
    void **v = list;

    (*n)--;
    memmove(v + at, v + at + 1, (*n - at) * sizeof *v);
}

static void a_message_comes(struct beside *b)
{
    struct hb_inbound *in = calloc(1, sizeof *in);
    struct hb_xport_req *found;
    size_t i = 0;

    assert_non_null(in);
    /* all have one place */
    in->source = (uint32_t)one_of(b, 3) * HB_MATCH_ROWS;
    in->context = (uint32_t)one_of(b, CONTEXTS);
    in->tag = (uint64_t)one_of(b, 4) << 30;
    while (i < b->n_posted && !is_for(b->posted[i], in)) {
        i++;
    }
    found = hb_match_posted(b->x, in);
    if (i < b->n_posted) {
        assert_ptr_equal(found, b->posted[i]);
        assert_int_equal(found->info.source, in->source);
        leave_out(b->posted, i, &b->n_posted);
        free(found);
        free(in);
        return;
    }
    assert_null(found);
    if (b->n_kept == WAITING) {
        free(in);
        return;
    }
    hb_match_keep(b->x, in);
    b->kept[b->n_kept++] = in;
}

static void a_receive_comes(struct beside *b)
{
    struct hb_xport_req *r = calloc(1, sizeof *r);
    struct hb_inbound *found;
    size_t i = 0;

    assert_non_null(r);
    r->is_recv = 1;
    r->peer = one_of(b, 4) == 0 ? HB_XPORT_ANY
                                : one_of(b, 3) * (int)HB_MATCH_ROWS;
    r->context = (uint32_t)one_of(b, CONTEXTS);
    r->tag = (uint64_t)one_of(b, 4) << 30;
    r->mask = one_of(b, 4) == 0 ? (uint64_t)one_of(b, 2) << 30 : UINT64_MAX;
    while (i < b->n_kept && !is_for(r, b->kept[i])) {
        i++;
    }
    found = hb_match_unexpected(b->x, r);
    if (i < b->n_kept) {
        assert_ptr_equal(found, b->kept[i]);
        leave_out(b->kept, i, &b->n_kept);
        free(found);
        free(r);
        return;
    }
    assert_null(found);
    if (b->n_posted == WAITING) {
        free(r);
        return;
    }
    hb_match_post(b->x, r);
    b->posted[b->n_posted++] = r;
}

static void one_is_given_up(struct beside *b)
{
    if (b->n_posted > 0 && one_of(b, 2) == 0) {
        size_t at = (size_t)one_of(b, (int)b->n_posted);

        hb_match_unpost(b->x, b->posted[at]);
        free(b->posted[at]);
        leave_out(b->posted, at, &b->n_posted);
    } else if (b->n_kept > 0) {
        size_t at = (size_t)one_of(b, (int)b->n_kept);

        hb_match_forget(b->x, b->kept[at]);
        free(b->kept[at]);
        leave_out(b->kept, at, &b->n_kept);
    }
}

static void test_whoever_comes_takes_the_oldest_that_fits(void **state)
{
    struct beside b = {.x = new_lists(), .seed = 27};

    (void)state;
    for (int i = 0; i < STEPS; i++) {
        int what = one_of(&b, 16), rare = i / AHEAD % 2;

        if (what == 0) {
            one_is_given_up(&b);
        } else if ((what < 4) != rare) {
            a_receive_comes(&b);
        } else {
            a_message_comes(&b);
        }
    }
    assert_true(b.x->by_tag.n_rows >= 16 * HB_MATCH_ROWS);
    assert_true(b.x->posted_exact.n_rows >= 16 * HB_MATCH_ROWS);
    assert_true(b.x->posted_wide.n_rows >= 4 * HB_MATCH_ROWS);
    while (b.n_posted + b.n_kept > 0) {
        one_is_given_up(&b);
    }
    assert_int_equal(b.x->by_tag.n, 0);
    assert_int_equal(b.x->posted_exact.n, 0);
    assert_int_equal(b.x->posted_wide.n, 0);
    for (int i = 0; i < HB_WIDE_SORTS; i++) {
        assert_int_equal(b.x->n_wide[i], 0);
    }
    free_lists(b.x);
}

/* ---- a sender that is ahead ---- */

#define CONTEXT 5u
#define TURNS 4000000 /* of progress: far more than a busy machine needs */
/* Of 8 bytes: more than may be with the peer. */
#define MESSAGES (((size_t)16 << 20) / (8 + 256) + 100)

static void finish(struct xport_world *w, int rank, struct hb_xport_req *req)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < TURNS; i++) {
        (void)hb_xport_progress(w->x[1 - rank]);
        rc = hb_xport_test(w->x[rank], req, NULL, NULL);
    }
    assert_int_equal(rc, 1);
}

/* Each of them takes memory of who has not asked for it, were it empty. */
static void test_short_messages_wait_at_their_sender(void **state)
{
    struct xport_world *w = *state;
    struct hb_xport_req **s = calloc(MESSAGES, sizeof *s), *r;
    uint64_t word = 7, got = 0;
    size_t n = MESSAGES;

    assert_non_null(s);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(hb_xport_send(w->x[0], 1, CONTEXT, i, &word,
                                       sizeof word, &s[i], NULL), 0);
        (void)hb_xport_progress(w->x[1]);
    }
    finish(w, 0, s[0]);
    for (int i = 0; i < 1000; i++) {
        (void)hb_xport_progress(w->x[1]);
        assert_int_equal(hb_xport_test(w->x[0], s[n - 1], NULL, NULL), 0);
    }
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(hb_xport_recv(w->x[1], 0, CONTEXT, i, UINT64_MAX,
                                       &got, sizeof got, &r, NULL), 0);
        finish(w, 1, r);
    }
    for (size_t i = 1; i < n; i++) {
        finish(w, 0, s[i]);
    }
    free(s);
}

static struct hb_xport_req *send_word(struct xport_world *w, int from,
                                      const uint64_t *word)
{
    struct hb_xport_req *r = NULL;

    assert_int_equal(hb_xport_send(w->x[from], 1 - from, CONTEXT, 1, word,
                                   sizeof *word, &r, NULL), 0);
    return r;
}

static struct hb_xport_req *post(struct xport_world *w, int at, uint64_t *word)
{
    struct hb_xport_req *r = NULL;

    assert_int_equal(hb_xport_recv(w->x[at], 1 - at, CONTEXT, 1, UINT64_MAX,
                                   word, sizeof *word, &r, NULL), 0);
    return r;
}

static void pass(struct xport_world *w, int from, uint64_t word)
{
    struct hb_xport_req *s = send_word(w, from, &word);
    uint64_t got = 0;

    finish(w, 1 - from, post(w, 1 - from, &got));
    finish(w, from, s);
    assert_int_equal(got, word);
}

static int is_quick(const struct hb_tcp_conn *c)
{
    int on = -1;
    socklen_t len = sizeof on;

    assert_int_equal(getsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, &len),
                     0);
    assert_int_equal(c->joins, on == 0);
    return on != 0;
}

#define RUN 40

/* Nobody's answer is awaited meanwhile: they may go together. */
static void test_words_in_a_row_join_until_their_sender_waits(void **state)
{
    struct xport_world *w = *state;
    struct hb_xport_req *s[RUN], *answer;
    uint64_t words[RUN], got = 0, back = 0;
    const struct hb_tcp_conn *c;

    pass(w, 0, 1);
    c = w->x[0]->tcp->out[1];
    assert_true(is_quick(c));
    answer = post(w, 0, &back);
    for (uint64_t i = 0; i < RUN; i++) {
        words[i] = i;
        s[i] = send_word(w, 0, &words[i]);
    }
    assert_false(is_quick(c));
    assert_int_equal(hb_xport_test(w->x[0], answer, NULL, NULL), 0);
    assert_true(is_quick(c));
    for (uint64_t i = 0; i < RUN; i++) {
        finish(w, 1, post(w, 1, &got));
        assert_int_equal(got, i);
        finish(w, 0, s[i]);
    }
    finish(w, 1, send_word(w, 1, &words[RUN - 1]));
    finish(w, 0, answer);
    assert_int_equal(back, words[RUN - 1]);
}

static void test_a_long_message_parts_what_joins(void **state)
{
    struct xport_world *w = *state;
    static const char body[4096];
    char got[sizeof body];
    struct hb_xport_req *r;

    pass(w, 0, 1);
    for (uint64_t i = 0; i < RUN; i++) {
        pass(w, 0, i);
    }
    assert_false(is_quick(w->x[0]->tcp->out[1]));
    assert_int_equal(hb_xport_send(w->x[0], 1, CONTEXT, 1, body, sizeof body,
                                   &r, NULL), 0);
    assert_true(is_quick(w->x[0]->tcp->out[1]));
    finish(w, 0, r);
    assert_int_equal(hb_xport_recv(w->x[1], 0, CONTEXT, 1, UINT64_MAX, got,
                                   sizeof got, &r, NULL), 0);
    finish(w, 1, r);
}

/* Who answers delays its ACKs, for which further words may wait. */
static void test_words_in_a_row_are_acknowledged_at_once(void **state)
{
    struct xport_world *w = *state;
    const struct hb_tcp_conn *c;

    pass(w, 0, 1);
    pass(w, 1, 2);
    c = w->x[1]->tcp->out[0];
    assert_true(c->answers);
    for (uint64_t i = 0; i < RUN; i++) {
        pass(w, 0, i);
    }
    assert_false(c->answers);
}

/* BBR, where it is the system's, paces for ever what it has had once. */
static void test_no_socket_ever_had_bbr(void **state)
{
    struct xport_world *w = *state;
    const struct hb_tcp *t = w->x[0]->tcp;
    int fds[2] = {t->listen_fd, -1};

    pass(w, 0, 1);
    fds[1] = t->out[1]->fd;
    for (int i = 0; i < 2; i++) {
        char name[16] = "";
        socklen_t len = sizeof name - 1;

        assert_int_equal(getsockopt(fds[i], IPPROTO_TCP, TCP_CONGESTION, name,
                                    &len), 0);
        assert_string_not_equal(name, "bbr");
    }
}

/* ---- contexts that are over ---- */

#define LONG ((size_t)1 << 20)
#define OTHER (CONTEXT + 2)

static struct hb_xport_req *send_in(struct xport_world *w, uint32_t context,
                                    const void *data, size_t size)
{
    struct hb_xport_req *r = NULL;

    assert_int_equal(hb_xport_send(w->x[0], 1, context, 1, data, size, &r,
                                   NULL), 0);
    for (int i = 0; i < 1000; i++) {
        (void)hb_xport_progress(w->x[1]);
        (void)hb_xport_progress(w->x[0]);
    }
    return r;
}

static size_t n_unexpected(const struct xport_world *w)
{
    const struct hb_link *l = w->x[1]->unexpected.first;
    size_t n = 0;

    for (; l != NULL; l = l->next) {
        n++;
    }
    return n;
}

static void assert_no_offers(const struct xport_world *w)
{
    for (size_t i = 0; i < HB_MATCH_ROWS; i++) {
        assert_null(w->x[0]->tcp->offers[i].first);
    }
}

static void test_what_came_for_a_context_that_ends_goes(void **state)
{
    struct xport_world *w = *state;
    char *body = calloc(LONG, 1), got[8] = "";
    struct hb_xport_req *offer, *given_up, *r;

    assert_non_null(body);
    finish(w, 0, send_in(w, CONTEXT, "a", 1));
    finish(w, 0, send_in(w, OTHER, "other", 6));
    offer = send_in(w, CONTEXT, body, LONG);
    given_up = send_in(w, CONTEXT, body, LONG);
    hb_xport_cancel(w->x[0], given_up);
    assert_int_equal(n_unexpected(w), 4);
    hb_xport_end(w->x[1], CONTEXT);
    assert_int_equal(n_unexpected(w), 1);
    finish(w, 0, offer);
    assert_no_offers(w);
    assert_int_equal(hb_xport_recv(w->x[1], 0, OTHER, 1, UINT64_MAX, got,
                                   sizeof got, &r, NULL), 0);
    finish(w, 1, r);
    assert_string_equal(got, "other");
    free(body);
}

static void test_what_comes_later_for_it_is_not_kept(void **state)
{
    struct xport_world *w = *state;
    struct hb_xport_req *s;
    char *body = calloc(LONG, 1);
    uint64_t word = 7;

    assert_non_null(body);
    hb_xport_end(w->x[1], CONTEXT);
    s = send_in(w, CONTEXT, body, LONG);
    finish(w, 0, s);
    for (size_t i = 0; i < MESSAGES; i++) { /* and takes nobody's room */
        assert_int_equal(hb_xport_send(w->x[0], 1, CONTEXT, i, &word,
                                       sizeof word, &s, NULL), 0);
        finish(w, 0, s);
    }
    assert_int_equal(n_unexpected(w), 0);
    assert_no_offers(w);
    finish(w, 0, send_in(w, OTHER, &word, sizeof word));
    assert_int_equal(n_unexpected(w), 1);
    free(body);
}

static void count_drop(void *ctx, uint32_t source, uint32_t context,
                       uint64_t tag)
{
    struct xport_rank *r = ctx;

    assert_int_equal(source, 0);
    assert_int_equal(context, CONTEXT);
    r->lost += 100;
}

/* Through rings that hold a part of it. */
static void test_long_messages_on_a_node_end_with_their_context(void **state)
{
    struct xport_world *w = xport_world_on_a_node(2);
    struct hb_xport_req *s[2];
    char *body = calloc(LONG, 1);

    (void)state;
    assert_non_null(body);
    w->x[1]->job.dropped = count_drop;
    assert_int_equal(hb_xport_send(w->x[0], 1, CONTEXT, 1, body, LONG, &s[0],
                                   NULL), 0);
    (void)hb_xport_progress(w->x[1]);
    assert_int_equal(n_unexpected(w), 1); /* it has begun to come */
    hb_xport_end(w->x[1], CONTEXT);
    assert_int_equal(n_unexpected(w), 0);
    assert_int_equal(hb_xport_send(w->x[0], 1, CONTEXT, 2, body, LONG, &s[1],
                                   NULL), 0);
    finish(w, 0, s[0]);
    finish(w, 0, s[1]);
    (void)hb_xport_progress(w->x[1]);
    assert_int_equal(n_unexpected(w), 0);
    assert_int_equal(w->ranks[1].lost, 200);
    xport_world_destroy(w);
    free(body);
}

#define WORLD(name) \
    cmocka_unit_test_setup_teardown(name, xport_world_set_up, \
                                    xport_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_source_has_its_order),
        cmocka_unit_test(test_any_source_takes_the_oldest),
        cmocka_unit_test(test_what_is_forgotten_is_in_no_row),
        cmocka_unit_test(test_whoever_comes_takes_the_oldest_that_fits),
        WORLD(test_short_messages_wait_at_their_sender),
        WORLD(test_words_in_a_row_join_until_their_sender_waits),
        WORLD(test_a_long_message_parts_what_joins),
        WORLD(test_words_in_a_row_are_acknowledged_at_once),
        WORLD(test_no_socket_ever_had_bbr),
        WORLD(test_what_came_for_a_context_that_ends_goes),
        WORLD(test_what_comes_later_for_it_is_not_kept),
        cmocka_unit_test(test_long_messages_on_a_node_end_with_their_context),
    };

    setenv("HPCBOOT_TRANSPORTS", "tcp", 1);

    return cmocka_run_group_tests(tests, NULL, NULL);
}
