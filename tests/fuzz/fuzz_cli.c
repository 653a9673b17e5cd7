/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Any bytes as a command line and environment: words end with a line's end,
 * those that hold '=' and begin with a letter are variables too. '/' becomes
 * '_', so that no file is opened. */
#include "config.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/cli/options.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_word(struct hb_strv *argv, struct hb_strv *env, char *word)
{
    for (char *p = word; *p; p++) {
        *p = *p == '/' ? '_' : *p;
    }
    if (isalpha((unsigned char)word[0]) && strchr(word, '=')) {
        hb_strv_push(env, word);
    }
    hb_strv_take(argv, word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_strv argv = HB_STRV_INIT, env = HB_STRV_INIT;
    struct hb_strv lines = HB_STRV_INIT;
    struct hb_options_source src = {0};
    struct hb_options *o = NULL;
    struct hpcboot_error err;
    const char *p = (const char *)data, *end = p + size;

    hb_strv_push(&argv, "hbrun");
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((nl ? nl : end) - p);

        add_word(&argv, &env, hb_xstrndup(p, n));
        p += n + (nl != NULL);
    }
    src.env = hb_strv_view(&env);
    if (hb_options_parse(&o, (int)argv.n, argv.v, &src, &err) == 0) {
        hb_options_explain(o, &lines);
        hb_options_origin(o, "np");
    }
    hb_options_destroy(o);
    hb_strv_destroy(&lines);
    hb_strv_destroy(&argv);
    hb_strv_destroy(&env);
    return 0;
}
