/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_RECIPE_JOB_H
#define HB_TESTS_RECIPE_JOB_H

#include "bin/recipe/recipe.h"

/* The job of the tests of recipes: two hosts, a (ranks 0, 1) and b (rank 2). */

#define RANKS 3
#define S(text) ((char *)(text))

struct job {
    struct hb_jobmap *map;
    struct hb_recipe_facts f;
    uint32_t ports[16], roles[RANKS]; /* ports: 9000, 9001, ... */
};

/* For cmocka: *state is the job. */
int make_job(void **state);
int free_job(void **state);
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_job, free_job)

struct hb_recipe *parse(const char *text);
void expand(const struct job *j, const char *text, uint32_t rank,
            struct hb_recipe_rank *out);
/* The rank has the variable with this value; NULL: it has none. */
void gives(const struct job *j, const char *text, uint32_t rank,
           const char *name, const char *value);

#endif
