/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* An agent on this host, and an agent behind a command: both are a child
 * whose stdin and stdout are ends of two socket pairs and whose stderr is a
 * pipe read here. Two, because what is set on a descriptor that is both holds
 * for both: an agent at the end of `filter | agent` that makes its stdout
 * non-blocking would do so to the filter's stdin. They differ in the words
 * that are executed. A forked agent
 * is never killed: the end of its stream makes it clean up behind itself. A
 * command that only carries the stream is told to end when it does not do so
 * by itself, and when the launcher is gone, since one that waits for a dead
 * network stays for minutes. */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/boot/boot_impl.h"
#include "bin/boot/child.h"
#include "bin/boot/fds.h"
#include "bin/boot/remote.h"
#include "bin/boot/template.h"
#include "bin/proc/search.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

extern char **environ;

#define COMMAND_TERM_MS 2000 /* less than the 5 s in which all must be gone */

struct child_boot {
    struct hb_boot boot;
    struct hb_strv argv, env;
    int term_after_ms;
    struct hb_channel *channel; /* handed over; NULL when it is gone */
};

static void chatter_cb(void *arg, const char *text, size_t len)
{
    struct child_boot *b = arg;

    hb_boot_emit_chatter(&b->boot, text, len);
}

static void channel_gone(void *arg)
{
    struct child_boot *b = arg;

    b->channel = NULL;
}

static void destroy(struct hb_boot *boot)
{
    struct child_boot *b = (struct child_boot *)boot;

    if (b->channel) {
        hb_fd_channel_set_chatter(b->channel, NULL, NULL, NULL);
    }
    hb_boot_fini(boot);
    hb_strv_destroy(&b->argv);
    hb_strv_destroy(&b->env);
    free(b);
}

static int open_channel(struct child_boot *b, struct hpcboot_error *err)
{
    int down[2] = {-1, -1}, up[2] = {-1, -1}, chatter[2] = {-1, -1};
    /* An agent and its guard hold the stream and give it to nobody. */
    struct hb_fd_spec fds = {.term_after_ms = b->term_after_ms,
                             .holds_stream = b->term_after_ms < 0};
    struct hb_child_spec child = {
        .argv = b->argv.v, .env = b->env.v,
        .death_signal = b->term_after_ms < 0 ? 0 : SIGTERM,
    };
    int rc = hb_fd_socketpair(down, err);

    if (rc >= 0) {
        rc = hb_fd_socketpair(up, err);
    }
    if (rc >= 0) {
        rc = hb_fd_pipe(chatter, err);
    }
    if (rc >= 0) {
        child.in = down[1];
        child.out = up[1];
        child.err = chatter[1];
        rc = hb_child_spawn(&child, &fds.pid, err);
    }
    if (rc >= 0) {
        fds.read_fd = up[0];
        fds.write_fd = down[0];
        fds.err_fd = chatter[0];
        up[0] = down[0] = chatter[0] = -1;
        rc = hb_fd_channel_create(&b->channel, b->boot.config->base, &fds,
                                  err);
    }
    hb_fd_close(&down[0]);
    hb_fd_close(&down[1]);
    hb_fd_close(&up[0]);
    hb_fd_close(&up[1]);
    hb_fd_close(&chatter[0]);
    hb_fd_close(&chatter[1]);
    return rc;
}

static void start(struct hb_boot *boot)
{
    struct child_boot *b = (struct child_boot *)boot;
    struct hpcboot_error err = {0};

    if (hb_boot_emit_stage(boot, HB_STAGE_AGENT, b->argv.v[0])) {
        return;
    }
    if (open_channel(b, &err) < 0) {
        hb_boot_emit_failed(boot, &err);
        return;
    }
    hb_strv_destroy(&b->argv); /* there may be thousands of us */
    hb_strv_destroy(&b->env);
    hb_fd_channel_set_chatter(b->channel, chatter_cb, channel_gone, b);
    hb_boot_emit_open(boot, b->channel);
}

static const struct hb_boot_ops child_ops = {
    .start = start, .destroy = destroy
};

/* srun passes output on by lines unless it is told otherwise, and a link has no
 * lines: without this the agent's first message would never come. */
static void command_env(struct hb_strv *env)
{
    hb_strv_extend(env, environ);
    hb_env_set(env, "SLURM_UNBUFFEREDIO", "1");
}

/* Takes argv, also when it fails. */
static int create(struct hb_boot **out, const struct hb_boot_config *config,
                  const struct hb_boot_events *events, void *arg,
                  struct hb_strv *argv, int term_after_ms,
                  struct hpcboot_error *err)
{
    struct child_boot *b = hb_xcalloc(1, sizeof *b);
    int rc;

    b->argv = *argv;
    b->term_after_ms = term_after_ms;
    if (term_after_ms >= 0) {
        command_env(&b->env);
    }
    rc = hb_boot_init(&b->boot, &child_ops, config, events, arg, err);
    if (rc < 0) {
        destroy(&b->boot);
        return rc;
    }
    *out = &b->boot;
    return HPCBOOT_OK;
}

int hb_boot_fork_create(struct hb_boot **out,
                        const struct hb_boot_config *config,
                        const struct hb_boot_target *target,
                        const struct hb_boot_events *events, void *arg,
                        struct hpcboot_error *err)
{
    struct hb_strv argv = HB_STRV_INIT;

    hb_strv_push(&argv, config->agent_path);
    hb_strv_push(&argv, "agent");
    hb_strv_push(&argv, "--token");
    hb_strv_push(&argv, target->token);
    if (target->counted) {
        hb_strv_push(&argv, "--counted");
    }
    return create(out, config, events, arg, &argv, -1, err);
}

int hb_boot_command_create(struct hb_boot **out,
                           const struct hb_boot_config *config,
                           const struct hb_boot_target *target,
                           const struct hb_boot_events *events, void *arg,
                           struct hpcboot_error *err)
{
    char *line = hb_boot_remote_command(config, target);
    char *user = hb_local_user();
    struct hb_strv words = HB_STRV_INIT, argv = HB_STRV_INIT;
    struct hb_template_values values = {
        .host = target->host,
        .user = target->user ? target->user : config->user,
        .user_default = user ? user : "root",
        .port = target->port ? target->port : config->port,
        .agent_line = line,
    };
    int rc;

    hb_remote_words(config, target, &words);
    values.agent_words = words.v;
    rc = hb_template_expand(config->launch_with ? config->launch_with : "",
                            &values, &argv, err);
    if (rc >= 0) {
        rc = create(out, config, events, arg, &argv, COMMAND_TERM_MS, err);
    }
    hb_strv_destroy(&words);
    free(user);
    free(line);
    return rc;
}

int hb_boot_check_command(const char *text, struct hpcboot_error *err)
{
    char *no_words[] = {NULL};
    const struct hb_template_values values = {
        .host = "", .user_default = "", .agent_line = "",
        .agent_words = no_words,
    };
    struct hb_strv argv = HB_STRV_INIT, paths = HB_STRV_INIT;
    int rc = hb_template_expand(text, &values, &argv, err);
    int found = 0;

    if (rc < 0) {
        return rc;
    }
    hb_search_paths(argv.v[0], environ, &paths);
    for (size_t i = 0; i < paths.n && !found; i++) {
        found = access(paths.v[i], X_OK) == 0;
    }
    if (!found) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "--launch-with: %s is not a "
                     "program that can be run on this host", argv.v[0]);
    }
    hb_strv_destroy(&paths);
    hb_strv_destroy(&argv);
    return rc;
}
