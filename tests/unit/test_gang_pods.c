/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Gangs of Kubernetes operators, found from the files and variables that they
 * give their pods. */

#include "config.h"

#include "tests/unit/gang_pod.h"

#include "hostfile/mpijob_v1.h"

static void an_mpijob_v1_is_reached_by_its_own_command(void **state)
{
    struct hb_gang g = gather_pod("mpijob-v1", "");

    assert_gang(&g, "MPIJob v1", "pi-worker-0:4 pi-worker-1:4");
    assert_string_equal(g.launch_with, "/opt/kube/kubectl exec -i %h -- "
                                       "/bin/sh -c %a");
    hb_gang_destroy(&g);
    g = gather_pod("mpijob-v1-container", "");
    assert_string_equal(g.launch_with, "/opt/kube/kubectl exec -i %h "
                                       "--container main -- /bin/sh -c %a");
    hb_gang_destroy(&g);
}

static void assert_template(const char *script, const char *expected)
{
    char *text = hb_kubexec_template(script, strlen(script));

    assert_string_equal(text != NULL ? text : "(none)", expected);
    free(text);
}

static void a_kubexec_that_carries_input_is_used_itself(void **state)
{
    assert_template("kubectl exec -i ${POD_NAME} -- sh -c \"$*\"\n", "(none)");
    assert_template("", "(none)");
    assert_template("my-exec $1\n", "(none)");
}

static void the_last_command_of_a_kubexec_counts(void **state)
{
    assert_template("/k cp /etc/hosts ${POD_NAME}:/etc/hosts_of_nodes\n"
                    "/k exec ${POD_NAME} -- /bin/sh -c \"cat x; $*\"",
                    "/k exec -i %h -- /bin/sh -c %a");
}

#define TORCH "PET_NNODES=3 PET_NPROC_PER_NODE=2 PET_NODE_RANK=1 "          \
    "PET_MASTER_ADDR=llm-node-0-0.llm PET_MASTER_PORT=29500"

static void a_trainjob_of_torch_is_found(void **state)
{
    assert_pod("trainer-torch", TORCH, "Kubeflow Trainer, torch",
               "llm-node-0-0.llm:2 llm-node-0-1.llm:2* llm-node-0-2.llm:2");
    assert_pod("trainer-torch",
               "PET_NNODES=2 PET_NPROC_PER_NODE=auto PET_NODE_RANK=1 "
               "PET_MASTER_ADDR=llm-node-0-0.llm", "Kubeflow Trainer, torch",
               "llm-node-0-0.llm llm-node-0-1.llm*");
}

static void a_trainjob_of_jax_is_found(void **state)
{
    assert_pod("trainer-torch",
               "JAX_NUM_PROCESSES=2 JAX_PROCESS_ID=1 "
               "JAX_COORDINATOR_ADDRESS=llm-node-0-0.llm:29500",
               "Kubeflow Trainer, jax", "llm-node-0-0.llm llm-node-0-1.llm*");
}

static void a_jobset_needs_to_be_told_its_size(void **state)
{
    struct hb_gang g = gather_pod("jobset", "JOB_COMPLETION_INDEX=2");

    assert_string_equal(g.source, "this host");
    assert_int_equal(g.n_notes, 1);
    assert_has(g.notes[0], "a pod of JobSet js, which tells a pod its index "
               "but not how many there are: set HPCBOOT_GANG_SIZE");
    assert_has(g.notes[0], "-H 'js-work-0-[0-N].js'");
    hb_gang_destroy(&g);
    assert_pod("jobset", "JOB_COMPLETION_INDEX=2 HPCBOOT_GANG_SIZE=3", "JobSet",
               "js-work-0-0.js js-work-0-1.js js-work-0-2.js*");
}

static void a_size_is_that_of_the_pods_own_job(void **state)
{
    struct hb_gang g = gather_pod("jobset", "JOB_COMPLETION_INDEX=2 "
                                  "HPCBOOT_GANG_SIZE=3");

    assert_has(g.detail, "3 hosts in HPCBOOT_GANG_SIZE, the pods of Job "
               "js-work-0 (-H 'js-work-[0-N]-[0-M].js' names those of several "
               "Jobs), ");
    hb_gang_destroy(&g);
    g = gather_pod("indexed-job", "JOB_COMPLETION_INDEX=3 HPCBOOT_GANG_SIZE=4");
    assert_has(g.detail, "4 hosts in HPCBOOT_GANG_SIZE, the pods of Job sim, ");
    hb_gang_destroy(&g);
}

