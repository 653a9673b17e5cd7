/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The PMI-1 server, string in, string out. */
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

static struct lab *small(void)
{
    return lab_new(HB_PM_PMI1, 2, one_node, 1);
}

struct exchange {
    const char *say, *hear;
};

/* Every command that is answered at once. */
static void each_command_gets_its_answer(void **state)
{
    static const struct exchange list[] = {
        {"cmd=init pmi_version=1 pmi_subversion=1\n",
         "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"},
        {"cmd=init pmi_version=1 pmi_subversion=2\n",
         "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0\n"},
        {"cmd=init pmi_version=1 pmi_subversion=9\n",
         "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0\n"},
        {"cmd=init pmi_version=3 pmi_subversion=0\n",
         "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=-1\n"},
        {"cmd=initack pmiid=1\n",
         "cmd=initack rc=0\ncmd=set size=2\ncmd=set rank=1\n"
         "cmd=set debug=0\n"},
        {"cmd=get_maxes\n", "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 "
                            "vallen_max=1024\n"},
        {"cmd=get_appnum\n", "cmd=appnum rc=0 appnum=0\n"},
        {"cmd=get_my_kvsname\n", "cmd=my_kvsname rc=0 kvsname=job.1\n"},
        {"cmd=get_universe_size\n", "cmd=universe_size rc=0 size=32\n"},
        {"cmd=put kvsname=job.1 key=k value=v-1\n",
         "cmd=put_result rc=0\n"},
        {"cmd=get kvsname=job.1 key=k\n", "cmd=get_result rc=0 value=v-1\n"},
        {"cmd=get key=k\n", "cmd=get_result rc=0 value=v-1\n"},
        {"cmd=get kvsname=job.1 key=PMI_process_mapping\n",
         "cmd=get_result rc=0 value=(vector,(0,1,2))\n"},
        {"cmd=get kvsname=job.1 key=PMI_hwloc_xmlfile\n",
         "cmd=get_result rc=0 value=unavailable\n"},
        {"cmd=get kvsname=job.1 key=absent\n",
         "cmd=get_result rc=-1 found=FALSE msg=key_not_found\n"},
        {"cmd=get kvsname=other key=k\n",
         "cmd=get_result rc=-1 found=FALSE msg=key_not_found\n"},
        {"cmd=singinit pmi_version=1 pmi_subversion=1 stdio=yes\n",
         "cmd=singinit_info rc=-1 msg=this_rank_was_launched\n"},
        {"cmd=finalize\n", "cmd=finalize_ack rc=0\n"},
    };
    struct lab *lab = small();

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        assert_int_equal(lab_say(lab, 1, list[i].say), 0);
        assert_heard(lab, 1, list[i].hear);
    }
    lab_free(lab);
}

/* As Intel MPI's own launcher was seen to answer: with blanks behind all, and
 * a length that counts the newline and one more. */
static void older_intel_mpi_is_told_the_hosts_of_ranks(void **state)
{
    struct lab *lab = lab_new(HB_PM_PMI1, 4, two_nodes, 2);

    assert_int_equal(lab_say(lab, 2, "cmd=get_ranks2hosts\n"), 0);
    assert_heard(lab, 2, "put_ranks2hosts 22 2\n2 n0 0,1, 2 n1 2,3, \n");
    lab_free(lab);
}

/* Ranks of a host need not be neighbours, and a host may have none. */
static void hosts_of_ranks_are_those_that_have_some(void **state)
{
    static const uint32_t nodes[] = {2, 0, 2};
    struct lab *lab = lab_new(HB_PM_PMI1, 3, nodes, 3);

    assert_int_equal(lab_say(lab, 0, "cmd=get_ranks2hosts\n"), 0);
    assert_heard(lab, 0, "put_ranks2hosts 20 2\n2 n0 1, 2 n2 0,2, \n");
    lab_free(lab);
}

static void hosts_of_ranks_of_a_huge_job_are_not_told(void **state)
{
    enum { MANY = 100000 };
    uint32_t *nodes = hb_xcalloc(MANY, sizeof(*nodes));
    struct lab *lab = lab_new(HB_PM_PMI1, MANY, nodes, 1);

    assert_int_equal(lab_say(lab, 0, "cmd=get_ranks2hosts\n"), 0);
    assert_heard(lab, 0, "put_ranks2hosts 0 0\n");
    lab_free(lab);
    free(nodes);
}

