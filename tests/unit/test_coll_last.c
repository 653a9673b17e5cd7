/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* An allreduce that one rank folds for all (lib/coll/plan_last.c): whoever that
 * is, results have the bits of the reference; teams do not mix; and whoever
 * dies at it ends the wait of all others. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "coll_ref.h"
#include "coll_world.h"

#define TUNE "allreduce=last"

static const char *run_twice(struct coll_rank *r, struct coll_case *c,
                             bool request)
{
    struct coll_buffers b;
    struct hb_coll_req *q = NULL;
    struct hpcboot_error err = {0};
    const char *wrong = NULL;
    coll_ref_make(c, r->rank, NULL, &b);
    int rc = request ? hb_coll_init(r->team, &b.args, &coll_ref_user, &q, &err)
                     : 0;
    for (int i = 0; i < 2 && rc == 0 && wrong == NULL; i++) {
        coll_ref_fill(c, r->rank, &b);
        if (request) {
            rc = hb_coll_start(q, &err);
            rc = rc == 0 ? hb_coll_wait(q, 0, &err) : rc;
        } else {
            rc = hb_coll_run(r->team, &b.args, &coll_ref_user, &err);
        }
        wrong = rc != 0 ? coll_text("%s", err.text)
                        : coll_ref_compare(c, r->rank, &b);
    }
    hb_coll_req_destroy(q);
    coll_ref_free(&b, false);
    return rc == 0 ? wrong : coll_text("%s", err.text);
}

static const char *many_in_a_row(struct coll_rank *r)
{
    static const struct { enum hpcboot_type type; int op; } kinds[] = {
        {HPCBOOT_FLOAT, HPCBOOT_SUM}, {HPCBOOT_DOUBLE, HPCBOOT_PROD},
        {HPCBOOT_BFLOAT16, HPCBOOT_SUM}, {HPCBOOT_FLOAT, HPCBOOT_AVG},
        {HPCBOOT_BYTE, HPCBOOT_OP_USER}, {HPCBOOT_DOUBLE_INT, HPCBOOT_MAXLOC},
    };
    static const size_t counts[] = {0, 1, 30, 129, 515, 1023, 2048};
    const char *wrong = NULL;
    for (size_t i = 0; i < 6 * 7 * 4 && wrong == NULL; i++) {
        struct coll_case c = {
            .coll = HPCBOOT_COLL_ALLREDUCE, .in_place = i % 2 == 1,
            .type = kinds[i / 4 % 6].type, .op = kinds[i / 4 % 6].op,
            .ranks = r->size, .seed = i,
            .count = counts[i / 24] * (kinds[i / 4 % 6].type == HPCBOOT_BYTE
                                           ? coll_ref_user.element_bytes : 1),
        };
        wrong = run_twice(r, &c, i / 2 % 2 == 1);
        if (wrong != NULL) {
            wrong = coll_text("%zu of type %d, op %d%s: %s", c.count, c.type,
                              c.op, c.in_place ? ", in place" : "", wrong);
        }
    }
    return wrong;
}

static void whoever_folds_the_bits_are_those_of_the_reference(void **state)
{
    for (int ranks = 3; ranks <= 8; ranks += 5) {
        for (int mode = HB_COLL_WAIT_YIELD; mode <= HB_COLL_WAIT_PARK; mode++) {
            struct coll_world w = {.ranks = ranks, .tune = TUNE,
                                   .processes = mode == HB_COLL_WAIT_PARK,
                                   .check = ranks == 3, .wait_mode = mode};
            assert_int_equal(coll_world_run(&w, many_in_a_row, NULL), 0);
        }
    }
}

#define COUNT ((size_t)300)

/* Each rank begins with the team that its neighbour begins with later. */
static const char *on_two_teams_at_once(struct coll_rank *r)
{
    struct hb_coll_team *team[2] = {r->team, coll_further_team(r, 0)};
    struct hb_coll_req *q[2] = {NULL, NULL};
    struct hpcboot_error err = {0};
    static _Thread_local int in[2][COUNT], out[2][COUNT];
    int rc = team[1] != NULL ? 0 : -1;
    for (int k = 0; k < 2 && rc == 0; k++) {
        struct hpcboot_coll_args a = coll_sum_of(in[k], out[k], COUNT);
        rc = hb_coll_init(team[k], &a, NULL, &q[k], &err);
    }
    for (int i = 0; i < 200 && rc == 0; i++) {
        int first = (r->rank + i) % 2;
        in[0][COUNT - 1] = i + r->rank;
        in[1][COUNT - 1] = 1000 * i;
        rc = hb_coll_start(q[first], &err);
        rc = rc == 0 ? hb_coll_start(q[1 - first], &err) : rc;
        rc = rc == 0 ? hb_coll_wait(q[first], 0, &err) : rc;
        rc = rc == 0 ? hb_coll_wait(q[1 - first], 0, &err) : rc;
        if (rc == 0 && (out[0][COUNT - 1] != r->size * i +
                                                 r->size * (r->size - 1) / 2 ||
                        out[1][COUNT - 1] != 1000 * i * r->size)) {
            rc = -1;
            (void)strcpy(err.text, "wrong sums");
        }
    }
    hb_coll_req_destroy(q[0]);
    hb_coll_req_destroy(q[1]);
    hb_coll_team_destroy(team[1]);
    return rc == 0 ? NULL : coll_text("%s", err.text);
}

static void teams_do_not_take_each_others_rounds(void **state)
{
    struct coll_world w = {.ranks = 4, .tune = TUNE, .extra_regions = 1,
                           .wait_mode = HB_COLL_WAIT_YIELD};
    assert_int_equal(coll_world_run(&w, on_two_teams_at_once, NULL), 0);
}

/* As if by a signal: the others hear of it from the page. */
static void die(const void *in, void *inout, size_t count,
                enum hpcboot_type type, void *arg)
{
    hb_coll_node_changed(arg);
    _exit(0);
}

static int who_folds_is_dead(void *ctx, void *team_ctx,
                             struct hpcboot_error *err)
{
    strcpy(err->text, "rank 9 was killed by signal 9");
    return err->code = HPCBOOT_ERR_PEER_DEAD;
}

static const char *let_one_die(struct coll_rank *r)
{
    struct hb_coll_user_op op = {die, r->page, true, 0};
    struct hpcboot_error err = {0};
    int in[COUNT] = {0}, out[COUNT];
    struct hpcboot_coll_args a = coll_sum_of(in, out, COUNT);
    a.op = HPCBOOT_OP_USER;
    int rc = hb_coll_run(r->team, &a, &op, &err);
    return rc == HPCBOOT_ERR_PEER_DEAD ? NULL
                                       : coll_text("%d: %s", rc, err.text);
}

static void who_dies_while_it_folds_ends_the_wait_of_all(void **state)
{
    for (int mode = HB_COLL_WAIT_SPIN; mode <= HB_COLL_WAIT_PARK; mode++) {
        struct coll_world w = {.ranks = 4, .tune = TUNE, .processes = true,
                               .wait_mode = mode,
                               .alive = who_folds_is_dead};
        assert_int_equal(coll_world_run(&w, let_one_die, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_folds_the_bits_are_those_of_the_reference),
        cmocka_unit_test(teams_do_not_take_each_others_rounds),
        cmocka_unit_test(who_dies_while_it_folds_ends_the_wait_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
