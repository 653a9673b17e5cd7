/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Pods that use the network of their node (hostNetwork: true): host name and
 * /etc/hosts are the node's, and each finds itself in its gang all the same. */

#include "config.h"

#include "tests/unit/gang_pod.h"

#include "tests/unit/podtoken.h"
#include "tests/unit/tree.h"

#define TOKEN "var/run/secrets/kubernetes.io/serviceaccount/token"

static char root[256];

static int setup(void **state)
{
    tree_create(root, sizeof(root));
    tree_write(root, "etc/hostname", "node7\n");
    tree_write(root, "etc/hosts",
               "# Kubernetes-managed hosts file (host network).\n"
               "127.0.0.1 localhost\n192.0.2.7 node7.example.org node7\n");
    return 0;
}

static int teardown(void **state)
{
    tree_remove(root);
    return 0;
}

/* A build without jansson does not read it. */
static void write_token(const char *pod, const char *space)
{
#ifdef HAVE_JANSSON
    char *text = pod_token(pod, space);

    tree_write(root, TOKEN, text);
    free(text);
#else
    print_message("# built without jansson\n");
    skip();
#endif
}

static void write_volcano(void)
{
    tree_write(root, "etc/volcano/mpimaster.host", "lm-mpimaster-0.lm");
    tree_write(root, "etc/volcano/mpi_worker.host",
               "lm-mpi-worker-0.lm\nlm-mpi-worker-1.lm");
}

static void assert_found(const char *env, const char *source,
                         const char *hosts)
{
    struct hpcboot_error err = {0};
    struct hb_gang g;

    if (gather_at(root, env, NULL, &g, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_gang(&g, source, hosts);
    hb_gang_destroy(&g);
}

static void a_volcano_master_on_its_nodes_network_runs_no_ranks(void **state)
{
    write_volcano();
    write_token("lm-mpimaster-0", "hpc");
    assert_found("", "Volcano Job", "lm-mpi-worker-0.lm lm-mpi-worker-1.lm");
}

static void a_volcano_worker_on_its_nodes_network_is_itself(void **state)
{
    write_volcano();
    write_token("lm-mpi-worker-1", "hpc");
    assert_found("", "Volcano Job", "lm-mpi-worker-0.lm lm-mpi-worker-1.lm*");
}

static void a_volcano_pod_that_does_not_know_itself_is_told_of(void **state)
{
    struct hb_gang g;

    write_volcano();
    assert_int_equal(gather_at(root, "VC_TASK_INDEX=0", NULL, &g, NULL), 0);
    assert_int_equal(g.n_notes, 1);
    assert_has(g.notes[0], "its host name, node7, is none of the job's hosts");
    hb_gang_destroy(&g);
    assert_int_equal(gather_at(root, "VC_TASK_INDEX=0 HPCBOOT_TASKS=mpi-worker",
                               NULL, &g, NULL), 0);
    assert_int_equal(g.n_notes, 0);
    hb_gang_destroy(&g);
}

static void a_jobs_pod_has_a_random_word_behind_its_host_name(void **state)
{
    tree_write(root, "etc/mpi/hostfile", "pi-launcher.pi.hpc.svc slots=1\n"
                                         "pi-worker-0.pi.hpc.svc slots=1\n");
    write_token("pi-launcher-x7k2p", "hpc");
    assert_found("K_MPI_JOB_ROLE=launcher "
                 "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile",
                 "MPI Operator", "pi-launcher.pi.hpc.svc:1* "
                 "pi-worker-0.pi.hpc.svc:1");
}

static void assert_named(const char *list, const char *hosts)
{
    struct hb_gang g;

    assert_int_equal(gather_at(root, "", list, &g, NULL), HPCBOOT_OK);
    assert_gang(&g, "-H", hosts);
    hb_gang_destroy(&g);
}

static void a_pod_of_that_name_elsewhere_is_another(void **state)
{
    write_token("lm-worker-0", "hpc");
    assert_named("lm-worker-0,lm-worker-0.lm.ai,lm-worker-0.lm.hpc",
                 "lm-worker-0:1* lm-worker-0.lm.ai:1 lm-worker-0.lm.hpc:1*");
    assert_named("LM-worker-0.hpc.svc,lm-worker-0.lm.ai.svc.x.org,"
                 "lm-worker-0.ai.svc,lm-worker-0.lm.hpc.svc.x.org.",
                 "LM-worker-0.hpc.svc:1* lm-worker-0.lm.ai.svc.x.org:1 "
                 "lm-worker-0.ai.svc:1 lm-worker-0.lm.hpc.svc.x.org.:1*");
    assert_named("lm-worker,lm-worker-00,lm-worker-0.example.org",
                 "lm-worker:1 lm-worker-00:1 lm-worker-0.example.org:1");
}

static void a_token_that_names_no_pod_tells_nothing(void **state)
{
    static const char *const tokens[] = {"", "secret", "a.b.c", "a.e30.c",
                                         "a.eyJrdWJlcm5ldGVzLmlvIjozfQ.c"};

    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        tree_write(root, TOKEN, tokens[i]);
        assert_named("lm-worker-0,node7", "lm-worker-0:1 node7:1*");
    }
}

static void the_index_tells_where_the_name_does_not(void **state)
{
    assert_found("PET_NNODES=2 PET_NODE_RANK=1 "
                 "PET_MASTER_ADDR=llm-node-0-0.llm", "Kubeflow Trainer, torch",
                 "llm-node-0-0.llm llm-node-0-1.llm*");
    assert_found("PYTHONUNBUFFERED=1 MASTER_ADDR=p-master-0 PET_NNODES=3 "
                 "PET_NODE_RANK=2", "PyTorchJob",
                 "p-master-0 p-worker-0 p-worker-1*");
    assert_found("JAX_NUM_PROCESSES=2 JAX_PROCESS_ID=0 "
                 "JAX_COORDINATOR_ADDRESS=l-node-0-0.l:2",
                 "Kubeflow Trainer, jax", "l-node-0-0.l* l-node-0-1.l");
    assert_found("LWS_LEADER_ADDRESS=lws-0.lws.hpc LWS_GROUP_SIZE=2 "
                 "LWS_WORKER_INDEX=1", "LeaderWorkerSet",
                 "lws-0.lws.hpc lws-0-1.lws.hpc*");
}

static void a_name_goes_before_an_index(void **state)
{
    write_token("llm-node-0-0-x7k2p", "hpc");
    assert_found("PET_NNODES=2 PET_NODE_RANK=1 "
                 "PET_MASTER_ADDR=llm-node-0-0.llm", "Kubeflow Trainer, torch",
                 "llm-node-0-0.llm* llm-node-0-1.llm");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_volcano_master_on_its_nodes_network_runs_no_ranks),
        T(a_volcano_worker_on_its_nodes_network_is_itself),
        T(a_jobs_pod_has_a_random_word_behind_its_host_name),
        T(a_pod_of_that_name_elsewhere_is_another),
        T(a_name_goes_before_an_index),
        T(a_volcano_pod_that_does_not_know_itself_is_told_of),
        T(a_token_that_names_no_pod_tells_nothing),
        T(the_index_tells_where_the_name_does_not),
    };

    use_built_modules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
