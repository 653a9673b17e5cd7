/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The command line of hbrun in Open MPI's dialect: options, programs, their
 * arguments, segments, and the sentences for what is wrong. */
#include "config.h"

#include "tests/unit/cli_parse.h"

#include "bin/cli/optdef.h"
#include "lib/base/fd.h"

static void ranks_and_program(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "hbrun -n 4 ./prog -x --mca");

    assert_int_equal(o->n_apps, 1);
    assert_int_equal(o->apps[0].np, 4);
    assert_list(&o->apps[0].argv, "./prog|-x|--mca");
    parsed_free(&p);
}

static void every_spelling_of_ranks(void **state)
{
    static const char *const lines[] = {
        "hbrun -np 4 a",   "hbrun --np 4 a", "hbrun --n 4 a",
        "hbrun --np=4 a",  "hbrun -c 4 a",   "hbrun -n4 a",
        "mpirun -np=4 a",
    };

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct parsed p;

        assert_int_equal(good(&p, lines[i])->apps[0].np, 4);
        parsed_free(&p);
    }
}

static void arguments_travel_byte_for_byte(void **state)
{
    static const char *const words[] = {
        "hbrun", "--", "-odd", "", "a b\t\"'", "\xff\x01", "--help"};
    static char *const env[] = {NULL};
    struct hb_options_source src = {.env = env};
    struct hb_strv argv = HB_STRV_INIT;
    struct hb_options *o;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        hb_strv_push(&argv, words[i]);
    }
    assert_int_equal(hb_options_parse(&o, 7, argv.v, &src, NULL), 0);
    assert_int_equal(o->apps[0].argv.n, 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(o->apps[0].argv.v[i], words[2 + i]);
    }
    hb_options_destroy(o);
    hb_strv_destroy(&argv);
}

static void colon_begins_a_segment(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "hbrun -n 1 -x A=1 a x : -n 2 --wdir /w "
                                    "b : c");

    assert_int_equal(o->n_apps, 3);
    assert_int_equal(o->apps[1].np, 2);
    assert_string_equal(o->apps[1].wdir, "/w");
    assert_list(&o->apps[0].env_rules, "+A=1");
    assert_list(&o->apps[1].env_rules, "");
    assert_null(o->apps[0].wdir);
    assert_int_equal(o->apps[2].np, 0);
    parsed_free(&p);
}

static void hosts_of_one_segment_are_the_jobs(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "hbrun -H a:2,b --host c -n 2 x : y");

    assert_string_equal(o->host_list, "a:2,b,c");
    assert_null(o->apps[0].host_list);
    parsed_free(&p);
}

static void hosts_of_later_segments_stay_theirs(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "hbrun -H a x : -H b:2 y");

    assert_string_equal(o->host_list, "a,b:2");
    assert_string_equal(o->apps[0].host_list, "a");
    assert_string_equal(o->apps[1].host_list, "b:2");
    parsed_free(&p);
}

static void mca_for_ranks_becomes_environment(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "hbrun --mca btl ^openib -mca pml ob1 "
                                    "--gmca coll basic --pmixmca gds hash a");

    assert_list(&o->apps[0].env_rules,
                "+OMPI_MCA_btl=^openib|+OMPI_MCA_pml=ob1|+PMIX_MCA_gds=hash");
    assert_list(&o->env_rules, "+OMPI_MCA_coll=basic");
    assert_list(&o->mca, "btl=^openib|pml=ob1|coll=basic|gds=hash");
    parsed_free(&p);
}

static void mca_for_the_launcher_is_understood(void **state)
{
    struct parsed p;
    struct hb_options *o =
        good(&p, "hbrun --mca orte_keep_fqdn_hostnames true --mca "
                 "orte_default_hostfile /h --mca rmaps_base_oversubscribe 1 "
                 "--mca plm_rsh_agent ssh:rsh a");

    assert_string_equal(o->default_hostfile, "/h");
    assert_int_equal(o->oversubscribe, 1);
    assert_list(&o->apps[0].env_rules, "");
    parsed_free(&p);
}

