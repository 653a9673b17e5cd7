/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What libssh and ssh-agent say to each other. libssh waits for an answer
 * without a limit and the loop with it: an agent that asks its owner before
 * each signature is to be waited for, but a forwarded one whose other end is
 * gone would hold the loop for ever. So a thread stands between: it passes
 * each question on, waits for the answer as long as is right for that
 * question, and hangs up on libssh when none comes.
 *
 * libssh offers all keys that an agent lists; where only some of them are to
 * be offered, as with IdentitiesOnly, the list is cut to those.
 *
 * An agent that has not answered is left alone for a while, also by logins that
 * have listed its keys by then: a gang of many hosts goes in step, and would
 * wait for it as many times.
 *
 * The login and its thread have one structure. The thread ends when either
 * side has ended: libssh's with the session, the login's by a shutdown. */
#include "config.h"

#include "bin/boot/ssh_agent.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "bin/boot/agent_keys.h"
#include "bin/boot/thread.h"
#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define LIST_MS 2000   /* an agent lists its keys in a moment */
#define SIGN_MS 7500   /* its owner may have to agree */
#define SILENT_MS 60000
#define STACK_BYTES (256 * 1024)
#define MILLI 1000

struct hb_ssh_agent {
    atomic_int users; /* the login and the thread */
    atomic_int silent;
    atomic_int has_none; /* of the keys that are used */
    char *path;
    atomic_int sign_ms;
    int chooses; /* passes on the keys of `only` alone */
    struct hb_strv only;
    int agent_fd, fd; /* fd: our end of what libssh has for the agent */
};

/* The last one that was silent. The thread that finds it so says it, before the
 * loop goes on to the next login. */
static struct {
    pthread_mutex_t lock;
    char *path;
    int64_t until_ns;
} silent = {.lock = PTHREAD_MUTEX_INITIALIZER};

int hb_ssh_agent_is_left_alone(const char *path)
{
    int is;

    pthread_mutex_lock(&silent.lock);
    is = hb_streq(silent.path, path)
        && hb_deadline_left_ms(silent.until_ns) > 0;
    pthread_mutex_unlock(&silent.lock);
    return is;
}

static void leave_alone(const char *path)
{
    pthread_mutex_lock(&silent.lock);
    free(silent.path);
    silent.path = hb_xstrdup(path);
    silent.until_ns = hb_deadline_in_ms(SILENT_MS);
    pthread_mutex_unlock(&silent.lock);
}

static void release(struct hb_ssh_agent *a)
{
    if (atomic_fetch_sub(&a->users, 1) == 1) {
        hb_fd_close(&a->agent_fd);
        hb_fd_close(&a->fd);
        hb_strv_destroy(&a->only);
        free(a->path);
        free(a);
    }
}

static int take_bytes(int fd, struct hb_buf *to, size_t n)
{
    while (n > 0) {
        void *room = hb_buf_reserve(to, n);
        ssize_t got = room ? recv(fd, room, n, 0) : 0;

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return 0;
        }
        hb_buf_added(to, (size_t)got);
        n -= (size_t)got;
    }
    return 1;
}

/* One message with its length. 0: the other side has ended, or is silent. */
static int take(int fd, struct hb_buf *message)
{
    uint32_t len;

    hb_buf_clear(message);
    if (!take_bytes(fd, message, HB_AGENT_LENGTH_BYTES)) {
        return 0;
    }
    len = hb_buf_get_u32(message);
    return len > 0 && take_bytes(fd, message, len);
}

static int give(int fd, const struct hb_buf *message)
{
    size_t done = 0;

    while (done < message->len) {
        ssize_t n = send(fd, message->data + done, message->len - done,
                         MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR) {
            return 0;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return 1;
}

static void limit(int fd, int ms)
{
    struct timeval t = {ms / MILLI, ms % MILLI * MILLI};

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

/* The question becomes its answer. */
static int ask(struct hb_ssh_agent *a, struct hb_buf *message)
{
    int lists = message->data[HB_AGENT_TYPE_AT] == HB_AGENT_LIST_KEYS;
    int sign_ms = atomic_load(&a->sign_ms);

    if (hb_ssh_agent_is_left_alone(a->path)) {
        return 0;
    }
    limit(a->agent_fd, lists && LIST_MS < sign_ms ? LIST_MS : sign_ms);
    if (!give(a->agent_fd, message) || !take(a->agent_fd, message)) {
        leave_alone(a->path);
        return 0;
    }
    if (lists && a->chooses) {
        hb_agent_keys_choose(message, &a->only);
    }
    if (lists) {
        atomic_store(&a->has_none, !hb_agent_keys_any(message));
    }
    return 1;
}

static void *pass_on(void *arg)
{
    struct hb_ssh_agent *a = arg;
    struct hb_buf message;

    hb_buf_init(&message, HB_AGENT_MAX_BYTES);
    while (take(a->fd, &message)) {
        if (!ask(a, &message)) {
            atomic_store(&a->silent, 1);
            break;
        }
        if (!give(a->fd, &message)) {
            break;
        }
    }
    (void)shutdown(a->fd, SHUT_RDWR);
    hb_buf_destroy(&message);
    release(a);
    return NULL;
}

static int start_thread(struct hb_ssh_agent *a)
{
    int rc;

    atomic_store(&a->users, 2);
    rc = hb_boot_thread(pass_on, a, STACK_BYTES);
    if (rc != 0) {
        atomic_store(&a->users, 1);
    }
    return rc == 0;
}

/* One whose queue is full is not waited for. */
static int connect_to(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    if (fd >= 0 && (connect(fd, (struct sockaddr *)&at, sizeof at) < 0
                    || hb_fd_set_nonblock(fd, 0, NULL) < 0)) {
        hb_fd_close(&fd);
    }
    return fd;
}

struct hb_ssh_agent *hb_ssh_agent_open(const char *path,
                                       const struct hb_strv *only,
                                       ssh_session session)
{
    int ends[2];
    int fd = hb_ssh_agent_is_left_alone(path) ? -1 : connect_to(path);
    struct hb_ssh_agent *a;

    if (fd < 0 || hb_fd_socketpair(ends, NULL) < 0) {
        hb_fd_close(&fd);
        return NULL;
    }
    a = hb_xcalloc(1, sizeof *a);
    a->path = hb_xstrdup(path);
    atomic_store(&a->sign_ms, SIGN_MS);
    a->chooses = only != NULL;
    if (only) {
        hb_strv_extend(&a->only, only->v);
    }
    a->agent_fd = fd;
    a->fd = ends[0];
    if (!start_thread(a)
        || ssh_set_agent_socket(session, ends[1]) != SSH_OK) {
        hb_fd_close(&ends[1]);
        hb_ssh_agent_close(a);
        return NULL;
    }
    return a;
}

void hb_ssh_agent_limit(struct hb_ssh_agent *a, int ms)
{
    atomic_store(&a->sign_ms, ms > 0 ? ms : SIGN_MS);
}

int hb_ssh_agent_is_silent(const struct hb_ssh_agent *a)
{
    return atomic_load(&a->silent);
}

int hb_ssh_agent_has_none(const struct hb_ssh_agent *a)
{
    return atomic_load(&a->has_none);
}

void hb_ssh_agent_close(struct hb_ssh_agent *a)
{
    if (!a) {
        return;
    }
    (void)shutdown(a->fd, SHUT_RDWR);
    release(a);
}
