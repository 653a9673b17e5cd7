/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The PMI-2 server: the upgrade from a PMI-1 line, then frames. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/pmi_lab.h"

static const uint32_t one_node[] = {0, 0, 0, 0};
static const uint32_t two_nodes[] = {0, 0, 1, 1};

static void upgrade(struct lab *lab, uint32_t rank)
{
    lab_say(lab, rank, "cmd=init pmi_version=2 pmi_subversion=0\n");
    assert_heard(lab, rank, "cmd=response_to_init pmi_version=2 "
                            "pmi_subversion=0 rc=0\n");
}

/* All ranks past their init line. */
static struct lab *upgraded(enum hb_pm_family family, uint32_t n_ranks,
                            const uint32_t *node_of_rank, uint32_t n_nodes)
{
    struct lab *lab = lab_new(family, n_ranks, node_of_rank, n_nodes);

    for (uint32_t r = 0; r < n_ranks; r++) {
        upgrade(lab, r);
    }
    return lab;
}

/* One frame is expected, and its length is checked. */
static void heard2(struct lab *lab, uint32_t rank, const char *payload)
{
    char *want = hb_xasprintf("%6zu%s", strlen(payload), payload);

    assert_heard(lab, rank, want);
    free(want);
}

struct exchange {
    const char *say, *hear;
};

static void each_command_gets_its_answer(void **state)
{
    static const struct exchange list[] = {
        {"cmd=fullinit;pmijobid=job.1;pmirank=1;threaded=FALSE;thrid=0x1f;",
         "cmd=fullinit-response;thrid=0x1f;rc=0;pmi-version=2;"
         "pmi-subversion=0;rank=1;size=2;appnum=0;debugged=FALSE;"
         "pmiverbose=FALSE;"},
        {"cmd=job-getid;thrid=1;",
         "cmd=job-getid-response;thrid=1;rc=0;jobid=job.1;"},
        {"cmd=info-putnodeattr;key=a;value=1;",
         "cmd=info-putnodeattr-response;rc=0;"},
        {"cmd=info-getnodeattr;key=a;",
         "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=1;"},
        {"cmd=info-getnodeattr;key=b;wait=FALSE;",
         "cmd=info-getnodeattr-response;rc=0;found=FALSE;"},
        {"cmd=info-getjobattr;key=PMI_process_mapping;thrid=7;",
         "cmd=info-getjobattr-response;thrid=7;rc=0;found=TRUE;"
         "value=(vector,(0,1,2));"},
        {"cmd=info-getjobattr;key=universeSize;",
         "cmd=info-getjobattr-response;rc=0;found=TRUE;value=32;"},
        {"cmd=info-getjobattr;key=hasNameServ;",
         "cmd=info-getjobattr-response;rc=0;found=TRUE;value=TRUE;"},
        {"cmd=info-getjobattr;key=physTopology;",
         "cmd=info-getjobattr-response;rc=0;found=FALSE;"},
        {"cmd=kvs-put;key=k;value=a b\\c;thrid=9;",
         "cmd=kvs-put-response;thrid=9;rc=0;"},
        {"cmd=kvs-get;jobid=job.1;srcid=-1;key=k;",
         "cmd=kvs-get-response;rc=0;found=TRUE;value=a b\\c;"},
        {"cmd=kvs-put;key=s;;;value=;;a;;b;;;;;;;",
         "cmd=kvs-put-response;rc=0;"},
        {"cmd=kvs-get;key=s;;;",
         "cmd=kvs-get-response;rc=0;found=TRUE;value=;;a;;b;;;;;;;"},
        {"cmd=kvs-put;key=e;value=;thrid=;;1;",
         "cmd=kvs-put-response;thrid=;;1;rc=-1;"
         "errmsg=value_length_out_of_range;"},
        {"cmd=a;;b;",
         "cmd=a;;b-response;rc=-1;errmsg=unknown_command;"},
        {"cmd=kvs-get;jobid=other;srcid=-1;key=k;",
         "cmd=kvs-get-response;rc=0;found=FALSE;"},
        {"cmd=kvs-put;key=PMI_k;value=1;",
         "cmd=kvs-put-response;rc=-1;"
         "errmsg=keys_with_PMI__prefix_are_reserved;"},
        {"cmd=job-connect;jobid=x;",
         "cmd=job-connect-response;rc=-1;errmsg=jobs_cannot_be_connected;"},
        {"cmd=job-disconnect;jobid=x;",
         "cmd=job-disconnect-response;rc=-1;"
         "errmsg=jobs_cannot_be_connected;"},
        {"cmd=dance;thrid=3;",
         "cmd=dance-response;thrid=3;rc=-1;errmsg=unknown_command;"},
        {"cmd=finalize;thrid=4;", "cmd=finalize-response;thrid=4;rc=0;"},
    };
    struct lab *lab = upgraded(HB_PM_PMI2, 2, one_node, 1);

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        assert_int_equal(lab_say2(lab, 1, list[i].say), 0);
        heard2(lab, 1, list[i].hear);
    }
    assert_int_equal(lab->contact[1], 7);
    lab_free(lab);
}

