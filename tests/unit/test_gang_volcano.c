/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Gangs of Volcano Jobs, found from the files and variables that its plugins
 * give the pods. */

#include "config.h"

#include "tests/unit/gang_pod.h"

#include "hostfile/volcano.h"
#include "tests/unit/tree.h"

static char root[256];

static int setup(void **state)
{
    tree_create(root, sizeof(root));
    return 0;
}

static int teardown(void **state)
{
    tree_remove(root);
    return 0;
}

#define VC_ENV "VC_TASK_INDEX=0 VC_MPIMASTER_HOSTS=lm-mpimaster-0.lm "      \
    "VC_MPI_WORKER_HOSTS=lm-mpi-worker-0.lm,lm-mpi-worker-1.lm"

static void a_volcano_master_finds_its_workers(void **state)
{
    struct hb_gang g = gather_pod("volcano", "HOME=/root VC_TASK_INDEX=0");

    assert_gang(&g, "Volcano Job", "lm-mpi-worker-0.lm lm-mpi-worker-1.lm");
    assert_int_equal(g.operator_made, 1);
    assert_true(hb_ends_with(g.gang_key, "/volcano/root/.ssh/id_rsa"));
    assert_int_equal(g.hosts[0].port, 0);
    assert_int_equal(g.n_notes, 0);
    assert_string_equal(g.hosts[1].origin, "/etc/volcano/mpi_worker.host:2");
    hb_gang_destroy(&g);
}

static void the_ssh_plugins_port_is_that_of_every_host(void **state)
{
    struct hb_gang g = gather_pod("volcano-port", "HOME=/root");

    assert_int_equal(g.hosts[0].port, 2222);
    assert_int_equal(g.hosts[1].port, 2222);
    hb_gang_destroy(&g);
}

static void a_volcano_worker_finds_its_own_task(void **state)
{
    assert_pod("volcano-worker", "", "Volcano Job",
               "lm-mpi-worker-0.lm lm-mpi-worker-1.lm*");
}

static void volcano_tasks_can_be_named(void **state)
{
    struct hb_gang g;
    struct hpcboot_error err;
    char *pod = pod_path("volcano");

    assert_pod("volcano", "HPCBOOT_TASKS=mpimaster,mpi-worker", "Volcano Job",
               "lm-mpi-worker-0.lm lm-mpi-worker-1.lm lm-mpimaster-0.lm*");
    assert_int_equal(gather_at(pod, "HPCBOOT_TASKS=none", NULL, &g, &err),
                     HPCBOOT_ERR_NOT_FOUND);
    assert_has(err.text, "no task none");
    hb_gang_destroy(&g);
    free(pod);
}

static void volcano_variables_do_without_files(void **state)
{
    struct hb_gang g;

    tree_write(root, "etc/hostname", "lm-mpimaster-0\n");
    tree_write(root, "etc/hosts", "10.1.0.7 lm-mpimaster-0.lm.hpc.svc.x "
                                  "lm-mpimaster-0\n");
    assert_int_equal(gather_at(root, VC_ENV, NULL, &g, NULL), HPCBOOT_OK);
    assert_gang(&g, "Volcano Job", "lm-mpi-worker-0.lm lm-mpi-worker-1.lm");
    assert_string_equal(g.hosts[1].origin, "VC_MPI_WORKER_HOSTS:2");
    hb_gang_destroy(&g);
}

/* Without the file of its workers a master would be alone. */
static void a_task_that_cannot_be_read_is_an_error(void **state)
{
    struct hpcboot_error err = {0};
    struct hb_gang g;

    tree_write(root, "etc/hostname", "lm-master-0\n");
    tree_write(root, "etc/volcano/master.host", "lm-master-0.lm");
    tree_write(root, "etc/volcano/worker.host/name", "lm-worker-0.lm");
    assert_int_equal(gather_at(root, "", NULL, &g, &err), HPCBOOT_ERR_SYSTEM);
    assert_has(err.text, "Volcano Job: cannot read ");
    assert_has(err.text, "/etc/volcano/worker.host: Is a directory");
    hb_gang_destroy(&g);
}

