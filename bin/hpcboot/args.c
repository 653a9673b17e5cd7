/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Options of subcommands, scanned and shown from one table each. hbrun's own
 * scanner has dialects, segments and configuration behind every option, and
 * none of that is wanted here. */

#include "config.h"

#include "bin/hpcboot/args.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/strv.h"

/* Where help texts begin. */
#define HELP_COLUMN 28

const char *hb_arg_name(const struct hb_arg *arg, size_t *state, char *buffer,
                        size_t size)
{
    const char *p = arg->names + *state;
    size_t n = strcspn(p, " ");

    if (n == 0) {
        return NULL;
    }
    snprintf(buffer, size, "%s%.*s", n == 1 ? "-" : "--", (int)n, p);
    *state += n + strspn(p + n, " ");
    return buffer;
}

static size_t dashes(const char *word)
{
    return word[0] == '-' ? 1 + (word[1] == '-') : 0;
}

/* The option whose name is the first n bytes of `word`. */
static const struct hb_arg *find(const struct hb_arg *args, const char *word,
                                 size_t n)
{
    char buffer[HB_ARG_NAME_MAX];

    for (; args->names != NULL; args++) {
        size_t state = 0;
        const char *name;
        while ((name = hb_arg_name(args, &state, buffer, sizeof(buffer)))) {
            name += dashes(name);
            if (strlen(name) == n && strncmp(name, word, n) == 0) {
                return args;
            }
        }
    }
    return NULL;
}

static int unknown(const struct hb_arg *args, const char *word,
                   struct hpcboot_error *err)
{
    const char *bare = word + dashes(word);
    char *typed = hb_xstrndup(bare, strcspn(bare, "="));
    struct hb_strv names = HB_STRV_INIT; /* dashes make no two names alike */
    char buffer[HB_ARG_NAME_MAX];
    const char *near, *name;
    int rc;

    for (; args->names != NULL; args++) {
        size_t state = 0;
        while ((name = hb_arg_name(args, &state, buffer, sizeof(buffer)))) {
            hb_strv_push(&names, name + dashes(name));
        }
    }
    hb_strv_push(&names, "help");
    near = hb_nearest(typed, (const char *const *)names.v, names.n);
    rc = hb_fail(err, HPCBOOT_ERR_USAGE, "unknown option %s%s%s%s", word,
                 near == NULL ? "" : near[1] == '\0' ? " (did you mean -"
                                                     : " (did you mean --",
                 near != NULL ? near : "", near != NULL ? "?)" : "");
    hb_strv_destroy(&names);
    free(typed);
    return rc;
}

int hb_args_no_such(const char *what, const char *word,
                    const char *const *names, size_t n, const char *help,
                    struct hpcboot_error *err)
{
    const char *near = hb_nearest(word, names, n);

    return hb_fail(err, HPCBOOT_ERR_USAGE, "there is no %s %s%s%s%s; %s lists "
                   "them", what, word, near != NULL ? " (did you mean " : "",
                   near != NULL ? near : "", near != NULL ? "?)" : "", help);
}

static int is_choice(const struct hb_arg *arg, const char *value)
{
    size_t i = 0;

    while (arg->choice(i) != NULL && strcmp(arg->choice(i), value) != 0) {
        i++;
    }
    return arg->choice(i) != NULL ||
           (arg->is_also != NULL && arg->is_also(value));
}

static int not_a_choice(const struct hb_arg *arg, const char *value,
                        struct hpcboot_error *err)
{
    struct hb_str list = HB_STR_INIT;
    int rc;

    for (size_t i = 0; arg->choice(i) != NULL; i++) {
        hb_str_putf(&list, "%s%s", i > 0 ? ", " : "", arg->choice(i));
    }
    rc = hb_fail(err, HPCBOOT_ERR_USAGE, "--%.*s %s: expected one of %s",
                 (int)strcspn(arg->names, " "), arg->names, value, list.s);
    hb_str_destroy(&list);
    return rc;
}

/* A word that is an option is no value: the value was forgotten. */
static int is_option(const struct hb_arg *args, const char *word)
{
    const char *name = word + dashes(word);

    return name != word && (find(args, name, strcspn(name, "=")) != NULL ||
                            hb_streq(word, "--help") || hb_streq(word, "-h"));
}

static void put_value(const struct hb_arg *arg, void *into, const char *value)
{
    static struct hb_strv lists = HB_STRV_INIT; /* until the process ends */
    const char **at = (const char **)(void *)((char *)into + arg->offset);

    if (arg->adds_up && *at != NULL) {
        hb_strv_pushf(&lists, "%s,%s", *at, value);
        value = lists.v[lists.n - 1];
    }
    *at = value;
}