/* Repeated keys belong to the program before them. */
static void spawn_names_its_programs_in_turn(void **state)
{
    struct lab *lab = upgraded(HB_PM_PMI2, 2, one_node, 1);

    lab_say2(lab, 1, "cmd=spawn;thrid=5;ncmds=2;preputcount=1;ppkey0=P;"
                     "ppval0=v w;subcmd=a;maxprocs=2;argc=2;argv0=x y;argv1=z;"
                     "infokeycount=1;infokey0=host;infoval0=n1;"
                     "subcmd=/bin/b;maxprocs=1;argc=1;argv0=x=y;;z;"
                     "infokeycount=0;");
    assert_string_equal(lab->spawn, "1: 2 3 1 1 2 0;a,x y,z,/bin/b,x=y;z;"
                                    "host=n1;P=v w;");
    lab_spawned(lab, 0, HPCBOOT_OK);
    heard2(lab, 1, "cmd=spawn-response;thrid=5;rc=0;jobid=job.2;nerrs=3;"
                   "errcodes=0,0,0;");
    lab_say2(lab, 1, "cmd=spawn;subcmd=a;maxprocs=1;");
    lab_spawned(lab, 0, HPCBOOT_ERR_SPAWN);
    heard2(lab, 1, "cmd=spawn-response;rc=-1;errmsg=ERR_SPAWN;nerrs=1;"
                   "errcodes=-1;");
    lab_free(lab);
}

static void spawned_ranks_are_told_by_whom(void **state)
{
    char *const preput[] = {(char *)"PARENT=port", NULL};
    struct lab *lab = lab_new_spawned(HB_PM_PMI2, 1, one_node, 1, preput);

    upgrade(lab, 0);
    lab_say2(lab, 0, "cmd=fullinit;thrid=1;");
    heard2(lab, 0, "cmd=fullinit-response;thrid=1;rc=0;pmi-version=2;"
                   "pmi-subversion=0;rank=0;size=1;appnum=0;debugged=FALSE;"
                   "pmiverbose=FALSE;spawner-jobid=job.0;");
    lab_free(lab);
}

static void a_spawn_of_nobody_fails_as_a_spawn(void **state)
{
    struct lab *lab = upgraded(HB_PM_PMI2, 2, one_node, 1);

    lab_say2(lab, 1, "cmd=spawn;thrid=5;subcmd=a;maxprocs=0;argv0=x;");
    heard2(lab, 1, "cmd=spawn-response;thrid=5;rc=-1;errmsg=ERR_SPAWN;nerrs=0;"
                   "errcodes=;");
    assert_int_equal(lab->n_spawns, 0);
    assert_null(lab->violation);
    lab_free(lab);
}

