/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Asks the cluster how the nodes are connected on which hosts of a gang run:
 * pods tell their node, HyperNodes or labels its place. Both are of the whole
 * cluster, which needs a right that pods seldom have; the refusal says which.
 */

#include "config.h"

#include "hostfile/k8s.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/k8s_module.h"
#include "hostfile/k8s_pod.h"
#include "hostfile/k8s_tree.h"
#include "lib/base/clock.h"

#define HYPERNODES "/apis/topology.volcano.sh/v1alpha1/hypernodes"
#define HYPERNODES_RULE                                                     \
    "apiGroups: [topology.volcano.sh], resources: [hypernodes]"
#define NODES "/api/v1/nodes"
#define NODES_RULE "apiGroups: [\"\"], resources: [nodes]"

struct asked {
    const struct hb_k8s_login *login;
    int64_t deadline_ns;
    struct hb_k8s *pods;
    struct hb_k8s *hypernodes, *nodes; /* or NULL */
    struct hb_k8s_tree *tree;          /* or NULL: by labels */
    const char *labels;
};

static int list_pods(struct asked *a, struct hpcboot_error *err)
{
    const struct hb_k8s_query query = {0};
    int rc = hb_k8s_open(a->login, &query, &a->pods, err);

    return rc < 0 ? rc : hb_k8s_wait(a->pods, a->deadline_ns, err);
}

static int list_things(struct asked *a, const char *path, const char *rule,
                       struct hb_k8s **out, struct hpcboot_error *err)
{
    int rc = hb_k8s_open_things(a->login, path, rule,
                                strcmp(path, NODES) == 0, out, err);

    return rc < 0 ? rc : hb_k8s_wait(*out, a->deadline_ns, err);
}

static int ask_tree(struct asked *a, struct hpcboot_error *err)
{
    static const struct hb_k8s_things none;
    const struct hb_k8s_things *hypernodes;
    int rc = list_things(a, HYPERNODES, HYPERNODES_RULE, &a->hypernodes, err);

    if (rc < 0) {
        return rc;
    }
    hypernodes = hb_k8s_things(a->hypernodes);
    if (hypernodes->n == 0) {
        return hb_fail(err, HPCBOOT_ERR_NOT_FOUND,
                       "the cluster has no HyperNodes");
    }
    if (hb_k8s_tree_needs_labels(hypernodes)) {
        rc = list_things(a, NODES, NODES_RULE, &a->nodes, err);
    }
    return rc < 0 ? rc
                  : hb_k8s_tree_create(hypernodes,
                                       a->nodes != NULL
                                           ? hb_k8s_things(a->nodes) : &none,
                                       &a->tree, err);
}

static char *path_of(const struct asked *a, const char *node)
{
    const struct hb_k8s_thing *thing;

    if (a->tree != NULL) {
        return hb_k8s_tree_path(a->tree, node);
    }
    thing = hb_k8s_things_find(hb_k8s_things(a->nodes), node);
    return thing != NULL ? hb_k8s_labels_path(thing, a->labels) : NULL;
}

/* A host that is no pod may be a node itself. */
static int put_lines(const struct asked *a, const char *const *hosts, size_t n,
                     struct hb_str *out)
{
    struct hb_k8s_names *names = hb_k8s_names_create(hb_k8s_pods(a->pods));
    int found = 0;

    for (size_t i = 0; i < n; i++) {
        const struct hb_k8s_pod *pod = hb_k8s_names_find(names, hosts[i]);
        const char *node = pod != NULL ? pod->node : hosts[i];
        char *path = node != NULL ? path_of(a, node) : NULL;
        if (path != NULL) {
            /* The node is the last step: pods on one node are nearest. */
            hb_str_putf(out, "%s %s/%s\n", hosts[i], path, node);
            found++;
        }
        free(path);
    }
    hb_k8s_names_destroy(names);
    return found;
}

static int ask(struct asked *a, const char *const *hosts, size_t n,
               char **text_out, struct hpcboot_error *err)
{
    struct hb_str text = HB_STR_INIT;
    int rc = list_pods(a, err);

    if (rc >= 0) {
        rc = a->labels != NULL
                 ? list_things(a, NODES, NODES_RULE, &a->nodes, err)
                 : ask_tree(a, err);
    }
    if (rc < 0) {
        return rc;
    }
    rc = put_lines(a, hosts, n, &text);
    if (rc == 0) {
        hb_str_destroy(&text);
        return hb_fail(err, HPCBOOT_ERR_NOT_FOUND,
                       a->labels != NULL
                           ? "no node of these hosts has a label of %.200s"
                           : "no node of these hosts is in a HyperNode%.0s",
                       a->labels != NULL ? a->labels : "");
    }
    *text_out = hb_str_steal(&text);
    return rc;
}

int hb_k8s_network(const struct hb_gang_request *req,
                   const char *const *hosts, size_t n, const char *labels,
                   int64_t timeout_ms, char **text_out,
                   struct hpcboot_error *err)
{
    struct hb_k8s_login login;
    struct asked a = {.login = &login, .labels = labels,
                      .deadline_ns = hb_deadline_in_ms(timeout_ms)};
    char *reason = NULL;
    int rc;

    if (!hb_k8s_login_read(req, &login, &reason)) {
        rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                     "the Kubernetes API cannot be asked: %s", reason);
        free(reason);
        return rc;
    }
    rc = ask(&a, hosts, n, text_out, err);
    hb_k8s_tree_destroy(a.tree);
    hb_k8s_close(a.nodes);
    hb_k8s_close(a.hypernodes);
    hb_k8s_close(a.pods);
    hb_k8s_login_destroy(&login);
    return rc;
}
