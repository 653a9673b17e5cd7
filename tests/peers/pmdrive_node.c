/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* One simulated node of pmdrive: a server of bin/pm, its ranks as children,
 * the stream to the hub, in one poll loop. */
#include "config.h"

#include "tests/peers/pmdrive.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/rdzv/fence.h"
#include "lib/rdzv/runs.h"

#define RANK_SOCKET 3 /* the descriptor a rank gets */
#define TREE_FDS 32   /* descriptors nftw may use */

struct rank {
    uint32_t number;
    pid_t pid;
    int fd;
    struct hb_buf out;
    unsigned contact;
};

struct node {
    const struct drive *d;
    uint32_t number;
    struct conn hub;
    const struct hb_pm_ops *ops;
    struct hb_pm *pm;
    struct hb_pm_job job;
    struct hb_pm_app app;
    struct hb_fence_engine *fences;
    struct rank *ranks;
    uint32_t n_ranks, n_running;
    int child_fd; /* signalfd */
};

/* The node's session directory; removed however this process ends. */
static char node_dir[64] = "/tmp/pmdrive.XXXXXX";

static void fail(const char *what, const struct hpcboot_error *err)
{
    fprintf(stderr, "pmdrive: %s: %s\n", what, err->text);
    exit(EXIT_FAILURE);
}

static struct rank *find(struct node *n, uint32_t rank)
{
    for (uint32_t i = 0; i < n->n_ranks; i++) {
        if (n->ranks[i].number == rank) {
            return &n->ranks[i];
        }
    }
    return NULL;
}

/* ---- what the server asks ------------------------------------------------ */

static void on_send(void *arg, uint32_t rank, const void *data, size_t len)
{
    hb_buf_put_raw(&find(arg, rank)->out, data, len);
}

static void on_fence(void *arg, struct hb_bytes key, const uint32_t *nodes,
                     uint32_t n_nodes, struct hb_bytes data)
{
    struct node *n = arg;
    struct hpcboot_error err = {0};

    if (hb_fence_join(n->fences, key, nodes, n_nodes, data, &err) < 0) {
        fail("fence", &err);
    }
}

static void on_abort(void *arg, uint32_t rank, int code, const char *text)
{
    struct node *n = arg;
    struct hb_msg_abort m = {.rank = rank, .code = code, .text = text};

    hb_wire_put_abort(&n->hub.out, 0, n->number, HB_NODE_LAUNCHER, &m, NULL);
}

static void on_contact(void *arg, uint32_t rank, unsigned bits)
{
    find(arg, rank)->contact |= bits;
}

static void on_modex(void *arg, uint64_t id, uint32_t rank)
{
    struct node *n = arg;
    struct hb_msg_modex m = {.id = id, .rank = rank};

    hb_wire_put_modex(&n->hub.out, 0, n->number,
                      n->d->map->node_of_rank[rank], &m, NULL);
}

static void on_name(void *arg, uint64_t id, enum hb_pm_name_op op,
                    const char *name, struct hb_bytes value)
{
    struct node *n = arg;
    struct hb_msg_name m = {.id = id, .op = (uint8_t)op, .name = name,
                            .value = value};

    hb_wire_put_name(&n->hub.out, 0, n->number, HB_NODE_LAUNCHER, &m, NULL);
}

static void on_violation(void *arg, uint32_t rank, const char *text)
{
    fprintf(stderr, "pmdrive: rank %u: %s\n", rank, text);
}

/* The whole of a job is here: there is nobody to start others. */
static void on_spawn(void *arg, uint64_t id, uint32_t rank,
                     const struct hb_pm_spawn *what)
{
    struct node *n = arg;
    const struct hb_pm_spawned answer = {.status = HPCBOOT_ERR_UNSUPPORTED,
                                         .text = "not here"};

    n->ops->spawn_done(n->pm, id, &answer);
}

static int on_output(void *arg, uint32_t rank, unsigned stream,
                     struct hb_bytes text)
{
    fprintf(stderr, "%.*s", (int)text.len, (const char *)text.data);
    return 1;
}