static void a_spawn_that_nobody_can_start_fails_as_a_spawn(void **state)
{
    static const char *const asked[] = {
        "cmd=spawn;subcmd=a;maxprocs=2000000000;argv0=x;",
        "cmd=spawn;subcmd=;maxprocs=1;argv0=x;",
    };
    struct lab *lab = upgraded(HB_PM_PMI2, 2, one_node, 1);

    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        lab_say2(lab, 1, asked[i]);
        heard2(lab, 1, "cmd=spawn-response;rc=-1;errmsg=ERR_SPAWN;nerrs=0;"
                       "errcodes=;");
    }
    assert_int_equal(lab->n_spawns, 0);
    lab_say2(lab, 1, "cmd=spawn;subcmd=a;maxprocs=16777216;");
    assert_int_equal(lab->n_spawns, 1);
    assert_null(lab->violation);
    lab_free(lab);
}

static void a_spawn_without_sense_cuts_the_rank_off(void **state)
{
    static const char *const bad[] = {
        "cmd=spawn;ncmds=0;", "cmd=spawn;subcmd=a;", "cmd=spawn;argv0=x;",
        "cmd=spawn;subcmd=a;maxprocs=1;infokey0=k;",
        "cmd=spawn;ppkey0=k;subcmd=a;maxprocs=1;",
        "cmd=spawn;infokey0=k;infoval0=v;", "cmd=spawn;subcmd;maxprocs=1;",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct lab *lab = upgraded(HB_PM_PMI2, 1, one_node, 1);

        assert_true(lab_say2(lab, 0, bad[i]) < 0);
        assert_int_equal(lab->n_spawns, 0);
        lab_free(lab);
    }
}

static void a_pmi1_server_takes_the_upgrade(void **state)
{
    struct lab *lab = upgraded(HB_PM_PMI1, 1, one_node, 1);

    lab_say2(lab, 0, "cmd=job-getid;");
    heard2(lab, 0, "cmd=job-getid-response;rc=0;jobid=job.1;");
    lab_free(lab);
}

static void frames_may_come_cut_or_together(void **state)
{
    struct lab *lab = upgraded(HB_PM_PMI2, 1, one_node, 1);

    lab_say(lab, 0, "    2");
    lab_say(lab, 0, "2cmd=job-getid;thr");
    assert_heard(lab, 0, "");
    lab_say(lab, 0, "id=1;    14cmd=job-getid;");
    assert_heard(lab, 0,
                 "    48cmd=job-getid-response;thrid=1;rc=0;jobid=job.1;"
                 "    40cmd=job-getid-response;rc=0;jobid=job.1;");
    lab_free(lab);
}

/* As libpmi2 of Slurm does. */
static void length_may_stand_on_the_left(void **state)
{
    struct lab *lab = upgraded(HB_PM_PMI2, 1, one_node, 1);

    lab_say(lab, 0, "14    cmd=job-getid;");
    heard2(lab, 0, "cmd=job-getid-response;rc=0;jobid=job.1;");
    lab_free(lab);
}

static void fence_carries_puts_to_the_other_nodes(void **state)
{
    struct lab *lab = upgraded(HB_PM_PMI2, 4, two_nodes, 2);

    lab_say2(lab, 2, "cmd=kvs-put;key=k;value=v;");
    heard2(lab, 2, "cmd=kvs-put-response;rc=0;");
    for (uint32_t r = 0; r < 4; r++) {
        lab_say2(lab, r, "cmd=kvs-fence;thrid=5;");
    }
    assert_heard(lab, 0, "");
    lab_run(lab);
    heard2(lab, 0, "cmd=kvs-fence-response;thrid=5;rc=0;");
    lab_say2(lab, 0, "cmd=kvs-get;key=k;");
    heard2(lab, 0, "cmd=kvs-get-response;rc=0;found=TRUE;value=v;");
    lab_free(lab);
}

