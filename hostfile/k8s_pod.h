/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_K8S_POD_H
#define HB_HOSTFILE_K8S_POD_H

#include "hostfile/k8s.h"

/* More than the largest cluster that Kubernetes supports can run. */
#define HB_K8S_MAX_PODS 200000u
/* What is kept of a text that the API gives: messages are for people. */
#define HB_K8S_MAX_TEXT 400u

/* Appends; the table takes the pod. ERR_LIMIT. Call _sort before _find. */
int hb_k8s_pods_append(struct hb_k8s_pods *pods, struct hb_k8s_pod *pod,
                       struct hpcboot_error *err);
/* By name; of several with one name the last that was appended stays. */
void hb_k8s_pods_sort(struct hb_k8s_pods *pods);
/* Puts a pod in its place or over the one of its name, which goes to *old
 * (zeroed when there was none). Takes the pod. */
int hb_k8s_pods_put(struct hb_k8s_pods *pods, struct hb_k8s_pod *pod,
                    struct hb_k8s_pod *old, struct hpcboot_error *err);
/* A newer list, sorted as the old one is, takes its place; pods that it does
 * not hold any more stay, as gone. `changed` is told of each difference, and
 * may be NULL. */
void hb_k8s_pods_renew(struct hb_k8s_pods *pods, struct hb_k8s_pods *newer,
                       void (*changed)(void *arg,
                                       const struct hb_k8s_pod *before,
                                       const struct hb_k8s_pod *now),
                       void *arg);
/* The names by which others may call pods, sorted; built once for many
 * questions. */
struct hb_k8s_names;
struct hb_k8s_names *hb_k8s_names_create(const struct hb_k8s_pods *pods);
/* The pod that a host of the gang is, by address, host name or pod name;
 * NULL: none is. */
const struct hb_k8s_pod *hb_k8s_names_find(const struct hb_k8s_names *names,
                                           const char *host);
void hb_k8s_names_destroy(struct hb_k8s_names *names);

/* What a pod's status says, as it stands there; texts may be NULL. */
struct hb_k8s_facts {
    const char *phase, *reason, *message;
    const char *scheduled_reason, *scheduled_message; /* when false */
    const char *disruption_reason, *disruption_message; /* when true */
    int ready;
    int leaving, killed; /* deletionTimestamp; the controller's own mark */
    /* The container that is worst off. */
    const char *container;
    const char *waiting_reason, *waiting_message;
    const char *ended_reason, *ended_message; /* now, or the last time */
    int64_t exit_code, signal, restarts;
    int ended; /* it does not run now */
    int again; /* it has ended, and is started again by the kubelet */
    int is_back; /* it has ended shortly before, and runs again */
    int runs;  /* one of the pod's main containers does */
    const char *memory_limit;
};
/* Seconds since a time as the API writes them; a large number where it is not
 * understood. */
int64_t hb_k8s_age_s(const char *time);

/* Sets state and why. */
void hb_k8s_judge(const struct hb_k8s_facts *facts, struct hb_k8s_pod *pod);

#endif