static void an_indexed_job_is_found(void **state)
{
    assert_pod("indexed-job", "JOB_COMPLETION_INDEX=3 HPCBOOT_GANG_SIZE=4",
               "Indexed Job", "sim-0.sim-peers sim-1.sim-peers "
               "sim-2.sim-peers sim-3.sim-peers*");
}

static void a_size_that_is_no_number_is_an_error(void **state)
{
    static const char *const pods[] = {"indexed-job", "lws"};

    for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
        char *pod = pod_path(pods[i]);
        struct hpcboot_error err;
        struct hb_gang g;

        assert_int_equal(gather_at(pod, "JOB_COMPLETION_INDEX=3 "
                                   "HPCBOOT_GANG_SIZE=4x", NULL, &g, &err),
                         HPCBOOT_ERR_USAGE);
        assert_has(err.text, "HPCBOOT_GANG_SIZE: needs a number of pods");
        assert_has(err.text, "not \"4x\"");
        hb_gang_destroy(&g);
        free(pod);
    }
}

static void a_size_that_leaves_this_pod_out_is_told_of(void **state)
{
    struct hb_gang g = gather_pod("indexed-job",
                                  "JOB_COMPLETION_INDEX=3 HPCBOOT_GANG_SIZE=2");

    assert_gang(&g, "Indexed Job", "sim-0.sim-peers sim-1.sim-peers");
    assert_has(g.notes[0], "HPCBOOT_GANG_SIZE is 2, and this pod has the "
               "index 3");
    hb_gang_destroy(&g);
}

static void a_worker_of_an_mpijob_is_alone_and_says_so(void **state)
{
    struct hb_gang g = gather_pod("none", "K_MPI_JOB_ROLE=worker");

    assert_string_equal(g.source, "this host");
    assert_int_equal(g.n_notes, 1);
    assert_has(g.notes[0], "a worker of an MPIJob");
    hb_gang_destroy(&g);
}

static void an_indexed_job_without_names_says_so(void **state)
{
    struct hb_gang g = gather_pod("indexed-job-nameless",
                                  "JOB_COMPLETION_INDEX=3 HPCBOOT_GANG_SIZE=4");

    assert_string_equal(g.source, "this host");
    assert_int_equal(g.n_notes, 1);
    assert_has(g.notes[0], "add a headless Service");
    hb_gang_destroy(&g);
}

static void a_size_that_no_gang_asks_for_is_told_of(void **state)
{
    struct hb_gang g = gather_pod("lws", "HPCBOOT_GANG_SIZE=4");

    assert_string_equal(g.source, "this host");
    assert_int_equal(g.n_notes, 1);
    assert_has(g.notes[0],
               "HPCBOOT_GANG_SIZE is set, but nothing here belongs");
    hb_gang_destroy(&g);
}

static void a_leader_worker_group_is_found(void **state)
{
    assert_pod("lws", "LWS_LEADER_ADDRESS=lws-0.lws.hpc LWS_GROUP_SIZE=3 "
               "LWS_WORKER_INDEX=1", "LeaderWorkerSet",
               "lws-0.lws.hpc lws-0-1.lws.hpc* lws-0-2.lws.hpc");
}

static void a_pytorchjob_is_found(void **state)
{
    assert_pod("pytorchjob",
               "PYTHONUNBUFFERED=1 MASTER_PORT=23456 PET_MASTER_PORT=23456 "
               "MASTER_ADDR=pt-master-0 PET_MASTER_ADDR=pt-master-0 "
               "WORLD_SIZE=32 RANK=2 PET_NODE_RANK=2 PET_NPROC_PER_NODE=8 "
               "PET_NNODES=4", "PyTorchJob",
               "pt-master-0:8 pt-worker-0:8 pt-worker-1:8* pt-worker-2:8");
}

static void an_elastic_pytorchjob_is_as_large_as_it_may_be(void **state)
{
    struct hb_gang g = gather_pod("pytorchjob",
        "PYTHONUNBUFFERED=1 PET_RDZV_ENDPOINT=pt-worker-0:23456 "
        "PET_RDZV_BACKEND=c10d PET_NNODES=1:2 PET_STANDALONE=");

    assert_gang(&g, "PyTorchJob", "pt-worker-0 pt-worker-1*");
    assert_int_equal(g.n_notes, 1);
    hb_gang_destroy(&g);
}

