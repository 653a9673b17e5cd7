/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* One login to `hpcbootd serve`, from the banner to its one command.
 *
 *   key exchange -> authentication -> channel -> agent, or polite words
 *
 * libssh does the protocol and calls back from inside its own functions. The
 * callbacks only note what is wanted; what follows is done when no libssh
 * function is on the stack (`after`). Each step has the deadline of the
 * limits. A session that asked for an agent hands its connection over to
 * serve_agent.c and is gone; others end here.
 *
 * Who is not logged in hears nothing but SSH itself: no banner, no reason. */
#include "config.h"

#include "bin/boot/serve_impl.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/boot/ssh_channel.h"
#include "bin/boot/ssh_meter.h"
#include "bin/boot/ssh_words.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define ATTEMPTS_MAX 16   /* keys a client may offer: an ssh-agent has some */
#define ROUNDS 16         /* of reading before others get their turn */
#define LATE_MS 2000      /* a login takes a fraction of a second */
#define ENDING_MS 2000    /* for the last words to go out */
#define EXIT_CANNOT_RUN 126
#define MILLI 1000

enum stage { STAGE_KEX, STAGE_LOGIN, STAGE_CHANNEL, STAGE_ENDING };

struct hb_serve_session {
    struct hb_serve_session *prev, *next;
    struct hb_serve *serve;
    struct hb_limit_source *source; /* until it is logged in */
    int64_t since_ms;
    int fd;
    int fd_owned; /* 0: libssh closes it */
    ssh_session ssh;
    struct hb_ssh_meter meter;
    ssh_event poll;
    ssh_channel channel;
    struct event *read_event, *write_event, *timer;
    struct ssh_server_callbacks_struct server_callbacks;
    struct ssh_channel_callbacks_struct channel_callbacks;
    enum stage stage;
    unsigned attempts;
    int wants_words, wants_agent, exit_status;
    char token[HB_SERVE_TOKEN_MAX + 1];
};

int hb_serve_session_pending(const struct hb_serve_session *s)
{
    return s->source != NULL;
}

int hb_serve_session_is_late(const struct hb_serve_session *s,
                             const struct hb_limit_source *source)
{
    return s->source == source && hb_now_ms() - s->since_ms >= LATE_MS;
}

struct hb_serve_session *
hb_serve_session_next(const struct hb_serve_session *s)
{
    return s->next;
}

static void no_longer_pending(struct hb_serve_session *s)
{
    if (s->source) {
        hb_limiter_over(s->source);
        s->source = NULL;
        s->serve->n_pending--;
    }
}

static void free_event(struct event **event)
{
    if (*event) {
        event_free(*event);
        *event = NULL;
    }
}

/* Takes the session off libssh's and our own lists; the connection stays. */
static void detach(struct hb_serve_session *s)
{
    struct hb_serve *serve = s->serve;

    no_longer_pending(s);
    free_event(&s->read_event);
    free_event(&s->write_event);
    free_event(&s->timer);
    if (s->channel && s->channel_callbacks.size) {
        ssh_remove_channel_callbacks(s->channel, &s->channel_callbacks);
    }
    if (s->poll) {
        ssh_event_remove_session(s->poll, s->ssh);
        ssh_event_free(s->poll);
        s->poll = NULL;
    }
    if (s->prev) {
        s->prev->next = s->next;
    } else {
        serve->sessions = s->next;
    }
    if (s->next) {
        s->next->prev = s->prev;
    } else {
        serve->last_session = s->prev;
    }
}

void hb_serve_session_drop(struct hb_serve_session *s)
{
    detach(s);
    ssh_free(s->ssh); /* with its channel; closes the socket it has */
    if (s->fd_owned) {
        hb_fd_close(&s->fd);
    }
    free(s);
}

static void arm(struct hb_serve_session *s, int ms)
{
    struct timeval t = {ms / MILLI, ms % MILLI * MILLI};

    event_add(s->timer, &t);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
    hb_serve_session_drop(arg);
}

/* --- what libssh calls */

static int is_of_job(const struct hb_serve_session *s, const ssh_key key)
{
    char *text = NULL;
    int is = ssh_pki_export_pubkey_base64(key, &text) == SSH_OK
        && hb_serve_jobs_accept(s->serve->jobs, text);

    ssh_string_free_char(text);
    return is;
}

