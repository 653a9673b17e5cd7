/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * A recipe file. What is accepted must expand for every rank of a small job,
 * or fail in words.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "bin/recipe/recipe.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RANKS 3
#define S(text) ((char *)(text))

static void expand(const struct hb_recipe *r)
{
    static const uint32_t nodes[RANKS] = {0, 0, 1};
    static char *names[] = {S("a"), S("b"), NULL};
    static char *program[] = {S("prog"), S("arg"), NULL};
    static const struct hb_job_app app = {0, RANKS};
    struct hb_jobmap *map = NULL;
    uint32_t *ports;

    if (hb_jobmap_create(&map, RANKS, nodes, 2, names, 1, &app, RANKS,
                         NULL) < 0) {
        abort();
    }
    ports = hb_xcalloc(hb_recipe_n_ports(r, map) + 1, sizeof *ports);
    const struct hb_recipe_facts f = {
        .map = map, .job_id = "job", .addresses = names, .ports = ports,
        .program = program, .dir = "/tmp",
    };
    for (uint32_t i = 0; i < RANKS; i++) {
        struct hpcboot_error err = {0};
        struct hb_recipe_rank rank;

        if (hb_recipe_expand(r, &f, i, &rank, &err) == 0) {
            hb_recipe_rank_destroy(&rank);
        } else if (err.text[0] == '\0') {
            abort();
        }
    }
    free(ports);
    hb_jobmap_destroy(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hpcboot_error err = {0};
    struct hb_recipe *r = NULL;
    struct hb_strv names = HB_STRV_INIT;

    if (hb_recipe_parse(&r, "fuzz", (const char *)data, size, &err) < 0) {
        if (err.text[0] == '\0') {
            abort();
        }
        return 0;
    }
    hb_recipe_env_names(r, &names);
    hb_strv_destroy(&names);
    expand(r);
    hb_recipe_destroy(r);
    return 0;
}
