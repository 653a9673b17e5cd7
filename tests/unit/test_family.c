/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The choice of a family, on files made for it: small ELF files with a
 * dynamic section and nothing else, scripts, packages of a Python. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/pm/family.h"
#include "bin/pm/wrapper.h"
#include "lib/base/str.h"
#include "tests/unit/family_lab.h"

static void openmpi4(struct lab *lab)
{
    ELF(lab, "lib/libmpi.so.40", .needed = {"libopen-rte.so.40"});
    ELF(lab, "lib/libopen-rte.so.40");
}

static void mpich(struct lab *lab)
{
    ELF(lab, "lib/libmpi.so.12");
}

static void openmpi_by_its_soname(void **state)
{
    struct lab *lab = *state;
    struct hb_family_choice c;

    openmpi4(lab);
    ELF(lab, "prog", .needed = {"libm.so.none", "libmpi.so.40"});
    c = detect(lab, "./prog");
    assert_choice(c, HB_PM_PMIX, HB_MPI_OPENMPI4);
    assert_int_equal(c.links_mpi, 1);
    assert_int_equal(c.found, 1);
}

static void openmpi5_by_its_file_version(void **state)
{
    struct lab *lab = *state;
    char *from = hb_xasprintf("%s/lib/libmpi.so.40", lab->dir);

    ELF(lab, "lib/libmpi.so.40.40.5", .needed = {"libopen-pal.so.80"});
    assert_int_equal(symlink("libmpi.so.40.40.5", from), 0);
    ELF(lab, "prog", .needed = {"libmpi.so.40"});
    assert_choice(detect(lab, "./prog"), HB_PM_PMIX, HB_MPI_OPENMPI5);
    free(from);
}

static void fortran_layer_leads_to_the_library_below(void **state)
{
    struct lab *lab = *state;

    mpich(lab);
    ELF(lab, "lib/libmpifort.so.12", .needed = {"libmpi.so.12"});
    ELF(lab, "prog", .needed = {"libmpifort.so.12"});
    assert_choice(detect(lab, "./prog"), HB_PM_PMI1, HB_MPI_MPICH);
}

static void mpi_behind_an_own_library_is_found(void **state)
{
    struct lab *lab = *state;

    mpich(lab);
    ELF(lab, "lib/libsolver.so", .needed = {"libmpi.so.12"});
    ELF(lab, "prog", .needed = {"libsolver.so"});
    assert_choice(detect(lab, "./prog"), HB_PM_PMI1, HB_MPI_MPICH);
}

static void members_of_the_mpich_abi_are_told_apart(void **state)
{
    struct lab *lab = *state;

    ELF(lab, "lib/libmpi.so.12", .text = "I_MPI_FABRICS");
    ELF(lab, "prog", .needed = {"libmpi.so.12"});
    assert_choice(detect(lab, "./prog"), HB_PM_PMI1, HB_MPI_INTEL);
    ELF(lab, "lib/libmpi.so.12", .text = "MVAPICH2");
    assert_choice(detect(lab, "./prog"), HB_PM_PMI1, HB_MPI_MVAPICH);
}

static void mpich_built_for_a_client_library_gets_its_family(void **state)
{
    struct lab *lab = *state;

    ELF(lab, "prog", .needed = {"libmpi.so.12"});
    ELF(lab, "lib/libmpi.so.12", .needed = {"libpmix.so.2"});
    assert_choice(detect(lab, "./prog"), HB_PM_PMIX, HB_MPI_MPICH);
    ELF(lab, "lib/libmpi.so.12", .needed = {"libpmi2.so.0"});
    assert_choice(detect(lab, "./prog"), HB_PM_PMI2, HB_MPI_MPICH);
}

static void standard_abi_is_decided_by_what_stands_below(void **state)
{
    struct lab *lab = *state;

    ELF(lab, "prog", .needed = {"libmpi_abi.so.0"});
    ELF(lab, "lib/libmpi_abi.so.0", .text = "x");
    assert_choice(detect(lab, "./prog"), HB_PM_PMI1, HB_MPI_MPICH);
    ELF(lab, "lib/libmpi_abi.so.0",
        .needed = {"libopen-pal.so.80", "libpmix.so.2"});
    assert_choice(detect(lab, "./prog"), HB_PM_PMIX, HB_MPI_OPENMPI5);
}

