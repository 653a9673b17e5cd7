/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_CONF_H
#define HB_CLI_CONF_H

#include <stddef.h>

#include "lib/base/error.h"

/* hpcboot.conf: lines KEY = VALUE, sections [profile NAME], comments from
 * '#' at a line's or word's start. A value may stand in double quotes, in
 * which \" and \\ are known. */
struct hb_conf_entry {
    const char *path;
    unsigned line, column, value_column; /* from 1 */
    const char *profile; /* NULL outside a section */
    const char *key, *value; /* both NULL: the section begins */
};

/* `fn` is called in order, at the begin of a section and for each value; a
 * negative return ends the parse and is returned. Errors are
 * "PATH:LINE:COLUMN: expected ...", ERR_PARSE. */
typedef int (*hb_conf_fn)(void *arg, const struct hb_conf_entry *entry,
                          struct hpcboot_error *err);
int hb_conf_parse(const char *path, const char *text, size_t len,
                  hb_conf_fn fn, void *arg, struct hpcboot_error *err);

#endif