static void a_task_whose_file_is_taken_away_is_none(void **state)
{
    struct hb_gang g;
    char *link = hb_xasprintf("%s/etc/volcano/gone.host", root);

    tree_write(root, "etc/hostname", "lm-master-0\n");
    tree_write(root, "etc/volcano/worker.host", "lm-worker-0.lm");
    assert_int_equal(symlink("..data/gone.host", link), 0);
    assert_int_equal(gather_at(root, "", NULL, &g, NULL), HPCBOOT_OK);
    assert_gang(&g, "Volcano Job", "lm-worker-0.lm");
    hb_gang_destroy(&g);
    free(link);
}

static void mpi_host_names_the_workers_of_any_pod(void **state)
{
    assert_pod("volcano-worker",
               "MPI_HOST=lm-mpi-worker-0.lm,lm-mpi-worker-1.lm", "Volcano Job",
               "lm-mpi-worker-0.lm lm-mpi-worker-1.lm*");
    assert_pod("mpijob-v1-container/none",
               "MPI_HOST=lm-worker-0.lm,lm-worker-1.lm", "Volcano Job",
               "lm-worker-0.lm lm-worker-1.lm");
}

static void an_mpi_host_of_other_origin_is_passed_over(void **state)
{
    struct hb_gang g = gather_pod("none", "MPI_HOST=a,b.c");

    assert_string_equal(g.source, "this host");
    hb_gang_destroy(&g);
}

static void volcanos_files_are_believed_over_variables(void **state)
{
    struct hb_gang g = gather_pod("volcano", "MPI_HOST=lm-mpi-worker-0.lm");

    assert_gang(&g, "Volcano Job", "lm-mpi-worker-0.lm lm-mpi-worker-1.lm");
    assert_int_equal(g.n_notes, 1);
    assert_has(g.notes[0], "/etc/volcano/mpi_worker.host and MPI_HOST name "
               "different hosts; the file is believed");
    hb_gang_destroy(&g);
}

static void a_shared_host_name_is_told(void **state)
{
    struct hb_gang g = gather_pod("volcano-shared-name", "");

    assert_gang(&g, "Volcano Job", "node.lm");
    assert_int_equal(g.n_notes, 1);
    assert_has(g.notes[0], "task worker sets a host name of its own, node.lm");
    hb_gang_destroy(&g);
}

static void a_volcano_pod_without_names_says_what_would_help(void **state)
{
    struct hb_gang g = gather_pod("none", "VC_TASK_INDEX=2 VK_TASK_INDEX=2");

    assert_string_equal(g.source, "this host");
    assert_has(passed_over(&g, "Volcano Job"), "VC_TASK_INDEX is set");
    assert_int_equal(g.n_notes, 1);
    assert_has(g.notes[0], "\"svc: []\"");
    hb_gang_destroy(&g);
}

static struct hb_vc_task task(const char *name, const char *first, size_t n,
                              int own)
{
    return (struct hb_vc_task){.name = (char *)name, .first = (char *)first,
                               .n = n, .own = own};
}

static void of_two_single_pods_the_one_called_master_is_it(void **state)
{
    struct hb_vc_task tasks[] = {task("launcher", "j-launcher-0.j", 1, 0),
                                 task("w", "j-w-0.j", 1, 1)};
    struct hb_vc_job job = {.tasks = tasks, .n = 2};
    struct hb_vc_said said = {.tasks = NULL};
    const char *why;

    assert_int_equal(hb_vc_choose(&job, &said, &why, NULL), 1);
    assert_int_equal(tasks[1].chosen, 1);
    tasks[0].own = 1;
    tasks[1].own = 0;
    said.mpi_host = "";
    assert_int_equal(hb_vc_choose(&job, &said, &why, NULL), 1);
    assert_int_equal(tasks[1].chosen, 1);
}