static void mca_without_a_meaning_is_noted_once(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "hbrun --mca oob_tcp_if_include eth0 "
                                    "--mca oob_tcp_if_include eth1 a");

    assert_list(&o->warnings, "the parameter oob_tcp_if_include is ignored: "
                              "it concerns Open MPI's own launcher");
    parsed_free(&p);
}

static void rsh_agent_becomes_a_command(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "hbrun --mca plm_rsh_agent "
                                    "/etc/mpi/kubexec.sh a");

    assert_string_equal(o->launch_with, "/etc/mpi/kubexec.sh %h %a");
    parsed_free(&p);
    o = good(&p, "hbrun --launcher-exec /opt/site/ssh a");
    assert_string_equal(o->launch_with, "/opt/site/ssh %h %a");
    parsed_free(&p);
    o = good(&p, "hbrun --launcher-exec /usr/bin/ssh a");
    assert_null(o->launch_with);
    parsed_free(&p);
}

static void exported_variables(void **state)
{
    static char here[] = "HERE=1";
    static char *const env[] = {here, NULL};
    struct hb_options_source src = {.env = env};
    struct parsed p;

    parse_words(&p, &src, "hbrun -x HERE -x NOT_HERE -x A=b=c -x HE* "
                          "-x NOT* -x P*X a");
    assert_int_equal(p.rc, 0);
    assert_list(&p.o->apps[0].env_rules, "=HERE|+A=b=c|=HE*|=NOT*|=P*X");
    assert_list(&p.o->warnings, "-x NOT_HERE: no such variable here, so none "
                              "is passed on|"
                              "-x NOT*: no such variable here, so none is "
                              "passed on");
    parsed_free(&p);
}

static void deprecated_placement_is_translated(void **state)
{
    struct parsed p;
    struct hb_options *o;

    o = good(&p, "hbrun --bynode --nooversubscribe --pernode a");
    assert_string_equal(o->map_by, "node");
    assert_int_equal(o->oversubscribe, -1);
    assert_int_equal(o->per_node, 1);
    parsed_free(&p);
    o = good(&p, "hbrun --npersocket 2 a");
    assert_string_equal(o->map_by, "ppr:2:package");
    parsed_free(&p);
    bad("hbrun --npersocket 2 -rf /r a",
        "-rf: --npersocket says already where ranks go (--map-by "
        "ppr:2:package); give one of them");
    o = good(&p, "hbrun -bind-to-core -rf /r a");
    assert_string_equal(o->map_by, "rankfile:FILE=/r");
    assert_string_equal(o->bind_to, "core");
    parsed_free(&p);
    o = good(&p, "hbrun --npernode 3 --oversubscribe --nolocal a");
    assert_int_equal(o->per_node, 3);
    assert_int_equal(o->oversubscribe, 1);
    assert_int_equal(o->nolocal, 1);
    parsed_free(&p);
}

static void output_directives(void **state)
{
    struct parsed p;
    struct hb_options *o;

    o = good(&p, "hbrun --output tag,timestamp,merge,dir=/d:nocopy a");
    assert_int_equal(o->tag_output, HB_TAG_OPENMPI);
    assert_int_equal(o->timestamp_output, 1);
    assert_int_equal(o->merge_stderr, 1);
    assert_string_equal(o->output_dir, "/d");
    assert_int_equal(o->output_dir_only, 1);
    parsed_free(&p);
    o = good(&p, "hbrun --output-filename /a:b:NOCOPY,nojobid a");
    assert_string_equal(o->output_dir, "/a:b");
    assert_int_equal(o->output_dir_only, 1);
    assert_int_equal(o->output_dir_no_job, 1);
    parsed_free(&p);
    o = good(&p, "hbrun --output-filename /a:b a");
    assert_string_equal(o->output_dir, "/a:b");
    parsed_free(&p);
    o = good(&p, "hbrun --output file=/t/f --display map,bind --rtos "
                 "donotlaunch,timeout=5 a");
    assert_string_equal(o->out_pattern, "/t/f.%r");
    assert_int_equal(o->explain, 1);
    assert_int_equal(o->report_bindings, 1);
    assert_int_equal(o->dry_run, 1);
    assert_int_equal(o->timeout_ms, 5000);
    parsed_free(&p);
}

