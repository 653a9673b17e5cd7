/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Which variables a rank gets: composing, rules, what leaves the launcher,
 * PID 1 (in directories that stand for /proc) and --env-file. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/proc/env.h"
#include "bin/proc/env_names.h"
#include "bin/proc/stage.h"
#include "lib/base/str.h"

#define LIST(...) ((char **)(const char *[]){__VA_ARGS__, NULL})

static void compose(struct hb_strv *out, char **launcher, char **host,
                    char **pid1, char **job, char **app)
{
    const struct hb_env_policy p = {launcher, host, pid1, job, app};
    struct hpcboot_error err = {0};

    assert_int_equal(hb_env_compose(&p, out, &err), HPCBOOT_OK);
}

static void assert_env(const struct hb_strv *env, const char *name,
                       const char *value)
{
    const char *got = hb_env_get(env, name);

    if (value == NULL) {
        assert_null(got);
    } else {
        assert_non_null(got);
        assert_string_equal(got, value);
    }
}

static void launchers_variables_travel_but_host_ones_stay(void **state)
{
    struct hb_strv env = HB_STRV_INIT;

    compose(&env,
            LIST("PATH=/l", "LD_LIBRARY_PATH=/l", "HOME=/l", "HOSTNAME=l",
                 "MINE=1", "TMPDIR=/l", "NVIDIA_VISIBLE_DEVICES="),
            LIST("PATH=/h", "HOME=/h", "HOSTNAME=h", "SSH_CLIENT=x",
                 "HOSTS_OWN=2"),
            NULL, NULL, NULL);
    assert_env(&env, "PATH", "/l");
    assert_env(&env, "LD_LIBRARY_PATH", "/l");
    assert_env(&env, "MINE", "1");
    assert_env(&env, "HOME", "/h");
    assert_env(&env, "HOSTNAME", "h");
    assert_env(&env, "SSH_CLIENT", "x");
    assert_env(&env, "HOSTS_OWN", NULL);
    assert_env(&env, "TMPDIR", NULL);
    assert_env(&env, "NVIDIA_VISIBLE_DEVICES", NULL);
    hb_strv_destroy(&env);
}

static void pid1_gives_what_neither_login_nor_launcher_has(void **state)
{
    struct hb_strv env = HB_STRV_INIT;

    compose(&env, LIST("A=launcher"),
            LIST("HOME=/root", "PWD=/root", "SSH_CLIENT=me"),
            LIST("A=pod", "B=pod", "HOME=/pod", "KUBERNETES_PORT=1",
                 "PWD=/pod", "SSH_CLIENT=other", "VC_TASK_INDEX=3",
                 "NVIDIA_VISIBLE_DEVICES=0"),
            NULL, NULL);
    assert_env(&env, "A", "launcher");
    assert_env(&env, "B", "pod");
    assert_env(&env, "HOME", "/pod");
    assert_env(&env, "KUBERNETES_PORT", "1");
    assert_env(&env, "VC_TASK_INDEX", "3");
    assert_env(&env, "NVIDIA_VISIBLE_DEVICES", "0");
    assert_env(&env, "PWD", "/root");
    assert_env(&env, "SSH_CLIENT", "me");
    hb_strv_destroy(&env);
}

static void leftovers_are_scrubbed_from_every_source(void **state)
{
    static const char *const leftovers[] = {
        "SLURM_PROCID=1", "SLURM_NODELIST=n", "PMI_FD=3", "PMI_RANK=0",
        "PMIX_RANK=0", "PMIX_NAMESPACE=x", "OMPI_COMM_WORLD_RANK=1",
        "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile",
        "OMPI_MCA_plm_rsh_args=-o", "OMPI_MCA_plm=rsh", "OMPI_MCA_ess=x",
        "OMPI_MCA_hwloc_base_binding_policy=core", "HYDRA_HOST_FILE=x",
        "HYDRA_LAUNCH_EXTRA_ARGS=x", "MPI_LOCALRANKID=0", "PALS_RANKID=0",
        "PBS_NODEFILE=x", "LSB_HOSTS=x", "FLUX_JOB_ID=1", "PE_HOSTFILE=x",
        "JSM_JSRUN_PORT=1", "PRTE_MCA_x=1", "I_MPI_HYDRA_HOST_FILE=x",
        "I_MPI_PMI_LIBRARY=/l", "MV2_COMM_WORLD_RANK=0", "HPCBOOT_RANK=1",
        "HPCBOOT_COOKIE=x", "HPCBOOT_HOSTFILE=f", "PMIX_MCA_ptl_tcp_x=1", NULL,
    };
    struct hb_strv env = HB_STRV_INIT;

    char **all = (char **)leftovers;

    compose(&env, all, all, all, NULL, NULL);
    assert_int_equal(env.n, 0);
    hb_strv_destroy(&env);
}

