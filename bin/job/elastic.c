/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* An elastic job whose policy lets it live again looks at its source of hosts
 * now and then. A host that has come and answers at its port, or one that the
 * source no longer names, is the end of this life: ranks get the checkpoint
 * signal and their grace, and the next life has the new size.
 *
 * Sources may block for long, and an API must not be asked by two at a time:
 * a child process asks, and writes a name per line. It is forked and never
 * executes anything; it dies with its parent. A host that was taken in twice
 * and did not come up is not tried again. */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/job/job_impl.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define LOOK_MS 3000     /* between the end of a look and the next */
#define ANSWER_MS 2000   /* for a new host to accept a connection */
#define NAMES_MAX (64u << 20)
#define TRIES_MAX 2u
#define SSH_PORT "22"

struct elastic {
    struct job *job;
    struct event *timer, *readable;
    struct hb_buf names;
    pid_t child;
    int fd;
};

static struct job_host *host_named(const struct job *j, const char *name)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (hb_streq(j->hosts[i].spec->name, name)) {
            return &j->hosts[i];
        }
    }
    return NULL;
}

static unsigned tries_of(const struct hb_lives *l, const char *name)
{
    unsigned n = 0;

    for (size_t i = 0; i < l->tried.n; i++) {
        n += (unsigned)hb_streq(l->tried.v[i], name);
    }
    return n;
}

/* Takes no part now, and might. */
static int is_new(const struct job *j, const char *name)
{
    const struct job_host *h = host_named(j, name);

    return (h == NULL || hb_lives_was_lost(j->lives, name)) &&
           tries_of(j->lives, name) < TRIES_MAX;
}

/* --- in the child -------------------------------------------------------- */

static int connects(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    0);
    struct pollfd p = {fd, POLLOUT, 0};
    int err = 0;
    socklen_t len = sizeof err;
    int yes = fd >= 0 && (connect(fd, a->ai_addr, a->ai_addrlen) == 0 ||
                          (errno == EINPROGRESS &&
                           poll(&p, 1, ANSWER_MS) == 1 &&
                           getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len)
                               == 0 && err == 0));

    hb_fd_close(&fd);
    return yes;
}

static int answers(const struct job *j, const struct hb_host *h)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    char port[16] = SSH_PORT;
    int yes = h->is_local || j->boot.launch_with != NULL;

    if (h->port > 0 || j->opt->port > 0) {
        snprintf(port, sizeof port, "%d", h->port > 0 ? h->port
                                                      : j->opt->port);
    }
    if (!yes && getaddrinfo(h->name, port, &hints, &list) == 0) {
        for (const struct addrinfo *a = list; a != NULL && !yes;
             a = a->ai_next) {
            yes = connects(a);
        }
        freeaddrinfo(list);
    }
    return yes;
}

static void write_names(const struct job *j, const struct hb_gang *gang,
                        int fd)
{
    struct hb_str out = HB_STR_INIT;

    for (size_t i = 0; i < gang->n; i++) {
        if (!is_new(j, gang->hosts[i].name) || answers(j, &gang->hosts[i])) {
            hb_str_putf(&out, "%s\n", gang->hosts[i].name);
        }
    }
    (void)hb_fd_write_all(fd, hb_str_text(&out), out.len, NULL);
}

static void look(const struct job *j, int fd)
{
    struct hb_gang gang = {0};
    struct hpcboot_error err = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int s = 1; s < NSIG; s++) {
        signal(s, SIG_DFL); /* the parent's would write into its own pipe */
    }
    hb_log_set_sink(NULL, NULL, HB_ERROR);
    if (job_gather(j, 0, NULL, &gang, &err) == 0) {
        write_names(j, &gang, fd);
    }
    _exit(0); /* nothing of the parent's is to be flushed or freed here */
}

/* --- in the launcher ----------------------------------------------------- */

static int has_line(const struct hb_buf *names, const char *name)
{
    const char *p = (const char *)names->data;
    size_t len = strlen(name);

    while (p != NULL && *p != '\0') {
        if (strncmp(p, name, len) == 0 && p[len] == '\n') {
            return 1;
        }
        p = strchr(p, '\n');
        p = p != NULL ? p + 1 : NULL;
    }
    return 0;
}

