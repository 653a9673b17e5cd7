/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Gangs of batch systems, found from their variables and node files, and what
 * is not believed: variables that were left over. */

#include "config.h"

#include "tests/unit/gang_pod.h"

#include "hostfile/flux.h"
#include "hostfile/slurm.h"
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

/* What an error says when a source is meant and wrong. */
static void assert_refused(const char *pod, const char *env, int code,
                           const char *words)
{
    char *path = pod_path(pod);
    struct hpcboot_error err = {0};
    struct hb_gang g;

    assert_int_equal(gather_at(path, env, NULL, &g, &err), code);
    assert_has(err.text, words);
    hb_gang_destroy(&g);
    free(path);
}

static void a_slurm_job_has_hosts_and_tasks(void **state)
{
    assert_pod("slurm", "SLURM_JOB_ID=4711 SLURM_JOB_NODELIST=gpu[01-03,07],"
               "login2 SLURM_TASKS_PER_NODE=8(x3),4,2", "Slurm",
               "gpu01:8 gpu02:8 gpu03:8 gpu07:4 login2:2");
    assert_pod("slurm", "SLURM_JOBID=4711 SLURM_NODELIST=n[1-2] "
               "SLURM_JOB_CPUS_PER_NODE=64(x2)", "Slurm", "n1:64 n2:64");
    assert_pod("slurm", "SLURM_JOB_ID=1 SLURM_STEP_NODELIST=n1 "
               "SLURM_STEP_TASKS_PER_NODE=2(x3),1", "Slurm", "n1:2");
}

static void slots_are_the_cpus_of_a_node_by_those_of_a_task(void **state)
{
    struct hb_gang g = gather_pod("slurm", "SLURM_JOB_ID=1 SLURM_NODELIST="
        "n[1-4] SLURM_JOB_CPUS_PER_NODE=64(x2),6,2 SLURM_CPUS_PER_TASK=4");

    assert_gang(&g, "Slurm", "n1:16 n2:16 n3:1 n4:1");
    assert_has(g.detail, "SLURM_JOB_CPUS_PER_NODE, divided by "
               "SLURM_CPUS_PER_TASK");
    hb_gang_destroy(&g);
    assert_pod("slurm", "SLURM_JOB_ID=1 SLURM_NODELIST=n1 SLURM_CPUS_PER_TASK=4"
               " SLURM_TASKS_PER_NODE=8 SLURM_JOB_CPUS_PER_NODE=32", "Slurm",
               "n1:8");
}

/* As srun leaves them: the list is the job's, the tasks are the step's. */
#define STEP "SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=n1 "         \
    "SLURM_TASKS_PER_NODE=1 SLURM_STEP_TASKS_PER_NODE=1 "

static void a_launcher_in_a_slurm_step_has_the_jobs_slots(void **state)
{
    assert_pod("slurm", STEP "SLURM_JOB_NODELIST=n[1-4] "
               "SLURM_JOB_CPUS_PER_NODE=8(x4)", "Slurm", "n1:8 n2:8 n3:8 n4:8");
    assert_pod("slurm", STEP "SLURM_JOB_NODELIST=n1 SLURM_CPUS_PER_TASK=2 "
               "SLURM_JOB_CPUS_PER_NODE=8", "Slurm", "n1:4");
    assert_pod("slurm", STEP "SLURM_JOB_NODELIST=n[1-2]", "Slurm", "n1 n2");
    assert_pod("slurm", "SLURM_JOB_ID=1 SLURM_STEP_TASKS_PER_NODE=1 "
               "SLURM_JOB_NODELIST=n[1-2] SLURM_TASKS_PER_NODE=3(x2) "
               "SLURM_JOB_CPUS_PER_NODE=8(x2)", "Slurm", "n1:3 n2:3");
}

#define HET "SLURM_JOB_ID=1 SLURM_HET_SIZE=2 SLURM_JOB_NODELIST=n[1-2] "      \
    "SLURM_TASKS_PER_NODE=8(x2) SLURM_JOB_NODELIST_HET_GROUP_0=n[1-2] "       \
    "SLURM_TASKS_PER_NODE_HET_GROUP_0=8(x2) "