static void an_elastic_pytorchjob_that_meets_elsewhere_is_told_of(void **state)
{
    struct hb_gang g = gather_pod("pytorchjob",
        "PYTHONUNBUFFERED=1 PET_RDZV_ENDPOINT=etcd:2379 "
        "PET_RDZV_BACKEND=etcd PET_NNODES=3");

    assert_string_equal(g.source, "this host");
    assert_int_equal(g.n_notes, 1);
    assert_has(g.notes[0], "the rendezvous is at etcd");
    hb_gang_destroy(&g);
}

static void an_mpijob_of_an_unknown_role_is_told_of(void **state)
{
    struct hb_gang g = gather_pod("none", "K_MPI_JOB_ROLE=Launcher");

    assert_string_equal(g.source, "this host");
    assert_int_equal(g.n_notes, 1);
    assert_has(g.notes[0], "neither launcher nor worker, so this host is");
    hb_gang_destroy(&g);
}

static void torch_pods_without_a_number_are_told_of(void **state)
{
    static const char *const texts[] = {
        "PYTHONUNBUFFERED=1 MASTER_ADDR=pt-master-0 PET_NNODES=%s",
        "PET_NNODES=%s PET_NODE_RANK=1 PET_MASTER_ADDR=llm-node-0-0.llm",
    };
    static const char *const numbers[] = {"many", "0", "x:2", "3:2", "2:"};

    for (size_t i = 0; i < 10; i++) {
        char *env = hb_xasprintf(texts[i % 2], numbers[i / 2]);
        char *words = hb_xasprintf("PET_NNODES is \"%s\", which is no number",
                                   numbers[i / 2]);
        struct hb_gang g = gather_pod("none", env);

        assert_string_equal(g.source, "this host");
        assert_has(passed_over(&g, i % 2 == 0 ? "PyTorchJob"
                                              : "Kubeflow Trainer, torch"),
                   words);
        assert_int_equal(g.n_notes, 1);
        assert_has(g.notes[0], words);
        hb_gang_destroy(&g);
        free(words);
        free(env);
    }
}

static void a_number_beyond_the_gang_is_an_error(void **state)
{
    static const char *const texts[] = {
        "PET_NNODES=3 PET_NODE_RANK=3 PET_MASTER_ADDR=llm-node-0-0.llm",
        "JAX_NUM_PROCESSES=3 JAX_PROCESS_ID=3 "
        "JAX_COORDINATOR_ADDRESS=l-node-0-0.l:2",
        "NUM_PROCESSES=3 PROCESS_ID=3 COORDINATOR_ADDRESS=jj-worker-0 "
        "COORDINATOR_PORT=6",
        "LWS_LEADER_ADDRESS=lws-0.lws.hpc LWS_GROUP_SIZE=3 LWS_WORKER_INDEX=3",
        "PYTHONUNBUFFERED=1 MASTER_ADDR=p-master-0 PET_NNODES=3 PET_NODE_RANK=3"
    };
    char *pod = pod_path("none");
    struct hpcboot_error err;
    struct hb_gang g;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_true(gather_at(pod, texts[i], NULL, &g, &err) < 0);
        assert_has(err.text, "is 3, and pods of a gang of 3 (");
        hb_gang_destroy(&g);
    }
    free(pod);
}

static void torch_variables_of_other_origin_are_passed_over(void **state)
{
    struct hb_gang g = gather_pod("none",
        "PYTHONUNBUFFERED=1 MASTER_ADDR=10.0.0.1 PET_NNODES=4 RANK=0 "
        "WORLD_SIZE=4");

    assert_string_equal(g.source, "this host");
    assert_has(passed_over(&g, "PyTorchJob"), "10.0.0.1");
    hb_gang_destroy(&g);
}

static void an_xgboostjob_is_found(void **state)
{
    assert_pod("none", "MASTER_PORT=9999 MASTER_ADDR=xg-master-0 WORLD_SIZE=3 "
               "RANK=0 PYTHONUNBUFFERED=1 WORKER_PORT=9999 "
               "WORKER_ADDRS=xg-worker-0,xg-worker-1", "XGBoostJob",
               "xg-master-0 xg-worker-0 xg-worker-1");
}

