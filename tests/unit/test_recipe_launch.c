/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Command lines of other launchers: what they ask for, and what ranks then
 * run. */
#include "config.h"

#include "bin/recipe/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"

/* Words separated by blanks. */
static void words(const char *line, struct hb_strv *out)
{
    while (*line != '\0') {
        size_t n = strcspn(line, " ");

        hb_strv_take(out, hb_xstrndup(line, n));
        line += n;
        line += strspn(line, " ");
    }
}

/* What the gang's operator says. */
static struct hb_launch_variables operators;

static int read_as(const char *line, const char *framework,
                   struct hb_launch *l, struct hpcboot_error *err)
{
    struct hb_strv argv = HB_STRV_INIT;
    int rc;

    words(line, &argv);
    rc = hb_launch_read(argv.v, "/v/python3", framework, &operators, l, err);
    hb_strv_destroy(&argv);
    return rc;
}

static int read_line(const char *line, struct hb_launch *l,
                     struct hpcboot_error *err)
{
    return read_as(line, NULL, l, err);
}

static void reads(const char *line, struct hb_launch *l)
{
    struct hpcboot_error err = {0};

    if (read_line(line, l, &err) != 1) {
        fail_msg("%s: %s", line, err.text);
    }
}

static void runs(const char *line, const char *framework, const char *program)
{
    struct hb_str text = HB_STR_INIT;
    struct hb_launch l;

    reads(line, &l);
    for (size_t i = 0; i < l.program.n; i++) {
        hb_str_putf(&text, "%s%s", i > 0 ? " " : "", l.program.v[i]);
    }
    assert_string_equal(l.framework, framework);
    assert_string_equal(hb_str_text(&text), program);
    hb_str_destroy(&text);
    hb_launch_destroy(&l);
}

static void refuses(const char *line, const char *why)
{
    struct hpcboot_error err = {0};
    struct hb_launch l;

    assert_true(read_line(line, &l, &err) < 0);
    if (strstr(err.text, why) == NULL) {
        fail_msg("not in the message: %s\n%s", why, err.text);
    }
    hb_launch_destroy(&l);
}

static void the_program_is_what_a_worker_runs(void **state)
{
    runs("torchrun t.py --lr 1", "torch", "/v/python3 -u t.py --lr 1");
    runs("/x/torchrun --nnodes=2 --nproc_per_node 4 -m pkg.t a", "torch",
         "/v/python3 -u -m pkg.t a");
    runs("torchrun --no-python ./prog -n 3", "torch", "./prog -n 3");
    runs("/p/python3.11 -m torch.distributed.run t.py", "torch",
         "/p/python3.11 -u t.py");
    runs("python -u -m torch.distributed.launch --use_env t.py", "torch",
         "python -u t.py");
    runs("python3 -W error -X dev -m torch.distributed.run t.py", "torch",
         "python3 -u t.py");
    runs("python3 -Wignore -um torch.distributed.run t.py", "torch",
         "python3 -u t.py");
    runs("python3 -Bmtorch.distributed.run t.py", "torch", "python3 -u t.py");
    runs("horovodrun -np 4 python t.py", "horovod", "python t.py");
    runs("deepspeed --num_gpus 2 t.py --deepspeed", "deepspeed",
         "/v/python3 -u t.py --deepspeed");
    runs("torchrun --nnodes 1:4 t.py", "torchrun", "t.py");
    runs("torchrun --max-restarts=3 -m t a", "torchrun", "t a");
}

static void other_programs_are_let_be(void **state)
{
    struct hb_launch l;

    assert_int_equal(read_line("python3 t.py", &l, NULL), 0);
    assert_int_equal(read_line("python3 -m torch.utils.collect_env", &l, NULL),
                     0);
    assert_int_equal(read_line("./torchrunner", &l, NULL), 0);
    assert_int_equal(read_line("python3 t.py -m torch.distributed.run x", &l,
                               NULL), 0);
    assert_int_equal(read_line("python3 -c -m torch.distributed.run x", &l,
                               NULL), 0);
    assert_int_equal(read_line("python3 -W -m torch.distributed.run x", &l,
                               NULL), 0);
    assert_int_equal(read_line("python3 -u -m", &l, NULL), 0);
    assert_int_equal(read_line("python3 -W", &l, NULL), 0);
}

