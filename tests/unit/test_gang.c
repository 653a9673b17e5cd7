/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which source of hosts wins, in pods as operators make them (tests/data/gang
 * holds their files byte for byte), and how -H selects from one. */

#include "config.h"

#include "hostfile/hostfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/base/str.h"
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

static char *const launcher[] = {(char *)"K_MPI_JOB_ROLE=launcher", NULL};
static char *const nothing[] = {NULL};

/* A pod of tests/data/gang; free() it. */
static char *pod(const char *name)
{
    const char *src = getenv("HB_SRCDIR");

    return hb_xasprintf("%s/tests/data/gang/%s", src != NULL ? src : ".", name);
}

static int gather_in(const char *name, char *const *env, const char *list,
                     struct hb_gang *g, struct hpcboot_error *err)
{
    char *dir = pod(name);
    struct hb_gang_request req = {
        .host_list = list, .env = env, .root = dir, .filter = 1};
    int rc = hb_gang_gather(&req, g, err);

    free(dir);
    return rc;
}

static void assert_host(const struct hb_gang *g, size_t i, const char *name,
                        int slots)
{
    assert_true(i < g->n);
    assert_string_equal(g->hosts[i].name, name);
    assert_int_equal(g->hosts[i].slots, slots);
}

static const char *passed(const struct hb_gang *g, const char *source)
{
    for (size_t i = 0; i < g->n_passed; i++) {
        if (hb_starts_with(g->passed_over[i], source)) {
            return g->passed_over[i];
        }
    }
    return "";
}

static void without_any_source_it_is_this_host(void **state)
{
    struct hb_gang_request req = {.env = nothing, .root = root};
    struct hb_gang g;

    tree_write(root, "etc/hostname", "alone\n");
    assert_int_equal(hb_gang_gather(&req, &g, NULL), HPCBOOT_OK);
    assert_string_equal(g.source, "this host");
    assert_host(&g, 0, "alone", 0);
    assert_true(g.hosts[0].is_local);
    assert_int_equal(g.operator_made, 0);
    assert_non_null(strstr(passed(&g, "-H"), "not given"));
    assert_non_null(strstr(passed(&g, "MPI Operator"), "K_MPI_JOB_ROLE"));
    hb_gang_destroy(&g);
}

static void an_mpijob_of_open_mpi_is_found(void **state)
{
    struct hb_gang g;

    assert_int_equal(gather_in("mpi-operator-openmpi", launcher, NULL, &g,
                               NULL), HPCBOOT_OK);
    assert_string_equal(g.source, "MPI Operator");
    assert_int_equal(g.operator_made, 1);
    assert_int_equal(g.n, 2);
    assert_host(&g, 0, "pi-worker-0.pi.hpc.svc", 4);
    assert_host(&g, 1, "pi-worker-1.pi.hpc.svc", 4);
    assert_string_equal(g.hosts[1].origin, "/etc/mpi/hostfile:2");
    assert_null(g.gang_key);
    hb_gang_destroy(&g);
}

static void an_mpijob_of_mpich_is_found(void **state)
{
    static char *const env[] = {(char *)"K_MPI_JOB_ROLE=launcher",
                                (char *)"HYDRA_HOST_FILE=/etc/mpi/hostfile",
                                NULL};
    struct hb_gang g;

    assert_int_equal(gather_in("mpi-operator-mpich", env, NULL, &g, NULL),
                     HPCBOOT_OK);
    assert_host(&g, 0, "pi-worker-0.pi.hpc.svc", 4);
    assert_int_equal(g.n, 2);
    hb_gang_destroy(&g);
}

static void an_ssh_shell_in_the_launcher_finds_it_too(void **state)
{
    struct hb_gang g;

    assert_int_equal(gather_in("mpi-operator-openmpi", nothing, NULL, &g, NULL),
                     HPCBOOT_OK);
    assert_string_equal(g.source, "MPI Operator");
    hb_gang_destroy(&g);
}

