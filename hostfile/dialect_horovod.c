/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The list of horovodrun -H, "a:4,b:2": as that of -H here, but every host
 * needs a count when it is written. */

#include "config.h"

#include "hostfile/dialect.h"

static int horovod_read(struct hb_build *b, struct hb_lines *lines,
                        struct hpcboot_error *err)
{
    return hb_form_list.read(b, lines, err);
}

static void horovod_write(const struct hb_gang *gang, struct hb_str *out,
                          struct hb_strv *dropped)
{
    hb_form_write_counts(gang, ",", out, dropped);
    hb_str_putc(out, '\n');
    hb_form_dropped(gang, HB_DROP_USER | HB_DROP_PORT | HB_DROP_MAX_SLOTS |
                              HB_DROP_COUNTED, dropped);
}

const struct hb_form hb_form_horovod = {
    .name = "horovod",
    .title = "host list of horovodrun -H",
    .tally = HB_TALLY_EACH,
    .needs_slots = 1,
    .read = horovod_read,
    .write = horovod_write,
};