static void on_event(void *arg, const struct hb_pm_event *event)
{
    struct node *n = arg;
    struct hb_msg_event m = {.rank = event->rank, .code = event->code,
                             .range = (uint8_t)event->range,
                             .infos = event->infos};

    hb_wire_put_event(&n->hub.out, 0, n->number, HB_NODE_LAUNCHER, &m, NULL);
}

static const struct hb_pm_host node_host = {
    .send = on_send, .fence = on_fence, .abort = on_abort,
    .contact = on_contact, .modex = on_modex, .name = on_name,
    .violation = on_violation, .spawn = on_spawn,
    .output = on_output, .event = on_event,
};

static void on_up(void *arg, struct hb_bytes key, const uint32_t *nodes,
                  uint32_t n_nodes, struct hb_bytes data)
{
    struct node *n = arg;
    struct hb_msg_fence_up m = {.key = key, .data = data};
    uint32_t *runs;

    m.nodes.n = hb_runs_of_nodes(nodes, n_nodes, &runs);
    m.nodes.v = runs;
    hb_wire_put_fence_up(&n->hub.out, 0, n->number, HB_NODE_LAUNCHER, &m,
                         NULL);
    free(runs);
}

static void on_done(void *arg, struct hb_bytes key, int status,
                    struct hb_bytes data)
{
    struct node *n = arg;

    n->ops->fence_done(n->pm, key, status, data);
}

static const struct hb_fence_ops node_fences = {.up = on_up, .done = on_done};

/* ---- what the hub says --------------------------------------------------- */

/* The id of a modex is only unique on the node that asks; the node goes into
 * its upper half on the way through libpmix. */
static void modex_reply(void *arg, uint64_t id, int status,
                        struct hb_bytes data)
{
    struct node *n = arg;
    struct hb_msg_modex_reply m = {.id = id & 0xffffffffu, .status = status,
                                   .data = data};

    hb_wire_put_modex_reply(&n->hub.out, 0, n->number, (uint32_t)(id >> 32),
                            &m, NULL);
}

static void kill_ranks(struct node *n)
{
    for (uint32_t i = 0; i < n->n_ranks; i++) {
        if (n->ranks[i].pid > 0) {
            kill(n->ranks[i].pid, SIGKILL);
        }
    }
}

static int event_came(struct node *n, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct hb_msg_event m;
    int rc = hb_wire_get_event(f, &m, err);

    if (rc == 0) {
        const struct hb_pm_event event = {.rank = m.rank, .code = m.code,
                                          .range = m.range,
                                          .infos = m.infos};

        n->ops->event(n->pm, &event);
    }
    return rc;
}

static int handle(struct node *n, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    struct hb_msg_fence_down fence;
    struct hb_msg_modex modex;
    struct hb_msg_modex_reply reply;
    struct hb_msg_name_reply name;

    switch (f->type) {
    case HB_MSG_FENCE_DOWN:
        return hb_wire_get_fence_down(f, &fence, err) < 0
                   ? HPCBOOT_ERR_PROTOCOL
                   : hb_fence_from_parent(n->fences, fence.key, fence.status,
                                          fence.data, err);
    case HB_MSG_MODEX:
        if (hb_wire_get_modex(f, &modex, err) == 0) {
            n->ops->modex_serve(n->pm, (uint64_t)f->src << 32 | modex.id,
                                modex.rank, modex_reply, n);
        }
        return HPCBOOT_OK;
    case HB_MSG_MODEX_REPLY:
        if (hb_wire_get_modex_reply(f, &reply, err) == 0) {
            n->ops->modex_done(n->pm, reply.id, reply.status, reply.data);
        }
        return HPCBOOT_OK;
    case HB_MSG_NAME_REPLY:
        if (hb_wire_get_name_reply(f, &name, err) == 0) {
            n->ops->name_done(n->pm, name.id, name.status, name.value);
        }
        return HPCBOOT_OK;
    case HB_MSG_EVENT:
        return event_came(n, f, err);
    case HB_MSG_KILL:
        kill_ranks(n);
        return HPCBOOT_OK;
    default:
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "unexpected message");
    }
}

