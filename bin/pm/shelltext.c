/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Enough of the shell's grammar to see which programs a wrapper script names:
 * words, quotes, comments, separators, assignments, positional parameters,
 * here-documents. Control structures are not followed: what stands behind
 * `then` or `do` is a command like any other, only that a `shift` there, which
 * may be done or not, is not. Something that only running would tell (command
 * substitution, an unknown variable) is a mark in its word; where that would be
 * the program, the command is left out.
 *
 * Nothing is run and no file is looked at here. */
#include "config.h"

#include "bin/pm/shelltext.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define COMMANDS_MAX 256u /* of one text that are looked at */
#define WORDS_ROOM (4u << 20) /* bytes of all words: `A=$A$A` doubles one */
#define HERE_MAX 64u /* here-documents whose end is looked for */
#define SHIFT_MAX 65536

struct reader {
    const char *at, *zero;
    char *const *args;
    struct hb_strv vars; /* environment and the text's own assignments */
    struct hb_strv command;
    struct hb_str word;
    int in_word;   /* a word is open, be it an empty one */
    int unknown;   /* it holds what cannot be known */
    int ended;     /* the rest of this command is not taken */
    int skip_word; /* behind < or > */
    int here;      /* behind << */
    struct hb_strv ends; /* of here-documents behind this line */
    unsigned n_here;
    unsigned depth; /* in `if`, `while`, `case`, braces ... */
    int depends;    /* behind && or || */
    unsigned n_commands;
    size_t room; /* of WORDS_ROOM; the walk ends where there is none */
    hb_shell_visit visit;
    void *arg;
    int stop;
};

static int is_one_of(const char *word, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(word, *list) == 0) {
            return 1;
        }
    }
    return 0;
}

int hb_is_shell(const char *path)
{
    static const char *const names[] = {
        "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", NULL,
    };

    return is_one_of(hb_base_name(path), names);
}

size_t hb_shell_open(char *const *argv, const char **text_out,
                     const char **script_out, const char **zero_out)
{
    static const char *const valued[] = {
        "-o", "+o", "-O", "+O", "--rcfile", "--init-file", NULL,
    };
    int wants_text = 0;
    size_t i = 1;

    *text_out = *script_out = NULL;
    *zero_out = argv[0];
    for (; argv[i] != NULL && (argv[i][0] == '-' || argv[i][0] == '+'); i++) {
        if (strcmp(argv[i], "--") == 0 || strcmp(argv[i], "-") == 0) {
            i++;
            break;
        }
        wants_text |= argv[i][0] == '-' && argv[i][1] != '-' &&
                      strchr(argv[i], 'c') != NULL;
        i += is_one_of(argv[i], valued) && argv[i + 1] != NULL;
    }
    if (argv[i] == NULL) {
        return i;
    }
    if (!wants_text) {
        *script_out = *zero_out = argv[i];
        return i + 1;
    }
    *text_out = argv[i];
    if (argv[i + 1] != NULL) {
        *zero_out = argv[++i];
    }
    return i + 1;
}

/* ---- commands ------------------------------------------------------------ */

static void nest(struct reader *r, const char *word)
{
    static const char *const opening[] = {
        "if", "while", "until", "for", "select", "case", "{", NULL,
    };
    static const char *const closing[] = {"fi", "done", "esac", "}", NULL};

    if (is_one_of(word, opening)) {
        r->depth++;
    } else if (r->depth > 0 && is_one_of(word, closing)) {
        r->depth--;
    }
}

/* Words that stand before a command and are none. */
static int is_prefix(struct reader *r, const char *word)
{
    static const char *const words[] = {
        "if", "then", "else", "elif", "while", "until", "do", "!", "{",
        "exec", "command", "builtin", "export", NULL,
    };

    nest(r, word);
    if (hb_assigned_name(word) > 0) {
        hb_env_put(&r->vars, word);
        return 1;
    }
    return is_one_of(word, words);
}

