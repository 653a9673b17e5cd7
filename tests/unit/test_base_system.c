/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Errors, log records, clocks, descriptors and JSON text.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/json.h"
#include "lib/base/log.h"

static void what_has_run_out_is_told_with_its_remedy(void **state)
{
    static const struct {
        int code;
        const char *words;
    } rows[] = {
        {EMFILE, "Too many open files; raise ulimit -n"},
        {ENFILE, "fs.file-max"}, {EAGAIN, "ulimit -u"}, {ENOMEM, "memory"},
        {ENOSPC, "No space left on device; make room"}, {EDQUOT, "make room"},
    };
    struct hpcboot_error err;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        errno = rows[i].code;
        hb_fail_errno(&err, HPCBOOT_ERR_SYSTEM, "cannot make a pipe");
        assert_non_null(strstr(err.text, rows[i].words));
    }
    assert_string_equal(hb_errno_remedy(EACCES), "");
}

static void a_failure_carries_code_and_text(void **state)
{
    struct hpcboot_error err;

    errno = EINTR;
    assert_int_equal(hb_fail(&err, HPCBOOT_ERR_PARSE, "%s:%d", "f", 3),
                     HPCBOOT_ERR_PARSE);
    assert_int_equal(err.code, HPCBOOT_ERR_PARSE);
    assert_int_equal(err.sys_errno, 0);
    assert_string_equal(err.text, "f:3");
    assert_int_equal(errno, EINTR);
    assert_int_equal(hb_fail(NULL, HPCBOOT_ERR_HOST, "x"), HPCBOOT_ERR_HOST);
}

static void the_systems_reason_is_appended(void **state)
{
    struct hpcboot_error err;

    errno = ENOENT;
    assert_int_equal(hb_fail_errno(&err, HPCBOOT_ERR_SYSTEM, "open %s", "f"),
                     HPCBOOT_ERR_SYSTEM);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_string_equal(err.text, "open f: No such file or directory");
    assert_int_equal(errno, ENOENT);
}

static void context_goes_in_front(void **state)
{
    struct hpcboot_error err;

    hb_fail(&err, HPCBOOT_ERR_PARSE, "line 3");
    assert_int_equal(hb_error_prefix(&err, HPCBOOT_ERR_HOST, "file %s", "f"),
                     HPCBOOT_ERR_PARSE);
    assert_string_equal(err.text, "file f: line 3");
    assert_int_equal(hb_error_prefix(NULL, HPCBOOT_ERR_HOST, "x"),
                     HPCBOOT_ERR_HOST);
}

static void text_that_does_not_fit_is_cut(void **state)
{
    struct hpcboot_error err;
    char longer[2 * HPCBOOT_ERROR_TEXT_MAX];

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    hb_fail(&err, HPCBOOT_ERR_PARSE, "%s", longer);
    assert_int_equal(strlen(err.text), HPCBOOT_ERROR_TEXT_MAX - 1);
    hb_error_prefix(&err, HPCBOOT_ERR_HOST, "%s", "ab");
    assert_int_equal(strlen(err.text), HPCBOOT_ERROR_TEXT_MAX - 1);
    assert_true(strncmp(err.text, "ab: x", 5) == 0);
}

static void what_does_not_fit_loses_its_middle(void **state)
{
    struct hpcboot_error err;
    char longer[2 * HPCBOOT_ERROR_TEXT_MAX];

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    errno = ENOENT;
    hb_fail_errno(&err, HPCBOOT_ERR_SYSTEM, "open %s", longer);
    assert_non_null(strstr(err.text, "xx: No such file or directory"));
    assert_true(strncmp(err.text, "open x", 6) == 0);
    assert_non_null(strstr(err.text, "x...x"));
    hb_error_prefix(&err, HPCBOOT_ERR_HOST, "--hostfile");
    assert_true(strncmp(err.text, "--hostfile: open x", 18) == 0);
    assert_non_null(strstr(err.text, "x: No such file or directory"));
    for (size_t i = 0; i + 2 < sizeof(longer); i += 2) {
        memcpy(longer + i, "\xc3\xa9", 2); /* of two bytes each */
    }
    longer[sizeof(longer) - 2] = '\0';
    hb_fail(&err, HPCBOOT_ERR_PARSE, "a%s", longer);
    assert_int_equal(hb_utf8_len((unsigned char *)strstr(err.text, "...") + 3),
                     2);
    assert_true(hb_utf8_len((unsigned char *)strstr(err.text, "...") - 2) > 0);
}

