/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What ranks are told by variables, following their family; names of families
 * and of MPIs. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "bin/pm/family.h"
#include "bin/pm/pm.h"

static void flavours_have_names(void **state)
{
    enum hb_mpi_flavour f;

    for (int i = HB_MPI_UNKNOWN; i <= HB_MPI_MVAPICH; i++) {
        const char *name = hb_mpi_flavour_name((enum hb_mpi_flavour)i);

        assert_int_equal(hb_mpi_flavour_parse(name, &f), 0);
        assert_int_equal(f, i);
    }
    assert_int_equal(hb_mpi_flavour_parse("lam", &f), HPCBOOT_ERR_PARSE);
}

static struct hb_jobmap *two_app_map(void)
{
    static const uint32_t nodes[] = {0, 0, 1};
    static char *names[] = {(char *)"a", (char *)"b"};
    static const struct hb_job_app apps[] = {{0, 1}, {1, 2}};
    struct hb_jobmap *map;

    assert_int_equal(hb_jobmap_create(&map, 3, nodes, 2, names, 2, apps, 8,
                                      NULL), 0);
    return map;
}

static void assert_env(const struct hb_strv *env, const char *name,
                       const char *value)
{
    assert_string_equal(hb_env_get(env, name), value);
}

static void identity_follows_the_family(void **state)
{
    static char *argv[] = {(char *)"prog", (char *)"-x", (char *)"y", NULL};
    const struct hb_pm_app app = {argv, "/some/where"};
    struct hb_jobmap *map = two_app_map();
    struct hb_strv env = HB_STRV_INIT;

    hb_pm_personality_env(HB_PM_PMIX, HB_MPI_OPENMPI4, map, 1, &app, &env);
    assert_env(&env, "HPCBOOT_RANK", "1");
    assert_env(&env, "HPCBOOT_SIZE", "3");
    assert_env(&env, "HPCBOOT_LOCAL_RANK", "1");
    assert_env(&env, "HPCBOOT_LOCAL_SIZE", "2");
    assert_env(&env, "HPCBOOT_NODE", "0");
    assert_env(&env, "HPCBOOT_NODES", "2");
    assert_env(&env, "OMPI_COMM_WORLD_RANK", "1");
    assert_env(&env, "OMPI_UNIVERSE_SIZE", "8");
    assert_env(&env, "OMPI_FIRST_RANKS", "0 1");
    assert_env(&env, "OMPI_APP_CTX_NUM_PROCS", "1 2");
    assert_env(&env, "OMPI_COMMAND", "prog");
    assert_env(&env, "OMPI_ARGV", "-x y");
    assert_env(&env, "OMPI_MCA_initial_wdir", "/some/where");
    assert_null(hb_env_get(&env, "MPI_LOCALRANKID"));
    hb_strv_destroy(&env);

    hb_pm_personality_env(HB_PM_PMI1, HB_MPI_MVAPICH, map, 2, &app, &env);
    assert_env(&env, "HPCBOOT_NODE", "1");
    assert_env(&env, "MPI_LOCALRANKID", "0");
    assert_env(&env, "MPI_LOCALNRANKS", "1");
    assert_env(&env, "MV2_COMM_WORLD_RANK", "2");
    assert_null(hb_env_get(&env, "OMPI_COMM_WORLD_RANK"));
    hb_strv_destroy(&env);

    hb_pm_personality_env(HB_PM_NONE, HB_MPI_NONE, map, 2, &app, &env);
    assert_env(&env, "HPCBOOT_RANK", "2");
    assert_null(hb_env_get(&env, "OMPI_COMM_WORLD_RANK"));
    assert_null(hb_env_get(&env, "MPI_LOCALRANKID"));
    hb_strv_destroy(&env);
    hb_jobmap_destroy(map);
}

static void families_have_names(void **state)
{
    enum hb_pm_family f;
    struct hpcboot_error err;

    for (int i = HB_PM_NONE; i <= HB_PM_PMIX; i++) {
        const char *name = hb_pm_family_name((enum hb_pm_family)i);

        assert_int_equal(hb_pm_family_parse(name, &f, NULL), 0);
        assert_int_equal(f, i);
    }
    assert_int_equal(hb_pm_family_parse("pmx", &f, &err), HPCBOOT_ERR_PARSE);
    assert_non_null(strstr(err.text, "did you mean pmix?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flavours_have_names),
        cmocka_unit_test(identity_follows_the_family),
        cmocka_unit_test(families_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
