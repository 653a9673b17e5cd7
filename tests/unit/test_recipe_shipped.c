/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The recipes that are shipped hold the contracts of their frameworks: what
 * ranks find is what the framework's own documents say. */
#include "config.h"

#include "tests/unit/recipe_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

static char *const shipped[] = {S(HB_TESTS_TOP "/share/hpcboot/recipes"),
                                NULL};
static const struct hb_recipe_dirs where = {shipped, NULL};

static char *read_shipped(const char *name)
{
    struct hpcboot_error err = {0};
    char *path, *text;
    size_t len;

    if (hb_recipe_find(&where, name, &path, &text, &len, &err) < 0) {
        fail_msg("%s", err.text);
    }
    free(path);
    return text;
}

static void every_shipped_recipe_expands(void **state)
{
    struct hb_strv names = HB_STRV_INIT;

    hb_recipe_names(shipped, &names);
    assert_true(names.n >= 12);
    for (size_t i = 0; i < names.n; i++) {
        char *text = read_shipped(names.v[i]);

        for (uint32_t k = 0; k < RANKS; k++) {
            struct hb_recipe_rank out;

            expand(*state, text, k, &out);
            hb_recipe_rank_destroy(&out);
        }
        free(text);
    }
    hb_strv_destroy(&names);
}

static void shipped_gives(struct job *j, const char *recipe, uint32_t rank,
                          const char *name, const char *value)
{
    char *text = read_shipped(recipe);

    gives(j, text, rank, name, value);
    free(text);
}

static void tensorflow_names_all_tasks(void **state)
{
    struct job *j = *state;

    j->roles[0] = 2;
    j->f.role_of_rank = j->roles;
    shipped_gives(j, "tensorflow", 1, "TF_CONFIG",
                  "{\"cluster\":{\"worker\":[\"10.0.0.1:9001\","
                  "\"[fd00::2]:9002\"],\"ps\":[\"10.0.0.1:9000\"]},"
                  "\"task\":{\"type\":\"worker\",\"index\":0}}");
}

static void mxnet_workers_have_numbers_of_their_own(void **state)
{
    struct job *j = *state;

    j->roles[1] = 1;
    j->roles[2] = 2;
    j->f.role_of_rank = j->roles;
    shipped_gives(j, "mxnet", 0, "DMLC_ROLE", "scheduler");
    shipped_gives(j, "mxnet", 0, "DMLC_WORKER_ID", NULL);
    shipped_gives(j, "mxnet", 2, "DMLC_WORKER_ID", "0");
    shipped_gives(j, "mxnet", 2, "DMLC_NUM_SERVER", "1");
    shipped_gives(j, "mxnet", 2, "DMLC_PS_ROOT_URI", "10.0.0.1");
    shipped_gives(j, "mxnet", 2, "DMLC_PS_ROOT_PORT", "9000");
}

/* Written --role worker=1,scheduler=1,server=1: rank 1 is the scheduler. */
static void the_scheduler_is_the_head_wherever_it_runs(void **state)
{
    struct job *j = *state;

    j->roles[0] = 2;
    j->roles[1] = 1;
    j->roles[2] = 0;
    j->f.role_of_rank = j->roles;
    shipped_gives(j, "mxnet", 0, "DMLC_PS_ROOT_URI", "fd00::2");
    shipped_gives(j, "mxnet", 2, "DMLC_PS_ROOT_URI", "fd00::2");
    j->roles[0] = j->roles[1] = 1;
    shipped_gives(j, "mindspore", 0, "MS_SCHED_HOST", "fd00::2");
}

/* The format is that of the training operator: an address and a port of every
 * task by role, labels by role, and which task this is. */
static void mxnet_has_the_operators_description(void **state)
{
    struct job *j = *state;

    j->roles[1] = 1;
    j->roles[2] = 2;
    j->f.role_of_rank = j->roles;
    shipped_gives(j, "mxnet", 2, "MX_CONFIG",
                  "{\"cluster\":{"
                  "\"scheduler\":[{\"url\":\"10.0.0.1\",\"port\":9001}],"
                  "\"server\":[{\"url\":\"10.0.0.1\",\"port\":9002}],"
                  "\"worker\":[{\"url\":\"fd00::2\",\"port\":9003}]},"
                  "\"labels\":{\"scheduler\":\"\",\"server\":\"\","
                  "\"worker\":\"\"},"
                  "\"task\":{\"type\":\"worker\",\"index\":0}}");
    shipped_gives(j, "mxnet", 1, "DMLC_ROLE", "server");
    shipped_gives(j, "mxnet", 1, "DMLC_NUM_WORKER", "1");
    shipped_gives(j, "mxnet", 2, "DMLC_USE_KUBERNETES", "1");
}

