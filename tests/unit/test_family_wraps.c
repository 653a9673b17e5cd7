/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The choice of a family for command lines that begin with another program
 * than the one that counts: wrappers, shells, scripts. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bin/pm/family.h"
#include "lib/base/str.h"
#include "tests/unit/family_lab.h"

static void wrappers_are_seen_through(void **state)
{
    static const char *const lines[] = {
        "env A=b C= ./prog x", "env -u X A=b ./prog",
        "numactl -N 0 --membind=0 ./prog", "timeout -k 5 60 ./prog -k",
        "nice -n 5 ./prog", "taskset -c 0-3 ./prog", "nohup ./prog",
        "valgrind --tool=none ./prog", "gdb -ex run --args ./prog 1 2",
        "env A=b timeout 5 nice ./prog", "env - ./prog", "env - A=b ./prog",
        "env -i A=b ./prog", "env -iu X ./prog", "env -uX -- A=b ./prog",
        "nice ./prog", "nice -5 ./prog", "timeout 10 ./prog",
        "timeout -vk5 -sINT 10 ./prog", "stdbuf -oL ./prog",
        "stdbuf -o L -eL ./prog", "taskset 3 ./prog",
        "numactl -C0 -l ./prog", "numactl -c 0 --cpubind 0 ./prog",
        "strace -ffo out ./prog", "strace -e trace=open -f ./prog",
        "ionice -c2 --classdata 7 ./prog", "gdb -nx -ex run --args ./prog",
        "prlimit --stack=8000000 ./prog",
    };
    static const char *const names[] = {"env", "numactl", "timeout", "nice",
                                        "taskset", "nohup", "valgrind", "gdb",
                                        "stdbuf", "strace", "ionice",
                                        "prlimit"};
    struct lab *lab = *state;

    openmpi4(lab);
    ELF(lab, "prog", .needed = {"libmpi.so.40"});
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = hb_xasprintf("bin/%s", names[i]);

        ELF(lab, path);
        free(path);
    }
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_choice(detect(lab, lines[i]), HB_PM_PMIX, HB_MPI_OPENMPI4);
    }
    assert_int_equal(detect(lab, "gdb ./prog").certain, 0);
}

static void hwloc_bind_ends_its_locations_itself(void **state)
{
    static const char *const lines[] = {
        "hwloc-bind core:0 core:1 -- ./prog", "hwloc-bind core:0 core:1 ./prog",
        "hwloc-bind --cpubind ~0xff --membind node:0 -- ./prog",
        "hwloc-bind all ./prog a:b", "hwloc-bind pci=0000:01:00.0 ./prog",
    };
    struct lab *lab = *state;

    mpich(lab);
    openmpi4(lab); /* what the default rule would take */
    ELF(lab, "bin/hwloc-bind");
    ELF(lab, "prog", .needed = {"libmpi.so.12"});
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_choice(detect(lab, lines[i]), HB_PM_PMI1, HB_MPI_MPICH);
    }
}

static void env_starts_in_the_directory_it_is_given(void **state)
{
    static const char *const lines[] = {
        "env -C deep ./prog", "env -Cdeep A=b ./prog",
        "env --chdir deep ./prog", "env --chdir=deep nice ./prog",
        "env -C deep env -C er ../prog",
    };
    struct lab *lab = *state;

    mpich(lab);
    openmpi4(lab);
    ELF(lab, "bin/env");
    ELF(lab, "bin/nice");
    ELF(lab, "prog");
    ELF(lab, "deep/prog", .needed = {"libmpi.so.12"});
    text_file(lab, "deep/er/other", "");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_choice(detect(lab, lines[i]), HB_PM_PMI1, HB_MPI_MPICH);
    }
    assert_choice(detect(lab, "env -u -C ./prog"), HB_PM_NONE, HB_MPI_NONE);
}

static void assert_guess(struct hb_family_choice c, enum hb_pm_family family,
                         enum hb_mpi_flavour flavour)
{
    if (c.family != family || c.flavour != flavour) {
        print_error("%s\n", c.why);
    }
    assert_int_equal(c.family, family);
    assert_int_equal(c.flavour, flavour);
    assert_int_equal(c.certain, 0);
    assert_int_equal(c.links_mpi, 0);
}

