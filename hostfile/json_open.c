/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The program's side of the JSON reader: opening it, freeing what it gave. */

#include "config.h"

#include "hostfile/json.h"

#include "lib/base/module_load.h"

int hb_gang_json_open(const struct hb_gang_json **out,
                      struct hpcboot_error *err)
{
    const void *found;
    int rc = hb_module_open(HB_GANG_JSON_MODULE, HB_GANG_JSON_SYMBOL, &found,
                            err);

    if (rc >= 0) {
        *out = found;
    }
    return rc;
}

void hb_tf_config_destroy(struct hb_tf_config *c)
{
    hb_strv_destroy(&c->members);
    c->sparse = c->cloud = 0;
}

void hb_flux_set_destroy(struct hb_flux_set *s)
{
    hb_strv_destroy(&s->nodelist);
    hb_strv_destroy(&s->ranks);
    hb_strv_destroy(&s->cores);
}