static void paths_in_an_outer_jobs_folder_are_scrubbed(void **state)
{
    static const char *const paths[] = {
        "OMPI_MCA_btl_vader_backing_directory=/dev/shm/hpcboot-3f.0.eLVONO",
        "OMPI_MCA_btl_sm_backing_directory=/dev/shm/hpcboot-3f.10.eLVONO/",
        "HWLOC_XMLFILE=/tmp/hpcboot-3f.0.eLVONO/topology.xml", NULL,
    };
    static char *const rule[] = {(char *)"=HWLOC_XMLFILE", NULL};
    static char *const *const rules[] = {rule};
    struct hb_strv env = HB_STRV_INIT;

    compose(&env, (char **)paths, NULL, NULL, NULL, NULL);
    assert_int_equal(env.n, 0);
    hb_strv_destroy(&env);
    compose(&env, (char **)paths, NULL, NULL, (char **)rule, NULL);
    assert_env(&env, "HWLOC_XMLFILE", "/tmp/hpcboot-3f.0.eLVONO/topology.xml");
    hb_strv_destroy(&env);
    hb_env_outgoing((char **)paths, rules, 1, &env);
    assert_int_equal(env.n, 1);
    hb_strv_destroy(&env);
}

static void a_users_own_paths_travel(void **state)
{
    static const char *const paths[] = {
        "OMPI_MCA_btl_vader_backing_directory=/scratch/hpcboot-cache",
        "OMPI_MCA_btl_sm_backing_directory=", "HWLOC_XMLFILE=/hpcboot-1.2.xml",
        "OTHER=/tmp/hpcboot-3f.0.eLVONO", NULL,
    };
    struct hb_strv env = HB_STRV_INIT;

    compose(&env, (char **)paths, NULL, NULL, NULL, NULL);
    assert_int_equal(env.n, sizeof(paths) / sizeof(paths[0]) - 1);
    hb_strv_destroy(&env);
}

static void parameters_of_the_libraries_travel(void **state)
{
    static const char *const good[] = {
        "OMPI_MCA_btl=tcp,self", "OMPI_MCA_pml=ob1", "OMPI_MCA_ess2=x",
        "UCX_TLS=tcp", "NCCL_DEBUG=INFO", "I_MPI_FABRICS=shm", "MV2_X=1",
        "PMIX_MCA_gds=hash", "SLURM_ARRAY_TASK_ID=7", "PBS_ARRAY_INDEX=2",
        "OMP_NUM_THREADS=2", "LS_COLORS=x", "TERM=xterm", NULL,
    };
    struct hb_strv env = HB_STRV_INIT;

    compose(&env, (char **)good, NULL, NULL, NULL, NULL);
    assert_int_equal(env.n, sizeof(good) / sizeof(good[0]) - 1);
    hb_strv_destroy(&env);
}

static void values_are_bytes(void **state)
{
    struct hb_strv env = HB_STRV_INIT;

    compose(&env,
            LIST("NL=a\nb", "EQ=x=y==", "BYTES=\xff\xfe\x01", "EMPTY=",
                 "NOEQUALS", "=NONAME", "F%%=() { :; }"),
            NULL, NULL, NULL, NULL);
    assert_int_equal(env.n, 5);
    assert_env(&env, "NL", "a\nb");
    assert_env(&env, "EQ", "x=y==");
    assert_env(&env, "BYTES", "\xff\xfe\x01");
    assert_env(&env, "EMPTY", "");
    assert_env(&env, "F%%", "() { :; }");
    hb_strv_destroy(&env);
}

static void of_two_entries_with_one_name_the_first_counts(void **state)
{
    struct hb_strv env = HB_STRV_INIT;

    compose(&env, LIST("A=1", "AB=x", "A=2"), NULL, NULL, NULL, NULL);
    assert_int_equal(env.n, 2);
    assert_env(&env, "A", "1");
    hb_strv_destroy(&env);
}

