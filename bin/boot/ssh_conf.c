/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Reading the ssh_config files: which, how often, and what they may run.
 *
 * The usual files may start programs (ProxyCommand, Match exec) and lead
 * elsewhere, so one that others can write is an error, as with ssh. It is not
 * passed over: what its owner wrote there may be what keeps a login safe. A
 * file that is named on the command line is the user's own choice.
 *
 * A command of Match exec is run once for all hosts that it is written the
 * same for: a gang has many, and ssh would run it for each of them. */
#include "config.h"

#include "bin/boot/ssh_conf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/boot/child.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define SYSTEM_DIR "/etc/ssh"
#define EXEC_LIMIT_MS 10000 /* a name looked up, a route asked for */

char *hb_ssh_lower(const char *name)
{
    char *lower = hb_xstrdup(name);

    for (char *p = lower; *p; p++) {
        *p = (char)tolower((unsigned char)*p);
    }
    return lower;
}

/* --- commands of Match exec */

struct ran {
    struct ran *next;
    char *command;
    int met;
};

/* They live as long as the process, like the pins. Loop thread only. */
static struct ran *all_ran;

/* 1: it has ended. */
static int await_end(pid_t pid)
{
    int64_t until = hb_deadline_in_ms(EXEC_LIMIT_MS);
    struct pollfd p = {.events = POLLIN};
    int n = 0;

    p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    while (p.fd >= 0 && n == 0 && hb_deadline_left_ms(until) > 0) {
        n = poll(&p, 1, (int)hb_deadline_left_ms(until));
        n = n < 0 && errno == EINTR ? 0 : n;
    }
    n = p.fd < 0 || n > 0; /* no such descriptor: waits as long as it takes */
    hb_fd_close(&p.fd);
    return n;
}

static int start(const char *command, pid_t *pid_out,
                 struct hpcboot_error *err)
{
    const char *shell = getenv("SHELL");
    char *argv[] = {hb_xstrdup(shell && access(shell, X_OK) == 0
                               ? shell : "/bin/sh"),
                    hb_xstrdup("-c"), hb_xstrdup(command), NULL};
    struct hb_child_spec child = {.argv = argv, .err = STDERR_FILENO,
                                  .death_signal = SIGTERM};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int rc;

    child.in = child.out = null;
    rc = null < 0 ? hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                                  "cannot open /dev/null")
                  : hb_child_spawn(&child, pid_out, err);
    hb_fd_close(&null);
    for (size_t i = 0; argv[i]; i++) {
        free(argv[i]);
    }
    return rc;
}

static int run(const char *command, struct hpcboot_error *err)
{
    pid_t pid = -1;
    int status = 0, ended;
    int rc = start(command, &pid, err);

    if (rc < 0) {
        return rc;
    }
    ended = await_end(pid);
    if (!ended) {
        kill(-pid, SIGKILL); /* it has a session of its own */
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!ended) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "Match exec \"%.160s\" has not "
                       "ended within %d s", command, EXEC_LIMIT_MS / 1000);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int exec_met(const char *command, struct hpcboot_error *err)
{
    struct ran *r = all_ran;
    int met;

    while (r && !hb_streq(r->command, command)) {
        r = r->next;
    }
    if (r) {
        return r->met;
    }
    met = run(command, err);
    if (met >= 0) {
        r = hb_xcalloc(1, sizeof *r);
        r->command = hb_xstrdup(command);
        r->met = met;
        r->next = all_ran;
        all_ran = r;
        hb_log(HB_DEBUG, "Match exec \"%s\" is %s", command,
               met ? "met" : "not met");
    }
    return met;
}

/* --- files */

/* A usual file that is not there or not readable says nothing. */
static int read_usual(struct hb_ssh_conf *conf, const char *dir,
                      const char *name, int own,
                      const struct hb_ssh_query *query,
                      struct hpcboot_error *err)
{
    char *path = hb_xasprintf("%s/%s", dir, name);
    int rc = hb_ssh_conf_file(conf, path, dir, own, query, err);

    free(path);
    return rc == HPCBOOT_ERR_NOT_FOUND || rc == HPCBOOT_ERR_SYSTEM
        ? HPCBOOT_OK : rc;
}

/* In the place of the user's own: what it includes lies beside that. */
static int read_named(struct hb_ssh_conf *conf,
                      const struct hb_ssh_files *files,
                      const struct hb_ssh_query *query,
                      struct hpcboot_error *err)
{
    char *dir = query->home ? hb_xasprintf("%s/.ssh", query->home)
                            : hb_xstrdup(SYSTEM_DIR);
    int rc = hb_ssh_conf_file(conf, files->named, dir, 0, query, err);

    free(dir);
    return rc;
}

static int read_all(struct hb_ssh_conf *conf, const struct hb_ssh_files *files,
                    const struct hb_ssh_query *query,
                    struct hpcboot_error *err)
{
    int rc = HPCBOOT_OK;

    if (files->named) {
        return read_named(conf, files, query, err);
    }
    for (size_t i = 0; rc == HPCBOOT_OK && i < files->homes->n; i++) {
        char *dir = hb_xasprintf("%s/.ssh", files->homes->v[i]);

        rc = read_usual(conf, dir, "config", 1, query, err);
        free(dir);
    }
    if (rc == HPCBOOT_OK) {
        rc = read_usual(conf, SYSTEM_DIR, "ssh_config", 0, query, err);
    }
    return rc;
}

static int not_ours(struct hpcboot_error *err)
{
    struct hpcboot_error why = {.text = ""};

    if (err) {
        why = *err;
    }
    return hb_fail(err, HPCBOOT_ERR_AUTH, "%.360s; as with ssh nothing is done "
                   "by it: --ssh-config none leaves it out", why.text);
}

/* Names would have to be looked up before the files are read again. */
static void tell_not_canonical(const struct hb_ssh_conf *conf)
{
    static int told;

    if (conf->canonical && conf->canonical_rules && !told) {
        told = 1;
        hb_log(HB_WARN, "CanonicalizeHostname of ssh_config is not known here: "
               "hosts keep the names they have; --launch-with ssh knows it");
    }
}

int hb_ssh_conf_read(struct hb_ssh_conf *conf, const struct hb_ssh_files *files,
                     const struct hb_ssh_query *query,
                     struct hpcboot_error *err)
{
    struct hb_ssh_query q = *query;
    int rc;

    if (files->named && hb_streq(files->named, "none")) {
        return HPCBOOT_OK;
    }
    q.exec = exec_met;
    rc = read_all(conf, files, &q, err);
    if (rc == HPCBOOT_OK && (conf->final_wanted || conf->canonical)) {
        /* The name is settled: a HostName comes too late now. */
        char *connected = hb_ssh_lower(conf->hostname ? conf->hostname
                                                      : q.host);

        free(conf->hostname);
        conf->hostname = connected;
        q.connected = connected;
        rc = read_all(conf, files, &q, err);
        tell_not_canonical(conf);
    }
    return rc == HPCBOOT_ERR_AUTH ? not_ours(err) : rc;
}