static void times_have_units(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "hbrun --timeout 5m --grace 250ms "
                                    "--heartbeat 0 a");

    assert_int_equal(o->timeout_ms, 300000);
    assert_int_equal(o->grace_ms, 250);
    assert_int_equal(o->heartbeat_ms, 0);
    assert_int_equal(o->connect_timeout_ms, 30000);
    parsed_free(&p);
}

static void root_needs_no_word(void **state)
{
    struct parsed p;

    assert_int_equal(good(&p, "mpirun --allow-run-as-root a")->warnings.n, 0);
    parsed_free(&p);
}

static void ignored_options_warn_once(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "hbrun --report-pid - --report-pid - a");

    assert_list(&o->warnings,
                "--report-pid is ignored: hbrun writes no such file");
    parsed_free(&p);
}

/* Command lines of the operators' own sample jobs. */
static void sample_jobs_are_understood(void **state)
{
    static const char *const lines[] = {
        "mpirun -n 2 /home/mpiuser/pi",
        "mpirun --allow-run-as-root -np 2 -bind-to none -map-by slot -x "
        "NCCL_DEBUG=INFO -x LD_LIBRARY_PATH=/l -x PATH=/p -mca pml ob1 -mca "
        "btl ^openib python a.py --model=resnet101 --batch_size=64",
        "mpiexec --allow-run-as-root --host w-0.w,w-1.w -np 2 hello",
        "mpirun -np 4 --hostfile /etc/mpi/hostfile -mca plm_rsh_no_tree_spawn "
        "1 -mca orte_keep_fqdn_hostnames t --tag-output python a.py",
        "mpiexec.hydra -f /etc/mpi/hostfile -launcher ssh -n 2 -genv "
        "I_MPI_DEBUG 5 -ppn 1 ./a",
    };

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct parsed p;

        assert_int_equal(good(&p, lines[i])->warnings.n, 0);
        parsed_free(&p);
    }
}

static void no_tree_spawn_means_that_hbrun_starts_all(void **state)
{
    static const struct {
        const char *value;
        uint32_t width;
    } list[] = {{"1", 1}, {"true", 1}, {"0", 0}, {"f", 0}};

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        char *line = hb_xasprintf("mpirun -mca plm_rsh_no_tree_spawn %s a",
                                  list[i].value);
        struct parsed p;

        assert_int_equal(good(&p, line)->tree_width, list[i].width);
        parsed_free(&p);
        free(line);
    }
}

/* words, the name of a file with that text, rest */
/* As words, and without the programs; what belongs to one job is not kept. */
static void retyped(const struct hb_options *o, struct parsed *p)
{
    struct hb_strv words = HB_STRV_INIT;
    struct hb_str line = HB_STR_INIT;

    hb_options_retype(o, &words);
    hb_str_put(&line, "hbrun");
    for (size_t i = 0; i < words.n; i++) {
        hb_str_putf(&line, " %s", words.v[i]);
    }
    hb_str_put(&line, " spawned");
    good(p, hb_str_text(&line));
    hb_options_make_spawned(p->o, 2);
    hb_str_destroy(&line);
    hb_strv_destroy(&words);
}

static int has(const struct hb_strv *list, const char *text)
{
    for (size_t i = 0; i < list->n; i++) {
        if (hb_streq(list->v[i], text)) {
            return 1;
        }
    }
    return 0;
}

