/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Agents behind a child process: the stream both ways, backpressure, how an
 * end is named, and that the callee may cancel and close at any moment. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/boot/boot.h"
#include "bin/boot/child.h"
#include "lib/base/str.h"

#define LIMIT_S 20 /* a test that waits longer has failed */

struct run {
    struct event_base *base;
    struct hb_boot *boot;
    struct hb_channel *channel;
    struct hb_str got, said;
    size_t bytes; /* of zeros, where they are only counted */
    size_t to_send, sent;
    int count_only;
    int failed, closed, cancel_in_open;
    struct hpcboot_error err;
};

static void on_data(void *arg, const void *data, size_t len)
{
    struct run *r = arg;

    r->bytes += len;
    if (!r->count_only) {
        hb_str_putn(&r->got, data, len);
    } else if (r->bytes >= r->to_send) {
        event_base_loopbreak(r->base);
    }
}

static void pump(void *arg)
{
    static const char zeros[100000];
    struct run *r = arg;

    while (r->sent < r->to_send) {
        size_t left = r->to_send - r->sent;
        size_t n = left < sizeof zeros ? left : sizeof zeros;
        ssize_t took = r->channel->ops->write(r->channel, zeros, n);

        assert_true(took >= 0);
        if (took == 0) {
            return;
        }
        r->sent += (size_t)took;
    }
}

static void on_closed(void *arg, const struct hpcboot_error *err)
{
    struct run *r = arg;

    r->closed++;
    r->err = *err;
    r->channel->ops->close(r->channel);
    r->channel = NULL;
    event_base_loopbreak(r->base);
}

static void on_open(void *arg, struct hb_channel *ch)
{
    struct run *r = arg;

    ch->events = (struct hb_channel_events){on_data, pump, on_closed};
    ch->arg = r;
    r->channel = ch;
    if (r->cancel_in_open) {
        hb_boot_cancel(r->boot);
        r->boot = NULL;
    }
}

static void on_chatter(void *arg, const char *text, size_t len)
{
    struct run *r = arg;

    hb_str_putn(&r->said, text, len);
}

static void on_failed(void *arg, enum hb_boot_stage stage,
                      const struct hpcboot_error *err)
{
    struct run *r = arg;

    r->failed++;
    r->err = *err;
    event_base_loopbreak(r->base);
}

static const struct hb_boot_events events = {
    .chatter = on_chatter, .open = on_open, .failed = on_failed
};

static void begin(struct run *r, enum hb_boot_way way, const char *what,
                  struct hb_boot_config *config)
{
    static const struct hb_boot_target target = {.host = "n1", .token = "t"};

    config->base = r->base;
    config->agent_path = config->launch_with = what;
    assert_int_equal(hb_boot_start(&r->boot, way, config, &target, &events, r,
                                   &r->err), 0);
}

static void loop(struct run *r)
{
    const struct timeval limit = {LIMIT_S, 0};

    event_base_loopexit(r->base, &limit);
    event_base_dispatch(r->base);
}

static void run_command(struct run *r, const char *command)
{
    struct hb_boot_config config = {0};

    begin(r, HB_BOOT_COMMAND, command, &config);
    loop(r);
}

static int setup(void **state)
{
    struct run *r = hb_xcalloc(1, sizeof *r);

    signal(SIGPIPE, SIG_IGN);
    r->base = event_base_new();
    *state = r;
    return 0;
}

/* Reaped by nobody yet, whether it has ended or not. */
static int has_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static int teardown(void **state)
{
    struct run *r = *state;

    hb_boot_cancel(r->boot);
    if (r->channel) {
        r->channel->ops->close(r->channel);
    }
    /* Children that were let go are reaped by the loop, which frees what is
     * kept of them. */
    for (int i = 0; i < LIMIT_S * 100 && has_children(); i++) {
        struct timeval tick = {0, 10000};

        event_base_loopexit(r->base, &tick);
        event_base_dispatch(r->base);
    }
    hb_str_destroy(&r->got);
    hb_str_destroy(&r->said);
    event_base_free(r->base);
    free(r);
    return 0;
}

static void output_stderr_and_status_arrive(void **state)
{
    struct run *r = *state;

    run_command(r, "sh -c 'echo out; echo err >&2; exit 3' %a");
    assert_int_equal(r->closed, 1);
    assert_string_equal(hb_str_text(&r->got), "out\n");
    assert_string_equal(hb_str_text(&r->said), "err\n");
    assert_string_equal(r->err.text, "sh exited with status 3");
}

