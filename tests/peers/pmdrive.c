/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* pmdrive - runs an MPI program under the servers of bin/pm, without agents,
 * without SSH, on this host alone:
 *
 *     pmdrive [--pmi FAMILY] [--flavour NAME] [--nodes K] [--cyclic] -n N
 *             PROGRAM [ARGS...]
 *
 * With --nodes K there are K server processes with node names of their own,
 * so that fences between nodes, direct modex and the name service are used as
 * they are across hosts. This process is the hub: root of the fences, router,
 * name service. Its exit status is the code of an abort, else that of the
 * first rank that failed. It has no deadline: use it under timeout(1). */
#include "config.h"

#include "tests/peers/pmdrive.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/pm/family.h"
#include "bin/job/kept_names.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/rdzv/fence.h"
#include "lib/rdzv/runs.h"

#define NODES_MAX 64u

struct hub {
    const struct drive *d;
    struct conn node[NODES_MAX];
    pid_t pid[NODES_MAX];
    struct hb_fence_engine *fences;
    struct kept_names names;
    uint32_t n_open;
    int status, aborted;
};

void die(const char *what)
{
    fprintf(stderr, "pmdrive: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* ---- streams ------------------------------------------------------------- */

void conn_open(struct conn *c, int fd)
{
    c->fd = fd;
    hb_buf_init(&c->in, HB_WIRE_FRAME);
    hb_buf_init(&c->out, HB_WIRE_FRAME);
    if (hb_fd_set_nonblock(fd, 1, NULL) < 0) {
        die("fcntl");
    }
}

void conn_close(struct conn *c)
{
    hb_fd_close(&c->fd);
    hb_buf_destroy(&c->in);
    hb_buf_destroy(&c->out);
}

static void push_out(struct conn *c)
{
    while (hb_buf_left(&c->out) > 0) {
        ssize_t n = write(c->fd, hb_buf_next(&c->out), hb_buf_left(&c->out));

        if (n < 0) {
            break;
        }
        hb_buf_skip(&c->out, (size_t)n);
    }
    hb_buf_compact(&c->out);
}

int conn_pump(struct conn *c)
{
    ssize_t n;

    push_out(c);
    do {
        char block[65536];

        n = read(c->fd, block, sizeof(block));
        if (n > 0) {
            hb_buf_put_raw(&c->in, block, (size_t)n);
        }
    } while (n > 0);
    return n < 0 && errno == EAGAIN;
}

/* ---- fences -------------------------------------------------------------- */

static void on_down(void *arg, uint32_t child, struct hb_bytes key,
                    int status, struct hb_bytes data)
{
    struct hub *h = arg;
    struct hb_msg_fence_down m = {.key = key, .status = status, .data = data};

    hb_wire_put_fence_down(&h->node[child].out, 0, HB_NODE_LAUNCHER, child,
                           &m, NULL);
}

static const struct hb_fence_ops hub_fences = {.down = on_down};

static int on_fence_up(struct hub *h, const struct hb_frame *f,
                       struct hpcboot_error *err)
{
    struct hb_msg_fence_up m;
    uint32_t *nodes = NULL, n = 0;
    int rc = hb_wire_get_fence_up(f, &m, err);

    if (rc == 0) {
        rc = hb_runs_to_nodes(&m.nodes, &nodes, &n, err);
    }
    if (rc == 0) {
        rc = hb_fence_from_child(h->fences, f->src, m.key, nodes, n, m.data,
                                 err);
    }
    free(nodes);
    return rc;
}

/* ---- everything else ----------------------------------------------------- */

static int on_forward(struct hub *h, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    return hb_wire_put_frame(&h->node[f->dst].out, f, err);
}

static void name_told(void *who, uint32_t src,
                      const struct hb_msg_name_reply *reply)
{
    struct hub *h = who;

    hb_wire_put_name_reply(&h->node[src].out, 0, HB_NODE_LAUNCHER, src, reply,
                           NULL);
}

static int on_name(struct hub *h, const struct hb_frame *f,
                   struct hpcboot_error *err)
{
    struct hb_msg_name m;
    int rc = hb_wire_get_name(f, &m, err);

    if (rc == 0) {
        kept_names_ask(&h->names, &m, name_told, h, f->src);
    }
    return rc;
}

/* To all nodes but the one that it comes from. */
static int on_event(struct hub *h, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct hb_msg_event m;
    int rc = hb_wire_get_event(f, &m, err);

    for (uint32_t i = 0; rc == 0 && i < h->d->map->n_nodes; i++) {
        if (i != f->src) {
            rc = hb_wire_put_event(&h->node[i].out, 0, HB_NODE_LAUNCHER, i, &m,
                                   err);
        }
    }
    return rc;
}

static void kill_all(struct hub *h)
{
    struct hb_msg_kill m = {.reason = "abort"};

    for (uint32_t i = 0; i < h->d->map->n_nodes; i++) {
        hb_wire_put_kill(&h->node[i].out, 0, HB_NODE_LAUNCHER, i, &m, NULL);
    }
}

static int on_abort(struct hub *h, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct hb_msg_abort m;
    int rc = hb_wire_get_abort(f, &m, err);

    if (rc == 0 && !h->aborted) {
        printf("pmdrive: rank %u aborts with %d: %s\n", m.rank, m.code,
               m.text);
        h->aborted = 1;
        h->status = m.code;
        kill_all(h);
    }
    return rc;
}

static int on_rank_exit(struct hub *h, const struct hb_frame *f,
                        struct hpcboot_error *err)
{
    struct hb_msg_rank_exit m;
    int rc = hb_wire_get_rank_exit(f, &m, err);
    int status;

    if (rc < 0) {
        return rc;
    }
    status = WIFEXITED(m.wait_status) ? WEXITSTATUS(m.wait_status)
                                      : 128 + WTERMSIG(m.wait_status);
    if (status != 0 && h->status == 0) {
        printf("pmdrive: rank %u ends with %d, contact %u\n", m.rank, status,
               m.contact);
        h->status = status;
        kill_all(h);
    }
    return rc;
}

typedef int (*handler)(struct hub *h, const struct hb_frame *f,
                       struct hpcboot_error *err);
static const handler handlers[HB_MSG_TYPES] = {
    [HB_MSG_FENCE_UP] = on_fence_up,
    [HB_MSG_MODEX] = on_forward,
    [HB_MSG_MODEX_REPLY] = on_forward,
    [HB_MSG_NAME] = on_name,
    [HB_MSG_EVENT] = on_event,
    [HB_MSG_ABORT] = on_abort,
    [HB_MSG_RANK_EXIT] = on_rank_exit,
};

static void drain(struct hub *h, uint32_t node)
{
    struct hpcboot_error err = {0};
    struct hb_frame f;
    int rc;

    while ((rc = hb_wire_next(&h->node[node].in, &f, &err)) > 0) {
        rc = handlers[f.type] != NULL ? handlers[f.type](h, &f, &err)
                                      : HPCBOOT_ERR_PROTOCOL;
        if (rc < 0) {
            break;
        }
    }
    hb_buf_compact(&h->node[node].in);
    if (rc < 0) {
        fprintf(stderr, "pmdrive: node %u: %s\n", node, err.text);
        h->status = EXIT_FAILURE;
        kill_all(h);
    }
}

static void hub_run(struct hub *h)
{
    uint32_t n = h->d->map->n_nodes;
    struct pollfd p[NODES_MAX];

    while (h->n_open > 0) {
        for (uint32_t i = 0; i < n; i++) {
            int out = h->node[i].fd >= 0 && hb_buf_left(&h->node[i].out) > 0;

            p[i].fd = h->node[i].fd;
            p[i].events = (short)(POLLIN | (out ? POLLOUT : 0));
        }
        if (poll(p, n, -1) < 0 && errno != EINTR) {
            die("poll");
        }
        for (uint32_t i = 0; i < n; i++) {
            if (h->node[i].fd >= 0 && p[i].revents != 0) {
                int open = conn_pump(&h->node[i]);

                drain(h, i);
                if (!open) {
                    hb_fd_close(&h->node[i].fd);
                    h->n_open--;
                }
            }
        }
    }
}

static void hub_start(struct hub *h)
{
    if (hb_fence_engine_create(&h->fences, HB_FENCE_ROOT, 1, &hub_fences, h,
                               NULL) < 0) {
        die("create");
    }
    for (uint32_t i = 0; i < h->d->map->n_nodes; i++) {
        int pair[2];

        if (hb_fd_socketpair(pair, NULL) < 0) {
            die("socketpair");
        }
        fflush(NULL);
        h->pid[i] = fork();
        if (h->pid[i] == 0) {
            close(pair[0]);
            node_main(h->d, i, pair[1]);
        }
        if (h->pid[i] < 0) {
            die("fork");
        }
        close(pair[1]);
        conn_open(&h->node[i], pair[0]);
        hb_fence_set_child(h->fences, i, &i, 1, NULL);
        h->n_open++;
    }
}

static void hub_end(struct hub *h)
{
    for (uint32_t i = 0; i < h->d->map->n_nodes; i++) {
        int status;

        conn_close(&h->node[i]);
        if (waitpid(h->pid[i], &status, 0) == h->pid[i] && status != 0 &&
            h->status == 0) {
            fprintf(stderr, "pmdrive: node %u ends with wait status %d\n", i,
                    status);
            h->status = EXIT_FAILURE;
        }
    }
    hb_fence_engine_destroy(h->fences);
    kept_names_clear(&h->names);
}

/* ---- command line -------------------------------------------------------- */

static int usage(void)
{
    fputs("usage: pmdrive [--pmi FAMILY] [--flavour NAME] [--nodes K] "
          "[--cyclic] -n N PROGRAM [ARGS...]\n", stderr);
    return 2;
}

static struct hb_jobmap *make_map(uint32_t n, uint32_t nodes, int cyclic)
{
    uint32_t *node_of = hb_xcalloc(n, sizeof(*node_of));
    char *names[NODES_MAX];
    struct hb_job_app app = {0, n};
    struct hb_jobmap *map = NULL;

    for (uint32_t r = 0; r < n; r++) {
        node_of[r] = cyclic ? r % nodes : (uint32_t)((uint64_t)r * nodes / n);
    }
    for (uint32_t i = 0; i < nodes; i++) {
        names[i] = hb_xasprintf("pmdrive-node%u", i);
    }
    if (hb_jobmap_create(&map, n, node_of, nodes, names, 1, &app, n, NULL) <
        0) {
        die("job map");
    }
    for (uint32_t i = 0; i < nodes; i++) {
        free(names[i]);
    }
    free(node_of);
    return map;
}

static int hub_main(const struct drive *d)
{
    struct hub h = {.d = d};

    hub_start(&h);
    hub_run(&h);
    hub_end(&h);
    return h.status;
}

int main(int argc, char **argv)
{
    struct drive d = {.family = HB_PM_PMIX, .flavour = HB_MPI_UNKNOWN};
    uint64_t n = 0, nodes = 1;
    int i, cyclic = 0, bad = 0, status;

    for (i = 1; i + 1 < argc && argv[i][0] == '-' && !bad; i++) {
        enum hb_mpi_flavour flavour;

        if (strcmp(argv[i], "--pmi") == 0) {
            bad = hb_pm_family_parse(argv[++i], &d.family, NULL);
        } else if (strcmp(argv[i], "--flavour") == 0) {
            bad = hb_mpi_flavour_parse(argv[++i], &flavour);
            d.flavour = bad ? d.flavour : (int)flavour;
        } else if (strcmp(argv[i], "--nodes") == 0) {
            bad = hb_parse_u64(argv[++i], 1, NODES_MAX, &nodes);
        } else if (strcmp(argv[i], "-n") == 0) {
            bad = hb_parse_u64(argv[++i], 1, HB_MAX_RANKS, &n);
        } else if (strcmp(argv[i], "--cyclic") == 0) {
            cyclic = 1;
        } else {
            bad = 1;
        }
    }
    if (bad || n == 0 || i >= argc || nodes > n) {
        return usage();
    }
    signal(SIGPIPE, SIG_IGN);
    d.argv = argv + i;
    d.map = make_map((uint32_t)n, (uint32_t)nodes, cyclic);
    status = hub_main(&d);
    hb_jobmap_destroy(d.map);
    return status;
}
