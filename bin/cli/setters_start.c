/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Setters about starting agents: words that others would put on an ssh
 * command line, and Hydra's choice of a launcher.
 *
 * Operators hand ssh arguments to the launcher in variables. Connections are
 * made in this process, so each word is turned into the option it means; what
 * would weaken the check of host keys has no effect and needs no word. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"

struct ssh_word {
    const char *name;
    const char *key; /* option it stands for; NULL: no effect here */
};

/* Options of ssh(1) with an argument, and ssh_config(5) keywords for -o. */
static const struct ssh_word letters[] = {
    {"p", "port"},       {"i", "identity"}, {"l", "user"},
    {"F", "ssh-config"}, {"c", NULL},       {"m", NULL},
    {"e", NULL},         {"E", NULL},       {"b", NULL},
};

static const struct ssh_word keywords[] = {
    {"Port", "port"},
    {"User", "user"},
    {"IdentityFile", "identity"},
    {"ConnectTimeout", "connect-timeout"},
    {"ConnectionAttempts", NULL}, /* hosts are tried until --wait-hosts */
    {"StrictHostKeyChecking", NULL},
    {"UserKnownHostsFile", NULL},
    {"GlobalKnownHostsFile", NULL},
    {"BatchMode", NULL},
    {"LogLevel", NULL},
    {"PasswordAuthentication", NULL},
    {"PreferredAuthentications", NULL},
    {"ServerAliveInterval", NULL},
    {"ServerAliveCountMax", NULL},
    {"TCPKeepAlive", NULL},
    {"CheckHostIP", NULL},
    {"HashKnownHosts", NULL},
    {"IdentitiesOnly", NULL},
    {"ForwardX11", NULL},
    {"ForwardAgent", NULL},
    {"Compression", NULL},
};

static const char switches[] = "qxXYTntfv46aACkKN"; /* without an argument */

static const struct ssh_word *find_word(const struct ssh_word *table,
                                        size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcasecmp(table[i].name, name)) {
            return &table[i];
        }
    }
    return NULL;
}

static int apply_keyword(struct hb_scan *s, const char *text,
                         struct hpcboot_error *err)
{
    size_t len = strcspn(text, "= \t");
    const char *value = text + len + strspn(text + len, "= \t");
    char *name = hb_xstrndup(text, len);
    const struct ssh_word *w = find_word(
        keywords, sizeof keywords / sizeof keywords[0], name);
    int rc = 0;

    if (!w) {
        hb_opt_warn(s, "%s: -o %s has no effect here; --launch-with ssh "
                    "would use it", s->spelling, name);
    } else if (w->key) {
        rc = hb_opt_apply_key(s, w->key, value, err);
    }
    free(name);
    return rc;
}

static const struct ssh_word *find_letter(char c)
{
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        if (letters[i].name[0] == c) {
            return &letters[i];
        }
    }
    return NULL;
}

/* Takes the word at *at, and its argument. */
static int apply_word(struct hb_scan *s, const struct hb_strv *words,
                      size_t *at, struct hpcboot_error *err)
{
    const char *word = words->v[(*at)++], *value;
    const struct ssh_word *w;

    if (word[0] != '-' || !word[1] || word[1] == '-') {
        hb_opt_warn(s, "%s: %s has no effect here", s->spelling, word);
        return 0;
    }
    if (strspn(word + 1, switches) == strlen(word + 1)) {
        return 0;
    }
    w = find_letter(word[1]);
    if (!w && word[1] != 'o') {
        hb_opt_warn(s, "%s: %s has no effect here; --launch-with ssh would "
                    "use it", s->spelling, word);
        return 0;
    }
    if (!word[2] && *at == words->n) {
        return hb_opt_bad(s, err, "%s needs an argument", word);
    }
    value = word[2] ? word + 2 : words->v[(*at)++];
    if (word[1] == 'o') {
        return apply_keyword(s, value, err);
    }
    return w->key ? hb_opt_apply_key(s, w->key, value, err) : 0;
}

static int apply_words(struct hb_scan *s, const struct hb_strv *words,
                       size_t at, struct hpcboot_error *err)
{
    int rc = 0;

    while (rc == 0 && at < words->n) {
        hb_strv_push(&s->o->ssh_args, words->v[at]);
        rc = apply_word(s, words, &at, err);
    }
    return rc;
}

static int split(struct hb_scan *s, const char *text, struct hb_strv *words,
                 struct hpcboot_error *err)
{
    size_t column;
    int rc = hb_cli_split(text, strlen(text), words, &column, err);

    return rc < 0 ? hb_error_prefix(err, rc, "%s", s->spelling) : 0;
}

HB_SETTER(ssh_args)
{
    struct hb_strv words = HB_STRV_INIT;
    int rc = split(s, values[0], &words, err);

    if (rc == 0) {
        rc = apply_words(s, &words, 0, err);
    }
    hb_strv_destroy(&words);
    return rc;
}

/* --- launchers --------------------------------------------------- */

HB_SETTER(launcher)
{
    const char *name = values[0];

    if (!strcmp(name, "ssh") || !strcmp(name, "rsh") || !strcmp(name, "fork")
        || !strcmp(name, "auto") || !strcmp(name, "user")) {
        return 0; /* this host by fork, others over SSH: what is done anyway */
    }
    if (!strcmp(name, "slurm")) {
        return hb_opt_apply_key(s, "launch-with",
                                "srun --nodes=1 --ntasks=1 --nodelist=%h",
                                err);
    }
    return hb_opt_bad(s, err,
                      "\"%s\" is not a launcher here; ssh, fork and slurm "
                      "are, and --launch-with takes any command", name);
}

/* What a login of our own stands in for; somebody's program of that name is
 * another thing. */
static int is_ssh(const char *program)
{
    static const char *const names[] = {
        "ssh", "rsh", "/usr/bin/ssh", "/usr/bin/rsh", "/bin/ssh", "/bin/rsh",
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!strcmp(program, names[i])) {
            return 1;
        }
    }
    return 0;
}

/* "ssh : rsh" is Open MPI's way to say ssh, or else rsh. */
static int only_ssh(const struct hb_strv *words)
{
    for (size_t i = 0; i < words->n; i++) {
        if (!is_ssh(words->v[i]) && strcmp(words->v[i], ":")) {
            return 0;
        }
    }
    return 1;
}

/* A program that is called as ssh is: PROGRAM HOST and one word, for a shell
 * at the other end. */
HB_SETTER(launcher_exec)
{
    struct hb_strv words = HB_STRV_INIT;
    char *command;
    int rc = split(s, values[0], &words, err);

    if (rc < 0 || only_ssh(&words)) {
        goto out;
    }
    if (is_ssh(words.v[0])) {
        rc = apply_words(s, &words, 1, err);
        goto out;
    }
    command = hb_xasprintf("%s %%h %%a", values[0]);
    rc = hb_opt_apply_key(s, "launch-with", command, err);
    free(command);
out:
    hb_strv_destroy(&words);
    return rc;
}