static void pump_hub(struct node *n)
{
    struct hpcboot_error err = {0};
    struct hb_frame f;
    int open = conn_pump(&n->hub), rc;

    while ((rc = hb_wire_next(&n->hub.in, &f, &err)) > 0) {
        rc = handle(n, &f, &err);
        if (rc < 0) {
            break;
        }
    }
    hb_buf_compact(&n->hub.in);
    if (rc < 0) {
        kill_ranks(n);
        fail("hub", &err);
    }
    if (!open) {
        kill_ranks(n);
        exit(EXIT_FAILURE);
    }
}

/* ---- ranks --------------------------------------------------------------- */

static int keep(const char *entry)
{
    static const char *const foreign[] = {"PMI_", "PMIX_", "MPI_LOCAL",
                                          "HPCBOOT_", "JSM_", NULL};

    for (int i = 0; foreign[i] != NULL; i++) {
        if (hb_starts_with(entry, foreign[i]) &&
            !hb_starts_with(entry, "PMIX_MCA_")) {
            return 0;
        }
    }
    return 1;
}

static void start_rank(struct node *n, struct rank *r)
{
    struct hb_strv env = HB_STRV_INIT;
    struct hpcboot_error err = {0};
    struct hb_pm_app app = {.argv = n->d->argv};
    int pair[2] = {-1, -1};
    sigset_t none;

    for (char **e = environ; *e != NULL; e++) {
        if (keep(*e)) {
            hb_strv_push(&env, *e);
        }
    }
    hb_pm_personality_env(n->d->family, n->d->flavour, n->d->map, r->number,
                          &app, &env);
    if (n->ops->rank_env(n->pm, r->number,
                         n->ops->wants_socket ? RANK_SOCKET : -1, &env,
                         &err) < 0) {
        fail("environment of a rank", &err);
    }
    if (n->ops->wants_socket && hb_fd_socketpair(pair, NULL) < 0) {
        die("socketpair");
    }
    r->pid = fork();
    if (r->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        if (pair[1] == RANK_SOCKET) {
            fcntl(RANK_SOCKET, F_SETFD, 0);
        } else if (pair[1] >= 0) {
            dup2(pair[1], RANK_SOCKET);
        }
        environ = env.v;
        execvp(n->d->argv[0], n->d->argv);
        _exit(127);
    }
    if (r->pid < 0) {
        die("fork");
    }
    hb_fd_close(&pair[1]);
    r->fd = pair[0];
    if (r->fd >= 0) {
        (void)hb_fd_set_nonblock(r->fd, 1, NULL);
    }
    hb_strv_destroy(&env);
    n->n_running++;
}

static void pump_rank(struct node *n, struct rank *r)
{
    char block[65536];
    ssize_t got;

    while ((got = read(r->fd, block, sizeof(block))) > 0) {
        if (n->ops->feed(n->pm, r->number, block, (size_t)got, NULL) < 0) {
            got = 0;
            break;
        }
    }
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        n->ops->rank_gone(n->pm, r->number);
        hb_fd_close(&r->fd);
    }
}

static void flush_rank(struct rank *r)
{
    while (r->fd >= 0 && hb_buf_left(&r->out) > 0) {
        ssize_t n = write(r->fd, hb_buf_next(&r->out), hb_buf_left(&r->out));

        if (n < 0) {
            break;
        }
        hb_buf_skip(&r->out, (size_t)n);
    }
    hb_buf_compact(&r->out);
}

static void reap(struct node *n)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    (void)!read(n->child_fd, &info, sizeof(info));
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (uint32_t i = 0; i < n->n_ranks; i++) {
            struct rank *r = &n->ranks[i];
            struct hb_msg_rank_exit m = {.rank = r->number,
                                         .wait_status = status,
                                         .contact = r->contact};

            if (r->pid == pid) {
                r->pid = -1;
                n->n_running--;
                hb_wire_put_rank_exit(&n->hub.out, 0, n->number,
                                      HB_NODE_LAUNCHER, &m, NULL);
            }
        }
    }
}