static void a_spawned_job_takes_over_how_hosts_are_reached(void **state)
{
    struct parsed p, spawned;

    retyped(good(&p, "hbrun -n 2 -H a:2 --port 2222 -x A=b --mca btl tcp "
                     "--tag-output --oversubscribe prog : -n 1 -H b "
                     "--set-env C=d other"), &spawned);
    assert_string_equal(spawned.o->host_list, "a:2,b");
    assert_int_equal(spawned.o->port, 2222);
    assert_int_equal(spawned.o->tag_output, HB_TAG_OPENMPI);
    assert_int_equal(spawned.o->oversubscribe, 1);
    assert_true(has(&spawned.o->env_rules, "+A=b"));
    assert_true(has(&spawned.o->env_rules, "+C=d"));
    assert_true(has(&spawned.o->env_rules, "+OMPI_MCA_btl=tcp"));
    parsed_free(&spawned);
    parsed_free(&p);
}

static void a_spawned_job_leaves_what_is_one_job_s_own(void **state)
{
    struct parsed p, spawned;

    retyped(good(&p, "hbrun -n 2 --map-by node --bind-to core --timeout 9 "
                     "--events ev --on-failure continue --stdin all "
                     "--wdir /tmp prog"), &spawned);
    assert_int_equal(spawned.o->n_apps, 2);
    assert_int_equal(spawned.o->apps[0].np, 0);
    assert_null(spawned.o->apps[1].wdir);
    assert_null(spawned.o->map_by);
    assert_string_equal(spawned.o->bind_to, "none");
    assert_int_equal(spawned.o->timeout_ms, 0);
    assert_null(spawned.o->events);
    assert_null(spawned.o->on_failure);
    assert_string_equal(spawned.o->stdin_target, "none");
    parsed_free(&spawned);
    parsed_free(&p);
}

/* Options that another dialect has under no name of its own are set again by
 * those that stand for them. */
static void a_spawned_job_of_hydra_s_command_line(void **state)
{
    struct parsed p, spawned;

    retyped(good(&p, "mpiexec.hydra -f /dev/null -ppn 1 -genv A b -n 2 "
                     "-env B=c -env C d -genv D=e -genvlist E* -envlist F* "
                     "-envlist G* prog"), &spawned);
    assert_int_equal(spawned.o->dialect, HB_DIALECT_HYDRA);
    assert_string_equal(spawned.o->hostfile, "/dev/null");
    assert_list(&spawned.o->env_rules, "+A=b|+D=e|+B=c|+C=d|!|!F*|!|!G*");
    assert_int_equal(spawned.o->per_node, 0);
    parsed_free(&spawned);
    parsed_free(&p);
}

static void parse_with_file(struct parsed *p, const char *words,
                            const char *text, const char *rest)
{
    char path[] = "/tmp/hb-options-XXXXXX", *line;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(hb_fd_write_all(fd, text, strlen(text), NULL), 0);
    close(fd);
    line = hb_xasprintf("%s %s%s", words, path, rest);
    parse(p, line);
    unlink(path);
    free(line);
}

static void programs_from_a_file(void **state)
{
    static const char text[] = "# two programs\n"
                               "-n 2 -x A='b c' ./one \"x y\" : z\n"
                               "\n"
                               "-n 1 ./two \\\n  more # not this\n";
    struct parsed p;

    parse_with_file(&p, "hbrun --wdir /w --app", text, "");
    assert_int_equal(p.rc, 0);
    assert_int_equal(p.o->n_apps, 2);
    assert_list(&p.o->apps[0].argv, "./one|x y|:|z");
    assert_list(&p.o->apps[0].env_rules, "+A=b c");
    assert_list(&p.o->apps[1].argv, "./two|more");
    assert_string_equal(p.o->apps[1].wdir, "/w");
    parsed_free(&p);
    parse_with_file(&p, "hbrun --app",
                    "# ./none \\\n-n 1 ./one \\\r\n a # first \\\r\n"
                    "-n 1 ./two 'x #'\\\n y#\\\r\nz\r\n", "");
    assert_int_equal(p.rc, 0);
    assert_list(&p.o->apps[0].argv, "./one|a");
    assert_list(&p.o->apps[1].argv, "./two|x #|y#z");
    parsed_free(&p);
}

