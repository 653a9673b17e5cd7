/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Where options come from beside the command line: configuration files,
 * profiles, variables of our own and of other launchers; and who wins. */
#include "config.h"

#include "tests/unit/cli_parse.h"

#include <sys/stat.h>

#include "lib/base/fd.h"

struct place { /* an etc and a home of this test's own */
    char root[64];
    char *etc, *home;
    struct hb_strv env;
    struct hb_options_source src;
};

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int place_create(void **state)
{
    struct place *p = hb_xcalloc(1, sizeof *p);
    char *config;

    snprintf(p->root, sizeof p->root, "/tmp/hb-cli-XXXXXX");
    if (!mkdtemp(p->root)) {
        return -1;
    }
    p->etc = hb_xasprintf("%s/etc", p->root);
    p->home = hb_xasprintf("%s/home", p->root);
    config = hb_xasprintf("%s/.config", p->home);
    if (mkdir(p->etc, 0755) || mkdir(p->home, 0755) || mkdir(config, 0755)) {
        return -1;
    }
    free(config);
    p->src.etc_dir = p->etc;
    p->src.home = p->home;
    *state = p;
    return 0;
}

static void remove_file(const char *dir, const char *name)
{
    char *path = hb_xasprintf("%s/%s", dir, name);

    if (unlink(path) && rmdir(path)) {
        /* it was not made by this test */
    }
    free(path);
}

static int place_destroy(void **state)
{
    struct place *p = *state;

    remove_file(p->etc, "hpcboot.conf");
    remove_file(p->home, ".config/hpcboot.conf");
    remove_file(p->home, ".config");
    remove_file(p->root, "etc");
    remove_file(p->root, "home");
    rmdir(p->root);
    hb_strv_destroy(&p->env);
    free(p->etc);
    free(p->home);
    free(p);
    return 0;
}

static void etc_conf(struct place *p, const char *text)
{
    char *path = hb_xasprintf("%s/hpcboot.conf", p->etc);

    write_file(path, text);
    free(path);
}

static void home_conf(struct place *p, const char *text)
{
    char *path = hb_xasprintf("%s/.config/hpcboot.conf", p->home);

    write_file(path, text);
    free(path);
}

static void set(struct place *p, const char *entry)
{
    hb_env_put(&p->env, entry);
}

static struct hb_options *run(struct place *p, struct parsed *out,
                              const char *line)
{
    p->src.env = hb_strv_view(&p->env);
    parse_words(out, &p->src, line);
    if (out->rc) {
        fail_msg("%s", out->err.text);
    }
    return out->o;
}

static void wrong(struct place *p, const char *line, const char *text)
{
    struct parsed out;
    char *whole = hb_xasprintf("%s%s", p->root, text);

    p->src.env = hb_strv_view(&p->env);
    parse_words(&out, &p->src, line);
    assert_true(out.rc < 0);
    assert_string_equal(out.err.text, text[0] == '/' ? whole : text);
    free(whole);
    parsed_free(&out);
}

static void later_sources_win(void **state)
{
    struct place *p = *state;
    struct parsed out;
    struct hb_options *o;

    etc_conf(p, "grace = 1\nheartbeat = 1s\nuser = etc\nport = 1\n");
    home_conf(p, "heartbeat = 2s\nuser = \"ho\\\\me\"  # mine\nport = 2\n");
    set(p, "HPCBOOT_USER=variable");
    set(p, "HPCBOOT_PORT=3");
    o = run(p, &out, "hbrun --port 4 a");
    assert_int_equal(o->grace_ms, 1000);
    assert_int_equal(o->heartbeat_ms, 2000);
    assert_string_equal(o->user, "variable");
    assert_int_equal(o->port, 4);
    parsed_free(&out);
}

static void origins_are_kept(void **state)
{
    struct place *p = *state;
    struct hb_strv lines = HB_STRV_INIT;
    struct parsed out;
    struct hb_options *o;
    char *wanted;

    etc_conf(p, "# first\ngrace = 1\n");
    set(p, "HPCBOOT_USER=me");
    o = run(p, &out, "hbrun --port 4 -n 2 a");
    wanted = hb_xasprintf("%s/etc/hpcboot.conf:2", p->root);
    assert_string_equal(hb_options_origin(o, "grace"), wanted);
    assert_string_equal(hb_options_origin(o, "user"),
                        "variable HPCBOOT_USER");
    assert_string_equal(hb_options_origin(o, "port"), "command line");
    assert_string_equal(hb_options_origin(o, "timeout"), "default");
    hb_options_explain(o, &lines);
    assert_int_equal(lines.n, 4);
    assert_string_equal(lines.v[1], "user = me (variable HPCBOOT_USER)");
    assert_string_equal(lines.v[3], "np = 2 (command line)");
    hb_strv_destroy(&lines);
    free(wanted);
    parsed_free(&out);
}