static void a_jaxjob_is_found(void **state)
{
    assert_pod("none", "COORDINATOR_PORT=6666 COORDINATOR_ADDRESS=jj-worker-0 "
               "NUM_PROCESSES=2 PROCESS_ID=1", "JAXJob",
               "jj-worker-0 jj-worker-1*");
}

static void a_paddlejob_is_found_on_any_rank(void **state)
{
    assert_pod("none", "PADDLE_JOB_ID=pd PADDLE_NNODES=2 "
               "PADDLE_MASTER=10.1.2.3:36543 POD_IP_DUMMY=10.1.2.3",
               "PaddleJob", "pd-worker-0 pd-worker-1");
    assert_pod("none", "PADDLE_JOB_ID=pd PADDLE_NNODES=2 "
               "PADDLE_MASTER=pd-worker-0:36543", "PaddleJob",
               "pd-worker-0 pd-worker-1");
}

static void a_paddlejob_with_servers_says_what_is_unknown(void **state)
{
    struct hb_gang g = gather_pod("none",
        "PADDLE_JOB_ID=pd PADDLE_NNODES=3 PADDLE_MASTER=pd-master-0:36543 "
        "PADDLE_TRAINER_NUM=1");

    assert_string_equal(g.source, "this host");
    assert_has(g.notes[0], "how many of its 3 pods are masters");
    hb_gang_destroy(&g);
}

static void a_ray_pod_says_that_only_the_head_has_a_name(void **state)
{
    struct hb_gang g = gather_pod("none",
        "RAY_CLUSTER_NAME=rc KUBERAY_GEN_RAY_START_CMD=ray-start "
        "FQ_RAY_IP=rc-head-svc.hpc.svc.cluster.local");

    assert_string_equal(g.source, "this host");
    assert_has(passed_over(&g, "KubeRay"), "only the head has a name");
    assert_has(g.notes[0], "rc-head-svc");
    assert_has(g.notes[0], "verbs get, list and watch on pods");
    hb_gang_destroy(&g);
}

/* What torchrun's words for a number of processes mean. */
static void torchs_words_for_slots_are_understood(void **state)
{
    static const struct {
        const char *text;
        int slots;
        enum hb_count count;
    } cases[] = {
        {"8", 8, HB_COUNT_UNSAID},
        {"auto", 0, HB_COUNT_GPUS_ELSE_CORES},
        {"gpu", 0, HB_COUNT_GPUS},
        {"cpu", 0, HB_COUNT_CORES},
        {"xpu", 0, HB_COUNT_UNSAID},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *env = hb_xasprintf("PET_NNODES=2 PET_NODE_RANK=1 "
                                 "PET_MASTER_ADDR=llm-node-0-0.llm "
                                 "PET_NPROC_PER_NODE=%s", cases[i].text);
        struct hb_gang g = gather_pod("trainer-torch", env);
        assert_int_equal(g.hosts[1].slots, cases[i].slots);
        assert_int_equal(g.hosts[1].count, cases[i].count);
        hb_gang_destroy(&g);
        free(env);
    }
}

#ifdef HAVE_JANSSON
#define TF_POD "KUBERNETES_SERVICE_HOST=10.96.0.1 TF_CONFIG="
#define TF_TWO "{\"cluster\":{\"worker\":[\"tf-0:2222\",\"tf-1:2222\"]}," \
    "\"task\":{\"type\":\"worker\",\"index\":0}"

static void a_tfjob_is_found(void **state)
{
    assert_pod("tfjob", "PYTHONUNBUFFERED=1 TF_CONFIG={\"cluster\":{\"ps\":["
               "\"tf-ps-0.hpc.svc:2222\"],\"worker\":[\"tf-worker-0.hpc.svc:"
               "2222\",\"tf-worker-1.hpc.svc:2222\"]},\"task\":{\"type\":"
               "\"worker\",\"index\":0},\"environment\":\"cloud\"}", "TFJob",
               "tf-worker-0.hpc.svc* tf-worker-1.hpc.svc tf-ps-0.hpc.svc");
}

static void a_tfjob_with_dynamic_workers_is_found(void **state)
{
    struct hb_gang g = gather_pod("none",
        TF_POD "{\"cluster\":{\"worker\":{\"1\":"
        "\"tf-worker-1.hpc.svc:2222\"},\"ps\":[\"tf-ps-0.hpc.svc:2222\"]},"
        "\"task\":{\"type\":\"worker\",\"index\":1}}");

    assert_gang(&g, "TFJob", "tf-worker-1.hpc.svc tf-ps-0.hpc.svc");
    assert_int_equal(g.n_notes, 1);
    hb_gang_destroy(&g);
}

