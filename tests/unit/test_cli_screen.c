/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What the launcher itself shows: log lines, the progress line, tables. The
 * screen is a pseudo-terminal or a pipe put in place of standard error. */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/cli/logsink.h"
#include "bin/cli/table.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"

#define COMES_WITHIN_MS 60000 /* on a machine however busy */

struct screen {
    int saved; /* the real standard error */
    int read_fd;
};

static int take_stderr(struct screen *s, int fd)
{
    s->saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    return s->saved < 0 || dup2(fd, STDERR_FILENO) < 0 ? -1 : 0;
}

static int pipe_create(void **state)
{
    struct screen *s = hb_xcalloc(1, sizeof *s);
    int fds[2], rc;

    *state = s;
    if (hb_fd_pipe(fds, NULL) < 0) {
        return -1;
    }
    s->read_fd = fds[0];
    rc = take_stderr(s, fds[1]);
    close(fds[1]);
    return rc;
}

static int terminal_create(void **state)
{
    struct screen *s = hb_xcalloc(1, sizeof *s);
    int master = posix_openpt(O_RDWR | O_NOCTTY), slave, rc;
    struct termios t;

    *state = s;
    setenv("TERM", "xterm", 1);
    if (master < 0 || grantpt(master) || unlockpt(master)) {
        return -1;
    }
    slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0 || tcgetattr(slave, &t)) {
        return -1;
    }
    cfmakeraw(&t);
    tcsetattr(slave, TCSANOW, &t);
    s->read_fd = master;
    rc = take_stderr(s, slave);
    close(slave);
    return rc;
}

static int screen_destroy(void **state)
{
    struct screen *s = *state;

    hb_logsink_progress(NULL);
    hb_logsink_output(NULL);
    hb_log_set_sink(NULL, NULL, HB_ERROR);
    dup2(s->saved, STDERR_FILENO);
    close(s->saved);
    close(s->read_fd);
    free(s);
    return 0;
}

/* A terminal hands over what was written a little later, and in pieces. */
static void expect(struct screen *s, const char *wanted)
{
    struct pollfd fd = {.fd = s->read_fd, .events = POLLIN};
    char got[4096];
    size_t len = 0;
    ssize_t n = 1;

    hb_fd_set_nonblock(s->read_fd, 1, NULL);
    while (n > 0) {
        int wait_ms = len < strlen(wanted) ? COMES_WITHIN_MS : 0;

        n = poll(&fd, 1, wait_ms) == 1
                ? read(s->read_fd, got + len, sizeof got - 1 - len) : 0;
        len += n > 0 ? (size_t)n : 0;
    }
    got[len] = '\0';
    assert_string_equal(got, wanted);
}

static void records_name_program_and_level(void **state)
{
    struct screen *s = *state;

    hb_logsink_open("hbrun", HB_INFO);
    hb_log(HB_ERROR, "host %s refuses", "a");
    hb_log(HB_WARN, "careful");
    hb_log(HB_INFO, "all is well");
    hb_log(HB_DEBUG, "not wanted");
    expect(s, "hbrun: error: host a refuses\nhbrun: warning: careful\n"
              "hbrun: all is well\n");
}

static void each_line_of_a_record_is_named(void **state)
{
    struct screen *s = *state;

    hb_logsink_open("hbrun", HB_INFO);
    hb_log(HB_ERROR, "one\ntwo\n");
    expect(s, "hbrun: error: one\nhbrun: error: two\n");
}

static void a_host_cannot_steer_the_terminal(void **state)
{
    struct screen *s = *state;

    hb_logsink_open("hbrun", HB_INFO);
    hb_log(HB_INFO, "host says: \033[2J\a\r");
    expect(s, "hbrun: host says: \\033[2J\\007\\015\n");
    hb_log(HB_INFO, "and: \x9b" "2J \xc2\x9b" "2J gr\xc3\xbc\xc3\x9f" "e\t"
           "\xe2");
    expect(s, "hbrun: and: \\2332J \\302\\2332J gr\xc3\xbc\xc3\x9f" "e\t"
              "\\342\n");
}

static void records_go_in_order_with_output(void **state)
{
    struct screen *s = *state;
    struct hb_output_config c = {.n_ranks = 1, .out_fd = STDERR_FILENO,
                                 .err_fd = STDERR_FILENO};
    struct hb_output_piece piece = {.stream = 2, .data = "half", .len = 4};
    struct hb_output *o;

    assert_int_equal(hb_output_create(&o, &c, NULL), 0);
    hb_logsink_open("hbrun", HB_INFO);
    hb_logsink_output(o);
    hb_output_write(o, &piece, NULL);
    hb_log(HB_WARN, "careful");
    hb_logsink_output(NULL);
    hb_output_destroy(o);
    expect(s, "half\nhbrun: warning: careful\n");
}

/* --- progress ---------------------------------------------------- */

static const struct hb_progress_view start = {
    .n_ready = 1, .n_wanted = 2, .stages = "1 at connect", .slowest = "a",
    .why = "no answer", .deadline_ns = HB_NEVER,
};

static void progress_is_for_terminals_only(void **state)
{
    assert_null(hb_progress_create(STDERR_FILENO));
    hb_progress_update(NULL, &start);
    hb_progress_erase(NULL);
    hb_progress_done(NULL);
    hb_progress_destroy(NULL);
}

