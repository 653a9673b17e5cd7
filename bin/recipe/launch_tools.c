/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A table of options for each launcher. What has no meaning for hbrun is
 * listed, so that the user hears of it. */
#include "config.h"

#include "bin/recipe/launch_impl.h"

#include <string.h>

#include "bin/recipe/launch.h"
#include "lib/base/str.h"

static const struct hb_launch_option torch_options[] = {
    {"nnodes", 1, NODES, NULL, NULL},
    {"nproc-per-node", 1, PER_NODE, NULL, NULL},
    {"max-restarts", 1, MAX_RESTARTS, NULL, NULL},
    {"master-port", 1, MASTER_PORT, "port_master", NULL},
    {"rdzv-id", 1, NOTHING, NULL, NULL},
    {"rdzv-backend", 1, NOTHING, NULL, NULL},
    {"rdzv-endpoint", 1, NOTHING, NULL, NULL},
    {"rdzv-conf", 1, GIVE, "rdzv_conf", NULL},
    {"role", 1, GIVE, "role_name", NULL},
    {"monitor-interval", 1, NOTHING, NULL, NULL},
    {"start-method", 1, NOTHING, NULL, NULL},
    {"node-rank", 1, NOTHING, NULL, NULL},
    {"master-addr", 1, NOTHING, NULL, NULL},
    {"local-addr", 1, WITHOUT, NULL, NULL},
    {"standalone", 0, SWITCH, "nodes", "1"},
    {"module", 0, MODULE, NULL, NULL},
    {"m", 0, MODULE, NULL, NULL},
    {"no-python", 0, NO_PYTHON, NULL, NULL},
    {"use-env", 0, USE_ENV, NULL, NULL},
    {"run-path", 0, WITHOUT, NULL, NULL},
    {"log-dir", 1, WITHOUT, NULL, NULL},
    {"redirects", 1, WITHOUT, NULL, NULL},
    {"r", 1, WITHOUT, NULL, NULL},
    {"tee", 1, WITHOUT, NULL, NULL},
    {"t", 1, WITHOUT, NULL, NULL},
    {"local-ranks-filter", 1, WITHOUT, NULL, NULL},
    {"logs-specs", 1, WITHOUT, NULL, NULL},
    {"numa-binding", 1, WITHOUT, NULL, NULL},
    {"event-log-handler", 1, WITHOUT, NULL, NULL},
    {"signals-to-handle", 1, WITHOUT, NULL, NULL},
    {"virtual-local-rank", 0, WITHOUT, NULL, NULL},
    {"duplicate-stdout-filters", 1, WITHOUT, NULL, NULL},
    {"duplicate-stderr-filters", 1, WITHOUT, NULL, NULL},
    {NULL, 0, NOTHING, NULL, NULL}};

static const struct hb_launch_option deepspeed_options[] = {
    {"hostfile", 1, HOSTFILE, NULL, NULL},
    {"H", 1, HOSTFILE, NULL, NULL},
    {"include", 1, INCLUDE, NULL, NULL},
    {"i", 1, INCLUDE, NULL, NULL},
    {"exclude", 1, REFUSED, NULL, "name the hosts to use with --include"},
    {"e", 1, REFUSED, NULL, "name the hosts to use with --include"},
    {"num-nodes", 1, NODES, NULL, NULL},
    {"num-gpus", 1, PER_NODE, NULL, NULL},
    {"num-accelerators", 1, PER_NODE, NULL, NULL},
    {"master-port", 1, MASTER_PORT, "port_master", NULL},
    {"master-addr", 1, NOTHING, NULL, NULL},
    {"node-rank", 1, NOTHING, NULL, NULL},
    {"launcher", 1, NOTHING, NULL, NULL},
    {"launcher-args", 1, WITHOUT, NULL, NULL},
    {"ssh-port", 1, SSH_PORT, NULL, NULL},
    {"no-ssh", 0, NOTHING, NULL, NULL},
    {"no-ssh-check", 0, NOTHING, NULL, NULL},
    {"force-multi", 0, NOTHING, NULL, NULL},
    {"module", 0, MODULE, NULL, NULL},
    {"no-python", 0, NO_PYTHON, NULL, NULL},
    {"no-local-rank", 0, NO_LOCAL_RANK, NULL, NULL},
    {"save-pid", 0, WITHOUT, NULL, NULL},
    {"enable-each-rank-log", 1, WITHOUT, NULL, NULL},
    {"autotuning", 1, WITHOUT, NULL, NULL},
    {"bind-cores-to-rank", 0, WITHOUT, NULL, NULL},
    {"bind-core-list", 1, WITHOUT, NULL, NULL},
    {"elastic-training", 0, WITHOUT, NULL, NULL},
    {"min-elastic-nodes", 1, WITHOUT, NULL, NULL},
    {"max-elastic-nodes", 1, WITHOUT, NULL, NULL},
    {NULL, 0, NOTHING, NULL, NULL}};

