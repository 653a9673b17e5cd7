/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Host names, looked up by helper threads. A lookup may take as long as the
 * name servers like, so a thread is never waited for: a lookup that was
 * cancelled is left to its thread, which frees it when getaddrinfo returns.
 *
 * Threads are made as lookups come, up to a limit, and end when the queue is
 * empty. What they share with the loop is under one lock: the queue, and each
 * hub's list of answers. A hub is the loop's side: it has the descriptor that
 * wakes one event_base, and lives while any of its lookups does. */
#include "config.h"

#include "bin/boot/resolve.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bin/boot/thread.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define THREADS_MAX 32 /* a thousand names at 5 ms each take 0.2 s */
#define STACK_BYTES (512 * 1024) /* name service modules use some */

struct hub {
    struct hub *next;
    struct event_base *base;
    struct event *event;
    int wake_fd;
    int wanted; /* lookups somebody waits for: the loop's thread only */
    int alive;  /* lookups that exist */
    struct hb_resolve *done;
};

struct hb_resolve {
    struct hb_resolve *next;
    struct hub *hub;
    char *host;
    char service[16];
    hb_resolved cb;
    void *arg;
    int cancelled; /* whoever has it now frees it */
    int ours;      /* neither queued, nor with a thread, nor in `done` */
    int gai_error, sys_errno;
    struct addrinfo *list;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hb_resolve *queue, **queue_end = &queue;
static int n_threads;
static struct hub *hubs; /* the loop's thread only */

/* With the lock held, or when no thread knows the lookup. */
static void free_lookup(struct hb_resolve *l)
{
    struct hub *hub = l->hub;

    if (l->list) {
        freeaddrinfo(l->list);
    }
    free(l->host);
    free(l);
    /* The event has gone before: nobody wants an answer of this hub. */
    if (--hub->alive == 0 && !hub->event) {
        hb_fd_close(&hub->wake_fd);
        free(hub);
    }
}

static struct hb_resolve *take_from_queue(void)
{
    struct hb_resolve *l = queue;

    if (l) {
        queue = l->next;
        l->next = NULL;
        if (!queue) {
            queue_end = &queue;
        }
    }
    return l;
}

static void hand_back(struct hb_resolve *l)
{
    uint64_t one = 1;

    if (l->cancelled) {
        free_lookup(l);
        return;
    }
    l->next = l->hub->done;
    l->hub->done = l;
    /* It fails when the counter is full; then the loop is awake anyway. */
    while (write(l->hub->wake_fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

static void *work(void *unused)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct hb_resolve *l;

    pthread_mutex_lock(&lock);
    while ((l = take_from_queue()) != NULL) {
        if (!l->cancelled) {
            pthread_mutex_unlock(&lock);
            errno = 0;
            l->gai_error = getaddrinfo(l->host, l->service, &hints, &l->list);
            l->sys_errno = errno;
            pthread_mutex_lock(&lock);
        }
        hand_back(l);
    }
    n_threads--;
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* With the lock held. */
static int start_thread(void)
{
    int rc = hb_boot_thread(work, NULL, STACK_BYTES);

    n_threads += rc == 0;
    return rc;
}

static void free_hub_event(struct hub *hub)
{
    struct hub **p = &hubs;

    while (*p && *p != hub) {
        p = &(*p)->next;
    }
    if (*p) {
        *p = hub->next;
    }
    event_free(hub->event);
    hub->event = NULL;
}

static void no_more_wanted(struct hb_resolve *l)
{
    struct hub *hub = l->hub;

    if (--hub->wanted == 0) {
        free_hub_event(hub);
    }
}

/* The descriptor is a semaphore: one call for each answer. An answer that was
 * cancelled meanwhile leaves a call with nothing to do. */
static void wake_cb(evutil_socket_t fd, short what, void *arg)
{
    struct hub *hub = arg;
    struct hb_resolve *l;
    uint64_t count;

    if (read(fd, &count, sizeof count) < 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    l = hub->done;
    if (l) {
        hub->done = l->next;
        l->next = NULL;
        l->ours = 1;
    }
    pthread_mutex_unlock(&lock);
    if (l) {
        l->cb(l->arg, l->gai_error, l->sys_errno, l->list);
    }
}

static struct hub *hub_of(struct event_base *base)
{
    struct hub *hub = hubs;

    while (hub && hub->base != base) {
        hub = hub->next;
    }
    if (hub) {
        return hub;
    }
    hub = hb_xcalloc(1, sizeof *hub);
    hub->base = base;
    hub->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    hub->event = hub->wake_fd < 0 ? NULL
        : event_new(base, hub->wake_fd, EV_READ | EV_PERSIST, wake_cb, hub);
    if (!hub->event || event_add(hub->event, NULL) != 0) {
        if (hub->event) {
            event_free(hub->event);
        }
        hb_fd_close(&hub->wake_fd);
        free(hub);
        return NULL;
    }
    hub->next = hubs;
    hubs = hub;
    return hub;
}

int hb_resolve_start(struct hb_resolve **out, struct event_base *base,
                     const char *host, int port, hb_resolved done, void *arg,
                     struct hpcboot_error *err)
{
    struct hub *hub = hub_of(base);
    struct hb_resolve *l;
    int rc = 0;

    if (!hub) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "%s: cannot look up a name", host);
    }
    l = hb_xcalloc(1, sizeof *l);
    l->hub = hub;
    l->host = hb_xstrdup(host);
    snprintf(l->service, sizeof l->service, "%d", port);
    l->cb = done;
    l->arg = arg;
    hub->wanted++;
    pthread_mutex_lock(&lock);
    hub->alive++;
    *queue_end = l;
    queue_end = &l->next;
    if (n_threads < THREADS_MAX) {
        rc = start_thread();
    }
    /* With no thread at all nobody would ever answer. */
    if (rc != 0 && n_threads == 0) {
        l->ours = take_from_queue() == l;
    } else {
        rc = 0;
    }
    pthread_mutex_unlock(&lock);
    if (rc != 0) {
        hb_resolve_cancel(l);
        errno = rc;
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "%s: cannot start a thread", host);
    }
    *out = l;
    return HPCBOOT_OK;
}

static int take_from_done(struct hb_resolve *l)
{
    for (struct hb_resolve **p = &l->hub->done; *p; p = &(*p)->next) {
        if (*p == l) {
            *p = l->next;
            return 1;
        }
    }
    return 0;
}

void hb_resolve_cancel(struct hb_resolve *l)
{
    if (!l) {
        return;
    }
    no_more_wanted(l);
    pthread_mutex_lock(&lock);
    if (l->ours || take_from_done(l)) {
        free_lookup(l);
    } else {
        l->cancelled = 1;
    }
    pthread_mutex_unlock(&lock);
}
