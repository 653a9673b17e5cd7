/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Ranks of PMI-1 that start others. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/pmi_lab.h"

static const uint32_t one_node[] = {0, 0};

static struct lab *small(void)
{
    return lab_new(HB_PM_PMI1, 2, one_node, 1);
}

static void spawn_is_asked_for_once_its_last_block_is_there(void **state)
{
    struct lab *lab = small();

    lab_say(lab, 0, "mcmd=spawn\nnprocs=3\nexecname=/bin/a b\ntotspawns=2\n"
                    "spawnssofar=1\narg1=x y\narg2=-n\nargcnt=2\n"
                    "preput_num=1\npreput_key_0=PARENT\npreput_val_0=tag#0$\n"
                    "info_num=1\ninfo_key_0=wdir\ninfo_val_0=/w d\nendcmd\n");
    assert_int_equal(lab->n_spawns, 0);
    lab_say(lab, 0, "mcmd=spawn\nnprocs=1\nexecname=c\ntotspawns=2\n"
                    "spawnssofar=2\npreput_num=1\npreput_key_0=PARENT\n"
                    "preput_val_0=tag#0$\nendcmd\n");
    assert_int_equal(lab->n_spawns, 1);
    assert_string_equal(lab->spawn, "0: 3 3 1 1 1 0;/bin/a b,x y,-n,c;"
                                    "wdir=/w d;PARENT=tag#0$;");
    assert_heard(lab, 0, "");
    lab_spawned(lab, 0, HPCBOOT_OK);
    assert_heard(lab, 0, "cmd=spawn_result rc=0\n");
    lab_free(lab);
}

static const char one_more[] =
    "mcmd=spawn\nnprocs=1\nexecname=a\nargcnt=0\nendcmd\n";

static void a_spawn_that_fails_is_told(void **state)
{
    struct lab *lab = small();

    lab_say(lab, 1, one_more);
    lab_spawned(lab, 0, HPCBOOT_ERR_SPAWN);
    assert_heard(lab, 1, "cmd=spawn_result rc=-1 msg=ERR_SPAWN\n");
    lab_spawned(lab, 0, HPCBOOT_OK); /* nobody waits for a second answer */
    assert_heard(lab, 1, "");
    lab_free(lab);
}

static void who_is_gone_hears_nothing_of_its_spawn(void **state)
{
    struct lab *lab = small();

    lab_say(lab, 1, one_more);
    lab->ops->rank_gone(lab->node[0].pm, 1);
    lab_spawned(lab, 0, HPCBOOT_OK);
    assert_heard(lab, 1, "");
    lab_free(lab);
}

static void two_ranks_may_spawn_at_once(void **state)
{
    struct lab *lab = small();
    uint64_t first;

    lab_say(lab, 0, one_more);
    first = lab->spawn_id;
    lab_say(lab, 1, one_more);
    lab_spawned(lab, 0, HPCBOOT_OK);
    assert_heard(lab, 0, "");
    assert_heard(lab, 1, "cmd=spawn_result rc=0\n");
    lab->spawn_id = first;
    lab_spawned(lab, 0, HPCBOOT_OK);
    assert_heard(lab, 0, "cmd=spawn_result rc=0\n");
    lab_free(lab);
}

/* Of whichever program; answered once, and the next request is a new one. */
static void a_spawn_of_nobody_fails_as_a_spawn(void **state)
{
    struct lab *lab = small();

    lab_say(lab, 0, "mcmd=spawn\nnprocs=0\nexecname=a\nendcmd\n");
    assert_heard(lab, 0, "cmd=spawn_result rc=-1 msg=ERR_SPAWN\n");
    lab_say(lab, 0, "mcmd=spawn\nnprocs=0\nexecname=a\ntotspawns=2\n"
                    "spawnssofar=1\nendcmd\n");
    assert_heard(lab, 0, "");
    lab_say(lab, 0, "mcmd=spawn\nnprocs=1\nexecname=b\ntotspawns=2\n"
                    "spawnssofar=2\nendcmd\n");
    assert_heard(lab, 0, "cmd=spawn_result rc=-1 msg=ERR_SPAWN\n");
    assert_int_equal(lab->n_spawns, 0);
    assert_null(lab->violation);
    lab_say(lab, 0, one_more);
    assert_int_equal(lab->n_spawns, 1);
    lab_spawned(lab, 0, HPCBOOT_OK);
    assert_heard(lab, 0, "cmd=spawn_result rc=0\n");
    lab_free(lab);
}

