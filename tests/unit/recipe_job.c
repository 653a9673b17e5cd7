/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A small job, and what a recipe makes of it for one rank. */
#include "config.h"

#include "tests/unit/recipe_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"

static char *const program[] = {S("train.py"), S("--lr"), S("0 1"), NULL};

int make_job(void **state)
{
    static const uint32_t nodes[RANKS] = {0, 0, 1};
    static char *names[] = {S("a"), S("b"), NULL};
    static char *const addresses[] = {S("10.0.0.1"), S("fd00::2"), NULL};
    static const struct hb_job_app app = {0, RANKS};
    struct job *j = hb_xcalloc(1, sizeof *j);

    if (hb_jobmap_create(&j->map, RANKS, nodes, 2, names, 1, &app, RANKS,
                         NULL) < 0) {
        return -1;
    }
    for (uint32_t i = 0; i < 16; i++) {
        j->ports[i] = 9000 + i;
    }
    j->f = (struct hb_recipe_facts){
        .map = j->map, .job_id = "job-1", .addresses = addresses,
        .ports = j->ports, .program = program, .dir = "/run/x"};
    *state = j;
    return 0;
}

int free_job(void **state)
{
    struct job *j = *state;

    hb_jobmap_destroy(j->map);
    free(j);
    return 0;
}

struct hb_recipe *parse(const char *text)
{
    struct hpcboot_error err = {0};
    struct hb_recipe *r = NULL;

    if (hb_recipe_parse(&r, "t.conf", text, strlen(text), &err) < 0) {
        fail_msg("%s", err.text);
    }
    return r;
}

void expand(const struct job *j, const char *text, uint32_t rank,
            struct hb_recipe_rank *out)
{
    struct hpcboot_error err = {0};
    struct hb_recipe *r = parse(text);

    if (hb_recipe_expand(r, &j->f, rank, out, &err) < 0) {
        fail_msg("%s", err.text);
    }
    hb_recipe_destroy(r);
}

void gives(const struct job *j, const char *text, uint32_t rank,
           const char *name, const char *value)
{
    struct hb_recipe_rank out;
    const char *have;

    expand(j, text, rank, &out);
    have = hb_env_get(&out.set, name);
    if (value == NULL) {
        assert_null(have);
    } else {
        assert_non_null(have);
        assert_string_equal(have, value);
    }
    hb_recipe_rank_destroy(&out);
}
