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

/* bin/python3 is a link to bin/python3.11, as it is nearly everywhere. */
static void python311(struct lab *lab)
{
    char *path = hb_xasprintf("%s/bin/python3", lab->dir);

    ELF(lab, "bin/python3.11");
    assert_int_equal(symlink("python3.11", path), 0);
    free(path);
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
              "home = /usr/bin\ninclude-system-site-packages = false\n"
              "version = 3.11.2\n");
    assert_int_equal(detect(lab, "venv/bin/python3 x.py").certain, 0);
    ELF(lab, "venv/lib/python3.11/site-packages/mpi4py/MPI.so",
        .needed = {"libmpi.so.40"});
    assert_choice(detect(lab, "venv/bin/python3 x.py"), HB_PM_PMIX,
                  HB_MPI_OPENMPI4);
}

static void a_wheel_for_both_is_decided_by_what_is_there(void **state)
{
    struct lab *lab = *state;

    python311(lab);
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
    text_file(lab, "venv/pyvenv.cfg",
              "home = /usr/bin\nversion_info = 3.11.2.final.0\n");
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

/* That of Open MPI, where there is MPICH, too. */
static void debian_mpi4py(struct lab *lab)
{
    mpich(lab);
    openmpi4(lab);
    python311(lab);
    ELF(lab, "lib/python3/dist-packages/mpi4py/MPI.so",
        .needed = {"libmpi.so.40"});
}

static void mpi4py_of_another_version_is_not_its_own(void **state)
{
    struct lab *lab = *state;

    debian_mpi4py(lab);
    ELF(lab, "home/.local/lib/python3.9/site-packages/mpi4py/MPI.so",
        .needed = {"libmpi.so.12"});
    assert_choice(detect(lab, "python3 x.py"), HB_PM_PMIX, HB_MPI_OPENMPI4);
    ELF(lab, "home/.local/lib/python3.11/site-packages/mpi4py/MPI.so",
        .needed = {"libmpi.so.12"});
    assert_choice(detect(lab, "python3 x.py"), HB_PM_PMI1, HB_MPI_MPICH);
    /* A virtual environment's own copy has no number in its name. */
    ELF(lab, "venv/bin/python3");
    text_file(lab, "venv/pyvenv.cfg",
              "version_info = 3.9.1.final.0\nversion = 20.1\n");
    ELF(lab, "venv/lib/python3.11/site-packages/mpi4py/MPI.so",
        .needed = {"libmpi.so.12"});
    assert_int_equal(detect(lab, "venv/bin/python3 x.py").flavour,
                     HB_MPI_UNKNOWN);
    ELF(lab, "venv/lib/python3.9/site-packages/mpi4py/MPI.so",
        .needed = {"libmpi.so.40"});
    assert_choice(detect(lab, "venv/bin/python3 x.py"), HB_PM_PMIX,
                  HB_MPI_OPENMPI4);
}

static void mpi4py_of_a_python_without_version_is_a_guess(void **state)
{
    struct lab *lab = *state;
    struct hb_family_choice c;

    mpich(lab);
    openmpi4(lab); /* what the default rule would take */
    ELF(lab, "bin/python3");
    ELF(lab, "home/.local/lib/python3.9/site-packages/mpi4py/MPI.so",
        .needed = {"libmpi.so.12"});
    c = detect(lab, "python3 -m mpi4py x.py");
    assert_int_equal(c.family, HB_PM_PMI1);
    assert_int_equal(c.flavour, HB_MPI_MPICH);
    assert_int_equal(c.certain, 0);
    assert_int_equal(c.links_mpi, 0);
}

/* MPICH's in the user's packages and in PYTHONPATH's, Open MPI's below. */
static void python_is_told_what_not_to_look_at(void **state)
{
    static const struct {
        const char *line;
        int sees_user, sees_path;
    } list[] = {
        {"python3 x.py -s", 1, 1}, {"python3 -s x.py", 0, 1},
        {"python3 -Bs x.py", 0, 1}, {"python3 -I x.py", 0, 0},
        {"python3 -uE x.py", 1, 0}, {"python3 -W s -X I x.py", 1, 1},
        {"python3 -Ws -XI x.py", 1, 1}, {"python3 -m s -I", 1, 1},
        {"python3 -W s -s x.py", 0, 1}, {"python3 - -s", 1, 1},
        {"python3 --check-hash-based-pycs=always x.py", 1, 1},
    };
    struct lab *lab = *state;

    debian_mpi4py(lab);
    ELF(lab, "home/.local/lib/python3.11/site-packages/mpi4py/MPI.so",
        .needed = {"libmpi.so.12"});
    ELF(lab, "path/mpi4py/MPI.so", .needed = {"libmpi.so.12"});
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        hb_env_set(&lab->env, "PYTHONPATH", "");
        assert_int_equal(detect(lab, list[i].line).flavour,
                         list[i].sees_user ? HB_MPI_MPICH : HB_MPI_OPENMPI4);
        hb_env_setf(&lab->env, "PYTHONPATH", "%s/path", lab->dir);
        assert_int_equal(detect(lab, list[i].line).flavour,
                         list[i].sees_user || list[i].sees_path
                             ? HB_MPI_MPICH : HB_MPI_OPENMPI4);
    }
}

