/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The PMI server: both families behind struct hb_pm_ops. It owns the local
 * ranks and their unread input; what is read is cut into messages by the
 * rank's dialect and dispatched through that dialect's table.
 *
 * Both families accept both dialects, since the first line of a client says
 * which one it speaks; they differ in the variables that ranks get.
 *
 * No I/O happens here: bytes come through feed and leave through host.send. */
#include "config.h"

#include "bin/pm/pmi.h"

#include <stdlib.h>
#include <string.h>

#include "bin/pm/servers.h"
#include "lib/base/str.h"

/* Unread input of one rank: a whole message and what came with it. */
#define INPUT_MAX (HB_PMI_MESSAGE_MAX + (64u << 10))

static void destroy(struct hb_pm *pm)
{
    if (pm == NULL) {
        return;
    }
    for (uint32_t i = 0; i < pm->n_local; i++) {
        hb_buf_destroy(&pm->ranks[i].in);
        hb_pm_spawn_clear(&pm->ranks[i].spawn);
    }
    hb_pmi_spawns_destroy(pm);
    hb_pmi_store_destroy(pm->store);
    free(pm->ranks);
    free(pm);
}

static int create(enum hb_pm_family family, struct hb_pm **out,
                  const struct hb_pm_job *job, const struct hb_pm_host *host,
                  void *arg, struct hpcboot_error *err)
{
    struct hb_pm *pm = hb_xcalloc(1, sizeof(*pm));
    uint32_t *local;
    int rc;

    pm->family = family;
    pm->job = job;
    pm->host = *host;
    pm->arg = arg;
    pm->n_local = job->map->local_size[job->node];
    pm->ranks = hb_xcalloc(pm->n_local + 1, sizeof(*pm->ranks));
    hb_jobmap_ranks_of_node(job->map, job->node, &local);
    for (uint32_t i = 0; i < pm->n_local; i++) {
        pm->ranks[i].rank = local[i];
        pm->ranks[i].dialect = &hb_pmi1_dialect;
        hb_buf_init(&pm->ranks[i].in, INPUT_MAX);
    }
    free(local);
    rc = hb_pmi_store_create(&pm->store, pm, err);
    if (rc == 0) {
        rc = hb_pmi_store_preput(pm, err);
    }
    if (rc < 0) {
        destroy(pm);
        return rc;
    }
    *out = pm;
    return HPCBOOT_OK;
}

static int create1(struct hb_pm **out, const struct hb_pm_job *job,
                   const struct hb_pm_host *host, void *arg,
                   struct hpcboot_error *err)
{
    return create(HB_PM_PMI1, out, job, host, arg, err);
}

static int create2(struct hb_pm **out, const struct hb_pm_job *job,
                   const struct hb_pm_host *host, void *arg,
                   struct hpcboot_error *err)
{
    return create(HB_PM_PMI2, out, job, host, arg, err);
}

