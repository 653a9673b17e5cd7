/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A node list as Slurm and Flux write it: names with ranges, parted by
 * commas, "gpu[01-03,07],login2". It says nothing about slots. Written, names
 * that follow one another become ranges, in their order. */

#include "config.h"

#include "hostfile/dialect.h"

#include <stdlib.h>

#include "hostfile/range.h"

static int slurm_read(struct hb_build *b, struct hb_lines *lines,
                      struct hpcboot_error *err)
{
    return hb_form_list.read(b, lines, err);
}

static void slurm_write(const struct hb_gang *gang, struct hb_str *out,
                        struct hb_strv *dropped)
{
    char **names = hb_xcalloc(gang->n > 0 ? gang->n : 1, sizeof(*names));

    for (size_t i = 0; i < gang->n; i++) {
        names[i] = gang->hosts[i].name;
    }
    hb_range_compress(names, gang->n, out);
    hb_str_putc(out, '\n');
    free(names);
    hb_form_dropped(gang, HB_DROP_USER | HB_DROP_PORT | HB_DROP_SLOTS |
                              HB_DROP_MAX_SLOTS, dropped);
}

const struct hb_form hb_form_slurm = {
    .name = "slurm",
    .aliases = "flux",
    .title = "Slurm and Flux node list",
    .tally = HB_TALLY_NONE,
    .read = slurm_read,
    .write = slurm_write,
};
