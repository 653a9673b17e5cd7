/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_PODNAME_H
#define HB_HOSTFILE_PODNAME_H

/* What Kubernetes calls the pod that this is, which is not the host name where
 * the pod uses its node's network. No network is asked. */
struct hb_podname {
    char *name;  /* or NULL: this is no pod, or one that cannot tell */
    char *space; /* its namespace, or NULL: not known */
};
/* `root` as in hb_gang_request. */
void hb_podname_read(struct hb_podname *out, const char *root);
void hb_podname_destroy(struct hb_podname *pod); /* what it holds */
/* 1: `name` is that of this pod, alone or with the Service and the namespace
 * that it has it in. */
int hb_podname_is(const struct hb_podname *pod, const char *name);

#endif
