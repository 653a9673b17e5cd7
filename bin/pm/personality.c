/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Variables that programs and their wrapper scripts read to learn who they
 * are, whatever MPI they use: GPU selection by local rank, log names by rank.
 * The neutral HPCBOOT_* set is always there. The others follow the family:
 * tools tell which MPI started them by which of these exist, so a rank gets
 * those of its own MPI only. Variables of batch systems (SLURM_PROCID and the
 * like) are never forged. */
#include "config.h"

#include "bin/pm/family.h"
#include "lib/base/str.h"

/* What the system takes of one string that a program is started with, less the
 * name. */
#define ONE_STRING_MAX ((size_t)131072 - 64)

struct identity {
    const struct hb_jobmap *map;
    uint32_t rank, node, local_rank, local_size;
    const struct hb_pm_app *app;
};

static void neutral(const struct identity *id, struct hb_strv *env)
{
    hb_env_setf(env, "HPCBOOT_RANK", "%u", id->rank);
    hb_env_setf(env, "HPCBOOT_SIZE", "%u", id->map->n_ranks);
    hb_env_setf(env, "HPCBOOT_LOCAL_RANK", "%u", id->local_rank);
    hb_env_setf(env, "HPCBOOT_LOCAL_SIZE", "%u", id->local_size);
    hb_env_setf(env, "HPCBOOT_NODE", "%u", id->node);
    hb_env_setf(env, "HPCBOOT_NODES", "%u", id->map->n_nodes);
}

static void openmpi_apps(const struct identity *id, struct hb_strv *env)
{
    struct hb_str first = HB_STR_INIT, sizes = HB_STR_INIT;

    for (uint32_t i = 0; i < id->map->n_apps; i++) {
        const char *gap = i > 0 ? " " : "";

        hb_str_putf(&first, "%s%u", gap, id->map->apps[i].first_rank);
        hb_str_putf(&sizes, "%s%u", gap, id->map->apps[i].n_ranks);
    }
    hb_env_setf(env, "OMPI_NUM_APP_CTX", "%u", id->map->n_apps);
    hb_env_set(env, "OMPI_FIRST_RANKS", hb_str_text(&first));
    hb_env_set(env, "OMPI_APP_CTX_NUM_PROCS", hb_str_text(&sizes));
    hb_str_destroy(&first);
    hb_str_destroy(&sizes);
}

static void openmpi_command(const struct identity *id, struct hb_strv *env)
{
    char *const *argv = id->app->argv;
    struct hb_str args = HB_STR_INIT;

    if (id->app->wdir != NULL) { /* what MPI_INFO_ENV says is of here */
        hb_env_set(env, "OMPI_MCA_initial_wdir", id->app->wdir);
    }
    if (argv == NULL || argv[0] == NULL) {
        return;
    }
    for (size_t i = 1; argv[i] != NULL; i++) {
        hb_str_putf(&args, "%s%s", i > 1 ? " " : "", argv[i]);
    }
    hb_env_set(env, "OMPI_COMMAND", argv[0]);
    if (args.len < ONE_STRING_MAX) { /* for show; as a variable it is one */
        hb_env_set(env, "OMPI_ARGV", hb_str_text(&args));
    }
    hb_str_destroy(&args);
}

static void openmpi(const struct identity *id, struct hb_strv *env)
{
    uint32_t slots = id->map->universe_slots;

    hb_env_setf(env, "OMPI_COMM_WORLD_RANK", "%u", id->rank);
    hb_env_setf(env, "OMPI_COMM_WORLD_SIZE", "%u", id->map->n_ranks);
    hb_env_setf(env, "OMPI_COMM_WORLD_LOCAL_RANK", "%u", id->local_rank);
    hb_env_setf(env, "OMPI_COMM_WORLD_LOCAL_SIZE", "%u", id->local_size);
    hb_env_setf(env, "OMPI_COMM_WORLD_NODE_RANK", "%u", id->local_rank);
    hb_env_setf(env, "OMPI_UNIVERSE_SIZE", "%u",
                slots > id->map->n_ranks ? slots : id->map->n_ranks);
    hb_env_setf(env, "OMPI_WORLD_SIZE", "%u", id->map->n_ranks);
    hb_env_setf(env, "OMPI_WORLD_LOCAL_SIZE", "%u", id->local_size);
    openmpi_apps(id, env);
    openmpi_command(id, env);
}

/* Hydra's, which Intel MPI's users know too. */
static void hydra(const struct identity *id, struct hb_strv *env)
{
    hb_env_setf(env, "MPI_LOCALRANKID", "%u", id->local_rank);
    hb_env_setf(env, "MPI_LOCALNRANKS", "%u", id->local_size);
}

static void mvapich(const struct identity *id, struct hb_strv *env)
{
    hb_env_setf(env, "MV2_COMM_WORLD_RANK", "%u", id->rank);
    hb_env_setf(env, "MV2_COMM_WORLD_SIZE", "%u", id->map->n_ranks);
    hb_env_setf(env, "MV2_COMM_WORLD_LOCAL_RANK", "%u", id->local_rank);
    hb_env_setf(env, "MV2_COMM_WORLD_LOCAL_SIZE", "%u", id->local_size);
}

void hb_pm_personality_env(enum hb_pm_family family, int flavour,
                           const struct hb_jobmap *map, uint32_t rank,
                           const struct hb_pm_app *app, struct hb_strv *env)
{
    uint32_t node = map->node_of_rank[rank];
    const struct identity id = {
        .map = map, .rank = rank, .node = node,
        .local_rank = map->local_rank[rank],
        .local_size = map->local_size[node], .app = app,
    };
    int mpich = flavour == HB_MPI_MPICH || flavour == HB_MPI_INTEL ||
                flavour == HB_MPI_MVAPICH;

    neutral(&id, env);
    if (family == HB_PM_PMIX && !mpich) {
        openmpi(&id, env);
    } else if (family != HB_PM_NONE) {
        hydra(&id, env);
    }
    if (flavour == HB_MPI_MVAPICH ||
        (flavour == HB_MPI_UNKNOWN &&
         (family == HB_PM_PMI1 || family == HB_PM_PMI2))) {
        mvapich(&id, env);
    }
}