static void a_signal_is_named(void **state)
{
    struct run *r = *state;

    run_command(r, "sh -c 'kill -SEGV $$' %a");
    assert_string_equal(r->err.text, "sh was killed by signal 11 (SEGV)");
}

static void a_command_that_is_not_there_fails(void **state)
{
    struct run *r = *state;

    run_command(r, "no-such-command-here %h");
    assert_int_equal(r->failed, 1);
    assert_non_null(strstr(r->err.text, "cannot start no-such-command-here: "));
    assert_non_null(strstr(r->err.text, "No such file or directory"));
}

/* It is reaped by then, and its number may soon be another's. */
static void what_could_not_be_executed_has_no_pid(void **state)
{
    char *argv[] = {(char *)"/no/such/command", NULL};
    const struct hb_child_spec spec = {.argv = argv, .in = 0, .out = 1,
                                       .err = 2};
    struct hpcboot_error err = {0};
    pid_t pid = 0;

    (void)state;
    assert_int_equal(hb_child_spawn(&spec, &pid, &err), HPCBOOT_ERR_SPAWN);
    assert_int_equal(pid, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void the_end_is_seen_while_a_grandchild_holds_the_stream(void **state)
{
    struct run *r = *state;

    run_command(r, "sh -c 'sleep 5 2>&1 & exit 4' %a");
    assert_string_equal(r->err.text, "sh exited with status 4");
}

static void the_end_is_seen_while_the_command_lives_on(void **state)
{
    struct run *r = *state;

    run_command(r, "sh -c 'exec >&- 2>&- <&-; exec sleep 60' %a");
    assert_string_equal(r->err.text, "the other side closed the stream");
}

static void much_goes_through_both_ways_unqueued(void **state)
{
    struct run *r = *state;
    struct hb_boot_config config = {0};

    r->count_only = 1;
    r->to_send = 64 << 20;
    begin(r, HB_BOOT_COMMAND, "sh -c cat %a", &config);
    while (!r->channel && !r->failed) {
        event_base_loop(r->base, EVLOOP_ONCE);
    }
    pump(r);
    assert_true(r->sent < r->to_send); /* the kernel's buffer is the queue */
    loop(r);
    assert_int_equal(r->bytes, r->to_send);
}

static void a_pause_stops_data_and_sender(void **state)
{
    struct run *r = *state;
    struct hb_boot_config config = {0};
    struct timeval tick = {0, 50000};
    size_t before;

    begin(r, HB_BOOT_COMMAND, "yes %a", &config);
    while (r->bytes == 0 && !r->failed && !r->closed) {
        event_base_loop(r->base, EVLOOP_ONCE);
    }
    assert_non_null(r->channel);
    r->channel->ops->pause(r->channel, 1);
    before = r->bytes;
    event_base_loopexit(r->base, &tick);
    event_base_dispatch(r->base);
    assert_int_equal(r->bytes, before);
    r->channel->ops->pause(r->channel, 0);
    while (r->bytes == before && !r->closed) {
        event_base_loop(r->base, EVLOOP_ONCE);
    }
    assert_true(r->bytes > before);
}

static void the_channel_outlives_its_boot(void **state)
{
    struct run *r = *state;

    r->cancel_in_open = 1;
    run_command(r, "sh -c 'echo err >&2; echo out' %a");
    assert_string_equal(hb_str_text(&r->got), "out\n");
    assert_string_equal(hb_str_text(&r->said), "");
    assert_string_equal(r->err.text, "sh exited with status 0");
}

static void a_forked_agent_gets_its_token(void **state)
{
    struct run *r = *state;
    struct hb_boot_config config = {0};

    begin(r, HB_BOOT_FORK, "/bin/echo", &config);
    loop(r);
    assert_string_equal(hb_str_text(&r->got), "agent --token t\n");
}

static void an_agent_of_a_counted_host_is_told_so(void **state)
{
    static const struct hb_boot_target target = {
        .host = "n1", .token = "t", .counted = 1,
    };
    struct run *r = *state;
    struct hb_boot_config config = {.base = r->base,
                                    .agent_path = "/bin/echo"};

    assert_int_equal(hb_boot_start(&r->boot, HB_BOOT_FORK, &config, &target,
                                   &events, r, &r->err), 0);
    loop(r);
    assert_string_equal(hb_str_text(&r->got), "agent --token t --counted\n");
}

static void a_host_that_looks_like_an_option_is_refused(void **state)
{
    struct run *r = *state;
    struct hb_boot_config config = {.base = r->base, .launch_with = "ssh"};
    struct hb_boot_target target = {.host = "-oProxyCommand=x", .token = "t"};

    assert_int_equal(hb_boot_start(&r->boot, HB_BOOT_COMMAND, &config, &target,
                                   &events, r, &r->err), HPCBOOT_ERR_USAGE);
}

static int open_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d)) {
        n++;
    }
    closedir(d);
    return n;
}

