/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_K8S_GANG_H
#define HB_HOSTFILE_K8S_GANG_H

#include "hostfile/k8s.h"

/* From pods to a gang, without asking anybody. */

#define HB_K8S_NO_MARK HB_K8S_N_MARKS

/* A kind of gang, and which marks tell about it. */
struct hb_k8s_kind {
    const char *title;         /* "Volcano Job" */
    enum hb_k8s_mark keys[2];  /* equal in all members; the first names it */
    enum hb_k8s_mark parts[2]; /* the first that is there names the part */
    enum hb_k8s_mark index[2]; /* a member's place in its part */
    enum hb_k8s_mark size;     /* how many members there are */
    int by_annotation;         /* no selector can find the members */
    int needs_subdomain;       /* without names the pods are no gang */
};
/* The kind of gang a pod is of; NULL: none. */
const struct hb_k8s_kind *hb_k8s_kind_of(const struct hb_k8s_pod *pod);
/* A label selector for its members; NULL where none can be; free() it. */
char *hb_k8s_selector(const struct hb_k8s_kind *kind,
                      const struct hb_k8s_pod *pod);
/* The path of the PodGroup that the pod is of; NULL: it is of none. free(). */
char *hb_k8s_group_path(const struct hb_k8s_pod *pod, const char *space);
/* The path of the object whose spec says how large the gang is, and of which
 * field; NULL: there is none. free() it. */
char *hb_k8s_size_path(const struct hb_k8s_kind *kind,
                       const struct hb_k8s_pod *pod, const char *space,
                       const char **field_out);

/* Which pods are wanted, of those that are listed. */
struct hb_k8s_choice {
    const struct hb_k8s_kind *kind; /* NULL: every pod that is listed */
    const struct hb_k8s_pod *own;   /* this pod; NULL where not known */
    const char *group;              /* only pods of this pod group; or NULL */
    const char *tasks;              /* HPCBOOT_TASKS, or NULL */
};
struct hb_k8s_members {
    const struct hb_k8s_pod **v; /* those that run ranks, in order */
    char **names;                /* [n] how each is reached; NULL: not yet */
    size_t n, n_named;
    size_t n_all;                /* members of all parts that are there */
    size_t n_prepared;           /* and that had ended before others began */
    size_t n_leaving;            /* that are being deleted, and not replaced */
    const char *why;             /* which parts were taken; static */
    struct hb_str lost;          /* members that will not come, and why */
};
/* Borrows the pods. ERR_NOT_FOUND: `tasks` names a part that is not there. */
int hb_k8s_choose(const struct hb_k8s_pods *pods,
                  const struct hb_k8s_choice *choice,
                  struct hb_k8s_members *out, struct hpcboot_error *err);
void hb_k8s_members_destroy(struct hb_k8s_members *m);

#endif