static int on_pubkey(ssh_session ssh, const char *user, ssh_key key,
                     char state, void *arg)
{
    struct hb_serve_session *s = arg;

    s->attempts++;
    if (s->attempts > ATTEMPTS_MAX
        || (!hb_serve_keys_accepts(s->serve->keys, key)
            && !is_of_job(s, key))) {
        return SSH_AUTH_DENIED;
    }
    if (state == SSH_PUBLICKEY_STATE_NONE) {
        return SSH_AUTH_SUCCESS; /* such a key, once it has signed */
    }
    if (state != SSH_PUBLICKEY_STATE_VALID) {
        return SSH_AUTH_DENIED;
    }
    s->stage = STAGE_CHANNEL;
    return SSH_AUTH_SUCCESS;
}

static int on_none(ssh_session ssh, const char *user, void *arg)
{
    struct hb_serve_session *s = arg;

    s->attempts++;
    return SSH_AUTH_DENIED;
}

static int on_exec(ssh_session ssh, ssh_channel channel, const char *command,
                   void *arg)
{
    struct hb_serve_session *s = arg;

    if (s->wants_words || s->wants_agent) {
        return 1;
    }
    if (hb_serve_line_parse(command, s->token) && !s->serve->draining) {
        s->wants_agent = 1;
    } else {
        s->wants_words = 1;
        s->exit_status = EXIT_CANNOT_RUN;
    }
    return 0;
}

static int on_shell(ssh_session ssh, ssh_channel channel, void *arg)
{
    struct hb_serve_session *s = arg;

    if (s->wants_words || s->wants_agent) {
        return 1;
    }
    s->wants_words = 1;
    return 0;
}

/* A terminal is granted so that a client does not complain of that. */
static int on_pty(ssh_session ssh, ssh_channel channel, const char *term,
                  int width, int height, int pixel_width, int pixel_height,
                  void *arg)
{
    return 0;
}

static int on_subsystem(ssh_session ssh, ssh_channel channel,
                        const char *subsystem, void *arg)
{
    return 1;
}

static ssh_channel on_open(ssh_session ssh, void *arg)
{
    struct hb_serve_session *s = arg;

    if (s->stage != STAGE_CHANNEL || s->channel) {
        return NULL;
    }
    s->channel = ssh_channel_new(ssh);
    if (!s->channel) {
        return NULL;
    }
    s->channel_callbacks = (struct ssh_channel_callbacks_struct){
        .userdata = s,
        .channel_exec_request_function = on_exec,
        .channel_shell_request_function = on_shell,
        .channel_pty_request_function = on_pty,
        .channel_subsystem_request_function = on_subsystem,
    };
    ssh_callbacks_init(&s->channel_callbacks);
    ssh_set_channel_callbacks(s->channel, &s->channel_callbacks);
    return s->channel;
}

/* --- what follows */

static void say_what_this_is(struct hb_serve_session *s)
{
    char host[256] = "this host";
    char *text;

    gethostname(host, sizeof host - 1);
    text = hb_xasprintf(
        "hpcbootd %s on %s: your key is the gang's, and the login works.\r\n"
        "Here agents of hbrun are started, and nothing else: there is no "
        "shell.\r\n%s", PACKAGE_VERSION, host, s->serve->draining
        ? "It is about to end and starts no more agents.\r\n" : "");
    ssh_channel_write_stderr(s->channel, text, (uint32_t)strlen(text));
    ssh_channel_request_send_exit_status(s->channel, s->exit_status);
    ssh_channel_send_eof(s->channel);
    ssh_channel_close(s->channel);
    free(text);
    s->stage = STAGE_ENDING;
    arm(s, ENDING_MS);
}

/* The session is gone after this. A client that asks for more, as one that
 * shares its connection does, is refused by libssh itself. */
static void hand_over(struct hb_serve_session *s)
{
    static struct ssh_server_callbacks_struct none = {.size = sizeof none};
    struct hb_ssh_parts parts = {
        .fd = s->fd, .session = s->ssh, .channel = s->channel,
    };
    struct hpcboot_error err = {0};

    detach(s);
    (void)ssh_set_server_callbacks(s->ssh, &none);
    if (hb_serve_agent_start(s->serve, &parts, s->token, &err) < 0) {
        hb_log(HB_ERROR, "an agent could not be started: %s", err.text);
    }
    free(s);
}

