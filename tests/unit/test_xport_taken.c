/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Descriptors of the TCP carrier that the program closes, of two ranks in this
 * process. */
#include "config.h"

#include "xport_world.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CONTEXT 5u

static struct hb_xport_req *receive(struct xport_world *w, int *word)
{
    struct hb_xport_req *r = NULL;

    assert_int_equal(hb_xport_recv(w->x[0], 1, CONTEXT, 1, UINT64_MAX, word,
                                   sizeof *word, &r, NULL), 0);
    return r;
}

static void one_word_comes(struct xport_world *w)
{
    int word = 7, got = 0;
    struct hb_xport_req *s, *r = receive(w, &got);

    assert_int_equal(hb_xport_send(w->x[1], 0, CONTEXT, 1, &word, sizeof word,
                                   &s, NULL), 0);
    assert_int_equal(xport_world_finish(w, 0, r, NULL, NULL), 1);
    assert_int_equal(xport_world_finish(w, 1, s, NULL, NULL), 1);
    assert_int_equal(got, word);
}

/* Those whose link begins so. */
static void close_all(const char *kind)
{
    DIR *d = opendir("/proc/self/fd");
    const struct dirent *e;

    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        char link[64] = "";

        if (readlinkat(dirfd(d), e->d_name, link, sizeof link - 1) > 0 &&
            strncmp(link, kind, strlen(kind)) == 0) {
            close(atoi(e->d_name));
        }
    }
    closedir(d);
}

static void receive_fails(struct xport_world *w, const char *words)
{
    struct hpcboot_error err = {0};
    int got = 0;
    struct hb_xport_req *r = receive(w, &got);

    assert_int_equal(xport_world_finish(w, 0, r, NULL, &err),
                     HPCBOOT_ERR_SYSTEM);
    assert_non_null(strstr(err.text, words));
    assert_non_null(strstr(err.text, "has been closed by the program"));
}

static void a_socket_is_told_of_and_is_no_end_of_the_peer(void **state)
{
    one_word_comes(*state);
    close_all("socket:");
    receive_fails(*state, "by which this rank talks to rank 1");
}

static void without_events_nobody_is_waited_for(void **state)
{
    close_all("anon_inode:[eventpoll]");
    receive_fails(*state, "by which this rank hears of messages");
}

static void have_other_files(void **state, int fails)
{
    int own[32];

    one_word_comes(*state);
    close_all("socket:");
    close_all("anon_inode:[eventpoll]");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        own[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    if (fails) {
        receive_fails(*state, "by which this rank ");
    }
    xport_world_tear_down(state);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        assert_int_equal(close(own[i]), 0);
    }
}

static void what_has_their_numbers_stays_open(void **state)
{
    have_other_files(state, 0);
}

static void what_has_their_numbers_stays_open_where_a_call_fails(void **state)
{
    have_other_files(state, 1);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, xport_world_set_up, \
                                    xport_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_socket_is_told_of_and_is_no_end_of_the_peer),
        TEST(without_events_nobody_is_waited_for),
        cmocka_unit_test_setup(what_has_their_numbers_stays_open,
                               xport_world_set_up),
        cmocka_unit_test_setup(
            what_has_their_numbers_stays_open_where_a_call_fails,
            xport_world_set_up),
    };

    setenv("HPCBOOT_TRANSPORTS", "tcp", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