static void mindspore_has_a_scheduler(void **state)
{
    struct job *j = *state;

    j->roles[1] = j->roles[2] = 1;
    j->f.role_of_rank = j->roles;
    shipped_gives(j, "mindspore", 0, "MS_ROLE", "MS_SCHED");
    shipped_gives(j, "mindspore", 2, "MS_ROLE", "MS_WORKER");
    shipped_gives(j, "mindspore", 2, "MS_NODE_ID", "1");
    shipped_gives(j, "mindspore", 0, "MS_NODE_ID", NULL);
    shipped_gives(j, "mindspore", 2, "MS_WORKER_NUM", "2");
    shipped_gives(j, "mindspore", 2, "MS_SERVER_NUM", "0");
    shipped_gives(j, "mindspore", 2, "MS_SCHED_HOST", "10.0.0.1");
    shipped_gives(j, "mindspore", 2, "MS_SCHED_PORT", "9000");
}

/* All numbers of a rank table are texts. */
static void hccl_tables_of_both_versions(void **state)
{
    static char *const v12[] = {S("version=1.2"), NULL};
    struct job *j = *state;
    struct hb_recipe_rank out;
    char *text = read_shipped("hccl");

    expand(j, text, 0, &out);
    assert_int_equal(out.n_files, 1);
    assert_string_equal(
        out.files[0].text,
        "{\"version\":\"1.0\",\"status\":\"completed\",\"server_count\":\"2\","
        "\"server_list\":[{\"server_id\":\"10.0.0.1\","
        "\"host_nic_ip\":\"reserve\",\"container_ip\":\"10.0.0.1\","
        "\"device\":[{\"device_id\":\"0\",\"device_ip\":\"10.0.0.1\","
        "\"rank_id\":\"0\"},{\"device_id\":\"1\",\"device_ip\":\"10.0.0.1\","
        "\"rank_id\":\"1\"}]},{\"server_id\":\"fd00::2\","
        "\"host_nic_ip\":\"reserve\",\"container_ip\":\"fd00::2\","
        "\"device\":[{\"device_id\":\"0\",\"device_ip\":\"fd00::2\","
        "\"rank_id\":\"2\"}]}]}\n");
    hb_recipe_rank_destroy(&out);
    j->f.given = v12;
    expand(j, text, 0, &out);
    assert_int_equal(out.n_files, 1);
    assert_string_equal(
        out.files[0].text,
        "{\"version\":\"1.2\",\"status\":\"completed\",\"server_count\":\"2\","
        "\"server_list\":[{\"server_id\":\"10.0.0.1\","
        "\"host_ip\":\"10.0.0.1\",\"container_ip\":\"10.0.0.1\","
        "\"device\":[{\"device_id\":\"0\",\"device_ip\":\"10.0.0.1\","
        "\"rank_id\":\"0\",\"super_device_id\":\"0\"},"
        "{\"device_id\":\"1\",\"device_ip\":\"10.0.0.1\","
        "\"rank_id\":\"1\",\"super_device_id\":\"1\"}]},"
        "{\"server_id\":\"fd00::2\",\"host_ip\":\"fd00::2\","
        "\"container_ip\":\"fd00::2\",\"device\":[{\"device_id\":\"0\","
        "\"device_ip\":\"fd00::2\",\"rank_id\":\"2\","
        "\"super_device_id\":\"2\"}]}],"
        "\"super_pod_list\":[{\"super_pod_id\":\"0\",\"server_list\":["
        "{\"server_id\":\"10.0.0.1\"},{\"server_id\":\"fd00::2\"}]}]}\n");
    hb_recipe_rank_destroy(&out);
    free(text);
}