/* A shell's here-document is its commands, others have text in it. */
static void end_target(struct reader *r, const char *word)
{
    int is_text = r->command.n == 0 || !hb_is_shell(r->command.v[0]);

    if (r->here && is_text && r->n_here++ < HERE_MAX) {
        hb_strv_push(&r->ends, word);
    }
    r->here = r->skip_word = 0;
}

static void end_word(struct reader *r)
{
    const char *word = hb_str_text(&r->word);

    if (!r->in_word) {
        return;
    }
    r->in_word = 0;
    if (r->skip_word) {
        end_target(r, word);
    } else if (r->unknown && r->command.n == 0) {
        r->ended = r->ended || hb_assigned_name(word) == 0;
    } else if (!r->ended && (r->command.n > 0 || !is_prefix(r, word))) {
        hb_strv_push(&r->command, word);
    }
    r->unknown = 0;
    hb_str_destroy(&r->word);
}

/* `shift $((OPTIND - 1))` takes the options away that getopts has read. */
static void shift_args(struct reader *r)
{
    const char *by = r->command.n > 1 ? r->command.v[1] : "1";
    int n, known = hb_parse_int(by, 0, SHIFT_MAX, &n) >= 0;

    while (r->args[0] != NULL && (known ? n-- > 0 : r->args[0][0] == '-')) {
        r->args++;
    }
}

static void end_command(struct reader *r)
{
    end_word(r);
    r->ended = r->skip_word = r->here = 0;
    if (r->command.n > 0 && strcmp(r->command.v[0], "shift") == 0 &&
        r->depth == 0 && !r->depends) {
        shift_args(r);
    } else if (r->command.n > 0) {
        r->stop = r->visit(r->arg, r->command.v,
                           hb_strv_view(&r->vars)) != 0 ||
                  ++r->n_commands >= COMMANDS_MAX;
    }
    hb_strv_destroy(&r->command);
}

/* ---- words --------------------------------------------------------------- */

/* An empty piece counts, too: it may be a word. */
static void put(struct reader *r, const char *text, size_t n)
{
    if (n >= r->room) {
        r->stop = 1;
        return;
    }
    r->room -= n + 1;
    hb_str_putn(&r->word, text, n);
    r->in_word = 1;
}

static void put_unknown(struct reader *r)
{
    put(r, HB_SHELL_UNKNOWN, strlen(HB_SHELL_UNKNOWN));
    r->unknown = 1;
}

/* "$@" gives as many words as there are arguments. */
static void put_all_args(struct reader *r)
{
    for (size_t i = 0; r->args[i] != NULL && !r->stop; i++) {
        put(r, r->args[i], strlen(r->args[i]));
        if (r->args[i + 1] != NULL) {
            end_word(r);
        }
    }
}

static void put_arg(struct reader *r, unsigned number)
{
    const char *value = r->zero;

    for (unsigned i = 1; i <= number && value != NULL; i++) {
        value = r->args[i - 1];
    }
    if (value != NULL) {
        put(r, value, strlen(value));
    } else {
        put_unknown(r);
    }
}

static void put_variable(struct reader *r, const char *name, size_t n)
{
    char *copy = hb_xstrndup(name, n);
    const char *value = hb_env_get(&r->vars, copy);

    if (value != NULL) {
        put(r, value, strlen(value));
    } else {
        put_unknown(r);
    }
    free(copy);
}

/* ${1+"$@"}: how scripts for the oldest of shells write "$@". */
static int is_all_args(const char *name)
{
    return hb_starts_with(name, "1+\"$@\"}") ||
           hb_starts_with(name, "1:+\"$@\"}");
}