static void puts_that_cannot_be_served_are_refused(void **state)
{
    struct lab *lab = small();
    char *line = hb_xasprintf("cmd=put key=long value=%01025d\n", 1);

    lab_say(lab, 0, "cmd=put key=PMI_x value=1\n");
    assert_heard(lab, 0, "cmd=put_result rc=-1 "
                         "msg=keys_with_PMI__prefix_are_reserved\n");
    lab_say(lab, 0, "cmd=put key=a value=1\ncmd=put key=a value=1\n"
                    "cmd=put key=a value=2\ncmd=get key=a\n");
    assert_heard(lab, 0, "cmd=put_result rc=0\ncmd=put_result rc=0\n"
                         "cmd=put_result rc=-1 msg=duplicate_key\n"
                         "cmd=get_result rc=0 value=1\n");
    lab_say(lab, 0, "cmd=put key=e value=\n");
    assert_heard(lab, 0, "cmd=put_result rc=-1 "
                         "msg=value_length_out_of_range\n");
    lab_say(lab, 0, line);
    assert_heard(lab, 0, "cmd=put_result rc=-1 "
                         "msg=value_length_out_of_range\n");
    free(line);
    lab_free(lab);
}

static void a_key_of_two_ranks_ends_the_job(void **state)
{
    struct lab *lab = small();

    lab_say(lab, 0, "cmd=put key=card-0 value=a\n");
    lab_say(lab, 1, "cmd=put key=card-0 value=a\n");
    assert_heard(lab, 1, "cmd=put_result rc=0\n");
    assert_int_equal(lab->aborted, 0);
    lab_say(lab, 1, "cmd=put key=card-0 value=b\n");
    assert_heard(lab, 1, "cmd=put_result rc=-1 msg=duplicate_key\n");
    assert_int_equal(lab->aborted, 1);
    assert_int_equal(lab->abort_rank, 1);
    assert_string_equal(lab->abort_text, "it stores the key card-0, which "
                        "rank 0 has stored with another value: both take "
                        "themselves for the same rank; what changes PMI_RANK?");
    lab_free(lab);
}

static void escaped_values_come_back_escaped(void **state)
{
    struct lab *lab = small();

    lab_say(lab, 0, "cmd=put key=k value=a\\ b\\\\c\n");
    assert_heard(lab, 0, "cmd=put_result rc=0\n");
    lab_say(lab, 1, "cmd=get key=k\n");
    assert_heard(lab, 1, "cmd=get_result rc=0 value=a\\ b\\\\c\n");
    lab_free(lab);
}

static void bytes_may_come_one_by_one(void **state)
{
    struct lab *lab = small();
    const char *text = "cmd=get_appnum\ncmd=get_my_kvsname\n";

    for (; *text != '\0'; text++) {
        char one[2] = {*text, '\0'};

        assert_int_equal(lab_say(lab, 0, one), 0);
    }
    assert_heard(lab, 0, "cmd=appnum rc=0 appnum=0\n"
                         "cmd=my_kvsname rc=0 kvsname=job.1\n");
    lab_free(lab);
}

static void contact_follows_init_and_finalize(void **state)
{
    struct lab *lab = small();

    assert_int_equal(lab->contact[0], 0);
    lab_say(lab, 0, "cmd=in");
    assert_int_equal(lab->contact[0], 1);
    lab_say(lab, 0, "it pmi_version=1 pmi_subversion=1\n");
    assert_int_equal(lab->contact[0], 3);
    lab_say(lab, 0, "cmd=finalize\n");
    assert_int_equal(lab->contact[0], 7);
    assert_int_equal(lab->contact[1], 0);
    lab_free(lab);
}

static void barrier_lets_go_when_the_last_has_come(void **state)
{
    struct lab *lab = small();

    lab_say(lab, 0, "cmd=barrier_in\n");
    lab_run(lab);
    assert_heard(lab, 0, "");
    lab_say(lab, 1, "cmd=barrier_in\n");
    lab_run(lab);
    assert_heard(lab, 0, "cmd=barrier_out rc=0\n");
    assert_heard(lab, 1, "cmd=barrier_out rc=0\n");
    lab_free(lab);
}

static void all_enter(struct lab *lab, const char *line)
{
    for (uint32_t r = 0; r < lab->map->n_ranks; r++) {
        assert_int_equal(lab_say(lab, r, line), 0);
    }
    lab_run(lab);
}

