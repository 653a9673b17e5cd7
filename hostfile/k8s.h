/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_K8S_H
#define HB_HOSTFILE_K8S_H

#include <stdint.h>

#include "hostfile/hostfile.h"
#include "lib/base/str.h"

/* What the Kubernetes API says about pods: who belongs to a gang, at which
 * address, and why one is not there. The client needs libcurl and jansson; it
 * is the module hb_k8s, opened when the API is asked.
 *
 * Nothing here is safe to use from two threads at once. */

/* How this pod may talk to the API: the variables and files that the kubelet
 * gives every pod with a service account. */
struct hb_k8s_login {
    char *server; /* "https://10.96.0.1:443", "https://[fd00::1]:443" */
    char *ca;     /* file: who may have signed the server's certificate */
    char *token;  /* file: read again for each request, as it is renewed */
    char *space;  /* the namespace */
};
/* 1: *out is filled. 0: this is no such pod, *reason_out says why (free()). */
int hb_k8s_login_read(const struct hb_gang_request *req,
                      struct hb_k8s_login *out, char **reason_out);
void hb_k8s_login_destroy(struct hb_k8s_login *login);

/* Labels and annotations that tell which gang a pod is of; anything else of
 * their kind is not kept. */
#define HB_K8S_MARKS(X)                                                \
    X(VC_JOB, "volcano.sh/job-name")                                   \
    X(VC_TASK, "volcano.sh/task-spec")                                 \
    X(VC_INDEX, "volcano.sh/task-index")                               \
    X(VC_KILLED, "volcano.sh/controller-out-of-sync")                  \
    X(KF_JOB, "training.kubeflow.org/job-name")                        \
    X(KF_OPERATOR, "training.kubeflow.org/operator-name")              \
    X(KF_TYPE, "training.kubeflow.org/replica-type")                   \
    X(KF_ROLE, "training.kubeflow.org/job-role")                       \
    X(KF_INDEX, "training.kubeflow.org/replica-index")                 \
    X(JS_NAME, "jobset.sigs.k8s.io/jobset-name")                       \
    X(JS_PART, "jobset.sigs.k8s.io/replicatedjob-name")                \
    X(JS_JOB, "jobset.sigs.k8s.io/job-index")                          \
    X(RAY_CLUSTER, "ray.io/cluster")                                   \
    X(RAY_TYPE, "ray.io/node-type")                                    \
    X(LWS_NAME, "leaderworkerset.sigs.k8s.io/name")                    \
    X(LWS_GROUP, "leaderworkerset.sigs.k8s.io/group-index")            \
    X(LWS_INDEX, "leaderworkerset.sigs.k8s.io/worker-index")           \
    X(LWS_SIZE, "leaderworkerset.sigs.k8s.io/size")                    \
    X(JOB_NAME, "batch.kubernetes.io/job-name")                        \
    X(JOB_NAME_OLD, "job-name")                                        \
    X(JOB_INDEX, "batch.kubernetes.io/job-completion-index")           \
    X(POD_GROUP, "scheduling.x-k8s.io/pod-group")                      \
    X(VC_GROUP, "scheduling.k8s.io/group-name")                        \
    X(KUEUE_GROUP, "kueue.x-k8s.io/pod-group-name")                    \
    X(KUEUE_INDEX, "kueue.x-k8s.io/pod-group-pod-index")               \
    X(KUEUE_SIZE, "kueue.x-k8s.io/pod-group-total-count")
enum hb_k8s_mark {
#define HB_X(name, key) HB_K8S_##name,
    HB_K8S_MARKS(HB_X)
#undef HB_X
    HB_K8S_N_MARKS
};
const char *hb_k8s_mark_key(enum hb_k8s_mark mark);

/* How a pod is. The order is that of nearness to being ready. */
enum hb_k8s_state {
    HB_K8S_READY,         /* runs, and its probes say so */
    HB_K8S_NOT_READY,     /* runs */
    HB_K8S_STARTING,      /* on a node, image and volumes on the way */
    HB_K8S_PENDING,       /* not looked at by the scheduler yet */
    HB_K8S_GATED,         /* held back: a queue, a scheduling gate */
    HB_K8S_UNSCHEDULABLE, /* no node fits */
    HB_K8S_IMAGE,         /* the image cannot be had */
    HB_K8S_CONFIG,        /* a Secret, ConfigMap, mount or name is wrong */
    HB_K8S_CRASHING,      /* its program has ended, and is started again */
    HB_K8S_OOM,           /* its program went over its memory limit */
    HB_K8S_EVICTED,       /* taken off its node: pressure, drain, preemption */
    HB_K8S_DELETED,       /* on purpose, or gone */
    HB_K8S_ENDED,         /* its program ended well */
    HB_K8S_FAILED         /* its program failed, and is not started again */
};

#define HB_K8S_MAX_ADDRESSES 2 /* one of each family */

struct hb_k8s_pod {
    char *name, *uid, *version; /* version: equal or not, nothing else */
    char *hostname, *subdomain, *node;            /* or NULL */
    char *addresses[HB_K8S_MAX_ADDRESSES];        /* or NULL */
    char *owner_kind, *owner_name, *owner_uid;    /* its controller; or NULL */
    char *marks[HB_K8S_N_MARKS];                  /* or NULL */
    char *created;           /* "2026-01-01T00:00:00Z", or NULL */
    char *ended;             /* the last of its containers that has; or NULL */
    int leaving;             /* being deleted */
    int gone;                /* no longer there */
    enum hb_k8s_state state;
    char *why;               /* a sentence; NULL when ready, but where one of
                              * its containers has ended shortly before */
};
void hb_k8s_pod_destroy(struct hb_k8s_pod *pod); /* what it holds; NULL-safe */