static void a_heterogeneous_job_is_all_its_components(void **state)
{
    struct hb_gang g = gather_pod("slurm", HET
        "SLURM_JOB_NODELIST_HET_GROUP_1=g[1-2],n2 "
        "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1=16(x2),2 "
        "SLURM_CPUS_PER_TASK_HET_GROUP_1=4 SLURM_CPUS_PER_TASK=2");

    assert_gang(&g, "Slurm", "n1:8 n2:9 g1:4 g2:4");
    assert_has(g.detail, "4 hosts in the 2 components of a heterogeneous job");
    assert_int_equal(g.n_notes, 0);
    hb_gang_destroy(&g);
    assert_refused("slurm", HET "SLURM_JOB_NODELIST_HET_GROUP_1=g[",
                   HPCBOOT_ERR_PARSE, "SLURM_JOB_NODELIST_HET_GROUP_1, column");
}

static void components_that_are_not_told_are_told_of(void **state)
{
    struct hb_gang g = gather_pod("slurm", HET);

    assert_gang(&g, "Slurm", "n1:8 n2:8");
    assert_has(g.notes[0], "SLURM_JOB_NODELIST_HET_GROUP_1 is not set: only "
               "the hosts in SLURM_JOB_NODELIST are used");
    hb_gang_destroy(&g);
}

static void slurms_node_lists_expand(void **state)
{
    static const char *const vectors[][2] = {
        {"n1", "n1"},
        {"n[1-3]", "n1 n2 n3"},
        {"n[08-11]", "n08 n09 n10 n11"},
        {"n[1,3,7-8],m2", "n1 n3 n7 n8 m2"},
        {"r[0-1]n[0-1]", "r0n0 r0n1 r1n0 r1n1"},
        {"n[001-002]-ib", "n001-ib n002-ib"},
        {"n[5]", "n5"},
        {"n[9-11]", "n9 n10 n11"},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        char *env = hb_xasprintf("SLURM_JOB_ID=1 SLURM_JOB_NODELIST=%s",
                                 vectors[i][0]);
        assert_pod("slurm", env, "Slurm", vectors[i][1]);
        free(env);
    }
}

static void a_bad_slurm_list_is_named_with_its_place(void **state)
{
    static const char *const vectors[][2] = {
        {"n[3-1]", "SLURM_JOB_NODELIST, column 5: expected the end"},
        {"n[1", "SLURM_JOB_NODELIST, column 4: expected"},
        {"n]", "SLURM_JOB_NODELIST, column 2: expected"},
        {",", "SLURM_JOB_NODELIST, column 1: expected a host name"},
        {"n[0-99999999]", "expected at most 1048576 hosts"},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        char *env = hb_xasprintf("SLURM_JOB_ID=1 SLURM_JOB_NODELIST=%s",
                                 vectors[i][0]);
        assert_refused("slurm", env, HPCBOOT_ERR_PARSE, vectors[i][1]);
        free(env);
    }
}

static void slurm_counts_must_suffice(void **state)
{
    int counts[3] = {0};
    struct hpcboot_error err;

    assert_int_equal(hb_slurm_counts("V", "2(x3),1", counts, 2, &err), 0);
    assert_int_equal(counts[1], 2);
    assert_int_equal(hb_slurm_counts("V", "2(x2)", counts, 3, &err),
                     HPCBOOT_ERR_PARSE);
    assert_string_equal(err.text,
                        "V: expected the counts of 3 nodes, found 2");
}

static void bad_slurm_counts_are_named_with_their_place(void **state)
{
    static const char *const vectors[][2] = {
        {"", "V, column 1: expected a number of tasks"},
        {"x", "V, column 1: expected a number of tasks"},
        {"0", "V, column 1: expected a number of tasks"},
        {"2(x", "V, column 4: expected a number of nodes"},
        {"2(x3", "V, column 5: expected \")\""},
        {"2(y3)", "V, column 2: expected \",\" or the end"},
        {"2,", "V, column 3: expected a number of tasks"},
        {"99999999999999999999", "V, column 1: expected a number of tasks"},
        {"2(x99999999999)", "V, column 4: expected a number of nodes"},
    };
    struct hpcboot_error err;
    int count;

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        assert_int_equal(hb_slurm_counts("V", vectors[i][0], &count, 1, &err),
                         HPCBOOT_ERR_PARSE);
        assert_string_equal(err.text, vectors[i][1]);
    }
}