static void a_launcher_that_works_is_known_as_this_host(void **state)
{
    struct hb_gang g;

    assert_int_equal(gather_in("mpi-operator-launcher-as-worker", launcher,
                               NULL, &g, NULL), HPCBOOT_OK);
    assert_true(g.hosts[0].is_local);
    assert_false(g.hosts[1].is_local);
    hb_gang_destroy(&g);
}

static void older_hostfiles_are_understood(void **state)
{
    static char *const env[] = {(char *)"K_MPI_JOB_ROLE=launcher",
                                (char *)"OMPI_MCA_orte_set_default_slots=6",
                                NULL};
    struct hb_gang g;

    assert_int_equal(gather_in("mpi-operator-v03", env, NULL, &g, NULL), 0);
    assert_host(&g, 1, "pi-worker-1.pi-worker", 6);
    hb_gang_destroy(&g);
    assert_int_equal(gather_in("mpi-operator-v04", launcher, NULL, &g, NULL),
                     0);
    assert_host(&g, 0, "pi-worker-0.pi-worker.hpc.svc", 4);
    hb_gang_destroy(&g);
    assert_int_equal(gather_in("mpi-operator-domain", launcher, NULL, &g, NULL),
                     0);
    assert_host(&g, 0, "pi-worker-0.pi.hpc.svc.example.net", 4);
    hb_gang_destroy(&g);
}

static void an_mpijob_without_workers_is_passed_over(void **state)
{
    struct hb_gang g;

    assert_int_equal(gather_in("mpi-operator-empty", launcher, NULL, &g, NULL),
                     HPCBOOT_OK);
    assert_string_equal(g.source, "this host");
    assert_non_null(strstr(passed(&g, "MPI Operator"), "no workers"));
    assert_int_equal(g.n_notes, 1);
    hb_gang_destroy(&g);
}

static void a_worker_pod_is_not_a_launcher(void **state)
{
    static char *const env[] = {(char *)"K_MPI_JOB_ROLE=worker", NULL};
    struct hb_gang g;

    assert_int_equal(gather_in("mpi-operator-openmpi", env, NULL, &g, NULL), 0);
    assert_string_equal(g.source, "this host");
    assert_non_null(strstr(passed(&g, "MPI Operator"), "worker of an MPIJob"));
    hb_gang_destroy(&g);
}

