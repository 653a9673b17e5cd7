/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Two ranks that share several networks, and lose some of them. Both are in
 * this process; the networks are 127.1.0.0/16, 127.2.0.0/16 and so on, as their
 * cards say. */
#include "config.h"

#include "lib/xport/address.h"
#include "lib/xport/choose.h"
#include "lib/xport/tcp_impl.h"
#include "xport_world.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "hpcboot/status.h"

#define RANKS 2
#define CONTEXT 5u
#define NETWORKS 3u
#define LONG ((size_t)3 << 20)
#define MUCH ((size_t)48 << 20) /* no system takes so much at once */
#define NOT_SENT (4 * (128 << 10)) /* four parts of a message */
#define ROUNDS 24
#define SEEDS 24u
#define TURNS 8000000 /* of progress: far more than a busy machine needs */

static void ipv4(struct sockaddr_storage *at, const char *text)
{
    struct sockaddr_in *a = (struct sockaddr_in *)at;

    memset(at, 0, sizeof *at);
    a->sin_family = AF_INET;
    assert_int_equal(inet_pton(AF_INET, text, &a->sin_addr), 1);
}

/* ---- which there are ---- */

struct given {
    const char *at;
    struct hb_network net;
};

static void endpoint(struct hb_endpoint *e, const struct given *g)
{
    memset(e, 0, sizeof *e);
    for (; g->at != NULL; g++) {
        ipv4(&e->at[e->n], g->at);
        e->net[e->n++] = g->net;
    }
}

static unsigned rails(const struct given *low, const struct given *high,
                      struct hb_rail *out)
{
    struct hb_endpoint a, b;

    endpoint(&a, low);
    endpoint(&b, high);
    return hb_rails_between(&a, &b, out);
}

static void networks_that_both_are_in_are_rails(void **state)
{
    const struct given low[] = {{"10.1.0.1", {24, 1, 25000}},
                                {"10.2.0.1", {20, 2, 25000}},
                                {"10.3.0.1", {24, 3, 25000}},
                                {"127.0.0.1", {0}}, {0}};
    const struct given high[] = {{"10.2.15.2", {20, 1, 10000}},
                                 {"10.1.0.2", {24, 2, 0}},
                                 {"10.3.1.2", {24, 3, 25000}},
                                 {"127.0.0.1", {0}}, {0}};
    struct hb_rail r[HB_RAILS_MOST];
    struct sockaddr_storage at;

    assert_int_equal(rails(low, high, r), 2);
    ipv4(&at, "10.1.0.2");
    assert_true(hb_sockaddr_same(&r[0].high, &at));
    assert_int_equal(r[0].mbps, 25000);
    ipv4(&at, "10.2.15.2");
    assert_true(hb_sockaddr_same(&r[1].high, &at));
    assert_int_equal(r[1].mbps, 10000);
}

static void a_device_is_of_one_rail(void **state)
{
    const struct given low[] = {{"10.1.0.1", {24, 1, 0}},
                                {"10.2.0.1", {24, 1, 0}}, {0}};
    const struct given high[] = {{"10.1.0.2", {24, 1, 0}},
                                 {"10.2.0.2", {24, 2, 0}}, {0}};
    struct hb_rail r[HB_RAILS_MOST];

    assert_int_equal(rails(low, high, r), 1);
}

static void an_address_of_both_leads_nowhere(void **state)
{
    const struct given bridge[] = {{"172.17.0.1", {16, 1, 0}}, {0}};
    struct hb_rail r[HB_RAILS_MOST];

    assert_int_equal(rails(bridge, bridge, r), 0);
}

static void a_much_slower_network_is_left_out(void **state)
{
    const struct given low[] = {{"10.1.0.1", {24, 1, 1000}},
                                {"10.2.0.1", {24, 2, 100000}}, {0}};
    const struct given high[] = {{"10.1.0.2", {24, 1, 1000}},
                                 {"10.2.0.2", {24, 2, 100000}}, {0}};
    struct hb_rail r[HB_RAILS_MOST];

    assert_int_equal(rails(low, high, r), 1);
    assert_int_equal(r[0].mbps, 100000);
}

/* ---- two ranks ---- */

/* The card of a rank whose host is in these networks. */
static void rewrite(struct hb_buf *card, unsigned rank)
{
    struct hb_interfaces all = {.n = NETWORKS};
    unsigned char token[HB_ADDRESS_TOKEN];
    const unsigned char *told = (unsigned char *)card->data;
    uint16_t port = (uint16_t)(told[0] << 8 | told[1]);
    const struct hb_caps caps = {.may = 1u << HB_BY_TCP};

    memcpy(token, told + 2, sizeof token);
    for (unsigned i = 0; i < NETWORKS; i++) {
        char text[32];

        snprintf(text, sizeof text, "127.%u.0.%u", i + 1, rank + 1);
        ipv4(&all.list[i].at, text);
        all.list[i].net = (struct hb_network){16, (uint8_t)(i + 1), 0};
    }
    hb_buf_clear(card);
    hb_endpoint_put(card, &all, port, token);
    hb_endpoint_put_caps(card, &caps);
}