static void a_text_may_be_made_of_itself(void **state)
{
    struct hpcboot_error err;

    hb_fail(&err, HPCBOOT_ERR_PARSE, "a");
    hb_fail(&err, HPCBOOT_ERR_PARSE, "%s%s", err.text, err.text);
    assert_string_equal(err.text, "aa");
}

static void every_status_has_damage_and_names(void **state)
{
    assert_int_equal(hb_status_damage(HPCBOOT_ERR_USAGE), HB_DAMAGE_USAGE);
    assert_int_equal(hb_status_damage(HPCBOOT_ERR_AUTH), HB_DAMAGE_HOST);
    assert_int_equal(hb_status_damage(-12345), HB_DAMAGE_INTERNAL);
    assert_string_equal(hb_status_name(HPCBOOT_ERR_AUTH), "ERR_AUTH");
    assert_string_equal(hb_status_text(HPCBOOT_OK), "success");
    assert_non_null(hb_status_text(-12345));
    assert_non_null(hb_status_name(-12345));
}

struct record {
    enum hb_log_level level;
    char text[64];
    int count;
};

static void keep_record(void *arg, enum hb_log_level level, const char *text)
{
    struct record *r = arg;

    r->level = level;
    r->count++;
    snprintf(r->text, sizeof(r->text), "%s", text);
}

static void records_reach_the_sink_up_to_its_level(void **state)
{
    struct record r = {0};

    hb_log(HB_ERROR, "nobody listens");
    assert_false(hb_log_wanted(HB_ERROR));
    hb_log_set_sink(keep_record, &r, HB_INFO);
    hb_log(HB_WARN, "n=%d", 4);
    hb_log(HB_DEBUG, "not wanted");
    hb_log_set_sink(NULL, NULL, HB_ERROR);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.level, HB_WARN);
    assert_string_equal(r.text, "n=4");
}

static void deadlines_count_down(void **state)
{
    int64_t deadline = hb_deadline_in_ms(3600000);
    int64_t left = hb_deadline_left_ms(deadline);

    assert_true(left > 3000000 && left <= 3600000);
    assert_true(hb_deadline_in_ms(-1) == HB_NEVER);
    assert_true(hb_deadline_in_ms(INT64_MAX) == HB_NEVER);
    assert_true(hb_deadline_left_ms(HB_NEVER) == INT64_MAX);
    assert_true(hb_deadline_left_ms(hb_now_ns() - 1) == 0);
    assert_true(hb_deadline_left_ms(hb_deadline_in_ms(0)) == 0);
}