static void leftover_slurm_variables_do_not_win(void **state)
{
    struct hb_gang g = gather_pod("none", "SLURM_NTASKS=4 SLURM_PROCID=0 "
                                          "SLURM_JOB_NODELIST=n[1-4]");

    assert_string_equal(g.source, "this host");
    assert_has(passed_over(&g, "Slurm"), "SLURM_JOB_ID is not set");
    hb_gang_destroy(&g);
}

/* An executable file of the tree. */
static void install(const char *path, const char *text)
{
    char full[512];

    tree_write(root, path, text);
    snprintf(full, sizeof(full), "%s/%s", root, path);
    chmod(full, 0755);
}

static void variables_of_a_slurm_that_is_not_here_do_not_win(void **state)
{
    static const char *const lists[] = {"n[1-4]", "n[1-"};

    for (size_t i = 0; i < 2; i++) {
        char *env = hb_xasprintf("SLURM_JOB_ID=1 SLURM_TASKS_PER_NODE=8(x4) "
                                 "PATH=/bin:/usr/bin SLURM_JOB_NODELIST=%s",
                                 lists[i]);
        struct hb_gang g = gather_pod("none", env);
        assert_string_equal(g.source, "this host");
        assert_has(passed_over(&g, "Slurm"), "there is no srun here");
        assert_int_equal(g.n_notes, 1);
        assert_has(g.notes[0], "left over from elsewhere");
        hb_gang_destroy(&g);
        free(env);
    }
}

static void a_slurm_node_without_srun_is_believed(void **state)
{
    struct hb_gang g;

    tree_write(root, "etc/hostname", "n2.cluster\n");
    assert_int_equal(gather_at(root, "SLURM_JOB_ID=1 SLURM_JOB_NODELIST=n[1-2]",
                               NULL, &g, NULL), HPCBOOT_OK);
    assert_gang(&g, "Slurm", "n1 n2*");
    hb_gang_destroy(&g);
}

static void variables_of_an_lsf_that_is_not_here_do_not_win(void **state)
{
    struct hb_gang g = gather_pod("none", "LSB_JOBID=1 LSB_HOSTS=h1");

    assert_string_equal(g.source, "this host");
    assert_has(passed_over(&g, "LSF"), "there is no blaunch here");
    hb_gang_destroy(&g);
}

static void a_pods_operator_is_believed_over_slurm(void **state)
{
    struct hb_gang g;

    install("usr/bin/srun", "");
    tree_write(root, "etc/hostname", "pod\n");
    tree_write(root, "etc/volcano/w.host", "lm-w-0.lm\nlm-w-1.lm");
    assert_int_equal(gather_at(root, "SLURM_JOB_ID=1 "
                               "SLURM_JOB_NODELIST=n[1-4]", NULL, &g, NULL),
                     HPCBOOT_OK);
    assert_string_equal(g.source, "Volcano Job");
    assert_has(passed_over(&g, "Slurm"), "4 hosts in SLURM_JOB_NODELIST, slots "
               "are not told, which Volcano Job is believed over");
    assert_int_equal(g.n_notes, 1);
    assert_has(g.notes[0], "Slurm names other hosts (4 hosts in "
               "SLURM_JOB_NODELIST, slots are not told), but Volcano Job is "
               "believed (2 hosts in ");
    hb_gang_destroy(&g);
}

