/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of a Kubeflow MPIJob (MPI Operator, API v2beta1), seen from its
 * launcher pod.
 *
 * The operator sets K_MPI_JOB_ROLE=launcher and mounts /etc/mpi with the file
 * `hostfile` and the script `discover_hosts.sh`. A shell opened by ssh has
 * lost the variable, so the script beside the file counts too. The file names
 * every worker of the specification, running or not, in the Open MPI form
 * (slots=N) or as HOST:N for MPICH and Intel MPI; the variables of those
 * launchers name it and are followed. Slots left out by early versions are in
 * a variable as well.
 *
 * A launcher pod without its list is an error rather than passed over: to run
 * everything in the launcher alone would look like success. MPIJob v1 has a
 * source of its own. */

#include "config.h"

#include "hostfile/source.h"

#include <string.h>

#include "lib/base/str.h"

#define DEFAULT_PATH "/etc/mpi/hostfile"
#define DISCOVER_PATH "/etc/mpi/discover_hosts.sh"
#define KUBEXEC_PATH "/etc/mpi/kubexec.sh"

static const char *hostfile_path(const struct hb_gang_request *req)
{
    static const char *const names[] = {"OMPI_MCA_orte_default_hostfile",
                                        "HYDRA_HOST_FILE",
                                        "I_MPI_HYDRA_HOST_FILE", NULL};
    const char *path = hb_source_env_of(req, names);

    return path != NULL && path[0] == '/' ? path : DEFAULT_PATH;
}

/* Hosts without slots get those the operator says all have. */
static void default_slots(const struct hb_gang_request *req,
                          struct hb_gang *gang)
{
    static const char *const names[] = {"OMPI_MCA_orte_set_default_slots",
                                        "I_MPI_PERHOST", NULL};
    const char *text = hb_source_env_of(req, names);
    uint64_t n;

    if (text == NULL || hb_parse_u64(text, 1, HB_MAX_SLOTS, &n) < 0) {
        return;
    }
    hb_gang_default_slots(gang, (int)n, HB_COUNT_UNSAID);
}

/* NULL when this is a launcher pod, else why not. */
static const char *not_a_launcher(const struct hb_gang_request *req)
{
    const char *role = hb_source_env(req, "K_MPI_JOB_ROLE");

    if (role == NULL) {
        return hb_source_exists(req, DISCOVER_PATH) &&
                       hb_source_exists(req, DEFAULT_PATH)
                   ? NULL
                   : "K_MPI_JOB_ROLE is not set, and there is no "
                     DISCOVER_PATH;
    }
    if (strcmp(role, "worker") == 0) {
        return "this is a worker of an MPIJob; its launcher has the list";
    }
    return strcmp(role, "launcher") == 0
               ? NULL : "K_MPI_JOB_ROLE is neither launcher nor worker";
}

static int read_gang(const struct hb_gang_request *req, struct hb_gang *out,
                     char **reason_out, struct hpcboot_error *err)
{
    const char *path = hostfile_path(req);
    int rc = hb_source_read(hb_source_root(req), NULL, path, out, err);

    if (rc < 0) {
        return hb_error_prefix(err, rc, "the launcher of an MPIJob needs its "
                               "list of hosts (or -H)");
    }
    if (out->n == 0) {
        *reason_out = hb_xasprintf("%s is empty: this MPIJob has no workers",
                                   path);
        hb_gang_note(out, "%s, so this host is alone", *reason_out);
        return 0;
    }
    default_slots(req, out);
    hb_source_operator_made(req, out, path);
    return 1;
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    const char *why;

    if (hb_source_exists(req, KUBEXEC_PATH)) {
        *reason_out = hb_xstrdup("there is " KUBEXEC_PATH ": this is an "
                                 "MPIJob of API v1");
        return 0;
    }
    why = not_a_launcher(req);
    if (why != NULL) {
        *reason_out = hb_xstrdup(why);
        if (hb_source_env(req, "K_MPI_JOB_ROLE") != NULL) {
            hb_gang_note(out, "%s, so this host is alone", why);
        }
        return 0;
    }
    return read_gang(req, out, reason_out, err);
}

const struct hb_source hb_source_mpi_operator = {
    .name = "MPI Operator", .own_hosts = 1, .ask = ask};