static void a_spawn_that_nobody_can_start_fails_as_a_spawn(void **state)
{
    static const char *const asked[] = {
        "mcmd=spawn\nnprocs=2000000000\nexecname=a\nendcmd\n",
        "mcmd=spawn\nnprocs=1\nexecname=\nendcmd\n",
        "mcmd=spawn\nnprocs=16777216\nexecname=a\ntotspawns=2\n"
        "spawnssofar=1\nendcmd\n"
        "mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=2\n"
        "spawnssofar=2\nendcmd\n",
    };
    struct lab *lab = small();

    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        lab_say(lab, 0, asked[i]);
        assert_heard(lab, 0, "cmd=spawn_result rc=-1 msg=ERR_SPAWN\n");
    }
    assert_int_equal(lab->n_spawns, 0);
    lab_say(lab, 0, "mcmd=spawn\nnprocs=16777216\nexecname=a\nendcmd\n");
    assert_int_equal(lab->n_spawns, 1);
    assert_null(lab->violation);
    lab_free(lab);
}

static void a_spawn_of_very_many_programs_fails_as_a_spawn(void **state)
{
    struct lab *lab = small();

    for (int i = 1; i <= 5000; i++) {
        char *block = hb_xasprintf("mcmd=spawn\nnprocs=1\nexecname=a\n"
                                   "totspawns=5000\nspawnssofar=%d\n"
                                   "endcmd\n", i);

        lab_say(lab, 0, block);
        free(block);
    }
    assert_heard(lab, 0, "cmd=spawn_result rc=-1 msg=ERR_SPAWN\n");
    assert_int_equal(lab->n_spawns, 0);
    lab_say(lab, 0, one_more);
    assert_int_equal(lab->n_spawns, 1);
    lab_free(lab);
}

static void a_spawn_without_sense_cuts_the_rank_off(void **state)
{
    static const char *const bad[] = {
        "mcmd=spawn\nexecname=a\nendcmd\n",
        "mcmd=spawn\nnprocs=-1\nexecname=a\nendcmd\n",
        "mcmd=spawn\nnprocs=1\nendcmd\n",
        "mcmd=spawn\nnprocs=1\nexecname=a\nargcnt=2\narg1=x\nendcmd\n",
        "mcmd=spawn\nnprocs=1\nexecname=a\ninfo_num=1\nendcmd\n",
        "mcmd=spawn\nnprocs=1\nexecname=a\npreput_num=many\nendcmd\n",
        "mcmd=spawn\nnprocs=99999999999\nexecname=a\nendcmd\n",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct lab *lab = small();

        assert_true(lab_say(lab, 0, bad[i]) < 0);
        assert_non_null(lab->violation);
        assert_int_equal(lab->n_spawns, 0);
        lab_free(lab);
    }
}

static void a_request_without_end_is_bounded(void **state)
{
    struct lab *lab = small();
    char *word = hb_xmalloc(500001), *block;
    int rc = 0, blocks = 0;

    memset(word, 'x', 500000);
    word[500000] = '\0';
    block = hb_xasprintf("mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=1000\n"
                         "spawnssofar=2\nargcnt=1\narg1=%s\nendcmd\n", word);
    while (rc == 0 && blocks++ < 100) {
        rc = lab_say(lab, 0, block);
    }
    assert_true(rc < 0);
    assert_true(blocks < 20);
    free(block);
    free(word);
    lab_free(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spawn_is_asked_for_once_its_last_block_is_there),
        cmocka_unit_test(a_spawn_that_fails_is_told),
        cmocka_unit_test(who_is_gone_hears_nothing_of_its_spawn),
        cmocka_unit_test(two_ranks_may_spawn_at_once),
        cmocka_unit_test(a_spawn_of_nobody_fails_as_a_spawn),
        cmocka_unit_test(a_spawn_that_nobody_can_start_fails_as_a_spawn),
        cmocka_unit_test(a_spawn_of_very_many_programs_fails_as_a_spawn),
        cmocka_unit_test(a_spawn_without_sense_cuts_the_rank_off),
        cmocka_unit_test(a_request_without_end_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