static void rules_apply_in_order_and_win(void **state)
{
    struct hb_strv env = HB_STRV_INIT;

    compose(&env, LIST("A=1", "P=/x", "GONE=1", "GONE_TOO=1", "HOME=/l"),
            LIST("HOME=/h"), NULL,
            LIST("+A=2", "<P=/first", ">P=/last", ">NEW=/only", "-GONE*",
                 "=HOME", "+PMI_RANK=5"),
            LIST("+A=3"));
    assert_env(&env, "A", "3");
    assert_env(&env, "P", "/first:/x:/last");
    assert_env(&env, "NEW", "/only");
    assert_env(&env, "GONE", NULL);
    assert_env(&env, "GONE_TOO", NULL);
    assert_env(&env, "HOME", "/l");
    assert_env(&env, "PMI_RANK", "5");
    hb_strv_destroy(&env);
}

static void start_from_nothing_keeps_only_what_is_named(void **state)
{
    struct hb_strv env = HB_STRV_INIT;

    compose(&env, LIST("A=1", "PRE_X=1", "PRE_Y=2", "PRE_X=dup"),
            LIST("HOME=/h"), NULL, LIST("!", "=PRE_*", "+B=2"), NULL);
    assert_int_equal(env.n, 3);
    assert_env(&env, "PRE_X", "1");
    assert_env(&env, "B", "2");
    hb_strv_destroy(&env);
}

static void what_is_set_stays_before_start_from_nothing(void **state)
{
    struct hb_strv env = HB_STRV_INIT;

    compose(&env, LIST("A=1", "B=1", "P=/l", "HOME=/l"), LIST("HOME=/h"), NULL,
            LIST("+C=3", "=B", "<P=/p", "!", "!A"), NULL);
    assert_int_equal(env.n, 4);
    assert_env(&env, "A", "1");
    assert_env(&env, "B", "1");
    assert_env(&env, "C", "3");
    assert_env(&env, "P", "/p");
    compose(&env, LIST("A=1"), LIST("HOME=/h"), NULL, LIST("+A=2", "!", "!A"),
            NULL);
    assert_int_equal(env.n, 1);
    assert_env(&env, "A", "2");
    hb_strv_destroy(&env);
}

static void lists_of_what_is_passed_on_add_up(void **state)
{
    struct hb_strv env = HB_STRV_INIT;

    compose(&env, LIST("D=1", "E=2", "F=3", "HOME=/l"), LIST("HOME=/h"),
            LIST("G=4"), LIST("!", "!D", "!", "!E"), NULL);
    assert_int_equal(env.n, 2);
    assert_env(&env, "D", "1");
    assert_env(&env, "E", "2");
    hb_strv_destroy(&env);
}

static void a_programs_start_from_nothing_is_in_place_of_the_jobs(void **state)
{
    struct hb_strv env = HB_STRV_INIT;

    compose(&env, LIST("D=1", "E=2", "HOME=/l"), LIST("HOME=/h"), NULL,
            LIST("+A=1", "!", "!D"), LIST("!", "!E"));
    assert_int_equal(env.n, 2);
    assert_env(&env, "A", "1");
    assert_env(&env, "E", "2");
    compose(&env, LIST("D=1"), LIST("HOME=/h"), NULL, LIST("+A=1", "!", "!D"),
            LIST("!"));
    assert_int_equal(env.n, 1);
    assert_env(&env, "A", "1");
    hb_strv_destroy(&env);
}

static void malformed_rules_are_refused_with_their_text(void **state)
{
    static const char *const bad[] = {
        "", "A=1", "+A", "+=x", "-", "-A=1", "=", "=A=1", "<A", "!x=", "*",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char *rules[] = {(char *)bad[i], NULL};
        const struct hb_env_policy p = {.app_rules = rules};
        struct hb_strv env = HB_STRV_INIT;
        struct hpcboot_error err = {0};

        assert_int_equal(hb_env_compose(&p, &env, &err), HPCBOOT_ERR_USAGE);
        assert_non_null(strstr(err.text, bad[i]));
        hb_strv_destroy(&env);
    }
}

static void only_what_travels_leaves_the_launcher(void **state)
{
    char *const *const sets[] = {LIST("=HOME", "!", "!SLURM_J*", "+X=1")};
    struct hb_strv out = HB_STRV_INIT;

    hb_env_outgoing(LIST("A=1", "HOME=/h", "SLURM_JOB_ID=1", "PMI_FD=3",
                         "SSH_TTY=/t", "junk"),
                    sets, 1, &out);
    assert_int_equal(out.n, 3);
    assert_env(&out, "A", "1");
    assert_env(&out, "HOME", "/h");
    assert_env(&out, "SLURM_JOB_ID", "1");
    hb_strv_destroy(&out);
}