static void waiting_for_an_attribute_parks_the_request(void **state)
{
    struct lab *lab = upgraded(HB_PM_PMI2, 4, two_nodes, 2);

    lab_say2(lab, 0, "cmd=info-getnodeattr;key=a;wait=TRUE;thrid=8;");
    assert_heard(lab, 0, "");
    lab_say2(lab, 0, "cmd=job-getid;");
    heard2(lab, 0, "cmd=job-getid-response;rc=0;jobid=job.1;");
    lab_say2(lab, 2, "cmd=info-putnodeattr;key=a;value=elsewhere;");
    assert_heard(lab, 0, "");
    lab_say2(lab, 1, "cmd=info-putnodeattr;key=a;value=here;");
    heard2(lab, 0, "cmd=info-getnodeattr-response;thrid=8;rc=0;found=TRUE;"
                   "value=here;");
    lab_free(lab);
}

static void names_are_published_and_looked_up(void **state)
{
    struct lab *lab = upgraded(HB_PM_PMI2, 4, two_nodes, 2);

    lab_say2(lab, 0, "cmd=name-publish;name=s;port=p;thrid=1;");
    lab_run(lab);
    heard2(lab, 0, "cmd=name-publish-response;thrid=1;rc=0;");
    lab_say2(lab, 3, "cmd=name-lookup;name=s;thrid=2;");
    lab_run(lab);
    heard2(lab, 3, "cmd=name-lookup-response;thrid=2;rc=0;value=p;port=p;");
    lab_say2(lab, 3, "cmd=name-unpublish;name=other;thrid=3;");
    lab_run(lab);
    heard2(lab, 3, "cmd=name-unpublish-response;thrid=3;rc=-1;"
                   "errmsg=ERR_NOT_FOUND;");
    lab_free(lab);
}

/* They would end what servers tell each other of other jobs, or be it; in
 * either dialect. */
static void names_of_servers_are_not_for_ranks(void **state)
{
    struct lab *lab = upgraded(HB_PM_PMI2, 4, two_nodes, 2);

    lab_say2(lab, 0, "cmd=name-unpublish;name=hpcboot/over/job-1;thrid=4;");
    heard2(lab, 0, "cmd=name-unpublish-response;thrid=4;rc=-1;"
                   "errmsg=ERR_USAGE;");
    assert_int_equal(lab->n_asked, 0);
    lab_free(lab);
    lab = lab_new(HB_PM_PMI1, 4, two_nodes, 2);
    lab_say(lab, 0, "cmd=unpublish_name service=hpcboot/over/job-1\n");
    assert_heard(lab, 0, "cmd=unpublish_result rc=-1 info=failed "
                         "msg=ERR_USAGE\n");
    lab_say(lab, 0, "cmd=publish_name service=hpcboot/modex/job-1/0 port=p\n");
    assert_heard(lab, 0, "cmd=publish_result rc=-1 info=failed "
                         "msg=ERR_USAGE\n");
    lab_say(lab, 3, "cmd=lookup_name service=hpcboot/modex/job-1/0\n");
    assert_heard(lab, 3, "cmd=lookup_result rc=-1 info=failed "
                         "msg=ERR_USAGE\n");
    assert_int_equal(lab->n_asked, 0);
    lab_free(lab);
}

static void abort_gets_no_reply(void **state)
{
    struct lab *lab = upgraded(HB_PM_PMI2, 1, one_node, 1);

    lab_say2(lab, 0, "cmd=abort;isworld=TRUE;msg=it went wrong;");
    assert_heard(lab, 0, "");
    assert_int_equal(lab->abort_code, 1);
    assert_string_equal(lab->abort_text, "it went wrong");
    lab_say2(lab, 0, "cmd=abort;exitcode=7;message=again;");
    assert_int_equal(lab->abort_code, 7);
    lab_free(lab);
}

