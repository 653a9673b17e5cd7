/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Copied files: they lie in their directory whole, with their mode and under
 * a plain name, and nothing a peer says makes them lie elsewhere. */
#include "config.h"

#include "bin/proc/deposit.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/proc/stage.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

struct place {
    char *dir;
    struct hb_deposit d;
};

static int make_place(void **state)
{
    static const char *const places[] = {"/tmp"};
    struct place *p = hb_xcalloc(1, sizeof *p);

    p->d = (struct hb_deposit)HB_DEPOSIT_INIT;
    *state = p;
    if (hb_session_dir_create_in(places, 1, "deposit", 0, &p->dir, NULL) < 0) {
        return -1;
    }
    return hb_deposit_open(&p->d, p->dir, NULL);
}

static int remove_place(void **state)
{
    struct place *p = *state;
    int left = hb_session_dir_remove(p->dir);

    hb_deposit_close(&p->d);
    free(p->dir);
    free(p);
    return left;
}

static char *path_of(const struct place *p, const char *name)
{
    return hb_xasprintf("%s/%s", p->dir, name);
}

static void assert_file(const struct place *p, const char *name,
                        const char *text, mode_t mode)
{
    char *path = path_of(p, name), *data = NULL;
    struct stat st;
    size_t len = 0;

    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
    assert_int_equal(hb_file_read(path, 4096, &data, &len, NULL), 0);
    assert_string_equal(data, text);
    free(data);
    free(path);
}

static void a_file_comes_in_pieces_and_gets_its_mode(void **state)
{
    struct place *p = *state;

    assert_int_equal(hb_deposit_begin(&p->d, "prog", 0755, 6, NULL), 0);
    assert_int_equal(hb_deposit_data(&p->d, "abc", 3, NULL), 0);
    assert_false(hb_deposit_whole(&p->d));
    assert_int_equal(hb_deposit_data(&p->d, "def", 3, NULL), 0);
    assert_true(hb_deposit_whole(&p->d));
    assert_file(p, "prog", "abcdef", 0755);
}

