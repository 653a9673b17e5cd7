/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which role the ranks of an operator's gang have by the names of its pods,
 * with the recipes that are shipped. */
#include "config.h"

#include "bin/job/framework.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"

#define HOSTS 3

#define S(text) ((char *)(text))

static char *const no_variables[] = {NULL};

struct one {
    struct job j;
    struct job_framework f;
    struct hb_options opt;
    struct hb_strv hosts;
};

/* The hosts with a blank between. */
static void begin(struct one *o, const char *name, const char *gang,
                  const char *hosts)
{
    static const uint32_t nodes[HOSTS] = {0, 1, 2};
    static const struct hb_job_app app = {0, HOSTS};
    static char *const shipped[] = {
        S(HB_TESTS_TOP "/share/hpcboot/recipes"), NULL};
    static const struct hb_recipe_dirs where = {shipped, NULL};
    char *path, *text;
    size_t len;

    memset(o, 0, sizeof *o);
    while (*hosts != '\0') {
        hb_strv_take(&o->hosts, hb_xstrndup(hosts, strcspn(hosts, " ")));
        hosts += strcspn(hosts, " ");
        hosts += *hosts == ' ';
    }
    o->f.name = S(name);
    o->j.opt = &o->opt;
    o->j.env = no_variables;
    o->j.framework = &o->f;
    o->j.gang.source = S(gang);
    o->j.gang.operator_made = 1;
    assert_int_equal(hb_recipe_find(&where, name, &path, &text, &len, NULL),
                     0);
    assert_int_equal(hb_recipe_parse(&o->f.recipe, path, text, len, NULL), 0);
    free(path);
    free(text);
    assert_true(hb_jobmap_create(&o->j.map, HOSTS, nodes, HOSTS, o->hosts.v,
                                 1, &app, HOSTS, NULL) >= 0);
}

static void end(struct one *o)
{
    hb_jobmap_destroy(o->j.map);
    hb_recipe_destroy(o->f.recipe);
    hb_strv_destroy(&o->hosts);
    free(o->f.role_of_rank);
}

/* "chief worker ps" */
static void have(struct one *o, const char *expected)
{
    struct hb_str text = HB_STR_INIT;
    struct hpcboot_error err = {0};

    if (job_roles_assign(&o->j, &err) < 0) {
        fail_msg("%s", err.text);
    }
    for (uint32_t r = 0; r < HOSTS; r++) {
        hb_str_putf(&text, "%s%s", r > 0 ? " " : "",
                    hb_recipe_roles(o->f.recipe)[o->f.role_of_rank[r]]);
    }
    assert_string_equal(hb_str_text(&text), expected);
    hb_str_destroy(&text);
    end(o);
}

static void pods_of_an_operator_have_the_role_in_their_name(void **state)
{
    struct one o;

    begin(&o, "tensorflow", "TFJob",
          "tf-worker-0.n.svc tf-worker-1.n.svc tf-ps-0.n.svc");
    have(&o, "worker worker ps");
}

static void an_operators_own_name_of_a_role_is_understood(void **state)
{
    static char *const variables[] = {S("PADDLE_NNODES=3"), NULL};
    struct one o;

    begin(&o, "tensorflow", "TFJob",
          "tf-master-0.n.svc tf-worker-0.n.svc tf-ps-0.n.svc");
    have(&o, "chief worker ps");
    begin(&o, "paddle", "Kubernetes API",
          "pd-master-0 pd-worker-0 pd-worker-1");
    o.j.env = variables;
    have(&o, "server worker worker");
}

static void elsewhere_such_a_name_means_nothing(void **state)
{
    struct one o;

    begin(&o, "paddle", "Volcano Job",
          "j-master-0.j j-worker-0.j j-worker-1.j");
    have(&o, "worker worker worker");
}

static void a_launcher_beside_workers_is_one_of_them(void **state)
{
    struct one o;

    begin(&o, "tensorflow", "MPI Operator",
          "pi-launcher.pi pi-worker-0.pi pi-worker-1.pi");
    have(&o, "worker worker worker");
}

static void one_pod_without_a_role_does_not_make_servers_train(void **state)
{
    struct hpcboot_error err = {0};
    struct one o;

    begin(&o, "tensorflow", "Volcano Job",
          "j-ps-0.j j-trainer-0.j j-trainer-1.j");
    assert_int_equal(job_roles_assign(&o.j, &err), HPCBOOT_ERR_USAGE);
    assert_string_equal(err.text, "host j-ps-0.j is ps by its name, and the "
                        "name of j-trainer-0.j is no role of tensorflow: say "
                        "by --role how many ranks have which, from rank 0 on");
    end(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_of_an_operator_have_the_role_in_their_name),
        cmocka_unit_test(an_operators_own_name_of_a_role_is_understood),
        cmocka_unit_test(elsewhere_such_a_name_means_nothing),
        cmocka_unit_test(a_launcher_beside_workers_is_one_of_them),
        cmocka_unit_test(one_pod_without_a_role_does_not_make_servers_train),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