static void client_without_mpi_gets_its_family(void **state)
{
    struct lab *lab = *state;
    struct hb_family_choice c;

    ELF(lab, "lib/libpmi2.so.0");
    ELF(lab, "prog", .needed = {"libpmi2.so.0"});
    c = detect(lab, "./prog");
    assert_int_equal(c.family, HB_PM_PMI2);
    assert_int_equal(c.links_mpi, 0);
}

static void static_mpi_is_found_by_its_text(void **state)
{
    struct lab *lab = *state;
    struct hb_family_choice c;

    ELF(lab, "prog", .text = "getenv PMI_FD");
    assert_choice(detect(lab, "./prog"), HB_PM_PMI1, HB_MPI_UNKNOWN);
    ELF(lab, "prog", .text = "PMIX_NAMESPACE");
    c = detect(lab, "./prog");
    assert_choice(c, HB_PM_PMIX, HB_MPI_UNKNOWN);
    assert_true(hb_ends_with(c.why, "by its text PMIX_NAMESPACE, which is an "
                             "MPI"));
}

static void static_libhpcboot_needs_no_server(void **state)
{
    struct lab *lab = *state;

    ELF(lab, "prog", .text = "PMIX_NAMESPACE HPCBOOT_SOCKET");
    assert_choice(detect(lab, "./prog"), HB_PM_NONE, HB_MPI_NONE);
}

/* `hbrun -n 2 mpiexec.hydra -n 2 ./prog`: ranks that start jobs of their own */
static void launcher_of_hydra_is_no_mpi(void **state)
{
    struct lab *lab = *state;

    ELF(lab, "prog", .text = "HYDRA_HOST_FILE getenv PMI_FD");
    assert_int_equal(detect(lab, "./prog").links_mpi, 0);
}

static void plain_program_needs_none(void **state)
{
    struct lab *lab = *state;

    ELF(lab, "lib/libplain.so");
    ELF(lab, "prog", .needed = {"libplain.so"});
    assert_choice(detect(lab, "./prog"), HB_PM_NONE, HB_MPI_NONE);
}

static void unknown_library_leaves_it_uncertain(void **state)
{
    struct lab *lab = *state;
    struct hb_family_choice c;

    ELF(lab, "prog", .needed = {"libnowhere.so.1"});
    c = detect(lab, "./prog");
    assert_int_equal(c.certain, 0);
    assert_non_null(strstr(c.why, "libnowhere.so.1"));
}

static void absent_mpi_library_still_tells_by_name(void **state)
{
    struct lab *lab = *state;

    ELF(lab, "prog", .needed = {"libmpich.so.777"});
    assert_choice(detect(lab, "./prog"), HB_PM_PMI1, HB_MPI_MPICH);
}

static void runpath_and_rpath_with_origin(void **state)
{
    struct lab *lab = *state;

    ELF(lab, "opt/libmpi.so.40", .needed = {"libopen-rte.so.40"});
    ELF(lab, "prog", .needed = {"libmpi.so.40"}, .path_tag = DT_RUNPATH,
        .path = "$ORIGIN/nothing:${ORIGIN}/opt");
    assert_choice(detect(lab, "./prog"), HB_PM_PMIX, HB_MPI_OPENMPI4);
    /* RPATH holds for what the libraries need, too. */
    ELF(lab, "opt/libsolver.so", .needed = {"libmpi.so.12"});
    ELF(lab, "opt/libmpi.so.12", .text = "I_MPI_FABRICS");
    ELF(lab, "prog", .needed = {"libsolver.so"}, .path_tag = DT_RPATH,
        .path = "$ORIGIN/opt");
    assert_choice(detect(lab, "./prog"), HB_PM_PMI1, HB_MPI_INTEL);
}

static void other_byte_order_is_read(void **state)
{
    struct lab *lab = *state;

    ELF(lab, "prog", .needed = {"libmpi.so.40"}, .big_endian = 1);
    ELF(lab, "lib/libmpi.so.40", .needed = {"libopen-rte.so.40"},
        .big_endian = 1);
    assert_choice(detect(lab, "./prog"), HB_PM_PMIX, HB_MPI_OPENMPI4);
}

