/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_SHELLTEXT_H
#define HB_PM_SHELLTEXT_H

#include "lib/base/strv.h"

/* The simple commands that stand in a shell's text, in its order, whether or
 * not they would run: words after quotes, "$@", "$1" and variables that are
 * known from `env` or set by the text itself; `zero` is "$0". What is only
 * known at run time is HB_SHELL_UNKNOWN in its word; a command of which the
 * first word has it is left out. `env` of `visit` is that one and what the text
 * has set by then, exported or not. `visit` ends the walk by a return value
 * other than 0. */
#define HB_SHELL_UNKNOWN "?" /* stands in patterns, and in few names */
typedef int (*hb_shell_visit)(void *arg, char *const *argv, char *const *env);
void hb_shell_commands(const char *text, const char *zero, char *const *args,
                       char *const *env, hb_shell_visit visit, void *arg);

/* "sh", "/bin/bash" ... */
int hb_is_shell(const char *path);

/* What `sh ARGV...` runs. *text_out: the text behind -c, borrowed, or NULL;
 * *script_out: the name of the script, borrowed, or NULL. Returns the index
 * of the first word behind it; both NULL: it reads from its stdin. *zero_out:
 * what "$0" is there, borrowed. */
size_t hb_shell_open(char *const *argv, const char **text_out,
                     const char **script_out, const char **zero_out);

#endif