static void a_wrapper_opened_at_no_program_is_a_guess(void **state)
{
    static const char *const lines[] = {
        "strace --trace x ./prog", "env A=b strace --trace x ./prog",
        "numactl --new-option 5 in-path -c",
    };
    struct lab *lab = *state;

    mpich(lab);
    openmpi4(lab);
    ELF(lab, "bin/env");
    ELF(lab, "bin/strace");
    ELF(lab, "bin/numactl");
    ELF(lab, "bin/in-path", .needed = {"libmpi.so.12"});
    ELF(lab, "prog", .needed = {"libmpi.so.12"});
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_guess(detect(lab, lines[i]), HB_PM_PMI1, HB_MPI_MPICH);
    }
    assert_choice(detect(lab, "strace --output x ./prog"), HB_PM_PMI1,
                  HB_MPI_MPICH);
    assert_int_equal(detect(lab, "strace --trace x ./none").flavour,
                     HB_MPI_UNKNOWN);
}

static void an_opaque_wrapper_may_name_a_program_of_the_path(void **state)
{
    struct lab *lab = *state;

    mpich(lab);
    openmpi4(lab);
    ELF(lab, "bin/perf");
    ELF(lab, "bin/nsys");
    ELF(lab, "bin/stat");
    ELF(lab, "bin/in-path", .needed = {"libmpi.so.12"});
    assert_guess(detect(lab, "perf stat in-path -v"), HB_PM_PMI1,
                 HB_MPI_MPICH);
    assert_guess(detect(lab, "nsys profile in-path run"), HB_PM_PMI1,
                 HB_MPI_MPICH);
}

static void an_argument_that_links_an_mpi_is_a_guess(void **state)
{
    struct lab *lab = *state;
    struct hb_family_choice c;

    mpich(lab);
    ELF(lab, "bin/setarch");
    ELF(lab, "bin/sudo");
    ELF(lab, "prog", .needed = {"libmpi.so.12"});
    ELF(lab, "plain");
    c = detect(lab, "setarch -R ./prog");
    assert_int_equal(c.family, HB_PM_PMI1);
    assert_int_equal(c.flavour, HB_MPI_MPICH);
    assert_int_equal(c.certain, 0);
    assert_int_equal(c.links_mpi, 0);
    assert_non_null(strstr(c.why, "/prog"));
    assert_int_equal(detect(lab, "sudo -n ./prog").flavour, HB_MPI_MPICH);
    assert_choice(detect(lab, "setarch -R ./plain"), HB_PM_NONE, HB_MPI_NONE);
    assert_choice(detect(lab, "./plain prog"), HB_PM_NONE, HB_MPI_NONE);
}

/* As of py-spy, which nobody lists, and of perf, which is listed. */
static void a_python_among_the_arguments_is_a_guess(void **state)
{
    struct lab *lab = *state;

    mpich(lab);
    openmpi4(lab); /* what the default rule would take */
    ELF(lab, "bin/py-spy");
    ELF(lab, "bin/perf");
    ELF(lab, "bin/python3");
    text_file(lab, "x.py", "from mpi4py import MPI\n");
    assert_choice(detect(lab, "py-spy record -- python3 x.py"), HB_PM_NONE,
                  HB_MPI_NONE);
    ELF(lab, "lib/python3/dist-packages/mpi4py/MPI.cpython.so",
        .needed = {"libmpi.so.12"});
    assert_guess(detect(lab, "py-spy record -o p.svg -- python3 x.py"),
                 HB_PM_PMI1, HB_MPI_MPICH);
    assert_guess(detect(lab, "perf record python3 x.py"), HB_PM_PMI1,
                 HB_MPI_MPICH);
    ELF(lab, "bin/apptainer"); /* it has a Python of its own */
    assert_int_equal(detect(lab, "apptainer exec i.sif python3 x.py").family,
                     HB_PM_PMIX);
}