static void program_is_looked_up_in_path(void **state)
{
    struct lab *lab = *state;

    openmpi4(lab);
    ELF(lab, "bin/prog", .needed = {"libmpi.so.40"});
    assert_choice(detect(lab, "prog"), HB_PM_PMIX, HB_MPI_OPENMPI4);
}

static void missing_program_takes_the_default_rule(void **state)
{
    struct lab *lab = *state;
    struct hb_family_choice c;

    openmpi4(lab);
    c = detect(lab, "./nothing");
    assert_int_equal(c.found, 0);
    assert_int_equal(c.certain, 0);
    assert_int_equal(c.family, HB_PM_PMIX); /* libmpi.so.40 is there */
    assert_non_null(strstr(c.why, "default rule"));
}

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
    assert_choice(detect(lab, "bash run ./prog 5"), HB_PM_PMI1, HB_MPI_MPICH);
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

static void python_follows_its_mpi4py(void **state)
{
    struct lab *lab = *state;
    struct hb_family_choice c;
    char *line = hb_xasprintf("#!%s/bin/python3\nfrom mpi4py import MPI\n",
                              lab->dir);

    mpich(lab);
    ELF(lab, "bin/python3");
    ELF(lab, "lib/python3/dist-packages/mpi4py/MPI.cpython.so",
        .needed = {"libmpi.so.12"});
    c = detect(lab, "python3 other.py");
    assert_choice(c, HB_PM_PMI1, HB_MPI_MPICH);
    assert_int_equal(c.links_mpi, 0);
    ELF(lab, "wrapped", .needed = {"libmpi.so.40"});
    c = detect(lab, "python3 other.py ./wrapped");
    assert_int_equal(c.family, HB_PM_PMIX);
    text_file(lab, "prog.py", line);
    c = detect(lab, "./prog.py ./wrapped");
    assert_choice(c, HB_PM_PMI1, HB_MPI_MPICH);
    assert_int_equal(c.links_mpi, 1);
    assert_int_equal(detect(lab, "python3 -m mpi4py x.py").links_mpi, 1);
    free(line);
}

static void virtual_environment_hides_the_system(void **state)
{
    struct lab *lab = *state;

    mpich(lab);
    openmpi4(lab);
    ELF(lab, "bin/python3");
    ELF(lab, "venv/bin/python3");
    ELF(lab, "lib/python3/dist-packages/mpi4py/MPI.so",
        .needed = {"libmpi.so.12"});
    text_file(lab, "venv/pyvenv.cfg",
              "home = /usr/bin\ninclude-system-site-packages = false\n");
    assert_int_equal(detect(lab, "venv/bin/python3 x.py").certain, 0);
    ELF(lab, "venv/lib/python3.11/site-packages/mpi4py/MPI.so",
        .needed = {"libmpi.so.40"});
    assert_choice(detect(lab, "venv/bin/python3 x.py"), HB_PM_PMIX,
                  HB_MPI_OPENMPI4);
}

static void a_wheel_for_both_is_decided_by_what_is_there(void **state)
{
    struct lab *lab = *state;

    ELF(lab, "bin/python3");
    ELF(lab, "home/.local/lib/python3.11/site-packages/mpi4py/MPI.a.so",
        .needed = {"libmpich.so.777"});
    ELF(lab, "home/.local/lib/python3.11/site-packages/mpi4py/MPI.b.so",
        .needed = {"libmpi.so.40"});
    openmpi4(lab);
    assert_choice(detect(lab, "python3 x.py"), HB_PM_PMIX, HB_MPI_OPENMPI4);
    ELF(lab, "lib/libmpich.so.777");
    assert_int_equal(detect(lab, "python3 x.py").certain, 0);
}

/* mpi4py 4 brings a module per ABI, its MPI is a wheel beside them. */
static void venv_of_both_abis(struct lab *lab)
{
    ELF(lab, "venv/bin/python3");
    text_file(lab, "venv/pyvenv.cfg", "home = /usr/bin\n");
    ELF(lab, "venv/lib/python3.11/site-packages/mpi4py/MPI.mpich.x.so",
        .needed = {"libmpi.so.12"});
    ELF(lab, "venv/lib/python3.11/site-packages/mpi4py/MPI.openmpi.x.so",
        .needed = {"libmpi.so.40"});
}

