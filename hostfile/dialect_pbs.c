/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The node file of PBS, Torque and Cobalt: one name per line, once for each
 * slot, not necessarily side by side. Nodes are in the order in which they
 * first appear. Cobalt's HOST:N is understood as well. */

#include "config.h"

#include "hostfile/dialect.h"

#include <string.h>

static void pbs_write(const struct hb_gang *gang, struct hb_str *out,
                      struct hb_strv *dropped)
{
    for (size_t i = 0; i < gang->n; i++) {
        int slots = gang->hosts[i].slots > 0 ? gang->hosts[i].slots : 1;
        size_t len = strlen(gang->hosts[i].name);
        for (int k = 0; k < slots; k++) {
            hb_str_putn(out, gang->hosts[i].name, len);
            hb_str_putc(out, '\n');
        }
    }
    hb_form_dropped(gang, HB_DROP_USER | HB_DROP_PORT | HB_DROP_MAX_SLOTS |
                              HB_DROP_COUNTED, dropped);
}

const struct hb_form hb_form_pbs = {
    .name = "pbs",
    .aliases = "torque cobalt",
    .title = "PBS node file",
    .tally = HB_TALLY_EACH,
    .needs_slots = 1,
    .read = hb_form_read_words,
    .write = pbs_write,
};