static void a_wrapper_that_is_a_script_is_seen_through(void **state)
{
    struct lab *lab = *state;

    mpich(lab);
    text_file(lab, "bin/valgrind", "#!/bin/sh\nexec real.bin \"$@\"\n");
    ELF(lab, "prog", .needed = {"libmpi.so.12"});
    assert_choice(detect(lab, "valgrind ./prog"), HB_PM_PMI1, HB_MPI_MPICH);
}

static void other_interpreters_take_the_default_rule(void **state)
{
    struct lab *lab = *state;

    ELF(lab, "bin/bash");
    ELF(lab, "bin/perl");
    text_file(lab, "run.pl", "#!/usr/bin/env perl\n");
    text_file(lab, "plain", "echo no interpreter named\n");
    assert_int_equal(detect(lab, "bash -c ./other").certain, 0);
    assert_int_equal(detect(lab, "bash").certain, 0);
    assert_int_equal(detect(lab, "./plain").certain, 0);
    hb_env_setf(&lab->env, "PATH", "/usr/bin:%s/bin", lab->dir);
    assert_int_equal(detect(lab, "./run.pl").certain, 0);
}

static void shell_scripts_are_looked_through(void **state)
{
    static const char *const texts[] = {
        "./prog -in file\n",
        "# words\nif [ -n \"$A\" ]; then\n  exec \"./prog\" \"$@\"\nfi\n",
        "P=./prog\nOMP_NUM_THREADS=2 ${P} > log 2>&1\n",
        "cd \"$(dirname \"$0\")\" && numactl -N 0 \\\n    ./prog\n",
        "export X=1; exec env A=b ./prog",
        "(true; ./prog) &\nwait\n",
    };
    struct lab *lab = *state;

    mpich(lab);
    ELF(lab, "bin/bash");
    ELF(lab, "bin/env");
    ELF(lab, "bin/numactl");
    ELF(lab, "prog", .needed = {"libmpi.so.12"});
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        text_file(lab, "run", texts[i]);
        assert_choice(detect(lab, "bash -eu run"), HB_PM_PMI1, HB_MPI_MPICH);
    }
    text_file(lab, "run", "#x\nshift; exec \"$@\"\n");
    assert_choice(detect(lab, "bash run 5 ./prog"), HB_PM_PMI1, HB_MPI_MPICH);
    text_file(lab, "run", "exec numactl -N 0 $1 --fast\n");
    assert_choice(detect(lab, "bash run ./prog 5"), HB_PM_PMI1, HB_MPI_MPICH);
    assert_choice(detect(lab, "bash -c ./prog"), HB_PM_PMI1, HB_MPI_MPICH);
    assert_int_equal(detect(lab, "bash run ./prog").links_mpi, 1);
    assert_choice(detect(lab, "bash -c $0 ./prog"), HB_PM_PMI1, HB_MPI_MPICH);
    assert_choice(detect(lab, "bash -c $1 name ./prog"), HB_PM_PMI1,
                  HB_MPI_MPICH);
    ELF(lab, "run.bin", .needed = {"libmpi.so.12"});
    text_file(lab, "run", "exec $0.bin \"$@\"\n");
    assert_choice(detect(lab, "bash ./run 5"), HB_PM_PMI1, HB_MPI_MPICH);
    text_file(lab, "run", "#!/bin/bash\nexec \"$@\"\n");
    assert_choice(detect(lab, "./run env ./run env ./run ./prog"), HB_PM_PMI1,
                  HB_MPI_MPICH);
}

/* As execvp has it, and hbrun. What is no text names nothing. */
static void a_script_without_interpreter_is_the_shells(void **state)
{
    struct lab *lab = *state;

    mpich(lab);
    ELF(lab, "bin/nice");
    ELF(lab, "prog", .needed = {"libmpi.so.12"});
    text_file(lab, "run", "ulimit -c 0\nexec ./prog \"$@\"\n");
    assert_choice(detect(lab, "./run 5"), HB_PM_PMI1, HB_MPI_MPICH);
    assert_choice(detect(lab, "nice ./run 5"), HB_PM_PMI1, HB_MPI_MPICH);
    assert_int_equal(detect(lab, "./run 5").links_mpi, 1);
    text_file(lab, "run", "");
    assert_int_equal(detect(lab, "./run ./prog").links_mpi, 0);
}

