/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_JSON_H
#define HB_HOSTFILE_JSON_H

#include "lib/base/strv.h"

/* What sources read out of JSON. The reader needs jansson and is the module
 * hb_gangjson, opened when such a text is there. */
#define HB_GANG_JSON_MODULE "hb_gangjson"
#define HB_GANG_JSON_SYMBOL "hb_gang_json"

struct hb_tf_config {
    struct hb_strv members; /* hosts, without ports */
    int sparse; /* it names but a part of the workers */
    int cloud;  /* "environment" says so */
};
void hb_tf_config_destroy(struct hb_tf_config *c);

struct hb_flux_set { /* a resource set, version 1 */
    struct hb_strv nodelist; /* lists with ranges, in the order of ranks */
    struct hb_strv ranks;    /* [n] an id set of ranks, "0-3,7" */
    struct hb_strv cores;    /* [n] the id set of their cores */
};
void hb_flux_set_destroy(struct hb_flux_set *s);

struct hb_gang_json {
    /* The value of TF_CONFIG, as TFJob and Volcano's tensorflow plugin make
     * it. Outputs are empty on failure. */
    int (*tf_config)(const char *text, struct hb_tf_config *out,
                     struct hpcboot_error *err);
    /* The claims of a service account's token: the pod and the namespace that
     * it was made for, free() both; NULL where it says none. */
    void (*token_pod)(const char *text, size_t len, char **pod_out,
                      char **space_out);
    int (*flux_set)(const char *text, size_t len, struct hb_flux_set *out,
                    struct hpcboot_error *err);
};
int hb_gang_json_open(const struct hb_gang_json **out,
                      struct hpcboot_error *err);

#endif