static void explained_are(const struct hb_options *o, const char *wanted)
{
    struct hb_strv lines = HB_STRV_INIT;

    hb_options_explain(o, &lines);
    assert_list(&lines, wanted);
    hb_strv_destroy(&lines);
}

static void each_program_has_values_of_its_own(void **state)
{
    struct place *p = *state;
    struct parsed out;

    set(p, "HPCBOOT_NP=3");
    explained_are(run(p, &out, "hbrun -n 1 a : -n 7 --wdir / b"),
                  "np = 1 (command line, program 0)|"
                  "np = 7 (command line, program 1)|"
                  "wdir = / (command line, program 1)");
    parsed_free(&out);
    explained_are(run(p, &out, "hbrun -n 1 a : b"),
                  "np = 3 (variable HPCBOOT_NP)|"
                  "np = 1 (command line, program 0)");
    parsed_free(&out);
    explained_are(run(p, &out, "hbrun -n 1 -n 2 a"), "np = 2 (command line)");
    parsed_free(&out);
}

static void a_profile_is_read_when_named(void **state)
{
    struct place *p = *state;
    struct parsed out;

    etc_conf(p, "port = 1\n[profile big]\nport = 2\n[profile other]\n"
                "port = 3\n");
    home_conf(p, "port = 4\n");
    assert_int_equal(run(p, &out, "hbrun a")->port, 4);
    parsed_free(&out);
    assert_int_equal(run(p, &out, "hbrun --profile big a")->port, 2);
    parsed_free(&out);
    set(p, "HPCBOOT_PROFILE=other");
    assert_int_equal(run(p, &out, "hbrun a")->port, 3);
    parsed_free(&out);
}

static void a_profile_in_the_first_file_is_enough(void **state)
{
    struct place *p = *state;
    struct parsed out;

    etc_conf(p, "[profile big]\nport = 2\n");
    home_conf(p, "[profile small]\nport = 3\n");
    assert_int_equal(run(p, &out, "hbrun --profile big a")->port, 2);
    parsed_free(&out);
}

static void a_profile_may_be_empty(void **state)
{
    struct place *p = *state;
    struct parsed out;

    etc_conf(p, "port = 1\n[profile big]\n# port = 2\n[profile other]\n"
                "port = 3\n");
    assert_int_equal(run(p, &out, "hbrun --profile big a")->port, 1);
    parsed_free(&out);
}

static void lists_add_up(void **state)
{
    struct place *p = *state;
    struct parsed out;
    struct hb_options *o;

    etc_conf(p, "x = A=1\nmca = btl tcp,self\nmca = pml = ob1\n");
    set(p, "HPCBOOT_X=B=2\nC=3");
    o = run(p, &out, "hbrun -x D=4 a");
    assert_list(&o->env_rules,
                "+A=1|+OMPI_MCA_btl=tcp,self|+OMPI_MCA_pml=ob1|+B=2|+C=3");
    assert_list(&o->apps[0].env_rules, "+D=4");
    parsed_free(&out);
}

static void switches_and_ranks_stand_in_files(void **state)
{
    struct place *p = *state;
    struct parsed out;
    struct hb_options *o;

    etc_conf(p, "np = 3\ntag-output = yes\nwdir = /w\nprogress = off\n");
    o = run(p, &out, "hbrun a : -n 5 b");
    assert_int_equal(o->apps[0].np, 3);
    assert_int_equal(o->apps[1].np, 5);
    assert_string_equal(o->apps[1].wdir, "/w");
    assert_int_equal(o->tag_output, HB_TAG_OPENMPI);
    assert_int_equal(o->show_progress, 0);
    parsed_free(&out);
    assert_int_equal(run(p, &out, "hbrun --tag-output=no a")->tag_output, 0);
    parsed_free(&out);
}

