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
    {"rdzv-backend", 1, RDZV_BACKEND, NULL, NULL},
    {"rdzv-endpoint", 1, RDZV_ENDPOINT, "port_master", NULL},
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
    {"log-line-prefix-template", 1, WITHOUT, NULL, NULL},
    {"shutdown-timeout", 1, WITHOUT, NULL, NULL},
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
    {"account", 1, WITHOUT, NULL, NULL},
    {"comment", 1, WITHOUT, NULL, NULL},
    {"venv-script", 1, WITHOUT, NULL, NULL},
    {"ssh-port", 1, SSH_PORT, NULL, NULL},
    {"no-ssh", 0, NOTHING, NULL, NULL},
    {"no-ssh-check", 0, NOTHING, NULL, NULL},
    {"force-multi", 0, NOTHING, NULL, NULL},
    {"module", 0, MODULE, NULL, NULL},
    {"no-python", 0, NO_PYTHON, NULL, NULL},
    {"no-local-rank", 0, NO_LOCAL_RANK, NULL, NULL},
    {"log-level", 1, NOTHING, NULL, NULL},
    {"quiet", 0, NOTHING, NULL, NULL},
    {"q", 0, NOTHING, NULL, NULL},
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
    {"n", 1, RANKS, NULL, NULL},
    {"num-proc", 1, RANKS, NULL, NULL},
    {"H", 1, HOSTS, NULL, NULL},
    {"hosts", 1, HOSTS, NULL, NULL},
    {"hostfile", 1, HOSTFILE, NULL, NULL},
    {"p", 1, SSH_PORT, NULL, NULL},
    {"ssh-port", 1, SSH_PORT, NULL, NULL},
    {"i", 1, WITHOUT, NULL, NULL},
    {"ssh-identity-file", 1, WITHOUT, NULL, NULL},
    {"min-np", 1, MIN_RANKS, NULL, NULL},
    {"min-num-proc", 1, MIN_RANKS, NULL, NULL},
    {"max-np", 1, MAX_RANKS, NULL, NULL},
    {"max-num-proc", 1, MAX_RANKS, NULL, NULL},
    {"reset-limit", 1, WITHOUT, NULL, NULL},
    {"elastic-timeout", 1, NOTHING, NULL, NULL},
    {"blacklist-cooldown-range", 2, WITHOUT, NULL, NULL},
    {"slots-per-host", 1, PER_NODE, NULL, NULL},
    {"host-discovery-script", 1, DISCOVER, NULL, NULL},
    {"gloo", 0, SWITCH, "controller", "gloo"},
    {"mpi", 0, SWITCH, "controller", "mpi"},
    {"jsrun", 0, WITHOUT, NULL, NULL},
    {"gloo-timeout-seconds", 1, VARIABLE, "HOROVOD_GLOO_TIMEOUT_SECONDS",
     NULL},
    {"network-interfaces", 1, INTERFACES, "HOROVOD_GLOO_IFACE", NULL},
    {"network-interface", 1, INTERFACES, "HOROVOD_GLOO_IFACE", NULL},
    {"fusion-threshold-mb", 1, MEGABYTES, "HOROVOD_FUSION_THRESHOLD", NULL},
    {"cycle-time-ms", 1, VARIABLE, "HOROVOD_CYCLE_TIME", NULL},
    {"cache-capacity", 1, VARIABLE, "HOROVOD_CACHE_CAPACITY", NULL},
    {"hierarchical-allreduce", 0, TURN, "HOROVOD_HIERARCHICAL_ALLREDUCE", "1"},
    {"no-hierarchical-allreduce", 0, TURN, "HOROVOD_HIERARCHICAL_ALLREDUCE",
     "0"},
    {"hierarchical-allgather", 0, TURN, "HOROVOD_HIERARCHICAL_ALLGATHER", "1"},
    {"no-hierarchical-allgather", 0, TURN, "HOROVOD_HIERARCHICAL_ALLGATHER",
     "0"},
    {"torus-allreduce", 0, TURN, "HOROVOD_TORUS_ALLREDUCE", "1"},
    {"no-torus-allreduce", 0, TURN, "HOROVOD_TORUS_ALLREDUCE", "0"},
    {"timeline-filename", 1, VARIABLE, "HOROVOD_TIMELINE", NULL},
    {"timeline-mark-cycles", 0, TURN, "HOROVOD_TIMELINE_MARK_CYCLES", "1"},
    {"no-timeline-mark-cycles", 0, TURN, "HOROVOD_TIMELINE_MARK_CYCLES", "0"},
    {"log-level", 1, VARIABLE, "HOROVOD_LOG_LEVEL", NULL},
    {"log-with-timestamp", 0, TURN, "HOROVOD_LOG_HIDE_TIME", "0"},
    {"no-log-hide-timestamp", 0, TURN, "HOROVOD_LOG_HIDE_TIME", "0"},
    {"log-without-timestamp", 0, TURN, "HOROVOD_LOG_HIDE_TIME", "1"},
    {"log-hide-timestamp", 0, TURN, "HOROVOD_LOG_HIDE_TIME", "1"},
    {"prefix-timestamp", 0, WITHOUT, NULL, NULL},
    {"prefix-output-with-timestamp", 0, WITHOUT, NULL, NULL},
    {"autotune", 0, TURN, "HOROVOD_AUTOTUNE", "1"},
    {"no-autotune", 0, TURN, "HOROVOD_AUTOTUNE", "0"},
    {"autotune-log-file", 1, VARIABLE, "HOROVOD_AUTOTUNE_LOG", NULL},
    {"autotune-warmup-samples", 1, VARIABLE, "HOROVOD_AUTOTUNE_WARMUP_SAMPLES",
     NULL},
    {"autotune-steps-per-sample", 1, VARIABLE,
     "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", NULL},
    {"autotune-bayes-opt-max-samples", 1, VARIABLE,
     "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", NULL},
    {"autotune-gaussian-process-noise", 1, VARIABLE,
     "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", NULL},
    {"no-stall-check", 0, TURN, "HOROVOD_STALL_CHECK_DISABLE", "1"},
    {"stall-check", 0, TURN, "HOROVOD_STALL_CHECK_DISABLE", "0"},
    {"stall-check-warning-time-seconds", 1, VARIABLE,
     "HOROVOD_STALL_CHECK_TIME_SECONDS", NULL},
    {"stall-check-shutdown-time-seconds", 1, VARIABLE,
     "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", NULL},
    {"mpi-threads-disable", 0, TURN, "HOROVOD_MPI_THREADS_DISABLE", "1"},
    {"no-mpi-threads-disable", 0, TURN, "HOROVOD_MPI_THREADS_DISABLE", "0"},
    {"num-nccl-streams", 1, VARIABLE, "HOROVOD_NUM_NCCL_STREAMS", NULL},
    {"thread-affinity", 1, VARIABLE, "HOROVOD_THREAD_AFFINITY", NULL},
    {"tcp", 0, TURN, "NCCL_IB_DISABLE", "1"},
    {"binding-args", 1, WITHOUT, NULL, NULL},
    {"mpi-args", 1, WITHOUT, NULL, NULL},
    {"output-filename", 1, WITHOUT, NULL, NULL},
    {"config-file", 1, WITHOUT, NULL, NULL},
    {"start-timeout", 1, NOTHING, NULL, NULL},
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