static void puts_travel_with_the_barrier(void **state)
{
    struct lab *lab = lab_new(HB_PM_PMI1, 4, two_nodes, 2);

    lab_say(lab, 3, "cmd=put key=far value=1\n");
    assert_heard(lab, 3, "cmd=put_result rc=0\n");
    lab_say(lab, 0, "cmd=get key=far\n");
    assert_heard(lab, 0, "cmd=get_result rc=-1 found=FALSE "
                         "msg=key_not_found\n");
    all_enter(lab, "cmd=barrier_in\n");
    assert_heard(lab, 0, "cmd=barrier_out rc=0\n");
    lab_say(lab, 0, "cmd=get key=far\n");
    assert_heard(lab, 0, "cmd=get_result rc=0 value=1\n");
    lab_free(lab);
}

static void a_put_crosses_the_network_once(void **state)
{
    struct lab *lab = lab_new(HB_PM_PMI1, 4, two_nodes, 2);
    size_t after_first;

    lab_say(lab, 0, "cmd=put key=k value=v\n");
    all_enter(lab, "cmd=barrier_in\n");
    after_first = lab->fence_bytes;
    assert_true(after_first > 0);
    all_enter(lab, "cmd=barrier_in\n");
    assert_int_equal(lab->fence_bytes, after_first);
    lab_free(lab);
}

static void group_of_ranks_waits_for_its_members_only(void **state)
{
    struct lab *lab = lab_new(HB_PM_PMI1, 4, two_nodes, 2);

    lab_say(lab, 0, "cmd=put key=k value=v\n");
    assert_heard(lab, 0, "cmd=put_result rc=0\n");
    lab_say(lab, 0, "cmd=barrier_in group=0,3:5\n");
    lab_run(lab);
    assert_heard(lab, 0, "");
    lab_say(lab, 3, "cmd=barrier_in group=0,3:5\n");
    lab_run(lab);
    assert_heard(lab, 0, "cmd=barrier_out rc=0 group=0,3:5 tag=5\n");
    assert_heard(lab, 3, "cmd=barrier_out rc=0 group=0,3:5 tag=5\n");
    lab_say(lab, 3, "cmd=get key=k\n");
    assert_heard(lab, 3, "cmd=get_result rc=0 value=v\n");
    lab_free(lab);
}

/* Nodes outside a group still need what its barrier carried. */
static void puts_of_a_group_reach_the_others_later(void **state)
{
    static const uint32_t three[] = {0, 1, 2};
    struct lab *lab = lab_new(HB_PM_PMI1, 3, three, 3);

    lab_say(lab, 0, "cmd=put key=k value=v\ncmd=barrier_in group=0,1:1\n");
    lab_say(lab, 1, "cmd=barrier_in group=0,1:1\n");
    lab_run(lab);
    all_enter(lab, "cmd=barrier_in\n");
    assert_heard(lab, 2, "cmd=barrier_out rc=0\n");
    lab_say(lab, 2, "cmd=get key=k\n");
    assert_heard(lab, 2, "cmd=get_result rc=0 value=v\n");
    lab_free(lab);
}

static void node_barrier_stays_on_its_node(void **state)
{
    struct lab *lab = lab_new(HB_PM_PMI1, 4, two_nodes, 2);

    lab_say(lab, 2, "cmd=barrier_in group=NODE:t\n");
    lab_say(lab, 3, "cmd=barrier_in group=NODE:t\n");
    lab_run(lab);
    assert_heard(lab, 2, "cmd=barrier_out rc=0 group=NODE:t tag=t\n");
    assert_heard(lab, 3, "cmd=barrier_out rc=0 group=NODE:t tag=t\n");
    assert_heard(lab, 0, "");
    lab_free(lab);
}

static void barriers_of_different_tags_do_not_mix(void **state)
{
    struct lab *lab = small();

    lab_say(lab, 0, "cmd=barrier_in group=WORLD:a\n"
                    "cmd=barrier_in group=WORLD:b\n");
    lab_say(lab, 1, "cmd=barrier_in group=WORLD:b\n");
    lab_run(lab);
    assert_heard(lab, 0, "cmd=barrier_out rc=0 group=WORLD:b tag=b\n");
    lab_say(lab, 1, "cmd=barrier_in group=WORLD:a\n");
    lab_run(lab);
    assert_heard(lab, 0, "cmd=barrier_out rc=0 group=WORLD:a tag=a\n");
    lab_free(lab);
}

