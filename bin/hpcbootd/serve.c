/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* `hpcbootd serve`: the entry point of a pod that has no sshd. The server
 * itself is a part of bin/boot that is loaded with libssh; here are its
 * options, its end, and what the first process of a pod owes: it reaps whoever
 * has lost its parent, and heeds SIGTERM, which a first process ignores unless
 * it says otherwise.
 *
 * SIGTERM drains: no more logins, agents are told to end, and give their ranks
 * the grace they were promised. With --once the end of the first job is the
 * end of the pod, with the job's status. */
#include "config.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/boot/boot_impl.h"
#include "bin/boot/serve.h"
#include "bin/hpcbootd/serve.h"
#include "bin/hpcbootd/sure.h"
#include "bin/proc/guard.h"
#include "bin/proc/termlog.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/module_load.h"
#include "lib/base/str.h"
#include "lib/trust/secret.h"

#define DRAIN_S 25     /* Kubernetes kills after 30 s by default */
#define PORT_MAX 65535
#define COUNT_MAX 100000
#define LOGIN_MAX_MS 3600000

struct server {
    struct hb_serve_config config;
    int once, verbose;
    const struct hb_serve_ops *ops;
    struct hb_serve *serve;
    struct health *health;
    struct event *child_ev, *term_ev, *int_ev, *drain_timer;
    int draining, job_ended, exit_status;
    unsigned terms;
};

static const char usage_text[] =
    "usage: hpcbootd serve [options]\n"
    "An SSH server that lets the gang's key in and starts agents of hbrun.\n"
    "  --port N              listen there (22, else 2222)\n"
    "  --key FILE|DIR        the gang's private key (what is mounted)\n"
    "  --authorized-keys F   keys that may log in besides\n"
    "  --once                end with the first job, with its status\n"
    "  --max-logins N        under way at a time (64)\n"
    "  --login-rate N        begun per second by one address; of IPv6,\n"
    "                        by one /64 (32)\n"
    "  --login-timeout S     for a login (20)\n"
    "  -v                    say more\n";

static int take_number(const char *text, int max, int *out)
{
    return hb_parse_int(text, 1, max, out) == HPCBOOT_OK;
}

static int set_port(struct server *s, const char *value)
{
    return take_number(value, PORT_MAX, &s->config.port);
}

static int set_key(struct server *s, const char *value)
{
    s->config.key = value;
    return 1;
}

static int set_authorized(struct server *s, const char *value)
{
    s->config.authorized_keys = value;
    return 1;
}

static int set_max_logins(struct server *s, const char *value)
{
    int n;

    if (!take_number(value, COUNT_MAX, &n)) {
        return 0;
    }
    s->config.limits.pending = (unsigned)n;
    if (s->config.limits.per_source > (unsigned)n) {
        s->config.limits.per_source = (unsigned)n;
    }
    return 1;
}

static int set_rate(struct server *s, const char *value)
{
    int n;

    if (!take_number(value, COUNT_MAX, &n)) {
        return 0;
    }
    s->config.limits.rate = (unsigned)n;
    s->config.limits.burst = 2 * (unsigned)n;
    return 1;
}

static int set_timeout(struct server *s, const char *value)
{
    int64_t ms;

    if (hb_parse_duration_ms(value, &ms) < 0 || ms < 1 || ms > LOGIN_MAX_MS) {
        return 0;
    }
    s->config.limits.login_ms = (int)ms;
    return 1;
}

static int set_once(struct server *s, const char *value)
{
    s->once = 1;
    return 1;
}

static int set_verbose(struct server *s, const char *value)
{
    s->verbose++;
    return 1;
}

#define TEXT(number) TEXT_(number)
#define TEXT_(number) #number
static const struct {
    const char *name;
    const char *value; /* what it needs; NULL: none */
    int (*set)(struct server *s, const char *value); /* 0: a wrong value */
} options[] = {
    {"--port", "a port from 1 to 65535", set_port},
    {"--key", "a file or a folder", set_key},
    {"--authorized-keys", "a file", set_authorized},
    {"--max-logins", "a number from 1 to " TEXT(COUNT_MAX), set_max_logins},
    {"--login-rate", "a number from 1 to " TEXT(COUNT_MAX), set_rate},
    {"--login-timeout", "a time (20, 20s, 1m) of an hour at most",
     set_timeout},
    {"--once", NULL, set_once},
    {"-v", NULL, set_verbose},
};
#define N_OPTIONS (sizeof options / sizeof *options)