/* One that has gone from the source, and has ranks. */
static const struct job_host *vanished(const struct job *j,
                                       const struct hb_buf *names)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        if (h->state == HOST_RUNNING && h->node != HB_NODE_UNSET &&
            !has_line(names, h->spec->name)) {
            return h;
        }
    }
    return NULL;
}

/* Takes in all that have come; the first one's name, or NULL. */
static char *take_in_new(struct job *j, char *names)
{
    char *first = NULL, *save = NULL;

    for (char *name = strtok_r(names, "\n", &save); name != NULL;
         name = strtok_r(NULL, "\n", &save)) {
        if (is_new(j, name)) {
            hb_strv_push(&j->lives->tried, name);
            hb_lives_note_back(j->lives, name);
            first = first != NULL ? first : name;
        }
    }
    return first;
}

static void judge(struct elastic *e)
{
    struct job *j = e->job;
    const struct job_host *gone;
    const char *come;

    hb_buf_put_raw(&e->names, "", 1);
    if (j->phase != JOB_RUNNING || e->names.len <= 1) {
        return; /* what cannot be read now says nothing */
    }
    gone = vanished(j, &e->names);
    if (gone != NULL) {
        j->end_signal = j->opt->checkpoint_signal;
        job_fail(j, HB_CAUSE_RESIZE, 0, "host %s is no longer in the gang "
                 "(%s)", gone->spec->name, j->gang.source);
    } else if (j->map->n_ranks < j->opt->apps[0].np) {
        come = take_in_new(j, (char *)e->names.data);
        if (come != NULL) {
            j->end_signal = j->opt->checkpoint_signal;
            job_fail(j, HB_CAUSE_RESIZE, 0, "host %s has come into the gang "
                     "(%s)", come, j->gang.source);
        }
    }
}

static void stop_look(struct elastic *e)
{
    if (e->readable != NULL) {
        event_free(e->readable);
        e->readable = NULL;
    }
    hb_fd_close(&e->fd);
    if (e->child > 0) {
        (void)kill(e->child, SIGKILL);
        (void)waitpid(e->child, NULL, 0);
        e->child = 0;
    }
}

static void on_names(evutil_socket_t fd, short what, void *arg)
{
    struct elastic *e = arg;
    char chunk[65536];
    ssize_t n = read(fd, chunk, sizeof chunk);

    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (n > 0 && e->names.len + (size_t)n < NAMES_MAX) {
        hb_buf_put_raw(&e->names, chunk, (size_t)n);
        return;
    }
    stop_look(e);
    judge(e);
    arm_ms(e->timer, LOOK_MS);
}

static void on_look_due(evutil_socket_t fd, short what, void *arg)
{
    struct elastic *e = arg;
    struct hpcboot_error err = {0};
    int p[2];

    if (e->job->phase != JOB_RUNNING || hb_fd_pipe(p, &err) < 0) {
        return;
    }
    hb_buf_clear(&e->names);
    e->child = fork();
    if (e->child == 0) {
        look(e->job, p[1]);
    }
    hb_fd_close(&p[1]);
    e->fd = p[0];
    if (e->child < 0) {
        stop_look(e);
        arm_ms(e->timer, LOOK_MS);
        return;
    }
    e->readable = event_new(e->job->base, e->fd, EV_READ | EV_PERSIST,
                            on_names, e);
    event_add(e->readable, NULL);
}

void job_elastic_watch(struct job *j)
{
    struct elastic *e;

    if (j->opt->apps[0].np_min == 0 || j->on_failure != HB_FAIL_RESTART) {
        return;
    }
    e = hb_xcalloc(1, sizeof *e);
    e->job = j;
    e->fd = -1;
    hb_buf_init(&e->names, NAMES_MAX);
    e->timer = evtimer_new(j->base, on_look_due, e);
    j->elastic = e;
    arm_ms(e->timer, LOOK_MS);
}

void job_elastic_close(struct job *j)
{
    if (j->elastic != NULL) {
        stop_look(j->elastic);
        event_free(j->elastic->timer);
        hb_buf_destroy(&j->elastic->names);
        free(j->elastic);
        j->elastic = NULL;
    }
}
