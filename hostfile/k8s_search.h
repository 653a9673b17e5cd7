/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_K8S_SEARCH_H
#define HB_HOSTFILE_K8S_SEARCH_H

#include "hostfile/hostfile.h"
#include "hostfile/k8s_gang.h"

/* A gang that is looked for by the Kubernetes API: source_kubernetes.c says
 * which pods, here they are listed, waited for and followed. */
struct hb_k8s_search {
    const struct hb_gang_request *req;
    struct hb_k8s_login login;
    struct hb_k8s_choice choice;
    struct hb_k8s *self; /* holds this pod */
    struct hb_k8s *list; /* holds the members */
    char *selector;
    char *group_path;    /* of what keeps all of them back; or NULL */
    uint64_t expected;   /* members; 0: not known */
    int is_stated;       /* that is the user's number */
    int granted_before;  /* pods could be listed in the job's former life */
    int64_t deadline_ns;
    int64_t listed_ms;   /* when the list was complete */
    int64_t new_ms;      /* when a pod was new last, or gone */
    int64_t changed_ms;  /* when anything of a pod was another last */
    int64_t told_ms;
    char *told;          /* the last that was said */
    char lacking[HPCBOOT_ERROR_TEXT_MAX]; /* a task that is awaited, or "" */
    int is_listed;
    int has_gone;        /* a pod, since then */
    int is_changed;      /* since the gang was told last */
};
void hb_k8s_search_end(struct hb_k8s_search *s);

/* hb_k8s_wait until s->deadline_ns; where that is long, the silence is told. */
int hb_k8s_search_await(struct hb_k8s_search *s, struct hb_k8s *k,
                        struct hpcboot_error *err);
/* As the `ask` of a source, waiting as its request says. */
int hb_k8s_search_gather(struct hb_k8s_search *s, struct hb_gang *out,
                         char **reason_out, struct hpcboot_error *err);
/* Tells the gang as it is, and again whenever it may be another one. Returns
 * only when the API is of no more use; negative. */
int hb_k8s_search_follow(struct hb_k8s_search *s, hb_gang_changed changed,
                         void *arg, struct hpcboot_error *err);

#endif
