/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_POD_H
#define HB_HOSTFILE_POD_H

#include "hostfile/build.h"
#include "hostfile/source.h"

/* Names of pods: what this one knows about itself, and those of its peers
 * where an operator's rule gives them. */
struct hb_pod {
    char *name;      /* the host name; mostly the pod's too */
    char *domain;    /* "sub.ns.svc.cluster.local" of /etc/hosts, or NULL */
    char *subdomain; /* "sub", when the domain is a Service's, or NULL */
};
void hb_pod_read(struct hb_pod *out, const struct hb_gang_request *req);
void hb_pod_destroy(struct hb_pod *pod);

/* The number behind the last "-" of a name's first label, and the length of
 * what stands before that "-"; -1 when there is none. */
long hb_pod_index(const char *name, size_t *stem_len_out);

/* The pods of an indexed workload as large as n, in the place of this one:
 * STEM-0.SUBDOMAIN to STEM-(n-1).SUBDOMAIN. */
int hb_pod_peers(const struct hb_gang_request *req, const struct hb_pod *pod,
                 uint64_t n, const char *origin, struct hb_gang *out,
                 struct hpcboot_error *err);
/* The pods "a-0.sub" to "a-(n-1).sub" where the first one's name is given. */
int hb_pod_series(const struct hb_gang_request *req, const char *first,
                  uint64_t n, int slots, const char *origin,
                  struct hb_gang *out, struct hpcboot_error *err);

/* Members that a source names itself, one after the other. */
struct hb_members {
    struct hb_build *build;
    struct hb_lines lines; /* of one word: the name at hand */
    int slots;             /* of each; 0: not stated */
    int failed;            /* status of the first name that was refused */
};
void hb_members_begin(struct hb_members *m, const char *origin, int slots);
/* After the first name that is refused, the rest is ignored. */
void hb_members_add(struct hb_members *m, struct hpcboot_error *err,
                    const char *fmt, ...) HB_PRINTF(3, 4);
/* Hands over the members, or frees them all on failure. */
int hb_members_end(struct hb_members *m, const struct hb_gang_request *req,
                   struct hb_gang *out);

#endif