/* -vv: a switch of one letter, said as often as the letter stands there. */
static const struct hb_arg *find_repeated(const struct hb_arg *args,
                                          const char *word)
{
    const struct hb_arg *arg = dashes(word) == 1 ? find(args, word + 1, 1)
                                                 : NULL;
    const char letter[2] = {word[0] != '\0' ? word[1] : '\0', '\0'};

    return arg != NULL && arg->value == NULL &&
                   word[1 + strspn(word + 1, letter)] == '\0' ? arg : NULL;
}

/* The option at argv[*i], and its value where it takes one. */
static int scan_one(const struct hb_arg *args, void *into, char **argv, int *i,
                    struct hpcboot_error *err)
{
    const char *word = argv[*i] + dashes(argv[*i]);
    size_t n = strcspn(word, "=");
    const char *value = word[n] == '=' ? word + n + 1 : NULL;
    const struct hb_arg *arg = find(args, word, n);
    int times = 1;

    if (arg == NULL && (arg = find_repeated(args, argv[*i])) != NULL) {
        times = (int)n;
    }
    if (arg == NULL) {
        return unknown(args, argv[*i], err);
    }
    if (arg->value == NULL) {
        if (value != NULL) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: takes no value",
                           argv[*i]);
        }
        *(int *)(void *)((char *)into + arg->offset) += times;
        return HPCBOOT_OK;
    }
    if (value == NULL) {
        value = argv[*i + 1];
        value = value != NULL && is_option(args, value) ? NULL : value;
        (*i)++;
    }
    if (value == NULL || value[0] == '\0') {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--%.*s: expected %s after it",
                       (int)strcspn(arg->names, " "), arg->names, arg->value);
    }
    if (arg->choice != NULL && !is_choice(arg, value)) {
        return not_a_choice(arg, value, err);
    }
    put_value(arg, into, value);
    return HPCBOOT_OK;
}

/* `first`: the operand that was there before. Where one of the two is a number,
 * and -n says one, that was forgotten. */
static int too_many(const struct hb_arg *args, const char *first,
                    const char *word, struct hpcboot_error *err)
{
    const struct hb_arg *arg = find(args, "n", 1);
    const char *number = isdigit((unsigned char)word[0]) ? word : first;

    if (arg != NULL && arg->value != NULL &&
        isdigit((unsigned char)number[0])) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: one word too many; is "
                       "-n %s meant (%s)?", number, number, arg->help);
    }
    return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: one word too many", word);
}

int hb_args_scan(const struct hb_arg *args, void *into, const char **operand,
                 int argc, char **argv, int *help_out,
                 struct hpcboot_error *err)
{
    int ended = 0; /* the options, by "--" */

    *help_out = 0;
    for (int i = 1; i < argc; i++) {
        int is_word = ended || dashes(argv[i]) == 0, rc;
        if (!ended && strcmp(argv[i], "--") == 0) {
            ended = 1;
            continue;
        }
        if (!ended && (strcmp(argv[i], "--help") == 0 ||
                       strcmp(argv[i], "-h") == 0)) {
            *help_out = 1;
            return HPCBOOT_OK;
        }
        if (is_word && operand != NULL && *operand == NULL) {
            *operand = argv[i];
            continue;
        }
        if (is_word) {
            return operand != NULL
                       ? too_many(args, *operand, argv[i], err)
                       : hb_fail(err, HPCBOOT_ERR_USAGE,
                                 "%s: expected an option", argv[i]);
        }
        rc = scan_one(args, into, argv, &i, err);
        if (rc < 0) {
            return rc;
        }
    }
    return HPCBOOT_OK;
}

static int is_given(const struct hb_arg *arg, const void *from)
{
    const char *at = (const char *)from + arg->offset;

    return arg->value == NULL
               ? *(const int *)(const void *)at > 0
               : *(const char *const *)(const void *)at != NULL;
}

int hb_args_go_with(const struct hb_arg *args, const void *from,
                    const char *names, const char *with,
                    struct hpcboot_error *err)
{
    while (*names != '\0') {
        size_t n = strcspn(names, " ");
        const struct hb_arg *arg = find(args, names, n);

        if (arg != NULL && is_given(arg, from)) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "--%.*s goes with %s",
                           (int)n, names, with);
        }
        names += n + strspn(names + n, " ");
    }
    return HPCBOOT_OK;
}

void hb_args_help(const struct hb_arg *args, FILE *out)
{
    for (; args->names != NULL; args++) {
        char buffer[HB_ARG_NAME_MAX];
        struct hb_str left = HB_STR_INIT;
        size_t state = 0;
        const char *name;
        while ((name = hb_arg_name(args, &state, buffer, sizeof(buffer)))) {
            hb_str_putf(&left, "%s%s", left.len > 0 ? ", " : "  ", name);
        }
        if (args->value != NULL) {
            hb_str_putf(&left, " %s", args->value);
        }
        fprintf(out, "%-*s %s\n", HELP_COLUMN - 1, left.s, args->help);
        hb_str_destroy(&left);
    }
    fprintf(out, "%-*s %s\n", HELP_COLUMN - 1, "  --help, -h", "this text");
}