static void a_default_hostfile_is_overruled_without_a_word(void **state)
{
    struct hb_gang g;

    tree_write(root, "hosts", "a\nb\n");
    tree_write(root, "etc/volcano/w.host", "lm-w-0.lm\nlm-w-1.lm");
    assert_int_equal(gather_at(root, "HYDRA_HOST_FILE=/hosts", NULL, &g, NULL),
                     HPCBOOT_OK);
    assert_string_equal(g.source, "Volcano Job");
    assert_int_equal(g.n_notes, 0);
    assert_has(passed_over(&g, "default hostfile"), "2 hosts in /hosts");
    hb_gang_destroy(&g);
}

static void behind_a_leftover_variable_the_next_is_asked(void **state)
{
    struct hb_gang g;

    tree_write(root, "hosts", "a:2\n");
    assert_int_equal(gather_at(root, "OMPI_MCA_orte_default_hostfile=/gone "
                               "HYDRA_HOST_FILE=/hosts", NULL, &g, NULL),
                     HPCBOOT_OK);
    assert_gang(&g, "default hostfile", "a:2");
    assert_has(g.detail, "(HYDRA_HOST_FILE)");
    hb_gang_destroy(&g);
}

static char *env_with(const char *fmt, const char *file)
{
    char *path = pod_path(file), *env = hb_xasprintf(fmt, path);

    free(path);
    return env;
}