static void a_launcher_without_its_list_is_an_error(void **state)
{
    struct hb_gang_request req = {.env = launcher, .root = root};
    struct hb_gang g;
    struct hpcboot_error err;

    assert_int_equal(hb_gang_gather(&req, &g, &err), HPCBOOT_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/etc/mpi/hostfile"));
    assert_int_equal(g.n, 0);
    hb_gang_destroy(&g);
}

static void a_trainjob_is_found(void **state)
{
    struct hb_gang g;

    assert_int_equal(gather_in("trainer", nothing, NULL, &g, NULL), HPCBOOT_OK);
    assert_string_equal(g.source, "Kubeflow Trainer");
    assert_host(&g, 1, "llm-node-0-1.llm", 8);
    assert_int_equal(g.operator_made, 1);
    hb_gang_destroy(&g);
}

#define EC_KEY                           \
    "-----BEGIN EC PRIVATE KEY-----\n" \
    "AAAA\n"                           \
    "-----END EC PRIVATE KEY-----\n"

static struct hb_gang with_key_in(char *const *env)
{
    struct hb_gang_request req = {.env = env, .root = root};
    struct hb_gang g;

    tree_write(root, "etc/mpi/hostfile", "w0 slots=1\n");
    tree_write(root, "etc/mpi/discover_hosts.sh", "#!/bin/sh\n");
    assert_int_equal(hb_gang_gather(&req, &g, NULL), HPCBOOT_OK);
    return g;
}

static void the_mounted_key_is_found_by_its_content(void **state)
{
    struct hb_gang g;

    tree_write(root, "root/.ssh/id_rsa.pub", "ecdsa-sha2-nistp521 AAAA\n");
    tree_write(root, "root/.ssh/id_rsa", EC_KEY);
    g = with_key_in(launcher);
    assert_non_null(g.gang_key);
    assert_true(hb_ends_with(g.gang_key, "/root/.ssh/id_rsa"));
    assert_non_null(strstr(g.detail, "the job's key is"));
    hb_gang_destroy(&g);
}

static void a_mounted_key_goes_before_the_users_own(void **state)
{
    static char *const env[] = {(char *)"K_MPI_JOB_ROLE=launcher",
                                (char *)"HOME=/home/joe",
                                NULL};
    struct hb_gang g;

    tree_write(root, "home/joe/.ssh/id_rsa", EC_KEY);
    tree_write(root, "home/mpiuser/.ssh/key", EC_KEY);
    tree_write(root, "home/mpiuser/.ssh/..data", "");
    g = with_key_in(env);
    assert_true(hb_ends_with(g.gang_key, "/home/mpiuser/.ssh/key"));
    hb_gang_destroy(&g);
}

static void what_is_no_private_key_is_not_taken(void **state)
{
    struct hb_gang g;

    tree_write(root, "root/.ssh/id_rsa", "ssh-rsa AAAA\n");
    tree_write(root, "root/.ssh/config", "Host *\n");
    tree_write(root, "root/.ssh/x.pub", EC_KEY);
    g = with_key_in(launcher);
    assert_null(g.gang_key);
    hb_gang_destroy(&g);
}

static struct hb_gang from_file(const char *text, const char *list, int rc,
                                struct hpcboot_error *err)
{
    char path[512];
    struct hb_gang_request req = {.host_list = list, .hostfile = path,
                                  .env = nothing, .root = root, .filter = 1};
    struct hb_gang g;

    tree_write(root, "hosts", text);
    snprintf(path, sizeof(path), "%s/hosts", root);
    assert_int_equal(hb_gang_gather(&req, &g, err), rc);
    return g;
}

static void a_hostfile_beats_the_operator(void **state)
{
    struct hb_gang g;

    tree_write(root, "etc/mpi/discover_hosts.sh", "");
    tree_write(root, "etc/mpi/hostfile", "w0 slots=1\n");
    g = from_file("a slots=2\n", NULL, HPCBOOT_OK, NULL);
    assert_string_equal(g.source, "--hostfile");
    assert_host(&g, 0, "a", 2);
    hb_gang_destroy(&g);
}

/* By a file, in the master of a Volcano Job whose sshd is on port 2222. */
static struct hb_gang named_in_volcano(const char *text)
{
    char *dir = pod("volcano-port"), path[512];
    struct hb_gang_request req = {.hostfile = path, .env = nothing,
                                  .root = dir, .filter = 1};
    struct hb_gang g;

    tree_write(root, "hosts", text);
    snprintf(path, sizeof(path), "%s/hosts", root);
    assert_int_equal(hb_gang_gather(&req, &g, NULL), HPCBOOT_OK);
    assert_string_equal(g.source, "--hostfile");
    free(dir);
    return g;
}

static void hosts_of_an_operator_stay_that_in_a_file(void **state)
{
    struct hb_gang g = named_in_volcano("lm-mpi-worker-1.lm slots=3\n"
                                        "localhost slots=1\n");

    assert_host(&g, 0, "lm-mpi-worker-1.lm", 3);
    assert_int_equal(g.operator_made, 1);
    assert_int_equal(g.hosts[0].port, 2222);
    assert_int_equal(g.hosts[1].port, 0);
    assert_true(hb_ends_with(g.gang_key, "/root/.ssh/id_rsa"));
    assert_non_null(strstr(g.detail, "they are hosts of Volcano Job, the "
                                     "job's key is "));
    hb_gang_destroy(&g);
    g = named_in_volcano("lm-mpi-worker-1.lm slots=3\nelsewhere\n");
    assert_int_equal(g.operator_made, 0);
    assert_int_equal(g.hosts[0].port, 0);
    assert_null(g.gang_key);
    hb_gang_destroy(&g);
    g = named_in_volcano("localhost slots=3\n");
    assert_int_equal(g.operator_made, 0);
    hb_gang_destroy(&g);
}

/* As discover_hosts.sh of the MPI Operator does, without slots. */
static void hosts_that_a_script_names_have_the_operators_slots(void **state)
{
    char *dir = pod("mpi-operator-openmpi"), *script;
    struct hb_gang_request req = {.env = launcher, .root = dir, .filter = 1};
    struct hb_gang g;

    script = hb_xasprintf("%s/script", root);
    req.discover = script;
    tree_write(root, "script", "#!/bin/sh\necho pi-worker-1.pi.hpc.svc\n");
    assert_int_equal(chmod(script, 0755), 0);
    assert_int_equal(hb_gang_gather(&req, &g, NULL), HPCBOOT_OK);
    assert_string_equal(g.source, "--discover-hosts");
    assert_int_equal(g.operator_made, 1);
    assert_host(&g, 0, "pi-worker-1.pi.hpc.svc", 4);
    hb_gang_destroy(&g);
    free(script);
    free(dir);
}

static void a_list_selects_from_a_hostfile(void **state)
{
    struct hb_gang g = from_file("joe@a slots=4\nb slots=4\nc.x.y slots=4\n",
                                 "c,a:2", HPCBOOT_OK, NULL);

    assert_string_equal(g.source, "--hostfile");
    assert_int_equal(g.n, 2);
    assert_host(&g, 0, "c.x.y", 4);
    assert_host(&g, 1, "a", 2);
    assert_string_equal(g.hosts[1].user, "joe");
    assert_non_null(strstr(g.detail, "-H selects 2"));
    hb_gang_destroy(&g);
}

static void a_list_does_not_raise_slots(void **state)
{
    struct hb_gang g = from_file("a slots=4\n", "a:9", HPCBOOT_OK, NULL);

    assert_host(&g, 0, "a", 4);
    hb_gang_destroy(&g);
}

static void a_list_says_what_to_count_where_the_file_says_nothing(void **state)
{
    struct hb_gang g = from_file("a slots=4\nb\nc\n", "a:gpu,b:gpu,c",
                                 HPCBOOT_OK, NULL);

    assert_host(&g, 0, "a", 4);
    assert_host(&g, 1, "b", 0);
    assert_int_equal(g.hosts[1].count, HB_COUNT_GPUS);
    assert_string_equal(g.hosts[1].origin, "-H");
    assert_host(&g, 2, "c", 0);
    assert_int_equal(g.hosts[2].count, HB_COUNT_UNSAID);
    hb_gang_destroy(&g);
}

static void a_list_keeps_the_order_of_mentions(void **state)
{
    struct hb_gang g = from_file("a slots=4\nb slots=4\n", "b,a,b", HPCBOOT_OK,
                                 NULL);

    assert_int_equal(g.n, 2);
    assert_int_equal(g.n_mentions, 3);
    assert_int_equal(g.mentions[1].host, 1);
    assert_int_equal(g.mentions[2].host, 0);
    hb_gang_destroy(&g);
}

static void a_host_outside_the_hostfile_is_an_error(void **state)
{
    struct hpcboot_error err;
    struct hb_gang g = from_file("a\nb\n", "a,z", HPCBOOT_ERR_NOT_FOUND, &err);

    assert_non_null(strstr(err.text, "-H: host z is not in --hostfile (2 "));
    hb_gang_destroy(&g);
}

static void a_short_name_must_mean_one_host(void **state)
{
    struct hpcboot_error err;
    struct hb_gang g = from_file("a.x\na.y\n", "a", HPCBOOT_ERR_USAGE, &err);

    assert_non_null(strstr(err.text, "more than one host"));
    hb_gang_destroy(&g);
}

static void a_list_selects_from_a_found_gang(void **state)
{
    struct hb_gang g;

    assert_int_equal(gather_in("mpi-operator-openmpi", launcher, "pi-worker-1",
                               &g, NULL), HPCBOOT_OK);
    assert_string_equal(g.source, "MPI Operator");
    assert_int_equal(g.n, 1);
    assert_host(&g, 0, "pi-worker-1.pi.hpc.svc", 4);
    assert_int_equal(g.operator_made, 1);
    hb_gang_destroy(&g);
}

/* A list in the master of a Volcano Job, whose pods state no slots: those of
 * its first host, and of its second where there is one. */
static void assert_slots_in_volcano(const char *list, int count_list, int first,
                                    int second)
{
    char *dir = pod("volcano");
    struct hb_gang_request req = {.host_list = list, .root = dir, .filter = 1,
                                  .env = nothing, .count_list = count_list};
    struct hb_gang g;

    assert_int_equal(hb_gang_gather(&req, &g, NULL), HPCBOOT_OK);
    assert_string_equal(g.source, "Volcano Job");
    assert_int_equal(g.hosts[0].slots, first);
    assert_true(g.n < 2 || g.hosts[1].slots == second);
    hb_gang_destroy(&g);
    free(dir);
}

static void a_list_gives_slots_to_pods_that_state_none(void **state)
{
    assert_slots_in_volcano("lm-mpi-worker-0.lm,lm-mpi-worker-1.lm", 0, 1, 1);
    assert_slots_in_volcano("lm-mpi-worker-1,lm-mpi-worker-1,lm-mpi-worker-0:4",
                            0, 2, 4);
    assert_slots_in_volcano("lm-mpi-worker-0:auto", 0, 0, 0);
    assert_slots_in_volcano("lm-mpi-worker-0,lm-mpi-worker-1:2", 1, 0, 2);
}

static void a_list_of_other_hosts_stands_for_itself(void **state)
{
    struct hb_gang g;

    assert_int_equal(gather_in("mpi-operator-openmpi", launcher, "elsewhere",
                               &g, NULL), HPCBOOT_OK);
    assert_string_equal(g.source, "-H");
    assert_host(&g, 0, "elsewhere", 1);
    assert_int_equal(g.operator_made, 0);
    assert_non_null(strstr(passed(&g, "MPI Operator"), "not in MPI Operator"));
    hb_gang_destroy(&g);
}

static void a_list_that_is_half_wrong_is_told_of(void **state)
{
    struct hb_gang g;

    assert_int_equal(gather_in("mpi-operator-openmpi", launcher,
                               "pi-worker-0,pi-wroker-1", &g, NULL),
                     HPCBOOT_OK);
    assert_string_equal(g.source, "-H");
    assert_int_equal(g.n_notes, 1);
    assert_non_null(strstr(g.notes[0], "-H: host pi-wroker-1 is not in MPI "
                           "Operator, so the list stands for itself"));
    hb_gang_destroy(&g);
}

static void a_missing_hostfile_is_an_error(void **state)
{
    struct hb_gang_request req = {.hostfile = "/no/such/file", .env = nothing};
    struct hb_gang g;
    struct hpcboot_error err;

    assert_int_equal(hb_gang_gather(&req, &g, &err), HPCBOOT_ERR_USAGE);
    assert_non_null(strstr(err.text, "--hostfile: cannot open "
                                         "/no/such/file"));
    hb_gang_destroy(&g);
}

static void a_directory_is_no_hostfile(void **state)
{
    struct hb_gang_request req = {.hostfile = root, .env = nothing};
    struct hb_gang g;
    struct hpcboot_error err;

    assert_true(hb_gang_gather(&req, &g, &err) < 0);
    assert_non_null(strstr(err.text, root));
    hb_gang_destroy(&g);
}

static void an_unreadable_hostfile_is_an_error(void **state)
{
    struct hb_gang_request req = {.env = nothing};
    struct hb_gang g;
    struct hpcboot_error err;
    char path[512];
    int rc;

    tree_write(root, "hosts", "a\n");
    snprintf(path, sizeof(path), "%s/hosts", root);
    chmod(path, 0);
    req.hostfile = path;
    if (geteuid() == 0 && seteuid(65534) != 0) {
        skip();
    }
    rc = hb_gang_gather(&req, &g, &err);
    assert_int_equal(seteuid(getuid()), 0);
    assert_true(rc < 0);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "Permission denied"));
    hb_gang_destroy(&g);
}

