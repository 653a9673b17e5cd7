/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hostfile of MVAPICH's mpirun_rsh:
 *
 *   line := host [":" count] [":" adapter] [comment]
 *
 * A host without a count has one slot per mention. Which adapter a host uses
 * is decided elsewhere here, so it is read and not used. mpirun_rsh knows no
 * IPv6 literals; they are understood in brackets. (MVAPICH's mpiexec is Hydra
 * and reads Hydra's form.) */

#include "config.h"

#include "hostfile/dialect.h"

#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* Whether a word can be an RDMA device, as hca1 or mlx5_0, and no count. */
static int is_adapter(const char *word)
{
    size_t n = strspn(word, LETTERS DIGITS "_-");

    return word[n] == '\0' && strspn(word, LETTERS) > 0 &&
           strspn(word + n - 1, DIGITS) == 1;
}

/* Cuts the last field of "host:count:adapter" and "host:adapter" off. An
 * address has colons side by side, or more than two. */
static void cut_adapter(char *word)
{
    char *first = strchr(word, ':');
    char *second = first != NULL ? strchr(first + 1, ':') : NULL;

    if (second == NULL && first != NULL && is_adapter(first + 1)) {
        *first = '\0';
    }
    if (word[0] == '[' || second == NULL || second == first + 1 ||
        strchr(second + 1, ':') != NULL) {
        return;
    }
    *second = '\0';
}

static int read_line(struct hb_build *b, const struct hb_lines *lines,
                     char *word, struct hpcboot_error *err)
{
    cut_adapter(word);
    return hb_form_read_word(b, lines, word, err);
}

static int mvapich_read(struct hb_build *b, struct hb_lines *lines,
                        struct hpcboot_error *err)
{
    return hb_form_each_line(b, lines, read_line, err);
}

static void mvapich_write(const struct hb_gang *gang, struct hb_str *out,
                          struct hb_strv *dropped)
{
    hb_form_write_counts(gang, "\n", out, dropped);
    hb_form_dropped(gang, HB_DROP_USER | HB_DROP_PORT | HB_DROP_MAX_SLOTS |
                              HB_DROP_COUNTED, dropped);
}

const struct hb_form hb_form_mvapich = {
    .name = "mvapich",
    .aliases = "mvapich2 mpirun_rsh",
    .title = "MVAPICH hostfile of mpirun_rsh",
    .tally = HB_TALLY_EACH,
    .needs_slots = 1,
    .read = mvapich_read,
    .write = mvapich_write,
};
