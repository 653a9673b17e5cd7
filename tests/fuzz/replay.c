/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * The main() of every fuzz harness when no fuzzer drives it: runs the entry
 * point over the files of a corpus, so that each input that once broke a
 * parser stays a test.
 *
 *   fuzz_wire [DIRECTORY|FILE]...
 *
 * Without arguments the corpus is tests/fuzz/corpus/<name> under $srcdir
 * (which `make check` sets), where <name> follows "fuzz_" in the program's
 * name. Each file is run whole and, while it is small, cut short at every
 * byte. Inputs are copied to memory of exactly their size, so that the
 * address sanitizer sees the first byte read past the end.
 *
 * Exit status: 0 when all files went through, 1 when there was none or one
 * could not be read. A harness that finds something aborts.
 */
#include "config.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (16u << 20)
#define PREFIXES_MAX 4096u /* longer files are run whole only */

static void run_copy(const char *data, size_t size)
{
    uint8_t *copy = hb_xmalloc(size);

    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* Returns how many files were run, or a negative status. */
static int run_file(const char *path)
{
    struct hpcboot_error err;
    char *data = NULL;
    size_t size = 0, n;

    if (hb_file_read(path, INPUT_MAX, &data, &size, &err) < 0) {
        fprintf(stderr, "replay: %s\n", err.text);
        return err.code;
    }
    run_copy(data, size);
    for (n = 0; size <= PREFIXES_MAX && n < size; n++) {
        run_copy(data, n);
    }
    free(data);
    return 1;
}

static int run_directory(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int count = 0, rc = 0;
    char *file;

    if (dir == NULL) {
        perror(path);
        return HPCBOOT_ERR_NOT_FOUND;
    }
    while (rc >= 0 && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        file = hb_xasprintf("%s/%s", path, entry->d_name);
        rc = run_file(file);
        count += rc > 0 ? rc : 0;
        free(file);
    }
    closedir(dir);
    return rc < 0 ? rc : count;
}

static int run_path(const char *path)
{
    struct stat st;
    int count;

    if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        count = run_file(path);
    } else {
        count = run_directory(path);
    }
    if (count == 0) {
        fprintf(stderr, "replay: %s: no files\n", path);
    } else if (count > 0) {
        printf("%s: %d inputs\n", path, count);
    }
    return count;
}

static char *default_corpus(const char *program)
{
    const char *srcdir = getenv("srcdir");
    const char *slash = strrchr(program, '/');
    const char *name = slash != NULL ? slash + 1 : program;

    name += hb_starts_with(name, "fuzz_") ? strlen("fuzz_") : 0;
    return hb_xasprintf("%s/tests/fuzz/corpus/%s",
                        srcdir != NULL ? srcdir : ".", name);
}

int main(int argc, char **argv)
{
    int status = EXIT_SUCCESS, i;
    char *corpus;

    if (argc < 2) {
        corpus = default_corpus(argv[0]);
        status = run_path(corpus) > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
        free(corpus);
    }
    for (i = 1; i < argc; i++) {
        if (run_path(argv[i]) <= 0) {
            status = EXIT_FAILURE;
        }
    }
    return status;
}