static void who_has_no_such_task_is_told_by_its_own_name(void **state)
{
    struct hb_vc_task tasks[] = {task("l", "a", 1, 1), task("w", "b", 2, 0)};
    struct hb_vc_job job = {.tasks = tasks, .n = 2};
    struct hb_vc_said said = {.whose = "JobSet", .tasks = "wrkr"};
    struct hpcboot_error err = {0};
    const char *why;

    hb_vc_choose(&job, &said, &why, &err);
    assert_string_equal(err.text, "HPCBOOT_TASKS: this JobSet has no task "
                        "wrkr, but l, w");
    said.whose = "Job";
    tasks[0].name = (char *)"";
    job.n = 1;
    hb_vc_choose(&job, &said, &why, &err);
    assert_string_equal(err.text, "HPCBOOT_TASKS: this Job has no task wrkr, "
                        "and none that has a name");
}

static void a_pod_outside_the_job_sees_all_tasks(void **state)
{
    struct hb_vc_task tasks[] = {task("a", "j-a-0.j", 2, 0),
                                 task("b", "j-b-0.j", 3, 0)};
    struct hb_vc_job job = {.tasks = tasks, .n = 2};
    const struct hb_vc_said said = {.tasks = NULL};
    const char *why;

    assert_int_equal(hb_vc_choose(&job, &said, &why, NULL), 2);
}

static void a_volcano_job_with_the_ray_plugin_has_names(void **state)
{
    assert_pod("volcano-ray", "", "Volcano Job", "rj-worker-0.rj "
               "rj-worker-1.rj");
    assert_pod("volcano-ray", "HPCBOOT_TASKS=head,worker", "Volcano Job",
               "rj-head-0.rj* rj-worker-0.rj rj-worker-1.rj");
}

/* The pod `name` of a Job with these tasks. */
static void in_task(const char *name, const char *const files[][2])
{
    char *line = hb_xasprintf("10.1.0.7 %s.pt.hpc.svc.x %s\n", name, name);

    tree_write(root, "etc/hostname", name);
    tree_write(root, "etc/hosts", line);
    free(line);
    for (size_t i = 0; files[i][0] != NULL; i++) {
        char *path = hb_xasprintf("etc/volcano/%s.host", files[i][0]);

        tree_write(root, path, files[i][1]);
        free(path);
    }
}