static void broken_frames_cut_the_rank_off(void **state)
{
    static const char *const bad[] = {
        "cmd=job-getid;", "      cmd=x;", "   -1 ", "1 2   ", "12   x",
        "     8key=valu", "cmd=initiate ",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct lab *lab = upgraded(HB_PM_PMI2, 1, one_node, 1);

        assert_int_equal(lab_say(lab, 0, bad[i]), HPCBOOT_ERR_PROTOCOL);
        assert_non_null(lab->violation);
        lab_free(lab);
    }
}

/* Of a program that begins MPI again once it has ended it, of one that another
 * has started in the same rank's name, and of one of the other dialect. */
static void an_init_line_may_come_again(void **state)
{
    struct lab *lab = upgraded(HB_PM_PMI2, 1, one_node, 1);

    for (int i = 0; i < 3; i++) {
        lab_say2(lab, 0, "cmd=fullinit;");
        heard2(lab, 0, "cmd=fullinit-response;rc=0;pmi-version=2;"
                       "pmi-subversion=0;rank=0;size=1;appnum=0;"
                       "debugged=FALSE;pmiverbose=FALSE;");
        assert_int_equal(lab->n_contacts[0], i + (i < 2 ? 2 : 3));
        if (i == 1) {
            lab_say2(lab, 0, "cmd=finalize;");
            heard2(lab, 0, "cmd=finalize-response;rc=0;");
        }
        lab_say(lab, 0, "cmd=in");
        assert_heard(lab, 0, "");
        lab_say(lab, 0, "it pmi_version=2 pmi_subversion=0\n");
        assert_heard(lab, 0, "cmd=response_to_init pmi_version=2 "
                             "pmi_subversion=0 rc=0\n");
    }
    lab_say(lab, 0, "cmd=init pmi_version=1 pmi_subversion=1\n");
    assert_heard(lab, 0, "cmd=response_to_init pmi_version=1 "
                         "pmi_subversion=1 rc=0\n");
    lab_say(lab, 0, "cmd=get_my_kvsname\n");
    assert_heard(lab, 0, "cmd=my_kvsname rc=0 kvsname=job.1\n");
    assert_null(lab->violation);
    lab_free(lab);
}

static void a_rank_that_died_waiting_is_forgotten(void **state)
{
    struct lab *lab = upgraded(HB_PM_PMI2, 2, one_node, 1);

    lab_say2(lab, 0, "cmd=info-getnodeattr;key=a;wait=TRUE;");
    lab_say2(lab, 0, "cmd=name-lookup;name=s;");
    lab->ops->rank_gone(lab->node[0].pm, 0);
    lab_say2(lab, 1, "cmd=info-putnodeattr;key=a;value=1;");
    lab_run(lab);
    assert_heard(lab, 0, "");
    lab_free(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_command_gets_its_answer),
        cmocka_unit_test(spawn_names_its_programs_in_turn),
        cmocka_unit_test(spawned_ranks_are_told_by_whom),
        cmocka_unit_test(a_spawn_of_nobody_fails_as_a_spawn),
        cmocka_unit_test(a_spawn_that_nobody_can_start_fails_as_a_spawn),
        cmocka_unit_test(a_spawn_without_sense_cuts_the_rank_off),
        cmocka_unit_test(a_pmi1_server_takes_the_upgrade),
        cmocka_unit_test(frames_may_come_cut_or_together),
        cmocka_unit_test(length_may_stand_on_the_left),
        cmocka_unit_test(fence_carries_puts_to_the_other_nodes),
        cmocka_unit_test(waiting_for_an_attribute_parks_the_request),
        cmocka_unit_test(names_are_published_and_looked_up),
        cmocka_unit_test(names_of_servers_are_not_for_ranks),
        cmocka_unit_test(abort_gets_no_reply),
        cmocka_unit_test(broken_frames_cut_the_rank_off),
        cmocka_unit_test(an_init_line_may_come_again),
        cmocka_unit_test(a_rank_that_died_waiting_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