static void an_empty_hostfile_is_an_error(void **state)
{
    struct hpcboot_error err;
    struct hb_gang g = from_file(" \n", NULL, HPCBOOT_ERR_PARSE, &err);

    assert_true(hb_ends_with(err.text, "/hosts:1:1: expected a host"));
    hb_gang_destroy(&g);
}

static void a_default_hostfile_is_used_when_none_is_named(void **state)
{
    static char *const env[] = {(char *)"HYDRA_HOST_FILE=/cluster/hosts", NULL};
    struct hb_gang_request req = {.env = env, .root = root};
    struct hb_gang g;

    tree_write(root, "cluster/hosts", "a:2\n");
    assert_int_equal(hb_gang_gather(&req, &g, NULL), HPCBOOT_OK);
    assert_string_equal(g.source, "default hostfile");
    assert_host(&g, 0, "a", 2);
    hb_gang_destroy(&g);
}

static void a_leftover_variable_does_not_win(void **state)
{
    static char *const env[] = {(char *)"HYDRA_HOST_FILE=/gone/hosts", NULL};
    struct hb_gang_request req = {.env = env, .root = root};
    struct hb_gang g;

    assert_int_equal(hb_gang_gather(&req, &g, NULL), HPCBOOT_OK);
    assert_string_equal(g.source, "this host");
    assert_non_null(strstr(passed(&g, "default hostfile"), "is not there"));
    hb_gang_destroy(&g);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(without_any_source_it_is_this_host),
        T(an_mpijob_of_open_mpi_is_found),
        T(an_mpijob_of_mpich_is_found),
        T(an_ssh_shell_in_the_launcher_finds_it_too),
        T(a_launcher_that_works_is_known_as_this_host),
        T(older_hostfiles_are_understood),
        T(an_mpijob_without_workers_is_passed_over),
        T(a_worker_pod_is_not_a_launcher),
        T(a_launcher_without_its_list_is_an_error),
        T(a_trainjob_is_found),
        T(the_mounted_key_is_found_by_its_content),
        T(a_mounted_key_goes_before_the_users_own),
        T(what_is_no_private_key_is_not_taken),
        T(a_hostfile_beats_the_operator),
        T(hosts_of_an_operator_stay_that_in_a_file),
        T(hosts_that_a_script_names_have_the_operators_slots),
        T(a_list_selects_from_a_hostfile),
        T(a_list_does_not_raise_slots),
        T(a_list_says_what_to_count_where_the_file_says_nothing),
        T(a_list_keeps_the_order_of_mentions),
        T(a_host_outside_the_hostfile_is_an_error),
        T(a_short_name_must_mean_one_host),
        T(a_list_selects_from_a_found_gang),
        T(a_list_gives_slots_to_pods_that_state_none),
        T(a_list_of_other_hosts_stands_for_itself),
        T(a_list_that_is_half_wrong_is_told_of),
        T(a_missing_hostfile_is_an_error),
        T(a_directory_is_no_hostfile),
        T(an_unreadable_hostfile_is_an_error),
        T(an_empty_hostfile_is_an_error),
        T(a_default_hostfile_is_used_when_none_is_named),
        T(a_leftover_variable_does_not_win),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