static const struct hb_launch_option horovod_options[] = {
    {"np", 1, RANKS, NULL, NULL},
    {"num-proc", 1, RANKS, NULL, NULL},
    {"H", 1, HOSTS, NULL, NULL},
    {"hosts", 1, HOSTS, NULL, NULL},
    {"hostfile", 1, HOSTFILE, NULL, NULL},
    {"p", 1, SSH_PORT, NULL, NULL},
    {"ssh-port", 1, SSH_PORT, NULL, NULL},
    {"min-np", 1, MIN_RANKS, NULL, NULL},
    {"min-num-proc", 1, MIN_RANKS, NULL, NULL},
    {"max-np", 1, MAX_RANKS, NULL, NULL},
    {"max-num-proc", 1, MAX_RANKS, NULL, NULL},
    {"reset-limit", 1, WITHOUT, NULL, NULL},
    {"elastic-timeout", 1, NOTHING, NULL, NULL},
    {"slots-per-host", 1, PER_NODE, NULL, NULL},
    {"host-discovery-script", 1, DISCOVER, NULL, NULL},
    {"gloo", 0, SWITCH, "controller", "gloo"},
    {"mpi", 0, SWITCH, "controller", "mpi"},
    {"gloo-timeout-seconds", 1, VARIABLE, "HOROVOD_GLOO_TIMEOUT_SECONDS",
     NULL},
    {"network-interfaces", 1, INTERFACES, "HOROVOD_GLOO_IFACE", NULL},
    {"network-interface", 1, INTERFACES, "HOROVOD_GLOO_IFACE", NULL},
    {"fusion-threshold-mb", 1, MEGABYTES, "HOROVOD_FUSION_THRESHOLD", NULL},
    {"cycle-time-ms", 1, VARIABLE, "HOROVOD_CYCLE_TIME", NULL},
    {"cache-capacity", 1, VARIABLE, "HOROVOD_CACHE_CAPACITY", NULL},
    {"timeline-filename", 1, VARIABLE, "HOROVOD_TIMELINE", NULL},
    {"log-level", 1, VARIABLE, "HOROVOD_LOG_LEVEL", NULL},
    {"autotune", 0, TURN_ON, "HOROVOD_AUTOTUNE", NULL},
    {"autotune-log-file", 1, VARIABLE, "HOROVOD_AUTOTUNE_LOG", NULL},
    {"no-stall-check", 0, TURN_ON, "HOROVOD_STALL_CHECK_DISABLE", NULL},
    {"mpi-args", 1, WITHOUT, NULL, NULL},
    {"output-filename", 1, WITHOUT, NULL, NULL},
    {"config-file", 1, WITHOUT, NULL, NULL},
    {"start-timeout", 1, NOTHING, NULL, NULL},
    {"ssh-identity-file", 1, WITHOUT, NULL, NULL},
    {"disable-cache", 0, NOTHING, NULL, NULL},
    {"verbose", 0, NOTHING, NULL, NULL},
    {NULL, 0, NOTHING, NULL, NULL}};

static const struct hb_launch_tool tools[] = {
    {"torchrun", "torch", torch_options, 0, NULL, 0, NULL},
    {"torch.distributed.run", "torch", torch_options, 1, NULL, 0, NULL},
    {"torch.distributed.launch", "torch", torch_options, 1, "--local-rank", 0,
     NULL},
    {"horovodrun", "horovod", horovod_options, 0, NULL, 1, NULL},
    {"deepspeed", "deepspeed", deepspeed_options, 0, "--local_rank", 0,
     HB_LAUNCH_DEVICES},
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

const struct hb_launch_tool *hb_launch_find_tool(char *const *argv,
                                                 size_t *n_words)
{
    int python = argv[0] != NULL &&
                 hb_starts_with(base_name(argv[0]), "python");
    size_t at = 1;

    while (python && hb_streq(argv[at], "-u")) {
        at++;
    }
    python = python && hb_streq(argv[at], "-m") && argv[at + 1] != NULL;
    for (size_t i = 0; argv[0] != NULL && i < sizeof tools / sizeof *tools;
         i++) {
        const char *word = tools[i].is_module ? (python ? argv[at + 1] : NULL)
                                              : base_name(argv[0]);

        if (hb_streq(word, tools[i].name)) {
            *n_words = tools[i].is_module ? at + 2 : 1;
            return &tools[i];
        }
    }
    return NULL;
}

const char *hb_launch_tool(char *const *argv)
{
    size_t n;
    const struct hb_launch_tool *t = hb_launch_find_tool(argv, &n);

    return t != NULL ? t->name : NULL;
}

const struct hb_launch_option *
hb_launch_find_option(const struct hb_launch_tool *t, const char *word,
                      size_t len)
{
    for (const struct hb_launch_option *o = t->options; o->name != NULL; o++) {
        size_t i = 0;

        while (i < len && (word[i] == '_' ? '-' : word[i]) == o->name[i]) {
            i++;
        }
        if (i == len && o->name[i] == '\0') {
            return o;
        }
    }
    return NULL;
}