static void reasons_can_be_asked_for(void **state)
{
    assert_true(hb_env_is_denied("HOME"));
    assert_true(hb_env_is_denied("SSH_AUTH_SOCK"));
    assert_false(hb_env_is_denied("PATH"));
    assert_false(hb_env_is_denied("HOMEPAGE"));
    assert_string_equal(hb_env_scrubbed_family("SLURM_PROCID"), "slurm");
    assert_string_equal(hb_env_scrubbed_family("OMPI_MCA_plm_rsh_agent"),
                        "ompi launcher parameters");
    assert_null(hb_env_scrubbed_family("OMPI_MCA_plmx"));
    assert_null(hb_env_scrubbed_family("PATH"));
}

/* As Kubeflow Trainer, GKE, KubeRay and device plugins set them. */
static void what_a_pod_was_told_of_itself_stays_there(void **state)
{
    static const char *const own[] = {
        "DMLC_TASK_ID", "DMLC_WORKER_ID", "MX_CONFIG", "TPU_WORKER_ID",
        "CLOUD_TPU_TASK_ID", "RAY_CLOUD_INSTANCE_ID",
        "PCIDEVICE_OPENSHIFT_IO_MLXNICS"};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        assert_true(hb_env_is_denied(own[i]));
    }
    assert_false(hb_env_is_denied("DMLC_TRACKER_URI"));
    assert_false(hb_env_is_denied("TPU_WORKER_HOSTNAMES"));
}

static void patterns_match_like_file_names(void **state)
{
    static const struct {
        const char *pattern, *name;
        int match;
    } cases[] = {
        {"A", "A", 1},       {"A", "AB", 0},      {"A*", "A", 1},
        {"A*", "ABC", 1},    {"*", "", 1},        {"", "", 1},
        {"*B", "AAB", 1},    {"A*B*C", "AxBC", 1}, {"A*B*C", "AxB", 0},
        {"A?C", "ABC", 1},   {"A?C", "AC", 0},    {"**A", "xxA", 1},
        {"a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(hb_env_match(cases[i].pattern,
                                      strlen(cases[i].pattern), cases[i].name,
                                      strlen(cases[i].name)),
                         cases[i].match);
    }
}

/* ---- a directory that stands for /proc */

static int make_dir(void **state)
{
    static const char *const places[] = {"/tmp"};
    char *path = NULL;

    *state = NULL;
    if (hb_session_dir_create_in(places, 1, "env", 0, &path, NULL) < 0) {
        return -1;
    }
    *state = path;
    return 0;
}

static int drop_dir(void **state)
{
    int left = hb_session_dir_remove(*state);

    free(*state);
    return left;
}

static void put_file(const char *dir, int pid, const char *name,
                     const char *text, size_t len)
{
    char *path = hb_xasprintf("%s/%d", dir, pid);
    FILE *f;

    mkdir(path, 0700);
    free(path);
    path = hb_xasprintf("%s/%d/%s", dir, pid, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fwrite(text, 1, len, f);
    fclose(f);
    free(path);
}

static void put_process(const char *dir, int pid, int ppid, const char *comm)
{
    char *stat = hb_xasprintf("%d (%s) S %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 "
                              "0 77 0\n", pid, comm, ppid);
    char *line = hb_xasprintf("%s\n", comm);

    put_file(dir, pid, "stat", stat, strlen(stat));
    put_file(dir, pid, "comm", line, strlen(line));
    free(stat);
    free(line);
}

static void a_containers_first_process_is_read(void **state)
{
    static const char vars[] = "A=1\0junk\0B=x\ny=\0";
    struct hb_strv env = HB_STRV_INIT;

    put_process(*state, 1, 0, "sshd");
    put_file(*state, 1, "environ", vars, sizeof(vars) - 1);
    assert_int_equal(hb_env_read_pid1_at(*state, 5, &env, NULL), HPCBOOT_OK);
    assert_int_equal(env.n, 2);
    assert_env(&env, "B", "x\ny=");
    hb_strv_destroy(&env);
}

static void an_init_system_is_no_container(void **state)
{
    struct hb_strv env = HB_STRV_INIT;
    struct hpcboot_error err = {0};

    put_process(*state, 1, 0, "systemd");
    put_file(*state, 1, "environ", "A=1", 4);
    assert_int_equal(hb_env_read_pid1_at(*state, 5, &env, &err),
                     HPCBOOT_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "systemd"));
    assert_int_equal(env.n, 0);
}