/* Takes text. */
static int refuse(char *text, const char *usage)
{
    fprintf(stderr, "hpcbootd: serve: %s\n%s", text, usage);
    hb_termlog_write(text);
    free(text);
    return EXIT_USAGE;
}

static int no_option(const char *word)
{
    const char *names[N_OPTIONS], *near;
    char *name = hb_xstrndup(word, strcspn(word, "="));

    for (size_t k = 0; k < N_OPTIONS; k++) {
        names[k] = options[k].name;
    }
    near = hb_nearest(name, names, N_OPTIONS);
    free(name);
    return refuse(hb_xasprintf("unknown option %s%s%s%s", word,
                               near != NULL ? "; did you mean " : "",
                               near != NULL ? near : "",
                               near != NULL ? "?" : ""), usage_text);
}

static int wrong_value(size_t k, const char *value)
{
    return refuse(value != NULL
                      ? hb_xasprintf("%s: needs %s, not \"%s\"",
                                     options[k].name, options[k].value, value)
                      : hb_xasprintf("%s: needs %s", options[k].name,
                                     options[k].value), "");
}

/* The option that a word names, alone or in front of its value; N_OPTIONS:
 * none. */
static size_t find_option(const char *word, size_t len)
{
    size_t k = 0;

    while (k < N_OPTIONS && (strlen(options[k].name) != len
                             || memcmp(options[k].name, word, len) != 0)) {
        k++;
    }
    return k;
}

/* --port 22 or --port=22. 0, or the exit status. */
static int read_options(struct server *s, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t len = strcspn(argv[i], "="), k = find_option(argv[i], len);
        const char *value = argv[i][len] == '=' ? argv[i] + len + 1 : NULL;

        if (k == N_OPTIONS || (options[k].value == NULL && value != NULL)) {
            return no_option(argv[i]);
        }
        if (options[k].value != NULL && value == NULL) {
            value = argv[++i];
        }
        if ((options[k].value != NULL && (value == NULL || *value == '\0')) ||
            !options[k].set(s, value)) {
            return wrong_value(k, value);
        }
    }
    return 0;
}

static void say(void *arg, enum hb_log_level level, const char *text)
{
    fprintf(stderr, "hpcbootd: %s%s\n", level == HB_ERROR ? "error: "
            : level == HB_WARN ? "warning: " : "", text);
}

static void leave(struct server *s)
{
    event_base_loopbreak(s->config.base);
}

static void drain(struct server *s, int signo)
{
    static const struct timeval limit = {DRAIN_S, 0};
    struct hb_serve_counts counts;

    s->draining = 1;
    s->ops->drain(s->serve, signo);
    s->ops->counts(s->serve, &counts);
    if (counts.agents == 0) {
        leave(s);
    } else {
        hb_log(HB_INFO, "ends when its %u agents have ended", counts.agents);
        if (signo > 0) { /* nobody is in a hurry else */
            event_add(s->drain_timer, &limit);
        }
    }
}

static void on_agent_ended(void *arg, int job, int status)
{
    struct server *s = arg;
    struct hb_serve_counts counts;

    if (job) {
        hb_log(HB_DEBUG, "a job has ended with status %d", status);
    }
    if (job && s->once && !s->job_ended) {
        s->job_ended = 1;
        s->exit_status = status;
        drain(s, 0);
        return;
    }
    s->ops->counts(s->serve, &counts);
    if (s->draining && counts.agents == 0) {
        leave(s);
    }
}

static void on_child(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        (void)s->ops->reaped(s->serve, pid, status);
    }
}

static void on_term(evutil_socket_t signo, short what, void *arg)
{
    struct server *s = arg;

    if (s->once && !s->job_ended) {
        s->exit_status = 128 + (int)signo;
    }
    if (++s->terms > 1) {
        leave(s); /* said twice: at once */
        return;
    }
    drain(s, SIGTERM);
}

