/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Hydra's and srun's command lines, what Open MPI alone says in words of its
 * own, and how the dialect is told. */
#include "config.h"

#include "tests/unit/cli_parse.h"

static enum hb_dialect dialect_of(const char *line)
{
    struct parsed p;
    enum hb_dialect d = good(&p, line)->dialect;

    parsed_free(&p);
    return d;
}

static void dialect_is_told_by_name_option_and_use(void **state)
{
    assert_int_equal(dialect_of("hbrun -n 2 a"), HB_DIALECT_OPENMPI);
    assert_int_equal(dialect_of("mpiexec -n 2 a"), HB_DIALECT_OPENMPI);
    assert_int_equal(dialect_of("/x/mpiexec.hydra -n 2 a"),
                     HB_DIALECT_HYDRA);
    assert_int_equal(dialect_of("/x/srun -n 2 a"), HB_DIALECT_SRUN);
    assert_int_equal(dialect_of("hbrun --dialect=hydra a"), HB_DIALECT_HYDRA);
    assert_int_equal(dialect_of("hbrun -n 1 a : -genv A B b"),
                     HB_DIALECT_HYDRA);
    assert_int_equal(dialect_of("hbrun -ppn 2 a"), HB_DIALECT_HYDRA);
    assert_int_equal(dialect_of("mpirun -perhost 2 a"), HB_DIALECT_HYDRA);
    assert_int_equal(dialect_of("mpirun -grr 2 a"), HB_DIALECT_HYDRA);
    assert_int_equal(dialect_of("mpirun -rr a"), HB_DIALECT_HYDRA);
    assert_int_equal(dialect_of("hbrun -n 2 a -ppn 2"), HB_DIALECT_OPENMPI);
    assert_int_equal(dialect_of("hbrun -ppn 2 --dialect openmpi a"),
                     HB_DIALECT_OPENMPI);
}

static void mca_for_the_mapping_is_understood(void **state)
{
    struct parsed p;
    struct hb_options *o =
        good(&p, "mpirun -mca rmaps seq --mca rmaps_base_no_schedule_local 1 "
                 "--mca rmaps_base_no_oversubscribe true "
                 "--mca rmaps_base_cpus_per_rank 2 "
                 "--mca hwloc_base_bind_to_socket 1 "
                 "--mca rmaps_base_bynode 0 a");

    assert_string_equal(o->map_by, "seq");
    assert_int_equal(o->nolocal, 1);
    assert_int_equal(o->oversubscribe, -1);
    assert_int_equal(o->cpus_per_rank, 2);
    assert_string_equal(o->bind_to, "package");
    assert_int_equal(o->warnings.n, 0);
    parsed_free(&p);
    o = good(&p, "mpirun -mca rmaps ppr -mca rmaps_ppr_n_persocket 2 a");
    assert_string_equal(o->map_by, "ppr:2:package");
    parsed_free(&p);
    o = good(&p, "mpirun -mca rmaps_base_pernode 1 --mca orte_rankfile r%s a");
    assert_int_equal(o->per_node, 1);
    assert_string_equal(o->map_by, "rankfile:FILE=r%s");
    parsed_free(&p);
}

static void a_count_of_0_for_the_mapping_says_nothing(void **state)
{
    struct parsed p;
    struct hb_options *o =
        good(&p, "mpirun --mca rmaps_ppr_n_persocket 0 "
                 "--mca rmaps_base_n_persocket 0 "
                 "--mca rmaps_base_n_pernode 0 --mca rmaps_ppr_n_pernode 0 "
                 "--mca rmaps_base_cpus_per_proc 0 "
                 "--mca rmaps_base_cpus_per_rank 0 a");

    assert_null(o->map_by);
    assert_int_equal(o->per_node, 0);
    assert_int_equal(o->cpus_per_rank, 0);
    assert_int_equal(o->warnings.n, 0);
    parsed_free(&p);
}

static void hydra_environment_takes_two_words(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "mpiexec.hydra -genv A 1 -genv B=2 "
                                    "-genvlist C=3,E* -n 2 -env D 4 a b : "
                                    "-n 1 -envnone c");

    assert_list(&o->env_rules, "+A=1|+B=2|!|+C=3|!E*");
    assert_list(&o->apps[0].env_rules, "+D=4");
    assert_list(&o->apps[0].argv, "a|b");
    assert_list(&o->apps[1].env_rules, "!");
    parsed_free(&p);
}