/* How many words of argv are Python and its options, up to the last word of
 * `-m MODULE`; 0: it is not so. Options may stand in one word (-um MODULE), and
 * those that have a value have it there (-Wignore) or in the next one. */
static size_t words_of_module(char *const *argv, const char **module_out)
{
    static const char with_value[] = "WXmc";

    if (argv[0] == NULL || !hb_starts_with(hb_base_name(argv[0]), "python")) {
        return 0;
    }
    for (size_t at = 1; argv[at] != NULL && argv[at][0] == '-'; at++) {
        const char *option = argv[at] + 1;

        option += hb_starts_with(option, "-") ? strlen(option)
                                              : strcspn(option, with_value);
        if (*option == '\0') {
            at += hb_streq(argv[at], "--check-hash-based-pycs") &&
                  argv[at + 1] != NULL;
            continue;
        }
        *module_out = option[1] != '\0' ? option + 1 : argv[++at];
        if (*option == 'm' || *option == 'c' || *module_out == NULL) {
            return *option == 'm' && *module_out != NULL ? at + 1 : 0;
        }
    }
    return 0;
}

const char *hb_launch_module(char *const *argv)
{
    const char *module = NULL;

    return words_of_module(argv, &module) > 0 ? module : NULL;
}

const struct hb_launch_tool *hb_launch_find_tool(char *const *argv,
                                                 size_t *n_words)
{
    const char *module = NULL;
    size_t words = words_of_module(argv, &module);

    for (size_t i = 0; argv[0] != NULL && i < sizeof tools / sizeof *tools;
         i++) {
        const char *word = !tools[i].is_module ? hb_base_name(argv[0])
                           : words > 0 ? module : NULL;

        if (hb_streq(word, tools[i].name)) {
            *n_words = tools[i].is_module ? words : 1;
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

static int begins_with(const struct hb_launch_option *o, const char *word,
                       size_t len)
{
    size_t i = 0;

    while (i < len && (word[i] == '_' ? '-' : word[i]) == o->name[i]) {
        i++;
    }
    return i == len;
}

const struct hb_launch_option *
hb_launch_find_option(const struct hb_launch_tool *t, const char *word,
                      size_t len)
{
    for (const struct hb_launch_option *o = t->options; o->name != NULL; o++) {
        if (begins_with(o, word, len) && o->name[len] == '\0') {
            return o;
        }
    }
    return NULL;
}

static int means_the_same(const struct hb_launch_option *a,
                          const struct hb_launch_option *b)
{
    return a->means == b->means && a->n_values == b->n_values &&
           hb_streq(a->to, b->to) && hb_streq(a->text, b->text);
}

const struct hb_launch_option *
hb_launch_find_beginning(const struct hb_launch_tool *t, const char *word,
                         size_t len, const struct hb_launch_option **other_out)
{
    const struct hb_launch_option *found = NULL;

    for (const struct hb_launch_option *o = t->options; o->name != NULL; o++) {
        if (len == 0 || !begins_with(o, word, len)) {
            continue;
        }
        if (found != NULL && !means_the_same(found, o)) {
            *other_out = o;
            break;
        }
        found = found != NULL ? found : o;
    }
    return found;
}