static void a_rank_may_run_ahead_by_rounds(void **state)
{
    struct lab *lab = lab_new(HB_PM_PMI1, 4, two_nodes, 2);

    lab_say(lab, 0, "cmd=barrier_in group=WORLD:a\n"
                    "cmd=barrier_in group=WORLD:a\n");
    for (uint32_t r = 1; r < 4; r++) {
        lab_say(lab, r, "cmd=barrier_in group=WORLD:a\n");
    }
    lab_run(lab);
    assert_heard(lab, 0, "cmd=barrier_out rc=0 group=WORLD:a tag=a\n");
    for (uint32_t r = 1; r < 4; r++) {
        lab_say(lab, r, "cmd=barrier_in group=WORLD:a\n");
    }
    lab_run(lab);
    assert_heard(lab, 0, "cmd=barrier_out rc=0 group=WORLD:a tag=a\n");
    lab_free(lab);
}

static void failed_fence_is_told_to_the_ranks(void **state)
{
    struct lab *lab = small();

    lab->fence_status = HPCBOOT_ERR_PEER_DEAD;
    all_enter(lab, "cmd=barrier_in\n");
    assert_heard(lab, 0, "cmd=barrier_out rc=-1 msg=ERR_PEER_DEAD\n");
    lab_free(lab);
}

static void bad_groups_cut_the_rank_off(void **state)
{
    static const char *const bad[] = {
        "cmd=barrier_in group=0,9:t\n", "cmd=barrier_in group=1:t\n",
        "cmd=barrier_in group=:t\n", "cmd=barrier_in group=0,x:t\n",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct lab *lab = small();

        assert_int_equal(lab_say(lab, 0, bad[i]), HPCBOOT_ERR_PROTOCOL);
        assert_non_null(lab->violation);
        lab_free(lab);
    }
}

static void abort_gets_no_reply(void **state)
{
    struct lab *lab = small();

    lab_say(lab, 1, "cmd=abort exitcode=7\n");
    assert_heard(lab, 1, "");
    assert_int_equal(lab->aborted, 1);
    assert_int_equal(lab->abort_rank, 1);
    assert_int_equal(lab->abort_code, 7);
    lab_say(lab, 1, "cmd=abort exit_code=-3 message=it went wrong a=b\n");
    assert_int_equal(lab->abort_code, -3);
    assert_string_equal(lab->abort_text, "it went wrong a=b");
    lab_free(lab);
}

static void names_are_published_and_looked_up(void **state)
{
    struct lab *lab = lab_new(HB_PM_PMI1, 4, two_nodes, 2);

    lab_say(lab, 0, "cmd=publish_name service=s port=tag#0$x\n");
    lab_run(lab);
    assert_heard(lab, 0, "cmd=publish_result rc=0 info=ok\n");
    lab_say(lab, 3, "cmd=lookup_name service=s\n");
    lab_run(lab);
    assert_heard(lab, 3, "cmd=lookup_result rc=0 info=ok port=tag#0$x\n");
    lab_say(lab, 0, "cmd=unpublish_name service=s\n");
    lab_run(lab);
    assert_heard(lab, 0, "cmd=unpublish_result rc=0 info=ok\n");
    lab_say(lab, 3, "cmd=lookup_name service=s\n");
    lab_run(lab);
    assert_heard(lab, 3, "cmd=lookup_result rc=-1 info=failed "
                         "msg=ERR_NOT_FOUND\n");
    lab_free(lab);
}

/* Its store begins with what its parents have put, on every node. */
static void spawned_ranks_are_told_so(void **state)
{
    char *const preput[] = {(char *)"PARENT=tag#0$port=1", NULL};
    struct lab *lab = lab_new_spawned(HB_PM_PMI1, 4, two_nodes, 2, preput);
    struct hb_strv env = HB_STRV_INIT;

    for (uint32_t rank = 0; rank < 4; rank += 3) {
        lab_say(lab, rank, "cmd=get kvsname=job.1 key=PARENT\n");
        assert_heard(lab, rank,
                     "cmd=get_result rc=0 value=tag#0$port=1\n");
    }
    assert_int_equal(lab->ops->rank_env(lab->node[0].pm, 0, 5, &env, NULL), 0);
    assert_string_equal(hb_env_get(&env, "PMI_SPAWNED"), "1");
    hb_strv_destroy(&env);
    lab_free(lab);
    lab = small();
    assert_int_equal(lab->ops->rank_env(lab->node[0].pm, 0, 5, &env, NULL), 0);
    assert_null(hb_env_get(&env, "PMI_SPAWNED"));
    hb_strv_destroy(&env);
    lab_free(lab);
}