static void hydra_placement(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "hbrun -f /h -ppn 2 -bind-to socket "
                                    "-map-by core -l -usize 5 -n 4 a");

    assert_string_equal(o->hostfile, "/h");
    assert_int_equal(o->per_node, 2);
    assert_string_equal(o->bind_to, "package");
    assert_null(o->map_by);
    assert_string_equal(o->map_inside, "core");
    assert_int_equal(o->tag_output, HB_TAG_HYDRA);
    assert_int_equal(o->universe, 5);
    assert_int_equal(o->oversubscribe, 1);
    assert_int_equal(o->warnings.n, 0);
    parsed_free(&p);
}

static void hydra_machines_are_hosts_or_a_file_of_them(void **state)
{
    struct parsed p;
    struct hb_strv again = HB_STRV_INIT;
    struct hb_options *o = good(&p, "mpirun -machine a,b -n 2 x");

    assert_string_equal(o->host_list, "a,b");
    hb_options_retype(o, &again);
    assert_list(&again, "--dialect=openmpi|--host=a,b");
    hb_strv_destroy(&again);
    parsed_free(&p);
    o = good(&p, "mpirun -machine /dev/null -n 2 x");
    assert_null(o->host_list);
    assert_string_equal(o->hostfile, "/dev/null");
    parsed_free(&p);
}

/* Those that Intel MPI's own --help, or its reference, has besides. */
static void options_of_intel_mpi_are_known(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "mpirun -prepend-timestamp -prot "
                                    "-pmi-connect alltoall a");

    assert_int_equal(o->timestamp_output, 1);
    assert_int_equal(o->warnings.n, 2);
    parsed_free(&p);
    bad("mpirun -gdb-args -x a", "-gdb-args is not supported: start the "
        "debugger as the program instead");
}

static void hydra_launchers(void **state)
{
    struct parsed p;

    assert_null(good(&p, "hbrun -launcher ssh a")->launch_with);
    parsed_free(&p);
    assert_string_equal(good(&p, "hbrun -bootstrap slurm a")->launch_with,
                        "srun --nodes=1 --ntasks=1 --nodelist=%h");
    parsed_free(&p);
    bad("hbrun -launcher ll a",
        "-launcher: \"ll\" is not a launcher here; ssh, fork and slurm are, "
        "and --launch-with takes any command");
    bad("hbrun -ckpoint on a",
        "-ckpoint is not supported: checkpoints are not served");
}

static void srun_words(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "srun -n4 -N 2 -c2 -l -wh1,h2 "
                                    "--cpu-bind=verbose,cores -t 1:30 "
                                    "--kill-on-bad-exit=0 -m cyclic -D /d "
                                    "--mpi=pmi2 -o out.%t a");

    assert_int_equal(o->apps[0].np, 4);
    assert_int_equal(o->nodes, 2);
    assert_int_equal(o->cpus_per_rank, 2);
    assert_int_equal(o->tag_output, HB_TAG_SRUN);
    assert_string_equal(o->host_list, "h1,h2");
    assert_string_equal(o->bind_to, "core");
    assert_int_equal(o->report_bindings, 1);
    assert_int_equal(o->timeout_ms, 90000);
    assert_int_equal(o->keep_going, 1);
    assert_string_equal(o->map_by, "node");
    assert_string_equal(o->apps[0].wdir, "/d");
    assert_string_equal(o->pmi, "pmi2");
    assert_string_equal(o->out_pattern, "out.%r");
    parsed_free(&p);
    bad("srun --cpu-bind= a", "--cpu-bind: \"\" is not served; none, cores, "
                              "threads, sockets, ldoms are");
}

static void srun_letters_in_one_word(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "srun -uln4 -lK0 -uc 2 a");

    assert_int_equal(o->apps[0].np, 4);
    assert_int_equal(o->tag_output, HB_TAG_SRUN);
    assert_int_equal(o->keep_going, 1);
    assert_int_equal(o->cpus_per_rank, 2);
    assert_list(&o->apps[0].argv, "a");
    parsed_free(&p);
    assert_int_equal(good(&p, "srun -lK a")->keep_going, 0);
    parsed_free(&p);
    bad("srun -luy a", "unknown option -luy; --help lists all");
    bad("srun -lK2 a", "-K: needs 0 or 1, not \"2\"");
    bad("srun -lun", "-n needs an argument: N");
    bad("srun -o 0 a", "-o 0: srun would show what task 0 writes and nothing "
        "else, which hbrun does not; ./0 is a file of that name");
    bad("hbrun -lu a", "unknown option -lu; did you mean -l?");
}

