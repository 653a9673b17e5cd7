/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* --order topology: puts the hosts of the gang into the order of the network
 * before anything counts on it, so that ranks which follow each other run near
 * each other, and --nodes takes neighbours.
 *
 * The network is described by a file, or by the Kubernetes API: Volcano's
 * HyperNodes, or labels of nodes. Where nobody says by which, it is Slurm's
 * own file where there is one, and in a pod whatever the cluster has. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/job/job_impl.h"
#include "bin/job/network.h"
#include "hostfile/k8s.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define TOPOLOGY_BYTES_MAX (64u << 20)
#define SLURM_TOPOLOGY "/etc/slurm/topology.conf"
#define HYPERNODES "hypernodes"
#define LABELS "labels"
#define CLUSTER_MS 30000
/* Keys by which clusters are labelled, from far to near: Kubernetes' own, those
 * of NVIDIA's topograph, of EKS, and of GKE. */
#define KNOWN_LABELS                                                        \
    "topology.kubernetes.io/region,topology.kubernetes.io/zone,"            \
    "network.topology.nvidia.com/core,network.topology.nvidia.com/spine,"   \
    "network.topology.nvidia.com/leaf,"                                     \
    "network.topology.nvidia.com/accelerator,"                              \
    "topology.k8s.aws/network-node-layer-1,"                                \
    "topology.k8s.aws/network-node-layer-2,"                                \
    "topology.k8s.aws/network-node-layer-3,"                                \
    "cloud.google.com/gce-topology-block,"                                  \
    "cloud.google.com/gce-topology-subblock,"                               \
    "cloud.google.com/gce-topology-host"

static void apply(struct job *j, const uint32_t *order, const uint32_t *leaf)
{
    struct hb_host *hosts = hb_xcalloc(j->gang.n, sizeof *hosts);
    uint32_t *at = hb_xcalloc(j->gang.n, sizeof *at);

    for (uint32_t i = 0; i < j->gang.n; i++) {
        hosts[i] = j->gang.hosts[order[i]];
        hosts[i].leaf = leaf[i];
        at[order[i]] = i;
    }
    memcpy(j->gang.hosts, hosts, j->gang.n * sizeof *hosts);
    for (size_t i = 0; i < j->gang.n_mentions; i++) {
        if (j->gang.mentions[i].host < j->gang.n) {
            j->gang.mentions[i].host = at[j->gang.mentions[i].host];
        }
    }
    free(hosts);
    free(at);
}

/* The names of the hosts, borrowed; free() the vector. */
static const char **host_names(const struct job *j)
{
    const char **names = hb_xcalloc(j->gang.n + 1, sizeof *names);

    for (uint32_t i = 0; i < j->gang.n; i++) {
        names[i] = j->gang.hosts[i].name;
    }
    return names;
}

static int order_by(struct job *j, const char *source, const char *text,
                    struct hpcboot_error *err)
{
    const char **names = host_names(j);
    uint32_t *order = hb_xcalloc(j->gang.n + 1, sizeof *order);
    uint32_t *leaf = hb_xcalloc(j->gang.n + 1, sizeof *leaf);
    uint32_t unknown = 0;
    int rc = hb_network_order(source, text, names, (uint32_t)j->gang.n, order,
                              leaf, &unknown, err);

    if (rc == 0) {
        apply(j, order, leaf);
    }
    if (rc == 0 && unknown > 0) {
        hb_log(HB_WARN, "%u of %zu hosts are not in %s; they come last",
               unknown, j->gang.n, source);
    }
    free(names);
    free(order);
    free(leaf);
    return rc;
}

/* labels NULL: by HyperNodes. */
static int order_by_cluster(struct job *j, const char *labels,
                            struct hpcboot_error *err)
{
    const struct hb_gang_request req = {.env = j->env, .root = ""};
    const char **names = host_names(j);
    char *text = NULL;
    int rc = hb_k8s_network(&req, names, j->gang.n, labels, CLUSTER_MS, &text,
                            err);