static void errors_name_file_line_and_column(void **state)
{
    struct place *p = *state;

    etc_conf(p, "grace = 1\n  gracee = 2\n");
    wrong(p, "hbrun a",
          "/etc/hpcboot.conf:2:3: unknown key gracee; did you mean grace?");
    etc_conf(p, "\ngrace = soon\n");
    wrong(p, "hbrun a",
          "/etc/hpcboot.conf:2:9: grace: needs a time (30, 30s, 250ms, 5m, "
          "1h), not \"soon\"");
    etc_conf(p, "[profil x]\n");
    wrong(p, "hbrun a", "/etc/hpcboot.conf:1:2: expected [profile NAME]");
    etc_conf(p, "[profilebig]\n");
    wrong(p, "hbrun a", "/etc/hpcboot.conf:1:2: expected [profile NAME]");
    etc_conf(p, "grace\n");
    wrong(p, "hbrun a", "/etc/hpcboot.conf:1:6: expected '='");
    etc_conf(p, "user = \"x\n");
    wrong(p, "hbrun a",
          "/etc/hpcboot.conf:1:10: expected a closing quotation mark");
    etc_conf(p, "user = \001\n");
    wrong(p, "hbrun a", "/etc/hpcboot.conf:1:8: expected text, not a "
                        "control character");
    etc_conf(p, "mca = btl\n");
    wrong(p, "hbrun a", "/etc/hpcboot.conf:1:7: mca: needs two words: NAME "
                        "VALUE");
    etc_conf(p, "help = yes\n");
    wrong(p, "hbrun a", "/etc/hpcboot.conf:1:1: help can stand on the command "
                        "line only (hbrun --help help)");
    etc_conf(p, "n = 4\n");
    wrong(p, "hbrun a",
          "/etc/hpcboot.conf:1:1: unknown key n; did you mean np?");
    etc_conf(p, "zzzz = 4\n");
    wrong(p, "hbrun a", "/etc/hpcboot.conf:1:1: unknown key zzzz; keys are "
                        "long names of options, see hbrun --help");
}

static void a_missing_profile_is_an_error(void **state)
{
    struct place *p = *state;
    struct parsed out;

    parse_words(&out, &p->src, "hbrun --profile big a");
    assert_true(out.rc < 0);
    assert_non_null(strstr(out.err.text,
                           "no configuration file has [profile big]"));
    parsed_free(&out);
}

static void a_wrong_variable_is_named(void **state)
{
    struct place *p = *state;

    set(p, "HPCBOOT_GRACE=x");
    wrong(p, "hbrun a", "variable HPCBOOT_GRACE: needs a time (30, 30s, "
                        "250ms, 5m, 1h), not \"x\"");
}

static void help_works_beside_a_wrong_file(void **state)
{
    struct place *p = *state;
    struct parsed out;

    etc_conf(p, "nonsense");
    assert_int_equal(run(p, &out, "hbrun --help")->help, 1);
    parsed_free(&out);
}

static void the_mpi_operators_variables_have_an_effect(void **state)
{
    struct place *p = *state;
    struct parsed out;
    struct hb_options *o;

    set(p, "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile");
    set(p, "OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10 -p 2222");
    set(p, "OMPI_MCA_orte_keep_fqdn_hostnames=true");
    set(p, "OMPI_MCA_orte_set_default_slots=3");
    set(p, "OMPI_MCA_plm_rsh_no_tree_spawn=1");
    set(p, "OMPI_MCA_rmaps=seq");
    set(p, "OMPI_MCA_rmaps_ppr_n_persocket=0");
    set(p, "OMPI_MCA_rmaps_base_cpus_per_rank=0");
    set(p, "PRTE_MCA_rmaps_ppr_n_pernode=0");
    o = run(p, &out, "mpirun -n 2 a");
    assert_null(o->default_hostfile); /* read where hosts are gathered */
    assert_string_equal(o->default_slots, "3");
    assert_int_equal(o->port, 2222);
    assert_list(&o->ssh_args, "-o|-p");
    assert_int_equal(o->tree_width, 1);
    assert_string_equal(o->map_by, "seq");
    assert_int_equal(o->warnings.n, 0);
    parsed_free(&out);
}

static void hydras_and_intels_variables_have_an_effect(void **state)
{
    struct place *p = *state;
    struct parsed out;
    struct hb_options *o;

    set(p, "I_MPI_HYDRA_HOST_FILE=/etc/mpi/hostfile");
    set(p, "I_MPI_PERHOST=2");
    set(p, "HYDRA_LAUNCH_EXTRA_ARGS=-o Port=2200 -i /key -o "
           "StrictHostKeyChecking=no");
    set(p, "MPIEXEC_TIMEOUT=7");
    o = run(p, &out, "mpiexec -n 2 a");
    assert_null(o->default_hostfile);
    assert_int_equal(o->per_node, 2);
    assert_int_equal(o->port, 2200);
    assert_string_equal(o->identity, "/key");
    assert_null(o->host_keys);
    assert_int_equal(o->timeout_ms, 7000);
    assert_string_equal(hb_options_origin(o, "timeout"),
                        "variable MPIEXEC_TIMEOUT");
    parsed_free(&out);
}