static void srun_without_a_number_starts_one(void **state)
{
    struct parsed p;

    assert_int_equal(good(&p, "srun a")->apps[0].np, 1);
    parsed_free(&p);
    assert_int_equal(
        good(&p, "srun -N3 --ntasks-per-node=2 a")->apps[0].np, 6);
    parsed_free(&p);
}

static void srun_without_a_number_starts_what_the_job_is_for(void **state)
{
    static char id[] = "SLURM_JOB_ID=7", n[] = "SLURM_NTASKS=5";
    static char *const env[] = {id, n, NULL}, *const no_job[] = {n, NULL};
    static const struct hb_options_source job = {.env = env};
    static const struct hb_options_source none = {.env = no_job};
    static const struct {
        const struct hb_options_source *source;
        const char *line;
        uint32_t np;
    } rows[] = {
        {&job, "srun a", 5}, {&job, "srun -n 2 a", 2}, {&job, "srun -N 3 a", 3},
        {&job, "srun -N1 --ntasks-per-node=2 a", 2}, {&none, "srun a", 1},
        {&job, "srun --ntasks-per-node=1 a", 5},
        {&none, "srun --ntasks-per-node=2 a", 0}, /* on each host */
        {&job, "hbrun a", 0},
    };
    struct parsed p;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        parse_words(&p, rows[i].source, rows[i].line);
        assert_int_equal(p.rc, 0);
        assert_int_equal(p.o->apps[0].np, rows[i].np);
        parsed_free(&p);
    }
}

static void srun_environment(void **state)
{
    struct parsed p;

    good(&p, "srun --export=NONE a");
    assert_list(&p.o->apps[0].env_rules, "!");
    parsed_free(&p);
    good(&p, "srun --export=ALL,A=1 a");
    assert_list(&p.o->apps[0].env_rules, "+A=1");
    parsed_free(&p);
    good(&p, "srun --export=A=1,B=2 a");
    assert_list(&p.o->apps[0].env_rules, "!|+A=1|+B=2");
    parsed_free(&p);
}

static void srun_file_names(void **state)
{
    static char id[] = "SLURM_JOB_ID=7", name[] = "SLURM_JOB_NAME=5%r";
    static char *const env[] = {id, name, NULL};
    static char of[] = "SLURM_ARRAY_JOB_ID=8", at[] = "SLURM_ARRAY_TASK_ID=3";
    static char *const array_env[] = {id, of, at, NULL};
    static const struct hb_options_source source = {.env = env};
    static const struct hb_options_source array = {.env = array_env};
    struct parsed p;

    parse_words(&p, &source, "srun -o %j.%x.%t.%% -e e%J a");
    assert_int_equal(p.rc, 0);
    assert_string_equal(p.o->out_pattern, "7.5%%r.%r.%%");
    assert_string_equal(p.o->err_pattern, "e7");
    parsed_free(&p);
    parse_words(&p, &source, "srun -o %N.%4t.%n -e %4j%3x%A.%10t a");
    assert_int_equal(p.rc, 0);
    assert_string_equal(p.o->out_pattern, "%h.%4r.%p");
    assert_string_equal(p.o->err_pattern, "00075%%r7.%10r");
    parsed_free(&p);
    parse_words(&p, &array, "srun -o %A_%a a");
    assert_int_equal(p.rc, 0);
    assert_string_equal(p.o->out_pattern, "8_3");
    parsed_free(&p);
    bad("srun -o %s a", "-o: %s is not known; %t (the rank), %N and %n (its "
        "host), %j, %A, %a, %u, %x and %% are");
    bad("srun -o %a a", "-o: %a stands for SLURM_ARRAY_TASK_ID, which is not "
        "set here; leave it out");
    bad("srun -o %j a", "-o: %j stands for SLURM_JOB_ID, which is not set "
        "here; leave it out");
}