static void parameters_from_a_file(void **state)
{
    static const char text[] = "# tuned\nbtl = tcp,self\n-x A=1 -mca pml ob1\n";
    struct parsed p;

    parse_with_file(&p, "hbrun --tune", text, " a");
    assert_int_equal(p.rc, 0);
    assert_list(&p.o->apps[0].env_rules,
                "+OMPI_MCA_btl=tcp,self|+A=1|+OMPI_MCA_pml=ob1");
    parsed_free(&p);
}

static void help_needs_no_program(void **state)
{
    struct parsed p;
    struct hb_options *o = good(&p, "hbrun --help hosts");

    assert_int_equal(o->help, 1);
    assert_string_equal(o->help_topic, "hosts");
    parsed_free(&p);
    assert_int_equal(good(&p, "hbrun -n 2 -h")->help, 1);
    assert_null(p.o->help_topic);
    parsed_free(&p);
    assert_int_equal(good(&p, "hbrun -V")->version, 1);
    parsed_free(&p);
    assert_string_equal(good(&p, "hbrun --completion zsh")->completion, "zsh");
    parsed_free(&p);
}

static void wrong_words_get_one_line(void **state)
{
    bad("hbrun --hotsfile f a",
        "unknown option --hotsfile; did you mean --hostfile?");
    bad("hbrun -hotsfile f a",
        "unknown option -hotsfile; did you mean -hostfile?");
    bad("hbrun --qqqqqqqqqq a",
        "unknown option --qqqqqqqqqq; --help lists all");
    bad("hbrun --export ALL a",
        "--export is no option of --dialect=openmpi; it is one of "
        "--dialect=srun");
    bad("hbrun -n 0 a", "-n: needs a number from 1 to 16777216, not \"0\"");
    bad("hbrun -n abc a", "-n: needs a number from 1 to 16777216, not \"abc\"");
    bad("hbrun -n", "-n needs an argument: N");
    bad("hbrun --mca btl", "--mca needs two arguments: NAME VALUE");
    bad("hbrun", "no program was named: [options] PROGRAM [arguments]; "
                 "--help lists the options");
    bad("hbrun -n 2 a : -n 2",
        "part 2 of the command line (between ':') names no program");
    bad("hbrun --pmi tcp a",
        "--pmi: \"tcp\" is not one of auto|pmi1|pmi2|pmix|none");
    bad("hbrun --grace soon a", "--grace: needs a time (30, 30s, 250ms, 5m, "
                                "1h), not \"soon\"");
    bad("hbrun --stdin some a",
        "--stdin: needs a rank, all or none, not \"some\"");
    bad("hbrun --port 70000 a",
        "--port: needs a port from 1 to 65535, not \"70000\"");
    bad("hbrun --tag-output=maybe a",
        "--tag-output: \"maybe\" is neither yes nor no");
    bad("hbrun -x =a b", "-x: \"=a\" does not begin with a name");
    bad("hbrun --output tag,nothing b",
        "--output: \"nothing\" is not one of tag, tag-detailed, tag-fullname, "
        "rank, timestamp, merge, merge-stderr-to-stdout, dir, directory, "
        "file, filename, xml, copy, nocopy, raw, pattern");
}

static void refused_options_say_why(void **state)
{
    bad("hbrun --ompi-server x a",
        "--ompi-server is not supported: names are published at the "
        "launcher; there is no separate server");
    bad("hbrun --dvm x a",
        "--dvm is not supported: hbrun starts its own agents and joins no "
        "running daemons");
}

