/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TESTS_UNIT_TREE_H
#define HB_TESTS_UNIT_TREE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory of a test's own that stands for "/". */
static inline void tree_create(char *root, size_t size)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(root, size, "%s/hb-test-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(root) == NULL) {
        abort();
    }
}

static inline void tree_write_bytes(const char *root, const char *path,
                                    const void *data, size_t len)
{
    char full[1024];
    FILE *f;

    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *p = full + strlen(root) + 1; *p != '\0'; p++) {
        if (*p == '/') {
            *p = '\0';
            mkdir(full, 0755);
            *p = '/';
        }
    }
    f = fopen(full, "we");
    if (f == NULL || fwrite(data, 1, len, f) != len || fclose(f) != 0) {
        abort();
    }
}

static inline void tree_write(const char *root, const char *path,
                              const char *text)
{
    tree_write_bytes(root, path, text, strlen(text));
}

static inline int tree_remove_one(const char *path, const struct stat *st,
                                  int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static inline void tree_remove(const char *root)
{
    nftw(root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
