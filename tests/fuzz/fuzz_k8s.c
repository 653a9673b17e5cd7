/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Any bytes as an answer of the Kubernetes API: a list, a watch, an object, a
 * refusal, a part of the network. However the bytes are cut into pieces, the
 * same objects come out; what was read as a pod has a name that a host can
 * have, and texts that a terminal can show. */

#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile/hostname.h"
#include "hostfile/k8s_cut.h"
#include "hostfile/k8s_gang.h"
#include "hostfile/k8s_json.h"
#include "hostfile/k8s_pod.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pod(const struct hb_k8s_pod *pod)
{
    size_t at;

    if (hb_hostname_wrong(pod->name, &at) != NULL) {
        abort();
    }
    for (const unsigned char *p = (const unsigned char *)pod->why;
         p != NULL && *p != '\0'; p++) {
        if (*p < ' ' || *p == 0x7f) {
            abort();
        }
    }
}

static void put(struct hb_k8s_pods *pods, struct hb_k8s_pod *pod)
{
    struct hb_k8s_pod old;

    check_pod(pod);
    if (hb_k8s_pods_put(pods, pod, &old, NULL) >= 0) {
        hb_k8s_pod_destroy(&old);
    }
}

struct run {
    struct hb_k8s_pods pods;
    struct hb_str objects;
};

static int take_pod(void *arg, const char *json, size_t len,
                    struct hpcboot_error *err)
{
    struct run *run = arg;
    struct hb_k8s_pod pod;

    hb_str_putn(&run->objects, json, len);
    if (hb_k8s_read_pod(json, len, &pod, err) >= 0) {
        put(&run->pods, &pod);
    }
    return HPCBOOT_OK;
}

static int take_event(void *arg, const char *json, size_t len,
                      struct hpcboot_error *err)
{
    struct run *run = arg;
    struct hb_k8s_event event;

    hb_str_putn(&run->objects, json, len);
    if (hb_k8s_read_event(json, len, &event, err) >= 0) {
        if (event.pod.name != NULL) {
            put(&run->pods, &event.pod);
        }
        hb_k8s_event_destroy(&event);
    }
    return HPCBOOT_OK;
}

static int cut_up(enum hb_k8s_cut_kind kind, const uint8_t *data, size_t size,
                  size_t piece, struct run *run)
{
    struct hb_k8s_cut cut;
    struct hb_k8s_head head;
    int rc = HPCBOOT_OK;

    memset(run, 0, sizeof(*run));
    hb_k8s_cut_begin(&cut, kind,
                     kind == HB_K8S_CUT_LIST ? take_pod : take_event, run);
    for (size_t i = 0; rc >= 0 && i < size; i += piece) {
        rc = hb_k8s_cut_feed(&cut, (const char *)data + i,
                             size - i < piece ? size - i : piece, NULL);
    }
    rc = rc < 0 ? rc : hb_k8s_cut_end(&cut, NULL);
    if (rc >= 0 && kind == HB_K8S_CUT_LIST &&
        hb_k8s_read_head(hb_str_text(&cut.head), cut.head.len, &head, NULL) >=
            0) {
        hb_k8s_head_destroy(&head);
    }
    hb_k8s_cut_destroy(&cut);
    return rc;
}

/* What is found of gangs among the pods. */
static void look_at(const struct hb_k8s_pods *pods)
{
    struct hb_k8s_names *names = hb_k8s_names_create(pods);

    for (size_t i = 0; i < pods->n && i < 4; i++) {
        const struct hb_k8s_pod *own = &pods->v[i];
        struct hb_k8s_choice choice = {.own = own,
                                       .kind = hb_k8s_kind_of(own)};
        struct hb_k8s_members members;
        const char *field;
        if (choice.kind != NULL) {
            free(hb_k8s_selector(choice.kind, own));
            free(hb_k8s_size_path(choice.kind, own, "space", &field));
        }
        if (hb_k8s_choose(pods, &choice, &members, NULL) >= 0) {
            hb_k8s_members_destroy(&members);
        }
        hb_k8s_names_find(names, own->name);
    }
    hb_k8s_names_destroy(names);
}

static void run_destroy(struct run *run)
{
    hb_k8s_pods_destroy(&run->pods);
    hb_str_destroy(&run->objects);
}

/* The object as a part of a cluster's network that holds itself. */
static void look_at_network(const char *json, size_t len)
{
    struct hb_k8s_things things = {0};
    struct hb_k8s_tree *tree = NULL;
    struct hb_k8s_thing thing;

    if (hb_k8s_read_thing(json, len, &thing, NULL) < 0) {
        return;
    }
    free(hb_k8s_labels_path(&thing, "a,b,topology.kubernetes.io/zone"));
    hb_k8s_things_append(&things, &thing, NULL);
    hb_k8s_things_sort(&things);
    if (hb_k8s_tree_create(&things, &things, &tree, NULL) >= 0) {
        free(hb_k8s_tree_path(tree, things.v[0].name));
        free(hb_k8s_tree_path(tree, "n-1"));
    }
    hb_k8s_tree_destroy(tree);
    hb_k8s_things_destroy(&things);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t number;

    for (int kind = HB_K8S_CUT_LIST; kind <= HB_K8S_CUT_STREAM; kind++) {
        struct run whole, pieces;
        int a = cut_up((enum hb_k8s_cut_kind)kind, data, size,
                       size > 0 ? size : 1, &whole);
        int b = cut_up((enum hb_k8s_cut_kind)kind, data, size, 3, &pieces);
        if (a != b || whole.objects.len != pieces.objects.len ||
            strcmp(hb_str_text(&whole.objects),
                   hb_str_text(&pieces.objects)) != 0) {
            abort();
        }
        look_at(&whole.pods);
        run_destroy(&whole);
        run_destroy(&pieces);
    }
    look_at_network((const char *)data, size);
    free(hb_k8s_read_group_words((const char *)data, size));
    free(hb_k8s_read_refusal((const char *)data, size));
    hb_k8s_read_spec_number((const char *)data, size, "minMember", &number);
    return 0;
}