/* ---- the loop ------------------------------------------------------------ */

static void loop(struct node *n)
{
    enum { FIXED = 3 };
    struct pollfd *p = hb_xcalloc(n->n_ranks + FIXED, sizeof(*p));

    while (n->n_running > 0 || hb_buf_left(&n->hub.out) > 0) {
        int out = hb_buf_left(&n->hub.out) > 0;

        p[0] = (struct pollfd){n->hub.fd,
                               (short)(POLLIN | (out ? POLLOUT : 0)), 0};
        p[1] = (struct pollfd){n->ops->fd(n->pm), POLLIN, 0};
        p[2] = (struct pollfd){n->child_fd, POLLIN, 0};
        for (uint32_t i = 0; i < n->n_ranks; i++) {
            struct rank *r = &n->ranks[i];

            flush_rank(r);
            out = hb_buf_left(&r->out) > 0;
            p[FIXED + i] = (struct pollfd){
                r->fd, (short)(POLLIN | (out ? POLLOUT : 0)), 0};
        }
        if (poll(p, n->n_ranks + FIXED, -1) < 0) {
            die("poll");
        }
        if (p[1].revents != 0) {
            n->ops->dispatch(n->pm);
        }
        for (uint32_t i = 0; i < n->n_ranks; i++) {
            if (p[FIXED + i].revents & (POLLIN | POLLHUP)) {
                pump_rank(n, &n->ranks[i]);
            }
        }
        if (p[2].revents != 0) {
            reap(n);
        }
        if (p[0].revents != 0) {
            pump_hub(n);
        }
    }
    free(p);
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    return remove(path);
}

static void remove_node_dir(void)
{
    nftw(node_dir, remove_one, TREE_FDS, FTW_DEPTH | FTW_PHYS);
}

static void start(struct node *n)
{
    struct hpcboot_error err = {0};
    uint32_t *local;
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    n->child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (n->child_fd < 0 || mkdtemp(node_dir) == NULL) {
        die("start");
    }
    atexit(remove_node_dir);
    n->app = (struct hb_pm_app){.argv = n->d->argv, .wdir = "/"};
    n->job = (struct hb_pm_job){
        .job_id = "pmdrive.1", .session_dir = node_dir, .map = n->d->map,
        .node = n->number, .apps = &n->app, .uid = (uint32_t)getuid(),
        .gid = (uint32_t)getgid(), .oversubscribed = 1,
        .flavour = n->d->flavour,
    };
    if (hb_fence_engine_create(&n->fences, n->number, 0, &node_fences, n,
                               &err) < 0 ||
        hb_pm_ops_get(n->d->family, &n->ops, &err) < 0 ||
        n->ops->create(&n->pm, &n->job, &node_host, n, &err) < 0) {
        fail("server", &err);
    }
    n->n_ranks = n->d->map->local_size[n->number];
    n->ranks = hb_xcalloc(n->n_ranks, sizeof(*n->ranks));
    hb_jobmap_ranks_of_node(n->d->map, n->number, &local);
    for (uint32_t i = 0; i < n->n_ranks; i++) {
        n->ranks[i].number = local[i];
        hb_buf_init(&n->ranks[i].out, HB_WIRE_FRAME);
        start_rank(n, &n->ranks[i]);
    }
    free(local);
}

void node_main(const struct drive *d, uint32_t node, int hub_fd)
{
    struct node n = {.d = d, .number = node};

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    conn_open(&n.hub, hub_fd);
    start(&n);
    loop(&n);
    n.ops->destroy(n.pm);
    hb_fence_engine_destroy(n.fences);
    for (uint32_t i = 0; i < n.n_ranks; i++) {
        hb_buf_destroy(&n.ranks[i].out);
        hb_fd_close(&n.ranks[i].fd);
    }
    free(n.ranks);
    conn_close(&n.hub);
    exit(EXIT_SUCCESS);
}