static void a_wheel_per_abi_takes_the_mpi_of_its_environment(void **state)
{
    struct lab *lab = *state;

    openmpi4(lab);
    ELF(lab, "bin/python3");
    venv_of_both_abis(lab);
    assert_choice(detect(lab, "venv/bin/python3 x.py"), HB_PM_PMIX,
                  HB_MPI_OPENMPI4);
    text_file(lab, "venv/lib/libmpi.so", "INPUT(libmpi.so.12)\n");
    ELF(lab, "venv/lib/libmpi.so.12");
    assert_choice(detect(lab, "venv/bin/python3 x.py"), HB_PM_PMI1,
                  HB_MPI_MPICH);
    hb_env_setf(&lab->env, "MPI4PY_LIBMPI", "%s/lib/libmpi.so.40", lab->dir);
    assert_choice(detect(lab, "venv/bin/python3 x.py"), HB_PM_PMIX,
                  HB_MPI_OPENMPI4);
}

/* The module that is named is loaded, and its MPI is what the loader finds. */
static void a_wheel_per_abi_takes_the_abi_that_is_named(void **state)
{
    struct lab *lab = *state;

    openmpi4(lab);
    mpich(lab);
    venv_of_both_abis(lab);
    ELF(lab, "venv/lib/libmpi.so.12");
    hb_env_setf(&lab->env, "MPI4PY_MPIABI", "Open-MPI");
    assert_choice(detect(lab, "venv/bin/python3 x.py"), HB_PM_PMIX,
                  HB_MPI_OPENMPI4);
    hb_env_setf(&lab->env, "MPI4PY_MPIABI", "impi");
    assert_choice(detect(lab, "venv/bin/python3 x.py"), HB_PM_PMI1,
                  HB_MPI_MPICH);
}

static void pythons_are_known_by_name(void **state)
{
    assert_true(hb_is_python("/usr/bin/python3.11"));
    assert_true(hb_is_python("python"));
    assert_false(hb_is_python("python-config"));
    assert_false(hb_is_python("/opt/mypython"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_LAB(openmpi_by_its_soname),
        IN_LAB(openmpi5_by_its_file_version),
        IN_LAB(fortran_layer_leads_to_the_library_below),
        IN_LAB(mpi_behind_an_own_library_is_found),
        IN_LAB(members_of_the_mpich_abi_are_told_apart),
        IN_LAB(mpich_built_for_a_client_library_gets_its_family),
        IN_LAB(standard_abi_is_decided_by_what_stands_below),
        IN_LAB(client_without_mpi_gets_its_family),
        IN_LAB(static_mpi_is_found_by_its_text),
        IN_LAB(static_libhpcboot_needs_no_server),
        IN_LAB(launcher_of_hydra_is_no_mpi),
        IN_LAB(plain_program_needs_none),
        IN_LAB(unknown_library_leaves_it_uncertain),
        IN_LAB(absent_mpi_library_still_tells_by_name),
        IN_LAB(runpath_and_rpath_with_origin),
        IN_LAB(other_byte_order_is_read),
        IN_LAB(program_is_looked_up_in_path),
        IN_LAB(missing_program_takes_the_default_rule),
        IN_LAB(wrappers_are_seen_through),
        IN_LAB(an_argument_that_links_an_mpi_is_a_guess),
        IN_LAB(a_wrapper_that_is_a_script_is_seen_through),
        IN_LAB(other_interpreters_take_the_default_rule),
        IN_LAB(shell_scripts_are_looked_through),
        IN_LAB(a_shells_changes_of_directory_are_followed),
        IN_LAB(what_shell_and_env_set_counts_for_what_they_start),
        IN_LAB(shell_script_for_two_families_is_uncertain),
        IN_LAB(shells_that_call_each_other_end),
        IN_LAB(a_program_named_like_a_wrapper_is_itself),
        IN_LAB(scripts_that_call_each_other_end),
        IN_LAB(python_follows_its_mpi4py),
        IN_LAB(virtual_environment_hides_the_system),
        IN_LAB(a_wheel_for_both_is_decided_by_what_is_there),
        IN_LAB(a_wheel_per_abi_takes_the_mpi_of_its_environment),
        IN_LAB(a_wheel_per_abi_takes_the_abi_that_is_named),
        cmocka_unit_test(pythons_are_known_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