static void beside_a_pause_process_the_top_of_the_tree_is_read(void **state)
{
    struct hb_strv env = HB_STRV_INIT;

    put_process(*state, 1, 0, "pause");
    put_process(*state, 7, 0, "ss) R 1 (hd");
    put_process(*state, 9, 7, "sshd");
    put_file(*state, 7, "environ", "POD=yes", 8);
    assert_int_equal(hb_env_read_pid1_at(*state, 9, &env, NULL), HPCBOOT_OK);
    assert_env(&env, "POD", "yes");
    hb_strv_destroy(&env);
    assert_int_equal(hb_env_read_pid1_at(*state, 7, &env, NULL),
                     HPCBOOT_ERR_NOT_FOUND);
}

static void a_missing_proc_is_an_answer(void **state)
{
    struct hb_strv env = HB_STRV_INIT;

    assert_int_equal(hb_env_read_pid1_at("/nonexistent", 1, &env, NULL),
                     HPCBOOT_ERR_NOT_FOUND);
}

/* ---- --env-file */

static void env_files_become_rules(void **state)
{
    static const char text[] = "# comment\n\nA=1\n  export B=x # y \nC=\n"
                               "D=e=f\r\nWANTED\nLAST=no end";
    struct hb_strv rules = HB_STRV_INIT;

    assert_int_equal(hb_env_text_rules("f", text, sizeof(text) - 1, &rules,
                                       NULL), HPCBOOT_OK);
    assert_int_equal(rules.n, 6);
    assert_string_equal(rules.v[0], "+A=1");
    assert_string_equal(rules.v[1], "+B=x # y ");
    assert_string_equal(rules.v[2], "+C=");
    assert_string_equal(rules.v[3], "+D=e=f");
    assert_string_equal(rules.v[4], "=WANTED");
    assert_string_equal(rules.v[5], "+LAST=no end");
    hb_strv_destroy(&rules);
}

static void a_bad_line_is_named_and_nothing_is_taken(void **state)
{
    static const char text[] = "A=1\nnot a variable\n";
    struct hb_strv rules = HB_STRV_INIT;
    struct hpcboot_error err = {0};

    assert_int_equal(hb_env_text_rules("my.env", text, sizeof(text) - 1,
                                       &rules, &err), HPCBOOT_ERR_PARSE);
    assert_non_null(strstr(err.text, "my.env:2"));
    assert_int_equal(rules.n, 0);
    assert_int_equal(hb_env_file_rules("/nonexistent", &rules, &err),
                     HPCBOOT_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launchers_variables_travel_but_host_ones_stay),
        cmocka_unit_test(pid1_gives_what_neither_login_nor_launcher_has),
        cmocka_unit_test(leftovers_are_scrubbed_from_every_source),
        cmocka_unit_test(paths_in_an_outer_jobs_folder_are_scrubbed),
        cmocka_unit_test(a_users_own_paths_travel),
        cmocka_unit_test(parameters_of_the_libraries_travel),
        cmocka_unit_test(values_are_bytes),
        cmocka_unit_test(of_two_entries_with_one_name_the_first_counts),
        cmocka_unit_test(rules_apply_in_order_and_win),
        cmocka_unit_test(start_from_nothing_keeps_only_what_is_named),
        cmocka_unit_test(what_is_set_stays_before_start_from_nothing),
        cmocka_unit_test(lists_of_what_is_passed_on_add_up),
        cmocka_unit_test(
            a_programs_start_from_nothing_is_in_place_of_the_jobs),
        cmocka_unit_test(malformed_rules_are_refused_with_their_text),
        cmocka_unit_test(only_what_travels_leaves_the_launcher),
        cmocka_unit_test(reasons_can_be_asked_for),
        cmocka_unit_test(what_a_pod_was_told_of_itself_stays_there),
        cmocka_unit_test(patterns_match_like_file_names),
        cmocka_unit_test_setup_teardown(a_containers_first_process_is_read,
                                        make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(an_init_system_is_no_container,
                                        make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(
            beside_a_pause_process_the_top_of_the_tree_is_read, make_dir,
            drop_dir),
        cmocka_unit_test(a_missing_proc_is_an_answer),
        cmocka_unit_test(env_files_become_rules),
        cmocka_unit_test(a_bad_line_is_named_and_nothing_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
