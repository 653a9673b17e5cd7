/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What an operator gives a pod, with something wrong in it: the host is alone,
 * and its user is told what is wrong. */

#include "config.h"

#include "tests/unit/gang_pod.h"

static void assert_alone(const char *pod, const char *variables,
                         const char *why)
{
    struct hb_gang g = gather_pod(pod, variables);
    size_t at = 0;

    assert_string_equal(g.source, "this host");
    while (at < g.n_notes && strstr(g.notes[at], why) == NULL) {
        at++;
    }
    if (at == g.n_notes) {
        fail_msg("%s, %s: no note says \"%s\"", pod, variables, why);
    }
    assert_has(g.notes[at], "this host is alone");
    hb_gang_destroy(&g);
}

static void a_number_that_is_none_is_told_of(void **state)
{
    assert_alone("lws", "LWS_LEADER_ADDRESS=lws-0.lws LWS_GROUP_SIZE=0",
                 "LWS_GROUP_SIZE is \"0\", which is no number of hosts");
    assert_alone("lws", "LWS_LEADER_ADDRESS= LWS_GROUP_SIZE=2",
                 "LWS_LEADER_ADDRESS is empty");
    assert_alone("none", "COORDINATOR_ADDRESS=j-worker-0 COORDINATOR_PORT=1 "
                 "NUM_PROCESSES=2 PROCESS_ID=x",
                 "PROCESS_ID is \"x\", which is no index of a pod");
    assert_alone("none", "PADDLE_JOB_ID=p PADDLE_MASTER=p-worker-0:1 "
                 "PADDLE_NNODES=x", "PADDLE_NNODES is \"x\"");
    assert_alone("none", "MASTER_ADDR=x-master-0 WORKER_ADDRS=x-worker-0 "
                 "WORLD_SIZE=", "WORLD_SIZE is \"\"");
    assert_alone("trainer-torch", "JAX_NUM_PROCESSES=two JAX_PROCESS_ID=1 "
                 "JAX_COORDINATOR_ADDRESS=llm-node-0-0.llm:29500",
                 "JAX_NUM_PROCESSES is \"two\"");
    assert_alone("trainer-torch", "PET_NNODES=3 PET_NODE_RANK= "
                 "PET_MASTER_ADDR=llm-node-0-0.llm",
                 "PET_NODE_RANK is \"\", which is no index of a pod");
}

/* Of several pods whose names follow from the first one's. */
static void an_address_in_place_of_a_name_is_told_of(void **state)
{
    struct hb_gang g;

    assert_alone("none", "PET_NNODES=4 PET_NODE_RANK=0 "
                 "PET_MASTER_ADDR=10.0.0.1", "job of Kubeflow Trainer, but "
                 "PET_MASTER_ADDR is 10.0.0.1, not the name of a first pod");
    assert_alone("none", "PET_NNODES=4 PYTHONUNBUFFERED=1 "
                 "MASTER_ADDR=10.0.0.1", "the rendezvous is at 10.0.0.1, which "
                 "is no pod of a PyTorchJob");
    assert_alone("none", "JAX_NUM_PROCESSES=4 JAX_PROCESS_ID=0 "
                 "JAX_COORDINATOR_ADDRESS=10.0.0.1:29500",
                 "JAX_COORDINATOR_ADDRESS is 10.0.0.1:29500, not the name of a "
                 "first pod");
    assert_alone("none", "COORDINATOR_ADDRESS=fd00::1 COORDINATOR_PORT=6666 "
                 "NUM_PROCESSES=4 PROCESS_ID=0", "COORDINATOR_ADDRESS is "
                 "fd00::1, not a name that ends in -worker-0");
    assert_alone("none", "LWS_LEADER_ADDRESS=10.0.0.1 LWS_GROUP_SIZE=4 "
                 "LWS_WORKER_INDEX=0", "LWS_LEADER_ADDRESS is 10.0.0.1, an "
                 "address and not the leader's name");
    g = gather_pod("none", "PET_NNODES=1 PET_NODE_RANK=0 "
                   "PET_MASTER_ADDR=127.0.0.1 JAX_NUM_PROCESSES=1 "
                   "JAX_PROCESS_ID=0 JAX_COORDINATOR_ADDRESS=127.0.0.1:1");
    assert_string_equal(g.source, "this host");
    assert_int_equal(g.n_notes, 0);
    hb_gang_destroy(&g);
}

static void what_is_not_set_is_named(void **state)
{
    struct hb_gang g = gather_pod("none", "JAX_PROCESS_ID=1");
    int found = 0;

    assert_int_equal(g.n_notes, 0);
    for (size_t i = 0; i < g.n_passed; i++) {
        found |= strstr(g.passed_over[i], "JAX_NUM_PROCESSES, "
                        "JAX_COORDINATOR_ADDRESS are not set") != NULL;
    }
    assert_true(found);
    hb_gang_destroy(&g);
}

static void a_list_without_hosts_is_told_of(void **state)
{
    assert_alone("none", "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile",
                 "_default_hostfile names /etc/mpi/hostfile, which is not");
    assert_alone("volcano-empty",
                 "I_MPI_HYDRA_HOST_FILE=/etc/volcano/mpi_worker.host",
                 "mpi_worker.host (I_MPI_HYDRA_HOST_FILE) is empty");
    assert_alone("mpijob-v1-empty", "", "/etc/mpi/hostfile is empty: this "
                 "MPIJob has no workers, so this host is alone");
    assert_alone("trainer-empty", "", "/etc/mpi/hostfile is empty");
    assert_alone("volcano-empty", "", "no task of the job has pods");
    assert_alone("volcano", "HPCBOOT_TASKS=spare",
                 "the tasks that HPCBOOT_TASKS names (spare) have no pods");
}

static void what_is_right_is_not_told_of(void **state)
{
    static const char *const right[] = {
        "OMPI_MCA_orte_default_hostfile=/nosuch",
        "OMPI_MCA_orte_default_hostfile=no/such", "JOB_COMPLETION_INDEX=7",
        "JOB_COMPLETION_INDEX=7 HPCBOOT_GANG_SIZE=1"};

    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        struct hb_gang g = gather_pod("none", right[i]);

        assert_string_equal(g.source, "this host");
        assert_int_equal(g.n_notes, 0);
        hb_gang_destroy(&g);
    }
}

static void an_index_that_is_not_the_names_is_told_of(void **state)
{
    assert_alone("indexed-job", "JOB_COMPLETION_INDEX=1 HPCBOOT_GANG_SIZE=4",
                 "sim-3 does not end in JOB_COMPLETION_INDEX (1)");
    assert_alone("jobset", "JOB_COMPLETION_INDEX=1 HPCBOOT_GANG_SIZE=3",
                 "does not end in JOB_COMPLETION_INDEX (1)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_that_is_none_is_told_of),
        cmocka_unit_test(an_address_in_place_of_a_name_is_told_of),
        cmocka_unit_test(what_is_not_set_is_named),
        cmocka_unit_test(a_list_without_hosts_is_told_of),
        cmocka_unit_test(what_is_right_is_not_told_of),
        cmocka_unit_test(an_index_that_is_not_the_names_is_told_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