static void srun_input(void **state)
{
    struct parsed p;

    assert_string_equal(good(&p, "srun -i /dev/null a")->stdin_target, "none");
    parsed_free(&p);
    assert_string_equal(good(&p, "srun -i 2 a")->stdin_target, "2");
    parsed_free(&p);
    bad("srun -i in.txt a", "-i: no file is opened for the ranks; give it as "
        "standard input: < in.txt");
}

static void srun_times(void **state)
{
    static const struct {
        const char *line;
        int64_t ms;
    } times[] = {
        {"srun -t 5 a", 300000},
        {"srun -t 1:2:3 a", 3723000},
        {"srun -t 1-2 a", 93600000},
        {"srun -t 1-2:3 a", 93780000},
        {"srun -t 0-0:0:4 a", 4000},
    };

    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        struct parsed p;

        assert_int_equal(good(&p, times[i].line)->timeout_ms, times[i].ms);
        parsed_free(&p);
    }
    bad("srun -t 1:2:3:4 a", "-t: needs minutes, [days-]hours:minutes:"
                             "seconds, UNLIMITED or INFINITE, not "
                             "\"1:2:3:4\"");
}

/* Of the lists that mpirun 4.1 and 5.0 print. */
static void every_option_of_mpirun_is_known(void **state)
{
    struct parsed p;
    struct hb_options *o =
        good(&p, "mpirun --display-devel-allocation --fwd-mpirun-port "
                 "--enable-instant-on-support --debugger gdb -xml-file f "
                 "--daemonize --set-sid --uniform-nodes --no-app-prefix "
                 "--keepalive f --pmix-prefix d --app-pmix-prefix d "
                 "--initial-errhandler mpi_errors_return a");

    assert_int_equal(o->explain, 1);
    assert_int_equal(o->warnings.n, 12);
    parsed_free(&p);
    bad("mpirun --stop-in-init 0 a", "--stop-in-init is not supported: start "
        "the debugger as the program instead");
    bad("mpirun --rtos stop-in-init=0 a", "--rtos stop-in-init is not "
        "supported: start the debugger as the program instead");
    bad("mpirun --runtime-options stop-on-exec a",
        "--runtime-options stop-on-exec is not supported: start the debugger "
        "as the program instead");
    o = good(&p, "mpirun --display-comm a");
    assert_list(&o->apps[0].env_rules, "+OMPI_MCA_ompi_display_comm=mpi_init");
    parsed_free(&p);
    o = good(&p, "mpirun --display-comm-finalize --display-comm=no a");
    assert_list(&o->apps[0].env_rules,
                "+OMPI_MCA_ompi_display_comm=mpi_finalize");
    parsed_free(&p);
    o = good(&p, "mpirun --display-comm-finalize --display-comm a");
    assert_string_equal(o->apps[0].env_rules.v[1],
                        "+OMPI_MCA_ompi_display_comm=mpi_init,mpi_finalize");
    parsed_free(&p);
}

static void every_option_of_srun_is_known(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "srun --hold --x11 --x11=first "
                                    "--gres-flags=enforce-binding a");

    assert_int_equal(o->warnings.n, 2);
    parsed_free(&p);
    bad("srun --bcast-exclude=none a",
        "--bcast-exclude is not supported: use --preload-binary");
}

static void directives_may_be_cut_short(void **state)
{
    struct parsed p;
    struct hb_options *o =
        good(&p, "mpirun --output merge-stderr,Time,TAG-D --display all,bind "
                 "--rtos donot,timeo=5,fwd-environment=1 a");

    assert_int_equal(o->merge_stderr, 1);
    assert_int_equal(o->timestamp_output, 1);
    assert_int_equal(o->tag_output, HB_TAG_OPENMPI);
    assert_int_equal(o->explain, 1);
    assert_int_equal(o->report_bindings, 1);
    assert_int_equal(o->dry_run, 1);
    assert_int_equal(o->timeout_ms, 5000);
    parsed_free(&p);
    o = good(&p, "mpirun --output tag a");
    assert_int_equal(o->tag_output, HB_TAG_OPENMPI);
    parsed_free(&p);
    parse(&p, "mpirun --output t a");
    assert_non_null(strstr(p.err.text, "\"t\" is not one of tag, "));
    parsed_free(&p);
}