/* Pods, sorted by name. */
struct hb_k8s_pods {
    struct hb_k8s_pod *v;
    size_t n, cap;
};
void hb_k8s_pods_destroy(struct hb_k8s_pods *pods);
const struct hb_k8s_pod *hb_k8s_pods_find(const struct hb_k8s_pods *pods,
                                          const char *name);

/* Which pods: those of the login's namespace that match the selectors. */
struct hb_k8s_query {
    const char *labels; /* a label selector, or NULL: all */
    const char *fields; /* a field selector, or NULL: all */
    int watch;          /* go on after the list is complete */
    int granted_before; /* as for a list that was complete once, a refusal is
                         * a passing trouble for a minute */
    /* Called for each change once the first list is complete: now NULL for a
     * pod that is gone, before NULL for a new one. May be NULL. */
    void (*changed)(void *arg, const struct hb_k8s_pod *before,
                    const struct hb_k8s_pod *now);
    void *arg;
};

/* A list that is being read or kept up to date. No call blocks but
 * hb_k8s_wait. Passing troubles (429, 5xx, a cut connection, an expired list)
 * are tried again for as long as the caller goes on. */
struct hb_k8s;
/* Copies what it is given. ERR_UNSUPPORTED: built without the client. */
int hb_k8s_open(const struct hb_k8s_login *login,
                const struct hb_k8s_query *query, struct hb_k8s **out,
                struct hpcboot_error *err);
void hb_k8s_close(struct hb_k8s *k);
/* Becomes readable when hb_k8s_step has something to do. */
int hb_k8s_fd(const struct hb_k8s *k);
/* 1: the list is complete (and stays so); 0: not yet. Negative: no use to go
 * on; ERR_AUTH where the API refuses, with the Role that would help. */
int hb_k8s_step(struct hb_k8s *k, struct hpcboot_error *err);
/* Steps until the list is complete or `deadline_ns` (lib/base/clock.h) has
 * passed: ERR_TIMED_OUT, with the last trouble. */
int hb_k8s_wait(struct hb_k8s *k, int64_t deadline_ns,
                struct hpcboot_error *err);
/* Borrowed, until the next step. */
const struct hb_k8s_pods *hb_k8s_pods(const struct hb_k8s *k);
/* What went wrong last and is being tried again; "" when nothing did. */
const char *hb_k8s_trouble(const struct hb_k8s *k);

/* One object, of which one number is wanted: how large its owner says that a
 * gang is. `path` is that of the object below the server, `field` one of
 * "minMember", "parallelism" of its spec. hb_k8s_step, _wait and _close as for
 * pods. */
int hb_k8s_open_object(const struct hb_k8s_login *login, const char *path,
                       const char *field, struct hb_k8s **out,
                       struct hpcboot_error *err);
uint64_t hb_k8s_number(const struct hb_k8s *k); /* 0: it has none */

/* Objects of the whole cluster: those listed at `path`, Nodes or HyperNodes
 * (hostfile/k8s_tree.h). `rule` is what a ClusterRole must grant for that.
 * hb_k8s_step, _wait and _close as for pods. */
struct hb_k8s_things;
int hb_k8s_open_things(const struct hb_k8s_login *login, const char *path,
                       const char *rule, int only_metadata,
                       struct hb_k8s **out, struct hpcboot_error *err);
const struct hb_k8s_things *hb_k8s_things(const struct hb_k8s *k); /* sorted */

/* How hosts of the gang are connected, as the cluster says it: a line for each
 * that it knows, "HOST far/.../near". `labels` are keys of labels of nodes,
 * from far to near with commas between; NULL: the HyperNodes of Volcano. Blocks
 * for at most timeout_ms. Returns how many hosts; free() *text_out.
 * ERR_NOT_FOUND: there is no such thing in the cluster; ERR_AUTH: it may not be
 * read, with the ClusterRole that would help; ERR_UNSUPPORTED: this is no pod,
 * or no client was built. */
int hb_k8s_network(const struct hb_gang_request *req,
                   const char *const *hosts, size_t n, const char *labels,
                   int64_t timeout_ms, char **text_out,
                   struct hpcboot_error *err);

/* Why that object keeps its pods back, in its own words. 1: *out is set,
 * free() it; 0: it does not. */
int hb_k8s_group_words(const struct hb_k8s_login *login, const char *path,
                       int64_t deadline_ns, char **out,
                       struct hpcboot_error *err);

/* Why each host is not there, in the cluster's own words: texts_out[n], free()
 * each, with the pod's name where the host's does not say it; NULL where
 * nothing is known or the pod is ready, and none of its containers has ended
 * shortly before. Blocks for at most timeout_ms. Returns how many texts there
 * are; negative: the API could not be asked (ERR_UNSUPPORTED: this is no pod,
 * or no client was built), all NULL. */
int hb_k8s_reasons(const struct hb_gang_request *req,
                   const char *const *hosts, size_t n, int64_t timeout_ms,
                   char **texts_out, struct hpcboot_error *err);

#endif