static void a_tf_config_that_is_no_json_is_passed_over(void **state)
{
    static const char *const texts[] = {
        "{", "[]", "{}", "{\"cluster\":1,\"task\":{}}",
        "{\"cluster\":{\"worker\":1},\"task\":{},\"environment\":1}",
        "{\"cluster\":{\"worker\":[1]},\"task\":{},\"environment\":1}",
        "{\"cluster\":{\"worker\":[",
        "{\"cluster\":{\"worker\":[\"a:1\"]},\"task\":{}}"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *env = hb_xasprintf(TF_POD "%s", texts[i]);
        struct hb_gang g = gather_pod("none", env);
        assert_string_equal(g.source, "this host");
        assert_has(passed_over(&g, "TFJob"), "TF_CONFIG");
        assert_int_equal(g.n_notes, i >= 3 && i < 7); /* the last is whole */
        hb_gang_destroy(&g);
        free(env);
    }
}

/* As a program's user sets it in a shell or in a script for a batch system. */
static void a_tf_config_of_other_origin_is_passed_over(void **state)
{
    static const char *const envs[] = {
        "TF_CONFIG=" TF_TWO ",\"environment\":\"cloud\"}",
        "TF_CONFIG={\"cluster\":1}",
        TF_POD TF_TWO ",\"environment\":\"google\"}"};

    for (size_t i = 0; i < sizeof(envs) / sizeof(envs[0]); i++) {
        struct hb_gang g = gather_pod("none", envs[i]);
        assert_string_equal(g.source, "this host");
        assert_has(passed_over(&g, "TFJob"), "TF_CONFIG is ");
        assert_int_equal(g.n_notes, 0);
        hb_gang_destroy(&g);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_mpijob_v1_is_reached_by_its_own_command),
        cmocka_unit_test(a_kubexec_that_carries_input_is_used_itself),
        cmocka_unit_test(the_last_command_of_a_kubexec_counts),
        cmocka_unit_test(a_trainjob_of_torch_is_found),
        cmocka_unit_test(a_trainjob_of_jax_is_found),
        cmocka_unit_test(a_jobset_needs_to_be_told_its_size),
        cmocka_unit_test(a_size_is_that_of_the_pods_own_job),
        cmocka_unit_test(an_indexed_job_is_found),
        cmocka_unit_test(a_size_that_is_no_number_is_an_error),
        cmocka_unit_test(a_size_that_leaves_this_pod_out_is_told_of),
        cmocka_unit_test(a_worker_of_an_mpijob_is_alone_and_says_so),
        cmocka_unit_test(an_indexed_job_without_names_says_so),
        cmocka_unit_test(a_size_that_no_gang_asks_for_is_told_of),
        cmocka_unit_test(a_leader_worker_group_is_found),
        cmocka_unit_test(a_pytorchjob_is_found),
        cmocka_unit_test(an_elastic_pytorchjob_is_as_large_as_it_may_be),
        cmocka_unit_test(an_elastic_pytorchjob_that_meets_elsewhere_is_told_of),
        cmocka_unit_test(an_mpijob_of_an_unknown_role_is_told_of),
        cmocka_unit_test(torch_pods_without_a_number_are_told_of),
        cmocka_unit_test(a_number_beyond_the_gang_is_an_error),
        cmocka_unit_test(torch_variables_of_other_origin_are_passed_over),
        cmocka_unit_test(an_xgboostjob_is_found),
        cmocka_unit_test(a_jaxjob_is_found),
        cmocka_unit_test(a_paddlejob_is_found_on_any_rank),
        cmocka_unit_test(a_paddlejob_with_servers_says_what_is_unknown),
        cmocka_unit_test(a_ray_pod_says_that_only_the_head_has_a_name),
        cmocka_unit_test(torchs_words_for_slots_are_understood),
#ifdef HAVE_JANSSON
        cmocka_unit_test(a_tfjob_is_found),
        cmocka_unit_test(a_tfjob_with_dynamic_workers_is_found),
        cmocka_unit_test(a_tf_config_that_is_no_json_is_passed_over),
        cmocka_unit_test(a_tf_config_of_other_origin_is_passed_over),
#endif
    };

    use_built_modules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