static void name_and_value_are_joined_in_either_form(void **state)
{
    struct parsed p;
    struct hb_options *o =
        good(&p, "mpirun --prepend-env L[:] /a --append-env L[:]=/b "
                 "--prepend-env L=[c] a");

    assert_list(&o->apps[0].env_rules, "<L=/a|>L=/b|<L=[c]");
    assert_list(&o->apps[0].argv, "a");
    parsed_free(&p);
    bad("mpirun --append-env L[;] /a a", "--append-env: \"L[;]\" is neither "
        "NAME nor NAME[:]; the separator can only be ':'");
    bad("mpirun --append-env [:] /a a", "--append-env: \"[:]\" is neither "
        "NAME nor NAME[:]; the separator can only be ':'");
}

static void a_file_of_output_takes_both_streams(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "mpirun --output file=/t/f a");

    assert_string_equal(o->out_pattern, "/t/f.%r");
    assert_string_equal(o->err_pattern, "/t/f.%r");
    assert_int_equal(o->patterns_copied, 1);
    parsed_free(&p);
    o = good(&p, "mpirun --output file=/t/f --outfile g --errfile g a");
    assert_int_equal(o->patterns_copied, 0);
    parsed_free(&p);
}

static void words_behind_a_folder_go_with_it(void **state)
{
    struct parsed p;
    struct hb_options *o =
        good(&p, "mpirun --output-filename a:nocopy,nojobid "
                 "--output-filename b a");

    assert_string_equal(o->output_dir, "b");
    assert_int_equal(o->output_dir_only, 0);
    assert_int_equal(o->output_dir_no_job, 0);
    parsed_free(&p);
    o = good(&p, "mpirun --output-copy=no --output-filename b a");
    assert_int_equal(o->output_dir_only, 1);
    parsed_free(&p);
    o = good(&p, "mpirun --output-copy=no --output-filename a:nocopy "
                 "--output-filename b a");
    assert_int_equal(o->output_dir_only, 1);
    parsed_free(&p);
    o = good(&p, "mpirun --output-filename a:nocopy --output-copy=no "
                 "--output-filename b a");
    assert_int_equal(o->output_dir_only, 1);
    parsed_free(&p);
}

static void a_list_of_exported_variables_is_told_how(void **state)
{
    static char here[] = "HERE=1", odd[] = "A,B=1";
    static char *const env[] = {here, odd, NULL};
    struct hb_options_source src = {.env = env};
    struct parsed p;

    parse_words(&p, &src, "hbrun -x HERE,THERE -x A,B -x C, a");
    assert_int_equal(p.rc, 0);
    assert_list(&p.o->apps[0].env_rules, "=A,B");
    assert_list(&p.o->warnings, "-x HERE,THERE: no such variable here, so none "
                              "is passed on; each needs an option of its own, "
                              "as in: -x HERE -x THERE|"
                              "-x C,: no such variable here, so none is passed "
                              "on");
    parsed_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_exported_variables_is_told_how),
        cmocka_unit_test(dialect_is_told_by_name_option_and_use),
        cmocka_unit_test(mca_for_the_mapping_is_understood),
        cmocka_unit_test(a_count_of_0_for_the_mapping_says_nothing),
        cmocka_unit_test(hydra_environment_takes_two_words),
        cmocka_unit_test(hydra_placement),
        cmocka_unit_test(hydra_machines_are_hosts_or_a_file_of_them),
        cmocka_unit_test(options_of_intel_mpi_are_known),
        cmocka_unit_test(hydra_launchers),
        cmocka_unit_test(srun_words),
        cmocka_unit_test(srun_letters_in_one_word),
        cmocka_unit_test(srun_without_a_number_starts_one),
        cmocka_unit_test(srun_without_a_number_starts_what_the_job_is_for),
        cmocka_unit_test(srun_environment),
        cmocka_unit_test(srun_file_names),
        cmocka_unit_test(srun_input),
        cmocka_unit_test(srun_times),
        cmocka_unit_test(every_option_of_mpirun_is_known),
        cmocka_unit_test(every_option_of_srun_is_known),
        cmocka_unit_test(directives_may_be_cut_short),
        cmocka_unit_test(name_and_value_are_joined_in_either_form),
        cmocka_unit_test(a_file_of_output_takes_both_streams),
        cmocka_unit_test(words_behind_a_folder_go_with_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