static void hccl_ranks_know_their_place_and_their_table(void **state)
{
    static char *const named[] = {S("env_RANK_TABLE_FILE=/user/hccl.json"),
                                  NULL};
    struct job *j = *state;

    shipped_gives(j, "hccl", 2, "RANK_TABLE_FILE", "/run/x/rank_table");
    shipped_gives(j, "hccl", 2, "RANK_ID", "2");
    shipped_gives(j, "hccl", 2, "RANK_SIZE", "3");
    shipped_gives(j, "hccl", 2, "DEVICE_ID", "0");
    shipped_gives(j, "hccl", 1, "DEVICE_ID", "1");
    j->f.given = named;
    shipped_gives(j, "hccl", 1, "RANK_TABLE_FILE", "/user/hccl.json");
}

static void an_unknown_framework_has_a_nearest_one(void **state)
{
    struct hpcboot_error err = {0};
    char *path, *text;
    size_t len;

    assert_int_equal(hb_recipe_find(&where, "torhc", &path, &text,
                                    &len, &err), HPCBOOT_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "did you mean torch?"));
    assert_int_equal(hb_recipe_find(&where, "../x", &path, &text,
                                    &len, &err), HPCBOOT_ERR_NOT_FOUND);
}

/* Of two servers and one trainer; what paddle.distributed.launch gives. */
static void paddle_servers_and_trainers(void **state)
{
    struct job *j = *state;

    j->roles[0] = j->roles[1] = 1;
    j->f.role_of_rank = j->roles;
    shipped_gives(j, "paddle", 2, "PADDLE_PSERVERS_IP_PORT_LIST",
                  "10.0.0.1:9001,10.0.0.1:9002");
    shipped_gives(j, "paddle", 2, "PADDLE_TRAINER_ENDPOINTS",
                  "[fd00::2]:9003");
    shipped_gives(j, "paddle", 2, "PADDLE_TRAINERS_NUM", "1");
    shipped_gives(j, "paddle", 2, "TRAINING_ROLE", "TRAINER");
    shipped_gives(j, "paddle", 2, "PADDLE_ROLE", "TRAINER");
    shipped_gives(j, "paddle", 2, "PADDLE_TRAINER_ID", "0");
    shipped_gives(j, "paddle", 1, "TRAINING_ROLE", "PSERVER");
    shipped_gives(j, "paddle", 1, "PADDLE_TRAINER_ID", NULL);
    shipped_gives(j, "paddle", 1, "PADDLE_PORT", "9002");
    shipped_gives(j, "paddle", 1, "POD_IP", "10.0.0.1");
    shipped_gives(j, "paddle", 1, "PADDLE_GLOO_RENDEZVOUS", "3");
    shipped_gives(j, "paddle", 2, "PADDLE_GLOO_HTTP_ENDPOINT",
                  "10.0.0.1:9004");
}

static int is_there(void *arg, const char *name)
{
    return strcmp(arg, name) == 0;
}

static void assert_usual(const char *recipe, const char *there,
                         enum hb_recipe_per per)
{
    char *text = read_shipped(recipe);
    struct hb_recipe *r = parse(text);
    const char *name;

    assert_int_equal(hb_recipe_usual(r, is_there, S(there), &name), per);
    hb_recipe_destroy(r);
    free(text);
}

static void recipes_know_the_processes_of_pods(void **state)
{
    assert_usual("tensorflow", "TF_CONFIG", HB_RECIPE_PER_HOST);
    assert_usual("mxnet", "MX_CONFIG", HB_RECIPE_PER_HOST);
    assert_usual("xgboost", "XGBoostJob", HB_RECIPE_PER_HOST);
    assert_usual("xgboost", "DMLC_NUM_WORKER", HB_RECIPE_PER_GPU);
    assert_usual("torch", "PyTorchJob", HB_RECIPE_PER_SLOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_shipped_recipe_expands),
        TEST(tensorflow_names_all_tasks),
        TEST(mxnet_workers_have_numbers_of_their_own),
        TEST(the_scheduler_is_the_head_wherever_it_runs),
        TEST(mxnet_has_the_operators_description),
        TEST(mindspore_has_a_scheduler),
        TEST(hccl_tables_of_both_versions),
        TEST(hccl_ranks_know_their_place_and_their_table),
        TEST(an_unknown_framework_has_a_nearest_one),
        TEST(paddle_servers_and_trainers),
        TEST(recipes_know_the_processes_of_pods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