/* 1: the session is gone. */
static int after(struct hb_serve_session *s)
{
    if (!ssh_is_connected(s->ssh)
        || hb_ssh_meter_is_over(&s->meter, s->ssh, HB_SSH_LOGIN_PACKETS)
        || (s->stage == STAGE_LOGIN && s->attempts > ATTEMPTS_MAX)) {
        hb_serve_session_drop(s);
        return 1;
    }
    if (s->stage == STAGE_CHANNEL && s->source) {
        no_longer_pending(s);
        arm(s, s->serve->config->limits.login_ms);
    }
    if (s->wants_agent) {
        hand_over(s);
        return 1;
    }
    if (s->wants_words && s->stage == STAGE_CHANNEL) {
        say_what_this_is(s);
    }
    if (ssh_get_poll_flags(s->ssh) & SSH_WRITE_PENDING) {
        event_add(s->write_event, NULL);
    }
    return 0;
}

/* 1: goes on; 0: wait; -1: the session is gone. */
static int key_exchange(struct hb_serve_session *s)
{
    int rc = ssh_handle_key_exchange(s->ssh);

    if (rc == SSH_AGAIN) {
        return after(s) ? -1 : 0;
    }
    if (rc != SSH_OK) {
        hb_log(HB_DEBUG, "a key exchange failed: %s", hb_ssh_words(s->ssh));
        hb_serve_session_drop(s);
        return -1;
    }
    s->stage = STAGE_LOGIN;
    s->poll = ssh_event_new();
    if (!s->poll || ssh_event_add_session(s->poll, s->ssh) != SSH_OK) {
        hb_serve_session_drop(s);
        return -1;
    }
    return 1;
}

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
    struct hb_serve_session *s = arg;

    if (s->stage == STAGE_KEX && key_exchange(s) <= 0) {
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        int rc = ssh_event_dopoll(s->poll, 0);

        if (rc == SSH_AGAIN || rc == SSH_ERROR || s->wants_agent
            || !ssh_is_connected(s->ssh)) {
            break;
        }
    }
    after(s);
}

static int make_events(struct hb_serve_session *s)
{
    struct event_base *base = s->serve->config->base;

    s->read_event = event_new(base, s->fd, EV_READ | EV_PERSIST, on_socket, s);
    s->write_event = event_new(base, s->fd, EV_WRITE, on_socket, s);
    s->timer = evtimer_new(base, on_deadline, s);
    return s->read_event && s->write_event && s->timer
        && event_add(s->read_event, NULL) == 0;
}

static int make_session(struct hb_serve_session *s)
{
    ssh_bind bind = hb_serve_keys_bind(s->serve->keys);

    s->ssh = ssh_new();
    if (!s->ssh || ssh_bind_accept_fd(bind, s->ssh, s->fd) != SSH_OK) {
        return 0;
    }
    s->fd_owned = 0;
    hb_ssh_meter_watch(&s->meter, s->ssh);
    s->server_callbacks = (struct ssh_server_callbacks_struct){
        .userdata = s,
        .auth_none_function = on_none,
        .auth_pubkey_function = on_pubkey,
        .channel_open_request_session_function = on_open,
    };
    ssh_callbacks_init(&s->server_callbacks);
    ssh_set_auth_methods(s->ssh, SSH_AUTH_METHOD_PUBLICKEY);
    ssh_set_blocking(s->ssh, 0);
    return ssh_set_server_callbacks(s->ssh, &s->server_callbacks) == SSH_OK
        && hb_fd_set_nonblock(s->fd, 1, NULL) >= 0;
}

void hb_serve_session_begin(struct hb_serve *serve, int fd,
                            struct hb_limit_source *source)
{
    struct hb_serve_session *s = hb_xcalloc(1, sizeof *s);

    s->serve = serve;
    s->fd = fd;
    s->fd_owned = 1;
    s->source = source;
    s->since_ms = hb_now_ms();
    s->prev = serve->last_session;
    if (s->prev) {
        s->prev->next = s;
    } else {
        serve->sessions = s;
    }
    serve->last_session = s;
    serve->n_pending++;
    if (!make_session(s) || !make_events(s)) {
        hb_serve_session_drop(s);
        return;
    }
    arm(s, serve->config->limits.login_ms);
    on_socket(fd, EV_READ, s);
}