static void the_users_packages_are_where_python_is_told(void **state)
{
    struct lab *lab = *state;

    debian_mpi4py(lab);
    ELF(lab, "mine/lib/python3.11/site-packages/mpi4py/MPI.so",
        .needed = {"libmpi.so.12"});
    assert_choice(detect(lab, "python3 x.py"), HB_PM_PMIX, HB_MPI_OPENMPI4);
    hb_env_setf(&lab->env, "PYTHONUSERBASE", "%s/mine", lab->dir);
    assert_choice(detect(lab, "python3 x.py"), HB_PM_PMI1, HB_MPI_MPICH);
    hb_env_set(&lab->env, "PYTHONNOUSERSITE", "");
    assert_choice(detect(lab, "python3 x.py"), HB_PM_PMI1, HB_MPI_MPICH);
    hb_env_set(&lab->env, "PYTHONNOUSERSITE", "1");
    assert_choice(detect(lab, "python3 x.py"), HB_PM_PMIX, HB_MPI_OPENMPI4);
    assert_choice(detect(lab, "python3 -E x.py"), HB_PM_PMIX,
                  HB_MPI_OPENMPI4);
}

/* The MPI beside the user's packages is theirs. */
static void a_wheel_per_abi_leaves_the_users_mpi_where_it_may(void **state)
{
    struct lab *lab = *state;

    openmpi4(lab);
    ELF(lab, "opt/bin/python3.11");
    ELF(lab, "opt/lib/python3.11/site-packages/mpi4py/MPI.mpich.x.so",
        .needed = {"libmpi.so.12"});
    ELF(lab, "opt/lib/python3.11/site-packages/mpi4py/MPI.openmpi.x.so",
        .needed = {"libmpi.so.40"});
    ELF(lab, "home/.local/lib/libmpi.so.12");
    assert_choice(detect(lab, "opt/bin/python3.11 x.py"), HB_PM_PMI1,
                  HB_MPI_MPICH);
    assert_choice(detect(lab, "opt/bin/python3.11 -s x.py"), HB_PM_PMIX,
                  HB_MPI_OPENMPI4);
}

static void pythons_are_known_by_name(void **state)
{
    assert_true(hb_is_python("/usr/bin/python3.11"));
    assert_true(hb_is_python("python"));
    assert_true(hb_is_python("python3.13t"));
    assert_true(hb_is_python("/usr/bin/python3-dbg"));
    assert_true(hb_is_python("python3.11d"));
    assert_false(hb_is_python("python-config"));
    assert_false(hb_is_python("python3.11-config"));
    assert_false(hb_is_python("pythontd"));
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
        IN_LAB(python_follows_its_mpi4py),
        IN_LAB(virtual_environment_hides_the_system),
        IN_LAB(a_wheel_for_both_is_decided_by_what_is_there),
        IN_LAB(a_wheel_per_abi_takes_the_mpi_of_its_environment),
        IN_LAB(a_wheel_per_abi_takes_the_abi_that_is_named),
        IN_LAB(mpi4py_of_another_version_is_not_its_own),
        IN_LAB(mpi4py_of_a_python_without_version_is_a_guess),
        IN_LAB(python_is_told_what_not_to_look_at),
        IN_LAB(the_users_packages_are_where_python_is_told),
        IN_LAB(a_wheel_per_abi_leaves_the_users_mpi_where_it_may),
        cmocka_unit_test(pythons_are_known_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
