/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* See proc_run.h. */
#include "config.h"

#include "tests/unit/proc_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/proc/stage.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

char *dir;

static const char *basic_env[] = {"PATH=/usr/bin:/bin", NULL};

struct hb_proc_spec spec_of(char **argv)
{
    return (struct hb_proc_spec){
        .file = argv[0], .argv = argv, .env = (char **)basic_env,
        .stdio = {-1, -1, -1}, .umask = -1,
    };
}

int make_dir(void **state)
{
    static const char *const places[] = {"/tmp"};

    return hb_session_dir_create_in(places, 1, "spawn", 0, &dir, NULL);
}

int drop_dir(void **state)
{
    int left = hb_session_dir_remove(dir);

    free(dir);
    return left;
}

char *put_file(const char *name, const void *data, size_t len, int mode)
{
    char *path = hb_xasprintf("%s/%s", dir, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(hb_fd_write_all(fd, data, len, NULL), HPCBOOT_OK);
    fchmod(fd, (mode_t)mode);
    close(fd);
    return path;
}

int wait_started(int error_fd, enum hb_proc_stage *stage, int *no)
{
    struct pollfd p = {.fd = error_fd, .events = POLLIN};
    int rc;

    while ((rc = hb_proc_started(error_fd, stage, no)) == HPCBOOT_ERR_AGAIN) {
        assert_true(poll(&p, 1, -1) >= 0 || errno == EINTR);
    }
    return rc;
}

char *read_all(int fd)
{
    struct hb_str o = HB_STR_INIT;
    char buf[4096];
    ssize_t n;

    while ((n = read(fd, buf, sizeof(buf))) > 0) {
        hb_str_putn(&o, buf, (size_t)n);
    }
    return hb_str_steal(&o);
}

struct result run(struct hb_proc_spec *spec)
{
    struct result r = {0};
    int out[2], error_fd = -1;
    pid_t pid = 0;

    assert_int_equal(hb_fd_pipe(out, NULL), HPCBOOT_OK);
    if (spec->stdio[1] < 0) {
        spec->stdio[1] = out[1];
    }
    assert_int_equal(hb_proc_spawn(spec, &pid, &error_fd, NULL), HPCBOOT_OK);
    hb_fd_close(&out[1]);
    r.started = wait_started(error_fd, &r.stage, &r.sys_errno);
    r.output = read_all(out[0]);
    assert_int_equal(waitpid(pid, &r.status, 0), pid);
    hb_fd_close(&error_fd);
    hb_fd_close(&out[0]);
    return r;
}

void expect_output(struct hb_proc_spec *spec, const char *output)
{
    struct result r = run(spec);

    assert_int_equal(r.started, 0);
    assert_string_equal(r.output, output);
    assert_int_equal(r.status, 0);
    free(r.output);
}

void expect_failure(struct hb_proc_spec *spec, enum hb_proc_stage stage,
                           int sys_errno, const char *hint)
{
    struct hpcboot_error err = {0};
    struct result r = run(spec);

    assert_int_equal(r.started, 1);
    assert_int_equal(r.stage, stage);
    assert_int_equal(r.sys_errno, sys_errno);
    hb_proc_explain(spec, r.stage, r.sys_errno, &err);
    assert_int_equal(err.code, HPCBOOT_ERR_SPAWN);
    assert_int_equal(err.sys_errno, sys_errno);
    assert_non_null(strstr(err.text, spec->file));
    assert_non_null(strstr(err.text, hb_proc_stage_name(stage)));
    if (strstr(err.text, hint) == NULL) {
        fail_msg("'%s' is not in '%s'", hint, err.text);
    }
    free(r.output);
}
