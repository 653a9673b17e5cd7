/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The memory of a node that no agent serves goes to the ranks that call for
 * it: who hands it over and cannot says why, and waits for nobody any more. */
#include "config.h"

#include "lib/rdzv/foreign.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/fd.h"

#define HANGS_S 60 /* what takes so long never ends */
#define SOON_MS 500
#define NOBODY 65534

static int call(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(at.sun_path + 1, name, strlen(name));
    assert_int_equal(connect(fd, (struct sockaddr *)&at,
                             (socklen_t)(offsetof(struct sockaddr_un,
                                                  sun_path) +
                                         1 + strlen(name))), 0);
    return fd;
}

/* No descriptor is left for the process. */
static struct rlimit use_all_descriptors(void)
{
    struct rlimit was, none;
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = was;
    none.rlim_cur = (rlim_t)next;
    hb_fd_close(&next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    return was;
}

static void who_has_no_descriptor_left_says_so(void **state)
{
    char name[HB_LOCAL_NAME_SIZE];
    struct hpcboot_error err = {0};
    int listen_fd = hb_local_listen(name, NULL), caller = call(name), rc;
    struct rlimit was = use_all_descriptors();

    (void)state;
    alarm(HANGS_S);
    rc = hb_local_hand_over(listen_fd, STDERR_FILENO, 1,
                            hb_deadline_in_ms(SOON_MS), &err);
    alarm(0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(rc, HPCBOOT_ERR_SYSTEM);
    assert_non_null(strstr(err.text, "no file descriptor"));
    assert_non_null(strstr(err.text, "ulimit -n"));
    hb_fd_close(&caller);
    hb_fd_close(&listen_fd);
}

/* What cannot be sent does not become so by waiting. */
static void memory_that_cannot_be_sent_is_an_error(void **state)
{
    char name[HB_LOCAL_NAME_SIZE];
    struct hpcboot_error err = {0};
    int listen_fd = hb_local_listen(name, NULL), caller = call(name);

    (void)state;
    assert_int_equal(hb_local_hand_over(listen_fd, -1, 1,
                                        hb_deadline_in_ms(SOON_MS), &err),
                     HPCBOOT_ERR_SYSTEM);
    assert_non_null(strstr(err.text, "cannot be handed"));
    hb_fd_close(&caller);
    hb_fd_close(&listen_fd);
}

static void who_never_comes_is_waited_for_until_the_deadline(void **state)
{
    char name[HB_LOCAL_NAME_SIZE];
    int listen_fd = hb_local_listen(name, NULL), gone = call(name);

    (void)state;
    hb_fd_close(&gone);
    assert_int_equal(hb_local_hand_over(listen_fd, STDERR_FILENO, 1,
                                        hb_deadline_in_ms(1), NULL),
                     HPCBOOT_ERR_TIMED_OUT);
    hb_fd_close(&listen_fd);
}

static void the_memory_of_another_user_is_not_taken(void **state)
{
    char name[HB_LOCAL_NAME_SIZE];
    struct hpcboot_error err = {0};
    int listen_fd;

    (void)state;
    if (seteuid(NOBODY) < 0) {
        skip();
    }
    listen_fd = hb_local_listen(name, NULL);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(hb_local_receive(name, HB_NEVER, &err), HPCBOOT_ERR_AUTH);
    assert_non_null(strstr(err.text, "another user's"));
    hb_fd_close(&listen_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_no_descriptor_left_says_so),
        cmocka_unit_test(memory_that_cannot_be_sent_is_an_error),
        cmocka_unit_test(who_never_comes_is_waited_for_until_the_deadline),
        cmocka_unit_test(the_memory_of_another_user_is_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