static void assert_file(const char *fmt, const char *file, const char *source,
                        const char *hosts)
{
    struct hpcboot_error err = {0};
    struct hb_gang g;
    char *env = env_with(fmt, file);

    if (gather_at("", env, NULL, &g, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_gang(&g, source, hosts);
    hb_gang_destroy(&g);
    free(env);
}

static void a_pbs_node_file_has_a_line_per_slot(void **state)
{
    assert_file("PBS_JOBID=1.server PBS_ENVIRONMENT=PBS_BATCH PBS_NODEFILE=%s",
                "pbs/nodefile", "PBS", "n2:3 n1:2");
}

static void a_cobalt_node_file_is_read(void **state)
{
    assert_file("COBALT_JOBID=1 COBALT_NODEFILE=%s", "pbs/nodefile", "Cobalt",
                "n2:3 n1:2");
}

static void grid_engine_adds_up_the_queues_of_a_host(void **state)
{
    assert_file("JOB_ID=1 NSLOTS=14 NHOSTS=2 SGE_ROOT=/sge PE_HOSTFILE=%s",
                "sge/pe_hostfile", "Grid Engine",
                "node01.example:10 node02.example:4");
}

static void a_bad_grid_engine_file_is_named_with_its_place(void **state)
{
    struct hpcboot_error err = {0};
    struct hb_gang g;

    tree_write(root, "pe", "a 1 q UNDEFINED\nb x q UNDEFINED\n");
    assert_int_equal(gather_at(root, "JOB_ID=1 NSLOTS=1 PE_HOSTFILE=/pe", NULL,
                               &g, &err), HPCBOOT_ERR_PARSE);
    assert_string_equal(err.text, "PE_HOSTFILE: /pe:2:3: expected a number of "
                                  "slots after the host");
    hb_gang_destroy(&g);
}

static void lsf_prefers_the_file_then_the_counts(void **state)
{
    struct hpcboot_error err = {0};
    struct hb_strv env = HB_STRV_INIT;
    struct hb_gang_request req = {.root = root};
    struct hb_gang g;
    char *file = env_with("LSB_DJOB_HOSTFILE=%s", "lsf/hostfile");

    install("usr/bin/blaunch", "");
    hb_strv_push(&env, "LSB_JOBID=1");
    hb_strv_push(&env, "LSB_HOSTS=h9 h9 h8");
    req.env = hb_strv_view(&env);
    assert_int_equal(hb_gang_gather(&req, &g, &err), HPCBOOT_OK);
    assert_gang(&g, "LSF", "h9:2 h8:1");
    hb_gang_destroy(&g);
    hb_strv_push(&env, "LSB_MCPU_HOSTS=h1 4 h2 2 ");
    req.env = hb_strv_view(&env);
    assert_int_equal(hb_gang_gather(&req, &g, &err), HPCBOOT_OK);
    assert_gang(&g, "LSF", "h1:4 h2:2");
    hb_gang_destroy(&g);
    hb_strv_push(&env, file);
    req.env = hb_strv_view(&env);
    req.root = "";
    assert_int_equal(hb_gang_gather(&req, &g, &err), HPCBOOT_OK);
    assert_gang(&g, "LSF", "h1:2 h2:1");
    hb_gang_destroy(&g);
    hb_strv_destroy(&env);
    free(file);
}

static void an_lsf_host_without_its_count_is_an_error(void **state)
{
    static char *const env[] = {(char *)"LSB_JOBID=1",
                                (char *)"LSB_MCPU_HOSTS=h1 4 h2", NULL};
    struct hb_gang_request req = {.root = root, .env = env};
    struct hpcboot_error err = {0};
    struct hb_gang g;

    install("usr/bin/blaunch", "");
    assert_int_equal(hb_gang_gather(&req, &g, &err), HPCBOOT_ERR_PARSE);
    assert_string_equal(err.text, "LSB_MCPU_HOSTS=\"h1 4 h2\": behind the "
                                  "host h2 the text ends instead of its number "
                                  "of slots");
    hb_gang_destroy(&g);
}

static void leftover_node_files_do_not_win(void **state)
{
    static const char *const texts[][3] = {
        {"PBS_NODEFILE=/x", "PBS", "PBS_JOBID is not set"},
        {"PBS_JOBID=1", "PBS", "PBS_NODEFILE is not set"},
        {"PBS_JOBID=1 PBS_NODEFILE=/gone", "PBS", "which is not there"},
        {"PBS_JOBID=1 PBS_NODEFILE=gone", "PBS", "which is not there"},
        {"PE_HOSTFILE=/x", "Grid Engine", "JOB_ID and NSLOTS"},
        {"LSB_HOSTS=a", "LSF", "LSB_JOBID is not set"},
        {"LSB_JOBID=1", "LSF", "LSB_DJOB_HOSTFILE is not set"},
        {"COBALT_NODEFILE=/x", "Cobalt", "COBALT_JOBID is not set"},
        {"FLUX_JOB_ID=f1", "Flux", "FLUX_URI is not set"},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct hb_gang g = gather_pod("none", texts[i][0]);
        assert_string_equal(g.source, "this host");
        assert_has(passed_over(&g, texts[i][1]), texts[i][2]);
        hb_gang_destroy(&g);
    }
}

static void a_batch_job_whose_hosts_cannot_be_had_is_told_of(void **state)
{
    static const char *const texts[][2] = {
        {"PBS_JOBID=1 PBS_NODEFILE=/gone", "a job of PBS, but PBS_NODEFILE "
                                           "names /gone, which is not there"},
        {"JOB_ID=1 NSLOTS=2 PE_HOSTFILE=/gone", "a job of Grid Engine, but"},
        {"COBALT_JOBID=1 COBALT_NODEFILE=/gone", "a job of Cobalt, but"},
        {"LSB_JOBID=1 LSB_DJOB_HOSTFILE=/gone", "a job of LSF, but"},
        {"FLUX_URI=local:///gone PATH=/gone", "a job of Flux, but"},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct hb_gang g = gather_pod("none", texts[i][0]);

        assert_string_equal(g.source, "this host");
        assert_int_equal(g.n_notes, 1);
        assert_has(g.notes[0], texts[i][1]);
        hb_gang_destroy(&g);
    }
}

static void a_pattern_with_a_count_names_pods(void **state)
{
    struct hb_gang g;

    assert_int_equal(gather_at(root, "", "worker-[0-63].sub", &g, NULL), 0);
    assert_int_equal(g.n, 64);
    assert_string_equal(g.hosts[63].name, "worker-63.sub");
    hb_gang_destroy(&g);
}

#ifdef HAVE_JANSSON
/* A program named flux that answers as Flux does. */
static void fake_flux(const char *script)
{
    char path[512];

    install("bin/flux", script);
    snprintf(path, sizeof(path), "%s/bin:/bin:/usr/bin", root);
    setenv("PATH", path, 1);
}

static void a_flux_job_is_asked_for_its_resources(void **state)
{
    char *file = pod_path("flux/R");
    char *script = hb_xasprintf("#!/bin/sh\n"
                                "[ \"$*\" = 'job info f58 R' ] && cat %s\n",
                                file);
    struct hb_gang g;

    fake_flux(script);
    assert_int_equal(gather_at(root, "FLUX_URI=local:///x FLUX_JOB_ID=f58",
                               NULL, &g, NULL), HPCBOOT_OK);
    assert_gang(&g, "Flux", "n0:32 n1:32 m7:5");
    assert_string_equal(g.detail, "3 hosts of Flux job f58");
    hb_gang_destroy(&g);
    free(script);
    free(file);
}

static void a_flux_that_fails_is_passed_over(void **state)
{
    struct hb_gang g;

    fake_flux("#!/bin/sh\nexit 1\n");
    assert_int_equal(gather_at(root, "FLUX_URI=local:///x", NULL, &g, NULL), 0);
    assert_string_equal(g.source, "this host");
    assert_has(passed_over(&g, "Flux"), "flux failed");
    hb_gang_destroy(&g);
}

static void a_bad_flux_resource_set_is_refused(void **state)
{
    static const char *const texts[][2] = {
        {"", "Flux resource set:1:0"},
        {"{\"version\":2}", "expected version 1"},
        {"{\"version\":1}", "expected the lists R_lite"},
        {"{\"version\":1,\"execution\":{\"R_lite\":[{\"rank\":\"0-1\","
         "\"children\":{\"core\":\"0\"}}],\"nodelist\":[\"a\"]}}",
         "expected"},
        {"{\"version\":1,\"execution\":{\"R_lite\":[{\"rank\":\"x\","
         "\"children\":{\"core\":\"0\"}}],\"nodelist\":[\"a\"]}}",
         "expected sets of numbers"},
        {"{\"version\":1,\"execution\":{\"R_lite\":[{\"rank\":\"0\"}],"
         "\"nodelist\":[\"a\"]}}", "\"rank\" and \"core\""},
    };
    struct hb_gang_request req = {.root = root};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct hb_gang g = {0};
        struct hpcboot_error err;
        assert_int_equal(hb_flux_gang(&req, texts[i][0], strlen(texts[i][0]),
                                      &g, &err), HPCBOOT_ERR_PARSE);
        assert_has(err.text, texts[i][1]);
        hb_gang_destroy(&g);
    }
}
#endif

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_slurm_job_has_hosts_and_tasks),
        T(slots_are_the_cpus_of_a_node_by_those_of_a_task),
        T(a_heterogeneous_job_is_all_its_components),
        T(components_that_are_not_told_are_told_of),
        T(a_launcher_in_a_slurm_step_has_the_jobs_slots),
        T(slurms_node_lists_expand),
        T(a_bad_slurm_list_is_named_with_its_place),
        T(slurm_counts_must_suffice),
        T(bad_slurm_counts_are_named_with_their_place),
        T(leftover_slurm_variables_do_not_win),
        T(variables_of_a_slurm_that_is_not_here_do_not_win),
        T(a_slurm_node_without_srun_is_believed),
        T(variables_of_an_lsf_that_is_not_here_do_not_win),
        T(a_pods_operator_is_believed_over_slurm),
        T(a_default_hostfile_is_overruled_without_a_word),
        T(behind_a_leftover_variable_the_next_is_asked),
        T(a_pbs_node_file_has_a_line_per_slot),
        T(a_cobalt_node_file_is_read),
        T(grid_engine_adds_up_the_queues_of_a_host),
        T(a_bad_grid_engine_file_is_named_with_its_place),
        T(lsf_prefers_the_file_then_the_counts),
        T(an_lsf_host_without_its_count_is_an_error),
        T(leftover_node_files_do_not_win),
        T(a_batch_job_whose_hosts_cannot_be_had_is_told_of),
        T(a_pattern_with_a_count_names_pods),
#ifdef HAVE_JANSSON
        T(a_flux_job_is_asked_for_its_resources),
        T(a_flux_that_fails_is_passed_over),
        T(a_bad_flux_resource_set_is_refused),
#endif
    };

    use_built_modules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
