/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* --launch-with: from a template to the words of a command. Splitting comes
 * first and replacing second, so that no value can add a word or a quote. No
 * shell sees the command on this side. The two kinds of commands that carry a
 * program to another host differ in what they do with the words behind the
 * host: remote shells join them with blanks and have a shell read the result,
 * the others execute them as they are. */
#include "config.h"

#include "bin/boot/template.h"

#include <string.h>

#include "lib/base/str.h"

#define SSH_PORT 22

/* One word being read. */
struct splitter {
    const char *p;
    struct hb_str word;
    int in_word; /* also an empty word in quotes is one */
};

static int split_quoted(struct splitter *s, char quote)
{
    s->in_word = 1;
    for (s->p++; *s->p && *s->p != quote; s->p++) {
        if (quote == '"' && *s->p == '\\' && s->p[1]
            && strchr("\\\"$`", s->p[1])) {
            s->p++;
        }
        hb_str_putc(&s->word, *s->p);
    }
    if (!*s->p) {
        return HPCBOOT_ERR_PARSE;
    }
    s->p++;
    return HPCBOOT_OK;
}

static void split_plain(struct splitter *s)
{
    if (*s->p == '\\' && s->p[1]) {
        s->p++;
    }
    hb_str_putc(&s->word, *s->p++);
    s->in_word = 1;
}

static void end_word(struct splitter *s, struct hb_strv *words)
{
    if (s->in_word) {
        hb_strv_push(words, hb_str_text(&s->word));
    }
    hb_str_destroy(&s->word);
    s->in_word = 0;
}

/* By quotes and blanks alone. */
static int split_words(const char *text, struct hb_strv *words_out,
                       struct hpcboot_error *err)
{
    struct splitter s = {.p = text, .word = HB_STR_INIT};
    struct hb_strv words = HB_STRV_INIT;
    int rc = HPCBOOT_OK;

    if (strlen(text) > HB_TEMPLATE_MAX_BYTES) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT,
                       "a command of more than %d bytes",
                       HB_TEMPLATE_MAX_BYTES);
    }
    while (*s.p && rc == HPCBOOT_OK) {
        if (*s.p == '\'' || *s.p == '"') {
            rc = split_quoted(&s, *s.p);
        } else if (strchr(" \t\n", *s.p)) {
            end_word(&s, &words);
            s.p++;
        } else {
            split_plain(&s);
        }
    }
    end_word(&s, &words);
    if (rc != HPCBOOT_OK) {
        hb_strv_destroy(&words);
        return hb_fail(err, rc, "a quote is not closed in: %s", text);
    }
    *words_out = words;
    return HPCBOOT_OK;
}

/* What the template contains, seen while its words were expanded. */
struct seen {
    int host, port, user, agent;
};

static int expand_one(char letter, const struct hb_template_values *v,
                      struct seen *seen, struct hb_str *word)
{
    switch (letter) {
    case '%':
        hb_str_putc(word, '%');
        return HPCBOOT_OK;
    case 'h':
        seen->host = 1;
        hb_str_put(word, v->host);
        return HPCBOOT_OK;
    case 'p':
        seen->port = 1;
        hb_str_putf(word, "%d", v->port > 0 ? v->port : SSH_PORT);
        return HPCBOOT_OK;
    case 'u':
        seen->user = 1;
        hb_str_put(word, v->user ? v->user : v->user_default);
        return HPCBOOT_OK;
    case 'a':
        seen->agent = 1;
        hb_str_put(word, v->agent_line);
        return HPCBOOT_OK;
    default:
        return HPCBOOT_ERR_PARSE;
    }
}

static int expand_word(const char *from, const struct hb_template_values *v,
                       struct seen *seen, struct hb_strv *argv,
                       struct hpcboot_error *err)
{
    struct hb_str word = HB_STR_INIT;

    hb_str_put(&word, "");
    for (const char *p = from; *p; p++) {
        if (*p != '%') {
            hb_str_putc(&word, *p);
        } else if (expand_one(*++p, v, seen, &word) != HPCBOOT_OK) {
            hb_str_destroy(&word);
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "--launch-with: \"%%%.1s\" in \"%s\" is not one of "
                           "%%h %%p %%u %%a %%%%", p, from);
        }
    }
    hb_strv_take(argv, hb_str_steal(&word));
    return HPCBOOT_OK;
}

struct remote_shell {
    const char *name;
    int knows_user, knows_port; /* -l USER, -p PORT */
};

static const struct remote_shell *find_remote_shell(const char *word)
{
    static const struct remote_shell shells[] = {
        {"ssh", 1, 1}, {"rsh", 1, 0}, {"remsh", 1, 0}, {"kubexec.sh", 0, 0},
    };
    const char *slash = strrchr(word, '/');
    const char *name = slash ? slash + 1 : word;

    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (hb_streq(name, shells[i].name)) {
            return &shells[i];
        }
    }
    return NULL;
}

static void append_agent(const struct hb_template_values *v,
                         const struct seen *seen, struct hb_strv *argv)
{
    const struct remote_shell *shell = find_remote_shell(argv->v[0]);

    if (!shell) {
        hb_strv_extend(argv, v->agent_words);
        return;
    }
    if (!seen->host) {
        if (shell->knows_port && v->port > 0 && !seen->port) {
            hb_strv_push(argv, "-p");
            hb_strv_pushf(argv, "%d", v->port);
        }
        if (shell->knows_user && v->user && !seen->user) {
            hb_strv_push(argv, "-l");
            hb_strv_push(argv, v->user);
        }
        hb_strv_push(argv, v->host);
    }
    hb_strv_push(argv, v->agent_line);
}

int hb_template_expand(const char *text, const struct hb_template_values *v,
                       struct hb_strv *argv_out, struct hpcboot_error *err)
{
    struct hb_strv words = HB_STRV_INIT, argv = HB_STRV_INIT;
    struct seen seen = {0};
    int rc = split_words(text, &words, err);

    if (rc < 0) {
        return hb_error_prefix(err, HPCBOOT_ERR_USAGE, "--launch-with");
    }
    if (words.n == 0) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "--launch-with: no command");
    }
    for (size_t i = 0; rc == HPCBOOT_OK && i < words.n; i++) {
        rc = expand_word(words.v[i], v, &seen, &argv, err);
    }
    hb_strv_destroy(&words);
    if (rc != HPCBOOT_OK) {
        hb_strv_destroy(&argv);
        return rc;
    }
    if (!seen.agent) {
        append_agent(v, &seen, &argv);
    }
    *argv_out = argv;
    return HPCBOOT_OK;
}
