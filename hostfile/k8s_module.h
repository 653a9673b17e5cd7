/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_K8S_MODULE_H
#define HB_HOSTFILE_K8S_MODULE_H

#include "hostfile/k8s.h"

/* What the module hb_k8s exports; hostfile/k8s.h has the meaning. */
#define HB_K8S_MODULE "hb_k8s"
#define HB_K8S_SYMBOL "hb_k8s_ops"

/* Something else than the pods of the namespace. */
struct hb_k8s_path {
    const char *path;
    const char *field; /* one object, of which this field is wanted; or NULL */
    const char *rule;  /* a list, which a ClusterRole of this rule grants; or
                        * NULL */
    int only_metadata; /* of each object in the list */
};

/* What one object says. */
struct hb_k8s_object {
    uint64_t number; /* `field` of its spec; 0: it has none */
    char *words;     /* why it keeps its pods back; or NULL */
};

struct hb_k8s_ops {
    int (*open)(const struct hb_k8s_login *login,
                const struct hb_k8s_query *query, struct hb_k8s **out,
                struct hpcboot_error *err);
    int (*open_path)(const struct hb_k8s_login *login,
                     const struct hb_k8s_path *path, struct hb_k8s **out,
                     struct hpcboot_error *err);
    void (*close)(struct hb_k8s *k);
    int (*fd)(const struct hb_k8s *k);
    int (*step)(struct hb_k8s *k, struct hpcboot_error *err);
    const struct hb_k8s_pods *(*pods)(const struct hb_k8s *k);
    const struct hb_k8s_things *(*things)(const struct hb_k8s *k);
    const char *(*trouble)(const struct hb_k8s *k);
    const struct hb_k8s_object *(*object)(const struct hb_k8s *k);
};

#endif