static void no_descriptor_is_left(void **state)
{
    struct run *r = *state;
    int before;

    run_command(r, "true %a");
    hb_boot_cancel(r->boot);
    before = open_fds();
    run_command(r, "true %a");
    assert_int_equal(open_fds(), before);
}

/* The number that a script writes; waits until it has. */
static pid_t number_in(const char *path)
{
    int n = 0;

    for (;;) {
        FILE *f = fopen(path, "r");
        int got = f ? fscanf(f, "%d.", &n) : 0;

        if (f) {
            got = got == 1 && fgetc(f) == '\n';
            fclose(f);
        }
        if (got) {
            return n;
        }
        usleep(1000);
    }
}

/* 'X': it is not there. */
static char state_of(pid_t pid)
{
    char path[64], state = 'X';
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    if (f) {
        (void)!fscanf(f, "%*d (%*[^)]) %c", &state);
        fclose(f);
    }
    return state;
}

/* Dead and not yet collected by init counts as ended. */
static int has_ended(pid_t pid)
{
    char state = state_of(pid);

    return state == 'X' || state == 'Z';
}

static void settling_ends_a_command_and_its_children(void **state)
{
    struct run *r = *state;
    struct hb_boot_config config = {0};
    char dir[] = "/tmp/hb-settle-XXXXXX", path[64], command[256];
    pid_t child;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/pid", dir);
    snprintf(command, sizeof command, "sh -c 'trap \"\" TERM; sleep 1000 & "
             "echo $!. > %s; wait; wait; sleep 1000'", path);
    begin(r, HB_BOOT_COMMAND, command, &config);
    while (!r->channel) {
        event_base_loop(r->base, EVLOOP_ONCE);
    }
    child = number_in(path);
    r->channel->ops->close(r->channel);
    r->channel = NULL;
    hb_boot_cancel(r->boot);
    r->boot = NULL;
    hb_boot_settle();
    while (!has_ended(child)) {
        usleep(1000);
    }
    unlink(path);
    rmdir(dir);
}

static void settling_lets_a_stopped_agent_see_the_end(void **state)
{
    struct run *r = *state;
    struct hb_boot_config config = {0};
    char dir[] = "/tmp/hb-stopped-XXXXXX", agent[64], path[64];
    pid_t child;
    FILE *f;

    assert_non_null(mkdtemp(dir));
    snprintf(agent, sizeof agent, "%s/agent", dir);
    snprintf(path, sizeof path, "%s/pid", dir);
    f = fopen(agent, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\necho $$. > %s\nkill -STOP $$\nread end\n", path);
    fchmod(fileno(f), 0700);
    fclose(f);
    begin(r, HB_BOOT_FORK, agent, &config);
    while (!r->channel) {
        event_base_loop(r->base, EVLOOP_ONCE);
    }
    child = number_in(path);
    while (state_of(child) != 'T') {
        usleep(1000);
    }
    r->channel->ops->close(r->channel);
    r->channel = NULL;
    hb_boot_cancel(r->boot);
    r->boot = NULL;
    hb_boot_settle();
    assert_true(has_ended(child));
    unlink(agent);
    unlink(path);
    rmdir(dir);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(output_stderr_and_status_arrive),
        T(a_signal_is_named),
        T(a_command_that_is_not_there_fails),
        T(what_could_not_be_executed_has_no_pid),
        T(the_end_is_seen_while_a_grandchild_holds_the_stream),
        T(the_end_is_seen_while_the_command_lives_on),
        T(much_goes_through_both_ways_unqueued),
        T(a_pause_stops_data_and_sender),
        T(the_channel_outlives_its_boot),
        T(a_forked_agent_gets_its_token),
        T(an_agent_of_a_counted_host_is_told_so),
        T(a_host_that_looks_like_an_option_is_refused),
        T(no_descriptor_is_left),
        T(settling_ends_a_command_and_its_children),
        T(settling_lets_a_stopped_agent_see_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
