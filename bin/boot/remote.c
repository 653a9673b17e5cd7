/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The command line that finds and starts the agent on another host.
 *
 * It is read by a login shell that may be sh, bash, csh, tcsh or fish, so the
 * only construct used at that level is a single-quoted word. Inside it no
 * single quote, no `!` and no line end may occur (csh), and no backslash
 * before a quote or another backslash (fish). The script itself is fixed and
 * keeps to that; values travel as arguments with every byte outside a safe
 * set written as \0ooo, which the script's printf turns back.
 *
 * PATH is left as it is: the agent's environment becomes the ranks'. */
#include "config.h"

#include "bin/boot/remote.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"

#define AGENT "hpcbootd"
#define FIRST_CANDIDATE 6 /* after /bin/sh -c SCRIPT hpcbootd TOKEN HOST */

/* Words that come together again without their quotes are a script that a shell
 * reads as others: `test` alone is false, and what follows is that shell's. */
static const char script[] =
    "test $# -gt 2 || { echo \"" AGENT ": what starts the agent joins its "
    "words, and a shell reads them a second time: "
    "put %a behind the command of --launch-with\" >&2; exit 127; }; "
    "t=$(printf %b \"$1\") h=$(printf %b \"$2\") w=; shift 2; "
    "for c in \"$@\"; do "
    "p=$(printf %b \"$c\"); "
    "case $p in "
    "*/*) if [ -f \"$p\" ] && [ -x \"$p\" ]; then "
    "exec \"$p\" agent --token \"$t\"; fi ;; "
    "*) if command -v \"$p\" >/dev/null 2>&1; then "
    "exec \"$p\" agent --token \"$t\"; fi; p=PATH ;; "
    "esac; "
    "w=\"$w${w:+, }$p\"; "
    "done; "
    "echo \"" AGENT ": not found on $h (looked in $w); install hpcboot there, "
    "or say where it is with --prefix\" >&2; "
    "exit 127";

static char *encode(const char *text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyz"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:=@+-";
    struct hb_str out = HB_STR_INIT;

    hb_str_put(&out, "");
    for (const char *p = text; *p; p++) {
        if (strchr(safe, *p)) {
            hb_str_putc(&out, *p);
        } else {
            hb_str_putf(&out, "\\0%03o", (unsigned char)*p);
        }
    }
    return hb_str_steal(&out);
}

static void push_candidate(struct hb_strv *words, const char *path)
{
    char *word = encode(path);

    /* A second look at the same place would only lengthen the complaint. */
    for (size_t i = FIRST_CANDIDATE; i < words->n; i++) {
        if (hb_streq(words->v[i], word)) {
            free(word);
            return;
        }
    }
    hb_strv_take(words, word);
}

static void push_prefixed(struct hb_strv *words, const char *prefix,
                          const char *dir)
{
    char *path = hb_xasprintf("%s/%s/" AGENT, prefix, dir);

    push_candidate(words, path);
    free(path);
}

void hb_remote_words(const struct hb_boot_config *config,
                     const struct hb_boot_target *target,
                     struct hb_strv *words_out)
{
    struct hb_strv words = HB_STRV_INIT;

    hb_strv_push(&words, "/bin/sh");
    hb_strv_push(&words, "-c");
    hb_strv_push(&words, script);
    hb_strv_push(&words, AGENT);
    hb_strv_take(&words, encode(target->token));
    hb_strv_take(&words, encode(target->host));
    if (config->prefix) {
        push_prefixed(&words, config->prefix, "sbin");
        push_prefixed(&words, config->prefix, "bin");
    }
    if (config->agent_path) {
        push_candidate(&words, config->agent_path);
    }
    push_candidate(&words, AGENT);
    push_candidate(&words, "/usr/local/sbin/" AGENT);
    push_candidate(&words, "/usr/sbin/" AGENT);
    *words_out = words;
}

char *hb_boot_remote_command(const struct hb_boot_config *config,
                             const struct hb_boot_target *target)
{
    struct hb_strv words = HB_STRV_INIT;
    struct hb_str line = HB_STR_INIT;

    hb_remote_words(config, target, &words);
    /* `exec` is a word of all these shells, and leaves no shell waiting. */
    hb_str_put(&line, "exec");
    for (size_t i = 0; i < words.n; i++) {
        hb_str_putf(&line, " '%s'", words.v[i]);
    }
    hb_strv_destroy(&words);
    return hb_str_steal(&line);
}

char *hb_local_user(void)
{
    const struct passwd *pw = getpwuid(geteuid());
    const char *name = pw && *pw->pw_name ? pw->pw_name : NULL;

    if (!name) {
        name = getenv("USER");
    }
    if (!name || !*name) {
        name = getenv("LOGNAME");
    }
    if ((!name || !*name) && geteuid() == 0) {
        name = "root";
    }
    return name && *name ? hb_xstrdup(name) : NULL;
}