/* "prog" is in PATH: what is found of it is no guess by the arguments. */
static void arguments_that_a_script_shifts_away_are_gone(void **state)
{
    static const struct {
        const char *text, *line;
    } list[] = {
        {"gpu=$1; shift; exec \"$@\"\n", "sh run 0 prog 5"},
        {"shift 2\nexec \"$@\"\n", "sh run 0 1 prog 5"},
        {"while getopts vq o; do case $o in v) V=1;; esac; done\n"
         "shift $((OPTIND-1)); exec \"$@\"\n", "sh run -v -q prog 5"},
        {"while getopts vq o; do case $o in v) V=1;; esac; done\n"
         "shift $((OPTIND-1)); exec \"$@\"\n", "sh run prog 5"},
        {"shift; exec ${1+\"$@\"}\n", "sh run 0 prog 5"},
        {"shift; exec ${1:+\"$@\"}\n", "sh run 0 prog 5"},
        /* Those of which nobody knows whether they are done. */
        {"while [ $# -gt 0 ]; do\n case $1 in -v) V=1; shift;; -n) shift 2;;\n"
         " *) break;; esac\ndone\nexec \"$@\"\n", "sh run prog 5"},
        {"if [ \"$1\" = -- ]; then shift; fi; exec \"$@\"\n",
         "sh run prog 5"},
        {"[ \"$1\" = -- ] && shift; exec \"$@\"\n", "sh run prog 5"},
        {"usage() {\n shift\n}\nshift; exec \"$@\"\n", "sh run 0 prog 5"},
    };
    struct lab *lab = *state;

    mpich(lab);
    openmpi4(lab); /* what the default rule would take */
    ELF(lab, "bin/sh");
    ELF(lab, "bin/prog", .needed = {"libmpi.so.12"});
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        text_file(lab, "run", list[i].text);
        assert_choice(detect(lab, list[i].line), HB_PM_PMI1, HB_MPI_MPICH);
    }
}

static void words_that_only_running_tells_end_no_command(void **state)
{
    static const char *const texts[] = {
        "node=$((RANK%2)); exec taskset -c $node \"$@\"\n",
        "exec taskset -c \"`cores`\" prog\n",
        "exec numactl --cpunodebind=$RANK prog -x\n",
        "exec numactl -N ${RANK:-0} prog -x\n",
        "cd \"$(dirname \"$0\")\"; cd deep && ./inner\n",
    };
    struct lab *lab = *state;

    mpich(lab);
    openmpi4(lab);
    ELF(lab, "bin/sh");
    ELF(lab, "bin/taskset");
    ELF(lab, "bin/numactl");
    ELF(lab, "bin/prog", .needed = {"libmpi.so.12"});
    ELF(lab, "deep/inner", .needed = {"libmpi.so.12"});
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        text_file(lab, "run", texts[i]);
        assert_choice(detect(lab, "sh run prog"), HB_PM_PMI1, HB_MPI_MPICH);
    }
}

static void here_documents_are_no_commands(void **state)
{
    static const char *const texts[] = {
        "cat > in <<EOF\nit's ./two\nEOF\nexec prog\n",
        "cat <<-'E F' > in\n./two \"\n\tE F\nexec prog\n",
        "cat <<A <<\\B; x=1 # two\nit's\nA\n'B\nB\nprog\n",
        "cat <<< word\nprog\nword\n",
        "echo $((1 << 2))\nprog\n", /* bits */
        "bash <<EOF\nprog\nEOF\n",
    };
    struct lab *lab = *state;

    mpich(lab);
    openmpi4(lab);
    ELF(lab, "bin/sh");
    ELF(lab, "bin/prog", .needed = {"libmpi.so.12"});
    ELF(lab, "two", .needed = {"libmpi.so.40"});
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        text_file(lab, "run", texts[i]);
        assert_choice(detect(lab, "sh run"), HB_PM_PMI1, HB_MPI_MPICH);
    }
}

