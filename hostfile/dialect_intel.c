/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The machine file of Intel MPI, "HOST:N". It is Hydra's form, and what is
 * read is the same; written, a line has nothing but host and count, which
 * every release understands. */

#include "config.h"

#include "hostfile/dialect.h"

#include <string.h>

static int intel_read(struct hb_build *b, struct hb_lines *lines,
                      struct hpcboot_error *err)
{
    return hb_form_hydra.read(b, lines, err);
}

static void intel_write(const struct hb_gang *gang, struct hb_str *out,
                        struct hb_strv *dropped)
{
    hb_form_write_counts(gang, "\n", out, dropped);
    hb_form_dropped(gang, HB_DROP_USER | HB_DROP_PORT | HB_DROP_MAX_SLOTS |
                              HB_DROP_COUNTED, dropped);
}

const struct hb_form hb_form_intel = {
    .name = "intel",
    .aliases = "impi",
    .title = "Intel MPI machine file",
    .tally = HB_TALLY_EACH,
    .needs_slots = 1,
    .read = intel_read,
    .write = intel_write,
};