static void progress_is_for_capable_terminals_only(void **state)
{
    setenv("TERM", "dumb", 1);
    assert_null(hb_progress_create(STDERR_FILENO));
}

static void a_quick_start_shows_nothing(void **state)
{
    struct screen *s = *state;
    struct hb_progress *p = hb_progress_create(STDERR_FILENO);

    assert_non_null(p);
    hb_progress_update(p, &start);
    hb_progress_destroy(p);
    expect(s, "");
}

static void progress_text_says_who_and_how_long(void **state)
{
    char text[128];
    const struct hb_progress_view some = {
        .n_ready = 5, .n_wanted = 8, .stages = "2 at connect, 1 at resolve",
        .slowest = "pod-3", .why = "no answer",
    };
    const struct hb_progress_view all = {.n_ready = 8, .n_wanted = 8};

    hb_progress_text(text, sizeof text, 80, &some, 4100000000, 60000000000);
    assert_string_equal(text, "hosts: 5 of 8 ready, 2 at connect, 1 at "
                        "resolve, 4 s of 60 s; pod-3: no answer");
    hb_progress_text(text, sizeof text, 80, &all, 0, 0);
    assert_string_equal(text, "hosts: 8 of 8 ready, 0 s");
    hb_progress_text(text, sizeof text, 10, &all, 0, 0);
    assert_string_equal(text, "hosts: 8 ");
}

static void progress_text_moves_no_cursor(void **state)
{
    char text[128];
    const struct hb_progress_view odd = {
        .n_wanted = 1, .slowest = "a", .why = "it said \033[2J\n",
    };

    hb_progress_text(text, sizeof text, 80, &odd, 0, 0);
    assert_string_equal(text, "hosts: 0 of 1 ready, 0 s; a: it said  [2J ");
}

/* Updates until the line has come, which is not at once. A second that goes by
 * meanwhile draws it again: all is taken, up to a mark that is put behind. */
static void show(struct screen *s, struct hb_progress *p)
{
    struct pollfd fd = {.fd = s->read_fd, .events = POLLIN};
    static const char wanted[] =
        "\r\033[Khosts: 1 of 2 ready, 1 at connect, ";
    char got[4096] = "";
    size_t len = 0;

    do {
        hb_progress_update(p, &start);
    } while (poll(&fd, 1, 20) == 0);
    assert_int_equal(write(STDERR_FILENO, "|", 1), 1);
    while (strchr(got, '|') == NULL) {
        ssize_t n = read(s->read_fd, got + len, sizeof got - 1 - len);

        assert_true(n > 0);
        len += (size_t)n;
    }
    assert_memory_equal(got, wanted, sizeof wanted - 1);
    assert_string_equal(strrchr(got, ';'), "; a: no answer|");
}

static void progress_is_erased_before_a_record(void **state)
{
    struct screen *s = *state;
    struct hb_progress *p = hb_progress_create(STDERR_FILENO);

    hb_logsink_open("hbrun", HB_INFO);
    hb_logsink_progress(p);
    show(s, p);
    hb_log(HB_WARN, "careful");
    expect(s, "\r\033[Khbrun: warning: careful\n");
    hb_progress_done(p);
    hb_progress_update(p, &start);
    expect(s, "");
    hb_logsink_progress(NULL);
    hb_progress_destroy(p);
}

/* --- tables ------------------------------------------------------ */

static void tables_align_words_left_and_numbers_right(void **state)
{
    static const char *const headings[] = {"host", "slots", "from", NULL};
    struct hb_str out = HB_STR_INIT;
    struct hb_table t;

    hb_table_begin(&t, headings);
    hb_table_cell(&t, "w\303\266rker-0");
    hb_table_cell(&t, "%d", 2);
    hb_table_cell(&t, "-H");
    hb_table_cell(&t, "b");
    hb_table_cell(&t, "%d", 16);
    hb_table_cell(&t, "file:3");
    hb_table_put(&t, &out);
    assert_string_equal(out.s, "host      slots  from\n"
                               "w\303\266rker-0      2  -H\n"
                               "b            16  file:3\n");
    hb_table_destroy(&t);
    hb_str_destroy(&out);
}

int main(void)
{
#define ON_PIPE(f) \
    cmocka_unit_test_setup_teardown(f, pipe_create, screen_destroy)
#define ON_TERMINAL(f) \
    cmocka_unit_test_setup_teardown(f, terminal_create, screen_destroy)
    const struct CMUnitTest tests[] = {
        ON_PIPE(records_name_program_and_level),
        ON_PIPE(each_line_of_a_record_is_named),
        ON_PIPE(a_host_cannot_steer_the_terminal),
        ON_PIPE(records_go_in_order_with_output),
        ON_PIPE(progress_is_for_terminals_only),
        ON_TERMINAL(progress_is_for_capable_terminals_only),
        ON_TERMINAL(a_quick_start_shows_nothing),
        cmocka_unit_test(progress_text_says_who_and_how_long),
        cmocka_unit_test(progress_text_moves_no_cursor),
        ON_TERMINAL(progress_is_erased_before_a_record),
        cmocka_unit_test(tables_align_words_left_and_numbers_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
