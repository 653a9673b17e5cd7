/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_K8S_JSON_H
#define HB_HOSTFILE_K8S_JSON_H

#include "hostfile/k8s_pod.h"
#include "hostfile/k8s_tree.h"

/* The API's objects, read by jansson. Outputs are zeroed on failure. Texts
 * that are kept are cut to HB_K8S_MAX_TEXT and hold no control characters. */
int hb_k8s_read_pod(const char *json, size_t len, struct hb_k8s_pod *out,
                    struct hpcboot_error *err);

/* What a list has beside its items. */
struct hb_k8s_head {
    char *version;  /* where a watch goes on */
    char *more;     /* asks for the next page; NULL: this was the last */
};
int hb_k8s_read_head(const char *json, size_t len, struct hb_k8s_head *out,
                     struct hpcboot_error *err);
void hb_k8s_head_destroy(struct hb_k8s_head *head);

enum hb_k8s_event_type {
    HB_K8S_CHANGED, HB_K8S_REMOVED, HB_K8S_BOOKMARK, HB_K8S_ERROR
};
struct hb_k8s_event {
    enum hb_k8s_event_type type;
    struct hb_k8s_pod pod; /* of the first two */
    char *version;         /* of a bookmark, or NULL */
    int code;              /* of an error, as HTTP has them */
    char *message;         /* of an error, or NULL */
};
int hb_k8s_read_event(const char *json, size_t len, struct hb_k8s_event *out,
                      struct hpcboot_error *err);
void hb_k8s_event_destroy(struct hb_k8s_event *event);

/* The message of an answer that says no; NULL when it has none. free() it. */
char *hb_k8s_read_refusal(const char *json, size_t len);
/* Why the owner of pods (a PodGroup, a Job) keeps them back, in its own words:
 * "NotEnoughResources: 3/2 tasks in gang unschedulable", or its phase while it
 * has said nothing; NULL: it does not. free() it. */
char *hb_k8s_read_group_words(const char *json, size_t len);
/* A whole number at spec.FIELD; 0: it is not there. */
int hb_k8s_read_spec_number(const char *json, size_t len, const char *field,
                            uint64_t *out);

/* k8s_thing.c: a Node or a HyperNode. */
int hb_k8s_read_thing(const char *json, size_t len, struct hb_k8s_thing *out,
                      struct hpcboot_error *err);

#endif
