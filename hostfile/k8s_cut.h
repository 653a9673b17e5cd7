/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_K8S_CUT_H
#define HB_HOSTFILE_K8S_CUT_H

#include "lib/base/error.h"
#include "lib/base/str.h"

/* Cuts a stream of JSON into objects that are small enough to be read whole,
 * as the bytes arrive. */
enum hb_k8s_cut_kind {
    HB_K8S_CUT_LIST,  /* one object; the members of its "items" are cut out */
    HB_K8S_CUT_STREAM /* one object after the other */
};
/* etcd keeps objects of at most 1.5 MiB. */
#define HB_K8S_MAX_OBJECT (4u << 20)
/* What a list has beside its items: a few hundred bytes. */
#define HB_K8S_MAX_HEAD (64u << 10)
/* Field sets of a pod are nested some 15 deep. */
#define HB_K8S_MAX_DEPTH 64

struct hb_k8s_cut {
    enum hb_k8s_cut_kind kind;
    /* An object, NUL-terminated; negative ends the cutting. */
    int (*take)(void *arg, const char *json, size_t len,
                struct hpcboot_error *err);
    void *arg;
    struct hb_str object, head;
    uint64_t n_bytes;      /* seen */
    size_t n_objects;      /* handed out */
    /* Where in the text the next byte is. */
    char open[HB_K8S_MAX_DEPTH]; /* the brackets around it */
    int depth, in_string, escaped, in_items, in_object;
    int begun;             /* a list's outermost object */
    int drop_depth;        /* > 0: inside a value that nobody reads, which is
                            * left out; it ends at this depth */
    int key_is_dropped;    /* the last text is the name of such a value */
    char key[16];          /* the begin of the last text */
    size_t key_len;
};
void hb_k8s_cut_begin(struct hb_k8s_cut *c, enum hb_k8s_cut_kind kind,
                      int (*take)(void *, const char *, size_t,
                                  struct hpcboot_error *), void *arg);
int hb_k8s_cut_feed(struct hb_k8s_cut *c, const char *data, size_t len,
                    struct hpcboot_error *err);
/* The stream has ended: ERR_PARSE when it did so within an object. Of a list,
 * c->head is then the text around the items. */
int hb_k8s_cut_end(const struct hb_k8s_cut *c, struct hpcboot_error *err);
void hb_k8s_cut_destroy(struct hb_k8s_cut *c);

#endif