static void descriptors_are_not_inherited(void **state)
{
    int fds[4], i;

    assert_int_equal(hb_fd_pipe(fds, NULL), 0);
    assert_int_equal(hb_fd_socketpair(fds + 2, NULL), 0);
    for (i = 0; i < 4; i++) {
        assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
    }
    assert_int_equal(hb_fd_set_cloexec(fds[0], 0, NULL), 0);
    assert_false(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
    assert_int_equal(hb_fd_set_nonblock(fds[0], 1, NULL), 0);
    assert_true(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
    for (i = 0; i < 4; i++) {
        hb_fd_close(&fds[i]);
        assert_int_equal(fds[i], -1);
        hb_fd_close(&fds[i]);
    }
    assert_int_equal(hb_fd_set_nonblock(-1, 1, NULL), HPCBOOT_ERR_SYSTEM);
}

static int is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void a_child_without_an_exec_closes_the_same(void **state)
{
    int fds[2], given = open("/dev/null", O_RDONLY), status = 0;
    pid_t child;

    assert_int_equal(hb_fd_pipe(fds, NULL), 0);
    child = fork();
    if (child == 0) {
        hb_fd_close_as_exec(fds[1]);
        _exit(is_open(fds[0]) || !is_open(fds[1]) || !is_open(given) ||
              !is_open(STDERR_FILENO));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    hb_fd_close(&fds[0]);
    hb_fd_close(&fds[1]);
    hb_fd_close(&given);
}

static void all_bytes_are_written(void **state)
{
    struct hpcboot_error err;
    char got[6] = "";
    int fds[2];

    assert_int_equal(hb_fd_pipe(fds, NULL), 0);
    assert_int_equal(hb_fd_write_all(fds[1], "hello", 5, &err), 0);
    assert_int_equal(read(fds[0], got, sizeof(got)), 5);
    assert_string_equal(got, "hello");
    assert_int_equal(hb_fd_write_all(fds[0], "x", 1, &err),
                     HPCBOOT_ERR_SYSTEM);
    assert_int_equal(err.sys_errno, EBADF);
    hb_fd_close(&fds[0]);
    hb_fd_close(&fds[1]);
}

static void a_file_is_read_whole_or_not(void **state)
{
    char path[] = "/tmp/hb-test-XXXXXX";
    int fd = mkstemp(path);
    struct hpcboot_error err;
    char *data = NULL;
    size_t len = 0;

    assert_true(fd >= 0);
    assert_int_equal(hb_fd_write_all(fd, "abcde", 5, NULL), 0);
    hb_fd_close(&fd);
    assert_int_equal(hb_file_read(path, 5, &data, &len, &err), 0);
    assert_int_equal(len, 5);
    assert_string_equal(data, "abcde");
    free(data);
    data = NULL;
    assert_int_equal(hb_file_read(path, 4, &data, &len, &err),
                     HPCBOOT_ERR_LIMIT);
    unlink(path);
    assert_int_equal(hb_file_read(path, 4, &data, &len, &err),
                     HPCBOOT_ERR_NOT_FOUND);
    assert_int_equal(hb_file_read("/", 4, &data, &len, &err),
                     HPCBOOT_ERR_SYSTEM);
    assert_null(data);
}

static void a_proc_file_has_no_size_and_is_read(void **state)
{
    char *data = NULL;
    size_t len = 0;

    assert_int_equal(
        hb_file_read("/proc/self/status", 1 << 20, &data, &len, NULL), 0);
    assert_true(len > 0 && strlen(data) == len);
    free(data);
}

static void the_running_program_is_known(void **state)
{
    char *path = hb_self_exe();

    assert_non_null(path);
    assert_int_equal(path[0], '/');
    assert_int_equal(access(path, X_OK), 0);
    free(path);
}

/* The second start of this program, as `path`: a new one takes its place. */
static int runs_on_replaced(const char *path)
{
    char *found;
    int rc;

    if (unlink(path) < 0 || symlink("/bin/true", path) < 0) {
        return 2;
    }
    found = hb_self_exe();
    rc = found != NULL && strcmp(found, path) == 0 ? 0 : 1;
    free(found);
    return rc;
}

static void a_program_that_is_replaced_is_known_by_its_name(void **state)
{
    char dir[] = "/tmp/hb-self-XXXXXX", *command;

    assert_non_null(mkdtemp(dir));
    command = hb_xasprintf("cp /proc/%ld/exe %s/it && %s/it %s/it; rc=$?; "
                           "rm -rf %s; exit $rc", (long)getpid(), dir, dir, dir,
                           dir);
    assert_int_equal(system(command), 0);
    free(command);
}

static void json_has_commas_where_they_belong(void **state)
{
    struct hb_str out = HB_STR_INIT;
    struct hb_json j;

    hb_json_begin(&j, &out);
    hb_json_object(&j, NULL);
    hb_json_array(&j, "a");
    hb_json_int(&j, NULL, 1);
    hb_json_object(&j, NULL);
    hb_json_end_object(&j);
    hb_json_int(&j, NULL, INT64_MIN);
    hb_json_end_array(&j);
    hb_json_bool(&j, "b", 1);
    hb_json_null(&j, "c");
    hb_json_str(&j, "d", NULL);
    hb_json_end_object(&j);
    assert_string_equal(hb_str_text(&out),
                        "{\"a\":[1,{},-9223372036854775808],"
                        "\"b\":true,\"c\":null,\"d\":null}");
    hb_str_destroy(&out);
}

static void expect_json_str(const char *value, const char *expected)
{
    struct hb_str out = HB_STR_INIT;
    struct hb_json j;

    hb_json_begin(&j, &out);
    hb_json_str(&j, NULL, value);
    assert_string_equal(hb_str_text(&out), expected);
    hb_str_destroy(&out);
}

static void json_text_is_escaped_and_valid_utf8(void **state)
{
    expect_json_str("a\"\\\n\t\x01z", "\"a\\\"\\\\\\n\\t\\u0001z\"");
    expect_json_str("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80",
                    "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"");
    expect_json_str("a\xff" "b", "\"a\xef\xbf\xbd" "b\"");
    expect_json_str("\xc3", "\"\xef\xbf\xbd\"");
    /* Overlong slash, a surrogate, above U+10FFFF: byte by byte. */
    expect_json_str("\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    expect_json_str("\xed\xa0\x80",
                    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    expect_json_str("\xf4\x90\x80\x80",
                    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void json_numbers_read_back(void **state)
{
    struct hb_str out = HB_STR_INIT;
    struct hb_json j;

    hb_json_begin(&j, &out);
    hb_json_array(&j, NULL);
    hb_json_real(&j, NULL, 0.1);
    hb_json_real(&j, NULL, 1.0 / 3);
    hb_json_real(&j, NULL, INFINITY);
    hb_json_real(&j, NULL, NAN);
    hb_json_end_array(&j);
    assert_string_equal(hb_str_text(&out),
                        "[0.1,0.33333333333333331,null,null]");
    hb_str_destroy(&out);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_run_out_is_told_with_its_remedy),
        cmocka_unit_test(a_failure_carries_code_and_text),
        cmocka_unit_test(the_systems_reason_is_appended),
        cmocka_unit_test(context_goes_in_front),
        cmocka_unit_test(text_that_does_not_fit_is_cut),
        cmocka_unit_test(what_does_not_fit_loses_its_middle),
        cmocka_unit_test(a_text_may_be_made_of_itself),
        cmocka_unit_test(every_status_has_damage_and_names),
        cmocka_unit_test(records_reach_the_sink_up_to_its_level),
        cmocka_unit_test(deadlines_count_down),
        cmocka_unit_test(descriptors_are_not_inherited),
        cmocka_unit_test(a_child_without_an_exec_closes_the_same),
        cmocka_unit_test(all_bytes_are_written),
        cmocka_unit_test(a_file_is_read_whole_or_not),
        cmocka_unit_test(a_proc_file_has_no_size_and_is_read),
        cmocka_unit_test(the_running_program_is_known),
        cmocka_unit_test(a_program_that_is_replaced_is_known_by_its_name),
        cmocka_unit_test(json_has_commas_where_they_belong),
        cmocka_unit_test(json_text_is_escaped_and_valid_utf8),
        cmocka_unit_test(json_numbers_read_back),
    };

    return argc == 2 ? runs_on_replaced(argv[1])
                     : cmocka_run_group_tests(tests, NULL, NULL);
}