/* --- the table itself -------------------------------------------- */

static void count_name(const char *wanted, unsigned wanted_set, int *n)
{
    char name[HB_OPT_NAME_MAX];

    for (size_t i = 0; i < hb_opts_n; i++) {
        const char *pos = hb_opts[i].names;
        unsigned set;

        while (hb_opt_next_name(&pos, name, &set)) {
            *n += (set & wanted_set) && !strcmp(name, wanted);
        }
    }
}

static void no_dialect_has_a_name_twice(void **state)
{
    for (size_t i = 0; i < hb_opts_n; i++) {
        const char *pos = hb_opts[i].names;
        char name[HB_OPT_NAME_MAX];
        unsigned set;

        while (hb_opt_next_name(&pos, name, &set)) {
            assert_true(strlen(name) < HB_OPT_NAME_MAX - 1);
            for (unsigned bit = 1; bit < 8; bit <<= 1) {
                int n = 0;

                count_name(name, bit, &n);
                if (n > 1) {
                    fail_msg("%s is there %d times in dialect %u", name, n,
                             bit);
                }
            }
        }
    }
}

static void translations_name_options_that_exist(void **state)
{
    for (size_t i = 0; i < hb_opts_n; i++) {
        const char *p = hb_opts[i].text;

        while (hb_opts[i].kind == HB_OPT_AS && *p) {
            size_t n = strcspn(p, "=");

            if (!hb_opt_find(p, n, HB_DIALECT_OPENMPI)) {
                fail_msg("%s stands for %s, which is no option",
                         hb_opts[i].names, p);
            }
            p += strcspn(p, " ");
            p += strspn(p, " ");
        }
    }
}

/* HPCBOOT_<OPTION> must not be what a rank of another job inherits. */
static void no_key_is_a_variable_of_ranks(void **state)
{
    static const char *const names[] = {
        "rank", "size", "local-rank", "local-size", "node", "nodes",
        "cookie", "tmpdir", "module-dir", "profile", "sysfs"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_null(hb_opt_find_key(names[i], strlen(names[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_and_program),
        cmocka_unit_test(every_spelling_of_ranks),
        cmocka_unit_test(arguments_travel_byte_for_byte),
        cmocka_unit_test(colon_begins_a_segment),
        cmocka_unit_test(hosts_of_one_segment_are_the_jobs),
        cmocka_unit_test(hosts_of_later_segments_stay_theirs),
        cmocka_unit_test(mca_for_ranks_becomes_environment),
        cmocka_unit_test(mca_for_the_launcher_is_understood),
        cmocka_unit_test(mca_without_a_meaning_is_noted_once),
        cmocka_unit_test(rsh_agent_becomes_a_command),
        cmocka_unit_test(exported_variables),
        cmocka_unit_test(deprecated_placement_is_translated),
        cmocka_unit_test(output_directives),
        cmocka_unit_test(times_have_units),
        cmocka_unit_test(root_needs_no_word),
        cmocka_unit_test(ignored_options_warn_once),
        cmocka_unit_test(sample_jobs_are_understood),
        cmocka_unit_test(no_tree_spawn_means_that_hbrun_starts_all),
        cmocka_unit_test(a_spawned_job_takes_over_how_hosts_are_reached),
        cmocka_unit_test(a_spawned_job_leaves_what_is_one_job_s_own),
        cmocka_unit_test(a_spawned_job_of_hydra_s_command_line),
        cmocka_unit_test(programs_from_a_file),
        cmocka_unit_test(parameters_from_a_file),
        cmocka_unit_test(help_needs_no_program),
        cmocka_unit_test(wrong_words_get_one_line),
        cmocka_unit_test(refused_options_say_why),
        cmocka_unit_test(no_dialect_has_a_name_twice),
        cmocka_unit_test(no_key_is_a_variable_of_ranks),
        cmocka_unit_test(translations_name_options_that_exist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