static struct hb_pmi_rank *find_rank(struct hb_pm *pm, uint32_t rank)
{
    uint32_t low = 0, high = pm->n_local;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (pm->ranks[middle].rank == rank) {
            return &pm->ranks[middle];
        }
        if (pm->ranks[middle].rank < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

void hb_pmi_send(struct hb_pm *pm, struct hb_pmi_rank *rank,
                 const struct hb_str *text)
{
    pm->host.send(pm->arg, rank->rank, hb_str_text(text), text->len);
}

void hb_pmi_contact(struct hb_pm *pm, struct hb_pmi_rank *rank,
                    unsigned bits)
{
    if ((rank->contact & bits) != bits || bits == HB_PMI_INITIALISED) {
        rank->contact |= bits;
        pm->host.contact(pm->arg, rank->rank, rank->contact);
    }
}

uint32_t hb_pmi_universe(const struct hb_pm *pm)
{
    const struct hb_jobmap *map = pm->job->map;

    return map->universe_slots > map->n_ranks ? map->universe_slots
                                              : map->n_ranks;
}

int hb_pmi_exit_code(const char *text)
{
    int code;

    if (text == NULL || hb_parse_int(text, INT32_MIN, INT32_MAX, &code) < 0) {
        return 1;
    }
    return code;
}

static int rank_env(struct hb_pm *pm, uint32_t rank, int socket_fd,
                    struct hb_strv *env, struct hpcboot_error *err)
{
    hb_env_setf(env, "PMI_FD", "%d", socket_fd);
    hb_env_setf(env, "PMI_RANK", "%u", rank);
    hb_env_setf(env, "PMI_SIZE", "%u", pm->job->map->n_ranks);
    if (pm->job->parent_id != NULL) {
        hb_env_set(env, "PMI_SPAWNED", "1");
    }
    /* A library named here by the batch system that the shell came from
     * speaks to that batch system, not to this server. */
    hb_env_unset(env, "I_MPI_PMI_LIBRARY");
    if (pm->family == HB_PM_PMI2) {
        hb_env_set(env, "PMI_JOBID", pm->job->job_id);
    }
    hb_env_set(env, "MPIR_CVAR_PMI_VERSION", /* MPICH 4.2 on */
               pm->family == HB_PM_PMI2 ? "2" : "1");
    return HPCBOOT_OK;
}

static int handle(struct hb_pm *pm, struct hb_pmi_rank *rank,
                  const struct hb_pmi_msg *msg, struct hpcboot_error *err)
{
    const struct hb_pmi_command *c = rank->dialect->commands;

    while (c->name != NULL && strcmp(c->name, msg->cmd) != 0) {
        c++;
    }
    return (c->name != NULL ? c->run : rank->dialect->unknown)(pm, rank, msg,
                                                               err);
}

/* A program that begins MPI anew, in place of one that has ended it or beside
 * one that has not, says so in a line, which no frame begins like. */
static int next_message(struct hb_pmi_rank *rank, struct hb_bytes *out,
                        struct hpcboot_error *err)
{
    static const char init[] = "cmd=init ";
    size_t left = hb_buf_left(&rank->in), len = sizeof(init) - 1;
    size_t n = left < len ? left : len;

    if (rank->dialect == &hb_pmi2_dialect && n > 0 &&
        memcmp(hb_buf_next(&rank->in), init, n) == 0) {
        if (n < len) {
            return 0;
        }
        rank->dialect = &hb_pmi1_dialect;
    }
    return rank->dialect->next(&rank->in, out, err);
}

/* Handles every whole message of the input. */
static int drain(struct hb_pm *pm, struct hb_pmi_rank *rank,
                 struct hpcboot_error *err)
{
    struct hb_bytes bytes;
    int rc;

    while ((rc = next_message(rank, &bytes, err)) > 0) {
        struct hb_pmi_msg msg;

        rc = rank->dialect->parse(&msg, bytes, err);
        if (rc == 0) {
            rc = handle(pm, rank, &msg, err);
            hb_pmi_msg_destroy(&msg);
        }
        if (rc < 0) {
            break;
        }
    }
    hb_buf_compact(&rank->in);
    return rc;
}

static int take(struct hb_pm *pm, struct hb_pmi_rank *rank, const char *data,
                size_t len, struct hpcboot_error *err)
{
    int rc = HPCBOOT_OK;

    while (rc == 0 && len > 0) {
        size_t room = INPUT_MAX - rank->in.len;
        size_t n = len < room ? len : room;

        if (n == 0) {
            return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                           "PMI: a message of more than %u bytes",
                           HB_PMI_MESSAGE_MAX);
        }
        hb_buf_put_raw(&rank->in, data, n);
        data += n;
        len -= n;
        rc = drain(pm, rank, err);
    }
    return rc;
}

static int feed(struct hb_pm *pm, uint32_t number, const void *data,
                size_t len, struct hpcboot_error *err)
{
    struct hb_pmi_rank *rank = find_rank(pm, number);
    struct hpcboot_error local;
    int rc;

    if (rank == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOT_FOUND,
                       "PMI: rank %u is not on this node", number);
    }
    /* cppcheck-suppress uninitvar */
    err = err != NULL ? err : &local;
    hb_pmi_contact(pm, rank, HB_PMI_CONNECTED);
    rc = take(pm, rank, data, len, err);
    if (rc < 0) {
        pm->host.violation(pm->arg, number, err->text);
    }
    return rc;
}

static void rank_gone(struct hb_pm *pm, uint32_t number)
{
    struct hb_pmi_rank *rank = find_rank(pm, number);

    if (rank != NULL) {
        rank->gone = 1;
        hb_buf_clear(&rank->in);
        hb_pm_spawn_clear(&rank->spawn);
    }
}

static void rank_again(struct hb_pm *pm, uint32_t number)
{
    struct hb_pmi_rank *rank = find_rank(pm, number);

    if (rank != NULL) {
        rank->gone = 0;
        rank->contact = 0;
        rank->dialect = &hb_pmi1_dialect;
        hb_buf_clear(&rank->in);
    }
}

/* PMI has no direct modex: nobody asks, nobody is answered with data. */
static void modex_done(struct hb_pm *pm, uint64_t id, int status,
                       struct hb_bytes data)
{
}

static void modex_serve(struct hb_pm *pm, uint64_t id, uint32_t rank,
                        void (*answer)(void *arg, uint64_t id, int status,
                                       struct hb_bytes data), void *arg)
{
    answer(arg, id, HPCBOOT_ERR_UNSUPPORTED, (struct hb_bytes){NULL, 0});
}

static int no_fd(struct hb_pm *pm)
{
    return -1;
}

static void no_dispatch(struct hb_pm *pm)
{
}

#define PMI_OPS(which, family_id)                                         \
    {                                                                     \
        .family = (family_id), .wants_socket = 1, .create = (which),      \
        .rank_env = rank_env, .feed = feed, .rank_gone = rank_gone,       \
        .ranks_lost = hb_pmi_ranks_lost, .rank_again = rank_again,        \
        .fence_done = hb_pmi_fence_done, .modex_done = modex_done,        \
        .modex_serve = modex_serve, .name_done = hb_pmi_name_done,        \
        .spawn_done = hb_pmi_spawn_done,                                  \
        .fd = no_fd, .dispatch = no_dispatch, .destroy = destroy,         \
    }

const struct hb_pm_ops hb_pmi1_ops = PMI_OPS(create1, HB_PM_PMI1);
const struct hb_pm_ops hb_pmi2_ops = PMI_OPS(create2, HB_PM_PMI2);