static void here_documents_without_end_cost_little(void **state)
{
    struct lab *lab = *state;
    struct hb_str text = HB_STR_INIT;

    mpich(lab);
    ELF(lab, "bin/sh");
    ELF(lab, "prog", .needed = {"libmpi.so.12"});
    hb_str_put(&text, "./prog\n");
    for (int i = 0; i < 40000; i++) {
        hb_str_put(&text, "<<x\n\t\t");
    }
    text_file(lab, "run", hb_str_text(&text));
    assert_choice(detect(lab, "sh run"), HB_PM_PMI1, HB_MPI_MPICH);
    hb_str_destroy(&text);
}

static void a_shells_words_cannot_grow_without_end(void **state)
{
    struct lab *lab = *state;
    struct hb_str text = HB_STR_INIT;

    mpich(lab);
    ELF(lab, "bin/sh");
    ELF(lab, "prog", .needed = {"libmpi.so.12"});
    hb_str_put(&text, "./prog\nA=ab\n");
    for (int i = 0; i < 60; i++) {
        hb_str_put(&text, "A=$A$A\n");
    }
    text_file(lab, "run", hb_str_text(&text));
    assert_choice(detect(lab, "sh run"), HB_PM_PMI1, HB_MPI_MPICH);
    hb_str_destroy(&text);
}

static void what_a_script_only_may_start_is_a_guess(void **state)
{
    static const struct {
        const char *text, *line;
    } list[] = {
        {"exec nsys profile -o r.$RANK ./prog\n", "sh run"},
        {"perf stat ./prog; perf stat ./prog\n", "sh run"},
        {"", "sh -c perf\tstat\t./prog"},
        {"eval \"$CMD\"\n", "sh run 0 ./prog"},
        {"shift $N; exec \"$@\"\n", "sh run 0 ./prog"},
        {"$LAUNCHER \"$@\"\n", "sh run prog"},
        {"perf stat ./two; ./plain\n", "sh run ./plain prog"},
        {"perf stat ./two; perf stat ./prog\n", "sh run prog"},
    };
    struct lab *lab = *state;

    mpich(lab);
    openmpi4(lab);
    ELF(lab, "bin/sh");
    ELF(lab, "bin/nsys");
    ELF(lab, "bin/perf");
    ELF(lab, "plain");
    ELF(lab, "prog", .needed = {"libmpi.so.12"});
    ELF(lab, "two", .needed = {"libmpi.so.40"});
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        int is_two = i == 6; /* its text tells more than its words */

        text_file(lab, "run", list[i].text);
        assert_guess(detect(lab, list[i].line),
                     is_two ? HB_PM_PMIX : HB_PM_PMI1,
                     is_two ? HB_MPI_OPENMPI4 : HB_MPI_MPICH);
    }
    text_file(lab, "run", "perf stat ./two; ./prog\n");
    assert_choice(detect(lab, "sh run"), HB_PM_PMI1, HB_MPI_MPICH);
}

static void a_shells_changes_of_directory_are_followed(void **state)
{
    static const char *const texts[] = {
        "cd deep && exec ./inner\n", "cd deep/er; cd ..\n./inner -x\n",
        "(cd deep/er && true); ./prog\n",
    };
    struct lab *lab = *state;

    mpich(lab);
    ELF(lab, "bin/sh");
    ELF(lab, "prog", .needed = {"libmpi.so.12"});
    ELF(lab, "deep/inner", .needed = {"libmpi.so.12"});
    text_file(lab, "deep/er/other", "");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        text_file(lab, "run", texts[i]);
        assert_choice(detect(lab, "sh run"), HB_PM_PMI1, HB_MPI_MPICH);
    }
}