static void nonsense_cuts_the_rank_off(void **state)
{
    static const char *const bad[] = {
        "cmd=dance\n", "GET / HTTP/1.1\n", "\n", "cmd=put value=1\n",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct lab *lab = small();

        assert_int_equal(lab_say(lab, 0, bad[i]), HPCBOOT_ERR_PROTOCOL);
        assert_non_null(lab->violation);
        lab_free(lab);
    }
}

static void endless_line_is_refused(void **state)
{
    struct lab *lab = small();
    char *block = hb_xmalloc((64u << 10) + 1);
    int rc = 0;

    memset(block, 'x', 64u << 10);
    block[64u << 10] = '\0';
    for (int i = 0; i < 64 && rc == 0; i++) {
        rc = lab_say(lab, 0, block);
    }
    assert_int_equal(rc, HPCBOOT_ERR_PROTOCOL);
    free(block);
    lab_free(lab);
}

static void a_dead_rank_is_not_spoken_to(void **state)
{
    struct lab *lab = small();

    lab_say(lab, 0, "cmd=barrier_in\n");
    lab_say(lab, 1, "cmd=barrier_in\n");
    lab->ops->rank_gone(lab->node[0].pm, 0);
    lab_run(lab);
    assert_heard(lab, 0, "");
    assert_heard(lab, 1, "cmd=barrier_out rc=0\n");
    lab_free(lab);
}

static void ranks_get_their_variables(void **state)
{
    struct lab *lab = small();
    struct hb_strv env = HB_STRV_INIT;

    hb_env_set(&env, "I_MPI_PMI_LIBRARY", "/slurm/libpmi2.so");
    hb_env_set(&env, "MPIR_CVAR_PMI_VERSION", "x");
    lab->ops->rank_env(lab->node[0].pm, 1, 5, &env, NULL);
    assert_string_equal(hb_env_get(&env, "PMI_FD"), "5");
    assert_string_equal(hb_env_get(&env, "PMI_RANK"), "1");
    assert_string_equal(hb_env_get(&env, "PMI_SIZE"), "2");
    assert_null(hb_env_get(&env, "I_MPI_PMI_LIBRARY"));
    assert_string_equal(hb_env_get(&env, "MPIR_CVAR_PMI_VERSION"), "1");
    hb_strv_destroy(&env);
    lab_free(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_command_gets_its_answer),
        cmocka_unit_test(older_intel_mpi_is_told_the_hosts_of_ranks),
        cmocka_unit_test(hosts_of_ranks_are_those_that_have_some),
        cmocka_unit_test(hosts_of_ranks_of_a_huge_job_are_not_told),
        cmocka_unit_test(puts_that_cannot_be_served_are_refused),
        cmocka_unit_test(a_key_of_two_ranks_ends_the_job),
        cmocka_unit_test(escaped_values_come_back_escaped),
        cmocka_unit_test(bytes_may_come_one_by_one),
        cmocka_unit_test(contact_follows_init_and_finalize),
        cmocka_unit_test(barrier_lets_go_when_the_last_has_come),
        cmocka_unit_test(puts_travel_with_the_barrier),
        cmocka_unit_test(a_put_crosses_the_network_once),
        cmocka_unit_test(group_of_ranks_waits_for_its_members_only),
        cmocka_unit_test(puts_of_a_group_reach_the_others_later),
        cmocka_unit_test(node_barrier_stays_on_its_node),
        cmocka_unit_test(barriers_of_different_tags_do_not_mix),
        cmocka_unit_test(a_rank_may_run_ahead_by_rounds),
        cmocka_unit_test(failed_fence_is_told_to_the_ranks),
        cmocka_unit_test(bad_groups_cut_the_rank_off),
        cmocka_unit_test(abort_gets_no_reply),
        cmocka_unit_test(names_are_published_and_looked_up),
        cmocka_unit_test(spawned_ranks_are_told_so),
        cmocka_unit_test(nonsense_cuts_the_rank_off),
        cmocka_unit_test(endless_line_is_refused),
        cmocka_unit_test(a_dead_rank_is_not_spoken_to),
        cmocka_unit_test(ranks_get_their_variables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
