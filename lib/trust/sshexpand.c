/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The % letters, variables and homes of ssh_config. What has no value here is
 * never put in as nothing: what it stands for may name a file of keys. */
#include "config.h"

#include "lib/trust/sshconfig.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

static const char *token_value(char letter, const struct hb_ssh_tokens *t,
                               char *number, size_t size)
{
    switch (letter) {
    case '%':
        return "%";
    case 'd':
        return t->home;
    case 'h':
        return t->host;
    case 'n':
        return t->original;
    case 'k':
        return t->alias;
    case 'i':
        return t->uid;
    case 'l':
    case 'L':
        return t->local_host;
    case 'r':
        return t->user;
    case 'u':
        return t->local_user;
    case 'p':
        snprintf(number, size, "%d", t->port);
        return t->port ? number : NULL;
    default:
        return NULL;
    }
}

/* Puts the value of the letter or variable that *p begins with; *p is then at
 * its last character. 0: it has none. */
static int put_value(const char **p, const struct hb_ssh_tokens *t,
                     struct hb_str *out)
{
    const char *value, *end = strchr(*p, '}');
    char number[16], *name;

    if (**p == '$') {
        name = end ? hb_xstrndup(*p + 2, (size_t)(end - *p - 2)) : NULL;
        value = name ? getenv(name) : NULL;
        *p = end;
        free(name);
    } else {
        value = token_value(*++(*p), t, number, sizeof number);
    }
    if (value) {
        hb_str_putn(out, value,
                    **p == 'L' ? strcspn(value, ".") : strlen(value));
    }
    return value != NULL;
}

/* The home that "~/" or "~name/" at *p stands for; *p is then behind it. NULL:
 * there is none. */
static const char *take_home(const char **p, const struct hb_ssh_tokens *t)
{
    size_t len = strcspn(*p + 1, "/");
    char *name = hb_xstrndup(*p + 1, len);
    const struct passwd *pw = len > 0 ? getpwnam(name) : NULL;

    free(name);
    *p += 1 + len;
    return len == 0 ? t->home : pw ? pw->pw_dir : NULL;
}

char *hb_ssh_expand(const char *text, const struct hb_ssh_tokens *t, int file)
{
    struct hb_str out = HB_STR_INIT;

    hb_str_put(&out, "");
    if (file && text[0] == '~' &&
        (t->home || (text[1] != '/' && text[1] != '\0'))) {
        const char *home = take_home(&text, t);

        if (!home) {
            hb_str_destroy(&out);
            return NULL;
        }
        hb_str_put(&out, home);
    }
    for (; *text; text++) {
        if (*text != '%' && !(file && hb_starts_with(text, "${"))) {
            hb_str_putc(&out, *text);
        } else if (!put_value(&text, t, &out)) {
            hb_str_destroy(&out);
            return NULL;
        }
    }
    return hb_str_steal(&out);
}
