/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hostfile that is used when nobody names one: the one of the
 * configuration, else the first that another MPI's variables name and that is
 * there. A variable may be left over from elsewhere, so a file that is not
 * there is passed over, with a word where an operator would have made it and no
 * other is there; the configuration's own must exist. */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>

#include "lib/base/str.h"

#define OPERATORS "/etc/mpi/"

static const char *const variables[] = {
    "OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
    "OMPI_MCA_prte_default_hostfile", "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
};

/* The caller's reason, told as well. */
static void tell_unused(struct hb_gang *out, const char *reason)
{
    hb_gang_note(out, "%s, so this host is alone; if other hosts are meant, "
                 "name them with -H", reason);
}

static int take(const char *root, const char *path, const char *from,
                struct hb_gang *out, char **reason_out,
                struct hpcboot_error *err)
{
    int rc = hb_source_read(root, NULL, path, out, err);

    if (rc < 0) {
        return rc;
    }
    if (out->n == 0) {
        *reason_out = hb_xasprintf("%s (%s) is empty", path, from);
        tell_unused(out, *reason_out);
        return 0;
    }
    out->detail = hb_xasprintf("%zu host%s in %s (%s)", out->n,
                               out->n == 1 ? "" : "s", path, from);
    return 1;
}

/* The first file that is there, or NULL with a reason: that of an operator's
 * before all others. */
static const char *named(const struct hb_gang_request *req,
                         const char **variable_out, struct hb_gang *out,
                         char **reason_out)
{
    int is_operators = 0;

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *path = hb_source_env(req, variables[i]);

        if (path == NULL || path[0] == '\0') {
            continue;
        }
        if (hb_source_exists(req, path)) {
            *variable_out = variables[i];
            free(*reason_out);
            *reason_out = NULL;
            return path;
        }
        if (*reason_out == NULL ||
            (!is_operators && hb_starts_with(path, OPERATORS))) {
            free(*reason_out);
            *reason_out = hb_xasprintf("%s names %s, which is not there",
                                       variables[i], path);
            is_operators = hb_starts_with(path, OPERATORS);
        }
    }
    if (is_operators) {
        tell_unused(out, *reason_out);
    }
    return NULL;
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    const char *variable, *path;

    if (req->default_hostfile != NULL) {
        return take("", req->default_hostfile, "--default-hostfile", out,
                    reason_out, err);
    }
    path = named(req, &variable, out, reason_out);
    if (path != NULL) {
        return take(path[0] == '/' ? hb_source_root(req) : "", path, variable,
                    out, reason_out, err);
    }
    if (*reason_out == NULL) {
        *reason_out = hb_xstrdup("none is set");
    }
    return 0;
}

const struct hb_source hb_source_default = {
    .name = "default hostfile", .own_hosts = 1, .ask = ask};
