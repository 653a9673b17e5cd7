/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The SSH way up to the banner: resolve, connect to one of the addresses or
 * through a proxy command, and look at what the other side says first.
 *
 * The banner is looked at before libssh is let at the socket, since libssh
 * drops what is not one: what a port sends that is no SSH server, or a server
 * that sends people away (MaxStartups), is worth being shown. */
#include "config.h"

#include "bin/boot/ssh_way.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "bin/boot/dial.h"
#include "bin/boot/resolve.h"
#include "bin/boot/ssh_proxy.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

#define BANNER "SSH-"
#define OTHER_PORT 2222  /* of images whose sshd runs without root */
#define PEEK_AGAIN_MS 20 /* half a line has come */
#define PREFACE_MAX_BYTES 65536 /* a legal notice; not a stream */
#define RETRIES_MAX 8    /* logins a busy host may turn away: 5 s in all */
#define RETRY_MIN_MS 100

/* What the command said last is the reason, where it said something. */
static void proxy_ended(struct hb_ssh_boot *b)
{
    const char *words;

    hb_ssh_proxy_drain(b->proxy);
    words = hb_ssh_proxy_words(b->proxy);
    words = *words ? words : b->preface;
    hb_ssh_because(b, HB_WHY_UNREACHABLE);
    hb_ssh_failf(b, HPCBOOT_ERR_HOST,
                 "%s ended before the SSH banner%s%.200s%s", b->address,
                 *words ? "; it said: \"" : "", words, *words ? "\"" : "");
}

/* The other side hung up before the banner. A host that is being logged in to
 * by many turns some away at the door (MaxStartups): coming back a little
 * later, and not all at once, is what helps. */
static void turned_away(struct hb_ssh_boot *b, const char *how)
{
    static const char busy[] = "Exceeded MaxStartups";
    int worth_it = !b->preface[0] || hb_starts_with(b->preface, busy);
    int64_t wait = RETRY_MIN_MS * (1 + b->retries);

    wait += hb_now_ns() / 1000 % (wait + 1); /* as good as a die */
    if (b->proxy) {
        proxy_ended(b);
        return;
    }
    if (!worth_it || b->retries >= RETRIES_MAX) {
        hb_ssh_because(b, HB_WHY_HUNG_UP);
        hb_ssh_failf(b, HPCBOOT_ERR_HOST,
                     "%s %s before the SSH banner%s%.160s%s", b->address, how,
                     b->preface[0] ? " and said: " : "", b->preface,
                     b->retries ? " (again and again)" : "");
        return;
    }
    b->retries++;
    hb_ssh_drop(b);
    hb_ssh_arm(b->retry_timer, wait);
}

/* Takes n bytes off the socket. */
static void swallow(struct hb_ssh_boot *b, size_t n)
{
    char gone[HB_SSH_PEEK_BYTES];

    if (recv(b->fd, gone, n, 0) > 0) {
        b->preface_bytes += n;
    }
}

static void keep_line(struct hb_ssh_boot *b, const char *line, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len && n < sizeof b->preface - 1; i++) {
        unsigned char c = (unsigned char)line[i];

        if (c == '\r' || c == '\n') {
            break;
        }
        b->preface[n++] = c < ' ' || c > '~' ? '?' : (char)c;
    }
    b->preface[n] = '\0';
}

/* Half a line stays readable all the time: look at it now and then. */
static void look_later(struct hb_ssh_boot *b)
{
    event_del(b->socket_event);
    hb_ssh_arm(b->timer, PEEK_AGAIN_MS);
}

/* Servers may send lines before the banner; they are taken off the socket one
 * by one. 1: the banner is next, 0: look again. */
static int look_at_line(struct hb_ssh_boot *b, const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);
    size_t common = len < strlen(BANNER) ? len : strlen(BANNER);

    if (memcmp(text, BANNER, common) == 0) {
        if (common < strlen(BANNER)) {
            look_later(b);
        }
        return common == strlen(BANNER);
    }
    keep_line(b, text, len);
    if (end || len == HB_SSH_PEEK_BYTES) {
        swallow(b, end ? (size_t)(end - text) + 1 : len);
    } else {
        b->preface_bytes += b->preface_bytes == 0;
        look_later(b);
    }
    return 0;
}