static void what_shell_and_env_set_counts_for_what_they_start(void **state)
{
    static const char *const texts[] = {
        "export PATH=\"$HERE/opt:$PATH\"\ninner -x\n",
        "PATH=$HERE/opt inner\n",
        "export HERE\nexport LD_LIBRARY_PATH=$HERE/own\n./prog\n",
        "LD_LIBRARY_PATH=${HERE}/own:$LD_LIBRARY_PATH exec ./prog\n",
        "env -u X PATH=$HERE/opt A=b inner a=b\n",
        "exec env LD_LIBRARY_PATH=$HERE/own ./prog\n",
    };
    struct lab *lab = *state;

    openmpi4(lab); /* what the default rule would take */
    hb_env_setf(&lab->env, "HERE", "%s", lab->dir);
    ELF(lab, "bin/sh");
    ELF(lab, "bin/env");
    ELF(lab, "own/libown.so", .needed = {"libmpi.so.12"});
    ELF(lab, "own/libmpi.so.12");
    ELF(lab, "prog", .needed = {"libown.so"});
    ELF(lab, "opt/inner", .needed = {"libmpi.so.12"});
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        text_file(lab, "run", texts[i]);
        assert_int_equal(detect(lab, "sh run").family, HB_PM_PMI1);
    }
    text_file(lab, "run", "PATH=$HERE/opt:$PATH; cd opt; ./prog; inner\n");
    assert_int_equal(detect(lab, "sh run").family, HB_PM_PMI1);
}

static void shell_script_for_two_families_is_uncertain(void **state)
{
    struct lab *lab = *state;

    mpich(lab);
    openmpi4(lab);
    ELF(lab, "bin/sh");
    ELF(lab, "one", .needed = {"libmpi.so.12"});
    ELF(lab, "two", .needed = {"libmpi.so.40"});
    text_file(lab, "run", "./one; ./two\n");
    assert_int_equal(detect(lab, "sh run").certain, 0);
    text_file(lab, "run", "# ./one\necho './one'; ./two\n");
    assert_choice(detect(lab, "sh run"), HB_PM_PMIX, HB_MPI_OPENMPI4);
}

static void shells_that_call_each_other_end(void **state)
{
    struct lab *lab = *state;
    struct hb_str text = HB_STR_INIT;

    ELF(lab, "bin/sh");
    for (int i = 0; i < 1000; i++) {
        hb_str_put(&text, "sh run; ");
    }
    text_file(lab, "run", hb_str_text(&text));
    assert_int_equal(detect(lab, "sh run").certain, 0);
    hb_str_destroy(&text);
}

static void a_program_named_like_a_wrapper_is_itself(void **state)
{
    struct lab *lab = *state;

    mpich(lab);
    ELF(lab, "time", .needed = {"libmpi.so.12"});
    assert_choice(detect(lab, "./time 5"), HB_PM_PMI1, HB_MPI_MPICH);
}

static void scripts_that_call_each_other_end(void **state)
{
    struct lab *lab = *state;
    char *line = hb_xasprintf("#!%s/loop\n", lab->dir);

    text_file(lab, "loop", line);
    assert_int_equal(detect(lab, "./loop").certain, 0);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_LAB(wrappers_are_seen_through),
        IN_LAB(hwloc_bind_ends_its_locations_itself),
        IN_LAB(env_starts_in_the_directory_it_is_given),
        IN_LAB(a_wrapper_opened_at_no_program_is_a_guess),
        IN_LAB(an_opaque_wrapper_may_name_a_program_of_the_path),
        IN_LAB(an_argument_that_links_an_mpi_is_a_guess),
        IN_LAB(a_python_among_the_arguments_is_a_guess),
        IN_LAB(a_wrapper_that_is_a_script_is_seen_through),
        IN_LAB(other_interpreters_take_the_default_rule),
        IN_LAB(shell_scripts_are_looked_through),
        IN_LAB(a_script_without_interpreter_is_the_shells),
        IN_LAB(arguments_that_a_script_shifts_away_are_gone),
        IN_LAB(words_that_only_running_tells_end_no_command),
        IN_LAB(here_documents_are_no_commands),
        IN_LAB(here_documents_without_end_cost_little),
        IN_LAB(a_shells_words_cannot_grow_without_end),
        IN_LAB(what_a_script_only_may_start_is_a_guess),
        IN_LAB(a_shells_changes_of_directory_are_followed),
        IN_LAB(what_shell_and_env_set_counts_for_what_they_start),
        IN_LAB(shell_script_for_two_families_is_uncertain),
        IN_LAB(shells_that_call_each_other_end),
        IN_LAB(a_program_named_like_a_wrapper_is_itself),
        IN_LAB(scripts_that_call_each_other_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