static int set_up(void **state)
{
    struct xport_world *p;

    setenv("HPCBOOT_TRANSPORTS", "tcp", 1);
    p = xport_world_create(RANKS);
    for (unsigned i = 0; i < RANKS; i++) {
        rewrite(&p->card[i], i);
    }
    xport_world_join(p);
    *state = p;
    return 0;
}

/* Calls `act` for each connection of this process that is in network 127.k;
 * returns how many there are. */
static unsigned each_of(unsigned k, void (*act)(int fd, void *arg), void *arg)
{
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;
    unsigned n = 0;

    while ((e = readdir(d)) != NULL) {
        int fd = atoi(e->d_name);
        struct sockaddr_storage here = {0}, there = {0};
        socklen_t len = sizeof here, other = sizeof there;
        struct sockaddr_storage net;
        unsigned char bytes[2][4];

        if (getpeername(fd, (struct sockaddr *)&there, &other) < 0 ||
            getsockname(fd, (struct sockaddr *)&here, &len) < 0) {
            continue;
        }
        for (int i = 0; i < 2; i++) {
            net = i == 0 ? here : there;
            memcpy(bytes[i], net.ss_family == AF_INET6
                   ? &((struct sockaddr_in6 *)&net)->sin6_addr.s6_addr[12]
                   : (void *)&((struct sockaddr_in *)&net)->sin_addr, 4);
        }
        if (bytes[0][1] == k || bytes[1][1] == k) {
            n++;
            if (act != NULL) {
                act(fd, arg);
            }
        }
    }
    closedir(d);
    return n;
}

static void cut(int fd, void *arg)
{
    (void)shutdown(fd, SHUT_RDWR);
}

static void add_bytes(int fd, void *arg)
{
    struct tcp_info i;
    socklen_t len = sizeof i;

    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len), 0);
    *(uint64_t *)arg += i.tcpi_data_segs_in;
}

static int finish(struct xport_world *p, int rank, struct hb_xport_req *r,
                  struct hpcboot_error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < TURNS; i++) {
        (void)hb_xport_progress(p->x[rand_r(&p->seed) % RANKS]);
        rc = hb_xport_test(p->x[rank], r, NULL, err);
    }
    return rc;
}

struct message {
    unsigned char *out, *in;
    size_t size;
    struct hb_xport_req *s, *r;
};

static unsigned char byte_of(unsigned number, size_t at)
{
    return (unsigned char)(number * 31 + at / 251 + at);
}

/* Posted before or after it is sent; all with one tag, so that order tells. */
static void begin(struct xport_world *p, struct message *m, int from,
                  unsigned number, size_t size)
{
    int early = rand_r(&p->seed) % 2;

    m->size = size;
    m->out = malloc(size + 1);
    m->in = calloc(1, size + 1);
    for (size_t i = 0; i < size; i++) {
        m->out[i] = byte_of(number, i);
    }
    for (int turn = 0; turn < 2; turn++) {
        if (turn == early) {
            assert_int_equal(hb_xport_send(p->x[from], !from, CONTEXT, 1,
                                           m->out, size, &m->s, NULL), 0);
        } else {
            assert_int_equal(hb_xport_recv(p->x[!from], from, CONTEXT, 1,
                                           UINT64_MAX, m->in, size, &m->r,
                                           NULL), 0);
        }
    }
}

static void end(struct xport_world *p, struct message *m, int from,
                unsigned number)
{
    assert_int_equal(finish(p, !from, m->r, NULL), 1);
    assert_int_equal(finish(p, from, m->s, NULL), 1);
    for (size_t i = 0; i < m->size; i++) {
        if (m->in[i] != byte_of(number, i)) {
            fail_msg("message %u of %zu bytes: byte %zu is wrong", number,
                     m->size, i);
        }
    }
    free(m->out);
    free(m->in);
}

static void exchange(struct xport_world *p, size_t size)
{
    struct message m[RANKS];

    for (int from = 0; from < RANKS; from++) {
        begin(p, &m[from], from, (unsigned)from, size);
    }
    for (int from = 0; from < RANKS; from++) {
        end(p, &m[from], from, (unsigned)from);
    }
}

static unsigned connections(void)
{
    unsigned n = 0;

    for (unsigned k = 1; k <= NETWORKS; k++) {
        n += each_of(k, NULL, NULL);
    }
    return n;
}