static void has_env(const struct hb_launch *l, const char *name,
                    const char *value)
{
    const char *has = hb_env_get(&l->env, name);

    if (!hb_streq(has, value)) {
        fail_msg("%s is %s, not %s", name, has != NULL ? has : "not set",
                 value);
    }
}

static void what_horovodrun_makes_a_variable_is_one(void **state)
{
    struct hb_launch l;

    reads("horovodrun -np 2 --timeline-filename f --timeline-mark-cycles "
          "--autotune --autotune-warmup-samples 4 --autotune-steps-per-sample "
          "5 --autotune-bayes-opt-max-samples 6 "
          "--autotune-gaussian-process-noise 0.5 --no-hierarchical-allreduce "
          "--hierarchical-allgather --stall-check-warning-time-seconds 7 "
          "--stall-check-shutdown-time-seconds 8 --mpi-threads-disable "
          "--num-nccl-streams 2 --thread-affinity 3 --log-hide-timestamp "
          "--tcp python t.py", &l);
    has_env(&l, "HOROVOD_TIMELINE", "f");
    has_env(&l, "HOROVOD_TIMELINE_MARK_CYCLES", "1");
    has_env(&l, "HOROVOD_AUTOTUNE", "1");
    has_env(&l, "HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "4");
    has_env(&l, "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "5");
    has_env(&l, "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "6");
    has_env(&l, "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", "0.5");
    has_env(&l, "HOROVOD_HIERARCHICAL_ALLREDUCE", "0");
    has_env(&l, "HOROVOD_HIERARCHICAL_ALLGATHER", "1");
    has_env(&l, "HOROVOD_STALL_CHECK_TIME_SECONDS", "7");
    has_env(&l, "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "8");
    has_env(&l, "HOROVOD_MPI_THREADS_DISABLE", "1");
    has_env(&l, "HOROVOD_NUM_NCCL_STREAMS", "2");
    has_env(&l, "HOROVOD_THREAD_AFFINITY", "3");
    has_env(&l, "HOROVOD_LOG_HIDE_TIME", "1");
    has_env(&l, "NCCL_IB_DISABLE", "1");
    assert_string_equal(l.program.v[0], "python");
    hb_launch_destroy(&l);
    reads("horovodrun -np 2 -i key --blacklist-cooldown-range 10 20 x", &l);
    assert_int_equal(l.ignored.n, 2);
    assert_string_equal(l.program.v[0], "x");
    hb_launch_destroy(&l);
    refuses("horovodrun --blacklist-cooldown-range 10", "needs a value");
}

/* The place where torchrun's hosts meet. */
static void port_of(const char *line, const char *port)
{
    struct hb_launch l;

    reads(line, &l);
    if (!hb_streq(hb_env_get(&l.given, hb_streq(l.framework, "torchrun")
                                           ? "port_rdzv" : "port_master"),
                  port)) {
        fail_msg("%s: not at %s", line, port != NULL ? port : "any port");
    }
    hb_launch_destroy(&l);
}

static void an_endpoint_of_torchrun_has_its_port(void **state)
{
    port_of("torchrun --rdzv-backend c10d --rdzv-endpoint=a.b:29411 t.py",
            "29411");
    port_of("torchrun --master-port 1 --rdzv_endpoint [fd00::1]:29412 t.py",
            "29412");
    port_of("torchrun --nnodes 1:2 --rdzv-endpoint a:29413 t.py", "29413");
    port_of("torchrun --rdzv-endpoint localhost:0 t.py", NULL);
    port_of("torchrun --rdzv-endpoint [fd00::1] t.py", NULL);
    port_of("torchrun --rdzv-endpoint a t.py", NULL);
    port_of("torchrun --rdzv-endpoint a:2379 --rdzv-backend etcd-v2 t.py",
            NULL);
    refuses("torchrun --rdzv-endpoint a:x t.py",
            "--rdzv-endpoint x: expected a port number");
}

static void numbers_and_hosts(void **state)
{
    struct hb_launch l;

    reads("torchrun --nnodes 2 --nproc-per-node=4 --master-port 1234 t.py",
          &l);
    assert_int_equal(l.nodes, 2);
    assert_int_equal(l.per_node, 4);
    assert_string_equal(hb_env_get(&l.given, "port_master"), "1234");
    hb_launch_destroy(&l);
    reads("torchrun --nproc-per-node gpu --master-port 0 t.py", &l);
    assert_int_equal(l.per_node, 0);
    assert_string_equal(l.slots, "gpu");
    assert_null(hb_env_get(&l.given, "port_master"));
    hb_launch_destroy(&l);
    reads("torchrun --nproc-per-node auto t.py", &l);
    assert_string_equal(l.slots, HB_LAUNCH_DEVICES);
    assert_non_null(l.per_node_word);
    hb_launch_destroy(&l);
    reads("torchrun --nproc-per-node cpu t.py", &l);
    assert_null(l.slots);
    hb_launch_destroy(&l);
    reads("deepspeed --num_gpus -1 t.py", &l);
    assert_int_equal(l.per_node, 0);
    assert_string_equal(l.slots, HB_LAUNCH_DEVICES);
    hb_launch_destroy(&l);
    reads("deepspeed t.py", &l);
    assert_string_equal(l.slots, HB_LAUNCH_DEVICES);
    assert_null(l.per_node_word);
    hb_launch_destroy(&l);
    reads("deepspeed --num_gpus 2 t.py", &l);
    assert_null(l.slots);
    hb_launch_destroy(&l);
    reads("horovodrun -np 1 --fusion-threshold-mb 0 x", &l);
    assert_string_equal(hb_env_get(&l.env, "HOROVOD_FUSION_THRESHOLD"), "0");
    hb_launch_destroy(&l);
    reads("horovodrun -np 6 -H a:2,b:4 -p 2222 --fusion-threshold-mb 32 "
          "--gloo x", &l);
    assert_int_equal(l.np, 6);
    assert_int_equal(l.port, 2222);
    assert_string_equal(l.host_list, "a:2,b:4");
    assert_string_equal(hb_env_get(&l.env, "HOROVOD_FUSION_THRESHOLD"),
                        "33554432");
    assert_string_equal(hb_env_get(&l.given, "controller"), "gloo");
    hb_launch_destroy(&l);
    reads("horovodrun -np 2 --network-interfaces eth1,ib0 x", &l);
    assert_string_equal(hb_env_get(&l.env, "HOROVOD_GLOO_IFACE"), "eth1");
    assert_string_equal(hb_env_get(&l.env, "NCCL_SOCKET_IFNAME"), "eth1,ib0");
    assert_string_equal(hb_env_get(&l.env, "OMPI_MCA_btl_tcp_if_include"),
                        "eth1,ib0");
    hb_launch_destroy(&l);
    reads("horovodrun -np 2 --network-interface eth1 --network-interface ib0 "
          "x", &l);
    assert_string_equal(hb_env_get(&l.env, "HOROVOD_GLOO_IFACE"), "eth1");
    assert_string_equal(hb_env_get(&l.env, "NCCL_SOCKET_IFNAME"), "eth1,ib0");
    hb_launch_destroy(&l);
    reads("deepspeed --include a:0,1@b --hostfile f t.py", &l);
    assert_string_equal(l.host_list, "a:2,b");
    assert_string_equal(l.hostfile, "f");
    hb_launch_destroy(&l);
}

static void elastic_torchrun_keeps_its_numbers(void **state)
{
    struct hb_launch l;

    reads("torchrun --nnodes 2:4 --nproc-per-node 3 --max-restarts 5 "
          "--master_port 99 t.py", &l);
    assert_string_equal(hb_env_get(&l.given, "min_nodes"), "2");
    assert_string_equal(hb_env_get(&l.given, "max_nodes"), "4");
    assert_string_equal(hb_env_get(&l.given, "nproc"), "3");
    assert_string_equal(hb_env_get(&l.given, "max_restarts"), "5");
    assert_string_equal(hb_env_get(&l.given, "port_rdzv"), "99");
    assert_int_equal(l.per_node, 1);
    assert_int_equal(l.nodes, 4);
    hb_launch_destroy(&l);
}

static void what_an_operator_says_of_elastic_is_torchruns_default(void **state)
{
    struct hb_launch l;

    operators = (struct hb_launch_variables){"2:4", "10"};
    reads("torchrun t.py", &l);
    assert_string_equal(l.framework, "torchrun");
    assert_int_equal(l.np_min, 2);
    assert_int_equal(l.np, 4);
    assert_string_equal(l.on_failure, "continue");
    assert_string_equal(hb_env_get(&l.given, "max_restarts"), "10");
    hb_launch_destroy(&l);
    runs("torchrun --nnodes 4 --max-restarts 0 t.py", "torch",
         "/v/python3 -u t.py");
    runs("torchrun --standalone --max-restarts 0 t.py", "torch",
         "/v/python3 -u t.py");
    runs("deepspeed t.py", "deepspeed", "/v/python3 -u t.py");
    operators = (struct hb_launch_variables){"4", ""};
    reads("torchrun t.py", &l);
    assert_string_equal(l.framework, "torch");
    assert_int_equal(l.nodes, 0);
    hb_launch_destroy(&l);
    operators = (struct hb_launch_variables){"4:2", NULL};
    refuses("torchrun t.py", "PET_NNODES: torchrun: --nnodes 4:2: expected");
    operators = (struct hb_launch_variables){NULL, NULL};
}

static void the_tool_itself_runs_where_it_is_asked_for(void **state)
{
    struct hb_launch l;

    assert_int_equal(read_as("torchrun --nproc-per-node 2 t.py", "torchrun",
                             &l, NULL), 1);
    assert_string_equal(l.framework, "torchrun");
    assert_string_equal(l.program.v[0], "t.py");
    assert_string_equal(hb_env_get(&l.given, "nproc"), "2");
    hb_launch_destroy(&l);
    assert_int_equal(read_as("ds/deepspeed --num_gpus 4 --no_local_rank t.py",
                             "deepspeed-launcher", &l, NULL), 1);
    assert_string_equal(l.framework, "deepspeed-launcher");
    assert_string_equal(l.program.v[0], "t.py");
    assert_string_equal(hb_env_get(&l.given, "nproc"), "4");
    assert_string_equal(hb_env_get(&l.given, "deepspeed"), "ds/deepspeed");
    assert_string_equal(hb_env_get(&l.given, "no_local_rank"),
                        "--no_local_rank");
    assert_int_equal(l.per_node, 1);
    hb_launch_destroy(&l);
}

static void a_least_number_lets_horovod_go_on_with_fewer(void **state)
{
    struct hb_launch l;

    reads("horovodrun --min-np 2 --max-np 4 python t.py", &l);
    assert_int_equal(l.np, 4);
    assert_string_equal(l.on_failure, "continue");
    assert_string_equal(hb_env_get(&l.given, "min_np"), "2");
    assert_string_equal(hb_env_get(&l.given, "controller"), "gloo");
    hb_launch_destroy(&l);
    reads("horovodrun -np 4 --max-np 8 python t.py", &l);
    assert_null(l.on_failure);
    assert_int_equal(l.np, 4);
    hb_launch_destroy(&l);
}

static void horovod_that_is_elastic_grows_from_its_first_number(void **state)
{
    struct hb_launch l;

    reads("horovodrun -np 4 --min-np 2 --max-np 8 python t.py", &l);
    assert_int_equal(l.np, 8);
    assert_int_equal(l.np_min, 2);
    hb_launch_destroy(&l);
    reads("horovodrun -np 4 --host-discovery-script d.sh python t.py", &l);
    assert_int_equal(l.np, 4);
    assert_int_equal(l.np_min, 0);
    assert_string_equal(l.on_failure, "continue");
    assert_string_equal(hb_env_get(&l.given, "controller"), "gloo");
    assert_string_equal(hb_env_get(&l.given, "min_np"), "4");
    hb_launch_destroy(&l);
}

static void launch_gives_the_local_rank_as_an_argument(void **state)
{
    struct hb_launch l;

    reads("python -m torch.distributed.launch t.py", &l);
    assert_string_equal(hb_env_get(&l.given, "local_rank_argument"),
                        "--local-rank");
    hb_launch_destroy(&l);
    reads("deepspeed t.py", &l);
    assert_string_equal(hb_env_get(&l.given, "local_rank_argument"),
                        "--local_rank");
    hb_launch_destroy(&l);
    reads("deepspeed --no_local_rank t.py", &l);
    assert_null(hb_env_get(&l.given, "local_rank_argument"));
    hb_launch_destroy(&l);
}

static void what_has_no_effect_is_listed(void **state)
{
    struct hb_launch l;

    reads("torchrun --tee 3 --rdzv-id 7 t.py", &l);
    assert_int_equal(l.ignored.n, 1);
    assert_string_equal(l.ignored.v[0], "--tee");
    hb_launch_destroy(&l);
    reads("torchrun --shutdown_timeout 9 --log-line-prefix-template x t.py",
          &l);
    assert_int_equal(l.ignored.n, 2);
    hb_launch_destroy(&l);
    reads("deepspeed --include a:0,1@b t.py", &l);
    assert_int_equal(l.ignored.n, 0);
    hb_launch_destroy(&l);
    reads("deepspeed --account a --comment b --venv_script c t.py", &l);
    assert_int_equal(l.ignored.n, 3);
    hb_launch_destroy(&l);
    reads("deepspeed -q --quiet --log_level error t.py", &l);
    assert_int_equal(l.ignored.n, 0);
    assert_string_equal(l.program.v[2], "t.py");
    hb_launch_destroy(&l);
    reads("deepspeed --include a:0@b:2,3 t.py", &l);
    assert_int_equal(l.ignored.n, 1);
    assert_string_equal(l.host_list, "a:1,b:2");
    hb_launch_destroy(&l);
}

static void options_may_be_written_as_pythons_argparse_takes_them(void **state)
{
    struct hb_launch l;

    reads("torchrun --nnode 2 --nproc_per 4 --standal t.py --nnode 3", &l);
    assert_int_equal(l.nodes, 1);
    assert_int_equal(l.per_node, 4);
    hb_launch_destroy(&l);
    reads("deepspeed --num_gpu=2 -q --log_level error -Hhosts t.py", &l);
    assert_int_equal(l.per_node, 2);
    assert_string_equal(l.hostfile, "hosts");
    hb_launch_destroy(&l);
    reads("deepspeed --log_l error --qui t.py", &l);
    hb_launch_destroy(&l);
    reads("horovodrun -n 4 -p22 -Ha:2,b:2 --network-inter lo --verb ./prog",
          &l);
    assert_int_equal(l.np, 4);
    assert_int_equal(l.port, 22);
    assert_string_equal(l.host_list, "a:2,b:2");
    hb_launch_destroy(&l);
    refuses("deepspeed --master=a t.py", "--master may be --master-port or "
            "--master-addr");
    refuses("horovodrun -np4 x", "expected a number");
    refuses("torchrun -no t.py", "there is no option -no");
    refuses("torchrun -mt.py", "there is no option -mt.py");
    refuses("torchrun - t.py", "there is no option -");
    refuses("torchrun --=1 t.py", "there is no option --");
}

static void mistakes_are_told(void **state)
{
    refuses("torchrun --nnods 2 t.py", "there is no option --nnods");
    refuses("torchrun --nnodes x t.py", "--nnodes x: expected a number");
    refuses("torchrun --nnodes 4:2 t.py", "expected MIN:MAX");
    refuses("torchrun --nproc-per-node 4x t.py", "expected a number");
    refuses("torchrun --master-port x t.py", "expected a port number");
    refuses("deepspeed --master_port 99999 t.py", "expected a port number");
    refuses("torchrun --nnodes", "--nnodes needs a value");
    refuses("torchrun --nnodes 2", "there is no program after");
    refuses("horovodrun --network-interfaces ,b x", "expected names");
    refuses("horovodrun --network-interfaces=a,\tb x", "expected names");
    refuses("horovodrun -p 0 x", "expected a port number");
    refuses("deepspeed --exclude b t.py", "--exclude is not supported: name "
            "the hosts to use with --include");
    refuses("deepspeed -e=b:1 t.py", "-e=b:1 is not supported");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_is_what_a_worker_runs),
        cmocka_unit_test(other_programs_are_let_be),
        cmocka_unit_test(what_horovodrun_makes_a_variable_is_one),
        cmocka_unit_test(an_endpoint_of_torchrun_has_its_port),
        cmocka_unit_test(numbers_and_hosts),
        cmocka_unit_test(elastic_torchrun_keeps_its_numbers),
        cmocka_unit_test(
            what_an_operator_says_of_elastic_is_torchruns_default),
        cmocka_unit_test(the_tool_itself_runs_where_it_is_asked_for),
        cmocka_unit_test(a_least_number_lets_horovod_go_on_with_fewer),
        cmocka_unit_test(horovod_that_is_elastic_grows_from_its_first_number),
        cmocka_unit_test(launch_gives_the_local_rank_as_an_argument),
        cmocka_unit_test(what_has_no_effect_is_listed),
        cmocka_unit_test(
            options_may_be_written_as_pythons_argparse_takes_them),
        cmocka_unit_test(mistakes_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