static void variables_of_others_never_stop_a_job(void **state)
{
    struct place *p = *state;
    struct parsed out;
    struct hb_options *o;

    set(p, "MPIEXEC_TIMEOUT=soon");
    set(p, "I_MPI_PERHOST=all");
    set(p, "HYDRA_LAUNCHER=slurm");
    set(p, "HYDRA_LAUNCHER_EXTRA_ARGS=--external-launcher");
    o = run(p, &out, "hbrun a");
    assert_int_equal(o->timeout_ms, 0);
    assert_null(o->launch_with);
    assert_list(&o->warnings,
                "variable MPIEXEC_TIMEOUT: needs a time (30, 30s, 250ms, 5m, "
                "1h), not \"soon\"; the variable is ignored");
    parsed_free(&out);
}

static void a_mistyped_variable_is_told_of(void **state)
{
    struct place *p = *state;
    struct parsed out;

    set(p, "HPCBOOT_TIMEOU=3");
    set(p, "HPCBOOT_OF_MY_OWN=1");
    set(p, "HPCBOOT_HOME=/opt");
    assert_list(&run(p, &out, "hbrun a")->warnings,
                "the variable HPCBOOT_TIMEOU has no effect; did you mean "
                "HPCBOOT_TIMEOUT?");
    parsed_free(&out);
}

static void so_is_another_name_of_an_option(void **state)
{
    struct place *p = *state;
    struct parsed out;

    set(p, "HPCBOOT_APP=programs");
    set(p, "HPCBOOT_MACHINEFILE=hosts");
    set(p, "HPCBOOT_PPN=2");
    set(p, "HPCBOOT_N=2");
    set(p, "HPCBOOT_VERSION=1");
    set(p, "HPCBOOT_ENV=test");
    set(p, "HPCBOOT_GRACE=3");
    assert_list(&run(p, &out, "hbrun a")->warnings,
                "the variable HPCBOOT_APP has no effect: --app stands on the "
                "command line only|"
                "the variable HPCBOOT_MACHINEFILE has no effect; did you mean "
                "HPCBOOT_HOSTFILE?|"
                "the variable HPCBOOT_PPN has no effect; did you mean "
                "HPCBOOT_NPERNODE?");
    parsed_free(&out);
}

static void so_is_one_that_says_how_large_a_gang_is(void **state)
{
    struct place *p = *state;
    struct parsed out;

    set(p, "HPCBOOT_GANGSIZE=4");
    set(p, "HPCBOOT_TASK=worker");
    set(p, "HPCBOOT_TMP_DIR=/scratch");
    set(p, "HPCBOOT_TASKS=worker");
    assert_list(&run(p, &out, "hbrun a")->warnings,
                "the variable HPCBOOT_GANGSIZE has no effect; did you mean "
                "HPCBOOT_GANG_SIZE?|"
                "the variable HPCBOOT_TASK has no effect; did you mean "
                "HPCBOOT_TASKS?|"
                "the variable HPCBOOT_TMP_DIR has no effect; did you mean "
                "HPCBOOT_TMPDIR?");
    parsed_free(&out);
}

static void so_is_one_that_agents_read(void **state)
{
    struct place *p = *state;
    struct parsed out;

    set(p, "HPCBOOT_TOPO_CACH=off");
    set(p, "HPCBOOT_TOPO_CACHE=off");
    assert_list(&run(p, &out, "hbrun a")->warnings,
                "the variable HPCBOOT_TOPO_CACH has no effect; did you mean "
                "HPCBOOT_TOPO_CACHE?");
    parsed_free(&out);
}

static void so_is_one_of_the_library_that_ranks_are_given(void **state)
{
    struct place *p = *state;
    struct parsed out;

    set(p, "HPCBOOT_CHEK=1");
    assert_list(&run(p, &out, "hbrun -x HPCBOOT_RAIL=2 -x HPCBOOT_RAILS=2 a")
                    ->warnings,
                "the variable HPCBOOT_CHEK has no effect; did you mean "
                "HPCBOOT_CHECK?|"
                "the variable HPCBOOT_RAIL has no effect; did you mean "
                "HPCBOOT_RAILS?");
    parsed_free(&out);
}

static void what_an_outer_job_sets_is_no_mistake(void **state)
{
    struct place *p = *state;
    struct parsed out;

    set(p, "HPCBOOT_RANK=0");
    set(p, "HPCBOOT_SIZE=2");
    set(p, "HPCBOOT_LOCAL_SIZE=2");
    set(p, "HPCBOOT_NODES=1");
    set(p, "HPCBOOT_SESSION_DIR=/tmp/x");
    set(p, "HPCBOOT_SOCKET=/tmp/x/y");
    assert_int_equal(run(p, &out, "hbrun a")->warnings.n, 0);
    parsed_free(&out);
}

