/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_UNIT_GANG_POD_H
#define HB_TESTS_UNIT_GANG_POD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hostfile/hostfile.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

/* The modules of this build, for sources that read JSON. */
static inline void use_built_modules(void)
{
    const char *build = getenv("HB_BUILDDIR");
    char *dir = hb_xasprintf("%s/.libs", build != NULL ? build : ".");

    setenv("HPCBOOT_MODULE_DIR", dir, 0);
    free(dir);
}

/* Gathering in a pod of tests/data/gang, which holds what operators mount,
 * byte for byte. The environment is given as one text, "A=1 B=2",
 * without blanks in values. */
static inline char *pod_path(const char *name)
{
    const char *src = getenv("HB_SRCDIR");

    return hb_xasprintf("%s/tests/data/gang/%s", src != NULL ? src : ".", name);
}

static inline int gather_at(const char *root, const char *env,
                            const char *list, struct hb_gang *g,
                            struct hpcboot_error *err)
{
    struct hb_strv vars = HB_STRV_INIT;
    struct hb_gang_request req = {.host_list = list, .root = root, .filter = 1};
    char *text = hb_xstrdup(env), *save = NULL;
    int rc;

    for (char *v = strtok_r(text, " ", &save); v != NULL;
         v = strtok_r(NULL, " ", &save)) {
        hb_strv_push(&vars, v);
    }
    req.env = hb_strv_view(&vars);
    rc = hb_gang_gather(&req, g, err);
    hb_strv_destroy(&vars);
    free(text);
    return rc;
}

static inline struct hb_gang gather_pod(const char *name, const char *env)
{
    char *root = pod_path(name);
    struct hpcboot_error err = {0};
    struct hb_gang g;
    int rc = gather_at(root, env, NULL, &g, &err);

    free(root);
    if (rc < 0) {
        fail_msg("%s", err.text);
    }
    return g;
}

/* "a:2 b c" : names in order, with slots where stated; the own host has "*"
 * behind it. */
static inline void assert_gang(const struct hb_gang *g, const char *source,
                               const char *hosts)
{
    struct hb_str text = HB_STR_INIT;

    for (size_t i = 0; i < g->n; i++) {
        hb_str_putf(&text, "%s%s", i > 0 ? " " : "", g->hosts[i].name);
        if (g->hosts[i].slots > 0) {
            hb_str_putf(&text, ":%d", g->hosts[i].slots);
        }
        hb_str_put(&text, g->hosts[i].is_local ? "*" : "");
    }
    assert_string_equal(g->source, source);
    assert_string_equal(hb_str_text(&text), hosts);
    hb_str_destroy(&text);
}

/* Gathers in a pod, compares, forgets. */
static inline void assert_pod(const char *name, const char *env,
                              const char *source, const char *hosts)
{
    struct hb_gang g = gather_pod(name, env);

    assert_gang(&g, source, hosts);
    hb_gang_destroy(&g);
}

static inline const char *passed_over(const struct hb_gang *g,
                                      const char *source)
{
    for (size_t i = 0; i < g->n_passed; i++) {
        if (hb_starts_with(g->passed_over[i], source)) {
            return g->passed_over[i] + strlen(source);
        }
    }
    return "";
}

static inline void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("expected \"%s\" in \"%s\"", part, text);
    }
}

#endif