/* Both ends know that the other has all of them. */
static int have_all_rails(const struct xport_world *p)
{
    char detail[256];

    for (int i = 0; i < RANKS; i++) {
        unsigned n = 0;

        (void)hb_xport_transport(p->x[i], !i, detail, sizeof detail);
        for (const char *s = detail; (s = strstr(s, "127.")) != NULL; s++) {
            n++;
        }
        if (n < NETWORKS) {
            return 0;
        }
    }
    return 1;
}

static void wait_for_rails(struct xport_world *p)
{
    for (int i = 0; i < TURNS && !have_all_rails(p); i++) {
        (void)hb_xport_progress(p->x[i % RANKS]);
    }
    assert_int_equal(connections(), RANKS * NETWORKS);
}

static void takes_little_ahead(int fd, void *arg)
{
    int bytes = 0;
    socklen_t len = sizeof bytes;

    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes,
                                &len), 0);
    assert_int_equal(bytes, NOT_SENT);
}

/* At both ends, whoever has called. */
static void the_system_takes_little_ahead_of_any_rail(void **state)
{
    struct xport_world *p = *state;

    exchange(p, 1000);
    wait_for_rails(p);
    for (unsigned k = 1; k <= NETWORKS; k++) {
        assert_int_equal(each_of(k, takes_little_ahead, NULL), RANKS);
    }
}

static void whoever_has_spoken_has_all_rails(void **state)
{
    struct xport_world *p = *state;

    exchange(p, 1000);
    wait_for_rails(p);
    for (unsigned k = 1; k < NETWORKS; k++) {
        (void)each_of(k, cut, NULL);
        exchange(p, 1000);
    }
}

/* The process may have so few descriptors when the pair begins. */
static void few_descriptors_leave_one_connection_for_short_messages(
    void **state)
{
    struct xport_world *p = *state;
    struct rlimit before, few;
    struct message m;

    begin(p, &m, 1, 0, 1000);
    while (connections() < RANKS) {
        (void)hb_xport_progress(p->x[0]);
        (void)hb_xport_progress(p->x[1]);
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 2 * RANKS * NETWORKS - 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    end(p, &m, 1, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (int i = 0; i < 10; i++) {
        exchange(p, 1000);
    }
    assert_int_equal(connections(), RANKS);
    exchange(p, LONG);
    wait_for_rails(p);
}

static void long_messages_go_by_all_rails(void **state)
{
    const struct xport_world *p = *state;
    char detail[256];

    for (int i = 0; i < 4; i++) {
        exchange(*state, LONG);
    }
    for (unsigned k = 1; k <= NETWORKS; k++) {
        uint64_t segments = 0;

        assert_int_equal(each_of(k, add_bytes, &segments), 2);
        assert_true(segments > 4);
    }
    assert_string_equal(hb_xport_transport(p->x[0], 1, detail,
                                           sizeof detail), "tcp");
    /* The first is the one that was there first, whoever called. */
    assert_non_null(strstr(detail, " + 127.2.0.2"));
    assert_non_null(strstr(detail, " + 127.3.0.2"));
}

/* Short and long ones both ways, while all rails but one are cut, one after
 * the other, at a time that is drawn. */
static void with_cuts(struct xport_world *p, unsigned stays)
{
    struct message m[RANKS][ROUNDS];
    unsigned number = 0;
    int at[NETWORKS + 1];

    exchange(p, LONG);
    for (unsigned k = 1; k <= NETWORKS; k++) {
        at[k] = k == stays ? -1 : rand_r(&p->seed) % ROUNDS;
    }
    for (int i = 0; i < ROUNDS; i++) {
        for (int from = 0; from < RANKS; from++) {
            size_t size = (size_t)rand_r(&p->seed) %
                          ((size_t)1 << rand_r(&p->seed) % 22);

            begin(p, &m[from][i], from, number++, size);
        }
        for (int n = rand_r(&p->seed) % 20; n > 0; n--) {
            (void)hb_xport_progress(p->x[rand_r(&p->seed) % RANKS]);
        }
        for (unsigned k = 1; k <= NETWORKS; k++) {
            if (at[k] == i) {
                (void)each_of(k, cut, NULL);
            }
        }
    }
    number = 0;
    for (int i = 0; i < ROUNDS; i++) {
        for (int from = 0; from < RANKS; from++) {
            end(p, &m[from][i], from, number++);
        }
    }
    exchange(p, LONG);
}

static void who_keeps_a_rail_loses_nothing(void **state)
{
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        void *p;

        (void)set_up(&p);
        ((struct xport_world *)p)->seed = seed;
        with_cuts(p, 1 + seed % NETWORKS);
        (void)xport_world_tear_down(&p);
    }
}

static void the_last_rail_is_the_end(void **state)
{
    struct xport_world *p = *state;
    struct hpcboot_error err;
    struct message m;

    exchange(p, LONG);
    begin(p, &m, 0, 0, LONG);
    for (unsigned k = 1; k <= NETWORKS; k++) {
        (void)each_of(k, cut, NULL);
    }
    assert_int_equal(finish(p, 1, m.r, &err), HPCBOOT_ERR_PEER_DEAD);
    assert_non_null(strstr(err.text, "rank 0 on here"));
    assert_int_equal(finish(p, 0, m.s, &err), HPCBOOT_ERR_PEER_DEAD);
    free(m.out);
    free(m.in);
}

/* A flush would wait for it. The peer reads nothing while much is under way by
 * all networks; then all are cut, at another turn of the sender's for each
 * seed, as one end may be noticed before or after it has written to others. */
static void nothing_is_to_be_written_when_the_last_rail_has_ended(void **state)
{
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        struct xport_world *p;
        struct message m;

        (void)set_up((void **)&p);
        p->seed = seed;
        exchange(p, LONG);
        wait_for_rails(p);
        begin(p, &m, 0, 0, MUCH);
        while (!hb_tcp_busy(p->x[0]->tcp)) {
            xport_world_move(p);
        }
        while (hb_xport_progress(p->x[0]) > 0) {
        }
        for (unsigned i = 0; i < seed; i++) {
            (void)hb_xport_progress(p->x[0]);
        }
        for (unsigned k = 1; k <= NETWORKS; k++) {
            (void)each_of(k, cut, NULL);
        }
        assert_int_equal(finish(p, 0, m.s, NULL), HPCBOOT_ERR_PEER_DEAD);
        assert_false(hb_tcp_busy(p->x[0]->tcp));
        assert_int_equal(finish(p, 1, m.r, NULL), HPCBOOT_ERR_PEER_DEAD);
        free(m.out);
        free(m.in);
        (void)xport_world_tear_down((void **)&p);
    }
}