    if (rc > 0) {
        hb_log(HB_DEBUG, "the network by %s:\n%s",
               labels != NULL ? labels : HYPERNODES, text);
        rc = order_by(j, labels != NULL ? "the labels of their nodes"
                                        : "the HyperNodes", text, err);
    }
    free(names);
    free(text);
    return rc;
}

static int order_by_file(struct job *j, const char *file,
                         struct hpcboot_error *err)
{
    char *text = NULL;
    size_t len;
    int rc = hb_file_read_lasting(file, TOPOLOGY_BYTES_MAX, &text, &len, err);

    rc = rc >= 0 ? order_by(j, file, text, err)
                 : hb_error_prefix(err, rc, "--topology");
    free(text);
    return rc;
}

static int order_by_what_is_there(struct job *j, struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};

    if (access(SLURM_TOPOLOGY, F_OK) == 0) {
        return order_by_file(j, SLURM_TOPOLOGY, err);
    }
    if (order_by_cluster(j, NULL, &why) >= 0) {
        return 0;
    }
    if (why.code == HPCBOOT_ERR_UNSUPPORTED) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--order topology: there is no "
                       SLURM_TOPOLOGY ", and %.300s; name another file with "
                       "--topology", why.text);
    }
    if (order_by_cluster(j, KNOWN_LABELS, err) >= 0) {
        return 0;
    }
    return hb_fail(err, HPCBOOT_ERR_USAGE, "--order topology: by HyperNodes: "
                   "%.400s; by labels: %.400s", why.text,
                   err != NULL ? err->text : "");
}

/* Of the text that ranks get; Linux takes no variable of 128 KiB. */
#define LEAVES_MOST (64u << 10)

/* Leaves of the nodes, as the ranks get them: where each begins. */
static void put_leaves(const uint32_t *leaf, uint32_t n, struct hb_str *out)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || leaf[i] != leaf[i - 1]) {
            hb_str_putf(out, "%s%u", i == 0 ? "" : ",", i);
        }
    }
}

/* Set once in a life: a host that takes another's seat may hang elsewhere,
 * and ranks that have begun know the old place. */
const char *job_leaves(struct job *j)
{
    struct hb_str text = HB_STR_INIT;
    uint32_t n = j->map->n_nodes, known = 0;
    uint32_t *leaf;

    if (j->leaves != NULL) {
        return j->leaves;
    }
    leaf = hb_xcalloc(n + 1, sizeof *leaf);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].node < n) {
            leaf[j->hosts[i].node] = j->hosts[i].spec->leaf;
            known += j->hosts[i].spec->leaf != 0;
        }
    }
    if (known > 0) {
        put_leaves(leaf, n, &text);
    }
    if (text.len > LEAVES_MOST) {
        hb_log(HB_WARN, "--order topology: %u hosts hang on more switches than "
               "can be told to ranks; they know their order alone", n);
        hb_str_destroy(&text);
        text = (struct hb_str)HB_STR_INIT;
    }
    hb_str_put(&text, "");
    j->leaves = hb_str_steal(&text);
    free(leaf);
    return j->leaves;
}

int job_order_hosts(struct job *j, struct hpcboot_error *err)
{
    const char *order = j->opt->order, *from = j->opt->topology;
    int rc;

    if (order != NULL && !hb_streq(order, "given") &&
        !hb_streq(order, "topology")) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--order %s: expected topology or given", order);
    }
    if (!hb_streq(order, "topology")) {
        return 0;
    }
    if (from == NULL) {
        rc = order_by_what_is_there(j, err);
    } else if (hb_streq(from, HYPERNODES)) {
        rc = order_by_cluster(j, NULL, err);
    } else if (hb_streq(from, LABELS)) {
        rc = order_by_cluster(j, KNOWN_LABELS, err);
    } else if (hb_starts_with(from, LABELS ":")) {
        rc = order_by_cluster(j, from + strlen(LABELS ":"), err);
    } else {
        rc = order_by_file(j, from, err);
    }
    if (rc < 0 && err != NULL) { /* nothing was started: the request is wrong */
        err->code = HPCBOOT_ERR_USAGE;
    }
    return rc < 0 ? HPCBOOT_ERR_USAGE : 0;
}
