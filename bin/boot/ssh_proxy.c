/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A command in the place of a TCP connection. It gets one end of a socket
 * pair, so that libssh sees a socket like any other. The end of the command is
 * noticed by the end of its stream; what it said on stderr is the reason. */
#include "config.h"

#include "bin/boot/ssh_proxy.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "bin/boot/child.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define TERM_MS 2000 /* less than the 5 s in which all must be gone */
#define SAID_BYTES 4096
#define LINE_BYTES 256

struct hb_ssh_proxy {
    struct hb_child *child;
    int err_fd;
    struct event *err_event;
    hb_ssh_proxy_said said;
    void *arg;
    char line[LINE_BYTES]; /* the last that is not empty */
    size_t len;
    int line_ended;
};

static void keep_line(struct hb_ssh_proxy *proxy, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = text[i];

        if (c == '\n' || c == '\r') {
            proxy->line_ended = 1;
            continue;
        }
        if (proxy->line_ended) {
            proxy->line_ended = 0;
            proxy->len = 0;
        }
        if (proxy->len < sizeof proxy->line - 1) {
            proxy->line[proxy->len++] = c < ' ' || c > '~' ? '?' : c;
        }
    }
    proxy->line[proxy->len] = '\0';
}

static ssize_t read_some(struct hb_ssh_proxy *proxy)
{
    char text[SAID_BYTES];
    ssize_t n = read(proxy->err_fd, text, sizeof text);

    if (n > 0) {
        keep_line(proxy, text, (size_t)n);
        if (proxy->said) {
            proxy->said(proxy->arg, text, (size_t)n);
        }
    }
    return n;
}

static void err_cb(evutil_socket_t fd, short what, void *arg)
{
    struct hb_ssh_proxy *proxy = arg;
    ssize_t n = read_some(proxy);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        event_del(proxy->err_event);
    }
}

void hb_ssh_proxy_drain(struct hb_ssh_proxy *proxy)
{
    while (read_some(proxy) > 0) {
    }
}

const char *hb_ssh_proxy_words(const struct hb_ssh_proxy *proxy)
{
    return proxy->line;
}

static int watch(struct hb_ssh_proxy *proxy, struct event_base *base, pid_t pid,
                 struct hpcboot_error *err)
{
    int rc = hb_child_watch(&proxy->child, base, pid, NULL, NULL, err);

    if (rc == HPCBOOT_OK) {
        rc = hb_fd_set_nonblock(proxy->err_fd, 1, err);
    }
    if (rc < 0) {
        return rc;
    }
    proxy->err_event = event_new(base, proxy->err_fd, EV_READ | EV_PERSIST,
                                 err_cb, proxy);
    if (!proxy->err_event || event_add(proxy->err_event, NULL) != 0) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
    }
    return HPCBOOT_OK;
}

int hb_ssh_proxy_start(struct hb_ssh_proxy **out, int *fd_out,
                       struct event_base *base, char *const *argv,
                       hb_ssh_proxy_said said, void *arg,
                       struct hpcboot_error *err)
{
    struct hb_ssh_proxy *proxy = hb_xcalloc(1, sizeof *proxy);
    int link[2] = {-1, -1}, chatter[2] = {-1, -1};
    struct hb_child_spec child = {.argv = argv, .death_signal = SIGTERM};
    pid_t pid = -1;
    int rc = hb_fd_socketpair(link, err);

    proxy->err_fd = -1;
    proxy->said = said;
    proxy->arg = arg;
    if (rc >= 0) {
        rc = hb_fd_pipe(chatter, err);
    }
    if (rc >= 0) {
        rc = hb_fd_set_nonblock(link[0], 1, err);
    }
    if (rc >= 0) {
        child.in = child.out = link[1];
        child.err = chatter[1];
        rc = hb_child_spawn(&child, &pid, err);
    }
    if (rc >= 0) {
        proxy->err_fd = chatter[0];
        chatter[0] = -1;
        rc = watch(proxy, base, pid, err);
    }
    if (rc >= 0) {
        *fd_out = link[0];
        link[0] = -1;
        *out = proxy;
        proxy = NULL;
    }
    hb_fd_close(&link[0]);
    hb_fd_close(&link[1]);
    hb_fd_close(&chatter[0]);
    hb_fd_close(&chatter[1]);
    hb_ssh_proxy_destroy(proxy);
    return rc;
}

void hb_ssh_proxy_mute(struct hb_ssh_proxy *proxy)
{
    if (proxy) {
        proxy->said = NULL;
    }
}

void hb_ssh_proxy_destroy(struct hb_ssh_proxy *proxy)
{
    if (!proxy) {
        return;
    }
    if (proxy->err_event) {
        event_free(proxy->err_event);
    }
    hb_fd_close(&proxy->err_fd);
    hb_child_release(proxy->child, TERM_MS);
    free(proxy);
}