static void assert_hosts(const char *env, const char *source,
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

#define TORCH "MASTER_ADDR=pt-zero-0.pt MASTER_PORT=23456 WORLD_SIZE=3 "

/* The plugin's numbers: the master is first, wherever its task stands. */
static const char *const torch_job[][2] = {
    {"board", "pt-board-0.pt\npt-board-1.pt\npt-board-2.pt"},
    {"worker", "pt-worker-0.pt\npt-worker-1.pt"},
    {"zero", "pt-zero-0.pt"},
    {NULL, NULL}};

static void the_pytorch_plugins_master_computes_and_is_the_first(void **state)
{
    in_task("pt-zero-0", torch_job);
    assert_hosts(TORCH "RANK=0", "Volcano Job, torch",
                 "pt-zero-0.pt* pt-worker-0.pt pt-worker-1.pt");
    in_task("pt-worker-1", torch_job);
    assert_hosts(TORCH "RANK=2", "Volcano Job, torch",
                 "pt-zero-0.pt pt-worker-0.pt pt-worker-1.pt*");
    /* A worker that knows another size than its file. */
    assert_hosts("MASTER_ADDR=pt-zero-0.pt WORLD_SIZE=2 RANK=2",
                 "Volcano Job, torch",
                 "pt-zero-0.pt pt-worker-0.pt pt-worker-1.pt*");
}

static void a_pod_that_the_pytorch_plugin_gives_no_rank_is_as_any(void **state)
{
    in_task("pt-board-0", torch_job);
    assert_hosts(TORCH, "Volcano Job",
                 "pt-board-0.pt* pt-board-1.pt pt-board-2.pt");
}

static void a_master_elsewhere_is_not_the_pytorch_plugins(void **state)
{
    in_task("pt-worker-0", torch_job);
    assert_hosts("MASTER_ADDR=10.1.2.3 WORLD_SIZE=3 RANK=1", "Volcano Job",
                 "pt-worker-0.pt* pt-worker-1.pt");
}

static void tasks_that_are_named_are_those_of_a_torch_job_too(void **state)
{
    in_task("pt-zero-0", torch_job);
    assert_hosts(TORCH "RANK=0 HPCBOOT_TASKS=worker", "Volcano Job, torch",
                 "pt-worker-0.pt pt-worker-1.pt");
}

#define TF "TF_CONFIG={\"cluster\":{\"ps\":[\"pt-ps-0.pt:2222\"]," \
    "\"worker\":[\"pt-worker-0.pt:2222\",\"pt-worker-1.pt:2222\"]}," \
    "\"task\":{\"type\":\"worker\",\"index\":1}}"

static void all_tasks_of_the_tensorflow_plugin_compute(void **state)
{
    static const char *const tasks[][2] = {
        {"board", "pt-board-0.pt"},
        {"none", ""},
        {"ps", "pt-ps-0.pt"},
        {"worker", "pt-worker-0.pt\npt-worker-1.pt"},
        {NULL, NULL}};

    in_task("pt-worker-1", tasks);
    assert_hosts(TF, "Volcano Job",
                 "pt-ps-0.pt pt-worker-0.pt pt-worker-1.pt*");
    in_task("pt-ps-0", tasks);
    assert_hosts(TF, "Volcano Job",
                 "pt-ps-0.pt* pt-worker-0.pt pt-worker-1.pt");
    in_task("pt-board-0", tasks);
    assert_hosts(TF, "Volcano Job",
                 "pt-ps-0.pt pt-worker-0.pt pt-worker-1.pt");
}

static void a_tf_config_of_other_hosts_chooses_no_task(void **state)
{
    in_task("pt-worker-1", torch_job);
    assert_hosts("TF_CONFIG={\"cluster\":{\"worker\":[\"xpt-worker-0.pt:1\"]},"
                 "\"task\":{}}", "Volcano Job",
                 "pt-worker-0.pt pt-worker-1.pt*");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_volcano_master_finds_its_workers),
        T(the_ssh_plugins_port_is_that_of_every_host),
        T(a_volcano_worker_finds_its_own_task),
        T(volcano_tasks_can_be_named),
        T(volcano_variables_do_without_files),
        T(a_task_that_cannot_be_read_is_an_error),
        T(a_task_whose_file_is_taken_away_is_none),
        T(mpi_host_names_the_workers_of_any_pod),
        T(an_mpi_host_of_other_origin_is_passed_over),
        T(volcanos_files_are_believed_over_variables),
        T(a_shared_host_name_is_told),
        T(a_volcano_pod_without_names_says_what_would_help),
        T(of_two_single_pods_the_one_called_master_is_it),
        T(who_has_no_such_task_is_told_by_its_own_name),
        T(a_pod_outside_the_job_sees_all_tasks),
        T(a_volcano_job_with_the_ray_plugin_has_names),
        T(the_pytorch_plugins_master_computes_and_is_the_first),
        T(a_pod_that_the_pytorch_plugin_gives_no_rank_is_as_any),
        T(a_master_elsewhere_is_not_the_pytorch_plugins),
        T(tasks_that_are_named_are_those_of_a_torch_job_too),
        T(all_tasks_of_the_tensorflow_plugin_compute),
        T(a_tf_config_of_other_hosts_chooses_no_task),
    };

    use_built_modules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