int hb_ssh_banner_step(struct hb_ssh_boot *b)
{
    char text[HB_SSH_PEEK_BYTES];
    ssize_t n = recv(b->fd, text, sizeof text, MSG_PEEK);

    event_add(b->socket_event, NULL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (n <= 0) {
        turned_away(b, n < 0 && errno != ECONNRESET ? strerror(errno)
                                                    : "hung up");
        return -1;
    }
    if (look_at_line(b, text, (size_t)n)) {
        return hb_ssh_begin(b);
    }
    if (b->preface_bytes > PREFACE_MAX_BYTES) {
        hb_ssh_failf(b, HPCBOOT_ERR_HOST,
                     "%s is not an SSH server; it sends: %.160s", b->address,
                     b->preface);
        return -1;
    }
    return 0;
}

static void socket_cb(evutil_socket_t fd, short what, void *arg)
{
    hb_ssh_step(arg);
}

static void have_socket(struct hb_ssh_boot *b, int fd, const char *address)
{
    struct event_base *base = b->boot.config->base;

    b->fd = fd;
    b->fd_owned = 1;
    snprintf(b->address, sizeof b->address, "%s", address);
    b->preface_bytes = 0;
    b->preface[0] = '\0';
    b->socket_event = event_new(base, fd, EV_READ | EV_PERSIST, socket_cb, b);
    b->write_event = event_new(base, fd, EV_WRITE, socket_cb, b);
    if (!b->socket_event || !b->write_event
        || event_add(b->socket_event, NULL) != 0) {
        hb_ssh_failf(b, HPCBOOT_ERR_NOMEM, "no memory for an event");
    } else {
        hb_ssh_enter_stage(b, HB_STAGE_BANNER, b->address);
    }
}

static void dial_connected(void *arg, int fd, const char *address)
{
    struct hb_ssh_boot *b = arg;
    char text[80];

    snprintf(text, sizeof text, "%s port %d", address, b->settings.port);
    have_socket(b, fd, text);
}

int hb_ssh_other_port(struct hb_ssh_boot *b)
{
    if (b->settings.port_said || b->port_refused) {
        return 0;
    }
    b->port_refused = b->settings.port;
    b->settings.port = OTHER_PORT;
    hb_dial_again(b->dial, OTHER_PORT);
    hb_ssh_stage_anew(b);
    return 1;
}

static void dial_failed(void *arg, int refused)
{
    struct hb_ssh_boot *b = arg;
    struct hb_str text = HB_STR_INIT;

    if (refused && hb_ssh_other_port(b)) {
        return;
    }
    hb_dial_explain(b->dial, &text);
    if (b->port_refused) {
        hb_str_putf(&text, ", and %d as well", b->port_refused);
    }
    if (refused) {
        hb_str_put(&text, " (is sshd running there? a command given to a "
                          "worker replaces it)");
    }
    hb_ssh_because(b, refused ? HB_WHY_REFUSED : HB_WHY_UNREACHABLE);
    hb_ssh_failf(b, HPCBOOT_ERR_HOST, "%s", hb_str_text(&text));
    hb_str_destroy(&text);
}

static void dial(struct hb_ssh_boot *b, const struct addrinfo *list)
{
    static const struct hb_dial_events events = {dial_connected, dial_failed};
    struct hpcboot_error err = {0};

    if (hb_ssh_enter_stage(b, HB_STAGE_CONNECT, b->settings.hostname)) {
        return;
    }
    if (hb_dial_start(&b->dial, b->boot.config->base, list, b->settings.port,
                      &events, b, &err) < 0) {
        hb_ssh_failf(b, err.code, "%s", err.text);
    }
}

static void resolved(void *arg, int gai_error, int sys_errno,
                     const struct addrinfo *list)
{
    struct hb_ssh_boot *b = arg;
    const char *name = b->settings.hostname;

    if (gai_error == 0) {
        dial(b, list);
    } else if (gai_error == EAI_NONAME) {
        hb_ssh_failf(b, HPCBOOT_ERR_HOST, "the name %.200s does not resolve "
                     "(NXDOMAIN: no such name)", name);
    } else if (gai_error == EAI_SYSTEM) {
        hb_ssh_because(b, HB_WHY_NAME_SILENT);
        hb_ssh_failf(b, HPCBOOT_ERR_HOST,
                     "the name %.200s does not resolve: %s", name,
                     strerror(sys_errno));
    } else {
        if (gai_error == EAI_AGAIN || gai_error == EAI_FAIL) {
            hb_ssh_because(b, HB_WHY_NAME_SILENT);
        }
        hb_ssh_failf(b, HPCBOOT_ERR_HOST,
                     "the name %.200s does not resolve: %s", name,
                     gai_strerror(gai_error));
    }
}

static void proxy_said(void *arg, const char *text, size_t len)
{
    struct hb_ssh_boot *b = arg;

    hb_boot_emit_chatter(&b->boot, text, len);
}

static void connect_by_proxy(struct hb_ssh_boot *b)
{
    const struct hb_ssh_settings *s = &b->settings;
    struct hpcboot_error err = {0};
    char text[80];
    int fd = -1;

    snprintf(text, sizeof text, "the %s command", s->proxy_from);
    if (hb_ssh_enter_stage(b, HB_STAGE_CONNECT, text)) {
        return;
    }
    if (hb_ssh_proxy_start(&b->proxy, &fd, b->boot.config->base, s->proxy.v,
                           proxy_said, b, &err) < 0) {
        hb_ssh_failf(b, err.code, "%s of ssh_config: %.300s", s->proxy_from,
                     err.text);
        return;
    }
    have_socket(b, fd, text);
}

void hb_ssh_connect(struct hb_ssh_boot *b)
{
    const struct hb_ssh_settings *s = &b->settings;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST};
    struct addrinfo *list = NULL;
    struct hpcboot_error err = {0};

    if (s->proxy.n > 0) {
        connect_by_proxy(b);
    } else if (getaddrinfo(s->hostname, NULL, &hints, &list) == 0) {
        dial(b, list);
        freeaddrinfo(list);
    } else if (!hb_ssh_enter_stage(b, HB_STAGE_RESOLVE, s->hostname)
               && hb_resolve_start(&b->resolve, b->boot.config->base,
                                   s->hostname, s->port, resolved, b, &err)
                   < 0) {
        hb_ssh_fail(b, &err);
    }
}