static void a_variable_of_the_library_needs_x(void **state)
{
    struct place *p = *state;
    struct parsed out;

    set(p, "HPCBOOT_CHECK=1");
    assert_list(&run(p, &out, "hbrun a")->warnings,
                "the variable HPCBOOT_CHECK is read by ranks and does not "
                "reach them; -x HPCBOOT_CHECK passes it on");
    parsed_free(&out);
    assert_int_equal(run(p, &out, "hbrun -x HPCBOOT_CHECK a")->warnings.n, 0);
    parsed_free(&out);
    assert_int_equal(run(p, &out, "hbrun -x HPCBOOT_* a")->warnings.n, 0);
    parsed_free(&out);
}

static void ranks_whose_lines_are_read_have_no_labels(void **state)
{
    struct place *p = *state;
    const struct hb_options *o;
    struct parsed out;

    etc_conf(p, "tag-output = yes\ndry-run = yes\ngrace = 7\nnp = 3\n"
                "events = here\n");
    set(p, "OMPI_MCA_orte_tag_output=1");
    set(p, "HPCBOOT_OUTFILE_PATTERN=all");
    set(p, "HBRUN_USE=lines");
    o = run(p, &out, "hbrun a");
    assert_int_equal(o->tag_output, HB_TAG_NONE);
    assert_null(o->out_pattern);
    assert_false(o->dry_run);
    assert_int_equal(o->apps[0].np, 3);
    assert_string_equal(o->events, "here");
    assert_int_equal(o->grace_ms, 7000);
    assert_false(o->only_looks);
    parsed_free(&out);
    assert_int_equal(run(p, &out, "hbrun --label a")->tag_output,
                     HB_TAG_HYDRA);
    parsed_free(&out);
}

static void ranks_that_look_are_none_of_the_users_job(void **state)
{
    struct place *p = *state;
    const struct hb_options *o;
    struct parsed out;

    set(p, "HPCBOOT_NP=3");
    set(p, "HPCBOOT_SPARES=1");
    set(p, "HPCBOOT_MAP_BY=node");
    set(p, "HPCBOOT_EVENTS=here");
    set(p, "HPCBOOT_ON_FAILURE=respawn");
    set(p, "HPCBOOT_LABEL=yes");
    set(p, "HPCBOOT_HOST=a,b");
    set(p, "HBRUN_USE=look");
    o = run(p, &out, "hbrun --npernode 1 a");
    assert_int_equal(o->apps[0].np, 0);
    assert_int_equal(o->spares, 0);
    assert_null(o->map_by);
    assert_null(o->events);
    assert_null(o->on_failure);
    assert_int_equal(o->tag_output, HB_TAG_NONE);
    assert_string_equal(o->host_list, "a,b");
    assert_true(o->only_looks);
    parsed_free(&out);
}

int main(void)
{
#define IN_PLACE(f) \
    cmocka_unit_test_setup_teardown(f, place_create, place_destroy)
    const struct CMUnitTest tests[] = {
        IN_PLACE(later_sources_win),
        IN_PLACE(origins_are_kept),
        IN_PLACE(each_program_has_values_of_its_own),
        IN_PLACE(a_profile_is_read_when_named),
        IN_PLACE(a_profile_in_the_first_file_is_enough),
        IN_PLACE(a_profile_may_be_empty),
        IN_PLACE(lists_add_up),
        IN_PLACE(switches_and_ranks_stand_in_files),
        IN_PLACE(errors_name_file_line_and_column),
        IN_PLACE(a_missing_profile_is_an_error),
        IN_PLACE(a_wrong_variable_is_named),
        IN_PLACE(help_works_beside_a_wrong_file),
        IN_PLACE(the_mpi_operators_variables_have_an_effect),
        IN_PLACE(hydras_and_intels_variables_have_an_effect),
        IN_PLACE(variables_of_others_never_stop_a_job),
        IN_PLACE(a_mistyped_variable_is_told_of),
        IN_PLACE(so_is_another_name_of_an_option),
        IN_PLACE(so_is_one_that_says_how_large_a_gang_is),
        IN_PLACE(so_is_one_that_agents_read),
        IN_PLACE(so_is_one_of_the_library_that_ranks_are_given),
        IN_PLACE(what_an_outer_job_sets_is_no_mistake),
        IN_PLACE(a_variable_of_the_library_needs_x),
        IN_PLACE(ranks_whose_lines_are_read_have_no_labels),
        IN_PLACE(ranks_that_look_are_none_of_the_users_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