static void a_half_file_cannot_be_run(void **state)
{
    struct place *p = *state;
    char *path = path_of(p, "prog");
    struct stat st;

    assert_int_equal(hb_deposit_begin(&p->d, "prog", 0755, 6, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    free(path);
}

static void an_empty_file_is_whole_at_once(void **state)
{
    struct place *p = *state;

    assert_int_equal(hb_deposit_begin(&p->d, "empty", 0644, 0, NULL), 0);
    assert_true(hb_deposit_whole(&p->d));
    assert_file(p, "empty", "", 0644);
    assert_int_equal(hb_deposit_begin(&p->d, "next", 0644, 0, NULL), 0);
}

static void the_umask_takes_nothing_away(void **state)
{
    struct place *p = *state;
    mode_t mask = umask(077);
    int rc = hb_deposit_begin(&p->d, "open", 0666, 0, NULL);

    umask(mask);
    assert_int_equal(rc, 0);
    assert_file(p, "open", "", 0666);
}

static void set_user_id_is_not_kept(void **state)
{
    struct place *p = *state;

    assert_int_equal(hb_deposit_begin(&p->d, "suid", 07755, 0, NULL), 0);
    assert_file(p, "suid", "", 0755);
}

static void a_name_is_one_component(void **state)
{
    static const char *const bad[] = {"", ".", "..", "a/b", "/etc/x", "../x"};
    struct place *p = *state;
    struct hpcboot_error err = {0};
    char longest[300];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(hb_deposit_begin(&p->d, bad[i], 0644, 0, &err),
                         HPCBOOT_ERR_PROTOCOL);
    }
    memset(longest, 'x', sizeof longest);
    longest[256] = '\0';
    assert_int_equal(hb_deposit_begin(&p->d, longest, 0644, 0, &err),
                     HPCBOOT_ERR_PROTOCOL);
    longest[255] = '\0';
    assert_int_equal(hb_deposit_begin(&p->d, longest, 0644, 0, &err), 0);
    assert_int_equal(hb_deposit_begin(&p->d, "..x", 0644, 0, &err), 0);
}

static void a_link_is_not_followed(void **state)
{
    struct place *p = *state;
    char *link = path_of(p, "name"), *target = path_of(p, "target");

    assert_int_equal(symlink(target, link), 0);
    assert_true(hb_deposit_begin(&p->d, "name", 0644, 0, NULL) < 0);
    assert_int_equal(access(target, F_OK), -1);
    free(link);
    free(target);
}

static void a_directory_that_is_a_link_is_refused(void **state)
{
    struct place *p = *state;
    struct hb_deposit other = HB_DEPOSIT_INIT;
    char *link = path_of(p, "dir");

    assert_int_equal(symlink("/tmp", link), 0);
    assert_int_equal(hb_deposit_open(&other, link, NULL), HPCBOOT_ERR_HOST);
    free(link);
}

static void no_file_comes_twice(void **state)
{
    struct place *p = *state;

    assert_int_equal(hb_deposit_begin(&p->d, "a", 0644, 0, NULL), 0);
    assert_int_equal(hb_deposit_begin(&p->d, "a", 0644, 0, NULL),
                     HPCBOOT_ERR_PROTOCOL);
}

static void what_was_not_announced_is_refused(void **state)
{
    struct place *p = *state;

    assert_int_equal(hb_deposit_data(&p->d, "x", 1, NULL),
                     HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(hb_deposit_begin(&p->d, "a", 0644, 2, NULL), 0);
    assert_int_equal(hb_deposit_begin(&p->d, "b", 0644, 2, NULL),
                     HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(hb_deposit_data(&p->d, "xyz", 3, NULL),
                     HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(hb_deposit_data(&p->d, "", 0, NULL),
                     HPCBOOT_ERR_PROTOCOL);
}

/* What a full disk does: the device that is always full. */
static void a_failed_write_names_the_file_and_the_reason(void **state)
{
    struct place *p = *state;
    struct hpcboot_error err = {0};

    assert_int_equal(hb_deposit_begin(&p->d, "data", 0644, 2, NULL), 0);
    hb_fd_close(&p->d.fd);
    p->d.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(hb_deposit_data(&p->d, "xy", 2, &err),
                     HPCBOOT_ERR_HOST);
    assert_non_null(strstr(err.text, "data"));
    assert_non_null(strstr(err.text, "No space left"));
    assert_non_null(strstr(err.text, "HPCBOOT_TMPDIR"));
}

/* Another place would not help who may open no more. */
static void no_descriptor_is_not_laid_to_the_place(void **state)
{
    struct place *p = *state;
    struct hpcboot_error err = {0};
    struct rlimit before, none;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(hb_deposit_begin(&p->d, "data", 0644, 2, &err),
                     HPCBOOT_ERR_HOST);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_non_null(strstr(err.text, "data"));
    assert_non_null(strstr(err.text, "ulimit -n"));
    assert_null(strstr(err.text, "HPCBOOT_TMPDIR"));
}

#define PLACE_TEST(f) \
    cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_file_comes_in_pieces_and_gets_its_mode),
        PLACE_TEST(a_half_file_cannot_be_run),
        PLACE_TEST(an_empty_file_is_whole_at_once),
        PLACE_TEST(the_umask_takes_nothing_away),
        PLACE_TEST(set_user_id_is_not_kept),
        PLACE_TEST(a_name_is_one_component),
        PLACE_TEST(a_link_is_not_followed),
        PLACE_TEST(a_directory_that_is_a_link_is_refused),
        PLACE_TEST(no_file_comes_twice),
        PLACE_TEST(what_was_not_announced_is_refused),
        PLACE_TEST(a_failed_write_names_the_file_and_the_reason),
        PLACE_TEST(no_descriptor_is_not_laid_to_the_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
