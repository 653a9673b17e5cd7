/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_UNIT_FABRIC_TREE_H
#define HB_TESTS_UNIT_FABRIC_TREE_H

#include <stdlib.h>
#include <string.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "tests/unit/tree.h"

/* Captured hosts are kept as one text each, tests/data/fabric/NAME.tree:
 *
 *   PATH = TEXT     a file of one line
 *   PATH + TEXT     one more line of a file
 *   PATH -> TARGET  a link
 *   PATH !          a file that the kernel refuses to read (EINVAL)
 *
 * The last kind is a link to a file of /proc that can only be written. */
#define REFUSES_TO_READ "/proc/self/clear_refs"

static inline void fabric_tree_link(const char *root, const char *path,
                                    const char *target)
{
    char full[1024];

    tree_write(root, path, ""); /* makes the directories */
    snprintf(full, sizeof full, "%s/%s", root, path);
    if (unlink(full) != 0) {
        abort();
    }
    /* Links from the root lead into the tree, but for those into /proc. */
    if (target[0] == '/' && strncmp(target, "/proc/", 6) != 0) {
        char *below = hb_xasprintf("%s%s", root, target);
        if (symlink(below, full) != 0) {
            abort();
        }
        free(below);
    } else if (symlink(target, full) != 0) {
        abort();
    }
}

static inline void fabric_tree_more(const char *root, const char *path,
                                    const char *text)
{
    char full[1024];
    FILE *f;

    snprintf(full, sizeof full, "%s/%s", root, path);
    if (access(full, F_OK) != 0) {
        tree_write(root, path, "");
    }
    f = fopen(full, "ae");
    if (f == NULL || fprintf(f, "%s\n", text) < 0 || fclose(f) != 0) {
        abort();
    }
}

static inline void fabric_tree_line(const char *root, char *line)
{
    char *form = strchr(line, ' '), *text;

    if (line[0] == '#' || form == NULL) {
        return;
    }
    *form++ = '\0';
    text = strchr(form, ' ') != NULL ? strchr(form, ' ') + 1 : form + 1;
    if (form[0] == '!') {
        fabric_tree_link(root, line, REFUSES_TO_READ);
    } else if (form[0] == '-') {
        fabric_tree_link(root, line, text);
    } else if (form[0] == '+') {
        fabric_tree_more(root, line, text);
    } else {
        char *whole = hb_xasprintf("%s\n", text);
        tree_write(root, line, whole);
        free(whole);
    }
}

/* A new directory that holds the host of tests/data/fabric/NAME.tree, in which
 * each `from` reads `to` instead (pairs, NULL-terminated; or NULL). Remove it
 * with tree_remove. */
static inline void fabric_tree_create(const char *name,
                                      const char *const *instead, char *root,
                                      size_t size)
{
    const char *src = getenv("HB_SRCDIR");
    char *path = hb_xasprintf("%s/tests/data/fabric/%s.tree",
                              src != NULL ? src : ".", name);
    char *text = NULL, *next;
    size_t len;

    if (hb_file_read(path, 1u << 20, &text, &len, NULL) < 0) {
        abort();
    }
    tree_create(root, size);
    for (char *line = text; line != NULL && *line != '\0'; line = next) {
        struct hb_str o = HB_STR_INIT;

        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        while (*line != '\0') {
            size_t k = 0;
            while (instead != NULL && instead[k] != NULL &&
                   !hb_starts_with(line, instead[k])) {
                k += 2;
            }
            if (instead != NULL && instead[k] != NULL) {
                hb_str_put(&o, instead[k + 1]);
                line += strlen(instead[k]);
            } else {
                hb_str_putc(&o, *line++);
            }
        }
        if (o.len > 0) {
            fabric_tree_line(root, o.s);
        }
        hb_str_destroy(&o);
    }
    free(text);
    free(path);
}

#endif
