/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The session directory: where it is made, and that its removal takes all of
 * it and nothing else. */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/proc/stage.h"
#include "bin/proc/stale.h"
#include "lib/base/str.h"

static char *make(const char *place, const char *job)
{
    const char *const places[] = {place};
    char *path = NULL;

    assert_int_equal(hb_session_dir_create_in(places, 1, job, 3, &path, NULL),
                     HPCBOOT_OK);
    return path;
}

static void drop(char *path)
{
    assert_int_equal(hb_session_dir_remove(path), 0);
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

static char *at(const char *dir, const char *name)
{
    return hb_xasprintf("%s/%s", dir, name);
}

static void put_file(const char *dir, const char *name)
{
    char *path = at(dir, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0400);

    assert_true(fd >= 0);
    close(fd);
    free(path);
}

static void put_dir(const char *dir, const char *name, mode_t mode)
{
    char *path = at(dir, name);

    assert_int_equal(mkdir(path, mode), 0);
    free(path);
}

static void it_is_private_and_new(void **state)
{
    char *a = make("/tmp", "job"), *b = make("/tmp", "job");
    struct stat st;

    assert_string_not_equal(a, b);
    assert_int_equal(stat(a, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(st.st_uid, geteuid());
    drop(a);
    drop(b);
}

static void a_jobs_name_cannot_lead_elsewhere(void **state)
{
    char *path = make("/tmp", "../../etc/x y\n");

    assert_null(strstr(path, ".."));
    assert_null(strchr(path, ' '));
    assert_int_equal(strncmp(path, "/tmp/hpcboot-", 13), 0);
    drop(path);
}

static void a_socket_in_it_can_be_bound(void **state)
{
    char *path = make("/tmp", "a-very-long-name-of-a-job-from-an-operator");
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(strlen(path) <= HB_SESSION_PATH_MAX);
    assert_true(HB_SESSION_PATH_MAX + 1 + HB_SESSION_NAME_ROOM
                < sizeof(a.sun_path));
    snprintf(a.sun_path, sizeof(a.sun_path), "%.63s/pmix.sock", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    close(fd);
    drop(path);
}

static void the_first_place_that_works_is_taken(void **state)
{
    static const char *const places[] = {
        NULL, "", "relative/place", "/proc", "/nonexistent", "/tmp",
        "/dev/shm",
    };
    char *path = NULL;

    assert_int_equal(hb_session_dir_create_in(places, 7, "j", 0, &path, NULL),
                     HPCBOOT_OK);
    assert_int_equal(strncmp(path, "/tmp/", 5), 0);
    drop(path);
}

static void no_place_at_all_is_explained(void **state)
{
    static const char *const places[] = {"rel", "/nonexistent", "/proc"};
    struct hpcboot_error err = {0};
    char *path = NULL;

    assert_int_equal(hb_session_dir_create_in(places, 3, "j", 0, &path, &err),
                     HPCBOOT_ERR_HOST);
    assert_null(path);
    assert_non_null(strstr(err.text, "rel (not an absolute path)"));
    assert_non_null(strstr(err.text, "/nonexistent (No such file"));
    assert_non_null(strstr(err.text, "HPCBOOT_TMPDIR"));
}

static void a_place_too_long_for_sockets_is_passed_over(void **state)
{
    char *base = make("/tmp", "long");
    char *deep = hb_xasprintf("%s/%s", base, "directory-with-a-long-name");
    const char *const places[] = {deep, "/tmp"};
    char *path = NULL;

    assert_int_equal(mkdir(deep, 0700), 0);
    assert_int_equal(hb_session_dir_create_in(places, 2, "j", 0, &path, NULL),
                     HPCBOOT_OK);
    assert_int_equal(strncmp(path, "/tmp/hpcboot-j", 14), 0);
    drop(path);
    drop(base);
    free(deep);
}

static void removal_takes_trees_and_leaves_link_targets(void **state)
{
    char *path = make("/tmp", "tree"), *other = make("/tmp", "other");
    char *link = at(path, "sub/link"), *sub = at(path, "sub");
    char *kept = at(other, "kept");

    put_dir(path, "sub", 0700);
    put_dir(sub, "empty", 0700);
    put_file(sub, "file");
    put_file(path, ".hidden");
    put_file(other, "kept");
    assert_int_equal(symlink(other, link), 0);
    assert_int_equal(chmod(sub, 0500), 0);
    drop(path);
    assert_int_equal(access(kept, F_OK), 0);
    drop(other);
    free(link);
    free(sub);
    free(kept);
}

static void many_entries_are_all_removed(void **state)
{
    char *path = make("/tmp", "many");

    for (int i = 0; i < 3000; i++) {
        char name[32];

        snprintf(name, sizeof(name), "file-%d", i);
        put_file(path, name);
    }
    drop(path);
}

static void a_link_in_place_of_the_directory_is_left_alone(void **state)
{
    char *other = make("/tmp", "other");
    char *link = hb_xasprintf("%s-link", other), *kept = at(other, "kept");

    put_file(other, "kept");
    assert_int_equal(symlink(other, link), 0);
    assert_int_equal(hb_session_dir_remove(link), 0);
    assert_int_equal(access(kept, F_OK), 0);
    unlink(link);
    drop(other);
    free(link);
    free(kept);
}

static void what_is_gone_already_is_fine(void **state)
{
    assert_int_equal(hb_session_dir_remove("/nonexistent/dir"), 0);
    assert_int_equal(hb_session_dir_remove(NULL), 0);
}

static void the_variable_is_asked_first(void **state)
{
    char *base = make("/tmp", "var"), *path = NULL;

    setenv("HPCBOOT_TMPDIR", base, 1);
    assert_int_equal(hb_session_dir_create("j", 1, HB_SESSION_BARE, &path,
                                           NULL), HPCBOOT_OK);
    unsetenv("HPCBOOT_TMPDIR");
    assert_int_equal(strncmp(path, base, strlen(base)), 0);
    drop(path);
    drop(base);
}

/* As an agent leaves it that is killed while it makes or removes it. */
static void an_old_empty_one_without_an_owner_goes(void **state)
{
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    char *base = make("/tmp", "old"), *empty, *young, *full;
    const char *const places[] = {base};
    struct hb_stale_report report;

    empty = make(base, "e");
    young = make(base, "y");
    full = make(base, "f");
    put_file(full, "something");
    put_dir(base, "hpcboot-other", 0700);
    assert_int_equal(utimensat(AT_FDCWD, empty, long_ago, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, full, long_ago, 0), 0);
    hb_stale_clear_in(places, 1, NULL, 0, 0, &report);
    assert_int_equal(report.dirs, 1);
    assert_int_equal(access(empty, F_OK), -1);
    assert_int_equal(access(young, F_OK), 0);
    assert_int_equal(access(full, F_OK), 0);
    free(empty);
    free(young);
    free(full);
    drop(base);
}

/* This process is agent, and guard is whoever has started it. */
static char *make_owned(const char *place, const char *job)
{
    char *path = make(place, job);

    assert_int_equal(hb_owner_write(path, "0123456789abcdef", NULL), 0);
    return path;
}

/* Both are dead: no process is as young. boot: the machine's, NULL: this one's;
 * the first `drop` bytes are left out. */
static void owners_end(const char *dir, const char *boot, size_t drop)
{
    char *path = at(dir, HB_SESSION_OWNER);
    struct hb_owner o;
    char text[512] = "";
    FILE *f = fopen(path, "r");
    size_t n;

    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    assert_int_equal(hb_owner_parse(text, n, &o), 0);
    f = fopen(path, "w");
    assert_non_null(f);
    n = (size_t)snprintf(text, sizeof text,
                         "%s %llu %d %llu %d %llu %s\n",
                         boot != NULL ? boot : o.boot,
                         (unsigned long long)o.name_space, (int)o.pids[0],
                         ULLONG_MAX, (int)o.pids[1], ULLONG_MAX, o.cookie);
    assert_int_equal(fwrite(text + drop, 1, n - drop, f), n - drop);
    assert_int_equal(fclose(f), 0);
    free(path);
}

/* As on a file system that machines share, where PID name spaces of the same
 * number are on each of them. */
static void what_another_machine_owns_stays(void **state)
{
    static const char other[] = "0f5c3e1a-7d42-4b8e-9a61-2c3d4e5f6071";
    char *base = make("/tmp", "owned"), *living, *dead, *foreign, *unsaid;
    const char *const places[] = {base};
    struct hb_stale_report report;

    living = make_owned(base, "l");
    dead = make_owned(base, "d");
    foreign = make_owned(base, "f");
    unsaid = make_owned(base, "u");
    owners_end(dead, NULL, 0);
    owners_end(foreign, other, 0);
    owners_end(unsaid, NULL, sizeof other);
    hb_stale_clear_in(places, 1, NULL, 0, 0, &report);
    assert_int_equal(report.dirs, 1);
    assert_int_equal(access(living, F_OK), 0);
    assert_int_equal(access(dead, F_OK), -1);
    assert_int_equal(access(foreign, F_OK), 0);
    assert_int_equal(access(unsaid, F_OK), 0);
    free(living);
    free(dead);
    free(foreign);
    free(unsaid);
    drop(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_private_and_new),
        cmocka_unit_test(a_jobs_name_cannot_lead_elsewhere),
        cmocka_unit_test(a_socket_in_it_can_be_bound),
        cmocka_unit_test(the_first_place_that_works_is_taken),
        cmocka_unit_test(no_place_at_all_is_explained),
        cmocka_unit_test(a_place_too_long_for_sockets_is_passed_over),
        cmocka_unit_test(removal_takes_trees_and_leaves_link_targets),
        cmocka_unit_test(many_entries_are_all_removed),
        cmocka_unit_test(a_link_in_place_of_the_directory_is_left_alone),
        cmocka_unit_test(what_is_gone_already_is_fine),
        cmocka_unit_test(the_variable_is_asked_first),
        cmocka_unit_test(an_old_empty_one_without_an_owner_goes),
        cmocka_unit_test(what_another_machine_owns_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