static void on_drained(evutil_socket_t fd, short what, void *arg)
{
    hb_log(HB_WARN, "agents have not ended within %d s", DRAIN_S);
    leave(arg);
}

static int health_text(void *arg, char *text, size_t size)
{
    const struct server *s = arg;
    struct hb_serve_counts counts;

    s->ops->counts(s->serve, &counts);
    snprintf(text, size, "%s port=%u logins=%u agents=%u",
             s->draining ? "draining" : "serving", counts.port, counts.logins,
             counts.agents);
    return !s->draining;
}

static int open_all(struct server *s, struct hpcboot_error *err)
{
    static const struct hb_serve_events events = {on_agent_ended};
    struct event_base *base = s->config.base;
    struct hb_serve_counts counts;
    const void *symbol;
    int rc = hb_can_wait(err);

    if (rc == HPCBOOT_OK) {
        rc = hb_module_open(HB_SSH_MODULE, HB_SERVE_SYMBOL, &symbol, err);
    }
    if (rc < 0) {
        return rc;
    }
    s->ops = symbol;
    rc = s->ops->open(&s->serve, &s->config, &events, s, err);
    if (rc < 0) {
        return rc;
    }
    s->child_ev = evsignal_new(base, SIGCHLD, on_child, s);
    s->term_ev = evsignal_new(base, SIGTERM, on_term, s);
    s->int_ev = evsignal_new(base, SIGINT, on_term, s);
    s->drain_timer = evtimer_new(base, on_drained, s);
    if (!s->child_ev || !s->term_ev || !s->int_ev || !s->drain_timer
        || event_add(s->child_ev, NULL) != 0
        || event_add(s->term_ev, NULL) != 0
        || event_add(s->int_ev, NULL) != 0) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
    }
    s->ops->counts(s->serve, &counts);
    hb_log(HB_INFO, "serves on port %u", counts.port);
    if (health_open(&s->health, base, counts.port, health_text, s, err) < 0) {
        hb_log(HB_WARN, "%s", err->text);
    }
    return HPCBOOT_OK;
}

static void close_all(struct server *s)
{
    struct event *events[] = {s->child_ev, s->term_ev, s->int_ev,
                              s->drain_timer};

    health_close(s->health);
    if (s->ops) {
        s->ops->close(s->serve);
    }
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (events[i]) {
            event_free(events[i]);
        }
    }
    if (s->config.base) {
        event_base_free(s->config.base);
    }
}

int serve_main(int argc, char **argv)
{
    struct server s = {.config = {.limits = HB_SERVE_LIMITS_DEFAULT}};
    struct hpcboot_error err = {0};
    char *self = hb_self_exe();
    int rc;

    if (argc > 1 && (hb_streq(argv[1], "--help") || hb_streq(argv[1], "-h"))) {
        free(self);
        return hpcbootd_answer(usage_text);
    }
    rc = read_options(&s, argc, argv);
    if (rc != 0) {
        free(self);
        return rc;
    }
    hb_log_set_sink(say, NULL, s.verbose ? HB_DEBUG : HB_INFO);
    signal(SIGPIPE, SIG_IGN);
    hb_secret_shut_process();
    s.config.agent_path = self ? self : HB_SBINDIR "/hpcbootd";
    s.config.home = getenv("HOME");
    s.config.base = event_base_new();
    (void)hb_become_subreaper(NULL);
    rc = s.config.base ? open_all(&s, &err)
                       : hb_fail(&err, HPCBOOT_ERR_SYSTEM, "no event loop");
    if (rc == HPCBOOT_OK) {
        rc = sure_loop(s.config.base, &err);
    }
    if (rc < 0) {
        hb_log(HB_ERROR, "%s", err.text);
        hb_termlog_write(err.text);
        s.exit_status = rc == HPCBOOT_ERR_USAGE
            || hb_status_damage(rc) == HB_DAMAGE_USAGE ? EXIT_USAGE
                                                       : EXIT_HOST;
    }
    close_all(&s);
    free(self);
    return s.exit_status;
}
