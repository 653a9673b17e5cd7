/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What is said when a program cannot be started: the stage and errno that
 * come back, and the hint that leads to the repair. */
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/proc/proc.h"
#include "lib/base/str.h"
#include "tests/unit/proc_run.h"

static void a_missing_program_names_path(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("no-such-program-here"));

    expect_failure(&s, HB_PROC_EXEC, ENOENT, "PATH, /usr/bin:/bin");
}

static void an_empty_name_is_no_program(void **state)
{
    struct hb_proc_spec s = spec_of(LIST(""));

    expect_failure(&s, HB_PROC_EXEC, ENOENT, "");
}

static void a_missing_directory_is_named(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("true"));

    s.wdir = "/nonexistent/dir";
    expect_failure(&s, HB_PROC_CHDIR, ENOENT, "/nonexistent/dir");
}

static void a_directory_is_no_program(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("/usr"));

    expect_failure(&s, HB_PROC_EXEC, EACCES, "is a directory");
}

static void expect_script_failure(const char *text, int mode, int sys_errno,
                                  const char *hint)
{
    char *path = put_file("script", text, strlen(text), mode);
    struct hb_proc_spec s = spec_of(LIST(path));

    expect_failure(&s, HB_PROC_EXEC, sys_errno, hint);
    free(path);
}

static void a_file_without_x_is_not_executable(void **state)
{
    expect_script_failure("#!/bin/sh\n", 0600, EACCES, "chmod +x");
}

static void a_missing_interpreter_is_named(void **state)
{
    expect_script_failure("#!/nonexistent/python -u\n", 0700, ENOENT,
                          "/nonexistent/python ");
}

static void a_carriage_return_after_the_interpreter_is_named(void **state)
{
    expect_script_failure("#!/bin/sh\r\necho\r\n", 0700, ENOENT,
                          "carriage return");
}

static void a_dead_link_is_named(void **state)
{
    char *path = hb_xasprintf("%s/link", dir);
    struct hb_proc_spec s = spec_of(LIST(path));

    assert_int_equal(symlink("/nonexistent/target", path), 0);
    expect_failure(&s, HB_PROC_EXEC, ENOENT, "/nonexistent/target");
    free(path);
}

static void a_program_of_another_machine_is_named_and_not_given_to_sh(void **st)
{
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                                   ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_EXEC, .e_version = EV_CURRENT};
    char *path;

#ifdef __s390x__
    head.e_machine = EM_RISCV;
#else
    head.e_machine = EM_S390;
#endif
    path = put_file("elf", &head, sizeof(head), 0700);
    struct hb_proc_spec s = spec_of(LIST(path));

    expect_failure(&s, HB_PROC_EXEC, ENOEXEC, "built for ");
    free(path);
}

static void own_elf(Elf64_Ehdr *head)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    assert_int_equal(read(fd, head, sizeof(*head)), sizeof(*head));
    close(fd);
}

static void an_object_file_needs_no_chmod(void **state)
{
    Elf64_Ehdr head;

    own_elf(&head);
    head.e_type = ET_REL;
    for (mode_t mode = 0600; mode <= 0700; mode += 0100) {
        char *path = put_file("object", &head, sizeof(head), mode);
        struct hb_proc_spec s = spec_of(LIST(path));

        expect_failure(&s, HB_PROC_EXEC, mode == 0600 ? EACCES : ENOEXEC,
                       "object file, not linked");
        free(path);
    }
}

static void a_program_that_is_cut_off_is_told(void **state)
{
    static const size_t lengths[] = {sizeof(Elf64_Ehdr), 20};
    Elf64_Ehdr head;

    own_elf(&head);
    for (size_t i = 0; i < 2; i++) {
        char *path = put_file("cut", &head, lengths[i], 0700);
        struct hb_proc_spec s = spec_of(LIST(path));

        expect_failure(&s, HB_PROC_EXEC, ENOEXEC, "cut off");
        free(path);
    }
}

static void too_long_an_argument_is_counted(void **state)
{
    char *arg = hb_xcalloc(1, 200001);
    struct hb_proc_spec s = spec_of(LIST("true", arg));

    memset(arg, 'x', 200000);
    expect_failure(&s, HB_PROC_EXEC, E2BIG, "longest has 200001");
    free(arg);
}

#define RUN_TEST(f) \
    cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(a_missing_program_names_path),
        RUN_TEST(an_empty_name_is_no_program),
        RUN_TEST(a_missing_directory_is_named),
        RUN_TEST(a_directory_is_no_program),
        RUN_TEST(a_file_without_x_is_not_executable),
        RUN_TEST(a_missing_interpreter_is_named),
        RUN_TEST(a_carriage_return_after_the_interpreter_is_named),
        RUN_TEST(a_dead_link_is_named),
        RUN_TEST(a_program_of_another_machine_is_named_and_not_given_to_sh),
        RUN_TEST(an_object_file_needs_no_chmod),
        RUN_TEST(a_program_that_is_cut_off_is_told),
        RUN_TEST(too_long_an_argument_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