/* Behind a '$'. */
static void expand(struct reader *r)
{
    int braced = *r->at == '{';
    const char *name = r->at + braced, *end = name;

    while (isalnum((unsigned char)*end) || *end == '_') {
        end++;
    }
    if (braced && is_all_args(name)) {
        put_all_args(r);
        r->at = strchr(name, '}');
    } else if (end == name && (*name == '@' || *name == '*')) {
        put_all_args(r);
        r->at = name + 1;
    } else if (end > name && isdigit((unsigned char)*name)) {
        end = braced ? end : name + 1;
        put_arg(r, (unsigned)(*name - '0'));
        r->at = end;
    } else if (end > name) {
        put_variable(r, name, (size_t)(end - name));
        r->at = end;
    } else {
        put_unknown(r);
        return;
    }
    if (braced && *r->at != '}') { /* ${A:-b}: not followed */
        put_unknown(r);
    }
    if (braced) {
        r->at += strcspn(r->at, "}\n");
        r->at += *r->at == '}';
    }
}

static void read_single_quoted(struct reader *r)
{
    size_t n = strcspn(r->at, "'");

    put(r, r->at, n);
    r->at += n + (r->at[n] != '\0');
}

static void read_double_quoted(struct reader *r)
{
    r->in_word = 1;
    while (*r->at != '\0' && *r->at != '"') {
        char c = *r->at++;

        if (c == '$') {
            expand(r);
        } else if (c == '`') {
            put_unknown(r);
        } else if (c == '\\' && *r->at != '\0') {
            put(r, r->at++, 1);
        } else {
            put(r, &c, 1);
        }
    }
    r->at += *r->at == '"';
}

static void read_escaped(struct reader *r)
{
    if (*r->at != '\0' && *r->at != '\n') {
        put(r, r->at, 1);
    }
    r->at += *r->at != '\0';
}

static void read_redirection(struct reader *r)
{
    size_t n = strspn(r->at, "<>&|");

    end_word(r);
    r->here = n == 1 && r->at[-1] == '<' && r->at[0] == '<';
    r->at += n;
    r->at += r->here && *r->at == '-';
    r->skip_word = 1;
}

/* Behind the line that is `word`, with tabs before it or none; or NULL. */
static const char *behind_line(const char *text, const char *word)
{
    size_t len = strlen(word);

    while (*text != '\0') {
        const char *line = text + strspn(text, "\t");
        size_t n = strcspn(line, "\n");

        text = line + n + (line[n] == '\n');
        if (n == len && strncmp(line, word, n) == 0) {
            return text;
        }
    }
    return NULL;
}

/* What has no end was no here-document, but bits that are shifted. */
static void skip_here_documents(struct reader *r)
{
    for (size_t i = 0; i < r->ends.n; i++) {
        const char *behind = behind_line(r->at, r->ends.v[i]);

        r->at = behind != NULL ? behind : r->at;
    }
    hb_strv_destroy(&r->ends);
}

static void read_separator(struct reader *r, char c)
{
    end_command(r);
    r->depends = (c == '&' || c == '|') && *r->at == c;
    r->at += r->depends;
    if (c == '\n') {
        skip_here_documents(r);
    }
}

static void read_one(struct reader *r)
{
    char c = *r->at++;

    if (c == '#' && !r->in_word) {
        r->at += strcspn(r->at, "\n");
    } else if (c == ' ' || c == '\t') {
        end_word(r);
    } else if (strchr("\n\r;&|()`", c) != NULL) {
        read_separator(r, c);
    } else if (c == '<' || c == '>') {
        read_redirection(r);
    } else if (c == '\'') {
        read_single_quoted(r);
    } else if (c == '"') {
        read_double_quoted(r);
    } else if (c == '\\') {
        read_escaped(r);
    } else if (c == '$') {
        expand(r);
    } else {
        put(r, &c, 1);
    }
}

void hb_shell_commands(const char *text, const char *zero, char *const *args,
                       char *const *env, hb_shell_visit visit, void *arg)
{
    struct reader r = {.at = text, .zero = zero, .args = args, .visit = visit,
                       .arg = arg, .room = WORDS_ROOM};

    hb_strv_extend(&r.vars, env);
    while (*r.at != '\0' && !r.stop) {
        read_one(&r);
    }
    if (!r.stop) {
        end_command(&r);
    }
    hb_str_destroy(&r.word);
    hb_strv_destroy(&r.command);
    hb_strv_destroy(&r.ends);
    hb_strv_destroy(&r.vars);
}
