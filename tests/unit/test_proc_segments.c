/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What ranks left in shared memory goes, and nothing that anybody uses. */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/proc/segments.h"
#include "lib/base/str.h"

#define BYTES 4096
#define NAME "mpich_shm_test"

/* In memory, where they are in earnest, if there is such a place. */
static char dir[64];

static int set_up(void **state)
{
    strcpy(dir, "/dev/shm/test_segments.XXXXXX");
    if (mkdtemp(dir) == NULL) {
        strcpy(dir, "/tmp/test_segments.XXXXXX");
        assert_non_null(mkdtemp(dir));
    }
    return 0;
}

static int tear_down(void **state)
{
    char *command = hb_xasprintf("rm -rf '%s'", dir);
    int rc = system(command); /* NOLINT */

    free(command);
    return rc;
}

static char *path_of(const char *name)
{
    return hb_xasprintf("%s/%s", dir, name);
}

static int make(const char *name)
{
    char *path = path_of(name);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, BYTES), 0);
    free(path);
    return fd;
}

static int is_there(const char *name)
{
    char *path = path_of(name);
    struct stat st;
    int there = lstat(path, &st) == 0;

    free(path);
    return there;
}

/* And says so: it is why what follows is skipped. */
static int no_leases(void)
{
    int fd = make("leased"), rc;
    char *path = path_of("leased");

    close(fd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    rc = fcntl(fd, F_SETLEASE, F_WRLCK);
    close(fd);
    unlink(path);
    free(path);
    if (rc < 0) {
        print_message("no leases on files in %s\n", dir);
    }
    return rc < 0;
}

static void test_what_nobody_has_is_removed(void **state)
{
    if (no_leases()) {
        skip();
    }
    close(make(NAME));
    close(make("nccl-AbCdEf"));
    assert_int_equal(hb_segments_remove_in(dir, 0), 2);
    assert_false(is_there(NAME));
    assert_false(is_there("nccl-AbCdEf"));
}

static void test_what_is_open_stays(void **state)
{
    int fd = make(NAME);

    assert_int_equal(hb_segments_remove_in(dir, 0), 0);
    assert_true(is_there(NAME));
    close(fd);
}

/* A process that has it mapped alone, for reading or writing, and no file. */
static pid_t mapper(const char *name, int prot)
{
    char *path = path_of(name), c;
    int ready[2];
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        int fd = open(path, (prot & PROT_WRITE) ? O_RDWR : O_RDONLY);

        if (mmap(NULL, BYTES, prot, MAP_SHARED, fd, 0) == MAP_FAILED) {
            _exit(1);
        }
        close(fd);
        (void)!write(ready[1], "", 1);
        for (;;) {
            pause();
        }
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    free(path);
    return pid;
}

static void stays_while_mapped(int prot)
{
    pid_t pid;

    close(make(NAME));
    pid = mapper(NAME, prot);
    assert_int_equal(hb_segments_remove_in(dir, 0), 0);
    assert_true(is_there(NAME));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(hb_segments_remove_in(dir, 0), !no_leases());
}

static void test_what_is_mapped_stays_until_its_process_is_dead(void **state)
{
    stays_while_mapped(PROT_READ | PROT_WRITE);
    if (is_there(NAME)) { /* no leases, as was said */
        skip();
    }
    stays_while_mapped(PROT_READ);
}

static void test_what_is_older_stays(void **state)
{
    close(make(NAME));
    assert_int_equal(
        hb_segments_remove_in(dir, hb_segments_now() + 1000000000), 0);
    assert_true(is_there(NAME));
}

static void test_what_is_made_after_now_is_younger(void **state)
{
    int64_t since_ns = hb_segments_now();

    if (no_leases()) {
        skip();
    }
    close(make(NAME));
    assert_int_equal(hb_segments_remove_in(dir, since_ns), 1);
}

/* As if the clock had been an hour ahead when this began. */
static void test_a_clock_that_was_set_back_hides_nothing(void **state)
{
    const int64_t second = 1000000000, hour = 3600 * second;
    int64_t stamp_ns = hb_segments_now() + hour;
    int64_t apart_ns = hb_segments_apart() + hour;

    if (no_leases()) {
        skip();
    }
    close(make(NAME));
    assert_int_equal(hb_segments_remove_in(dir, stamp_ns), 0);
    assert_int_equal(hb_segments_remove_in(
        dir, hb_segments_since(stamp_ns + second, apart_ns)), 0);
    assert_int_equal(hb_segments_remove_in(
        dir, hb_segments_since(stamp_ns - second, apart_ns)), 1);
}

/* What was made before the clock was set ahead has stamps of before. */
static void test_a_clock_that_was_set_ahead_hides_nothing(void **state)
{
    const int64_t hour = INT64_C(3600) * 1000000000;
    int64_t stamp_ns = hb_segments_now();

    assert_int_equal(hb_segments_since(stamp_ns, hb_segments_apart() - hour),
                     stamp_ns);
}

static void test_other_names_links_and_directories_stay(void **state)
{
    char *link = path_of("mpich_shm_link"), *sub = path_of("mpich_shm_dir"),
         *fifo = path_of("mpich_shm_fifo"), *target = path_of("data");

    close(make("data"));
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(hb_segments_remove_in(dir, 0), 0);
    assert_true(is_there("data"));
    assert_true(is_there("mpich_shm_link"));
    assert_true(is_there("mpich_shm_dir"));
    assert_true(is_there("mpich_shm_fifo"));
    free(link);
    free(sub);
    free(fifo);
    free(target);
}

static void test_others_files_stay(void **state)
{
    char *path = path_of(NAME);

    if (geteuid() != 0) {
        print_message("only root can give a file away\n");
        free(path);
        skip();
    }
    close(make(NAME));
    assert_int_equal(chown(path, 54321, 54321), 0);
    assert_int_equal(hb_segments_remove_in(dir, 0), 0);
    assert_true(is_there(NAME));
    free(path);
}

static void test_no_directory_is_fine(void **state)
{
    assert_int_equal(hb_segments_remove_in("/nonexistent", 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_nobody_has_is_removed),
        TEST(test_what_is_open_stays),
        TEST(test_what_is_mapped_stays_until_its_process_is_dead),
        TEST(test_what_is_older_stays),
        TEST(test_what_is_made_after_now_is_younger),
        TEST(test_a_clock_that_was_set_back_hides_nothing),
        TEST(test_a_clock_that_was_set_ahead_hides_nothing),
        TEST(test_other_names_links_and_directories_stay),
        TEST(test_others_files_stay),
        TEST(test_no_directory_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