/* Rank 0 sends in order by another, as its peer did before. */
static void a_receive_fails_that_has_a_part_by_some_rail(void **state)
{
    struct xport_world *p = *state;
    const struct hb_tcp_conn *c;
    const struct hb_tcp_head head = {.kind = HB_TCP_MESSAGE, .source = 1,
                                     .context = CONTEXT, .size = LONG / 64};
    const struct hb_xport_req lost = {.peer = 1, .size = LONG};
    struct hb_xport_req *r = NULL;

    exchange(p, 1000);
    wait_for_rails(p);
    assert_int_equal(hb_xport_recv(p->x[0], 1, CONTEXT, 0, 0, NULL, 0, &r,
                                   NULL), 0);
    c = hb_pair_other(p->x[1]->tcp, 0, 1);
    c = c != NULL ? c : hb_pair_other(p->x[1]->tcp, 0, 2);
    assert_int_equal(send(c->fd, &head, sizeof head, 0), sizeof head);
    while (p->x[0]->posted.first != NULL) {
        (void)hb_xport_progress(p->x[0]);
    }
    hb_tcp_break(p->x[0]->tcp, &lost);
    assert_int_equal(finish(p, 0, r, NULL), HPCBOOT_ERR_NOMEM);
}

/* Its buffer is the user's at once, and the other side gets the bytes. */
static void a_long_send_can_be_given_up(void **state)
{
    struct xport_world *p = *state;
    struct message m;

    exchange(p, LONG);
    begin(p, &m, 0, 0, LONG);
    for (int i = 0; i < 20; i++) {
        (void)hb_xport_progress(p->x[i % RANKS]);
    }
    hb_xport_cancel(p->x[0], m.s);
    memset(m.out, 0xff, m.size);
    assert_int_equal(finish(p, 1, m.r, NULL), 1);
    for (size_t i = 0; i < m.size; i++) {
        assert_int_equal(m.in[i], byte_of(0, i));
    }
    free(m.out);
    free(m.in);
    exchange(p, 1000);
}

#define PAIR(test) \
    cmocka_unit_test_setup_teardown(test, set_up, \
                                    xport_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_that_both_are_in_are_rails),
        cmocka_unit_test(a_device_is_of_one_rail),
        cmocka_unit_test(an_address_of_both_leads_nowhere),
        cmocka_unit_test(a_much_slower_network_is_left_out),
        PAIR(the_system_takes_little_ahead_of_any_rail),
        PAIR(whoever_has_spoken_has_all_rails),
        PAIR(few_descriptors_leave_one_connection_for_short_messages),
        PAIR(long_messages_go_by_all_rails),
        cmocka_unit_test(who_keeps_a_rail_loses_nothing),
        PAIR(the_last_rail_is_the_end),
        PAIR(a_receive_fails_that_has_a_part_by_some_rail),
        PAIR(a_long_send_can_be_given_up),
        cmocka_unit_test(nothing_is_to_be_written_when_the_last_rail_has_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
